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
    /// Of the stream that lost the largest share: how many it lost, and how many it sent. Of all together, a stream that lost
    /// everything is a few percent.
    pub most_lost: Option<[u64; 2]>,
    /// The median response of the slowest of its streams, nanoseconds; of the round trip where its findings judge that,
    /// or no response is known.
    pub p50: Option<i64>,
    /// The p99 of the same stream, where it has packets enough for one.
    pub p99: Option<i64>,
}

/// A stream's median and p99.
type Delays = (Option<f64>, Option<f64>);

impl Overview {
    /// Of a run as it is: what it does not have is left out.
    pub(crate) fn new(run: &Run) -> Self {
        let mut distinct = Distinct::new();
        let counting = run.trials().iter();
        let counting = counting.filter(|row| distinct.counts(row.facts.trace_hash, row.probe));
        let counting: Vec<&TrialRow> = counting.collect();
        let sum = |name: &str| {
            let values = counting.iter().filter_map(|row| row.figure(name));
            values.sum::<f64>() as u64
        };
        let shows_responses = shows_responses(run.findings());
        let of = |row: &&TrialRow| delays(row, shows_responses);
        let (p50, p99) = slowest(counting.iter().map(of));
        let ends = |row: &&TrialRow| Some([row.figure("lost")? as u64, row.figure("sent")? as u64]);
        let whole = |ns: f64| ns.round() as i64;
        let invalid = run.trials().iter().filter(|row| !row.valid);
        let invalid: BTreeSet<u32> = invalid.map(|row| row.trial).collect();
        Self {
            title: title(run),
            target: run.environment()["target"].as_str().map(str::to_owned),
            verdicts: verdicts(run.findings()),
            invalid: invalid.len() as u64,
            sent: sum("sent"),
            lost: sum("lost"),
            most_lost: most_lost(counting.iter().filter_map(ends)),
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

/// Both quantiles of one stream: the one with the largest p99, or median where it has too few packets for that.
fn slowest(streams: impl Iterator<Item = Delays>) -> Delays {
    let rank = |(p50, p99): &Delays| p99.or(*p50).unwrap_or(f64::NEG_INFINITY);
    let slowest = streams.max_by(|a, b| rank(a).total_cmp(&rank(b)));
    slowest.unwrap_or_default()
}

/// The stream that lost the largest share.
fn most_lost(streams: impl Iterator<Item = [u64; 2]>) -> Option<[u64; 2]> {
    let share = |[lost, sent]: [u64; 2]| lost as f64 / sent as f64;
    let sent = streams.filter(|[_, sent]| *sent > 0);
    sent.max_by(|a, b| share(*a).total_cmp(&share(*b)))
}

/// As the page of a run asks: do its findings judge responses, or at least no round trips?
fn shows_responses(findings: Option<&Value>) -> bool {
    let judges = |name: &str| {
        let all = findings.and_then(Value::as_array).into_iter().flatten();
        let mut checks = all.filter_map(|finding| finding["check"].as_str());
        checks.any(|check| check.contains(name))
    };
    judges("response") || !judges("round_trip")
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
    fn a_stream_that_lost_everything_is_not_hidden_by_the_others() {
        let streams = [[0, 900], [100, 100], [1, 1000], [0, 0]];
        assert_eq!(most_lost(streams.into_iter()), Some([100, 100]));
        assert_eq!(most_lost([[0, 0]].into_iter()), None);
    }
}
