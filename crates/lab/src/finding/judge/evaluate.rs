//! Values and intervals of a comparison's statistics, resampled together so that correlations are kept.

use super::measured::Measured;
use super::plan::{FitPlan, Leaf, Plan, Term};
use super::steps;
use crate::finding::check::Fit;
use crate::finding::data::TimeTaken;
use crate::finding::dimension::{Dimension, format_number};
use crate::finding::measure::Measure;
use crate::finding::values::Values;
use crate::finding::verdict::Evaluated;
use delaylab_stats::comparison::{Bounds, Part, Replicates, Resampling, Statistic};
use delaylab_stats::functional::{Basis, Functional};
use delaylab_stats::steps::Detection;
use std::collections::BTreeMap;

/// Smallest number of trials from which to estimate how much trials differ.
const TRIALS: usize = 3;
/// The error of a median over that of a mean, of normal values: √(π/2).
const OF_A_MEDIAN: f64 = 1.253;
/// The points of a fit need no interval each, but at least this many independent values in all.
const MIN_EFFECTIVE_OF_FIT: f64 = 24.0;

/// A plan with its statistics and their resamples.
pub(super) struct Evaluation<'a> {
    plan: &'a Plan,
    /// One for each leaf; `None` if its values are not packets but histograms, held values or one number a trial.
    statistics: Vec<Option<Statistic<'a>>>,
    resampling: Resampling,
    leaves: Vec<Option<Replicates>>,
    /// For each leaf, whether all of its repeats are the same simulation.
    copies: Vec<bool>,
    /// One for each fit: the detected steps; `None` if the fit is not of steps.
    detections: Vec<Option<Detection>>,
    time_taken: Option<TimeTaken>,
    fits: Vec<Option<Replicates>>,
}

impl<'a> Evaluation<'a> {
    pub(super) fn new(plan: &'a Plan, measured: &Measured<'_>, seed: u64) -> Self {
        let statistics: Vec<_> = plan.leaves.iter().map(statistic).collect();
        // Statistics that are judged by whole trials do not influence the block length of the others.
        let in_blocks = |(leaf, statistic): (&Leaf, &Option<Statistic<'a>>)| {
            statistic.clone().filter(|it| !of_whole_trials(leaf, it))
        };
        let present = plan.leaves.iter().zip(&statistics).filter_map(in_blocks);
        let present: Vec<_> = present.collect();
        let resampling = Resampling::new(measured.strata(), &present, seed);
        let copies = plan.leaves.iter();
        let copies: Vec<bool> = copies
            .map(|leaf| measured.are_copies(&leaf.streams))
            .collect();
        let leaves = plan.leaves.iter().zip(&statistics).enumerate();
        let leaves: Vec<_> = leaves
            .map(|(index, (leaf, statistic))| {
                let salt = index as u64;
                match statistic {
                    // Where nothing is random, each trial has this number.
                    _ if copies[index] && is_number_of_trials(leaf) => {
                        leaf.point().map(|value| resampling.constant(value))
                    }
                    Some(statistic) if of_whole_trials(leaf, statistic) => {
                        by_trials(leaf, &resampling, salt)
                    }
                    Some(statistic) if statistic.is_open() => {
                        resampling.replicates_on_one_side(statistic, salt)
                    }
                    Some(statistic) => resampling.replicates(statistic, salt),
                    None => counted(leaf, &resampling, salt),
                }
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
            plan,
            statistics,
            resampling,
            leaves,
            copies,
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
                let binary = |x: &[f64]| {
                    let [a, b] = [Term::Constant(x[0]), Term::Constant(x[1])];
                    Term::Binary(*operator, Box::new(a), Box::new(b)).value(&[], &[])
                };
                Replicates::combine(&[&a, &b], binary)
            }
        })
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

    fn doubt(&self, term: &Term) -> Option<String> {
        if let Some(detection) = self.without_steps(term) {
            return Some(format!("there are no steps: {}", steps::says(detection)));
        }
        let reason = match term {
            Term::Leaf(index) if self.is_open(*index) => return None,
            Term::Leaf(index) => self.leaf_doubt(*index, false)?,
            Term::Fit(index) => self.fit_doubt(&self.plan.fits[*index])?,
            _ => return None,
        };
        let text = match term {
            Term::Leaf(index) => &self.plan.leaves[*index].text,
            Term::Fit(index) => &self.plan.fits[*index].text,
            _ => return None,
        };
        let time = match term {
            Term::Leaf(index) => self.time_lacked(*index),
            _ => String::new(),
        };
        Some(format!("{text} has no interval: {reason}{time}"))
    }

