//! A number with what resampling made of it.

use super::interval::MAX_VOID;
use crate::functional::Functional;
use std::collections::BTreeSet;

/// A number, what resampling made of it, and what it would be without one trial each.
#[derive(Debug, Clone, PartialEq)]
pub struct Replicates {
    /// From all the data.
    pub value: f64,
    pub(super) resampled: Vec<f64>,
    pub(super) without: Vec<f64>,
    /// What it is of one trial each, which stands for all that repeat it, in the same order.
    pub(super) alone: Vec<f64>,
    pub(super) trials: BTreeSet<usize>,
    /// As many degrees of freedom its variance has at most, where few large values make up most of it.
    pub(super) degrees: Option<f64>,
    /// Percentiles of the draws are taken as they are: the value bounds what it estimates, or its
    /// draws are not pulled to one side.
    pub(super) as_drawn: bool,
}

impl Replicates {
    /// Computed from several numbers, resample by resample.
    pub fn combine(numbers: &[&Replicates], f: impl Fn(&[f64]) -> f64) -> Replicates {
        let each = |pick: &dyn Fn(&Replicates) -> f64| {
            let values: Vec<f64> = numbers.iter().map(|number| pick(number)).collect();
            f(&values)
        };
        let lengths = |pick: fn(&Replicates) -> usize| {
            numbers.iter().map(|number| pick(number)).min().unwrap_or(0)
        };
        Replicates {
            value: each(&|number| number.value),
            resampled: (0..lengths(|n| n.resampled.len()))
                .map(|i| each(&|number| number.resampled[i]))
                .collect(),
            without: (0..lengths(|n| n.without.len()))
                .map(|i| each(&|number| number.without[i]))
                .collect(),
            alone: (0..lengths(|n| n.alone.len()))
                .map(|i| each(&|number| number.alone[i]))
                .collect(),
            degrees: (numbers.iter().filter_map(|number| number.degrees)).reduce(|a, b| a + b),
            as_drawn: numbers.iter().any(|number| number.as_drawn),
            trials: numbers
                .iter()
                .flat_map(|n| n.trials.iter().copied())
                .collect(),
        }
    }

    /// Is it above zero, and beyond doubt so? One draw in a hundred may say otherwise: Student's t of three trials has
    /// draws as far out as anything.
    pub fn is_positive(&self) -> bool {
        let otherwise = self.resampled.iter().filter(|&&x| x <= 0.0).count();
        self.value > 0.0 && otherwise <= MAX_VOID
    }

    /// Moved so that the median of the draws is the number.
    #[must_use]
    pub fn centred(mut self) -> Self {
        let mut draws = self.resampled.clone();
        if let Some(median) = Functional::Quantile(0.5).value(&mut draws) {
            let away = self.value - median;
            self.resampled.iter_mut().for_each(|draw| *draw += away);
        }
        self
    }

    /// Draws that no number of its kind exceeds.
    #[must_use]
    pub fn at_most(mut self, most: f64) -> Self {
        self.resampled
            .iter_mut()
            .for_each(|draw| *draw = draw.min(most));
        self.as_drawn = true;
        self
    }
}
