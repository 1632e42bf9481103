//! Delay variation by probe, as the terminal and the page show it.

use super::{Group, RunData, ShownDelay, Ways};
use crate::words::or_unknown;
use delaylab_model::units::{format_duration, format_duration_f64, format_part};
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
        let has_network = run.groups.iter().any(|group| group.network_ipdv.is_some());
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

    /// `IPDV, network`: at the head of a table.
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

    /// Of one group.
    pub fn ipdv(self, group: &Group) -> Option<Ipdv> {
        match self {
            Self::Network => group.network_ipdv,
            Self::RoundTrip => Some((&group.summary.variation).into()),
        }
    }
}

/// Heads of [`figures`]: IPDV, then the delay and what was lost.
pub const HEADS: [&str; 7] = [
    "n",
    "IPDV mean",
    "IPDV sd",
    "IPDV IQR",
    DELAY,
    "p99",
    "lost",
];

/// The head of the delay's median, before it is called as that of the run ([`RunData::delay_words`]).
pub const DELAY: &str = "round trip p50";

/// Of one group, a cell each of [`HEADS`]; the delay is the one that is shown of its run.
pub fn figures(group: &Group, of: Of, shown: ShownDelay) -> [String; 7] {
    let summary = &group.summary;
    let ipdv = of.ipdv(group).unwrap_or_default();
    let delays = shown.distribution(summary);
    let mean = |ns: Option<f64>| or_unknown(ns, format_duration_f64);
    let time = |ns: Option<i64>| or_unknown(ns, format_duration);
    [
        ipdv.count.to_string(),
        mean(ipdv.mean),
        mean(ipdv.sd),
        time(ipdv.iqr),
        time(delays.map(|d| d.p50)),
        time(delays.and_then(Distribution::carried_p99)),
        format_part(summary.counts.lost, summary.counts.ended()),
    ]
}

/// The groups of one combination of levels beside each other.
pub struct Combination<'a> {
    /// Its level of each factor that varies.
    pub levels: Vec<&'a str>,
    /// A group for each of the run's probes, in their order; `None` where a probe is not in it.
    pub groups: Vec<Option<&'a Group>>,
}

/// Every combination of levels, in order.
pub fn combinations(run: &RunData) -> Vec<Combination<'_>> {
    let probes = run.probes();
    let factors = run.varied();
    // Groups of one combination follow each other.
    let of_one = run.groups.chunk_by(|a, b| a.factors == b.factors);
    of_one
        .map(|groups| Combination {
            levels: levels(&factors, groups.first()),
            groups: probes
                .iter()
                .map(|probe| groups.iter().find(|group| group.probe == *probe))
                .collect(),
        })
        .collect()
}

fn levels<'a>(factors: &[&str], group: Option<&'a Group>) -> Vec<&'a str> {
    let level = |name: &&str| group.map_or("", |group| group.level(name));
    factors.iter().map(level).collect()
}
