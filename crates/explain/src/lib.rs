//! Why was it late? What the records of a run say about its path, and what other tools have measured.
//!
//! | module | holds |
//! |---|---|
//! | [`calibrate`] | hosts' costs, rate, buffer and discipline of a measured path; its model; what would change |
//! | [`compare`] | two runs: what changed, by how much, in which stage, how sure that is |
//! | [`import`] | readers of what people already have: ping, fping, irtt, sockperf, mtr, iperf3, captures |
//! | [`flawed`] | trials of a run that are not what their experiment meant |
//! | `one_way.rs` | one-way delays of a packet |
//! | `grouped.rs` | values by what they have in common |
//! | [`causes`] | why packets of a run were late: causes, effects, changes, and what cannot be told |
//! | [`steps`] | does delay rise with size in a line or in steps: cells, their overhead, their rate |
//!
//! Nothing here measures: runs and files in, plain data out.
#![forbid(unsafe_code)]

#[cfg(feature = "runs")]
pub mod calibrate;
#[cfg(feature = "runs")]
pub mod causes;
#[cfg(feature = "runs")]
pub mod compare;
#[cfg(feature = "runs")]
pub mod flawed;
#[cfg(feature = "runs")]
mod grouped;
pub mod import;
#[cfg(feature = "runs")]
mod one_way;
#[cfg(feature = "runs")]
pub mod steps;
