//! Exact quantiles by selection.
//!
//! The quantile is the inverse of the distribution function (nearest rank; Hyndman and Fan's
//! definition 1): the smallest value with at least q·n values at or below it. It is always a value
//! that was measured.

use std::collections::BTreeSet;

/// Index, from 0, of the quantile `q` among `count` sorted values; `None` without values.
pub fn rank(count: usize, q: f64) -> Option<usize> {
    let last = count.checked_sub(1)?;
    let exact = q.clamp(0.0, 1.0) * count as f64;
    // 0.07 × 100 is 7.000000000000001 in floats: a product that close to a whole number is one.
    let nearest = exact.round();
    let at_least = if (exact - nearest).abs() <= exact * 4.0 * f64::EPSILON {
        nearest
    } else {
        exact.ceil()
    };
    Some((at_least as usize).saturating_sub(1).min(last))
}

/// Do so many values carry the quantile `q`? One of them at least must lie beyond it on average, which takes
/// 1/(1 − q) values, or 1/q below the median; with fewer it would be their largest or smallest one under another name. A
/// median is one of any number, and so is the smallest.
pub fn carries(count: u64, q: f64) -> bool {
    let is_of_any = q <= 0.0 || q == 0.5;
    count as f64 * q.min(1.0 - q) >= 1.0 - 1e-9 || (is_of_any && count > 0)
}

/// The mean of the smallest `share` of the values: a one-sided trimmed mean. `None` where that is none of them.
pub fn trimmed_mean(values: &mut [f64], share: f64) -> Option<f64> {
    let kept = (values.len() as f64 * share.clamp(0.0, 1.0)).round() as usize;
    let kept = kept.max(values.len().min(1));
    if kept < values.len() {
        values.select_nth_unstable_by(kept, f64::total_cmp);
    }
    let kept = &values[..kept];
    (!kept.is_empty()).then(|| kept.iter().sum::<f64>() / kept.len() as f64)
}

/// Values that are put in order only as far as the quantiles asked for need.
#[derive(Debug, Clone)]
pub struct Ranked<T> {
    values: Vec<T>,
    /// Indices that already hold what they would hold in sorted order.
    settled: BTreeSet<usize>,
}

impl<T: Ord> Ranked<T> {
    /// Of these values, in any order.
    pub fn new(values: Vec<T>) -> Self {
        Self {
            values,
            settled: BTreeSet::new(),
        }
    }

    /// How many values.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// No value at all.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Puts the value of this rank in its place: what is before is no larger, what is behind no
    /// smaller. Only the gap between the nearest settled ranks is searched.
    fn settle(&mut self, rank: usize) {
        let below = self.settled.range(..=rank).next_back().copied();
        if below == Some(rank) {
            return;
        }
        let start = below.map_or(0, |below| below + 1);
        let above = self.settled.range(rank..).next().copied();
        let end = above.unwrap_or(self.values.len());
        self.values[start..end].select_nth_unstable(rank - start);
        self.settled.insert(rank);
    }

    /// The value at this index of the sorted values.
    pub fn at(&mut self, rank: usize) -> Option<&T> {
        if rank < self.values.len() {
            self.settle(rank);
        }
        self.values.get(rank)
    }

    /// The quantile `q`, 0 to 1; `None` without values.
    pub fn quantile(&mut self, q: f64) -> Option<&T> {
        self.at(rank(self.values.len(), q)?)
    }

    /// The values of ranks `first` to `last`, both included, in any order; empty outside.
    pub fn between(&mut self, first: usize, last: usize) -> &[T] {
        if first > last || last >= self.values.len() {
            return &[];
        }
        self.settle(first);
        self.settle(last);
        &self.values[first..=last]
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_quantile_is_carried_by_one_value_beyond_it() {
        for (q, least) in [(0.05, 20), (0.25, 4), (0.9, 10), (0.99, 100), (0.999, 1000)] {
            assert!(!carries(least - 1, q) && carries(least, q), "{q}");
        }
        assert!(carries(1, 0.5) && carries(1, 0.0) && !carries(0, 0.5) && !carries(0, 0.0));
    }

    #[test]
    fn a_trimmed_mean_leaves_the_largest_out() {
        let mut values: Vec<f64> = (1..=20).rev().map(f64::from).collect();
        assert_eq!(trimmed_mean(&mut values, 0.95), Some(10.0));
        assert_eq!(trimmed_mean(&mut [7.0], 0.95), Some(7.0));
        assert_eq!(trimmed_mean(&mut [], 0.95), None);
    }

    use proptest::prelude::*;

    #[test]
    fn nearest_ranks() {
        for (count, q, index) in [
            (1, 0.5, 0),
            (2, 0.5, 0),
            (3, 0.5, 1),
            (4, 0.5, 1),
            (100, 0.07, 6),
            (100, 0.29, 28),
            (100, 0.99, 98),
            (100, 0.999, 99),
            (1000, 0.999, 998),
            (1001, 0.999, 999),
            (10, 0.0, 0),
            (10, 1.0, 9),
        ] {
            assert_eq!(rank(count, q), Some(index), "{count} {q}");
        }
        assert_eq!(rank(0, 0.5), None);
    }

    proptest! {
        #[test]
        fn is_the_smallest_with_enough_at_or_below(
            values in proptest::collection::vec(-50_i64..50, 1..100),
            thousandths in proptest::collection::vec(0_usize..=1000, 1..10),
        ) {
            let mut ranked = Ranked::new(values.clone());
            for q in thousandths {
                let found = *ranked.quantile(q as f64 / 1000.0).unwrap();
                let at_or_below = |x: i64| values.iter().filter(|&&v| v <= x).count() * 1000;
                prop_assert!(at_or_below(found) >= q * values.len());
                let smaller = values.iter().copied().filter(|&v| v < found).max();
                if let Some(smaller) = smaller {
                    prop_assert!(at_or_below(smaller) < q * values.len());
                }
            }
        }

        #[test]
        fn a_band_holds_what_sorting_would(
            values in proptest::collection::vec(any::<i64>(), 1..100),
            ends in proptest::collection::vec((0_usize..100, 0_usize..100), 1..5),
        ) {
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let mut ranked = Ranked::new(values);
            for (first, last) in ends {
                let mut band = ranked.between(first, last).to_vec();
                band.sort_unstable();
                let expected = sorted.get(first..=last.max(first)).filter(|_| first <= last);
                prop_assert_eq!(&band[..], expected.unwrap_or(&[]));
            }
        }
    }
}
