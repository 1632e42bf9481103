//! When the response changed its level: within a trial, and from trial to trial.

use super::gather::GatheredStream;
use delaylab_model::{Nanos, SECOND};
use delaylab_stats::change_points::{self, ChangePoint};
use delaylab_stats::functional::Functional;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// A change of less than this share of the level is not worth a word.
const LEAST_SHARE: f64 = 0.01;
/// Shorter trials are not looked at: what a moment brings is an excursion.
const LEAST_LENGTH: Nanos = SECOND;

/// Changes of the median response, and what would have been seen.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Changes {
    /// The largest first.
    pub found: Vec<Change>,
    /// Of the trials that were looked at the one in which least can be seen; `None` where none was.
    pub visible: Option<Visible>,
}

/// What is smaller or shorter was looked for and may have been missed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Visible {
    /// How far a level must be from those next to it, as a share of the median, 0 and more.
    pub share: f64,
    /// How many packets it must last.
    pub packets: usize,
}

/// A change of the median response.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Where it was seen.
    pub scope: Scope,
    /// Median before, ns; of trials, as a multiple of what is usual for their levels.
    pub before: f64,
    /// And after it.
    pub after: f64,
    /// The 95 % interval of the relative difference; `None` where a level has too few packets for one, or they resemble each
    /// other too much. That it changed is known from all that is beside it.
    pub relative: Option<(f64, f64)>,
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

/// Every change within trials and from trial to trial.
pub(super) fn find(streams: &[GatheredStream<'_>]) -> Changes {
    let long = |stream: &&GatheredStream<'_>| {
        let ends = stream.due.first().zip(stream.due.last());
        ends.is_some_and(|(first, last)| last - first >= LEAST_LENGTH)
    };
    let among = streams.iter().filter(long).count();
    let mut changes = Changes::default();
    for stream in streams.iter().filter(long) {
        within(stream, among, &mut changes);
    }
    changes.found.extend(between(streams));
    changes.found.sort_by(|a, b| size(b).total_cmp(&size(a)));
    changes
}

fn size(change: &Change) -> f64 {
    (change.after / change.before).ln().abs()
}

/// Changes within one trial, of this many that are looked at.
fn within(stream: &GatheredStream<'_>, among: usize, changes: &mut Changes) {
    let Ok(found) = change_points::find(&stream.due, &stream.response, among, 1) else {
        return;
    };
    let first = stream.due.first().copied().unwrap_or_default();
    let change = |point: &ChangePoint| {
        let scope = Scope::Within {
            trial: stream.row.trial,
            probe: stream.row.probe_name.clone(),
            after: point.time.saturating_sub(first),
        };
        worth_a_word(point, scope)
    };
    changes.found.extend(found.points.iter().filter_map(change));
    let Some(median) = stream.median().filter(|&median| median > 0.0) else {
        return;
    };
    let visible = Visible {
        share: (found.visible.shift / median).max(LEAST_SHARE),
        packets: found.visible.values,
    };
    if changes
        .visible
        .is_none_or(|least| visible.share > least.share)
    {
        changes.visible = Some(visible);
    }
}

/// Changes from trial to trial: of each one's median, over the median of all with its levels.
fn between(streams: &[GatheredStream<'_>]) -> Vec<Change> {
    let group =
        |stream: &GatheredStream<'_>| format!("{:?} {}", stream.row.factors, stream.row.probe_name);
    let medians: Vec<Option<f64>> = streams.iter().map(GatheredStream::median).collect();
    let mut groups = BTreeMap::<String, Vec<f64>>::new();
    for (stream, median) in streams.iter().zip(&medians) {
        groups.entry(group(stream)).or_default().extend(median);
    }
    let mut trials = BTreeMap::<u32, (u32, Vec<f64>)>::new();
    for (stream, median) in streams.iter().zip(&medians) {
        let all = groups.get_mut(&group(stream)).map(Vec::as_mut_slice);
        let usual = all.and_then(|all| Functional::Quantile(0.5).value(all));
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
    let values: Vec<f64> = values.collect();
    let Ok(found) = change_points::find(&times, &values, 1, 1) else {
        return Vec::new();
    };
    let change = |point: &ChangePoint| {
        let trial = order[point.index];
        worth_a_word(point, Scope::Between { trial })
    };
    found.points.iter().filter_map(change).collect()
}

/// A change that no interval speaks against, and that is not small.
fn worth_a_word(point: &ChangePoint, scope: Scope) -> Option<Change> {
    let (before, after) = (point.median.a?, point.median.b?);
    let bounds = point.median.relative.as_ref().ok();
    let relative = bounds.map(|bounds| (bounds.low, bounds.high));
    let sure = relative.is_none_or(|(low, high)| low > 0.0 || high < 0.0);
    let large = (after / before - 1.0).abs() >= LEAST_SHARE;
    (sure && large && before > 0.0).then_some(Change {
        scope,
        before,
        after,
        relative,
    })
}
