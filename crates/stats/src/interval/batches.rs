//! The interval of a mean from batch means, in one pass and flat memory.

use super::{CONFIDENCE, Interval, MIN_EFFECTIVE, too_correlated, too_few, unsettled};
use crate::dependence::memory;
use crate::moments::Moments;
use crate::student;
use delaylab_model::Nanos;

/// Batches are merged in pairs when there are this many.
const MAX_BATCHES: usize = 64;
/// Batches that an interval is made of: between this and twice as many, or half where
/// neighbouring batches still resemble each other.
const BATCHES: usize = 16;
/// An independent value's worth of packets should go into a batch this often.
const EFFECTIVE_PER_BATCH: f64 = 4.0;

/// Sums of batches of equal length, from one pass in flat memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchMeans {
    sums: Vec<i128>,
    length: u64,
    open_sum: i128,
    open_count: u64,
}

impl Default for BatchMeans {
    fn default() -> Self {
        Self {
            sums: Vec::with_capacity(MAX_BATCHES),
            length: 1,
            open_sum: 0,
            open_count: 0,
        }
    }
}

impl BatchMeans {
    /// Adds a value, in order of time.
    pub fn push(&mut self, value: Nanos) {
        self.open_sum += i128::from(value);
        self.open_count += 1;
        if self.open_count == self.length {
            self.sums.push(std::mem::take(&mut self.open_sum));
            self.open_count = 0;
        }
        if self.sums.len() == MAX_BATCHES {
            self.sums = in_pairs(&self.sums);
            self.length *= 2;
        }
    }

    /// The interval of the mean at 95 %. `moments` are those of the values that were pushed.
    pub fn interval(&self, moments: &Moments) -> Interval {
        let count = moments.count();
        let (Some(mean), Some(variance)) = (moments.mean(), moments.variance(1)) else {
            return Interval::refused(too_few(count));
        };
        if (count as f64) < MIN_EFFECTIVE {
            return Interval::refused(too_few(count));
        }
        if variance == 0.0 {
            return Interval::Known {
                low: mean,
                high: mean,
            };
        }
        match self.long_enough(variance) {
            Some(batches) => batches.interval(mean, variance),
            None => Interval::refused(self.why_not(count, variance)),
        }
    }

    /// As many batches as stand apart from each other; `None` where even a few do not.
    fn long_enough(&self, variance: f64) -> Option<Batches> {
        let mut sums = self.sums.clone();
        let mut length = self.length;
        while sums.len() >= 2 * BATCHES {
            sums = in_pairs(&sums);
            length *= 2;
        }
        let batches = Batches::new(&sums, length);
        if batches.stand_apart(variance) {
            return Some(batches);
        }
        let batches = Batches::new(&in_pairs(&sums), 2 * length);
        let enough = batches.count() >= BATCHES / 2
            && !batches.resemble_each_other()
            && batches.effective(variance) >= MIN_EFFECTIVE;
        enough.then_some(batches)
    }

    fn why_not(&self, count: u64, variance: f64) -> String {
        let sums = in_pairs(&in_pairs(&self.sums));
        let effective = Batches::new(&sums, 4 * self.length).effective(variance);
        if sums.len() < BATCHES / 2 {
            too_few(count)
        } else if effective < MIN_EFFECTIVE {
            too_correlated(count, effective, MIN_EFFECTIVE)
        } else {
            unsettled(count)
        }
    }
}

fn in_pairs(sums: &[i128]) -> Vec<i128> {
    sums.chunks_exact(2).map(|pair| pair[0] + pair[1]).collect()
}

/// Means of batches, and how they vary.
struct Batches {
    means: Vec<f64>,
    /// Values of a batch.
    length: f64,
    grand: f64,
    /// Variance of one batch mean, ddof 1.
    variance: f64,
}

impl Batches {
    fn new(sums: &[i128], length: u64) -> Self {
        let means: Vec<f64> = sums.iter().map(|&s| s as f64 / length as f64).collect();
        let grand = means.iter().sum::<f64>() / means.len() as f64;
        let squares: f64 = means.iter().map(|mean| (mean - grand).powi(2)).sum();
        Self {
            variance: squares / (means.len() as f64 - 1.0),
            grand,
            length: length as f64,
            means,
        }
    }

    fn count(&self) -> usize {
        self.means.len()
    }

    /// Variance of a value over variance of the mean.
    fn effective(&self, variance: f64) -> f64 {
        variance * self.count() as f64 / self.variance
    }

    /// Is the correlation of neighbours more than chance (one-sided, 5 %)?
    fn resemble_each_other(&self) -> bool {
        let products = self.means.windows(2);
        let products = products.map(|pair| (pair[0] - self.grand) * (pair[1] - self.grand));
        let degrees = self.count() as f64 - 1.0;
        let correlation = products.sum::<f64>() / (self.variance * degrees);
        correlation > 1.645 / (self.count() as f64).sqrt()
    }

    fn stand_apart(&self, variance: f64) -> bool {
        self.count() >= BATCHES
            && !self.resemble_each_other()
            && self.effective(variance) >= EFFECTIVE_PER_BATCH * self.count() as f64
    }

    /// Batches of L show a share of 1 − memory/L of the variance that the mean has, because they end.
    fn interval(&self, mean: f64, variance: f64) -> Interval {
        let time = (self.count() as f64 * self.length / self.effective(variance)).max(1.0);
        let shown = 1.0 - (memory(time) / self.length).min(0.5);
        let error = (self.variance / self.count() as f64 / shown).sqrt();
        let half = student::two_sided(CONFIDENCE, self.count() as u32 - 1) * error;
        Interval::Known {
            low: mean - half,
            high: mean + half,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_never_grow_in_number() {
        let mut batches = BatchMeans::default();
        (0..100_000).for_each(|x| batches.push(x));
        assert!(batches.sums.len() < MAX_BATCHES);
        let taken = batches.sums.len() as u64 * batches.length + batches.open_count;
        assert_eq!(taken, 100_000);
        let total: i128 = batches.sums.iter().sum::<i128>() + batches.open_sum;
        assert_eq!(total, 99_999 * 100_000 / 2);
    }
}
