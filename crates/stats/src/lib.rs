//! Statistics of delay: exact where they can be, and saying so where they cannot.
//!
//! | module | holds |
//! |---|---|
//! | [`anatomy`] | the stages of one response, which add up to it; network and host |
//! | [`summary`] | [`summary::SummaryBuilder`]: records in, a trial's summary out, in flat memory |
//! | [`verdict`] | what dominates a summary, in one sentence |
//! | [`moments`] | exact integer sums: mean, variance, least and largest |
//! | [`quantile`] | exact quantiles by selection |
//! | [`loglinear`] | a log-linear histogram: quantiles of any number of values, with a known error |
//! | [`histogram`] | bins of equal width with underflow and overflow (seed 002) |
//! | [`variation`] | every definition of delay variation side by side |
//! | [`interval`] | intervals for correlated data: batch means and moving blocks |
//! | [`student`] | quantiles of Student's t |
//!
//! Everything here is sans-IO: nothing reads a clock, and the same records give the same figures.
#![forbid(unsafe_code)]

pub mod anatomy;
mod band;
pub mod histogram;
pub mod interval;
pub mod loglinear;
pub mod moments;
mod passage;
pub mod quantile;
mod sample;
mod stage;
pub mod student;
pub mod summary;
#[cfg(test)]
mod testing;
pub mod variation;
pub mod verdict;
