//! Sums over blocks of values, from which a functional of any weighting of the blocks follows.

use crate::distribution::{Distribution, Values};
use crate::functional::{Basis, Beyond, Functional};
use crate::quantile::rank;

/// Thresholds that a quantile is looked for among, in each resample.
const THRESHOLDS: usize = 96;
/// How far they reach, in standard errors of the quantile's share.
const REACH: f64 = 5.0;

/// What is summed for a functional.
#[derive(Debug, Clone)]
pub(crate) struct Features {
    functional: Functional,
    each: Each,
}

/// What is summed of each value.
#[derive(Debug, Clone)]
enum Each {
    /// Count, sum and sum of squares about a centre.
    Moments { centre: f64 },
    /// Count and hits.
    Share { beyond: Beyond, bound: f64 },
    /// Count between each two thresholds, below the first and above the last.
    Grid { thresholds: Vec<f64> },
}

impl Features {
    /// For this functional of these values, which say as much as `effective` independent ones.
    /// `None` for those that no resampling does justice: a count is a fact, an extreme is one
    /// packet's.
    pub(crate) fn new(functional: Functional, values: &mut [f64], effective: f64) -> Option<Self> {
        let each = match functional.basis() {
            Basis::Mean | Basis::Deviations => Each::Moments {
                centre: Values(values).mean()?,
            },
            Basis::Share { beyond, bound } => Each::Share { beyond, bound },
            Basis::Quantiles(quantiles) => {
                let around = |&q: &f64| thresholds(values, q, effective);
                let mut thresholds: Vec<f64> = quantiles.iter().flat_map(around).collect();
                thresholds.sort_unstable_by(f64::total_cmp);
                thresholds.dedup();
                Each::Grid { thresholds }
            }
            Basis::Count | Basis::Smallest | Basis::Largest | Basis::Trials => return None,
        };
        Some(Self { functional, each })
    }

    /// How many sums there are.
    pub(crate) fn width(&self) -> usize {
        match &self.each {
            Each::Moments { .. } => 3,
            Each::Share { .. } => 2,
            Each::Grid { thresholds } => thresholds.len() + 1,
        }
    }

    /// Adds a value to its block's sums.
    pub(crate) fn add(&self, value: f64, sums: &mut [f64]) {
        match &self.each {
            Each::Moments { centre } => {
                let away = value - centre;
                sums[0] += 1.0;
                sums[1] += away;
                sums[2] += away * away;
            }
            Each::Share { beyond, bound } => {
                sums[0] += 1.0;
                sums[1] += f64::from(u8::from(beyond.holds(value, *bound)));
            }
            Each::Grid { thresholds } => {
                sums[thresholds.partition_point(|&threshold| threshold < value)] += 1.0;
            }
        }
    }

    /// The functional of the values behind these sums; NaN where they are too few.
    pub(crate) fn finish(&self, sums: &[f64]) -> f64 {
        let each = &self.each;
        let value = self.functional.computed_from(&mut Summed { each, sums });
        value.unwrap_or(f64::NAN)
    }
}

/// Values of which only these sums are known.
struct Summed<'a> {
    each: &'a Each,
    sums: &'a [f64],
}

impl Distribution for Summed<'_> {
    fn mean(&mut self) -> Option<f64> {
        match self.each {
            Each::Moments { centre } => Some(centre + self.sums[1] / self.sums[0]),
            _ => None,
        }
    }

    fn sd(&mut self) -> Option<f64> {
        let (Each::Moments { .. }, [count, sum, squares]) = (self.each, self.sums) else {
            return None;
        };
        let squares = squares - sum * sum / count;
        Some((squares.max(0.0) / (count - 1.0)).sqrt())
    }

    fn quantile(&mut self, q: f64) -> Option<f64> {
        match self.each {
            Each::Grid { thresholds } => Some(at(thresholds, self.sums, q)),
            _ => None,
        }
    }

    fn share(&mut self, _: Beyond, _: f64) -> Option<f64> {
        match self.each {
            Each::Share { .. } => Some(self.sums[1] / self.sums[0]),
            _ => None,
        }
    }
}

/// The smallest threshold with at least `q` of the count at or below it.
fn at(thresholds: &[f64], sums: &[f64], q: f64) -> f64 {
    let count: f64 = sums.iter().sum();
    // As in `rank`: a product that close to a whole number is one.
    let enough = q * count * (1.0 - 4.0 * f64::EPSILON) - 1e-6;
    let mut below = 0.0;
    let mut found = thresholds.last().copied().unwrap_or(f64::NAN);
    for (&threshold, sum) in thresholds.iter().zip(sums) {
        below += sum;
        if below >= enough {
            found = threshold;
            break;
        }
    }
    if count > 0.0 { found } else { f64::NAN }
}

/// Measured values around the quantile, the quantile among them.
fn thresholds(values: &mut [f64], q: f64, effective: f64) -> Vec<f64> {
    let reach = REACH * (q * (1.0 - q) / effective).sqrt();
    let ranks = |q: f64| rank(values.len(), q.clamp(0.0, 1.0));
    let (Some(first), Some(middle), Some(last)) = (ranks(q - reach), ranks(q), ranks(q + reach))
    else {
        return Vec::new();
    };
    values.select_nth_unstable_by(last, f64::total_cmp);
    let band = &mut values[..=last];
    band.select_nth_unstable_by(first, f64::total_cmp);
    let band = &mut band[first..];
    band.sort_unstable_by(f64::total_cmp);
    let step = (band.len() / THRESHOLDS).max(1);
    let evenly = (0..band.len()).step_by(step);
    let chosen = evenly.chain([middle - first, band.len() - 1]);
    chosen.map(|index| band[index]).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::functional::EXAMPLES;
    use proptest::prelude::*;

    proptest! {
        /// All values with weight one give the functional itself, wherever blocks begin.
        #[test]
        fn features_give_what_the_values_give(
            values in proptest::collection::vec(-50_i32..50, 2..200),
            q in 0.01..0.99_f64,
        ) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            for functional in EXAMPLES.into_iter().chain([Functional::Quantile(q)]) {
                let effective = values.len() as f64;
                let Some(features) = Features::new(functional, &mut values.clone(), effective) else {
                    continue;
                };
                let mut sums = vec![0.0; features.width()];
                values.iter().for_each(|&value| features.add(value, &mut sums));
                let expected = functional.value(&mut values.clone()).unwrap();
                prop_assert!((features.finish(&sums) - expected).abs() < 1e-9, "{functional:?}");
            }
        }
    }

    #[test]
    fn an_extreme_has_no_features() {
        for functional in [Functional::Count, Functional::Min, Functional::Max] {
            assert!(Features::new(functional, &mut [1.0, 2.0], 2.0).is_none());
        }
    }
}
