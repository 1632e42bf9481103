//! Delay variation by probe, as the terminal and the page show it.

use super::{Lane, RunData};
use crate::words::percent;
use delaylab_model::units::{format_duration, format_duration_f64};
use delaylab_stats::summary::{Distribution, Summary};

/// Heads of [`figures`]: IPDV, then the delay and what was lost.
pub const HEADS: [&str; 7] = ["n", "IPDV mean", "sd", "IQR", DELAY, "p99", "lost"];

/// The head of the delay's median, before it is called by where packets go ([`Ways`](super::Ways)).
pub const DELAY: &str = "round trip p50";

/// Of one lane, a cell each of [`HEADS`].
pub fn figures(summary: &Summary) -> [String; 7] {
    let variation = &summary.variation;
    let delays = summary.round_trip.as_ref();
    let mean = |ns: Option<f64>| ns.map_or_else(unknown, format_duration_f64);
    let time = |ns: Option<i64>| ns.map_or_else(unknown, format_duration);
    [
        variation.ipdv_count.to_string(),
        mean(variation.ipdv_mean),
        mean(variation.ipdv_sd),
        time(variation.ipdv_iqr),
        time(delays.map(|d| d.p50)),
        time(delays.and_then(Distribution::carried_p99)),
        percent(summary.counts.lost, summary.counts.sent),
    ]
}

fn unknown() -> String {
    "–".to_owned()
}

/// The lanes of one combination of levels beside each other.
pub struct Combination<'a> {
    /// Its level of each factor that varies.
    pub levels: Vec<&'a str>,
    /// A lane for each of the run's probes, in their order; `None` where a probe is not in it.
    pub lanes: Vec<Option<&'a Lane>>,
}

/// Every combination of levels, in order.
pub fn combinations(run: &RunData) -> Vec<Combination<'_>> {
    let probes = run.probes();
    let factors = run.varied();
    // Lanes of one combination follow each other.
    let of_one = run.lanes.chunk_by(|a, b| a.factors == b.factors);
    of_one
        .map(|lanes| Combination {
            levels: levels(&factors, lanes.first()),
            lanes: probes
                .iter()
                .map(|probe| lanes.iter().find(|lane| lane.probe == *probe))
                .collect(),
        })
        .collect()
}

fn levels<'a>(factors: &[&str], lane: Option<&'a Lane>) -> Vec<&'a str> {
    let level = |name: &&str| lane.map_or("", |lane| lane.level(name));
    factors.iter().map(level).collect()
}