    /// Is it a far quantile of which one end alone is known?
    fn is_open(&self, index: usize) -> bool {
        let statistic = self.statistics[index].as_ref();
        statistic.is_some_and(Statistic::is_open) && self.leaf_doubt(index, false).is_some()
    }

    /// Why one end of a far quantile is not known, if this is so of any.
    pub(super) fn open_end(&self) -> Option<String> {
        let (text, why) = self.open_leaf()?;
        Some(format!(
            "how far {text} may be beyond that is not known: {why}"
        ))
    }

    /// The first far quantile of which one end is not known, and why.
    fn open_leaf(&self) -> Option<(&str, String)> {
        let index = (0..self.plan.leaves.len()).find(|&index| self.is_open(index))?;
        let doubt = self.leaf_doubt(index, false)?;
        let time = self.time_lacked(index);
        Some((&self.plan.leaves[index].text, format!("{doubt}{time}")))
    }

    /// Is any statistic an extreme, which single packets do not bound?
    pub(super) fn has_extreme(&self) -> bool {
        let mut bases = self.plan.leaves.iter().map(|leaf| leaf.functional.basis());
        bases.any(|basis| matches!(basis, Basis::Smallest | Basis::Largest))
    }

    /// The time to measure the packets that a statistic lacks, with the rest of the run, as ` (6 min)`; else empty.
    fn time_lacked(&self, index: usize) -> String {
        let lacks = self.statistics[index].as_ref().and_then(Statistic::lacks);
        let time = self.time_taken.zip(lacks);
        time.map_or_else(String::new, |(taken, times)| {
            format!(" ({})", taken.in_words(taken.ns * times))
        })
    }

    fn leaf_doubt(&self, index: usize, in_fit: bool) -> Option<String> {
        let leaf = &self.plan.leaves[index];
        let doubt = self.statistic_doubt(index, in_fit)?;
        // With enough trials, each is an independent value, even if values within a trial are correlated.
        if by_trial(leaf).len() >= TRIALS {
            return None;
        }
        let over_time = leaf.measure.is_series() && !leaf.measure.is_number_of_trial();
        Some(if over_time && leaf.held().is_none() {
            format!(
                "it hardly changes within a trial, or never comes back to the same: longer trials would tell{}",
                self.or_repeats(index)
            )
        } else {
            doubt
        })
    }

    fn statistic_doubt(&self, index: usize, in_fit: bool) -> Option<String> {
        match (&self.statistics[index], &self.leaves[index]) {
            (Some(statistic), _) if statistic.count == 0 => Some(
                match self.plan.leaves[index].measure {
                    Measure::PeriodicCause => "none of these packets was far later than the others",
                    _ => "none of these packets was answered",
                }
                .to_owned(),
            ),
            (Some(statistic), _) if in_fit => statistic.point_doubt(),
            (Some(statistic), _) => statistic.doubt.clone(),
            (None, None) if !has_interval_of_trials(&self.plan.leaves[index]) => Some(
                "a trial has one number of it, and such numbers have an interval of `mean`, `p50`, `min`, `max` and `share`"
                    .to_owned(),
            ),
            (None, None) if self.plan.leaves[index].measure.is_number_of_trial() => Some(
                "a trial has one number of it, so at least 3 trials are needed to tell how much it \
                 varies"
                    .to_owned(),
            ),
            (None, None) if self.plan.leaves[index].measure.is_series() => Some(format!(
                "it changes too slowly, or what is asked for is too rare, to tell from a trial or two how much it varies: \
                 longer trials would tell{}",
                self.or_repeats(index)
            )),
            (None, None) => Some(
                "only how often each value came is known, not when, so at least 3 trials are \
                 needed to tell how much it varies"
                    .to_owned(),
            ),
            (None, Some(_)) => None,
        }
    }

