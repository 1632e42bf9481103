//! Delay variation by probe, as the terminal and the page show it.

use super::{Lane, RunData, Ways};
use crate::words::percent;
use delaylab_model::units::{format_duration, format_duration_f64};
use delaylab_stats::summary::Distribution;
use delaylab_stats::variation::Ipdv;

/// A delay whose variation is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// The round trip, or of frames the one way.
    RoundTrip,
    /// The network's part of it.
    Network,
}

impl Of {
    /// Those that the findings of a run judge and that it has; else the round trip.
    pub fn judged(run: &RunData) -> Vec<Self> {
        const NETWORK: &str = "ipdv(network)";
        let checks = || run.findings.iter().map(|finding| finding.check.as_str());
        let has_network = run.lanes.iter().any(|lane| lane.network_ipdv.is_some());
        let network = has_network && checks().any(|check| check.contains(NETWORK));
        // A measure alone: of others it is `ipdv(…)`.
        let alone = |check: &str| {
            let after = check.split("ipdv").skip(1);
            after.into_iter().any(|rest| !rest.starts_with('('))
        };
        match network {
            true if checks().any(alone) => vec![Self::Network, Self::RoundTrip],
            true => vec![Self::Network],
            false => vec![Self::RoundTrip],
        }
    }

    /// `IPDV of the network`: at the head of a table.
    pub fn head(self, ways: Ways) -> String {
        match (self, ways) {
            (Self::Network, _) => "IPDV, network".to_owned(),
            (Self::RoundTrip, Ways::RoundTrip) => "IPDV, round trip".to_owned(),
            (Self::RoundTrip, Ways::OneWay) => "IPDV, one way".to_owned(),
            (Self::RoundTrip, Ways::Both) => "IPDV".to_owned(),
        }
    }

    /// What it is of, in a sentence.
    pub fn words(self, ways: Ways) -> &'static str {
        match self {
            Self::Network => "network's part of the round trip",
            Self::RoundTrip => ways.delay(),
        }
    }

    /// Of one lane.
    pub fn ipdv(self, lane: &Lane) -> Option<Ipdv> {
        match self {
            Self::Network => lane.network_ipdv,
            Self::RoundTrip => Some((&lane.summary.variation).into()),
        }
    }
}

/// Heads of [`figures`]: IPDV, then the delay and what was lost.
pub const HEADS: [&str; 7] = ["n", "IPDV mean", "sd", "IQR", DELAY, "p99", "lost"];

/// The head of the delay's median, before it is called by where packets go ([`Ways`]).
pub const DELAY: &str = "round trip p50";

/// Of one lane, a cell each of [`HEADS`].
pub fn figures(lane: &Lane, of: Of) -> [String; 7] {
    let summary = &lane.summary;
    let ipdv = of.ipdv(lane).unwrap_or_default();
    let delays = summary.round_trip.as_ref();
    let mean = |ns: Option<f64>| ns.map_or_else(unknown, format_duration_f64);
    let time = |ns: Option<i64>| ns.map_or_else(unknown, format_duration);
    [
        ipdv.count.to_string(),
        mean(ipdv.mean),
        mean(ipdv.sd),
        time(ipdv.iqr),
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
