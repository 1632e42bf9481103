//! A log-linear histogram: quantiles of any number of values in flat memory, with a known error.
//!
//! Each power of two is cut into 2ᵏ bins of equal width, so a bin is at most 2⁻ᵏ of its values
//! wide, and its middle is within 2⁻⁽ᵏ⁺¹⁾ of each. Values below 2ᵏ⁺¹ in size are exact. Negative
//! values have mirrored bins. Two histograms merge by adding. (The layout of HdrHistogram.)

use delaylab_model::Nanos;
use std::collections::BTreeMap;

/// Bins in each power of two, as a power of two.
const BITS: u32 = 8;
const BINS_PER_OCTAVE: u64 = 1 << BITS;

/// Largest error of a value's bin, relative to the value: 2⁻⁹, about 0.2 %.
pub const RELATIVE_ERROR: f64 = 1.0 / (2 * BINS_PER_OCTAVE) as f64;

/// The bin of a value. Bins are in the order of their values; 0 is zero's.
pub fn bin_of(value: Nanos) -> i32 {
    let size = value.unsigned_abs();
    let bin = if size < BINS_PER_OCTAVE {
        size
    } else {
        let octave = size.ilog2() - BITS;
        // The leading one is bin 2ᵏ of its octave, which is where the octave below ends.
        u64::from(octave) * BINS_PER_OCTAVE + (size >> octave)
    };
    // At most 56 octaves of 2⁸ bins.
    if value < 0 { -(bin as i32) } else { bin as i32 }
}

/// The middle of a bin, towards zero.
pub fn middle(bin: i32) -> Nanos {
    let index = u64::from(bin.unsigned_abs());
    let octave = (index / BINS_PER_OCTAVE).saturating_sub(1);
    let lowest = (index - octave * BINS_PER_OCTAVE) << octave;
    let size = lowest + ((1 << octave) - 1) / 2;
    // Only the one bin of Nanos::MIN is out of range.
    let size = Nanos::try_from(size).unwrap_or(Nanos::MAX);
    if bin < 0 { -size } else { size }
}

/// Counts of values in log-linear bins.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogLinear {
    count: u64,
    /// By bin, from zero up; as long as the largest value asks for.
    positive: Vec<u64>,
    /// By mirrored bin, from −1 down.
    negative: Vec<u64>,
}

fn slot(counts: &mut Vec<u64>, index: usize) -> &mut u64 {
    if index >= counts.len() {
        counts.resize(index + 1, 0);
    }
    &mut counts[index]
}

fn add_all(counts: &mut Vec<u64>, more: &[u64]) {
    counts.resize(counts.len().max(more.len()), 0);
    counts.iter_mut().zip(more).for_each(|(sum, n)| *sum += n);
}

impl LogLinear {
    /// Counts a value.
    pub fn push(&mut self, value: Nanos) {
        let bin = bin_of(value);
        self.count += 1;
        if bin < 0 {
            *slot(&mut self.negative, bin.unsigned_abs() as usize) += 1;
        } else {
            *slot(&mut self.positive, bin as usize) += 1;
        }
    }

    /// Counts all of another's values.
    pub fn merge(&mut self, other: &LogLinear) {
        self.count += other.count;
        add_all(&mut self.positive, &other.positive);
        add_all(&mut self.negative, &other.negative);
    }

    /// How many values.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Middles of the bins that hold values, with their counts, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Nanos, u64)> {
        let below = self.negative.iter().enumerate().rev();
        let below = below.map(|(bin, &n)| (-(bin as i32), n));
        let above = self.positive.iter().enumerate();
        let above = above.map(|(bin, &n)| (bin as i32, n));
        below
            .chain(above)
            .filter(|&(_, n)| n > 0)
            .map(|(bin, n)| (middle(bin), n))
    }

    /// The quantile `q` (nearest rank), within [`RELATIVE_ERROR`]; `None` without values.
    pub fn quantile(&self, q: f64) -> Option<Nanos> {
        at_rank(self.iter(), self.count, q)
    }

    /// Bytes held on the heap.
    pub fn heap_bytes(&self) -> usize {
        (self.positive.capacity() + self.negative.capacity()) * size_of::<u64>()
    }
}

/// The same bins, of which only those are kept that hold values: for many small histograms.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sparse {
    count: u64,
    bins: BTreeMap<i32, u64>,
}

impl Sparse {
    /// Counts a value.
    pub fn push(&mut self, value: Nanos) {
        self.count += 1;
        *self.bins.entry(bin_of(value)).or_default() += 1;
    }

