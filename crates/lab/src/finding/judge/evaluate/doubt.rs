//! Why a term has no interval, or only one end of it, and what would give it one.

use super::Evaluation;
use super::resample::has_interval_of_trials;
use crate::finding::check::Fit;
use crate::finding::dimension::format_number;
use crate::finding::judge::plan::{FitPlan, Leaf, Term};
use crate::finding::judge::steps;
use delaylab_stats::comparison::Statistic;
use delaylab_stats::functional::Basis;
use std::collections::BTreeSet;

/// The points of a fit need no interval each, but at least this many independent values in all.
const MIN_EFFECTIVE_OF_FIT: f64 = 24.0;

impl Evaluation<'_> {
    pub(super) fn doubt(&self, term: &Term) -> Option<String> {
        if let Some(detection) = self.without_steps(term) {
            return Some(format!("there are no steps: {}", steps::says(detection)));
        }
        let (text, reason) = match term {
            Term::Leaf(index) if self.is_open(*index) => return None,
            Term::Leaf(index) => {
                let reason = self.leaf_doubt(*index, false)?;
                let time = self.time_lacked(*index);
                (&self.plan.leaves[*index].text, format!("{reason}{time}"))
            }
            Term::Fit(index) => {
                let fit = &self.plan.fits[*index];
                (&fit.text, self.fit_doubt(fit)?)
            }
            _ => return None,
        };
        Some(format!("{text} has no interval: {reason}"))
    }

    /// Is it a far quantile of which one end alone is known?
    pub(super) fn is_open(&self, index: usize) -> bool {
        let statistic = self.statistics[index].as_ref();
        statistic.is_some_and(Statistic::is_open) && self.leaf_doubt(index, false).is_some()
    }

    /// Why one end of a far quantile is not known, if this is so of any.
    pub(in crate::finding::judge) fn open_end(&self) -> Option<String> {
        let (text, why) = self.open_leaf()?;
        Some(format!(
            "how far {text} may be beyond that is not known: {why}"
        ))
    }

    /// The first far quantile of which one end is not known, and why.
    pub(super) fn open_leaf(&self) -> Option<(&str, String)> {
        let index = (0..self.plan.leaves.len()).find(|&index| self.is_open(index))?;
        let doubt = self.leaf_doubt(index, false)?;
        let time = self.time_lacked(index);
        Some((&self.plan.leaves[index].text, format!("{doubt}{time}")))
    }

    /// The time to measure the packets that a statistic lacks, with the rest of the run, as ` (6 min)`; else empty.
    fn time_lacked(&self, index: usize) -> String {
        let lacks = self.statistics[index].as_ref().and_then(Statistic::lacks);
        let time = self.time_taken.zip(lacks);
        time.map_or_else(String::new, |(taken, times)| {
            format!(" ({})", taken.in_words(taken.ns * times))
        })
    }

    pub(super) fn leaf_doubt(&self, index: usize, in_fit: bool) -> Option<String> {
        let leaf = &self.plan.leaves[index];
        let doubt = self.statistic_doubt(index, in_fit)?;
        // With enough trials, each is an independent value, even if values within a trial are correlated.
        if self.by_trial[index].is_some() {
            return None;
        }
        let over_time = leaf.measure.is_series() && !leaf.measure.is_number_of_trial();
        Some(if over_time && leaf.held().is_none() {
            format!(
                "it hardly changes within a trial, or never comes back to the same: longer trials would tell{}",
                self.or_repeats(index)
            )
        } else if self.statistics[index]
            .as_ref()
            .is_some_and(Statistic::is_too_slow)
        {
            format!("{doubt}: longer trials may tell{}", self.or_repeats(index))
        } else {
            doubt
        })
    }

    fn statistic_doubt(&self, index: usize, in_fit: bool) -> Option<String> {
        match (&self.statistics[index], &self.leaves[index]) {
            (Some(statistic), _) if statistic.count == 0 => {
                Some(self.plan.leaves[index].measure.why_none().to_owned())
            }
            (Some(statistic), _) if in_fit => statistic.point_doubt(),
            (Some(statistic), _) => statistic.doubt.clone(),
            (None, None) if !has_interval_of_trials(&self.plan.leaves[index]) => Some(
                "a trial has one number of it, and such numbers have an interval of `mean`, `p50`, `min`, `max` and `share`"
                    .to_owned(),
            ),
            (None, None) if self.plan.leaves[index].measure.is_number_of_trial() => Some(
                "a trial has one number of it, so at least 3 trials under the same levels are needed to tell how much \
                 it varies"
                    .to_owned(),
            ),
            (None, None) if self.plan.leaves[index].measure.is_series() => Some(format!(
                "it changes too slowly, or what is asked for is too rare, to tell from a trial or two how much it varies: \
                 longer trials would tell{}",
                self.or_repeats(index)
            )),
            (None, None) => Some(
                "only how often each value came is known, not when, so at least 3 trials under the same levels are \
                 needed to tell how much it varies"
                    .to_owned(),
            ),
            (None, Some(_)) => None,
        }
    }

    /// That several trials would do, too; empty where each would be a copy of the first.
    fn or_repeats(&self, index: usize) -> &'static str {
        match self.copies[index] {
            true => {
                "; its repeats are the same simulation, which `pacing = { poisson = … }` would change"
            }
            false => ", or at least 3 of them",
        }
    }

    /// Of a share of which no value is an example, or every value: the rule of three in words.
    pub(in crate::finding::judge) fn unseen(&self, term: &Term) -> Option<String> {
        let Term::Leaf(index) = term else {
            return None;
        };
        let leaf = &self.plan.leaves[*index];
        let is_share = matches!(leaf.functional.basis(), Basis::Share { .. });
        let share = leaf.point().filter(|_| is_share && leaf.held().is_none())?;
        if (share != 0.0 && share != 1.0) || self.leaf_doubt(*index, false).is_some() {
            return None;
        }
        let bounds = self.interval(self.leaves[*index].as_ref()?).ok()?;
        let most = match share == 0.0 {
            true => bounds.high,
            false => 1.0 - bounds.low,
        };
        none_of(share == 0.0, self.count_of(*index), most, noun(leaf))
    }

    /// As how many independent packets the points of a fit say: those of the levels of one repeat say as much as those of one
    /// of them.
    fn effective_of(&self, fit: &FitPlan) -> f64 {
        let statistics = fit.leaves.iter();
        let statistics = statistics.filter_map(|&leaf| self.statistics[leaf].as_ref());
        let statistics: Vec<_> = statistics.collect();
        let trials: BTreeSet<usize> = statistics.iter().flat_map(|it| it.trials()).collect();
        let of_all: f64 = statistics.iter().map(|it| it.effective).sum();
        of_all / self.design.trials_a_repeat(&trials)
    }

    pub(super) fn fit_doubt(&self, fit: &FitPlan) -> Option<String> {
        let each = fit.leaves.iter();
        let doubts = each.filter_map(|&leaf| Some((leaf, self.leaf_doubt(leaf, true)?)));
        // The search for steps ignores sizes without an answer.
        let doubts = doubts.filter(|_| fit.fit != Fit::Steps);
        if let Some((leaf, doubt)) = doubts.into_iter().next() {
            return Some(format!("of {}, {doubt}", self.plan.leaves[leaf].text));
        }
        // If each point has an interval, from packets or from trials, the fit has one too.
        let each_is_known = fit
            .leaves
            .iter()
            .all(|&leaf| self.leaf_doubt(leaf, false).is_none());
        if each_is_known {
            return None;
        }
        let effective = self.effective_of(fit);
        (effective < MIN_EFFECTIVE_OF_FIT).then(|| {
            format!("all its points together say as much as {effective:.0} independent packets")
        })
    }
}

/// What the values of a share are.
fn noun(leaf: &Leaf) -> &'static str {
    match leaf.numbers_of_trials().is_empty() {
        false => "trials",
        true if leaf.measure.is_series() || leaf.counted().is_some() => "values",
        true => "packets",
    }
}

/// The rule of three: `none of 300 packets, so at 95 % fewer than 3 in 300 (1 %)`. `most`: how large the share may be.
/// `None` where it may be any, or is known.
fn none_of(is_none: bool, count: u64, most: f64, noun: &str) -> Option<String> {
    let worth = ((3.0 / most).round() as u64).min(count);
    if worth <= 3 || most <= 0.0 {
        return None;
    }
    let (seen, rest) = match is_none {
        true => ("none", ""),
        false => ("all", "all but "),
    };
    // Draws are at random: to a tenth it is the number of values.
    let (as_much, worth) = match (count - worth) * 10 > count {
        true => (format!(", which say as much as {worth}"), worth),
        false => (String::new(), count),
    };
    let share = format_number(300.0 / worth as f64);
    Some(format!(
        "{seen} of {count} {noun}{as_much}, so at 95 % {rest}fewer than 3 in {worth} ({share} %)"
    ))
}
