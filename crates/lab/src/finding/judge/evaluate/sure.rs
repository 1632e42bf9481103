//! Between which ends a term surely is, also where a statistic of it has no interval.

use super::Evaluation;
use super::ends;
use crate::finding::judge::plan::Term;

impl Evaluation<'_> {
    /// The ends of a term; infinite where nothing bounds it.
    pub(in crate::finding::judge) fn sure_ends(&self, term: &Term) -> (f64, f64) {
        ends::of_term(term, &|leaf| self.sure_ends_of_leaf(leaf), &|_| ends::ANY)
    }

    /// Those of its interval as far as it has one, else those that its values came to often enough.
    fn sure_ends_of_leaf(&self, index: usize) -> (f64, f64) {
        let interval = self.leaf_interval(index);
        let (low, high) = interval.map_or(ends::ANY, |bounds| (bounds.low, bounds.high));
        let statistic = self.statistics[index].as_ref();
        // One trial does not show what differs from trial to trial.
        let statistic = statistic.filter(|_| self.is_repeated[index]);
        let sure = statistic.and_then(|statistic| statistic.surely_within(&self.design));
        let sure = sure.unwrap_or(ends::ANY);
        let (least, most) = self.plan.leaves[index].possible();
        let low = if low.is_finite() { low } else { sure.0 };
        let high = if high.is_finite() { high } else { sure.1 };
        (low.max(least), high.min(most))
    }
}
