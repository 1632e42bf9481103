//! The simulated world: hosts, links and switches as discrete events, in exact virtual time.
//!
//! A trial becomes a [`network`] with flows in it; the [`engine`] moves cells or frames through it and
//! lets probes, reflectors, TCP connections and loads react; [`world`] hands over the records, which are
//! those of a live world with every stamp there is.
//!
//! | module | holds |
//! |---|---|
//! | [`world`] | the trait `World`: one trial, from the experiment to its records |
//! | [`engine`] | what happens when, one event after the other |
//! | [`network`] | nodes and links of every topology, and the ways through them |
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
pub mod network;
pub mod nic;
pub mod packet;
pub mod settling;
pub mod slots;
pub mod trace;
pub mod transmitter;
pub mod unit;
pub mod world;

use delaylab_model::quantity::Duration;
use delaylab_model::series::KeptSeries;
use delaylab_model::trial::Trial;
use delaylab_model::world::{Refusal, refuse};
use delaylab_model::{Nanos, PICOS_PER_NANO, Picos, SECOND};

pub use engine::{advice, refusals};

use engine::{Engine, Serving};
use event_set::Tournament;

/// The series that a simulation of this trial keeps, or may keep; none where the trial is refused.
pub fn kept_series(trial: &Trial) -> Vec<KeptSeries> {
    let engine = Engine::<Tournament>::new(trial, Serving::Lazy);
    engine.map_or_else(|_| Vec::new(), |mut engine| engine.kept_series())
}

/// A virtual clock in picoseconds lasts 213 days; nothing in an experiment may last half as long.
const LONGEST: Nanos = 100 * 86_400 * SECOND;

/// Is this a length of time that can be simulated?
pub(crate) fn in_time(field: impl Into<String>, length: Option<Duration>) -> Result<(), Refusal> {
    match length {
        Some(Duration(nanos)) if nanos < 0 => refuse(field, "a time is not below zero"),
        Some(Duration(nanos)) if nanos > LONGEST => refuse(field, "at most 100 days are simulated"),
        _ => Ok(()),
    }
}

/// In picoseconds; nothing is zero.
pub(crate) fn picos(length: Option<Duration>) -> Picos {
    let nanos = length.map_or(0, |length| length.0);
    Picos::try_from(nanos)
        .unwrap_or(0)
        .saturating_mul(PICOS_PER_NANO)
}
