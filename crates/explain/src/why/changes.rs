//! When the response changed its level: within a trial, and from trial to trial.

use super::gather::Stream;
use delaylab_model::{Nanos, SECOND};
use delaylab_stats::change_points::{self, ChangePoint};
use delaylab_stats::functional::Functional;
use std::collections::BTreeMap;

/// A change of less than this share of the level is not worth a word.
const LEAST_SHARE: f64 = 0.05;
/// Fewer packets of a trial are not looked at.
const LEAST_PACKETS: usize = 500;
/// Nor are shorter trials: what a moment brings is an excursion.
const LEAST_LENGTH: Nanos = 5 * SECOND;
/// A stream is looked at in so many stretches at most; of each, its median.
const STRETCHES: usize = 2_000;

/// A change of the median response.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Where it was seen.
    pub scope: Scope,
    /// Median before, ns; of trials, as a multiple of what is usual for their levels.
    pub before: f64,
    /// And after it.
    pub after: f64,
    /// The 95 % interval of the relative difference.
    pub relative: (f64, f64),
}

/// Where a change was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Within a trial.
    Within {
        /// The trial.
        trial: u32,
        /// The probe's name.
        probe: String,
        /// Since its first packet was due.
        after: Nanos,
    },
    /// From one trial to the next, in the order in which they ran.
    Between {
        /// The first trial of the new level.
        trial: u32,
    },
}

/// Every change, the largest first.
pub(super) fn of(streams: &[Stream<'_>]) -> Vec<Change> {
    let mut changes: Vec<Change> = streams.iter().flat_map(within).collect();
    changes.extend(between(streams));
    changes.sort_by(|a, b| size(b).total_cmp(&size(a)));
    changes
}

fn size(change: &Change) -> f64 {
    (change.after / change.before).ln().abs()
}

/// Changes within one trial.
fn within(stream: &Stream<'_>) -> Vec<Change> {
    let ends = stream.due.first().zip(stream.due.last());
    let Some((&first, _)) = ends.filter(|(first, last)| *last - *first >= LEAST_LENGTH) else {
        return Vec::new();
    };
    if stream.response.len() < LEAST_PACKETS {
        return Vec::new();
    }
    let (times, medians) = medians(stream);
    let found = change_points::find(&times, &medians, 1).unwrap_or_default();
    let change = |point: &ChangePoint| {
        let scope = Scope::Within {
            trial: stream.row.trial,
            probe: stream.row.probe_name.clone(),
            after: point.time.saturating_sub(first),
        };
        worth_a_word(point, scope)
    };
    found.iter().filter_map(change).collect()
}

/// Medians of stretches of equal numbers of packets, and when each began.
fn medians(stream: &Stream<'_>) -> (Vec<Nanos>, Vec<f64>) {
    let length = stream.response.len().div_ceil(STRETCHES);
    let stretches = stream.response.chunks(length);
    let median = |stretch: &[f64]| {
        let mut answered: Vec<f64> = stretch
            .iter()
            .copied()
            .filter(|ns| ns.is_finite())
            .collect();
        Functional::Quantile(0.5)
            .of(&mut answered)
            .unwrap_or(f64::NAN)
    };
    let times = stream.due.iter().step_by(length).copied();
    (times.collect(), stretches.map(median).collect())
}

/// Changes from trial to trial: of each one's median, over the median of all with its levels.
fn between(streams: &[Stream<'_>]) -> Vec<Change> {
    let median = |stream: &Stream<'_>| {
        let answered = stream.response.iter().copied().filter(|ns| ns.is_finite());
        Functional::Quantile(0.5).of(&mut answered.collect::<Vec<_>>())
    };
    let lane = |stream: &Stream<'_>| format!("{:?} {}", stream.row.factors, stream.row.probe_name);
    let medians: Vec<Option<f64>> = streams.iter().map(median).collect();
    let mut lanes = BTreeMap::<String, Vec<f64>>::new();
    for (stream, median) in streams.iter().zip(&medians) {
        lanes.entry(lane(stream)).or_default().extend(median);
    }
    let mut trials = BTreeMap::<u32, (u32, Vec<f64>)>::new();
    for (stream, median) in streams.iter().zip(&medians) {
        let all = lanes.get_mut(&lane(stream)).map(Vec::as_mut_slice);
        let usual = all.and_then(|all| Functional::Quantile(0.5).of(all));
        if let (Some(median), Some(usual)) = (median, usual.filter(|&usual| usual > 0.0)) {
            let trial = trials.entry(stream.row.position);
            let trial = trial.or_insert_with(|| (stream.row.trial, Vec::new()));
            trial.1.push(median / usual);
        }
    }
    let order: Vec<u32> = trials.values().map(|(trial, _)| *trial).collect();
    let values = trials
        .values()
        .map(|(_, of_probes)| of_probes.iter().sum::<f64>() / of_probes.len() as f64);
    let times: Vec<Nanos> = trials.keys().map(|&position| position.into()).collect();
    let found = change_points::find(&times, &values.collect::<Vec<_>>(), 1).unwrap_or_default();
    let change = |point: &ChangePoint| {
        let trial = order[point.index];
        worth_a_word(point, Scope::Between { trial })
    };
    found.iter().filter_map(change).collect()
}

/// A change whose interval says that it is one, and that is not small.
fn worth_a_word(point: &ChangePoint, scope: Scope) -> Option<Change> {
    let (before, after) = (point.median.a?, point.median.b?);
    let bounds = point.median.relative.as_ref().ok()?;
    let sure = bounds.low > 0.0 || bounds.high < 0.0;
    let large = (after / before - 1.0).abs() >= LEAST_SHARE;
    (sure && large).then_some(Change {
        scope,
        before,
        after,
        relative: (bounds.low, bounds.high),
    })
}
