//! Whole trials in the place of packets: where these depend on each other or are few, each trial is one value, and
//! trials that repeat each other tell how much it varies.
//!
//! They stand for packets that depend on each other, not for packets that are not there: a share of which no packet is
//! an example may be as large as the number of packets allows, and a far quantile beyond which hardly any lie is low in every
//! trial alike.

use super::{Design, RESAMPLES, Replicates, Resampling, Statistic, degrees};
use crate::functional::{Basis, Functional};
use crate::interval::MIN_BEYOND;
use crate::quantile::carries;
use crate::random::SplitMix;
use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::FRAC_PI_2;

/// Repeats beyond the first of each trial. Fewer say nothing of how far trials are apart.
const MIN_REPEATS: usize = 2;

/// A statistic in each trial.
#[derive(Debug, Clone, PartialEq)]
pub struct ByTrial {
    /// By the index of the trial, its value and how many independent values that is of.
    each: BTreeMap<usize, (f64, f64)>,
    /// Repeats beyond the first of each trial.
    pub repeats: usize,
}

impl ByTrial {
    /// In each trial.
    pub fn values(&self) -> impl Iterator<Item = f64> {
        self.each.values().map(|(value, _)| *value)
    }
}

impl Statistic<'_> {
    /// What it is in each trial of this design, where enough repeats tell how much it varies and its packets do not.
    pub fn by_trial(&self, design: &Design) -> Option<ByTrial> {
        self.doubt.as_ref()?;
        self.in_each_trial(design)
    }

    /// What it is in each trial of this design, where there are enough repeats, whatever its packets tell.
    pub fn in_each_trial(&self, design: &Design) -> Option<ByTrial> {
        self.value?;
        let trials = self.trials();
        // A value of each trial takes time, and is of no use where they are too few.
        if design.further_repeats(trials.iter()) < MIN_REPEATS {
            return None;
        }
        let tail = self.functional.tail().filter(|tail| *tail < 0.5);
        if tail.is_some_and(|tail| self.count as f64 * tail < MIN_BEYOND * (1.0 - 1e-9)) {
            return None;
        }
        let worth = match self.has_few() {
            true => 1.0,
            false => self.effective / self.count_of_repeats(),
        };
        let of = |trial: usize| {
            let (value, count) = self.of_trials(&BTreeSet::from([trial]))?;
            let is_carried = tail.is_none_or(|tail| carries(count as u64, 1.0 - tail));
            is_carried.then_some((trial, (value, (worth * count as f64).max(1.0))))
        };
        let each: BTreeMap<_, _> = trials.into_iter().filter_map(of).collect();
        let repeats = design.further_repeats(each.keys());
        (repeats >= MIN_REPEATS).then_some(ByTrial { each, repeats })
    }
}

/// How far the values of trials that repeat each other are apart.
pub(super) struct WithinStrata {
    /// Standard deviation about the mean of the stratum.
    pub(super) sd: f64,
    /// Repeats beyond the first of each trial.
    pub(super) repeats: usize,
    /// Degrees of freedom of the variance: fewer than `repeats` where some strata vary more than others.
    degrees: usize,
}

