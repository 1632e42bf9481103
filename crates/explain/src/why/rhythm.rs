//! Do causes come at regular intervals, and whose are these?
//!
//! A process that is named was seen each time that it ran: its period is that of its own runs
//! ([`delaylab_stats::regularity`]). Causes without a name are seen only where a packet met them: their period
//! is looked for in the times of those packets ([`delaylab_stats::periodicity`]), and held against the
//! periods of all processes that were seen.

use super::gather::{Stream, Tally};
use delaylab_model::Nanos;
use delaylab_stats::blame::What;
use delaylab_stats::functional::Functional;
use delaylab_stats::periodicity::{self, Match, Settings};
use delaylab_stats::regularity::Trains;
use delaylab_store::run::Run;

/// Share of causes without a period that may be said to have one.
const FALSE_ALARMS: f64 = 0.001;
/// More probes are not looked at: their first ones say enough.
const MOST_PROBES: usize = 2_000_000;

/// At which intervals a cause comes.
#[derive(Debug, Clone, PartialEq)]
pub struct Rhythm {
    /// From one to the next, ns.
    pub period_ns: f64,
    /// Standard error of that, ns.
    pub error_ns: f64,
    /// How that is known.
    pub basis: Basis,
    /// Processes whose period it may be. Empty for a process that is known by name.
    pub matches: Vec<Match>,
}

/// How a period is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Basis {
    /// From the process's own runs: so many.
    Runs(usize),
    /// From late packets, so many, of which this share come at that interval.
    Packets(usize, f64),
}

/// Everything that was seen running in a run.
pub(super) fn trains(run: &Run) -> Trains {
    let mut trains = Trains::default();
    run.for_each_noise(None, |event| trains.push(event));
    trains
}

/// At which intervals a cause comes, if it does.
pub(super) fn of(
    what: &What,
    tally: &Tally,
    streams: &[Stream<'_>],
    trains: &Trains,
) -> Option<Rhythm> {
    if let What::Ran { who, .. } = what {
        // Shorter runs than those that delayed packets are something else that it does.
        let median = Functional::Quantile(0.5).of(&mut tally.lengths.clone())?;
        let regular = trains.regular_from(who, (median / 2.0) as Nanos)?;
        return Some(Rhythm {
            period_ns: regular.period_ns,
            error_ns: regular.error_ns,
            basis: Basis::Runs(regular.gaps + 1),
            matches: Vec::new(),
        });
    }
    let (&at, due) = tally.due.iter().max_by_key(|(_, due)| due.len())?;
    let probes = &streams[at].due;
    let probes = &probes[..probes.len().min(MOST_PROBES)];
    let settings = Settings {
        false_alarms: FALSE_ALARMS,
        ..Settings::default()
    };
    let found = periodicity::find(due, probes, &settings).ok()??;
    Some(Rhythm {
        period_ns: found.period_ns,
        error_ns: found.period_ns * found.error,
        basis: Basis::Packets(found.events, found.share),
        matches: periodicity::matching(&found, &trains.known()),
    })
}
