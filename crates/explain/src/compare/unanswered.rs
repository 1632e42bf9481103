//! Packets that could not be sent or came back with other bytes: neither answered nor lost, so that no figure of delay or loss has
//! them. And packets that were answered after their time-out.

use super::figures::PairFigures;
use super::outage;
use super::unsure_loss::{WORTH_LOSS, is_worth_a_word};
use delaylab_model::units::format_share;
use std::cmp::Ordering;

/// This many packets more than in the other run are a change. They may depend on each other, so that no interval is made of them.
const MANY: u64 = 10;

/// A change of how packets end.
pub(super) struct Unanswered {
    /// By how much their share changes, 0 to 1.
    pub(super) by: f64,
    /// Is it too much for chance?
    pub(super) is_clear: bool,
    /// `30 % of B's packets could not be sent, and 0 % of A's`.
    pub(super) words: String,
}

impl Unanswered {
    /// One that is clear goes before a larger one that is not.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        let clear = self.is_clear.cmp(&other.is_clear);
        clear.then(self.by.total_cmp(&other.by))
    }
}

/// The largest such change of a pair that is worth a word, of clear ones where there are any; an outage and a silent side say it themselves.
pub(super) fn unanswered(pair: &PairFigures) -> Option<Unanswered> {
    if pair.silent.is_some() || outage::words(&pair.outages).is_some() {
        return None;
    }
    let [a, b] = pair.outages.each_ref().map(|side| side.ends);
    let share = |count: u64, all: u64| count as f64 / all.max(1) as f64;
    let changes = [
        (a.unsent, b.unsent, "could not be sent", true),
        (a.corrupt, b.corrupt, "came back with other bytes", true),
        // They have delays, which are judged by intervals.
        (a.late, b.late, "were answered after their time-out", false),
    ];
    let changes = changes
        .into_iter()
        .filter_map(|(of_a, of_b, ended, tells)| {
            let (a, b) = (share(of_a, a.all()), share(of_b, b.all()));
            let by = (b - a).abs();
            is_worth_a_word(a, b).then(|| Unanswered {
                by,
                is_clear: tells && by >= WORTH_LOSS && of_a.abs_diff(of_b) >= MANY,
                words: format!(
                    "{} of B's packets {ended}, and {} of A's",
                    format_share(b),
                    format_share(a)
                ),
            })
        });
    changes.max_by(|one, other| one.order(other))
}
