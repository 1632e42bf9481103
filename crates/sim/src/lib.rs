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