    /// That several trials would do, too; empty where each would be a copy of the first.
    fn or_repeats(&self, index: usize) -> &'static str {
        match self.copies[index] {
            true => "; its repeats are the same simulation",
            false => ", or at least 3 of them",
        }
    }

    /// Of a share of which no value is an example, or every value: the rule of three in words.
    pub(super) fn unseen(&self, term: &Term) -> Option<String> {
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

    fn fit_doubt(&self, fit: &FitPlan) -> Option<String> {
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
        let statistics = fit
            .leaves
            .iter()
            .filter_map(|&leaf| self.statistics[leaf].as_ref());
        let effective: f64 = statistics.map(|statistic| statistic.effective).sum();
        (effective < MIN_EFFECTIVE_OF_FIT).then(|| {
            format!("all its points together say as much as {effective:.0} independent packets")
        })
    }

    /// The smallest possible value of a term; −∞ if unknown.
    pub(super) fn least(&self, term: &Term) -> f64 {
        match term {
            Term::Leaf(index) => self.plan.leaves[*index].least(),
            Term::Constant(value) => *value,
            _ => f64::NEG_INFINITY,
        }
    }

    /// The largest possible value of a term; ∞ if unknown.
    pub(super) fn most(&self, term: &Term) -> f64 {
        match term {
            Term::Leaf(index) => self.plan.leaves[*index].most(),
            Term::Constant(value) => *value,
            _ => f64::INFINITY,
        }
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

    /// Every statistic and fit, for `findings.json`.
    pub(super) fn evidence(&self) -> Vec<Evaluated> {
        let leaves = (0..self.plan.leaves.len()).map(|index| self.leaf_evidence(index));
        let fits = (0..self.plan.fits.len()).map(|index| self.fit_evidence(index));
        leaves.chain(fits).collect()
    }

    fn leaf_evidence(&self, index: usize) -> Evaluated {
        let leaf = &self.plan.leaves[index];
        let statistic = self.statistics[index].as_ref();
        let doubt = self.leaf_doubt(index, false);
        let interval = match (doubt.clone(), &self.leaves[index]) {
            (Some(_), Some(number)) if self.is_open(index) => self.interval(number),
            (Some(doubt), _) => Err(doubt),
            (None, Some(number)) => self.interval(number),
            (None, None) => Err(nothing()),
        };
        let mut evidence = evaluated(&leaf.text, leaf.dimension, leaf.point(), interval);
        // Intervals are widened for few blocks or repeats: clip them to the possible range.
        evidence.low = evidence.low.map(|low| low.max(leaf.least()));
        evidence.high = evidence.high.map(|high| high.min(leaf.most()));
        evidence.no_interval = doubt.or(evidence.no_interval);
        evidence.count = self.count_of(index);
        let estimate = statistic.filter(|_| !leaf.functional.is_found());
        let effective = estimate.map(|statistic| statistic.effective);
        // 0: the streams are too short to tell.
        evidence.effective = effective.filter(|&effective| effective > 0.0);
        evidence.trials = trials(&[leaf]);
        let notes = leaf.note.iter().cloned();
        let notes: Vec<String> = notes.chain(self.unseen(&Term::Leaf(index))).collect();
        evidence.note = (!notes.is_empty()).then(|| notes.join("; "));
        evidence
    }

    /// How many values a leaf is made of.
    fn count_of(&self, index: usize) -> u64 {
        let leaf = &self.plan.leaves[index];
        match (&self.statistics[index], leaf.counted()) {
            _ if leaf.held().is_some() => leaf.values.len() as u64,
            (Some(statistic), _) => statistic.count,
            (None, Some(bins)) => bins.iter().map(|bin| bin.1).sum(),
            (None, None) => leaf.numbers_of_trials().len() as u64,
        }
    }

    fn fit_evidence(&self, index: usize) -> Evaluated {
        let fit = &self.plan.fits[index];
        let value = self.fits[index].as_ref().map(|number| number.value);
        let detection = self.detections[index].as_ref();
        let interval = match (self.fit_doubt(fit), &self.fits[index]) {
            (_, None) if detection.is_some() => Err("there is no width".to_owned()),
            (Some(doubt), _) => Err(doubt),
            (None, Some(number)) => self.interval(number),
            (None, None) => Err(nothing()),
        };
        let mut evidence = evaluated(&fit.text, fit.dimension, value, interval);
        let leaves: Vec<&Leaf> = fit
            .leaves
            .iter()
            .map(|&leaf| &self.plan.leaves[leaf])
            .collect();
        let statistics = fit
            .leaves
            .iter()
            .filter_map(|&leaf| self.statistics[leaf].as_ref());
        evidence.count = statistics.map(|statistic| statistic.count).sum();
        evidence.trials = trials(&leaves);
        if let Some(detection) = detection {
            evidence.note = Some(steps::says(detection));
            return evidence;
        }
        let points = fit.x.iter().zip(&leaves);
        let points: Vec<String> = points
            .map(|(x, leaf)| {
                let y = leaf
                    .point()
                    .map_or("nothing".to_owned(), |y| leaf.dimension.format(y));
                format!("{} → {y}", format_number(*x))
            })
            .collect();
        evidence.note = Some(format!("through {}", points.join(", ")));
        evidence
    }
}

fn nothing() -> String {
    "there are too few values".to_owned()
}

/// The statistic of a leaf; `None` if its values are not packets (see `Evaluation::statistics`).
fn statistic(leaf: &Leaf) -> Option<Statistic<'_>> {
    let parts = leaf.values.iter().map(|(trial, values)| match &**values {
        Values::Packets(values) => Some(Part {
            trial: *trial,
            values,
        }),
        _ => None,
    });
    let parts: Option<Vec<Part<'_>>> = parts.collect();
    Some(Statistic::new(leaf.functional, parts?))
}

