//! Simulations that are known in advance.
//!
//! | module | tests |
//! |---|---|
//! | [`agreement`] | two ways to simulate give the same |
//! | [`aqm`] | active queue management under TCP |
//! | [`bad_input`] | what cannot be simulated is refused by its field |
//! | [`counts`] | what queues drop and mark, over time |
//! | [`crossbars`] | switches with buffers at their inputs |
//! | [`directions`] | loads that come down |
//! | [`flow_control`] | pauses between neighbours |
//! | [`hosts`] | what hosts do to packets |
//! | [`oracles`] | closed forms and independent figures |
//! | [`pauses`] | switches that pause at regular intervals |
//! | [`procedures`] | device benchmarks of simulated switches |
//! | [`rates`] | explicit rates keep queues short and lines busy |
//! | [`series`] | what series say of a trial |
//! | [`servers`] | servers with a think time |
//! | [`tcp`] | TCP loads through switches that drop and mark |
//! | [`two_paths`] | classes beside a congested trunk |
//! | [`transfers`] | finite transfers, and what many of them at once do |
//! | [`common`] | gives trials and their records to the others |
#![allow(clippy::unwrap_used)]

mod agreement;
mod aqm;
mod bad_input;
mod cells;
mod common;
mod counts;
mod crossbars;
mod directions;
mod flow_control;
mod hosts;
mod oracles;
mod pauses;
mod procedures;
mod rates;
mod resets;
mod series;
mod servers;
mod tcp;
mod transfers;
mod two_paths;
