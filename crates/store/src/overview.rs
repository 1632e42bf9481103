//! What came of a run, in the few values that a list of runs shows.

use crate::run::Run;
use crate::trial_row::TrialRow;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// What came of a run, as far as its files say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overview {
    /// The experiment's title.
    pub title: Option<String>,
    /// Where live probes went.
    pub target: Option<String>,
    /// How many findings came out so, by the verdict's word in `findings.json`: `true`, `false`, `undecided`,
    /// `not_applicable`.
    pub verdicts: BTreeMap<String, u64>,
    /// Packets that were sent, ...
    pub sent: u64,
    /// ... and of them those that were lost.
    pub lost: u64,
    /// The largest median response of its trials, nanoseconds; of the round trip where no response is known.
    pub p50: Option<i64>,
    /// The largest p99 of its trials, the same way.
    pub p99: Option<i64>,
}

impl Overview {
    /// Of a run as it is: what it does not have is left out.
    pub(crate) fn new(run: &Run) -> Self {
        let sum = |name: &str| {
            let values = run.trials().iter().filter_map(|row| figure(row, name));
            values.sum::<f64>() as u64
        };
        let largest = |quantile: &str| {
            let of = |row: &TrialRow| {
                let response = figure(row, &format!("response_{quantile}_ns"));
                response.or_else(|| figure(row, &format!("round_trip_{quantile}_ns")))
            };
            let values = run.trials().iter().filter_map(of);
            values.max_by(f64::total_cmp).map(|ns| ns.round() as i64)
        };
        Self {
            title: title(run),
            target: run.environment()["target"].as_str().map(str::to_owned),
            verdicts: verdicts(run.findings()),
            sent: sum("sent"),
            lost: sum("lost"),
            p50: largest("p50"),
            p99: largest("p99"),
        }
    }
}

fn figure(row: &TrialRow, name: &str) -> Option<f64> {
    let known = row.figures.iter().find(|(known, _)| known == name);
    known.and_then(|(_, value)| *value)
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
