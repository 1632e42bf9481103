//! When the response changed its level, and in which stages: within a trial, and from trial to trial.

use super::anatomies::Anatomies;
use super::combination::SLOW;
use super::gather::GatheredStream;
use delaylab_model::record::Record;
use delaylab_model::units::{format_duration, format_duration_f64, format_signed_share};
use delaylab_model::{Nanos, SECOND};
use delaylab_stats::anatomy::{Part, StageSet, in_common};
use delaylab_stats::change_points::{self, ChangePoint};
use delaylab_stats::excursion::Excursions;
use delaylab_stats::functional::Functional;
use delaylab_store::run::Run;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// A change of less than this share of the level is not worth a word. Chosen by hand.
const MIN_SHARE: f64 = 0.01;
/// From this factor on a change is said first: its higher level would be called slow.
const LARGE: f64 = SLOW;
/// Shorter trials are not looked at: what a moment brings is an excursion.
const MIN_LENGTH: Nanos = SECOND;
/// The stages of a change are those that together moved by this share of it. Chosen by hand.
const SHARE_OF_CHANGE: f64 = 2.0 / 3.0;
/// If more of them are needed for that, it is in no stage.
const MAX_STAGES: usize = 2;

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
    /// Median after the change, as `before`.
    pub after: f64,
    /// The 95 % interval of the relative difference; `None` where a level has too few packets for one, or they resemble each
    /// other too much. That it changed is known from all levels together.
    pub relative: Option<(f64, f64)>,
    /// The stages that moved by most of it; `None` where the stamps do not tell several apart, or where it is in many of them.
    pub stages: Option<StageSet>,
}

impl Changes {
    /// The largest change of this probe that lasts to the end of its trial, where that is large, and the level is then far from that
    /// with which the trial began: `From 1.91 s on the median response is 6.39 ms, and
    /// 4.36 ms before (+47 %), in forward path.`
    pub(super) fn answer(&self, of_one_trial: bool, probe: &str) -> String {
        let within = |change: &Change| match &change.scope {
            Scope::Within {
                trial,
                probe: of,
                after,
            } => (of == probe).then_some((*trial, *after)),
            Scope::Between { .. } => None,
        };
        let is_of_others = |change: &&Change| {
            matches!(change.scope, Scope::Within { .. }) && within(change).is_none()
        };
        let mut found = self.found.iter().filter(|change| !is_of_others(change));
        let largest = found.next().filter(|change| size(change) >= LARGE.ln());
        let Some((change, (trial, after))) = largest.and_then(|it| Some((it, within(it)?))) else {
            return String::new();
        };
        let all = self.found.iter();
        let of_stream = all.filter_map(|it| Some((it, within(it).filter(|it| it.0 == trial)?.1)));
        let of_stream: Vec<(&Change, Nanos)> = of_stream.collect();
        // Of a level that came and went, both changes are as large.
        let first = of_stream.iter().min_by_key(|it| it.1);
        let began = first.map_or(change.before, |(first, _)| first.before);
        let is_back = (change.after / began).ln().abs() < LARGE.ln();
        if is_back || of_stream.iter().any(|it| it.1 > after) {
            return String::new();
        }
        let by = format_signed_share(change.after / change.before - 1.0);
        let [before, later] = [change.before, change.after].map(format_duration_f64);
        let of_trial = match of_one_trial {
            true => String::new(),
            false => format!(" in trial {trial}"),
        };
        let just = if of_stream.len() > 1 { "just " } else { "" };
        let stages = change.stages;
        let stages = stages.map_or_else(String::new, |stages| format!(", in {stages}"));
        format!(
            "From {} on{of_trial} the median response is {later}, and {before} {just}before ({by}){stages}.",
            format_duration(after)
        )
    }
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
pub(super) fn find(run: &Run, streams: &[GatheredStream<'_>]) -> Changes {
    let long = |stream: &&GatheredStream<'_>| {
        let ends = stream.due.first().zip(stream.due.last());
        ends.is_some_and(|(first, last)| last - first >= MIN_LENGTH)
    };
    let among = streams.iter().filter(long).count();
    let mut changes = Changes::default();
    let mut levels = BTreeMap::<u32, Vec<Levels<'_>>>::new();
    for stream in streams.iter().filter(long) {
        let points = within(stream, among, &mut changes);
        if !points.is_empty() {
            let of_trial = levels.entry(stream.row.trial).or_default();
            of_trial.push(Levels::new(stream, points));
        }
    }
    for (trial, mut of_trial) in levels {
        run.scan(Some(trial), |row, record| {
            let mut levels = of_trial.iter_mut();
            if let Some(levels) = levels.find(|it| it.stream.row.probe == row.probe) {
                levels.push(record);
            }
        });
        let found = of_trial.iter().flat_map(Levels::changes);
        changes.found.extend(found);
    }
    changes.found.extend(between(streams));
    changes.found.sort_by(|a, b| size(b).total_cmp(&size(a)));
    changes
}

fn size(change: &Change) -> f64 {
    (change.after / change.before).ln().abs()
}

/// Where the level changes within one trial, of this many that are looked at.
fn within(stream: &GatheredStream<'_>, among: usize, changes: &mut Changes) -> Vec<ChangePoint> {
    let Ok(found) = change_points::find(&stream.due, &stream.response, among, 1) else {
        return Vec::new();
    };
    let Some(median) = stream.median().filter(|&median| median > 0.0) else {
        return found.points;
    };
    let visible = Visible {
        share: (found.visible.shift / median).max(MIN_SHARE),
        packets: found.visible.values,
    };
    if changes
        .visible
        .is_none_or(|least| visible.share > least.share)
    {
        changes.visible = Some(visible);
    }
    found.points
}

/// The levels of a stream, and what its packets take at each.
struct Levels<'a> {
    stream: &'a GatheredStream<'a>,
    /// Where each but the first begins.
    points: Vec<ChangePoint>,
    levels: Vec<Level>,
    /// Packets that were read.
    read: usize,
}

