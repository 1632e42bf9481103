//! Procedures of device benchmarks, as plans that say which trial comes next.
//!
//! A procedure sends nothing. It hands out trials with frames ([`delaylab_model::plan::Plan`]), is told
//! what came of each ([`delaylab_stats::frames::FrameTrial`]), and reports. The same procedure so drives
//! physical ports, a testbed and a simulation.
//!
//! | module | holds |
//! |---|---|
//! | [`setup`] | what every procedure is given: ports, rates, sizes, how long and how often |
//! | [`registry`] | [`procedures`]: each by its name |
//! | [`report`] | what every procedure gives: tables, figures, clauses |
//! | [`course`] | [`ProcedureRun`]: a procedure's steps as a plan |
//! | [`mod@bench`] | what a procedure's steps see: trials, by asking for them |
//! | `offer`, `frame_limit`, `at_size`, `goal` | what is asked of the device, how much at most, found at a frame size, looked for by MLRsearch |
//! | [`search`] | the longest burst that passes; means |
//! | [`throughput`], [`latency`], [`frame_loss`], [`back_to_back`], [`system_recovery`], [`reset`] | RFC 2544 §26 |
//! | [`buffer_time`] | RFC 9004: back-to-back frames, corrected |
//! | [`buffering`], [`microburst`], [`head_of_line`], [`incast`] | RFC 8239 §§3 to 6 |
//! | [`mlrsearch`] | RFC 9971: bounds of a load for each goal |
//!
//! # Steps are asked again from the start
//!
//! A procedure is written as one function that asks for trials as if they were there
//! ([`course::Steps`]). Each time something was observed it runs again from its start; trials that have
//! been carried out are answered from what was observed, and the first that has not been stops it. So a
//! search reads as a search, and a run that was resumed decides as the one that was cut short: it is
//! told the same observations.
//!
//! # A procedure from its first trial to its report
//!
//! ```
//! use delaylab_model::probe::{HostCondition, Probe};
//! use delaylab_model::method::Method;
//! use delaylab_model::trial::Trial;
//! use delaylab_procedure::{Description, Effort, Options, Setup};
//! use delaylab_stats::frames::{FrameFigures, FrameTrial};
//!
//! let setup = Setup {
//!     trial: Trial {
//!         id: 0,
//!         target: None,
//!         probes: Vec::new(),
//!         loads: Vec::new(),
//!         path: Default::default(),
//!         host: HostCondition::Normal,
//!         seed: 1,
//!     },
//!     streams: vec![Probe::new("a to b", Method::Frame)],
//!     line_rate: 100_000_000,
//!     egress_rate: 100_000_000,
//!     sizes: vec![64],
//!     effort: Effort::quick(),
//! };
//! let mut procedure = Description::named("throughput")?.begin(setup, Options::default())?;
//! while let [planned] = &procedure.next_trials()[..] {
//!     // A world would carry the trial out. This device forwards every frame.
//!     let frames = planned.trial.probes[0].count.unwrap_or(0);
//!     let figures = FrameFigures {
//!         sent: frames,
//!         received: frames,
//!         first_send: Some(0),
//!         last_send: planned.trial.probes[0].expected_duration(),
//!         ..FrameFigures::default()
//!     };
//!     procedure.observe(planned, &FrameTrial::new(vec![figures]));
//! }
//! let report = procedure.result();
//! assert_eq!(report.tables[0].rows.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod at_size;
pub mod back_to_back;
pub mod bench;
pub mod buffer_time;
pub mod buffering;
pub mod course;
mod forecast;
mod frame_limit;
pub mod frame_loss;
mod goal;
pub mod head_of_line;
pub mod incast;
pub mod latency;
pub mod microburst;
pub mod mlrsearch;
mod offer;
pub mod registry;
pub mod report;
pub mod reset;
pub mod search;
pub mod setup;
pub mod system_recovery;
pub mod throughput;

pub use course::{Procedure, ProcedureRun};
pub use registry::{Description, procedures};
pub use report::Report;
pub use setup::{BuildError, Effort, Options, Setup};
