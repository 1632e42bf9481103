//! Something over time of which is known for how long it had each value, and not when.
//!
//! Its statistic is that of the values, weighted by time. How much it varies two things tell: how many independent
//! values a trial is worth, which the means of its stretches show (what varies faster than these averages out, so that
//! they say too few rather than too many), and how far trials are apart. The larger of the two errors counts.

use super::{RESAMPLES, Replicates, Resampling};
use crate::distribution::Distribution;
use crate::functional::{Basis, Beyond, Functional};
use crate::interval::{MIN_BEYOND, MIN_EFFECTIVE};
use crate::random::SplitMix;
use std::collections::BTreeMap;

impl Resampling {
    /// Of values in their order with how long each held, in all trials; `by_trial` is the functional of each trial, by
    /// its index, `effective` how many independent values all of them are worth, where that can be told. `None` where neither
    /// tells how much it varies.
    pub fn of_held(
        &self,
        functional: Functional,
        held: &[(f64, f64)],
        by_trial: &BTreeMap<usize, f64>,
        effective: Option<f64>,
        salt: u64,
    ) -> Option<Replicates> {
        let value = functional.of_weighted(held)?;
        let trials = by_trial.keys().copied().collect();
        let effective = effective.map(|effective| effective / self.design.trials_a_repeat(&trials));
        let within = effective.and_then(|effective| self.draws(functional, held, effective, salt));
        let apart = || self.of_trials(value, by_trial, salt);
        let Some(within) = within else {
            return apart();
        };
        let error = Functional::Sd.value(&mut within.clone())?;
        let between = self.error_of_trials(by_trial);
        if between.is_some_and(|(between, _)| between > error) {
            return apart();
        }
        Some(self.drawn_from(value, &within, salt))
    }

    /// What the functional could be if all of it is worth so many independent values.
    fn draws(
        &self,
        functional: Functional,
        held: &[(f64, f64)],
        effective: f64,
        salt: u64,
    ) -> Option<Vec<f64>> {
        let is_rare = |tail: f64| effective * tail < MIN_BEYOND;
        if effective < MIN_EFFECTIVE || functional.tail().is_some_and(is_rare) {
            return None;
        }
        let mut random = self.random(salt ^ 0x5eed);
        let mut draw: Box<dyn FnMut() -> Moved> = match functional.basis() {
            Basis::Quantiles(quantiles) => {
                let shares = Shares::new(held);
                Box::new(move || Moved::Quantiles(shares.moved(&quantiles, effective, &mut random)))
            }
            Basis::Share { .. } => {
                let share = functional.of_weighted(held)?;
                let error = (share * (1.0 - share) / effective).sqrt();
                let rare = |share: f64| f64::from(u8::from(effective * share < MIN_BEYOND));
                let unseen = (rare(share) - rare(1.0 - share)) / effective;
                Box::new(move || {
                    let moved = -random.uniform().ln() - std::f64::consts::LN_2;
                    let share = share + error * random.normal() + unseen * moved;
                    Moved::Share(share.clamp(0.0, 1.0))
                })
            }
            Basis::Deviations => {
                let sd = Functional::Sd.of_weighted(held)?;
                let error = error_of_sd(held, sd, effective)?;
                Box::new(move || Moved::Sd((sd * (1.0 + error * random.normal())).max(0.0)))
            }
            Basis::Count | Basis::Smallest | Basis::Largest | Basis::Mean | Basis::Trials => {
                return None;
            }
        };
        let (least, most) = functional.range();
        let value = |mut moved: Moved| {
            let value = functional.computed_from(&mut moved).unwrap_or(f64::NAN);
            value.clamp(least, most)
        };
        Some((0..RESAMPLES).map(|_| value(draw())).collect())
    }
}

/// Relative standard error of a standard deviation, from the fourth moment.
fn error_of_sd(held: &[(f64, f64)], sd: f64, effective: f64) -> Option<f64> {
    let mean = Functional::Mean.of_weighted(held)?;
    let fourth: Vec<(f64, f64)> = (held.iter())
        .map(|(x, weight)| ((x - mean).powi(4), *weight))
        .collect();
    let fourth = Functional::Mean.of_weighted(&fourth)?;
    let tailed = if sd > 0.0 {
        fourth / sd.powi(4) - 1.0
    } else {
        0.0
    };
    Some((tailed.max(0.0) / effective).sqrt() / 2.0)
}

