//! What may lie beyond the smallest and the largest value seen.

use super::{RESAMPLES, Replicates, Resampling, Statistic};
use crate::functional::Functional;
use std::collections::BTreeMap;

/// Minima that the floor is estimated from, at most, in each stream.
const MINIMA: usize = 32;
/// Which of them the distance to the floor is told from.
const FLOOR_ORDER: usize = 5;

impl Resampling {
    pub(super) fn floor(&self, statistic: &Statistic<'_>, value: f64, salt: u64) -> Replicates {
        let mut minima: Vec<f64> = (statistic.parts.iter())
            .flat_map(|part| block_minima(part.values))
            .collect();
        minima.sort_unstable_by(f64::total_cmp);
        let order = if minima.len() < 2 * FLOOR_ORDER {
            2
        } else {
            FLOOR_ORDER
        };
        let gap = minima
            .get(order - 1)
            .map_or(f64::INFINITY, |upper| upper - value);
        let mut random = self.random(salt);
        let draw = |_| {
            let share = 1.0 - random.uniform().powf(1.0 / (order - 1) as f64);
            if gap == 0.0 {
                value
            } else {
                value - gap * share / (1.0 - share)
            }
        };
        Replicates {
            resampled: (0..RESAMPLES).map(draw).collect(),
            as_drawn: true,
            ..self.constant(value)
        }
    }

    pub(super) fn ceiling(&self, statistic: &Statistic<'_>, value: f64, salt: u64) -> Replicates {
        let mut largest = BTreeMap::<usize, f64>::new();
        for part in &statistic.parts {
            let there = part.values.iter().copied().filter(|value| !value.is_nan());
            // A trial that lost everything has no largest value, and says nothing of the others'.
            if let Some(here) = there.reduce(f64::max) {
                let most = largest.entry(part.trial).or_insert(here);
                *most = most.max(here);
            }
        }
        self.of_maxima(value, &largest, salt)
    }

    /// A maximum, from those of single trials, each by the index of its trial: their spread bounds it.
    pub fn of_maxima(&self, value: f64, by_trial: &BTreeMap<usize, f64>, salt: u64) -> Replicates {
        let Some((sd, df)) = self.spread_within_strata(by_trial) else {
            return self.at_least(value);
        };
        // One-sided, and maxima are skewed: with three times the spread, two sets of repeats of the
        // same are told apart in some 5 % of cases (by simulation with Gumbel's law).
        let mut random = self.random(salt);
        let draw = |_| value + 3.0 * sd * random.student(df).abs();
        Replicates {
            resampled: (0..RESAMPLES).map(draw).collect(),
            as_drawn: true,
            ..self.constant(value)
        }
    }

    /// Standard deviation of repeats about their stratum's mean, and its degrees of freedom; `None`
    /// under two.
    fn spread_within_strata(&self, by_trial: &BTreeMap<usize, f64>) -> Option<(f64, usize)> {
        let mut strata = BTreeMap::<usize, Vec<f64>>::new();
        for (&trial, &value) in by_trial {
            strata.entry(self.strata[trial]).or_default().push(value);
        }
        let (mut squares, mut df) = (0.0, 0);
        for mut values in strata.into_values() {
            if let Some(sd) = Functional::Sd.value(&mut values) {
                df += values.len() - 1;
                squares += sd * sd * (values.len() - 1) as f64;
            }
        }
        (df > 1).then(|| ((squares / df as f64).sqrt(), df))
    }
}

fn block_minima(values: &[f64]) -> impl Iterator<Item = f64> {
    let length = values.len().div_ceil(MINIMA).max(1);
    let blocks = values.chunks(length);
    blocks.filter_map(|block| {
        block
            .iter()
            .copied()
            .filter(|x| !x.is_nan())
            .reduce(f64::min)
    })
}
