//! Two runs of the same experiment beside each other, such as one of a testbed and one of a simulation:
//! the combinations of levels that both have, how their round trips compare, and in which stage they
//! differ most.

use crate::run::{Group, RunData};
use delaylab_model::Nanos;
use delaylab_model::plan::Factor;
use delaylab_stats::anatomy::{StageSet, in_common};
use delaylab_stats::summary::{AnatomyAt, Counts, Distribution, Summary};

/// Two runs beside each other.
#[derive(Debug, Clone, PartialEq)]
pub struct BothRuns {
    /// What tells the runs apart: their worlds, or where those are the same, their names.
    pub names: [String; 2],
    /// The factors that vary, and `probe` where there are several.
    pub heads: Vec<String>,
    /// A row for each combination of levels and probe that both have.
    pub rows: Vec<Row>,
    /// How many such rows only one of them would have.
    pub alone: [usize; 2],
}

/// One combination of levels, and one probe, in both runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its level of each head.
    pub levels: Vec<String>,
    /// Median of the round trip.
    pub p50: [Option<Nanos>; 2],
    /// 99th percentile of the round trip; `None` where so few packets do not carry it.
    pub p99: [Option<Nanos>; 2],
    /// The share of the packets that was lost; `None` where none was sent.
    pub lost: [Option<f64>; 2],
    /// Where the mean responses differ most; `None` where one of them has no answer.
    pub difference: Option<Difference>,
}

/// The stage whose means differ most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The stage, or several where one of the runs cannot tell them apart.
    pub stages: StageSet,
    /// The second run's mean less the first one's, in nanoseconds.
    pub ns: f64,
}

/// The second as a multiple of the first.
pub fn ratio([first, second]: [Option<Nanos>; 2]) -> Option<f64> {
    let first = first.filter(|&first| first > 0)?;
    Some(second? as f64 / first as f64)
}

impl BothRuns {
    /// Was anything lost?
    pub fn has_loss(&self) -> bool {
        let lost = self.rows.iter().flat_map(|row| row.lost).flatten();
        lost.into_iter().any(|lost| lost > 0.0)
    }

    /// Of what both runs have.
    pub fn new(first: &RunData, second: &RunData) -> Self {
        let one_probe = first.probes().len() == 1 && second.probes().len() == 1;
        let same = |a: &Group, b: &Group| {
            (one_probe || a.probe == b.probe) && same_levels(&a.factors, &b.factors)
        };
        let pair = |a| Some((a, second.groups.iter().find(|b| same(a, b))?));
        let pairs: Vec<(&Group, &Group)> = first.groups.iter().filter_map(pair).collect();
        let groups = pairs.iter().map(|(a, _)| *a);
        let heads = heads(&groups.collect::<Vec<_>>());
        let row = |(a, b): &(&Group, &Group)| Row {
            levels: heads.iter().map(|head| level(a, head)).collect(),
            ..Row::new(&a.summary, &b.summary)
        };
        Self {
            names: names(first, second),
            rows: pairs.iter().map(row).collect(),
            // Two of the first may be the same as one of the second, and two of the second as one of the first.
            alone: [
                alone(first, |a| second.groups.iter().any(|b| same(a, b))),
                alone(second, |b| first.groups.iter().any(|a| same(a, b))),
            ],
            heads,
        }
    }
}

/// How many of its groups the other run does not have.
fn alone(run: &RunData, is_in_both: impl Fn(&Group) -> bool) -> usize {
    let groups = run.groups.iter();
    groups.filter(|group| !is_in_both(group)).count()
}

impl Row {
    fn new(a: &Summary, b: &Summary) -> Self {
        let both = [a, b].map(|summary| summary.round_trip.as_ref());
        Self {
            levels: Vec::new(),
            p50: both.map(|delays| delays.map(|d| d.p50)),
            p99: both.map(|delays| delays.and_then(Distribution::carried_p99)),
            lost: [a, b].map(|summary| share_lost(&summary.counts)),
            difference: (a.mean_anatomy.as_ref().zip(b.mean_anatomy.as_ref()))
                .and_then(|(a, b)| largest(a, b)),
        }
    }
}

fn share_lost(counts: &Counts) -> Option<f64> {
    (counts.ended() > 0).then(|| counts.lost as f64 / counts.ended() as f64)
}

fn largest(a: &AnatomyAt, b: &AnatomyAt) -> Option<Difference> {
    let differences = in_common(&a.parts, &b.parts)
        .into_iter()
        .map(|[a, b]| Difference {
            stages: a.stages,
            ns: b.ns - a.ns,
        });
    differences.max_by(|a, b| a.ns.abs().total_cmp(&b.ns.abs()))
}

/// The same factors, in whatever order, at the same levels.
fn same_levels(a: &[Factor], b: &[Factor]) -> bool {
    let has = |(name, level): &Factor| b.iter().any(|(n, other)| n == name && level.is_same(other));
    a.len() == b.len() && a.iter().all(has)
}

