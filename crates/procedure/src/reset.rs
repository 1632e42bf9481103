//! Reset (RFC 2544 §26.6): how long a device forwards nothing when it is reset.
//!
//! The world resets the device in the middle of a stream at the throughput of the smallest frames. The
//! result is the time from the last frame before to the first behind: the longest in which a frame was lost, since a sender
//! may have been silent, too.

use crate::bench::{Bench, Stop};
use crate::course::{AtSize, Steps, all_found};
use crate::report::{self, Cell, Clause, Figure, Holds, Report, Role, Table};
use crate::search::Spread;
use crate::setup::{Options, Setup, percent};
use crate::throughput;
use delaylab_model::Nanos;
use delaylab_stats::frames::{FrameFigures, FrameTrial};
use schemars::JsonSchema;
use serde::Serialize;

/// What a reset did in one repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outage {
    /// From the last frame before to the first behind, in nanoseconds.
    Ended(Nanos),
    /// The last frame of a stream was lost: the device did not come back before the end of the trial.
    NotBack,
    /// Frames were lost before the first that arrived: how long before the trial the device was down is not known.
    NotBefore,
    /// No frame was lost.
    NothingLost,
}

impl Outage {
    fn new(trial: &FrameTrial) -> Self {
        let ends_lossy = |s: &FrameFigures| s.last_lost.is_some() && s.last_lost == s.last_send;
        let silences = trial.streams.iter().filter_map(|s| s.longest_silence);
        match silences.map(|silence| silence.length()).max() {
            _ if trial.streams.iter().any(ends_lossy) => Self::NotBack,
            Some(ns) => Self::Ended(ns),
            None if trial.streams.iter().any(|stream| stream.lost() > 0) => Self::NotBefore,
            None => Self::NothingLost,
        }
    }

