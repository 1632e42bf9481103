//! Carries experiments out: which trials, in which order, and what they showed.
//!
//! | module | holds |
//! |---|---|
//! | [`experiment`] | the experiment file: read, checked, resolved to a plan of trials |
//! | [`run`] | runs any plan on any world and records it |
//! | [`stored`] | a run on disk as findings need it |
//! | [`pipeline`] | takes records off the measuring thread |
//! | [`procedure`] | a device benchmark as the plan of a run |
//! | `frames_seen` | what came of a trial's streams of frames |
//! | [`finding`] | the claims of an experiment, judged by intervals |
#![forbid(unsafe_code)]

pub mod experiment;
pub mod finding;
#[cfg(feature = "runs")]
mod frames_seen;
#[cfg(feature = "runs")]
pub mod pipeline;
#[cfg(feature = "runs")]
pub mod procedure;
#[cfg(feature = "runs")]
pub mod run;
#[cfg(feature = "runs")]
pub mod stored;
