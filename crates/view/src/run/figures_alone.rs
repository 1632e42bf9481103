//! A run of figures without packets, as another tool's report gives them: a row for each of its streams.

use super::words::quantity;
use crate::words::{UNKNOWN, or_unknown};
use delaylab_explain::import::Figure;
use delaylab_model::units::format_part;
use delaylab_store::trial_row::TrialRow;

/// The figures of each stream, as they are shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FiguresAlone {
    /// What its columns are: those of which anything is known.
    pub heads: Vec<String>,
    /// The name of each stream, and a cell for each column.
    pub rows: Vec<(String, Vec<String>)>,
}

/// Delays, as trials have them and as they are headed.
const DELAYS: [(&str, &str); 3] = [
    ("round_trip", "round trip"),
    ("forward", "forward"),
    ("return", "return"),
];
/// The head of each of [`Figure::OWN`] and what it counts, in the same order.
const OWN: [(&str, &str); 4] = [
    ("jitter", "ns"),
    ("transferred", "B"),
    ("throughput", "bit/s"),
    ("retransmitted", ""),
];
const STATISTICS: [&str; 8] = ["min", "mean", "sd", "p50", "p90", "p99", "p999", "max"];

impl FiguresAlone {
    /// Of the streams of a run that has no packets; nothing where nothing was said of them either.
    pub(super) fn new(rows: &[TrialRow]) -> Option<Self> {
        let is_known = |name: &str| rows.iter().any(|row| row.figure(name).is_some());
        // What came tells more only where what was lost does not follow from it.
        let untold =
            |row: &TrialRow| row.figure("lost").is_none() && row.figure("received").is_some();
        let is_shown = |name: &&str| match *name {
            "received" => rows.iter().any(untold),
            name => is_known(name),
        };
        let counts = ["sent", "received", "lost"].into_iter().filter(is_shown);
        let counts: Vec<&str> = counts.collect();
        let times: Vec<(String, String)> = DELAYS
            .into_iter()
            .flat_map(|delay| {
                let known = STATISTICS
                    .into_iter()
                    .map(|it| (format!("{}_{it}_ns", delay.0), it));
                let known = known.filter(|(name, _)| is_known(name)).enumerate();
                known
                    .map(move |(place, (name, statistic))| match place {
                        0 => (name, format!("{} {statistic}", delay.1)),
                        _ => (name, statistic.to_owned()),
                    })
                    .collect::<Vec<_>>()
            })
            .collect();
        let others = Figure::OWN.into_iter().zip(OWN);
        let others = others.map(|((_, name), (head, unit))| (name, head, unit));
        let others: Vec<_> = others.filter(|(name, ..)| is_known(name)).collect();
        let heads = counts.iter().map(|name| (*name).to_owned());
        let heads = heads.chain(times.iter().map(|(_, head)| head.clone()));
        let heads = heads.chain(others.iter().map(|(_, head, _)| (*head).to_owned()));
        let cells = |row: &TrialRow| {
            let counts = counts.iter().map(|name| count(row, name));
            let times = times.iter().map(|(name, _)| row.figure(name));
            let times = times.map(|ns| or_unknown(ns, |ns| quantity(ns, "ns")));
            let others = others.iter().map(|(name, _, unit)| {
                or_unknown(row.figure(name), |value| match *unit {
                    "" => (value as u64).to_string(),
                    unit => quantity(value, unit),
                })
            });
            let cells = counts.chain(times).chain(others);
            (row.probe_name.clone(), cells.collect())
        };
        let shown = Self {
            heads: heads.collect(),
            rows: rows.iter().map(cells).collect(),
        };
        (!shown.heads.is_empty()).then_some(shown)
    }
}

/// What was lost is a share, where it is known of how many.
fn count(row: &TrialRow, name: &str) -> String {
    match (row.figure(name), row.figure("sent")) {
        (Some(lost), Some(sent)) if name == "lost" => format_part(lost as u64, sent as u64),
        (Some(count), _) => (count as u64).to_string(),
        (None, _) => UNKNOWN.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::samples::trial_row;

    #[test]
    fn all_that_is_known_has_a_column() {
        let row = |known: &[(&str, f64)]| TrialRow {
            figures: (known.iter())
                .map(|(name, value)| ((*name).to_owned(), Some(*value)))
                .collect(),
            ..trial_row()
        };
        let both = row(&[
            ("sent", 10.0),
            ("received", 9.0),
            ("lost", 1.0),
            ("round_trip_p50_ns", 1e6),
            ("round_trip_max_ns", 2e6),
            ("forward_min_ns", 3e5),
            ("forward_p50_ns", 4e5),
        ]);
        let shown = FiguresAlone::new(std::slice::from_ref(&both)).unwrap();
        let heads = [
            "sent",
            "lost",
            "round trip p50",
            "max",
            "forward min",
            "p50",
        ];
        assert_eq!(shown.heads, heads);
        assert_eq!(shown.rows[0].1[1], "10 %");
        // Of one nothing tells how many were lost.
        let copies = row(&[("sent", 10.0), ("received", 11.0)]);
        let shown = FiguresAlone::new(&[both, copies]).unwrap();
        assert_eq!(shown.heads[..3], ["sent", "received", "lost"]);
        assert_eq!(shown.rows[1].1[..3], ["10", "11", UNKNOWN]);
    }
}
