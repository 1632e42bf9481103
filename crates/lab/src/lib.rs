//! Carries experiments out: reads an experiment file, runs its trials on a world, and judges its findings.
//!
//! | module | holds |
//! |---|---|
//! | [`experiment`] | reads and checks the experiment file, and resolves it to a plan of trials |
//! | [`run`] | runs any plan on any world and records it |
//! | [`stored`] | reads the measurements of a run on disk, for findings |
//! | [`pipeline`] | takes records off the measuring thread, where there is one |
//! | [`procedure`] | runs a device benchmark as the plan of a run |
//! | `exact_limit` | how many delays of a probe are kept exactly |
//! | `suggest` | what a name that is not known may have meant |
//! | `trial_outcome` | what a plan observes of a trial |
//! | `frames_seen` | gathers the results of a trial's frame streams |
//! | [`finding`] | judges the claims of an experiment by confidence intervals |
#![forbid(unsafe_code)]

#[cfg(feature = "runs")]
mod exact_limit;
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
mod suggest;
#[cfg(feature = "runs")]
mod trial_outcome;

#[cfg(feature = "runs")]
pub use exact_limit::EXACT_LIMIT;
