//! What came of a run, in the few values that a list of runs shows.

use crate::run::Run;
use crate::trial_row::TrialRow;
use delaylab_model::distinct::Distinct;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What came of a run, as far as its files say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Overview {
    /// The experiment's title.
    pub title: Option<String>,
    /// Where live probes went.
    pub target: Option<String>,
    /// How many findings came out so, by the verdict's word in `findings.json`: `true`, `false`, `undecided`,
    /// `not_applicable`.
    pub verdicts: BTreeMap<String, u64>,
    /// How many of its trials are not what its experiment meant.
    pub invalid: u64,
    /// Packets that were sent, without those that warm a stream up, and of simulations that are the same one's alone, ...
    pub sent: u64,
    /// ... and of them those that were lost.
    pub lost: u64,
    /// Of the probe and combination of levels that lost the largest share: how many it lost, and how many it sent. Of all together,
    /// one that lost everything is a few percent.
    pub most_lost: Option<[u64; 2]>,
    /// The median response of the slowest trial of a probe, nanoseconds; of the round trip where no response is known, and of frames
    /// until they arrived.
    pub p50: Option<i64>,
    /// The p99 of the same one, where it has packets enough for one.
    pub p99: Option<i64>,
}

/// The rows of a run, of the same simulation one alone.
fn counting(run: &Run) -> Vec<&TrialRow> {
    let mut distinct = Distinct::new();
    let rows = run.trials().iter();
    rows.filter(|row| distinct.is_first(row.facts.trace_hash, row.probe))
        .collect()
}

/// How many trials are not what their experiment meant.
fn invalid(run: &Run) -> u64 {
    let invalid = run.trials().iter().filter(|row| !row.valid);
    let invalid: BTreeSet<u32> = invalid.map(|row| row.trial).collect();
    invalid.len() as u64
}

/// The median and p99 of a trial of a probe.
type Delays = (Option<f64>, Option<f64>);

impl Overview {
    /// Of a run as it is: what it does not have is left out.
    pub(crate) fn new(run: &Run) -> Self {
        let counting = counting(run);
        let sum = |name: &str| {
            let values = counting.iter().filter_map(|row| row.figure(name));
            values.sum::<f64>() as u64
        };
        let shows_responses = !run.trials().iter().any(|row| row.method.is_one_way());
        let of = |row: &&TrialRow| delays(row, shows_responses);
        let (p50, p99) = slowest(counting.iter().map(of));
        let whole = |ns: f64| ns.round() as i64;
        Self {
            title: title(run),
            target: run.environment()["target"].as_str().map(str::to_owned),
            verdicts: verdicts(run.findings()),
            invalid: invalid(run),
            sent: sum("sent"),
            lost: sum("lost"),
            most_lost: most_lost(by_combination(counting.iter().filter_map(|row| ends(row)))),
            p50: p50.map(whole),
            p99: p99.map(whole),
        }
    }
}

fn delays(row: &TrialRow, shows_responses: bool) -> Delays {
    let of = |delay: &str| {
        let quantile = |name: &str| row.figure(&format!("{delay}_{name}_ns"));
        (quantile("p50"), quantile("p99"))
    };
    let (first, second) = match shows_responses {
        true => ("response", "round_trip"),
        false => ("round_trip", "response"),
    };
    match of(first) {
        (None, None) => of(second),
        known => known,
    }
}

/// Both quantiles of one of these: the one with the largest p99, or median where it has too few packets for that.
fn slowest(streams: impl Iterator<Item = Delays>) -> Delays {
    let rank = |(p50, p99): &Delays| p99.or(*p50).unwrap_or(f64::NEG_INFINITY);
    let slowest = streams.max_by(|a, b| rank(a).total_cmp(&rank(b)));
    slowest.unwrap_or_default()
}

/// A probe and a combination of levels.
type Combination<'a> = (&'a str, Vec<(&'a str, &'a str)>);

/// What this trial is of, how many it lost, and how many it sent.
fn ends(row: &TrialRow) -> Option<(Combination<'_>, [u64; 2])> {
    let ends = [row.figure("lost")? as u64, row.figure("sent")? as u64];
    let levels = row.factors.iter();
    let levels = levels.map(|(name, level)| (name.as_str(), level.label.as_str()));
    Some(((&row.probe_name, levels.collect()), ends))
}

/// Of all trials of each together.
fn by_combination<'a>(
    trials: impl Iterator<Item = (Combination<'a>, [u64; 2])>,
) -> impl Iterator<Item = [u64; 2]> {
    let mut sums = BTreeMap::<_, [u64; 2]>::new();
    for (combination, [lost, sent]) in trials {
        let sum = sums.entry(combination).or_default();
        sum[0] += lost;
        sum[1] += sent;
    }
    sums.into_values()
}

/// The one that lost the largest share.
fn most_lost(streams: impl Iterator<Item = [u64; 2]>) -> Option<[u64; 2]> {
    let share = |[lost, sent]: [u64; 2]| lost as f64 / sent as f64;
    let sent = streams.filter(|[_, sent]| *sent > 0);
    sent.max_by(|a, b| share(*a).total_cmp(&share(*b)))
}

fn title(run: &Run) -> Option<String> {
    let experiment: toml::Table = run.experiment()?.parse().ok()?;
    let title = experiment.get("title")?.as_str()?;
    Some(title.to_owned()).filter(|title| !title.is_empty())
}

fn verdicts(findings: Option<&Value>) -> BTreeMap<String, u64> {
    let mut verdicts = BTreeMap::new();
    let all = findings.and_then(Value::as_array).into_iter().flatten();
    for verdict in all.filter_map(|finding| finding["verdict"].as_str()) {
        *verdicts.entry(verdict.to_owned()).or_default() += 1;
    }
    verdicts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_quantiles_are_of_one_stream() {
        let few = (Some(655.0), None);
        let many = (Some(250.0), Some(252.8));
        let slow = (Some(90.0), Some(700.0));
        assert_eq!(slowest([few, many].into_iter()), few);
        assert_eq!(slowest([few, many, slow].into_iter()), slow);
        assert_eq!(slowest([(None, None)].into_iter()), (None, None));
        assert_eq!(slowest([].into_iter()), (None, None));
    }

    #[test]
    fn what_lost_everything_is_not_hidden_by_the_others() {
        let combinations = [[0, 900], [100, 100], [1, 1000], [0, 0]];
        assert_eq!(most_lost(combinations.into_iter()), Some([100, 100]));
        assert_eq!(most_lost([[0, 0]].into_iter()), None);
    }

    /// Two trials of one case lose 5 and 1 of 100; the page says 3 %.
    #[test]
    fn trials_of_one_combination_are_summed_up() {
        let trials = [("a", 5), ("b", 4), ("a", 1)];
        let trials = trials.map(|(case, lost)| (("echo", vec![("case", case)]), [lost, 100]));
        let sums: Vec<_> = by_combination(trials.into_iter()).collect();
        assert_eq!(sums, [[6, 200], [4, 100]]);
        assert_eq!(most_lost(sums.into_iter()), Some([4, 100]));
    }
}
