//! The histogram of source 002: bins of equal width, what is beyond them counted apart.

use delaylab_model::Nanos;
use schemars::JsonSchema;
use serde::Serialize;

/// Bins that a fitted histogram aims at; the width is rounded up to 1, 2 or 5 times a power of ten.
const FITTED_BINS: i128 = 40;

/// Bins of equal width, with an overflow bin at the right.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Histogram {
    /// Lower edge of the first bin.
    pub start_ns: Nanos,
    /// Width of a bin.
    pub width_ns: Nanos,
    /// Packets in each bin.
    pub bins: Vec<u64>,
    /// Packets beyond the last bin.
    pub overflow: u64,
    /// Packets below the first bin.
    pub underflow: u64,
    /// The largest value of all.
    pub max_ns: Nanos,
}

impl Histogram {
    /// The upper edge of the last bin, where what overflows begins.
    pub fn end(&self) -> Nanos {
        let bins = Nanos::try_from(self.bins.len()).unwrap_or(Nanos::MAX);
        self.start_ns
            .saturating_add(self.width_ns.saturating_mul(bins))
    }

    /// An empty one: bin i holds `start` + i·`width` up to, not including, the next. A width under
    /// 1 ns is 1 ns.
    pub fn new(start: Nanos, width: Nanos, bins: usize) -> Self {
        Self {
            start_ns: start,
            width_ns: width.max(1),
            bins: vec![0; bins],
            overflow: 0,
            underflow: 0,
            max_ns: Nanos::MIN,
        }
    }

    /// An empty one with round edges, whose bins reach from `low` to `high`.
    pub fn fitting(low: Nanos, high: Nanos) -> Self {
        let range = (i128::from(high) - i128::from(low)).max(0);
        let width = round_width(range);
        let start = i128::from(low).div_euclid(width) * width;
        let bins = (i128::from(high.max(low)) - start) / width + 1;
        let start = Nanos::try_from(start).unwrap_or(low);
        Self::new(
            start,
            Nanos::try_from(width).unwrap_or(Nanos::MAX),
            bins as usize,
        )
    }

    /// Counts a value.
    pub fn push(&mut self, value: Nanos) {
        self.push_many(value, 1);
    }

    /// Counts a value `times` times.
    pub fn push_many(&mut self, value: Nanos, times: u64) {
        self.max_ns = self.max_ns.max(value);
        let offset = i128::from(value) - i128::from(self.start_ns);
        if offset < 0 {
            self.underflow += times;
            return;
        }
        let bin = (offset / i128::from(self.width_ns)) as usize;
        match self.bins.get_mut(bin) {
            Some(count) => *count += times,
            None => self.overflow += times,
        }
    }

    /// How many values.
    pub fn count(&self) -> u64 {
        self.bins.iter().sum::<u64>() + self.underflow + self.overflow
    }
}

/// The narrowest of 1, 2 and 5 times a power of ten that cuts `range` into few enough bins.
fn round_width(range: i128) -> i128 {
    let mut power = 1;
    loop {
        for width in [power, 2 * power, 5 * power] {
            if range <= width * FITTED_BINS {
                return width;
            }
        }
        power *= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn edges_belong_to_the_bin_on_their_right() {
        let mut histogram = Histogram::new(100, 10, 3);
        for value in [99, 100, 109, 110, 129, 130, 5000] {
            histogram.push(value);
        }
        assert_eq!(histogram.bins, [2, 1, 1]);
        assert_eq!((histogram.underflow, histogram.overflow), (1, 2));
        assert_eq!((histogram.max_ns, histogram.count()), (5000, 7));
    }

    #[test]
    fn fits_with_round_edges() {
        let histogram = Histogram::fitting(41_234, 118_000);
        assert_eq!((histogram.start_ns, histogram.width_ns), (40_000, 2_000));
        assert_eq!(histogram.bins.len(), 40);
        assert_eq!(Histogram::fitting(5, 5).bins.len(), 1);
    }

    proptest! {
        #[test]
        fn a_fitted_one_holds_its_range(low in any::<i64>(), length in 0..=i64::MAX, shift in 0..63) {
            let high = low.saturating_add(length >> shift);
            let mut histogram = Histogram::fitting(low, high);
            prop_assert!(histogram.bins.len() <= 42);
            histogram.push(low);
            histogram.push(high);
            // Only at the end of the number range can the start not be rounded down.
            prop_assert_eq!(histogram.underflow, 0);
            prop_assert_eq!(histogram.overflow + histogram.bins.iter().sum::<u64>(), 2);
            if low > i64::MIN / 2 {
                prop_assert_eq!(histogram.overflow, 0);
            }
        }
    }
}
