//! Values and intervals of a comparison's statistics, resampled together so that correlations are kept.

mod doubt;
pub(super) mod ends;
mod evidence;
mod resample;
mod sure;

use super::measured::Measured;
use super::plan::{FitPlan, Leaf, Plan, Term};
use super::steps;
use crate::finding::check::Fit;
use crate::finding::data::TimeTaken;
use crate::finding::values::Values;
use delaylab_stats::comparison::{
    Bounds, ByTrial, Design, Part, Replicates, Resampling, Statistic,
};
use delaylab_stats::functional::Basis;
use delaylab_stats::steps::Detection;
use resample::counted;
use std::collections::BTreeMap;

/// A plan with its statistics and their resamples.
pub(super) struct Evaluation<'a> {
    plan: &'a Plan,
    /// One for each leaf; `None` if its values are not packets but histograms, held values or one number a trial.
    statistics: Vec<Option<Statistic<'a>>>,
    /// One for each leaf of which whole trials tell how much it varies, in the place of packets.
    by_trial: Vec<Option<ByTrial>>,
    design: Design,
    resampling: Resampling,
    leaves: Vec<Option<Replicates>>,
    /// For each leaf, whether all of its repeats are the same simulation.
    copies: Vec<bool>,
    /// For each leaf, whether it is of several trials, copies or not.
    is_repeated: Vec<bool>,
    /// One for each fit: the detected steps; `None` if the fit is not of steps.
    detections: Vec<Option<Detection>>,
    time_taken: Option<TimeTaken>,
    fits: Vec<Option<Replicates>>,
}

impl<'a> Evaluation<'a> {
    pub(super) fn new(plan: &'a Plan, measured: &Measured<'_>, seed: u64) -> Self {
        let design = measured.design();
        let statistics = plan.leaves.iter().map(|leaf| statistic(leaf, design));
        let statistics: Vec<_> = statistics.collect();
        let of_trials = |statistic: &Option<Statistic<'a>>| statistic.as_ref()?.by_trial(design);
        let by_trial: Vec<_> = statistics.iter().map(of_trials).collect();
        // Statistics that are judged by whole trials do not influence the block length of the others.
        let present = statistics.iter().zip(&by_trial);
        let present = present.filter(|(_, by_trial)| by_trial.is_none());
        let present: Vec<_> = present.filter_map(|(it, _)| it.clone()).collect();
        let resampling = Resampling::new(design.clone(), &present, seed);
        let copies = plan.leaves.iter();
        let copies: Vec<bool> = copies
            .map(|leaf| measured.are_copies(&leaf.streams))
            .collect();
        let is_repeated = plan.leaves.iter();
        let is_repeated = is_repeated.map(|leaf| measured.are_of_several_trials(&leaf.streams));
        let is_repeated = is_repeated.collect();
        let leaves = plan.leaves.iter().zip(&statistics).enumerate();
        let leaves: Vec<_> = leaves
            .map(|(index, (leaf, statistic))| {
                let salt = index as u64;
                let number = match (statistic, &by_trial[index]) {
                    // Where nothing is random, each trial has this number.
                    _ if copies[index] && is_number_of_trials(leaf) => {
                        leaf.point().map(|value| resampling.constant(value))
                    }
                    (Some(statistic), Some(by_trial)) => {
                        resampling.of_whole_trials(statistic, by_trial, salt)
                    }
                    (Some(statistic), None) if statistic.is_open() => {
                        resampling.replicates_on_one_side(statistic, salt)
                    }
                    (Some(statistic), None) => resampling.replicates(statistic, salt),
                    (None, _) => counted(leaf, &resampling, salt),
                };
                // What is computed from it would vary by what cannot be.
                number.map(|number| number.within(leaf.possible()))
            })
            .collect();
        let detect = |fit: &FitPlan| (fit.fit == Fit::Steps).then(|| detection(fit, plan, seed));
        let detections: Vec<_> = plan.fits.iter().map(detect).collect();
        let fits = plan.fits.iter().zip(&detections);
        let fits = fits.map(|(fit, detection)| match detection {
            Some(detection) => steps::replicates(detection, &resampling),
            None => of_fit(fit, &leaves),
        });
        Self {
            fits: fits.collect(),
            time_taken: measured.time_taken(),
            design: design.clone(),
            plan,
            statistics,
            by_trial,
            resampling,
            leaves,
            copies,
            is_repeated,
            detections,
        }
    }

    /// Are all repeats of all statistics the same simulation, so that more of them would tell nothing?
    pub(super) fn repeats_are_copies(&self) -> bool {
        !self.copies.is_empty() && self.copies.iter().all(|copied| *copied)
    }

    /// The detection, if the term is a fit of steps that found no steps.
    pub(super) fn without_steps(&self, term: &Term) -> Option<&Detection> {
        let Term::Fit(index) = term else {
            return None;
        };
        let detection = self.detections[*index].as_ref();
        detection.filter(|detection| steps::width(detection).is_none())
    }

