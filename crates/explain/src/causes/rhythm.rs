//! Do causes come at regular intervals, and whose are these?
//!
//! A process that is named was seen each time that it ran: its period is that of its own runs
//! ([`delaylab_stats::trains`]), unless it is the probe's packets that wake it ([`delaylab_stats::driven`]): then it
//! has none. Causes without a name are seen only where a packet met them: their period
//! is looked for in the times of those packets ([`delaylab_stats::periodicity`]), and held against the
//! periods of all processes that were seen.

use super::gather::GatheredStream;
use super::tally::Tally;
use delaylab_model::Nanos;
use delaylab_stats::attribution::LateCause;
use delaylab_stats::driven::{self, Driven, Sent};
use delaylab_stats::functional::Functional;
use delaylab_stats::periodicity::{self, Match, Settings};
use delaylab_stats::trains::{Owner, Trains};
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// Share of causes without a period that may be said to have one: a third of one in a thousand. The law of the test's threshold holds for
/// few events among many probes. Where one probe in six meets an event, causes without a period are said to have one up to four times as
/// often as the law says (`examples/periodicity.rs` in `delaylab-stats`): that is then still about one in a thousand.
const FALSE_ALARMS: f64 = 0.001 / 3.0;
/// More probes of a stream are not looked at: this many say enough.
const MAX_PROBES: usize = 2_000_000;

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

/// When packets were sent, by trial and in order of time, and the longest of their streams' median responses.
#[derive(Debug)]
pub(super) struct SendTimes {
    by_trial: BTreeMap<u32, Vec<Sent>>,
    reach: Nanos,
}

impl SendTimes {
    pub(super) fn new(streams: &[GatheredStream<'_>]) -> Self {
        let mut by_trial = BTreeMap::<u32, Vec<Sent>>::new();
        let mut reach = 0.0;
        for stream in streams {
            let sent = by_trial.entry(stream.row.trial).or_default();
            sent.extend(&stream.sent);
            reach = f64::max(reach, stream.median().unwrap_or(0.0));
        }
        by_trial.values_mut().for_each(|sent| sent.sort_unstable());
        Self {
            by_trial,
            reach: reach as Nanos,
        }
    }

    /// Does it run because these packets were sent?
    pub(super) fn drives(&self, who: &Owner, trains: &Trains) -> Option<Driven> {
        let starts: Vec<(u32, Vec<Nanos>)> = (trains.activations(who))
            .map(|(trial, each)| (trial, each.iter().map(|each| each.start).collect()))
            .collect();
        let stretches: Vec<(&[Nanos], &[Sent])> = (starts.iter())
            .filter_map(|(trial, starts)| Some((&starts[..], &self.by_trial.get(trial)?[..])))
            .collect();
        driven::find(&stretches, self.reach)
    }
}

/// At which intervals a cause comes, if it does. `trains`: when each process ran; `known`: which of them run at regular intervals, once
/// that was looked for, which takes long.
pub(super) fn find<'a>(
    what: &LateCause,
    tally: &Tally,
    streams: &[GatheredStream<'_>],
    trains: &'a Trains,
    known: &OnceCell<Vec<(&'a str, f64)>>,
) -> Option<Rhythm> {
    if let LateCause::Ran { who, .. } = what {
        // Much shorter runs than those that delayed packets are something else that it does. Long runs meet
        // more packets than others of the same work.
        let short = Functional::Quantile(0.25).value(&mut tally.activations.clone())? / 2.0;
        let regular = trains.regular_from(who, short as Nanos)?;
        return Some(Rhythm {
            period_ns: regular.period_ns,
            error_ns: regular.error_ns,
            basis: Basis::Runs(regular.gaps + 1),
            matches: Vec::new(),
        });
    }
    let (&at, due) = tally.due.iter().max_by_key(|(_, due)| due.len())?;
    let probes = &streams[at].due;
    let probes = &probes[..probes.len().min(MAX_PROBES)];
    let settings = Settings {
        false_alarms: FALSE_ALARMS,
        ..Settings::default()
    };
    let found = periodicity::find(due, probes, &settings).ok()??;
    Some(Rhythm {
        period_ns: found.period_ns,
        error_ns: found.period_ns * found.error,
        basis: Basis::Packets(found.events, found.share),
        matches: periodicity::matching(&found, known.get_or_init(|| trains.known())),
    })
}
