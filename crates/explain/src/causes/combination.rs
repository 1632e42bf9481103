//! Combinations of levels: what they are called, the rows of each, and the figures that these have together.

use super::slow::{LEAST_NS, SLOW};
use delaylab_model::plan::Factor;
use delaylab_store::run::Run;
use delaylab_store::trial_row::TrialRow;
use std::collections::BTreeSet;

/// A combination of levels, with its probe where there are several: `case fifo, streams 4, probe echo`.
pub(super) fn label(factors: &[Factor], probe: &str, several: bool) -> String {
    match (levels(factors), several) {
        (levels, false) => levels,
        (levels, true) if levels.is_empty() => format!("probe {probe}"),
        (levels, true) => format!("{levels}, probe {probe}"),
    }
}

/// `case fifo, streams 4`.
pub(super) fn levels(factors: &[Factor]) -> String {
    let levels = factors.iter();
    let levels = levels.map(|(name, level)| format!("{name} {level}"));
    levels.collect::<Vec<_>>().join(", ")
}

/// Are delays of several combinations, ns, so alike that none of them counts as slow against another? Then one figure serves all.
pub(super) fn agree(delays: impl Iterator<Item = f64> + Clone) -> bool {
    let least = delays.clone().fold(f64::INFINITY, f64::min);
    let most = delays.fold(f64::NEG_INFINITY, f64::max);
    most <= SLOW * least || most - least < LEAST_NS
}

/// The rows of each combination of levels and probe that count, by label, in the order of the run.
pub(super) fn rows_by_label(
    run: &Run,
    mut counts: impl FnMut(&TrialRow, &str) -> bool,
) -> Vec<(String, Vec<&TrialRow>)> {
    let probes: BTreeSet<&str> = run.trials().iter().map(|row| &*row.probe_name).collect();
    let mut alike: Vec<(String, Vec<&TrialRow>)> = Vec::new();
    for row in run.trials() {
        let label = label(&row.factors, &row.probe_name, probes.len() > 1);
        if !counts(row, &label) {
            continue;
        }
        match alike.iter_mut().find(|(known, _)| *known == label) {
            Some((_, rows)) => rows.push(row),
            None => alike.push((label, vec![row])),
        }
    }
    alike
}

/// A count over all rows that have it.
pub(super) fn total(rows: &[&TrialRow], name: &str) -> u64 {
    rows.iter().filter_map(|row| row.figure(name)).sum::<f64>() as u64
}

/// The share of packets that were lost, 0 to 1.
pub(super) fn lost_share(rows: &[&TrialRow]) -> f64 {
    total(rows, "lost") as f64 / total(rows, "sent").max(1) as f64
}
