//! Starts experiments, carries them out and records them, for any face: the command line, a notebook, a service.
//!
//! ```text
//! resolve::resolve(&experiment, &choices, &[])?  the trials of an experiment, with what was chosen
//! ReadyRun::create(resolved, &options, &runs)?    opens the world and makes the run's folder
//!     .run(&mut progress, watch)?                carries out every trial that is left; None: it was stopped
//!     .finish()                                  judges the findings and gives the run its name
//!
//! Interrupted::open(&folder)?.remaining(options)?  what is left of an interrupted run
//!     .into_ready()?.run(&mut progress, watch)?    and so on
//! ```
//!
//! | module | does |
//! |---|---|
//! | [`mod@resolve`] | from an experiment to the trials of a run |
//! | [`run`] | a run from its folder to its end |
//! | [`interrupted`] | a run that was interrupted, taken up again |
//! | [`expected`] | what an earlier run lets one expect of the next |
//! | [`options`] | what is wanted of a run, beyond its experiment |
//! | [`assignment`] | which trials of an experiment a process carries out |
//! | [`shard`] | a run in shares, and one run of them |
//! | [`worlds`] | opens the world of a run: the one place that knows which worlds there are |
//! | `live_target` | the live world's target, or a reflector of the run's own |
//! | [`own_reflector`] | a reflector for runs without a target |
//! | [`target`] | names and addresses of targets and load servers |
//! | [`load_limit`] | what may leave for another host |
//! | [`run_folder`] | runs on disk |
//! | [`imported_file`] | what another tool measured, as a run |
//! | [`measured_path`], [`modelled`] | a measured path, calibrated, and simulations of its model |
//! | [`path_tracing`] | a path trace, to its end |
//! | [`testbed`] | a testbed by hand: built, entered, removed |
//! | `environment` | what is recorded of this host |
//! | [`error`] | why a run cannot start, or broke off |
//!
//! Nothing here prints, reads the command line or catches signals: the face says in [`options::RunOptions`] what is wanted.

#![forbid(unsafe_code)]

pub mod assignment;
mod environment;
pub mod error;
pub mod expected;
pub mod imported_file;
pub mod interrupted;
mod live_target;
pub mod load_limit;
pub mod measured_path;
pub mod modelled;
pub mod options;
pub mod own_reflector;
pub mod path_tracing;
pub mod resolve;
pub mod run;
pub mod run_folder;
pub mod shard;
pub mod target;
pub mod testbed;
pub mod worlds;