fn heads(groups: &[&Group]) -> Vec<String> {
    let varied = crate::run::panels::varied(groups.iter().map(|group| group.factors.as_slice()));
    let several = groups.windows(2).any(|pair| pair[0].probe != pair[1].probe);
    let probe = several.then_some("probe");
    varied.into_iter().chain(probe).map(str::to_owned).collect()
}

fn level(group: &Group, head: &str) -> String {
    let own = group.level(head);
    let shown = if own.is_empty() && head == "probe" {
        &group.probe
    } else {
        own
    };
    shown.to_owned()
}

fn names(first: &RunData, second: &RunData) -> [String; 2] {
    let runs = [&first.head, &second.head];
    if first.head.world == second.head.world {
        let name = |folder: &str| {
            folder
                .rsplit('/')
                .find(|part| !part.is_empty())
                .map(str::to_owned)
        };
        runs.map(|head| name(&head.folder).unwrap_or_else(|| head.name.clone()))
    } else {
        runs.map(|head| head.world.clone())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::run::samples::{classes, sizes, waits};

    /// The same run in another world, where every reader wakes up 5 µs later.
    fn elsewhere(mut run: RunData) -> RunData {
        run.head.world = "sim".to_owned();
        for group in &mut run.groups {
            let delays = group.summary.round_trip.as_mut().unwrap();
            delays.p50 *= 2;
            let anatomy = group.summary.mean_anatomy.as_mut().unwrap();
            anatomy.parts.last_mut().unwrap().ns += 5_000.0;
            anatomy.parts.first_mut().unwrap().ns -= 2_000.0;
        }
        run
    }

    #[test]
    fn each_combination_that_both_have_is_a_row() {
        let first = waits();
        let mut second = elsewhere(waits());
        second.groups.remove(0);
        second
            .groups
            .iter_mut()
            .for_each(|group| group.factors.reverse());
        let both = BothRuns::new(&first, &second);
        assert_eq!(both.names, ["live", "sim"]);
        assert_eq!(both.heads, ["wait", "condition"]);
        assert_eq!((both.rows.len(), both.alone), (8, [1, 0]));
        for (row, group) in both.rows.iter().zip(&first.groups[1..]) {
            assert_eq!(row.levels, [group.level("wait"), group.level("condition")]);
            assert_eq!(row.p50[0], group.summary.round_trip.as_ref().map(|d| d.p50));
            assert_eq!(ratio(row.p50), Some(2.0));
            assert_eq!(ratio(row.p99), Some(1.0));
            let difference = row.difference.unwrap();
            assert_eq!(difference.stages.name(), "receive wake-up");
            assert!((difference.ns - 5_000.0).abs() < 1e-6);
        }
    }

    /// A run that was joined may write the same level in two ways.
    #[test]
    fn two_groups_may_be_the_same_as_one() {
        let (mut first, second) = (waits(), elsewhere(waits()));
        let twice = first.groups.clone();
        first.groups.extend(twice);
        let both = BothRuns::new(&first, &second);
        assert_eq!((both.rows.len(), both.alone), (18, [0, 0]));
        let both = BothRuns::new(&second, &first);
        assert_eq!((both.rows.len(), both.alone), (9, [0, 0]));
    }

    #[test]
    fn probes_meet_their_own() {
        let (first, second) = (classes(), elsewhere(classes()));
        let both = BothRuns::new(&first, &second);
        assert_eq!(both.heads, ["case", "probe"]);
        assert_eq!(both.rows.len(), first.groups.len());
        let probes: Vec<_> = both.rows.iter().map(|row| row.levels[1].as_str()).collect();
        assert_eq!(probes[..3], ["ef", "be", "ss"]);
    }

    #[test]
    fn what_was_not_answered_has_no_ratio() {
        assert_eq!(ratio([None, Some(5)]), None);
        assert_eq!(ratio([Some(5), None]), None);
        assert_eq!(ratio([Some(0), Some(5)]), None);
        let mut whole = waits();
        for group in &mut whole.groups {
            group.summary.counts.lost = 0;
        }
        let mut silent = whole.clone();
        for group in &mut silent.groups {
            group.summary.counts.lost = group.summary.counts.sent;
            group.summary.round_trip = None;
            group.summary.mean_anatomy = None;
        }
        let both = BothRuns::new(&whole, &silent);
        assert!(both.has_loss() && !BothRuns::new(&whole, &whole).has_loss());
        for row in &both.rows {
            assert!(row.p50[1].is_none() && row.difference.is_none());
            assert_eq!(row.lost, [Some(0.0), Some(1.0)]);
        }
    }

    #[test]
    fn in_one_world_runs_go_by_their_names() {
        let both = BothRuns::new(&waits(), &sizes());
        assert_eq!(both.names[0], "wait-time-jitter-20260102T030405Z");
        assert!(both.rows.is_empty());
    }
}
