//! Moments from exact integer sums.
//!
//! Sums of values and of squares are kept in `i128`, so nothing is rounded before the end, values
//! may come in any order, and two halves merge into exactly what the whole would have given. The
//! squares are moved to the mean in integers, which is where a sum in floats loses its digits.

use delaylab_model::Nanos;

/// Count, sum, sum of squares, least and largest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moments {
    count: u64,
    sum: i128,
    /// Modulo 2¹²⁸, as is all that is made of it: right whenever Σ(x − mean)² is below 2¹²⁷,
    /// which 10¹³ values with a standard deviation of one hour are.
    squares: i128,
    min: Nanos,
    max: Nanos,
}

impl Default for Moments {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl Moments {
    /// Of no value.
    pub const EMPTY: Self = Self {
        count: 0,
        sum: 0,
        squares: 0,
        min: Nanos::MAX,
        max: Nanos::MIN,
    };

    /// Adds a value.
    pub fn push(&mut self, value: Nanos) {
        let wide = i128::from(value);
        self.count += 1;
        self.sum += wide;
        self.squares = self.squares.wrapping_add(wide * wide);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds all of another's values.
    pub fn merge(&mut self, other: &Moments) {
        self.count += other.count;
        self.sum += other.sum;
        self.squares = self.squares.wrapping_add(other.squares);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// How many values.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Smallest value.
    pub fn min(&self) -> Option<Nanos> {
        (self.count > 0).then_some(self.min)
    }

    /// Largest value.
    pub fn max(&self) -> Option<Nanos> {
        (self.count > 0).then_some(self.max)
    }

    /// The mean as a whole number (rounded down) and the rest of the sum, below `count`.
    fn split_mean(&self) -> Option<(i128, i128)> {
        let count = i128::from(self.count);
        (count > 0).then(|| (self.sum.div_euclid(count), self.sum.rem_euclid(count)))
    }

    /// Arithmetic mean.
    pub fn mean(&self) -> Option<f64> {
        let (whole, rest) = self.split_mean()?;
        Some(whole as f64 + rest as f64 / self.count as f64)
    }

    /// Variance: Σ(x − mean)² / (n − `ddof`). `None` unless n > `ddof`.
    pub fn variance(&self, ddof: u64) -> Option<f64> {
        let (whole, rest) = self.split_mean()?;
        let degrees = self
            .count
            .checked_sub(ddof)
            .filter(|&degrees| degrees > 0)?;
        let count = i128::from(self.count);
        // Σ(x − w)² = Σx² − 2wΣx + nw², with w whole: exact. The mean lies rest/n above w.
        let around_whole = self
            .squares
            .wrapping_sub(whole.wrapping_mul(self.sum).wrapping_mul(2))
            .wrapping_add(whole.wrapping_mul(whole).wrapping_mul(count));
        let shift = rest as f64 * (rest as f64 / self.count as f64);
        Some((around_whole as f64 - shift).max(0.0) / degrees as f64)
    }

    /// Standard deviation: the root of [`Self::variance`].
    pub fn sd(&self, ddof: u64) -> Option<f64> {
        self.variance(ddof).map(f64::sqrt)
    }
}

impl FromIterator<Nanos> for Moments {
    fn from_iter<I: IntoIterator<Item = Nanos>>(values: I) -> Self {
        let mut moments = Self::default();
        values.into_iter().for_each(|value| moments.push(value));
        moments
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_values() {
        let moments: Moments = [2, 4, 4, 4, 5, 5, 7, 9].into_iter().collect();
        assert_eq!(moments.mean(), Some(5.0));
        assert_eq!(moments.variance(0), Some(4.0));
        assert_eq!(moments.variance(1), Some(32.0 / 7.0));
        assert_eq!((moments.min(), moments.max()), (Some(2), Some(9)));
    }

    #[test]
    fn too_few_values_have_no_figure() {
        let mut moments = Moments::default();
        assert_eq!((moments.mean(), moments.min()), (None, None));
        moments.push(3);
        assert_eq!((moments.mean(), moments.sd(1)), (Some(3.0), None));
        assert_eq!(moments.sd(0), Some(0.0));
    }

    /// NIST StRD NumAcc4 in tenths, whose certified sd is then 1, and the same much further out.
    #[test]
    fn a_large_offset_costs_no_digits() {
        for offset in [100_000_002, 1_000_000_000_000_000_000] {
            let values = (0..500).flat_map(|_| [offset - 1, offset + 1]);
            let moments: Moments = values.chain([offset]).collect();
            assert_eq!(moments.mean(), Some(offset as f64));
            assert_eq!(moments.sd(1), Some(1.0));
        }
    }

    #[test]
    fn the_widest_values_do_not_panic() {
        let moments: Moments = [i64::MIN, i64::MAX, i64::MIN, 0].into_iter().collect();
        assert!(moments.mean().unwrap() < 0.0);
        assert!(moments.variance(1).unwrap() >= 0.0);
    }

    /// n·Σx² − (Σx)², the textbook form in integers, as the reference.
    fn reference_variance(values: &[i64]) -> f64 {
        let n = values.len() as i128;
        let sum: i128 = values.iter().map(|&x| i128::from(x)).sum();
        let squares: i128 = values.iter().map(|&x| i128::from(x) * i128::from(x)).sum();
        (n * squares - sum * sum) as f64 / (n * (n - 1)) as f64
    }

    proptest! {
        #[test]
        fn exact_against_the_textbook_form(
            values in proptest::collection::vec(-1_000_000_000_000_i64..1_000_000_000_000, 2..200),
        ) {
            let moments: Moments = values.iter().copied().collect();
            let reference = reference_variance(&values);
            prop_assert!((moments.variance(1).unwrap() - reference).abs() <= 1e-14 * reference);
        }

        #[test]
        fn merging_in_any_order_is_the_whole(
            left in proptest::collection::vec(any::<i64>(), 0..50),
            right in proptest::collection::vec(any::<i64>(), 0..50),
        ) {
            let whole: Moments = left.iter().chain(&right).copied().collect();
            let (left, right): (Moments, Moments) =
                (left.into_iter().collect(), right.into_iter().collect());
            let mut forward = left;
            forward.merge(&right);
            let mut back = right;
            back.merge(&left);
            prop_assert_eq!(forward, whole);
            prop_assert_eq!(back, whole);
        }
    }
}
