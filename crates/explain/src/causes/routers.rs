//! Routers on the way to a target, which tools such as mtr ask, too. They need not answer, and what they take to answer is their own:
//! packets to them tell nothing of losses and delays of the path.

use super::combination::{lost_share, total};
use delaylab_model::words::a_few;
use delaylab_store::run::Run;
use delaylab_store::trial_row::TrialRow;

/// Routers that are named.
const NAMED: usize = 4;

/// The rows of a run but for those of routers on the way.
pub(super) fn others(run: &Run) -> Vec<&TrialRow> {
    let rows = run.trials().iter();
    rows.filter(|row| !is_router(run, row)).collect()
}

fn is_router(run: &Run, row: &TrialRow) -> bool {
    let on_the_way = run.environment()["imported"]["on_the_way"].as_array();
    let mut names = on_the_way.into_iter().flatten();
    names.any(|name| name.as_str() == Some(&row.probe_name))
}

/// Which of them answered less than what is behind them, without its full stop: `hop 1 answered 1 of 30 packets, which is no loss of
/// the path: …`.
pub(super) fn sentence(run: &Run) -> Option<String> {
    let of_path = lost_share(&others(run));
    let routers = run.trials().iter().filter(|row| is_router(run, row));
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
            a_few(&each, NAMED)
        )
    })
}