    /// The value of a term and its resamples; an error, a clause, if one of its statistics has none.
    pub(super) fn replicates(&self, term: &Term) -> Result<Replicates, String> {
        self.doubt(term).map_or(Ok(()), Err)?;
        Ok(match term {
            Term::Constant(value) => self.resampling.constant(*value),
            Term::Leaf(index) => self.leaves[*index].clone().ok_or_else(nothing)?,
            Term::Fit(index) => self.fits[*index].clone().ok_or_else(nothing)?,
            Term::Negative(inner) => {
                let inner = self.replicates(inner)?;
                Replicates::combine(&[&inner], |x| -x[0])
            }
            Term::Binary(operator, a, b) => {
                let (a, b) = (self.replicates(a)?, self.replicates(b)?);
                Replicates::combine(&[&a, &b], |x| operator.apply(x[0], x[1]))
            }
        })
    }

    /// The value of a term from all data.
    pub(super) fn value(&self, term: &Term) -> f64 {
        let fits = self.fits.iter();
        let fits: Vec<f64> = fits
            .map(|fit| fit.as_ref().map_or(f64::NAN, |fit| fit.value))
            .collect();
        term.value(&self.plan.points(), &fits)
    }

    /// Where two numbers are open on the side on which their difference is, the reason is that of the first.
    pub(super) fn interval(&self, number: &Replicates) -> Result<Bounds, String> {
        self.resampling.interval(number).map_err(|reason| {
            let open = self.open_leaf().filter(|_| number.value.is_finite());
            open.map_or(reason, |(text, why)| {
                format!("{text} has no interval: {why}")
            })
        })
    }

    /// Is any statistic an extreme, which single packets do not bound?
    pub(super) fn has_extreme(&self) -> bool {
        let mut bases = self.plan.leaves.iter().map(|leaf| leaf.functional.basis());
        bases.any(|basis| matches!(basis, Basis::Smallest | Basis::Largest))
    }

    /// The smallest and the largest possible value of a term, infinite if unknown: a delay minus a constant c is at least −c,
    /// two shares differ by 1 at most.
    pub(super) fn possible(&self, term: &Term) -> (f64, f64) {
        ends::of_term(term, &|leaf| self.plan.leaves[leaf].possible(), &|fit| {
            self.ends_of_fit(fit)
        })
    }

    /// An R² is a share.
    fn ends_of_fit(&self, index: usize) -> (f64, f64) {
        match self.is_r2_fit(index) {
            true => (0.0, 1.0),
            false => ends::ANY,
        }
    }

    fn is_r2_fit(&self, index: usize) -> bool {
        self.plan.fits[index].fit == Fit::R2
    }

    /// Is the term the R² of a line?
    pub(super) fn is_r2(&self, term: &Term) -> bool {
        matches!(term, Term::Fit(index) if self.is_r2_fit(*index))
    }

    /// Is any statistic of a series over time?
    pub(super) fn has_series(&self) -> bool {
        self.plan.leaves.iter().any(|leaf| leaf.measure.is_series())
    }

    /// Number of values in all statistics together; of two statistics of the same packets those of one.
    pub(super) fn count(&self) -> u64 {
        let mut of_streams = BTreeMap::<&[usize], u64>::new();
        for (leaf, statistic) in self.plan.leaves.iter().zip(&self.statistics) {
            let count = statistic.as_ref().map_or(0, |statistic| statistic.count);
            let most = of_streams.entry(&leaf.streams).or_default();
            *most = count.max(*most);
        }
        of_streams.into_values().sum()
    }
}

fn nothing() -> String {
    "there are too few values".to_owned()
}

/// The statistic of a leaf; `None` if its values are not packets (see `Evaluation::statistics`).
fn statistic<'a>(leaf: &'a Leaf, design: &Design) -> Option<Statistic<'a>> {
    let parts = leaf.values.iter().map(|(trial, values)| match &**values {
        Values::Packets(values) => Some(Part {
            trial: *trial,
            values,
        }),
        _ => None,
    });
    let parts: Option<Vec<Part<'_>>> = parts.collect();
    Some(Statistic::of_design(leaf.functional, parts?, design))
}

/// Is it a maximum, or a statistic of one number of each trial, so that only repeats tell how much it varies?
fn is_number_of_trials(leaf: &Leaf) -> bool {
    leaf.functional.basis() == Basis::Largest || !leaf.numbers_of_trials().is_empty()
}

fn detection(fit: &FitPlan, plan: &Plan, seed: u64) -> Detection {
    let delay = |&leaf: &usize| plan.leaves[leaf].point().unwrap_or(f64::NAN);
    let delays: Vec<f64> = fit.leaves.iter().map(delay).collect();
    steps::detection(&fit.x, &delays, seed)
}

fn of_fit(fit: &FitPlan, leaves: &[Option<Replicates>]) -> Option<Replicates> {
    let points: Option<Vec<&Replicates>> = fit
        .leaves
        .iter()
        .map(|&leaf| leaves[leaf].as_ref())
        .collect();
    let fitted = Replicates::fitted(&points?, |y| fit.statistic(y));
    // Resampling adds noise to measured noise, which lowers R²: shift the resamples back, and cap them at 1.
    Some(match fit.fit {
        Fit::R2 => fitted.centred().at_most(1.0),
        _ => fitted,
    })
}

/// `None` for NaN and infinity, which JSON cannot express.
pub(super) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
