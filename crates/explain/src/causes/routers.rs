//! Routers on the way to a target, which tools such as mtr ask, too. They need not answer, and what they take to answer is their own:
//! packets to them tell nothing of losses and delays of the path.

use super::totals::{lost_share, total};
use delaylab_model::words::a_few;
use delaylab_store::run::Run;
use delaylab_store::trial_row::TrialRow;
use serde_json::Value;
use std::collections::BTreeSet;

/// Routers that are named.
const MAX_NAMED_ROUTERS: usize = 4;

/// The rows of a run but for those of routers on the way.
pub(super) fn others(run: &Run) -> Vec<&TrialRow> {
    let routers = names(run);
    let rows = run.trials().iter();
    rows.filter(|row| !routers.contains(&*row.probe_name))
        .collect()
}

fn names(run: &Run) -> BTreeSet<&str> {
    let on_the_way = run.environment()["imported"]["on_the_way"].as_array();
    let names = on_the_way.into_iter().flatten();
    names.filter_map(Value::as_str).collect()
}

/// Which of them answered less than what is behind them, without its full stop: `hop 1 answered 1 of 30 packets, which is no loss of
/// the path: …`.
pub(super) fn sentence(run: &Run) -> Option<String> {
    let of_path = lost_share(&others(run));
    let names = names(run);
    let rows = run.trials().iter();
    let routers = rows.filter(|row| names.contains(&*row.probe_name));
    let silent = routers.filter(|row| lost_share(&[*row]) > of_path);
    let each = silent.map(|row| {
        let [sent, lost] = ["sent", "lost"].map(|name| total(&[row], name));
        let answered = sent.saturating_sub(lost);
        format!("{} answered {answered} of {sent} packets", row.probe_name)
    });
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| {
        format!(
            "{}, which is no loss of the path: packets to the target came further",
            a_few(&each, MAX_NAMED_ROUTERS)
        )
    })
}
