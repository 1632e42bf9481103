//! A run of figures without packets, as another tool's report gives them: a row for each of its streams.

use super::words::quantity;
use crate::words::{UNKNOWN, or_unknown};
use delaylab_model::units::format_part;
use delaylab_store::trial_row::TrialRow;

/// The figures of each stream, as they are shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FiguresAlone {
    /// What its columns are: those of which anything is known.
    pub heads: Vec<&'static str>,
    /// The name of each stream, and a cell for each column.
    pub rows: Vec<(String, Vec<String>)>,
}

/// Round trips, as trials have them and as they are headed.
const ROUND_TRIPS: [(&str, &str); 4] = [
    ("round_trip_min_ns", "round trip min"),
    ("round_trip_mean_ns", "mean"),
    ("round_trip_sd_ns", "sd"),
    ("round_trip_max_ns", "max"),
];

impl FiguresAlone {
    /// Of the streams of a run that has no packets; nothing where nothing was said of them either.
    pub(super) fn new(rows: &[TrialRow]) -> Option<Self> {
        let is_known = |name: &&str| rows.iter().any(|row| row.figure(name).is_some());
        let counts = ["sent", "lost"].into_iter().filter(is_known);
        let counts: Vec<&str> = counts.collect();
        let times = ROUND_TRIPS.into_iter().filter(|(name, _)| is_known(name));
        let times: Vec<_> = times.collect();
        let heads = counts
            .iter()
            .copied()
            .chain(times.iter().map(|(_, head)| *head));
        let cells = |row: &TrialRow| {
            let counts = counts.iter().map(|name| count(row, name));
            let times = times.iter().map(|(name, _)| row.figure(name));
            let times = times.map(|ns| or_unknown(ns, |ns| quantity(ns, "ns")));
            (row.probe_name.clone(), counts.chain(times).collect())
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
