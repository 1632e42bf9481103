//! Bins of equal ratio from the least response to the longest: whatever lies between, one far packet leaves the others
//! their room.

use delaylab_model::Nanos;

/// At most so many: more than a terminal has columns.
const MOST: f64 = 240.0;
/// A bin is at least so wide, as a ratio: values are known to about a quarter of that.
const LEAST_RATIO: f64 = 1.01;

/// Counts of responses in bins of equal ratio.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LogBins {
    pub(super) low: Nanos,
    pub(super) high: Nanos,
    pub(super) bins: Vec<u64>,
}

impl LogBins {
    /// Empty ones, from the least to the longest response. Less than a nanosecond is one.
    pub(super) fn new(least: Nanos, longest: Nanos) -> Self {
        let low = least.max(1);
        let high = longest.max(low);
        let ratio = (high as f64 / low as f64).ln();
        let count = (ratio / LEAST_RATIO.ln()).ceil().clamp(1.0, MOST);
        Self {
            low,
            high,
            bins: vec![0; count as usize],
        }
    }

    /// Counts a response so many times.
    pub(super) fn push_many(&mut self, response: Nanos, times: u64) {
        let last = self.bins.len() - 1;
        let bin = (self.share(response) * self.bins.len() as f64) as usize;
        self.bins[bin.min(last)] += times;
    }

    /// Where a response is between the least, 0, and the longest, 1.
    pub(super) fn share(&self, response: Nanos) -> f64 {
        let all = (self.high as f64 / self.low as f64).ln();
        let to = (response.clamp(self.low, self.high) as f64 / self.low as f64).ln();
        if all > 0.0 { to / all } else { 0.0 }
    }

    /// How many responses.
    #[cfg(test)]
    pub(super) fn count(&self) -> u64 {
        self.bins.iter().sum()
    }

    /// The powers of ten between its ends.
    pub(super) fn decades(&self) -> impl Iterator<Item = Nanos> {
        let (low, high) = (self.low, self.high);
        let powers = std::iter::successors(Some(1 as Nanos), |power| power.checked_mul(10));
        powers.filter(move |power| low < *power && *power < high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 347 µs in the median and a stall of 4.25 s.
    #[test]
    fn a_stall_leaves_the_others_their_room() {
        let mut bins = LogBins::new(200_000, 4_250_000_000);
        for response in (200..500).map(|us| us * 1_000) {
            bins.push_many(response, 1);
        }
        bins.push_many(4_250_000_000, 9);
        assert_eq!(bins.count(), 309);
        assert_eq!(bins.bins.last(), Some(&9));
        let used = bins.bins.iter().filter(|&&count| count > 0).count();
        assert!(used > 5, "{:?}", bins.bins);
        let decades: Vec<Nanos> = bins.decades().collect();
        assert_eq!(decades, [1_000_000, 10_000_000, 100_000_000, 1_000_000_000]);
    }

    #[test]
    fn equal_responses_are_one_bin() {
        let mut bins = LogBins::new(40, 40);
        bins.push_many(40, 3);
        assert_eq!(bins.bins, [3]);
        assert_eq!(LogBins::new(-5, -7).low, 1);
    }
}
