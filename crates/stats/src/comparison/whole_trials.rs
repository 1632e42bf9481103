//! Whole trials in the place of packets: where these depend on each other or are few, each trial is one value, and
//! trials that repeat each other tell how much it varies.
//!
//! They stand for packets that depend on each other, not for packets that are not there: a share of which no packet is
//! an example may be as large as the number of packets allows, and a far quantile beyond which hardly any lie is low in every
//! trial alike.

use super::{RESAMPLES, Replicates, Resampling, Statistic, degrees};
use crate::functional::{Basis, Functional};
use crate::interval::MIN_BEYOND;
use crate::quantile::carries;
use std::collections::BTreeMap;
use std::f64::consts::FRAC_PI_2;

/// Trials beyond the first of their stratum. Fewer say nothing of how far trials are apart.
const MIN_REPEATS: usize = 2;

/// A statistic in each trial.
#[derive(Debug, Clone, PartialEq)]
pub struct ByTrial {
    /// By the index of the trial, its value and how many independent values that is of.
    each: BTreeMap<usize, (f64, f64)>,
    /// Trials beyond the first of their stratum.
    pub repeats: usize,
}

impl Statistic<'_> {
    /// What it is in each trial, where enough trials tell how much it varies and its packets do not. Those with equal
    /// `strata` repeat each other.
    pub fn by_trial(&self, strata: &[usize]) -> Option<ByTrial> {
        self.doubt.as_ref()?;
        self.value?;
        let tail = self.functional.tail().filter(|tail| *tail < 0.5);
        if tail.is_some_and(|tail| self.count as f64 * tail < MIN_BEYOND * (1.0 - 1e-9)) {
            return None;
        }
        let worth = match self.has_few() {
            true => 1.0,
            false => self.effective / self.count as f64,
        };
        let of = |trial: usize| {
            let (value, count) = self.of_trial(trial)?;
            let is_carried = tail.is_none_or(|tail| carries(count as u64, 1.0 - tail));
            is_carried.then_some((trial, (value, (worth * count as f64).max(1.0))))
        };
        let each: BTreeMap<_, _> = self.trials().into_iter().filter_map(of).collect();
        let repeats = each.len() - strata_of(each.keys(), strata).len();
        (repeats >= MIN_REPEATS).then_some(ByTrial { each, repeats })
    }
}

/// How far the values of trials that repeat each other are apart.
pub(super) struct WithinStrata {
    /// Standard deviation about the mean of the stratum.
    pub(super) sd: f64,
    /// Trials beyond the first of their stratum.
    pub(super) repeats: usize,
    /// Degrees of freedom of the variance: fewer than `repeats` where some strata vary more than others.
    degrees: usize,
}

impl Resampling {
    /// A statistic of which whole trials tell how much it varies.
    pub fn of_whole_trials(
        &self,
        statistic: &Statistic<'_>,
        by_trial: &ByTrial,
        salt: u64,
    ) -> Option<Replicates> {
        let value = statistic.value?;
        let values = || {
            by_trial
                .each
                .iter()
                .map(|(trial, (value, _))| (*trial, *value))
        };
        match statistic.functional.basis() {
            Basis::Share { .. } => self.of_counted_share(&by_trial.each, salt),
            // Where trials are alike, the quantile of all varies by more than the mean of those of few values each.
            Basis::Quantiles(_) => {
                let count = statistic.count as f64 / by_trial.each.len() as f64;
                let wider = (1.0 + (FRAC_PI_2 - 1.0) / count).sqrt();
                let values = values().map(|(trial, value)| (trial, wider * value));
                self.of_trials(value, &values.collect(), salt)
            }
            _ => self.of_trials(value, &values().collect(), salt),
        }
    }

    /// A number whose values come in trials as wholes: `by_trial` are its values in each, by the index of the trial.
    /// Moves as Student's t of their standard error; `None` where hardly any trial is repeated.
    pub fn of_trials(
        &self,
        value: f64,
        by_trial: &BTreeMap<usize, f64>,
        salt: u64,
    ) -> Option<Replicates> {
        let (error, degrees) = self.error_of_trials(by_trial)?;
        let mut random = self.random(salt);
        let draw = |_| value + error * random.student(degrees);
        Some(Replicates {
            resampled: (0..RESAMPLES).map(draw).collect(),
            is_of_trials: true,
            ..self.constant(value)
        })
    }

    /// The standard error of the mean of trials, and its degrees of freedom. Levels differ by design: only what repeats
    /// of the same differ by is chance.
    pub(super) fn error_of_trials(&self, by_trial: &BTreeMap<usize, f64>) -> Option<(f64, usize)> {
        let within = self.within_strata(by_trial)?;
        Some((within.sd / (by_trial.len() as f64).sqrt(), within.degrees))
    }

    /// `None` where hardly any trial is repeated.
    pub(super) fn within_strata(&self, by_trial: &BTreeMap<usize, f64>) -> Option<WithinStrata> {
        let strata = strata_of(by_trial.keys(), &self.strata).into_values();
        // The sum of squares of each, and its degrees of freedom.
        let squares = strata.filter_map(|trials| {
            let mut values: Vec<f64> = trials.iter().map(|trial| by_trial[trial]).collect();
            let sd = Functional::Sd.value(&mut values)?;
            let free = (values.len() - 1) as f64;
            Some((sd * sd * free, free))
        });
        let squares: Vec<(f64, f64)> = squares.collect();
        let repeats: f64 = squares.iter().map(|(_, free)| free).sum();
        let sum: f64 = squares.iter().map(|(square, _)| square).sum();
        // Welch's (1947), in which variances of few degrees of freedom each do not seem to differ by as much as they do.
        let each = squares
            .iter()
            .map(|(square, free)| square * square / (free + 2.0));
        let degrees = sum * sum / each.sum::<f64>() - 2.0;
        (repeats as usize >= MIN_REPEATS).then(|| WithinStrata {
            sd: (sum / repeats).sqrt(),
            repeats: repeats as usize,
            degrees: match sum > 0.0 {
                true => degrees::whole(degrees.min(repeats)) as usize,
                false => repeats as usize,
            },
        })
    }
}

/// These trials, those together that repeat each other.
fn strata_of<'a>(
    trials: impl Iterator<Item = &'a usize>,
    strata: &[usize],
) -> BTreeMap<usize, Vec<usize>> {
    let mut found = BTreeMap::<usize, Vec<usize>>::new();
    for &trial in trials {
        found.entry(strata[trial]).or_default().push(trial);
    }
    found
}