/// Are values within a trial too correlated for an interval, while there are enough trials to compute one from?
fn of_whole_trials(leaf: &Leaf, statistic: &Statistic<'_>) -> bool {
    statistic.doubt.is_some() && leaf.point().is_some() && by_trial(leaf).len() >= TRIALS
}

/// Is it a maximum, or a statistic of one number of each trial, so that only repeats tell how much it varies?
fn is_number_of_trials(leaf: &Leaf) -> bool {
    leaf.functional.basis() == Basis::Largest || !leaf.numbers_of_trials().is_empty()
}

/// Does the spread of the trials' numbers say how much this statistic of them varies? Not of what is far from their middle, or
/// of their spread itself. True of all else.
fn has_interval_of_trials(leaf: &Leaf) -> bool {
    let is_known = match leaf.functional.basis() {
        Basis::Quantiles(quantiles) => quantiles == [0.5],
        Basis::Deviations | Basis::Trials => false,
        _ => true,
    };
    is_known || leaf.numbers_of_trials().is_empty()
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

/// Resamples from the values of whole trials.
fn by_trials(leaf: &Leaf, resampling: &Resampling, salt: u64) -> Option<Replicates> {
    resampling.of_trials(leaf.point()?, &by_trial(leaf), salt)
}

/// The functional in each trial, from trials that have enough values.
fn by_trial(leaf: &Leaf) -> Vec<f64> {
    let mut values = BTreeMap::<usize, Vec<f64>>::new();
    for (trial, stretches) in &leaf.values {
        if let Values::Packets(stretches) = &**stretches {
            let there = stretches.iter().copied().filter(|x| !x.is_nan());
            values.entry(*trial).or_default().extend(there);
        }
    }
    let each = values.into_values();
    let each = each.filter_map(|mut values| leaf.functional.value(&mut values));
    each.collect()
}

/// Resamples of a leaf whose values are not packets. A count is exact, the largest value of a histogram is a lower bound, and
/// the spread of any other functional comes from whole trials.
fn counted(leaf: &Leaf, resampling: &Resampling, salt: u64) -> Option<Replicates> {
    if let Some(held) = leaf.held() {
        return of_held(leaf, &held, resampling, salt);
    }
    let value = leaf.point()?;
    if !has_interval_of_trials(leaf) {
        return None;
    }
    let largest = largest_of_trials(leaf, 1.0);
    match leaf.functional.basis() {
        Basis::Count => Some(resampling.constant(value)),
        Basis::Largest if largest.is_empty() => Some(resampling.at_least(value)),
        Basis::Largest => Some(resampling.of_maxima(value, &largest, salt)),
        Basis::Smallest if !largest.is_empty() => {
            let turned = largest_of_trials(leaf, -1.0);
            let turned = resampling.of_maxima(-value, &turned, salt);
            Some(Replicates::combine(&[&turned], |x| -x[0]))
        }
        Basis::Quantiles(_) if !largest.is_empty() => {
            let numbers = numbers_by_trial(leaf).into_iter();
            let numbers: Vec<f64> = numbers.map(|number| OF_A_MEDIAN * number).collect();
            resampling.of_trials(value, &numbers, salt)
        }
        Basis::Share { .. } => resampling.of_counted_share(&shares_of_trials(leaf), salt),
        // Whole trials tell of any statistic how much it varies.
        _ => resampling.of_trials(value, &numbers_by_trial(leaf), salt),
    }
}

/// The largest number of each trial, by its index, of those times `sign`; empty for other measures.
fn largest_of_trials(leaf: &Leaf, sign: f64) -> BTreeMap<usize, f64> {
    let mut largest = BTreeMap::new();
    for (trial, values) in &leaf.values {
        if let Values::Trial(number) = **values {
            let most = largest.entry(*trial).or_insert(sign * number);
            *most = most.max(sign * number);
        }
    }
    largest
}

/// One number for each trial; the mean if a trial has numbers of several ports.
fn numbers_by_trial(leaf: &Leaf) -> Vec<f64> {
    let mut numbers = BTreeMap::<usize, Vec<f64>>::new();
    for (trial, values) in &leaf.values {
        let number = match &**values {
            Values::Counted(bins) => leaf.functional.of_counted(bins),
            Values::Trial(number) => Some(*number),
            _ => None,
        };
        numbers.entry(*trial).or_default().extend(number);
    }
    let each = numbers.into_values();
    each.filter_map(|mut numbers| Functional::Mean.value(&mut numbers))
        .collect()
}

/// For a histogram or one number a trial: the share in each trial, and the number of its values.
fn shares_of_trials(leaf: &Leaf) -> Vec<(f64, u64)> {
    let shares = leaf
        .values
        .iter()
        .filter_map(|(_, values)| match &**values {
            Values::Counted(bins) => {
                let count = bins.iter().map(|(_, count)| *count).sum();
                Some((leaf.functional.of_counted(bins)?, count))
            }
            Values::Trial(number) => Some((leaf.functional.value(&mut [*number])?, 1)),
            _ => None,
        });
    shares.collect()
}

/// Resamples of a functional of a series, weighted by how long it had each value.
fn of_held(
    leaf: &Leaf,
    held: &[(f64, f64)],
    resampling: &Resampling,
    salt: u64,
) -> Option<Replicates> {
    let mut by_trial = BTreeMap::<usize, Vec<(f64, f64)>>::new();
    let mut parts = Vec::new();
    for (trial, values) in &leaf.values {
        if let Values::Held { values, means } = &**values {
            by_trial.entry(*trial).or_default().extend(values);
            parts.push(Part {
                trial: *trial,
                values: means,
            });
        }
    }
    let each = by_trial.into_values().filter_map(|mut held| {
        held.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        leaf.functional.of_weighted(&held)
    });
    let each: Vec<f64> = each.collect();
    let means = Statistic::new(Functional::Mean, parts);
    let effective = means.doubt.is_none().then_some(means.effective);
    resampling.of_held(leaf.functional, held, &each, effective, salt)
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
    let fitted = Replicates::combine(&points?, |y| fit.statistic(y));
    // Resampling adds noise to measured noise, which lowers R²: shift the resamples back, and cap them at 1.
    Some(match fit.fit {
        Fit::R2 => fitted.centred().at_most(1.0),
        _ => fitted,
    })
}

fn trials(leaves: &[&Leaf]) -> usize {
    let all = leaves
        .iter()
        .flat_map(|leaf| leaf.values.iter().map(|(trial, _)| *trial));
    all.collect::<std::collections::BTreeSet<_>>().len()
}

fn evaluated(
    text: &str,
    dimension: Dimension,
    value: Option<f64>,
    interval: Result<Bounds, String>,
) -> Evaluated {
    let (low, high, no_interval) = match interval {
        Ok(bounds) => (finite(bounds.low), finite(bounds.high), None),
        Err(reason) => (None, None, Some(reason)),
    };
    let unbounded = no_interval.is_none() && (low.is_none() || high.is_none());
    let open = || "a more extreme one may come at any time; repeats would bound it".to_owned();
    Evaluated {
        statistic: text.to_owned(),
        value: value.and_then(finite),
        unit: dimension.to_string(),
        low,
        high,
        no_interval: no_interval.or_else(|| unbounded.then(open)),
        count: 0,
        effective: None,
        trials: 0,
        note: None,
    }
}

/// `None` for NaN and infinity, which JSON cannot express.
pub(super) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
