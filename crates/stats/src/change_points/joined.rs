//! Neighbouring levels put together, the least sure first.

use super::LEAST_SEGMENT;
use super::contrast::Level;
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// How surely two neighbouring levels differ. In order: the least sure comes first.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Worth {
    /// How long the shorter one is, as far as that matters.
    shorter: usize,
    /// Their contrast over what it needs: 1 is enough.
    contrast: f64,
    /// Which is the first of the two.
    at: usize,
}

impl Eq for Worth {}

impl Ord for Worth {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_length = self.shorter.cmp(&other.shorter);
        let by_contrast = self.contrast.total_cmp(&other.contrast);
        by_length.then(by_contrast).then(self.at.cmp(&other.at))
    }
}

impl PartialOrd for Worth {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Worth {
    fn is_sure(&self) -> bool {
        self.shorter >= LEAST_SEGMENT && self.contrast >= 1.0
    }
}

/// A level, and those on either side of it that are left.
#[derive(Debug)]
struct Link {
    level: Level,
    before: Option<usize>,
    after: Option<usize>,
    /// Against the one after it.
    worth: Option<Worth>,
}

/// Levels in a row. A series may have tens of thousands: each step takes the logarithm of their number.
#[derive(Debug)]
struct Row<N> {
    /// By the index of their first cut; `None` once put together with the one before.
    links: Vec<Option<Link>>,
    worths: BTreeSet<Worth>,
    needed: N,
}

impl<N: Fn(usize) -> f64> Row<N> {
    fn new(levels: impl ExactSizeIterator<Item = Level>, needed: N) -> Self {
        let count = levels.len();
        let link = |(at, level): (usize, Level)| {
            Some(Link {
                level,
                before: at.checked_sub(1),
                after: Some(at + 1).filter(|&after| after < count),
                worth: None,
            })
        };
        let mut row = Self {
            links: levels.enumerate().map(link).collect(),
            worths: BTreeSet::new(),
            needed,
        };
        (0..count).for_each(|at| row.weigh(at));
        row
    }

    /// Holds a level against the one after it, anew.
    fn weigh(&mut self, at: usize) {
        let Some(link) = &self.links[at] else {
            return;
        };
        let after = link.after.and_then(|after| self.links[after].as_ref());
        let worth = after.map(|after| {
            let shorter = link.level.len().min(after.level.len());
            Worth {
                shorter: shorter.min(LEAST_SEGMENT),
                contrast: link.level.contrast(&after.level) / (self.needed)(shorter),
                at,
            }
        });
        if let Some(link) = &mut self.links[at] {
            if let Some(old) = link.worth {
                self.worths.remove(&old);
            }
            link.worth = worth;
        }
        self.worths.extend(worth);
    }

    /// Puts a level together with the one after it.
    fn join(&mut self, at: usize) {
        let after = self.links[at].as_ref().and_then(|link| link.after);
        let Some(gone) = after.and_then(|after| self.links[after].take()) else {
            return;
        };
        if let Some(worth) = gone.worth {
            self.worths.remove(&worth);
        }
        if let Some(next) = gone.after.and_then(|next| self.links[next].as_mut()) {
            next.before = Some(at);
        }
        if let Some(link) = &mut self.links[at] {
            link.level = link.level.merge(&gone.level);
            link.after = gone.after;
        }
        let before = self.links[at].as_ref().and_then(|link| link.before);
        before.into_iter().for_each(|before| self.weigh(before));
        self.weigh(at);
    }
}

/// Which of these levels begin one that differs surely from that before it. `needed` gives the contrast that is enough,
/// by the number of values of the shorter of two.
pub(super) fn sure(
    levels: impl ExactSizeIterator<Item = Level>,
    needed: impl Fn(usize) -> f64,
) -> Vec<usize> {
    let mut row = Row::new(levels, needed);
    while let Some(least) = row.worths.first().filter(|worth| !worth.is_sure()) {
        row.join(least.at);
    }
    let left = row.links.iter().enumerate();
    left.filter(|(_, link)| link.is_some())
        .map(|(at, _)| at)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same, looking at all of them each time.
    fn one_by_one(mut levels: Vec<Level>, needed: impl Fn(usize) -> f64) -> Vec<usize> {
        let mut begins: Vec<usize> = (0..levels.len()).collect();
        loop {
            let worth = |(at, pair): (usize, &[Level])| {
                let shorter = pair[0].len().min(pair[1].len());
                Worth {
                    shorter: shorter.min(LEAST_SEGMENT),
                    contrast: pair[0].contrast(&pair[1]) / needed(shorter),
                    at,
                }
            };
            let least = levels.windows(2).enumerate().map(worth).min();
            let Some(least) = least.filter(|least| !least.is_sure()) else {
                return begins;
            };
            begins.remove(least.at + 1);
            let gone = levels.remove(least.at + 1);
            levels[least.at] = levels[least.at].merge(&gone);
        }
    }

    proptest! {
        #[test]
        fn it_makes_no_difference_how_the_least_sure_is_found(
            levels in proptest::collection::vec(
                proptest::collection::vec((0_i32..20).prop_map(f64::from), 1..12), 1..30),
            least in 0.5..8.0_f64,
        ) {
            let levels: Vec<Level> = levels.iter().map(|values| Level::new(values)).collect();
            let needed = |shorter: usize| least + 3.0 / shorter as f64;
            let expected = one_by_one(levels.clone(), needed);
            prop_assert_eq!(sure(levels.into_iter(), needed), expected);
        }
    }
}
