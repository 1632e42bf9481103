//! A number with what resampling made of it.

use super::{RESAMPLES, degrees};
use crate::functional::Functional;
use std::collections::BTreeSet;

/// Draws that may fail (a deviation of one value) without making the interval void.
pub(super) const MAX_VOID: usize = RESAMPLES / 100;

/// How well the draws of a number tell what it varies by, as degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Freedom {
    /// Of the blocks that were drawn.
    pub(super) blocks: f64,
    /// Of the variance: no more, and fewer where few large values make up most of it.
    pub(super) variance: f64,
}

impl Freedom {
    /// Of a number that nothing moves, or whose draws allow for it.
    pub(super) const ALL: Self = Self {
        blocks: f64::INFINITY,
        variance: f64::INFINITY,
    };

    pub(super) fn new(blocks: usize, limit: f64) -> Self {
        let blocks = blocks as f64;
        Self {
            blocks,
            variance: blocks.min(limit),
        }
    }

    /// Of what is computed from these numbers, each of which adds its own to the variance.
    fn combined(numbers: &[&Replicates], f: &dyn Fn(&[f64]) -> f64) -> Self {
        let values: Vec<f64> = numbers.iter().map(|number| number.value).collect();
        let centre = f(&values);
        let effect = |at: usize, reach: f64| {
            let moved = [-reach, reach].map(|by| {
                let mut values = values.clone();
                values[at] += by;
                (f(&values) - centre).abs()
            });
            let known = moved.into_iter().filter(|by| by.is_finite());
            known.reduce(f64::max)
        };
        let variance = |(at, number): (usize, &&Replicates)| match number.reach() {
            0.0 => Some(0.0),
            reach => effect(at, reach).map(|by| by * by),
        };
        let variances: Option<Vec<f64>> = numbers.iter().enumerate().map(variance).collect();
        let of = |pick: fn(&Self) -> f64| {
            let own = || numbers.iter().map(|number| pick(&number.freedom));
            let least = own().fold(f64::INFINITY, f64::min);
            match &variances {
                Some(variances) if least >= 1.0 => {
                    degrees::of_sum(variances.iter().copied().zip(own()))
                }
                // One block varies by nothing that can be seen, and where f has no value the shares are not known.
                _ => least,
            }
        };
        Self {
            blocks: of(|own| own.blocks),
            variance: of(|own| own.variance),
        }
    }
}

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
    pub(super) freedom: Freedom,
    /// Percentiles of the draws are taken as they are: the value bounds what it estimates, or its
    /// draws are not pulled to one side.
    pub(super) as_drawn: bool,
    /// Whole trials say how much it varies, so that more packets in each of them would not make its interval shorter.
    pub(super) is_of_trials: bool,
    /// It is a share of events, such as losses: how much counts of these vary by chance is known, and trials may differ by more.
    pub(super) is_counted: bool,
    /// Trials say nothing against it that packets do not.
    pub(super) by_packets: bool,
}

impl Replicates {
    /// Computed from several numbers, resample by resample.
    pub fn combine(numbers: &[&Replicates], f: impl Fn(&[f64]) -> f64) -> Replicates {
        Self::with_freedom(numbers, &f, Freedom::combined(numbers, &f))
    }

    /// The same of the points of a fit: what one of them varies by the others tell, too, so that each may be of few blocks.
    pub fn fitted(points: &[&Replicates], f: impl Fn(&[f64]) -> f64) -> Replicates {
        let sum = |pick: fn(&Freedom) -> f64| points.iter().map(|point| pick(&point.freedom)).sum();
        let freedom = Freedom {
            blocks: sum(|own| own.blocks),
            variance: sum(|own| own.variance),
        };
        Self::with_freedom(points, &f, freedom)
    }

    fn with_freedom(
        numbers: &[&Replicates],
        f: &dyn Fn(&[f64]) -> f64,
        freedom: Freedom,
    ) -> Replicates {
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
            freedom,
            as_drawn: numbers.iter().any(|number| number.as_drawn),
            is_of_trials: numbers.iter().any(|number| number.is_of_trials),
            is_counted: numbers.iter().all(|number| number.is_counted),
            by_packets: numbers.iter().all(|number| number.by_packets),
            trials: numbers
                .iter()
                .flat_map(|n| n.trials.iter().copied())
                .collect(),
        }
    }

    /// How far draws are from the number, 19 of 20 at most: on the side on which they are further, if not infinitely far.
    fn reach(&self) -> f64 {
        let finite = self.resampled.iter().copied();
        let mut draws: Vec<f64> = finite.filter(|draw| draw.is_finite()).collect();
        let mut away = |q: f64| {
            let end = Functional::Quantile(q).value(&mut draws);
            end.map_or(0.0, |end| (end - self.value).abs())
        };
        away(0.025).max(away(0.975))
    }

    /// Is it above zero, and beyond doubt so? One draw in a hundred may say otherwise: Student's t of three trials has
    /// draws as far out as anything.
    pub fn is_positive(&self) -> bool {
        let otherwise = self.resampled.iter().filter(|&&x| x <= 0.0).count();
        self.value > 0.0 && otherwise <= MAX_VOID
    }

    /// The same of what each trial has one number of, whatever its packets.
    #[must_use]
    pub fn of_trials_alone(self) -> Self {
        Self {
            is_of_trials: true,
            ..self
        }
    }

    /// The same about another value.
    #[must_use]
    pub(super) fn moved_to(mut self, value: f64) -> Self {
        let by = value - self.value;
        let draws = [&mut self.resampled, &mut self.without, &mut self.alone];
        draws.into_iter().flatten().for_each(|draw| *draw += by);
        self.value = value;
        self
    }

    /// The same of what every trial says alike.
    #[must_use]
    pub fn by_packets(self) -> Self {
        Self {
            by_packets: true,
            ..self
        }
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

    /// Draws from the least to the most that a number of its kind can be.
    #[must_use]
    pub fn within(mut self, (least, most): (f64, f64)) -> Self {
        for draw in &mut self.resampled {
            *draw = draw.clamp(least, most);
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
