//! How much more do means of neighbouring blocks differ than those of independent values?
//!
//! Where a value resembles the one before, a block of ten says less than ten values, and the level of a
//! stretch wanders by itself. What a change must stand out from is the difference of two blocks side by side that are
//! as long as its levels, with no change between them. So it is measured at every length, within the levels
//! found so far. In ranks of each level, which no tail can move.

use super::ranks;

/// Fewer pairs of blocks say nothing.
const LEAST_PAIRS: usize = 20;
/// Autocorrelation at distance one, at most.
const MOST_PHI: f64 = 0.98;

/// The variance of such differences, as a multiple of that for independent values: at least 1, and never
/// less for longer blocks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Inflation {
    /// For blocks of 1, 2, 4, … values.
    by_length: Vec<f64>,
}

impl Inflation {
    /// Of a series within these levels. The larger of what was measured and what an AR(1) has with the
    /// autocorrelation that the shortest distances show: where levels are short, or few, longer blocks are not to be had.
    pub(super) fn within(values: &[f64], bounds: &[usize]) -> Self {
        let levels = bounds
            .windows(2)
            .map(|ends| ranks(&values[ends[0]..ends[1]]));
        let levels: Vec<Vec<f64>> = levels.collect();
        let squares = levels.iter().flatten().map(|rank| rank * rank);
        let variance = squares.sum::<f64>() / values.len() as f64;
        let phi = autocorrelation(&levels);
        let mut by_length = Vec::new();
        let mut largest = 1.0_f64;
        let mut length = 1;
        while length <= values.len() {
            largest = largest.max(of_blocks(&levels, length).unwrap_or(0.0) / variance.max(1e-12));
            // Of neighbouring blocks of an AR(1): φ(1 + φ)/(1 − φ) in the end, and less for short blocks.
            let of_ar1 = ((1.0 + phi) / (1.0 - phi)).min(1.0 + phi * length as f64);
            by_length.push(largest.max(of_ar1));
            length *= 2;
        }
        Self { by_length }
    }

    /// For blocks of this many values.
    pub(super) fn factor(&self, length: usize) -> f64 {
        let power = length.max(1).ilog2() as usize;
        let last = self.by_length.last().copied().unwrap_or(1.0);
        self.by_length.get(power).copied().unwrap_or(last)
    }
}

/// Half the mean square difference of neighbouring blocks' means, times their length, and half a standard
/// error more: it is an estimate. `None` where there are too few.
fn of_blocks(levels: &[Vec<f64>], length: usize) -> Option<f64> {
    let (mut sum, mut pairs) = (0.0, 0_usize);
    for level in levels {
        let mut means = level
            .chunks_exact(length)
            .map(|block| block.iter().sum::<f64>() / length as f64);
        let Some(mut before) = means.next() else {
            continue;
        };
        for mean in means {
            sum += (mean - before) * (mean - before);
            pairs += 1;
            before = mean;
        }
    }
    let error = (2.0 / pairs as f64).sqrt();
    (pairs >= LEAST_PAIRS).then(|| length as f64 * sum / pairs as f64 / 2.0 * (1.0 + error / 2.0))
}

/// That of an AR(1) whose differences over one and over two values are as large, and two and a half standard errors more.
fn autocorrelation(levels: &[Vec<f64>]) -> f64 {
    // Half the mean square over h values is σ²(1 − φʰ).
    let half_square = |apart: usize| {
        let (mut sum, mut pairs) = (0.0, 0_usize);
        for level in levels {
            let each = level.iter().zip(level.iter().skip(apart));
            sum += each.map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
            pairs += level.len().saturating_sub(apart);
        }
        sum / pairs.max(1) as f64 / 2.0
    };
    let one = half_square(1);
    if one <= 0.0 {
        return 0.0;
    }
    let count: usize = levels.iter().map(Vec::len).sum();
    let phi = half_square(2) / one - 1.0;
    (phi + 2.5 / (count as f64).sqrt()).clamp(0.0, MOST_PHI)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ar1;

    #[test]
    fn of_an_ar1_with_and_without_changes_of_level() {
        let bounds: Vec<usize> = (0..=20).map(|i| 100 * i).collect();
        for phi in [0.0, 0.5, 0.8] {
            let expected = (1.0 + phi) / (1.0 - phi);
            for shift in [0.0, 5.0] {
                let of = |seed| {
                    let series = ar1(phi, 2000, seed).into_iter().enumerate();
                    let values = series.map(|(i, x)| x + shift * ((i / 100) % 2) as f64);
                    let inflation = Inflation::within(&values.collect::<Vec<_>>(), &bounds);
                    assert!(inflation.factor(1) <= inflation.factor(32));
                    inflation.factor(32)
                };
                let ratio = (0..20).map(of).sum::<f64>() / 20.0 / expected;
                assert!((0.8..1.9).contains(&ratio), "{phi} {shift}: {ratio}");
            }
        }
    }

    #[test]
    fn what_never_changes_has_none() {
        let inflation = Inflation::within(&[7.0; 500], &[0, 500]);
        assert_eq!(inflation.factor(64), 1.0);
    }
}