/// One level: the middle half of its responses, where no packet is that was late for a reason of its own.
struct Level {
    low: f64,
    high: f64,
    packets: Excursions,
}

impl<'a> Levels<'a> {
    fn new(stream: &'a GatheredStream<'a>, points: Vec<ChangePoint>) -> Self {
        let starts = points.iter().map(|point| point.index);
        let ends = starts.clone().chain([stream.response.len()]);
        let level = |(start, end): (usize, usize)| {
            let responses = stream.response[start..end].iter().copied();
            let mut responses: Vec<f64> = responses.filter(|ns| ns.is_finite()).collect();
            let mut at = |q| Functional::Quantile(q).value(&mut responses);
            Level {
                low: at(0.25).unwrap_or(f64::INFINITY),
                high: at(0.75).unwrap_or(f64::NEG_INFINITY),
                packets: Excursions::new(stream.row.facts.records, Nanos::MAX),
            }
        };
        Self {
            levels: [0].into_iter().chain(starts).zip(ends).map(level).collect(),
            stream,
            points,
            read: 0,
        }
    }

    /// Takes the next record of the stream.
    fn push(&mut self, record: &Record) {
        let at = (self.points).partition_point(|point| point.index <= self.read);
        self.read += 1;
        let level = &mut self.levels[at];
        let response = record.response().map(|ns| ns as f64);
        if response.is_some_and(|ns| (level.low..=level.high).contains(&ns)) {
            level.packets.push(record);
        }
    }

    fn changes(&self) -> impl Iterator<Item = Change> {
        let row = self.stream.row;
        let first = self.stream.due.first().copied().unwrap_or_default();
        let levels = self.levels.windows(2);
        (self.points.iter().zip(levels)).filter_map(move |(point, levels)| {
            let scope = Scope::Within {
                trial: row.trial,
                probe: row.probe_name.clone(),
                after: point.time.saturating_sub(first),
            };
            let means = |level: &Level| level.packets.usual().parts();
            as_change(point, scope, moved(&means(&levels[0]), &means(&levels[1])))
        })
    }
}

/// The stages that moved by most of what all of them moved from these means to those.
fn moved(before: &[Part], after: &[Part]) -> Option<StageSet> {
    let both = in_common(before, after);
    let by = |[before, after]: &[Part; 2]| after.ns - before.ns;
    let all: f64 = both.iter().map(by).sum();
    let mut shares: Vec<(StageSet, f64)> = (both.iter())
        .map(|both| (both[0].stages, by(both) / all))
        .collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    let first = |count: usize| {
        let first = shares.get(..count)?;
        let share: f64 = first.iter().map(|(_, share)| share).sum();
        let stages = first.iter().flat_map(|(stages, _)| stages.iter());
        (share >= SHARE_OF_CHANGE && count < shares.len()).then(|| stages.collect())
    };
    (1..=MAX_STAGES).find_map(first)
}

