//! Losses that TCP repaired, and what waited for that.

use delaylab_model::Nanos;
use delaylab_stats::anatomy::{Place, Stage, StageSet};
use delaylab_stats::excursion::Excursion;
use std::collections::BTreeSet;

/// Losses of one stream that TCP repaired.
#[derive(Debug, Default)]
pub(super) struct SentAgain {
    /// From when those packets were due to when they were back, of which the kernel says that segments were sent again.
    repaired: Vec<(Nanos, Nanos)>,
}

impl SentAgain {
    pub(super) fn new(at: usize, late: &[Excursion], sent_again: &BTreeSet<(usize, u64)>) -> Self {
        let known = late.iter();
        let known = known.filter(|late| sent_again.contains(&(at, late.seq)));
        let repaired = known.map(|late| (late.due, late.due.saturating_add(late.response)));
        Self {
            repaired: repaired.collect(),
        }
    }

    /// Was it sent again, or did it wait behind one that was? TCP delivers in order: what is due meanwhile comes back behind it.
    pub(super) fn explain(&self, late: &Excursion) -> bool {
        let main = late.main().map(|main| main.stages);
        let may_wait = main.is_some_and(|stages| match stages.place() {
            Place::Network | Place::Unclear => true,
            Place::Prober => StageSet::span(Stage::SendStack, Stage::LocalQueue).covers(stages),
            _ => false,
        });
        let back = late.due.saturating_add(late.response);
        let mut repaired = self.repaired.iter();
        may_wait && repaired.any(|&(from, to)| (from..to).contains(&late.due) && back >= to)
    }
}
