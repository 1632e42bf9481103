//! Experiment files and the runs that come from them.
//!
//! | module | tests |
//! |---|---|
//! | [`cut_short`] | trials that their process could not end |
//! | [`experiment`] | what is refused, and what holds of every plan |
//! | [`experiment_mutations`] | files that are broken at random |
//! | [`names`] | names in findings and figures that nothing has |
//! | [`power_cut`] | simulations that a power cut interrupts |
//! | [`run`] | runs in a world whose time is its own |
#![allow(clippy::unwrap_used)]

mod cut_short;
mod experiment;
mod experiment_mutations;
#[allow(dead_code)] // the tests of `store` use all of it
#[path = "../../store/tests/faulty_disk.rs"]
mod faulty_disk;
mod names;
mod power_cut;
mod run;
