//! System recovery (RFC 2544 §26.5): how long loss goes on after an overload.
//!
//! Each stream offers 110 % of the throughput, and then half of that. A is when the load falls, B when
//! the last frame that was lost was sent. Loss has ended where no frame is lost behind B for plainly longer than losses were apart
//! before: else B is near the end of the trial, whenever that is.

use crate::bench::{Bench, Offer, OfferedStream, Stop};
use crate::course::{AtSize, Steps, all_found};
use crate::report::{self, Cell, Clause, Figure, Holds, Report, Role, Table};
use crate::search::Spread;
use crate::setup::{Options, Setup, percent};
use crate::throughput;
use delaylab_model::quantity::Share;
use delaylab_model::{Nanos, SECOND};
use delaylab_stats::frames::{FrameFigures, FrameTrial};
use schemars::JsonSchema;
use serde::Serialize;

/// How a repeat ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Recovery {
    /// Loss ended: B − A in nanoseconds.
    Recovered(Nanos),
    /// Loss had not plainly ended with the trial.
    StillLosing,
    /// The overload lost nothing: there was nothing to recover from.
    NotOverloaded,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SystemRecovery {
    /// Load of the overload, as a share of the line rate, 0 to 1.
    pub overload: f64,
    /// Load behind it.
    pub half: f64,
    /// B − A in nanoseconds, of the repeats that recovered.
    pub recovery_ns: Option<Spread>,
    /// Each repeat's.
    pub repeats: Vec<Recovery>,
    /// Frames lost in the overload, in all repeats.
    pub lost_in_overload: u64,
}

impl SystemRecovery {
    fn recovered(repeats: &[Recovery]) -> impl Iterator<Item = Nanos> {
        repeats.iter().filter_map(|repeat| match repeat {
            Recovery::Recovered(ns) => Some(*ns),
            _ => None,
        })
    }

    fn count(&self, of: Recovery) -> u64 {
        self.repeats.iter().filter(|repeat| **repeat == of).count() as u64
    }
}

/// What its table says of each frame size.
const COLUMNS: [(&str, &str, Role); 9] = [
    ("overload", "% of line rate", Role::Result),
    ("half", "% of line rate", Role::Result),
    ("recovery time", "ns", Role::Result),
    ("min", "ns", Role::Spread),
    ("max", "ns", Role::Spread),
    ("lost in overload", "frames", Role::Loss),
    ("repeats", "", Role::Effort),
    ("repeats that did not recover", "", Role::Loss),
    ("repeats without loss in overload", "", Role::Effort),
];

/// The procedure.
#[derive(Debug, Clone, Copy)]
pub struct SystemRecoverySteps;

impl Steps for SystemRecoverySteps {
    type Found = SystemRecovery;

    fn size(&self, bench: &mut Bench<'_>) -> Result<SystemRecovery, Stop> {
        let throughput = throughput::sustained(bench)?;
        let overload = Share(throughput.load_e9 * 11 / 10).min(bench.options.top);
        if throughput.is_highest || overload <= throughput.load() {
            let nothing = "nothing overloads the device";
            return Err(throughput::at_the_highest(bench, nothing));
        }
        let half = Share((overload.0 / 2).max(1));
        let trials = bench.repeats(bench.setup.effort.repeats, |bench, repeat| {
            bench.trial(offer(bench, overload, half).repeat(repeat))
        })?;
        let repeats: Vec<_> = trials.iter().map(|trial| recovery(trial)).collect();
        Ok(SystemRecovery {
            overload: overload.as_f64(),
            half: half.as_f64(),
            recovery_ns: Spread::new(SystemRecovery::recovered(&repeats).map(|ns| ns as f64)),
            repeats,
            lost_in_overload: trials.iter().map(|trial| lost_in_overload(trial)).sum(),
        })
    }

    fn report(&self, setup: &Setup, options: &Options, sizes: &[AtSize<SystemRecovery>]) -> Report {
        Report {
            procedure: "system-recovery".to_owned(),
            title: "System recovery".to_owned(),
            sections: vec!["RFC 2544 §26.5".to_owned()],
            tables: vec![table(sizes)],
            figures: vec![figure(sizes)],
            conformance: conformance(setup, options, sizes),
            notes: notes(sizes),
        }
    }
}