/// How far the mean of trials is moved by what chance did to each repeat.
struct Moves {
    /// By the repeat. The sum of their squares is the variance of the mean.
    by_repeat: Vec<(usize, f64)>,
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
            Basis::Share { .. } => {
                // Trials differ in length: their share is that of all values, which is not the mean of theirs.
                let share = self.of_counted_share(&by_trial.each, salt)?;
                let share = share.moved_to(value).within((0.0, 1.0));
                Some(match statistic.is_too_slow() {
                    true => share.of_trials_alone(),
                    false => share,
                })
            }
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
        let moved = self.moved_by_trials(by_trial, salt)?;
        Some(Replicates {
            resampled: moved.into_iter().map(|by| value + by).collect(),
            is_of_trials: true,
            ..self.constant(value)
        })
    }

    /// By how much the mean of trials moves in each draw.
    pub(super) fn moved_by_trials(
        &self,
        by_trial: &BTreeMap<usize, f64>,
        salt: u64,
    ) -> Option<Vec<f64>> {
        if self.design.has_shared_repeats() {
            return Some(self.moved_together(&self.moves(by_trial)?));
        }
        let (error, degrees) = self.error_of_trials(by_trial)?;
        let mut random = self.random(salt);
        let draw = |_| error * random.student(degrees);
        Some((0..RESAMPLES).map(draw).collect())
    }

    /// Student's t, made of a normal number of each repeat: whatever is of the same repeats moves together.
    fn moved_together(&self, moves: &Moves) -> Vec<f64> {
        /// What has nothing to do with the draws of blocks.
        const OF_REPEATS: u64 = 0x7265_7065_6174;
        let random =
            |of: u64| SplitMix::new(self.random(OF_REPEATS).next() ^ SplitMix::new(of).next());
        let mut moved = vec![0.0; RESAMPLES];
        for &(repeat, by) in &moves.by_repeat {
            let mut random = random(repeat as u64);
            moved
                .iter_mut()
                .for_each(|moved| *moved += by * random.normal());
        }
        // The same for all that is of these repeats.
        let first = moves.by_repeat.iter().map(|(repeat, _)| *repeat).min();
        let mut random = random(u64::MAX - first.unwrap_or(0) as u64);
        for moved in &mut moved {
            let squares: f64 = (0..moves.degrees).map(|_| random.normal().powi(2)).sum();
            *moved /= (squares / moves.degrees as f64).sqrt();
        }
        moved
    }

    /// What chance did to a repeat it did to all of its trials: their deviations, each from the mean of its stratum, add up.
    fn moves(&self, by_trial: &BTreeMap<usize, f64>) -> Option<Moves> {
        let degrees = self.design.further_repeats(by_trial.keys());
        if degrees < MIN_REPEATS {
            return None;
        }
        let mut by_repeat = BTreeMap::<usize, f64>::new();
        let strata = strata_of(by_trial.keys(), &self.design);
        for trials in strata.values() {
            let values = trials.iter().map(|trial| by_trial[trial]);
            let mean = values.sum::<f64>() / trials.len() as f64;
            for trial in trials {
                *by_repeat.entry(self.design.repeat(*trial)).or_default() += by_trial[trial] - mean;
            }
        }
        let repeats = by_repeat.len() as f64;
        let scale = (repeats / degrees as f64).sqrt() / by_trial.len() as f64;
        let each = by_repeat.into_iter();
        Some(Moves {
            by_repeat: each.map(|(repeat, by)| (repeat, scale * by)).collect(),
            degrees,
        })
    }

    /// The standard error of the mean of trials, and its degrees of freedom. Levels differ by design: only what repeats
    /// of the same differ by is chance.
    pub(super) fn error_of_trials(&self, by_trial: &BTreeMap<usize, f64>) -> Option<(f64, usize)> {
        if self.design.has_shared_repeats() {
            let moves = self.moves(by_trial)?;
            let squares = moves.by_repeat.iter().map(|(_, by)| by * by);
            return Some((squares.sum::<f64>().sqrt(), moves.degrees));
        }
        let within = self.within_strata(by_trial)?;
        Some((within.sd / (by_trial.len() as f64).sqrt(), within.degrees))
    }

    /// `None` where hardly any trial is repeated.
    pub(super) fn within_strata(&self, by_trial: &BTreeMap<usize, f64>) -> Option<WithinStrata> {
        let strata = strata_of(by_trial.keys(), &self.design).into_values();
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
        let further = self.design.further_repeats(by_trial.keys());
        (further >= MIN_REPEATS && repeats > 0.0).then(|| WithinStrata {
            sd: (sum / repeats).sqrt(),
            repeats: further,
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
    design: &Design,
) -> BTreeMap<usize, Vec<usize>> {
    let mut found = BTreeMap::<usize, Vec<usize>>::new();
    for &trial in trials {
        found.entry(design.stratum(trial)).or_default().push(trial);
    }
    found
}