    const fn length(self) -> Option<Nanos> {
        match self {
            Self::Ended(ns) => Some(ns),
            Self::NotBack | Self::NotBefore | Self::NothingLost => None,
        }
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ResetTime {
    /// Of each sending port, as a share of the line rate, 0 to 1.
    pub load: f64,
    /// From the last frame before to the first behind, in nanoseconds, of the repeats that have both.
    pub silence_ns: Option<Spread>,
    /// Each repeat's.
    pub repeats: Vec<Outage>,
    /// Frames lost in all repeats.
    pub lost: u64,
}

impl ResetTime {
    fn count(&self, of: Outage) -> u64 {
        self.repeats.iter().filter(|repeat| **repeat == of).count() as u64
    }
}

/// What its table says of each frame size.
const COLUMNS: [(&str, &str, Role); 9] = [
    ("load", "% of line rate", Role::Result),
    ("reset time", "ns", Role::Result),
    ("min", "ns", Role::Spread),
    ("max", "ns", Role::Spread),
    ("sd", "ns", Role::Spread),
    ("lost", "frames", Role::Loss),
    ("repeats", "", Role::Effort),
    ("repeats that did not come back", "", Role::Loss),
    ("repeats without loss", "", Role::Effort),
];

/// The procedure.
#[derive(Debug, Clone, Copy)]
pub struct ResetSteps;

/// How long frames are sent at least, so that as many come after the reset as before: twice the time from the first of them to
/// the end of the reset.
fn length_around(setup: &Setup) -> Nanos {
    let until = setup
        .reset()
        .map_or(0, |reset| reset.at.0.saturating_add(reset.lasts.0));
    until.saturating_sub(setup.effort.settle).saturating_mul(2)
}

impl Steps for ResetSteps {
    type Found = ResetTime;

    fn size(&self, bench: &mut Bench<'_>) -> Result<ResetTime, Stop> {
        let throughput = throughput::sustained(bench)?;
        let effort = bench.setup.effort;
        let length = effort.trial.max(length_around(bench.setup));
        let trials = bench.repeats(effort.repeats, |bench, repeat| {
            let offer = bench.at_load("reset", throughput.load(), length);
            let mut offer = offer.repeat(repeat);
            offer.reset = true;
            bench.trial(offer)
        })?;
        let repeats: Vec<_> = trials.iter().map(|trial| Outage::new(trial)).collect();
        let lengths = repeats.iter().filter_map(|repeat| repeat.length());
        Ok(ResetTime {
            load: throughput.load().as_f64(),
            silence_ns: Spread::new(lengths.map(|ns| ns as f64)),
            repeats,
            lost: trials.iter().map(|trial| throughput::lost(trial)).sum(),
        })
    }

    fn report(&self, setup: &Setup, options: &Options, sizes: &[AtSize<ResetTime>]) -> Report {
        let mut conformance = report::clauses_of_trials(setup, sizes);
        conformance.retain(|clause| clause.section != "§9.1");
        conformance.extend([
            at_the_throughput(setup, options, sizes),
            Clause::new(
                "RFC 2544 §26.6",
                "a reset of hardware, of software and of power",
                Holds::Shortened,
                "the reset that the path describes; its kind is not known here",
            ),
        ]);
        Report {
            procedure: "reset".to_owned(),
            title: "Reset".to_owned(),
            sections: vec!["RFC 2544 §26.6".to_owned(), "RFC 6201".to_owned()],
            tables: vec![table(sizes)],
            figures: vec![figure(sizes)],
            conformance,
            notes: notes(sizes),
        }
    }
}

fn table(sizes: &[AtSize<ResetTime>]) -> Table {
    report::by_size("Reset", &COLUMNS, sizes, |found| {
        vec![
            percent(found.load).into(),
            found.silence_ns.map(|ns| ns.mean).into(),
            found.silence_ns.map(|ns| ns.min).into(),
            found.silence_ns.map(|ns| ns.max).into(),
            found.silence_ns.and_then(|ns| ns.sd).into(),
            report::per_repeat(found.lost, found.repeats.len()),
            Cell::Count(found.repeats.len() as u64),
            found.count(Outage::NotBack).into(),
            found.count(Outage::NothingLost).into(),
        ]
    })
}

fn figure(sizes: &[AtSize<ResetTime>]) -> Figure {
    let figure = Figure::new("Reset by repeat", ("repeat", ""), ("reset time", "ns"));
    figure.line_by_size(sizes, |found| {
        let repeats = found.repeats.iter().zip(1..);
        let repeats =
            repeats.filter_map(|(repeat, n)| Some((f64::from(n), repeat.length()? as f64)));
        repeats.collect::<Vec<_>>()
    })
}

fn at_the_throughput(setup: &Setup, options: &Options, sizes: &[AtSize<ResetTime>]) -> Clause {
    let says = "at the throughput of the smallest frames of the medium";
    let smallest = setup.sizes == [crate::setup::SIZES[0]];
    let cut_off = options.cut_off(all_found(sizes).map(|found| found.load));
    let size = format!("{:?} B", setup.sizes);
    let (holds, why) = match (smallest, cut_off) {
        (false, _) => (Holds::No, size),
        (true, Some(tried)) => (Holds::Shortened, format!("{size}; {tried}")),
        (true, None) => (Holds::Yes, size),
    };
    Clause::new("RFC 2544 §26.6", says, holds, why).of_found(sizes)
}

fn notes(sizes: &[AtSize<ResetTime>]) -> Vec<String> {
    let of_outages = [
        (
            Outage::NotBack,
            "A stream ended before the device forwarded again: the reset is longer than that shows. Such repeats are in no \
             mean.",
        ),
        (
            Outage::NotBefore,
            "The device was down when a trial began: the reset is longer than that shows. Such repeats are in no mean.",
        ),
        (
            Outage::NothingLost,
            "A reset lost no frame: it is shorter than frames are apart, or there was none. Such repeats are in no mean.",
        ),
    ];
    let is_there = |of| all_found(sizes).any(|found| found.count(of) > 0);
    let notes = of_outages.into_iter().filter(|(of, _)| is_there(*of));
    notes.map(|(_, note)| note.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_stats::frames::Silence;

    #[test]
    fn a_device_that_stays_down_is_told_from_one_that_was_never_reset() {
        let stream = |longest_silence, last_lost| FrameFigures {
            last_send: Some(100),
            last_lost,
            longest_silence,
            ..FrameFigures::default()
        };
        let silence = Some(Silence { from: 20, to: 50 });
        let back = stream(silence, Some(40));
        for (streams, expected) in [
            (vec![back.clone()], Outage::Ended(30)),
            (vec![back, stream(None, Some(100))], Outage::NotBack),
            (vec![stream(silence, Some(100))], Outage::NotBack),
            (vec![stream(None, None)], Outage::NothingLost),
            (
                vec![FrameFigures {
                    sent: 9,
                    ..stream(None, Some(40))
                }],
                Outage::NotBefore,
            ),
        ] {
            assert_eq!(Outage::new(&FrameTrial::new(streams)), expected);
        }
    }
}
