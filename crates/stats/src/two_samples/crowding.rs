//! Quantiles of trials at levels of their own.
//!
//! The 5th percentile of all packets is that of the few trials with the lowest levels, where trials differ by more than their
//! packets: it moves with these alone, and not with the mean of all trials, by whose spread an interval goes. How many trials there
//! are at a quantile, the packets near it tell.

use super::Series;
use crate::functional::{Basis, Functional};

/// Packets near a quantile that say something.
const LEAST: usize = 20;
/// The median has half of all near it.
const HALF: f64 = 0.75;

/// By how much an interval that goes by the spread of trials is to be wider: 1 where each trial has as many packets near the quantile
/// as the others have, and for anything else than a quantile.
pub(super) fn wider(functional: Functional, side: &[Series<'_>]) -> f64 {
    let Basis::Quantiles(quantiles) = functional.basis() else {
        return 1.0;
    };
    let &[quantile] = &quantiles[..] else {
        return 1.0;
    };
    let tail = quantile.min(1.0 - quantile);
    let [near, far] = [tail / 2.0, (2.0 * tail).min(HALF)];
    let ends = match quantile <= 0.5 {
        true => [near, far],
        false => [1.0 - far, 1.0 - near],
    };
    let values = side.iter().flat_map(|series| series.values).copied();
    let mut values: Vec<f64> = values.filter(|value| !value.is_nan()).collect();
    let [low, high] = ends.map(|q| Functional::Quantile(q).value(&mut values));
    match low.zip(high) {
        Some((low, high)) => of_trials(side, low, high),
        None => 1.0,
    }
}

/// With w the share of a trial among the packets between these ends, Σw² of n trials is 1/n where all have as many.
fn of_trials(side: &[Series<'_>], low: f64, high: f64) -> f64 {
    let is_near = |value: &&f64| (low..=high).contains(*value);
    let near = side
        .iter()
        .map(|series| series.values.iter().filter(is_near).count());
    let near: Vec<usize> = near.collect();
    let all: usize = near.iter().sum();
    if all < LEAST {
        return 1.0;
    }
    // Of two packets, how likely both are of one trial: without the bias that few packets have.
    let pairs: usize = near
        .iter()
        .map(|count| count * count.saturating_sub(1))
        .sum();
    let together = pairs as f64 / (all * (all - 1)) as f64;
    (together * side.len() as f64).sqrt().max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ar1;

    fn wider_of(levels: &[f64], quantile: f64) -> f64 {
        let trials = levels.iter().zip(0..).map(|(level, seed)| -> Vec<f64> {
            ar1(0.0, 300, seed).iter().map(|x| level + x).collect()
        });
        let trials: Vec<_> = trials.collect();
        let side: Vec<Series<'_>> = trials.iter().map(|trial| trial[..].into()).collect();
        wider(Functional::Quantile(quantile), &side)
    }

    #[test]
    fn where_few_trials_are_at_a_quantile_its_interval_is_wider() {
        let alike = [100.0; 8];
        let apart = [60.0, 70.0, 80.0, 90.0, 100.0, 110.0, 120.0, 130.0];
        for quantile in [0.05, 0.5, 0.99] {
            assert!(wider_of(&alike, quantile) < 1.1);
            assert!(wider_of(&apart, quantile) > 1.3, "{quantile}");
        }
        assert!((wider_of(&apart, 0.05) - 8_f64.sqrt()).abs() < 0.1);
        assert_eq!(wider_of(&alike[..1], 0.5), 1.0);
    }
}
