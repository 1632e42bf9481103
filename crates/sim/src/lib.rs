//! The simulated world: hosts, links and switches as discrete events, in exact virtual time.
//!
//! A trial becomes a network with flows in it ([`delaylab_topology`]); the [`engine`] moves cells or frames through it and
//! lets probes, reflectors, TCP connections and loads react; [`world`] hands over the records, which are
//! those of a live world with every stamp there is.
//!
//! | module | holds |
//! |---|---|
//! | [`world`] | the trait `World`: one trial, from the experiment to its records |
//! | [`engine`] | what happens when, one event after the other |
//! | [`event_set`] | what happens next |
//! | [`slots`] | which event is whose, and the order of those at the same time |
//! | [`transmitter`] | exact times of bytes on a line of any rate |
//! | [`mod@unit`] | cells and frames |
//! | [`packet`] | the packets that they are of |
//! | [`nic`] | a host's network card: segmentation, CBR and ABR channels |
//! | [`cpu`] | a host's CPU: what packets cost, and daemons |
//! | [`settling`] | whether a probe's warm-up is long enough |
//! | [`amounts`] | what came, and when, as rates over time |
//! | [`trace`] | a value over time, thinned without losing its extremes |
//!
//! Nothing here reads a clock or draws a random number that does not come from the trial's seed: the same
//! trial gives the same records, whatever runs beside it.
//!
//! ```
//! use delaylab_model::method::Method;
//! use delaylab_model::probe::{HostCondition, Pacing, Probe};
//! use delaylab_model::record::Record;
//! use delaylab_model::stop::Stop;
//! use delaylab_model::trial::{RecordFacts, Trial};
//! use delaylab_model::world::{Sink, World};
//! use delaylab_sim::world::Simulated;
//!
//! #[derive(Default)]
//! struct Responses(Vec<i64>);
//! impl Sink for Responses {
//!     fn begin(&mut self, _: u16, _: &RecordFacts) -> std::io::Result<()> { Ok(()) }
//!     fn record(&mut self, record: &Record) -> std::io::Result<()> {
//!         self.0.extend(record.response());
//!         Ok(())
//!     }
//! }
//!
//! let mut probe = Probe::new("echo", Method::Udp);
//! probe.pacing = Pacing::Every { interval_ns: 10_000_000 };
//! probe.count = Some(100);
//! // `[path]` as an experiment file has it.
//! let path = toml::from_str("topology = 'two-hosts'\nrate = '10Mbit/s'\npropagation = '2ms'")?;
//! let trial = Trial {
//!     id: 0, target: None, probes: vec![probe], loads: vec![], path, host: HostCondition::Normal, seed: 1,
//! };
//! let mut responses = Responses::default();
//! Simulated::new(1, Stop::default()).run(&trial, &mut responses)?;
//! assert_eq!(responses.0.len(), 100);
//! // There and back: propagation, and what the packets take on the line.
//! assert!(responses.0.iter().all(|&response| response > 4_000_000));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod amounts;
pub mod cpu;
pub mod engine;
pub mod event_set;
pub mod nic;
pub mod packet;
pub mod settling;
pub mod slots;
pub mod trace;
pub mod transmitter;
pub mod unit;
pub mod world;

use delaylab_model::series::KeptSeries;
use delaylab_model::trial::Trial;

pub use engine::{advice, refusals};

use engine::{Engine, Serving};
use event_set::Tournament;

/// The series that a simulation of this trial keeps, or may keep; none where the trial is refused.
pub fn kept_series(trial: &Trial) -> Vec<KeptSeries> {
    let engine = Engine::<Tournament>::new(trial, Serving::Lazy);
    engine.map_or_else(|_| Vec::new(), |mut engine| engine.kept_series())
}