/// Each trial's figures, by when it ran.
fn figures_by_position(streams: &[GatheredStream<'_>]) -> BTreeMap<u32, OfTrial> {
    let group =
        |stream: &GatheredStream<'_>| format!("{:?} {}", stream.row.factors, stream.row.probe_name);
    let medians: Vec<Option<f64>> = streams.iter().map(GatheredStream::median).collect();
    let mut groups = BTreeMap::<String, Vec<f64>>::new();
    for (stream, median) in streams.iter().zip(&medians) {
        groups.entry(group(stream)).or_default().extend(median);
    }
    let mut trials = BTreeMap::<u32, OfTrial>::new();
    for (stream, median) in streams.iter().zip(&medians) {
        let all = groups.get_mut(&group(stream)).map(Vec::as_mut_slice);
        let usual = all.and_then(|all| Functional::Quantile(0.5).value(all));
        if let (Some(median), Some(usual)) = (median, usual.filter(|&usual| usual > 0.0)) {
            let trial = trials.entry(stream.row.position).or_default();
            trial.id = stream.row.trial;
            trial.medians.push(median / usual);
            let means = stream.usual.anatomy.means().into_iter();
            let means = means.map(|part| Part {
                ns: part.ns / usual,
                ..part
            });
            trial.anatomy.add(&Vec::from_iter(means), 1.0);
        }
    }
    trials
}

/// Changes from trial to trial: of each one's median, over the median of all with its levels.
fn between(streams: &[GatheredStream<'_>]) -> Vec<Change> {
    let trials = figures_by_position(streams);
    let times: Vec<Nanos> = trials.keys().map(|&position| position.into()).collect();
    let trials: Vec<OfTrial> = trials.into_values().collect();
    let values = trials
        .iter()
        .map(|trial| trial.medians.iter().sum::<f64>() / trial.medians.len() as f64);
    let values: Vec<f64> = values.collect();
    let Ok(found) = change_points::find(&times, &values, 1, 1) else {
        return Vec::new();
    };
    let starts = found.points.iter().map(|point| point.index);
    let ends = starts.clone().chain([trials.len()]);
    let means = [0].into_iter().chain(starts).zip(ends).map(|(start, end)| {
        let mut of_level = Anatomies::default();
        let of_trials = trials[start..end].iter();
        of_trials.for_each(|trial| of_level.merge(&trial.anatomy));
        of_level.means()
    });
    let means: Vec<Vec<Part>> = means.collect();
    let change = |(point, means): (&ChangePoint, &[Vec<Part>])| {
        let trial = trials[point.index].id;
        let stages = moved(&means[0], &means[1]);
        as_change(point, Scope::Between { trial }, stages)
    };
    let changes = found.points.iter().zip(means.windows(2));
    changes.filter_map(change).collect()
}

/// A trial's figures, as multiples of the median that is usual for its levels.
#[derive(Default)]
struct OfTrial {
    id: u32,
    /// Of its probes.
    medians: Vec<f64>,
    /// What packets took that were not late.
    anatomy: Anatomies,
}

/// A change that no interval speaks against, and that is not small.
fn as_change(point: &ChangePoint, scope: Scope, stages: Option<StageSet>) -> Option<Change> {
    let (before, after) = (point.median.a?, point.median.b?);
    let bounds = point.median.relative.as_ref().ok();
    let sure = bounds.is_none_or(|bounds| bounds.low > 0.0 || bounds.high < 0.0);
    // A range of most packets is no interval that a confidence belongs to.
    let interval = bounds.filter(|bounds| bounds.packets.is_none());
    let relative = interval.map(|bounds| (bounds.low, bounds.high));
    let large = (after / before - 1.0).abs() >= MIN_SHARE;
    (sure && large && before > 0.0).then_some(Change {
        scope,
        before,
        after,
        relative,
        stages,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_stats::anatomy::Stage;

    fn change(trial: u32, after_s: i64, [before, after]: [f64; 2]) -> Change {
        Change {
            scope: Scope::Within {
                trial,
                probe: "echo".to_owned(),
                after: after_s * SECOND,
            },
            before,
            after,
            relative: None,
            stages: Some(Stage::ForwardPath.into()),
        }
    }

    #[test]
    fn a_large_change_for_good_is_said() {
        let said = |found: Vec<Change>| {
            let changes = Changes {
                found,
                visible: None,
            };
            changes.answer(true, "echo")
        };
        let large = || change(0, 2, [4.36e6, 6.39e6]);
        assert_eq!(
            said(vec![large()]),
            "From 2.00 s on the median response is 6.39 ms, and 4.36 ms before (+47 %), in forward path."
        );
        // It is small, or it does not last.
        assert_eq!(said(vec![change(0, 2, [4.0e6, 4.8e6])]), "");
        assert_eq!(said(vec![large(), change(0, 3, [6.39e6, 4.36e6])]), "");
        assert!(!said(vec![large(), change(1, 3, [6.39e6, 4.36e6])]).is_empty());
        // It is back at the level with which it began, though the way back is the larger change.
        let (up, down) = (change(0, 10, [5e6, 50e6]), change(0, 12, [50e6, 4.9e6]));
        assert_eq!(said(vec![down, up]), "");
        let twice = said(vec![change(0, 12, [5e6, 50e6]), change(0, 10, [4e6, 5e6])]);
        assert!(
            twice.contains("50.0 ms, and 5.00 ms just before"),
            "{twice}"
        );
        assert_eq!(said(Vec::new()), "");
    }

    /// Handshakes beside requests are not what the answer is about.
    #[test]
    fn a_change_of_another_probe_is_not_said() {
        let found = vec![
            change(0, 2, [2e6, 4e6]),
            Change {
                scope: Scope::Within {
                    trial: 0,
                    probe: "ask".to_owned(),
                    after: 3 * SECOND,
                },
                ..change(0, 3, [40e6, 60e6])
            },
        ];
        let changes = Changes {
            found,
            visible: None,
        };
        let said = changes.answer(true, "ask");
        assert!(
            said.starts_with("From 3.00 s on the median response is 60.0 ms"),
            "{said}"
        );
        assert_eq!(changes.answer(true, "other"), "");
    }
}
