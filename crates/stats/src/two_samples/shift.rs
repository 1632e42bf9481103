//! By how much a statistic of B is larger than that of A.

use crate::comparison::{Bounds, Draws, Part, Replicates, Resampling, Statistic};
use crate::functional::Functional;

/// A statistic of both sides, and its difference.
#[derive(Debug, Clone, PartialEq)]
pub struct Shift {
    /// Which statistic.
    pub statistic: Functional,
    /// Of A; `None` without values.
    pub a: Option<f64>,
    /// Of B.
    pub b: Option<f64>,
    /// 95 % interval of B − A, or why there is none.
    pub absolute: Result<Bounds, String>,
    /// 95 % interval of (B − A)/A, or why there is none.
    pub relative: Result<Bounds, String>,
}

impl Shift {
    /// B − A.
    pub fn difference(&self) -> Option<f64> {
        Some(self.b? - self.a?)
    }
}

/// Of a statistic from A to B, each one or more series in order of time: trials that repeat each other.
/// Intervals are those of [`crate::comparison`].
pub fn shift(functional: Functional, a: &[&[f64]], b: &[&[f64]], seed: u64) -> Shift {
    with_draws(functional, [a, b], seed, &mut Draws::default())
}

/// The same of several functionals.
pub fn shifts(functionals: &[Functional], a: &[&[f64]], b: &[&[f64]], seed: u64) -> Vec<Shift> {
    let mut draws = Draws::default();
    let each = functionals.iter();
    each.map(|&functional| with_draws(functional, [a, b], seed, &mut draws))
        .collect()
}

fn with_draws(
    functional: Functional,
    [a, b]: [&[&[f64]]; 2],
    seed: u64,
    draws: &mut Draws,
) -> Shift {
    let sides = [
        statistic(functional, 0, a),
        statistic(functional, a.len(), b),
    ];
    let strata = a.iter().map(|_| 0).chain(b.iter().map(|_| 1)).collect();
    let (absolute, relative) = match intervals(&sides, strata, seed, draws) {
        Ok(both) => both,
        Err(reason) => (Err(reason.clone()), Err(reason)),
    };
    Shift {
        statistic: functional,
        a: sides[0].value,
        b: sides[1].value,
        absolute,
        relative,
    }
}

fn statistic<'a>(functional: Functional, first: usize, side: &[&'a [f64]]) -> Statistic<'a> {
    let part = |(trial, &values)| Part { trial, values };
    Statistic::new(functional, (first..).zip(side).map(part).collect())
}

type Interval = Result<Bounds, String>;

fn intervals(
    sides: &[Statistic<'_>; 2],
    strata: Vec<usize>,
    seed: u64,
    draws: &mut Draws,
) -> Result<(Interval, Interval), String> {
    let by_trial = sides.each_ref().map(|side| side.by_trial(&strata));
    for ((name, side), by_trial) in ["A", "B"].iter().zip(sides).zip(&by_trial) {
        if let (Some(doubt), None) = (&side.doubt, by_trial) {
            return Err(format!("{name}: {doubt}"));
        }
    }
    let resampling = Resampling::with_draws(strata, sides, seed, draws);
    let replicates = |index: usize| {
        let (side, salt) = (&sides[index], index as u64);
        match &by_trial[index] {
            Some(by_trial) => resampling.of_whole_trials(side, by_trial, salt),
            None => resampling.replicates(side, salt),
        }
    };
    let (Some(a), Some(b)) = (replicates(0), replicates(1)) else {
        return Err("a side has no value".to_owned());
    };
    // Of trials there are few, and their deviation is a guess that good.
    let repeats = by_trial
        .iter()
        .flatten()
        .map(|by_trial| by_trial.repeats)
        .min();
    let interval = |number: &Replicates| {
        let bounds = resampling.interval(number)?;
        Ok(repeats.map_or(bounds, |repeats| Bounds {
            degrees: bounds.degrees.min(repeats as u32),
            repeats_differ: true,
            from_packets: 0.0,
            ..bounds
        }))
    };
    let absolute = Replicates::combine(&[&a, &b], |x| x[1] - x[0]);
    let relative = if a.is_positive() {
        interval(&Replicates::combine(&[&a, &b], |x| x[1] / x[0] - 1.0))
    } else {
        Err("A may be zero or less, and nothing is relative to that".to_owned())
    };
    Ok((interval(&absolute), relative))
}
