//! What rows of trials counted together.

use delaylab_store::trial_row::TrialRow;

/// A count over all rows that have it.
pub(super) fn total(rows: &[&TrialRow], name: &str) -> u64 {
    rows.iter().filter_map(|row| row.figure(name)).sum::<f64>() as u64
}

/// The share of packets that were lost, 0 to 1.
pub(super) fn lost_share(rows: &[&TrialRow]) -> f64 {
    total(rows, "lost") as f64 / total(rows, "sent").max(1) as f64
}
