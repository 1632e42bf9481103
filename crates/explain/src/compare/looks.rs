//! Which differences are clear, allowing for how many figures are looked at (multiple comparisons).
//!
//! A pair differs where the interval of one of its figures leaves out zero. Who looks at several figures
//! finds a difference by chance more often than in 5 % of cases, so intervals are stretched as if all
//! figures of a pair had to be right at once (Bonferroni): as much as Student's factor for 95 %
//! grows to that for 1 − 5 %/looks, with as many degrees of freedom as the interval has. Medians may lie so far apart that they
//! differ even where few degrees leave an interval no end ([`Apart`](delaylab_stats::two_samples::Apart)), and so may the levels of
//! trials that differ by factors ([`Levels`](delaylab_stats::two_samples::Levels)). Of several pairs, as
//! many are allowed for that 5 % of those that are said to differ do so by chance (Benjamini and Hochberg 1995): where nothing
//! differs, that is one comparison in twenty, and where many pairs do, none is hidden by how many there are.

use super::figures::PairFigures;
use delaylab_lab::finding::Measure;
use delaylab_stats::comparison::Bounds;
use delaylab_stats::two_samples::Shift;

/// How many independent tests the figures of a pair are worth: 1 for loss, and 3 for six shifts of the headline, which are of the same
/// packets and together tell a difference by chance no more often than three independent tests would (by simulation,
/// `delaylab-stats`, `examples/false_alarms.rs`).
pub const EFFECTIVE_TESTS_PER_PAIR: usize = 4;
/// How often a difference is found by chance where nothing differs (α).
pub(super) const ALPHA: f64 = 0.05;

/// For how many independent tests verdicts allow: with R pairs of m said to differ, those of m/R pairs.
pub fn looks(pairs: &[PairFigures], headline: Measure) -> usize {
    let all = EFFECTIVE_TESTS_PER_PAIR * pairs.len();
    let enough = |differ: &usize| {
        let looks = all.div_ceil(*differ);
        let clear = (pairs.iter()).filter(|pair| pair.is_any_clear(headline, looks));
        clear.count() >= *differ
    };
    let most = (2..=pairs.len()).rev().find(enough);
    all.div_ceil(most.unwrap_or(1))
}

/// The confidence that each of this many tests must have.
fn confidence(looks: usize) -> f64 {
    1.0 - ALPHA / looks.max(1) as f64
}

/// What an interval is stretched by, where there are this many tests.
pub(super) fn stretch(bounds: &Bounds, looks: usize) -> f64 {
    bounds.stretch(confidence(looks))
}

/// From which difference on medians are apart, whatever their interval; infinite of other statistics.
pub(super) fn apart_from(shift: &Shift, looks: usize) -> f64 {
    let apart = shift.apart.map(|apart| apart.least(confidence(looks)));
    apart.unwrap_or(f64::INFINITY)
}

/// Does the interval leave out zero, allowing for this many tests, or are the medians or the levels of trials far apart?
pub fn is_clear(shift: &Shift, looks: usize) -> bool {
    let Some((difference, reach)) = towards_zero(shift, looks) else {
        return false;
    };
    let levels = shift.levels.as_ref();
    let are_apart = levels.is_some_and(|levels| levels.are_apart(confidence(looks)));
    difference > reach || difference > apart_from(shift, looks) || are_apart
}

/// The size of a difference, and how far its interval reaches from there towards zero; `None` where there is no difference,
/// or no interval.
pub(super) fn towards_zero(shift: &Shift, looks: usize) -> Option<(f64, f64)> {
    let difference = shift.difference().filter(|by| *by != 0.0)?;
    let bounds = shift.absolute.as_ref().ok()?;
    let reach = if difference > 0.0 {
        difference - bounds.low
    } else {
        bounds.high - difference
    };
    Some((difference.abs(), stretch(bounds, looks) * reach))
}

impl PairFigures {
    fn is_any_clear(&self, headline: Measure, looks: usize) -> bool {
        let shifts = self
            .figures(headline)
            .map_or(&[][..], |figures| &figures.shifts);
        self.loss_differs(looks) || shifts.iter().any(|shift| is_clear(shift, looks))
    }

    /// Does one side lose more than the other one: by an interval, or because it is not answered any more?
    pub fn loss_differs(&self, looks: usize) -> bool {
        self.is_outage() || is_clear(&self.loss, looks)
    }
}
