//! A share of values that are only counted, such as clock reads: so many of so many in each trial.
//!
//! Values are independent within a trial, or trials differ by more than that allows for: the larger of the two errors
//! counts. With none in n the share may still be 3/n. A number each trial is one value.

use super::{RESAMPLES, Replicates, Resampling};
use crate::interval::MIN_BEYOND;
use std::collections::BTreeMap;

impl Resampling {
    /// `by_trial`: by the index of the trial, the share and of how many values; `None` where there is no value.
    pub fn of_counted_share(
        &self,
        by_trial: &BTreeMap<usize, (f64, f64)>,
        salt: u64,
    ) -> Option<Replicates> {
        let count: f64 = by_trial.values().map(|(_, count)| count).sum();
        let yes: f64 = by_trial.values().map(|(share, count)| share * count).sum();
        if count == 0.0 {
            return None;
        }
        let share = yes / count;
        // What is not there in a repeat is there in none of its trials.
        let trials = by_trial.keys().copied().collect();
        let count = count / self.design.trials_a_repeat(&trials);
        let within = (share * (1.0 - share) / count).sqrt();
        let shares = by_trial.iter().map(|(trial, (share, _))| (*trial, *share));
        let shares = shares.collect();
        let between = self.error_of_trials(&shares);
        let between = between.filter(|(between, _)| *between > within);
        let moved = between.and_then(|_| self.moved_by_trials(&shares, salt));
        let is_of_trials = moved.is_some();
        let mut random = self.random(salt);
        let mut draws: Vec<f64> = match moved {
            Some(moved) => moved.into_iter().map(|by| share + by).collect(),
            None => (0..RESAMPLES)
                .map(|_| share + within * random.normal())
                .collect(),
        };
        if count < 2.0 * MIN_BEYOND {
            self.add_what_few_leave_open(count, salt ^ 0x5eed, &mut draws);
        } else {
            self.add_the_unseen(share, count, salt ^ 0x5eed, &mut draws);
        }
        Some(Replicates {
            resampled: draws,
            as_drawn: true,
            is_of_trials,
            ..self.constant(share)
        })
    }

    /// Of so few values the next may be like them or not: with none in n the share may be 3/n, with all it may be 1 − 3/n.
    fn add_what_few_leave_open(&self, count: f64, salt: u64, draws: &mut [f64]) {
        let mut random = self.random(salt);
        for draw in draws {
            let [up, down] = [(); 2].map(|()| -random.uniform().ln());
            *draw = (*draw + (up - down) / count).clamp(0.0, 1.0);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn bounds(by_trial: &[(f64, u64)]) -> (f64, f64) {
        let resampling = Resampling::new(vec![0; by_trial.len()], &[], 1);
        let each = by_trial
            .iter()
            .map(|(share, count)| (*share, *count as f64));
        let by_trial = (0..).zip(each).collect();
        let share = resampling.of_counted_share(&by_trial, 1).unwrap();
        let bounds = resampling.interval(&share).unwrap();
        (bounds.low, bounds.high)
    }

    #[test]
    fn none_of_many_may_still_be_three() {
        let (low, high) = bounds(&[(0.0, 10_000); 3]);
        assert!(low == 0.0 && (0.6e-4..2e-4).contains(&high), "{low} {high}");
    }

    #[test]
    fn few_leave_both_ends_open() {
        let (low, high) = bounds(&[(1.0, 1); 4]);
        assert!((0.15..0.35).contains(&low) && high == 1.0, "{low} {high}");
        let (low, high) = bounds(&[(0.0, 1); 4]);
        assert!(low == 0.0 && (0.65..0.85).contains(&high), "{low} {high}");
        assert_eq!(bounds(&[(1.0, 1); 1]), (0.0, 1.0));
        let (low, high) = bounds(&[(1.0, 1), (0.0, 1), (1.0, 1)]);
        assert!(low < 0.1 && high == 1.0, "{low} {high}");
    }

    #[test]
    fn trials_that_differ_say_so() {
        let alike = bounds(&[(0.1, 10_000); 4]);
        assert!(alike.0 > 0.095 && alike.1 < 0.105, "{alike:?}");
        let apart = bounds(&[(0.0, 10_000), (0.2, 10_000), (0.05, 10_000), (0.15, 10_000)]);
        assert!(apart.0 < 0.03 && apart.1 > 0.17, "{apart:?}");
    }
}