fn table(sizes: &[AtSize<SystemRecovery>]) -> Table {
    report::by_size("System recovery", &COLUMNS, sizes, |found| {
        vec![
            percent(found.overload).into(),
            percent(found.half).into(),
            found.recovery_ns.map(|ns| ns.mean).into(),
            found.recovery_ns.map(|ns| ns.min).into(),
            found.recovery_ns.map(|ns| ns.max).into(),
            report::per_repeat(found.lost_in_overload, found.repeats.len()),
            Cell::Count(found.repeats.len() as u64),
            found.count(Recovery::StillLosing).into(),
            found.count(Recovery::NotOverloaded).into(),
        ]
    })
}

fn figure(sizes: &[AtSize<SystemRecovery>]) -> Figure {
    let figure = Figure::over_size("Recovery", ("recovery time", "ns"));
    let mean = |found: &SystemRecovery| Some(found.recovery_ns?.mean);
    figure.points("mean of repeats", sizes, mean)
}

fn conformance(setup: &Setup, options: &Options, sizes: &[AtSize<SystemRecovery>]) -> Vec<Clause> {
    let mut conformance = report::clauses_of_trials(setup, sizes);
    conformance.extend([
        Clause::lasts(
            "RFC 2544 §26.5",
            "an overload of 60 s",
            setup.effort.overload,
            60 * SECOND,
        ),
        overload(options, sizes),
        Clause::times(
            "RFC 2544 §26.5",
            "the mean of several repeats",
            sizes,
            |found| SystemRecovery::recovered(&found.repeats).count(),
            2,
        ),
    ]);
    conformance
}

fn notes(sizes: &[AtSize<SystemRecovery>]) -> Vec<String> {
    let mut notes = Vec::new();
    if all_found(sizes).any(|recovery| recovery.count(Recovery::NotOverloaded) > 0) {
        let note = "An overload lost no frame: it was too short for the device's buffer. Such repeats are in no mean.";
        notes.push(note.to_owned());
    }
    notes
}

fn overload(options: &Options, sizes: &[AtSize<SystemRecovery>]) -> Clause {
    let says = "overload by 110 % of the throughput, or the highest rate if that is less";
    let mut found = all_found(sizes);
    let cut_off = options.cut_off(found.clone().map(|recovery| recovery.overload));
    let (holds, why) = match cut_off {
        _ if found.any(|recovery| recovery.count(Recovery::NotOverloaded) > 0) => {
            (Holds::No, "an overload lost no frame".to_owned())
        }
        Some(tried) => (Holds::Shortened, tried),
        None => (Holds::Yes, "then half of the overload".to_owned()),
    };
    Clause::new("RFC 2544 §26.5", says, holds, why).of_found(sizes)
}

/// All streams at the overload, and behind it all of them at half.
fn offer(bench: &Bench<'_>, overload: Share, half: Share) -> Offer {
    let effort = &bench.setup.effort;
    let part = |load, length, start| {
        let each = bench.all_at(load).into_iter();
        each.map(move |(of, load)| OfferedStream {
            of,
            load,
            count: bench.frames_in(length, load),
            start,
        })
    };
    let before = part(overload, effort.overload, 0);
    let behind = part(half, effort.trial, effort.overload);
    Offer::new("recovery", before.chain(behind).collect())
}

/// Frames of the overload that were lost.
fn lost_in_overload(trial: &FrameTrial) -> u64 {
    let before = trial.streams.iter().take(trial.streams.len() / 2);
    before.map(|stream| stream.lost()).sum()
}

/// Without a loss for this many times as long as losses are apart: by chance that is one case in twenty (e⁻³).
const PLAINLY: f64 = 3.0;

/// Had loss of this stream ended with the trial?
fn has_ended(stream: &FrameFigures) -> bool {
    let ends = (stream.first_send, stream.last_lost, stream.last_send);
    let (Some(first), Some(lost), Some(last)) = ends else {
        return true;
    };
    let interval = (last - first) as f64 / (stream.sent.max(2) - 1) as f64;
    let apart = (lost - first) as f64 / stream.lost().max(1) as f64;
    (last - lost) as f64 > interval.max(PLAINLY * apart)
}

/// B − A, unless loss lasts to the end.
fn recovery(trial: &FrameTrial) -> Recovery {
    if lost_in_overload(trial) == 0 {
        return Recovery::NotOverloaded;
    }
    let mut behind = trial.streams.iter().skip(trial.streams.len() / 2);
    let fell = behind.clone().filter_map(|stream| stream.first_send).min();
    let Some(fell) = fell.filter(|_| behind.all(has_ended)) else {
        return Recovery::StillLosing;
    };
    let last = trial.streams.iter().filter_map(|s| s.last_lost).max();
    Recovery::Recovered(last.map_or(0, |lost| lost.saturating_sub(fell).max(0)))
}