/// Values of which only this is known, as it could be.
enum Moved {
    /// Each quantile with its value.
    Quantiles(Vec<(f64, f64)>),
    /// The share beyond the functional's bound.
    Share(f64),
    /// The standard deviation.
    Sd(f64),
}

impl Distribution for Moved {
    fn quantile(&mut self, q: f64) -> Option<f64> {
        match self {
            Moved::Quantiles(known) => Some(known.iter().find(|known| known.0 == q)?.1),
            _ => None,
        }
    }

    fn share(&mut self, _: Beyond, _: f64) -> Option<f64> {
        match self {
            Moved::Share(share) => Some(*share),
            _ => None,
        }
    }

    fn sd(&mut self) -> Option<f64> {
        match self {
            Moved::Sd(sd) => Some(*sd),
            _ => None,
        }
    }
}

/// Up to which share of the time there was at most which value.
struct Shares(Vec<(f64, f64)>);

impl Shares {
    fn new(held: &[(f64, f64)]) -> Self {
        let all: f64 = held.iter().map(|(_, weight)| weight).sum();
        let mut below = 0.0;
        let share = |&(value, weight): &(f64, f64)| {
            below += weight;
            (below / all, value)
        };
        Self(held.iter().map(share).collect())
    }

    /// These quantiles, in rising order, if so many independent values had moved the shares at or below them. Shares
    /// of the same values move together: those of two quartiles by a third.
    fn moved(&self, quantiles: &[f64], effective: f64, random: &mut SplitMix) -> Vec<(f64, f64)> {
        let (mut moved, mut below) = (0.0, 0.0);
        let each = quantiles.iter().map(|&q| {
            let together = (below * (1.0 - q) / (q * (1.0 - below))).sqrt();
            moved = together * moved + (1.0 - together * together).sqrt() * random.normal();
            below = q;
            (q, self.at(q + (q * (1.0 - q) / effective).sqrt() * moved))
        });
        each.collect()
    }

    fn at(&self, share: f64) -> f64 {
        let last = self.0.len().saturating_sub(1);
        let at = self.0.partition_point(|(below, _)| *below < share - 1e-12);
        self.0
            .get(at.min(last))
            .map_or(f64::NAN, |(_, value)| *value)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// How often the interval of so many independent values has the truth, for normal ones.
    fn coverage(functional: Functional, truth: f64, trials: usize) -> f64 {
        const RUNS: u64 = 100;
        const COUNT: usize = 200;
        let covers = (0..RUNS).filter(|&run| {
            let mut random = SplitMix::new(run);
            let mut all = Vec::new();
            let mut by_trial = BTreeMap::new();
            for trial in 0..trials {
                let mut held: Vec<_> = (0..COUNT).map(|_| (random.normal(), 1.0)).collect();
                held.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
                by_trial.extend(Some(trial).zip(functional.of_weighted(&held)));
                all.extend(held);
            }
            all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            let resampling = Resampling::new(vec![0; trials], &[], run);
            let effective = Some((COUNT * trials) as f64);
            let number = resampling.of_held(functional, &all, &by_trial, effective, 1);
            let bounds = resampling.interval(&number.unwrap()).unwrap();
            bounds.low <= truth && truth <= bounds.high
        });
        covers.count() as f64 / RUNS as f64
    }

    #[test]
    fn intervals_have_the_truth_as_often_as_they_say() {
        let beyond = Functional::Share {
            beyond: Beyond::More,
            bound: 1.0,
        };
        for (functional, truth) in [
            (Functional::Quantile(0.5), 0.0),
            (Functional::Quantile(0.9), 1.281_55),
            (Functional::Iqr, 1.348_98),
            (Functional::Sd, 1.0),
            (beyond, 0.158_66),
        ] {
            for trials in [1, 4] {
                let found = coverage(functional, truth, trials);
                assert!(found > 0.88, "{functional:?} of {trials}: {found}");
            }
        }
    }

    #[test]
    fn too_little_has_no_interval() {
        let resampling = Resampling::new(vec![0], &[], 1);
        let held = [(1.0, 5.0), (2.0, 5.0)];
        let by_trial = BTreeMap::from([(0, 1.0)]);
        let of = |q, effective| {
            resampling.of_held(Functional::Quantile(q), &held, &by_trial, effective, 1)
        };
        assert!(of(0.5, Some(1000.0)).is_some());
        assert!(of(0.999, Some(1000.0)).is_none());
        assert!(of(0.5, Some(10.0)).is_none());
        assert!(of(0.5, None).is_none());
    }
}
