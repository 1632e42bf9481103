//! Resamples of what is no row of packets: of histograms, of one number a trial, of values held over time.

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
            let mut numbers = numbers_by_trial(leaf);
            numbers
                .values_mut()
                .for_each(|number| *number *= OF_A_MEDIAN);
            resampling.of_trials(value, &numbers, salt)
        }
        Basis::Share { .. } => {
            let share = resampling.of_counted_share(&shares_of_trials(leaf), salt)?;
            Some(match largest.is_empty() {
                true => share,
                false => share.of_trials_alone(),
            })
        }
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

/// One number for each trial, by its index; the mean if a trial has numbers of several ports.
fn numbers_by_trial(leaf: &Leaf) -> BTreeMap<usize, f64> {
    let mut numbers = BTreeMap::<usize, Vec<f64>>::new();
    for (trial, values) in &leaf.values {
        let number = match &**values {
            Values::Counted(bins) => leaf.functional.of_counted(bins),
            Values::Trial(number) => Some(*number),
            _ => None,
        };
        numbers.entry(*trial).or_default().extend(number);
    }
    let each = numbers.into_iter();
    each.filter_map(|(trial, mut numbers)| Some((trial, Functional::Mean.value(&mut numbers)?)))
        .collect()
}

/// For a histogram or one number a trial: by the index of the trial, the share, and the number of its values.
fn shares_of_trials(leaf: &Leaf) -> BTreeMap<usize, (f64, f64)> {
    let mut shares = BTreeMap::<usize, (f64, f64)>::new();
    for (trial, values) in &leaf.values {
        let share = match &**values {
            Values::Counted(bins) => {
                let count: u64 = bins.iter().map(|(_, count)| *count).sum();
                leaf.functional.of_counted(bins).zip(Some(count as f64))
            }
            Values::Trial(number) => leaf.functional.value(&mut [*number]).zip(Some(1.0)),
            _ => None,
        };
        if let Some((share, count)) = share {
            let (known, before) = shares.entry(*trial).or_default();
            *known = (*known * *before + share * count) / (*before + count);
            *before += count;
        }
    }
    shares
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
    let each = by_trial.into_iter().filter_map(|(trial, mut held)| {
        held.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        Some((trial, leaf.functional.of_weighted(&held)?))
    });
    let each = each.collect();
    let means = Statistic::new(Functional::Mean, parts);
    let effective = means.doubt.is_none().then_some(means.effective);
    resampling.of_held(leaf.functional, held, &each, effective, salt)
}
