//! Did the level change at once, or did it wander?
//!
//! A wave, a drift, a queue that fills: each is cut in levels by whoever looks for levels. So what a step says
//! of the values beside each cut is held against what smooth shapes say of them.

use super::contrast::Level;
use super::inflation::Inflation;
use std::f64::consts::{FRAC_PI_2, PI};

/// By how much a smooth shape must be worse than a step: for each cut, and once more. A cut lies where a step fits
/// best, so it has an advantage. In units of twice the logarithm of the likelihood ratio.
const ADVANTAGE: f64 = 4.0;
/// A cut that a smooth shape explains better by this much is none.
const WORSE: f64 = 4.0;

/// Shapes over −1 to 1 with the cut at 0: half a wave and a quarter of one on either side, a line, a ramp between
/// two levels, a triangle on either side.
const SMOOTH: [fn(f64) -> f64; 5] = [
    |x| (PI * x).sin(),
    |x| (FRAC_PI_2 * x).sin(),
    |x| x,
    |x| (2.0 * x).clamp(-1.0, 1.0),
    |x| if x.abs() < 0.5 { x } else { x.signum() - x },
];

/// The cuts at which the level changed at once. None if all of them together are better explained by something
/// smooth: what is a wave at most cuts is one at all of them.
pub(super) fn only(values: &[f64], bounds: &[usize], inflation: &Inflation) -> Vec<usize> {
    let better: Vec<f64> = bounds
        .windows(3)
        .map(|ends| smooth_is_better(values, ends, inflation))
        .collect();
    let advantage = ADVANTAGE * (better.len() + 1) as f64;
    if better.is_empty() || better.iter().sum::<f64>() > -advantage {
        return Vec::new();
    }
    // Of neighbours only the worst: without it the others have longer levels to be judged by.
    let worst_here = |index: usize| {
        let beside = [index.checked_sub(1), Some(index + 1)];
        let mut beside = beside.into_iter().flatten().filter_map(|i| better.get(i));
        beside.all(|other| *other <= better[index])
    };
    let cuts = bounds[1..bounds.len() - 1].iter().enumerate();
    let kept = cuts.filter(|(index, _)| better[*index] <= WORSE || !worst_here(*index));
    kept.map(|(_, &cut)| cut).collect()
}

/// How much better the best smooth shape explains the values beside a cut than a step, as far as the nearer
/// neighbour is away: twice the logarithm of the likelihood ratio.
fn smooth_is_better(values: &[f64], ends: &[usize], inflation: &Inflation) -> f64 {
    let cut = ends[1];
    let reach = (cut - ends[0]).min(ends[2] - cut);
    let beside = without_tails(&values[cut - reach..cut], &values[cut..cut + reach]);
    let explained = |shape: &dyn Fn(f64) -> f64| {
        let (mut product, mut square) = (0.0, 0.0);
        for (index, value) in beside.iter().enumerate() {
            let of_shape = shape((index as f64 + 0.5) / reach as f64 - 1.0);
            product += of_shape * value;
            square += of_shape * of_shape;
        }
        product * product / square
    };
    let step = explained(&f64::signum);
    let smooth = SMOOTH.iter().map(|shape| explained(shape));
    let smooth = smooth.fold(0.0, f64::max);
    let all: f64 = beside.iter().map(|value| value * value).sum();
    if all <= 0.0 {
        return 0.0;
    }
    // Levels without noise are explained wholly.
    let noise = (all - smooth.max(step)).max(1e-4 * all) / beside.len() as f64;
    (smooth - step) / noise / inflation.factor(reach)
}

/// Both sides of a cut about their mean, no value further than this many deviations beyond both medians.
fn without_tails(before: &[f64], after: &[f64]) -> Vec<f64> {
    const BEYOND: f64 = 2.0;
    let (a, b) = (Level::new(before), Level::new(after));
    let beyond = BEYOND * f64::midpoint(a.deviation(), b.deviation());
    let low = a.median().min(b.median()) - beyond;
    let high = a.median().max(b.median()) + beyond;
    let both = before.iter().chain(after);
    let mut kept: Vec<f64> = both.map(|value| value.clamp(low, high)).collect();
    let mean = kept.iter().sum::<f64>() / kept.len() as f64;
    kept.iter_mut().for_each(|value| *value -= mean);
    kept
}
