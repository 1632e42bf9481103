//! Combinations of levels: the rows of each, and the figures that these have together.

use super::routers;
use super::totals::total;
use crate::grouped::grouped;
use delaylab_lab::experiment::Resolved;
use delaylab_model::MICROSECOND;
use delaylab_model::plan::levels_in_words;
use delaylab_model::trial::{Dropped, Trial};
use delaylab_store::run::Run;
use delaylab_store::trial_row::TrialRow;
use std::collections::BTreeSet;

/// So much longer than its reference a condition takes that is slow: a quarter, beyond what one repeat
/// differs from the next on an undisturbed host.
pub(super) const SLOW: f64 = 1.25;
/// What is less than that is no slowness.
pub(super) const MIN_SLOWER_NS: f64 = 10.0 * MICROSECOND as f64;

/// Are delays of several combinations, ns, so alike that none of them counts as slow against another? Then one figure serves all.
pub(super) fn agree(delays: impl Iterator<Item = f64> + Clone) -> bool {
    let least = delays.clone().fold(f64::INFINITY, f64::min);
    let most = delays.fold(f64::NEG_INFINITY, f64::max);
    most <= SLOW * least || most - least < MIN_SLOWER_NS
}

/// The rows of each combination of levels and probe that count, by label, in the order of the run.
pub(super) fn rows_by_label(
    run: &Run,
    mut counts: impl FnMut(&TrialRow, &str) -> bool,
) -> Vec<(String, Vec<&TrialRow>)> {
    let all = routers::others(run);
    let probes: BTreeSet<&str> = all.iter().map(|row| &*row.probe_name).collect();
    let several = probes.len() > 1;
    let labelled = all.into_iter().map(|row| {
        let probe = several.then_some(row.probe_name.as_str());
        (levels_in_words(&row.factors, probe), row)
    });
    grouped(labelled.filter(|(label, row)| counts(row, label)))
}

/// The trial and the probe of a row, which no other one of its run has.
pub(super) type Place = (u32, u16);

/// Those of this row.
pub(super) const fn place(row: &TrialRow) -> Place {
    (row.trial, row.probe)
}

/// All rows of the trials of these: what a world says of the path of a trial stands in the row of one of its probes.
pub(super) fn rows_of_trials<'a>(
    run: &'a Run,
    rows: &[&TrialRow],
) -> impl Iterator<Item = &'a TrialRow> + use<'a> {
    let trials: BTreeSet<u32> = rows.iter().map(|row| row.trial).collect();
    let all = run.trials().iter();
    all.filter(move |row| trials.contains(&row.trial))
}

/// Where packets were dropped and why, as these rows have it.
pub(super) fn dropped<'a>(
    rows: impl Iterator<Item = &'a TrialRow>,
) -> impl Iterator<Item = Dropped<'a>> {
    let warnings = rows.flat_map(|row| &row.facts.warnings);
    warnings.filter_map(|warning| Dropped::read(warning))
}

/// The trial of this number as the experiment has it.
pub(super) fn planned_trial(resolved: Option<&Resolved>, trial: u32) -> Option<&Trial> {
    let mut planned = resolved?.planned.iter();
    let planned = planned.find(|planned| planned.trial.id == trial)?;
    Some(&planned.trial)
}

/// Packets that were sent, or could not be.
pub(super) fn tried(rows: &[&TrialRow]) -> u64 {
    total(rows, "sent") + total(rows, "local_error")
}

/// Was no packet answered in time? Reports of other tools may say what was sent and not what came back.
pub(super) fn is_blackout(rows: &[&TrialRow]) -> bool {
    let known = rows.iter().all(|row| row.figure("received").is_some());
    known && total(rows, "received") == 0 && tried(rows) > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::testing::row;

    #[test]
    fn a_report_that_does_not_say_what_came_back_is_no_blackout() {
        let is = |figures: &[(&str, u64)]| is_blackout(&[&row(figures, None)]);
        assert!(!is(&[("sent", 1_000), ("lost", 12)]));
        assert!(is(&[("sent", 60), ("received", 0), ("lost", 60)]));
        assert!(is(&[("sent", 0), ("received", 0), ("local_error", 60)]));
        assert!(!is(&[("sent", 60), ("received", 1)]));
        assert!(!is(&[("sent", 0), ("received", 0)]));
    }
}
