//! Experiments: `delaylab list`, `check`, `run`, `resume`, `merge` and `report`.
//!
//! | module | does |
//! |---|---|
//! | [`choose`] | what was typed of an experiment or a run |
//! | [`list`], [`check`], [`run`], [`resume`], [`merge`], [`report`] | the commands |
//! | [`conclude`] | findings, tables and report of a run whose trials are recorded |
//! | [`export`] | one figure or table of a run in a file |
//! | [`killed`] | what is said of runs that were killed |
//! | [`progress`] | what is said while a run goes on |
//! | [`resumable`] | what is said of a run that did not come to its end |

pub mod check;
pub mod choose;
pub mod conclude;
mod export;
mod killed;
pub mod list;
pub mod merge;
mod progress;
pub mod report;
pub mod resumable;
pub mod resume;
pub mod run;