    /// Adds the counts of another one.
    pub fn merge(&mut self, other: &Sparse) {
        self.count += other.count;
        for (bin, count) in &other.bins {
            *self.bins.entry(*bin).or_default() += count;
        }
    }

    /// How many values.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// How many values are in the bin of this one or below.
    pub fn at_or_below(&self, value: Nanos) -> u64 {
        self.bins.range(..=bin_of(value)).map(|(_, n)| n).sum()
    }

    /// The quantile `q` (nearest rank), within [`RELATIVE_ERROR`]; `None` without values.
    pub fn quantile(&self, q: f64) -> Option<Nanos> {
        let bins = self.bins.iter().map(|(bin, n)| (middle(*bin), *n));
        at_rank(bins, self.count, q)
    }
}

/// The value of the quantile `q` (nearest rank) among so many in bins.
fn at_rank(mut bins: impl Iterator<Item = (Nanos, u64)>, count: u64, q: f64) -> Option<Nanos> {
    let rank = crate::quantile::rank(count as usize, q)? as u64;
    let mut through = 0;
    let found = bins.find(|&(_, n)| {
        through += n;
        through > rank
    });
    found.map(|(middle, _)| middle)
}

impl FromIterator<Nanos> for LogLinear {
    fn from_iter<I: IntoIterator<Item = Nanos>>(values: I) -> Self {
        let mut counts = Self::default();
        values.into_iter().for_each(|value| counts.push(value));
        counts
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_values_are_exact() {
        for value in -511..=511 {
            assert_eq!(middle(bin_of(value)), value);
        }
        assert_eq!(bin_of(512), bin_of(513));
    }

    proptest! {
        #[test]
        fn sparse_bins_are_the_same_bins(
            values in prop::collection::vec(any::<i64>(), 1..200),
            more in prop::collection::vec(-5_000_i64..5_000, 0..200),
            q in 0.0..1.0_f64,
        ) {
            let dense: LogLinear = values.iter().chain(&more).copied().collect();
            let [mut sparse, mut other] = [Sparse::default(), Sparse::default()];
            values.iter().for_each(|value| sparse.push(*value));
            more.iter().for_each(|value| other.push(*value));
            sparse.merge(&other);
            prop_assert_eq!(sparse.count(), dense.count());
            prop_assert_eq!(sparse.quantile(q), dense.quantile(q));
            let limit = values[0];
            let below = values.iter().chain(&more);
            let below = below.filter(|value| bin_of(**value) <= bin_of(limit));
            prop_assert_eq!(sparse.at_or_below(limit), below.count() as u64);
        }
    }

    #[test]
    fn the_ends_do_not_overflow() {
        for value in [i64::MIN, i64::MIN + 1, i64::MAX] {
            let error = (middle(bin_of(value)) as f64 - value as f64).abs();
            assert!(error <= (value as f64).abs() * RELATIVE_ERROR);
        }
        let counts: LogLinear = [i64::MIN, 0, i64::MAX].into_iter().collect();
        assert!(counts.heap_bytes() < 1 << 20);
    }

    proptest! {
        #[test]
        fn the_middle_is_within_the_stated_error(value in any::<i64>(), shift in 0..63) {
            let value = value >> shift;
            let error = (i128::from(middle(bin_of(value))) - i128::from(value)).abs() as f64;
            prop_assert!(error <= (value as f64).abs() * RELATIVE_ERROR, "{value}: {error}");
        }

        #[test]
        fn bins_keep_the_order(a in any::<i64>(), b in any::<i64>(), shift in 0..63) {
            let (a, b): (i64, i64) = (a >> shift, b >> shift);
            prop_assert!(bin_of(a.min(b)) <= bin_of(a.max(b)));
        }

        #[test]
        fn quantiles_are_within_the_stated_error(
            values in proptest::collection::vec(-10_000_000_i64..10_000_000_000, 1..300),
            q in 0.0..=1.0,
        ) {
            let counts: LogLinear = values.iter().copied().collect();
            let exact = *crate::quantile::Ranked::new(values).quantile(q).unwrap() as f64;
            let error = (counts.quantile(q).unwrap() as f64 - exact).abs();
            prop_assert!(error <= exact.abs() * RELATIVE_ERROR);
        }

        #[test]
        fn merging_is_counting_all(
            left in proptest::collection::vec(any::<i64>(), 0..20),
            right in proptest::collection::vec(any::<i64>(), 0..20),
        ) {
            let whole: LogLinear = left.iter().chain(&right).copied().collect();
            let mut merged: LogLinear = left.into_iter().collect();
            merged.merge(&right.into_iter().collect());
            prop_assert_eq!(merged, whole);
        }
    }
}
