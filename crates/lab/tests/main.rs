//! Experiment files and the runs that come from them.
//!
//! | module | tests |
//! |---|---|
//! | [`experiment`] | what is refused, and what holds of every plan |
//! | [`experiment_mutations`] | files that are broken at random |
//! | [`run`] | runs in a world whose time is its own |
#![allow(clippy::unwrap_used)]

mod experiment;
mod experiment_mutations;
mod run;
