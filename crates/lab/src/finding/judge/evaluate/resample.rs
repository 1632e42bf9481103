//! Resamples of what is no row of packets: of whole trials, of histograms, of values held over time.

use crate::finding::judge::plan::Leaf;
use crate::finding::values::Values;
use delaylab_stats::comparison::{Part, Replicates, Resampling, Statistic};
use delaylab_stats::functional::{Basis, Functional};
use std::collections::BTreeMap;

/// The error of a median over that of a mean, of normal values: √(π/2).
const OF_A_MEDIAN: f64 = 1.253;

/// Does the spread of the trials' numbers say how much this statistic of them varies? Not of what is far from their middle, or
/// of their spread itself. True of all else.
pub(super) fn has_interval_of_trials(leaf: &Leaf) -> bool {
    let is_known = match leaf.functional.basis() {
        Basis::Quantiles(quantiles) => quantiles == [0.5],
        Basis::Deviations | Basis::Trials => false,
        _ => true,
    };
    is_known || leaf.numbers_of_trials().is_empty()
}

/// Resamples from the values of whole trials.
pub(super) fn by_trials(leaf: &Leaf, resampling: &Resampling, salt: u64) -> Option<Replicates> {
    resampling.of_trials(leaf.point()?, &by_trial(leaf), salt)
}

/// The functional in each trial, from trials that have enough values.
pub(super) fn by_trial(leaf: &Leaf) -> Vec<f64> {
    let mut values = BTreeMap::<usize, Vec<f64>>::new();
    for (trial, stretches) in &leaf.values {
        if let Values::Packets(stretches) = &**stretches {
            let there = stretches.iter().copied().filter(|x| !x.is_nan());
            values.entry(*trial).or_default().extend(there);
        }
    }
    let each = values.into_values();
    let each = each.filter_map(|mut values| leaf.functional.value(&mut values));
    each.collect()
}

/// Resamples of a leaf whose values are not packets. A count is exact, the largest value of a histogram is a lower bound, and
/// the spread of any other functional comes from whole trials.
pub(super) fn counted(leaf: &Leaf, resampling: &Resampling, salt: u64) -> Option<Replicates> {
    if let Some(held) = leaf.held() {
        return of_held(leaf, &held, resampling, salt);
    }
    let value = leaf.point()?;
    if !has_interval_of_trials(leaf) {
        return None;
    }
    let largest = largest_of_trials(leaf, 1.0);
    match leaf.functional.basis() {
        Basis::Count => Some(resampling.constant(value)),
        Basis::Largest if largest.is_empty() => Some(resampling.at_least(value)),
        Basis::Largest => Some(resampling.of_maxima(value, &largest, salt)),
        Basis::Smallest if !largest.is_empty() => {
            let turned = largest_of_trials(leaf, -1.0);
            let turned = resampling.of_maxima(-value, &turned, salt);
            Some(Replicates::combine(&[&turned], |x| -x[0]))
        }
        Basis::Quantiles(_) if !largest.is_empty() => {
            let numbers = numbers_by_trial(leaf).into_iter();
            let numbers: Vec<f64> = numbers.map(|number| OF_A_MEDIAN * number).collect();
            resampling.of_trials(value, &numbers, salt)
        }
        Basis::Share { .. } => resampling.of_counted_share(&shares_of_trials(leaf), salt),
        // Whole trials tell of any statistic how much it varies.
        _ => resampling.of_trials(value, &numbers_by_trial(leaf), salt),
    }
}

/// The largest number of each trial, by its index, of those times `sign`; empty for other measures.
fn largest_of_trials(leaf: &Leaf, sign: f64) -> BTreeMap<usize, f64> {
    let mut largest = BTreeMap::new();
    for (trial, values) in &leaf.values {
        if let Values::Trial(number) = **values {
            let most = largest.entry(*trial).or_insert(sign * number);
            *most = most.max(sign * number);
        }
    }
    largest
}

/// One number for each trial; the mean if a trial has numbers of several ports.
fn numbers_by_trial(leaf: &Leaf) -> Vec<f64> {
    let mut numbers = BTreeMap::<usize, Vec<f64>>::new();
    for (trial, values) in &leaf.values {
        let number = match &**values {
            Values::Counted(bins) => leaf.functional.of_counted(bins),
            Values::Trial(number) => Some(*number),
            _ => None,
        };
        numbers.entry(*trial).or_default().extend(number);
    }
    let each = numbers.into_values();
    each.filter_map(|mut numbers| Functional::Mean.value(&mut numbers))
        .collect()
}

/// For a histogram or one number a trial: the share in each trial, and the number of its values.
fn shares_of_trials(leaf: &Leaf) -> Vec<(f64, u64)> {
    let shares = leaf
        .values
        .iter()
        .filter_map(|(_, values)| match &**values {
            Values::Counted(bins) => {
                let count = bins.iter().map(|(_, count)| *count).sum();
                Some((leaf.functional.of_counted(bins)?, count))
            }
            Values::Trial(number) => Some((leaf.functional.value(&mut [*number])?, 1)),
            _ => None,
        });
    shares.collect()
}

/// Resamples of a functional of a series, weighted by how long it had each value.
fn of_held(
    leaf: &Leaf,
    held: &[(f64, f64)],
    resampling: &Resampling,
    salt: u64,
) -> Option<Replicates> {
    let mut by_trial = BTreeMap::<usize, Vec<(f64, f64)>>::new();
    let mut parts = Vec::new();
    for (trial, values) in &leaf.values {
        if let Values::Held { values, means } = &**values {
            by_trial.entry(*trial).or_default().extend(values);
            parts.push(Part {
                trial: *trial,
                values: means,
            });
        }
    }
    let each = by_trial.into_values().filter_map(|mut held| {
        held.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        leaf.functional.of_weighted(&held)
    });
    let each: Vec<f64> = each.collect();
    let means = Statistic::new(Functional::Mean, parts);
    let effective = means.doubt.is_none().then_some(means.effective);
    resampling.of_held(leaf.functional, held, &each, effective, salt)
}
