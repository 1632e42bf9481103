//! Sides that have no steady level: a queue that runs away.
//!
//! No interval bounds the median of a side that only rises: it has one level as little as it has a spread. Yet where most of its
//! values lie beyond most of those of the other side, the two differ. Chance seldom makes both: ten stretches of a trial whose
//! medians rise from each to the next, and values that hardly overlap. By simulation two series of one law do so in none of 2000
//! pairs (AR(1) of 100 to 1000 values with φ up to 0.98), in at most 0.2 % with φ of 0.99, and in 2 % of random walks.

use super::Series;
use crate::comparison::Bounds;
use crate::functional::Functional;

/// Stretches of a trial that are looked at.
const STRETCHES: usize = 10;
/// Values of a trial, and of a side, below which nothing is said.
const LEAST: usize = 100;

/// How a side changes from the first to the last of ten stretches of its trials: the same way from each to the next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// Median of the first stretch; of several trials the mean.
    pub from: f64,
    /// Median of the last one.
    pub to: f64,
}

impl Drift {
    /// Of the trials of a side; `None` unless all of them go the same way.
    pub fn of(side: &[Series<'_>]) -> Option<Self> {
        let of_each = side.iter().map(|series| of_trial(series.values));
        let of_each = of_each.collect::<Option<Vec<Drift>>>()?;
        let rising = of_each.iter().filter(|drift| drift.to > drift.from).count();
        let mean = |of: fn(&Drift) -> f64| {
            let all: f64 = of_each.iter().map(of).sum();
            all / of_each.len() as f64
        };
        let is_alike = rising == 0 || rising == of_each.len();
        (is_alike && !of_each.is_empty()).then(|| Self {
            from: mean(|drift| drift.from),
            to: mean(|drift| drift.to),
        })
    }
}

fn of_trial(values: &[f64]) -> Option<Drift> {
    let known: Vec<f64> = values.iter().copied().filter(|x| !x.is_nan()).collect();
    if known.len() < LEAST {
        return None;
    }
    let stretches = known.chunks_exact(known.len() / STRETCHES).take(STRETCHES);
    let medians = stretches.map(|stretch| Functional::Quantile(0.5).value(&mut stretch.to_vec()));
    let medians = medians.collect::<Option<Vec<f64>>>()?;
    let rises = |pair: &[f64]| pair[0] < pair[1];
    let falls = |pair: &[f64]| pair[0] > pair[1];
    let is_steady = !medians.windows(2).all(rises) && !medians.windows(2).all(falls);
    let (from, to) = (*medians.first()?, *medians.last()?);
    (!is_steady).then_some(Drift { from, to })
}

/// The sides that have no steady level, of two of which nine tenths of the values do not overlap; none otherwise.
pub(super) fn of_sides_apart(sides: [&[Series<'_>]; 2]) -> [Option<Drift>; 2] {
    let [a, b] = sides.map(|side| quantiles(side, [0.05, 0.95]));
    let are_apart = a.zip(b).is_some_and(|(a, b)| a[1] < b[0] || b[1] < a[0]);
    match are_apart {
        true => sides.map(Drift::of),
        false => [None, None],
    }
}

/// Between which ends the median of a side is that has no steady level: its quartiles; `None` of any other side.
pub fn median_within(side: &[Series<'_>]) -> Option<Bounds> {
    Drift::of(side)?;
    let [low, high] = quantiles(side, [0.25, 0.75])?;
    Some(Bounds {
        low,
        high,
        repeats_differ: false,
        degrees: 1,
        from_packets: 1.0,
        packets: Some(0.5),
    })
}

/// `None` of few values.
fn quantiles(side: &[Series<'_>], quantiles: [f64; 2]) -> Option<[f64; 2]> {
    let values = side.iter().flat_map(|series| series.values).copied();
    let mut values: Vec<f64> = values.filter(|value| !value.is_nan()).collect();
    if values.len() < LEAST {
        return None;
    }
    let [low, high] = quantiles.map(|q| Functional::Quantile(q).value(&mut values));
    Some([low?, high?])
}
