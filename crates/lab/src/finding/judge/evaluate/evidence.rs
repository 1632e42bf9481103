//! Every statistic and fit of a check with its interval, as `findings.json` has them.

use super::{Evaluation, finite, nothing};
use crate::finding::dimension::{Dimension, format_number};
use crate::finding::judge::plan::{Leaf, Term};
use crate::finding::judge::steps;
use crate::finding::measure::Measure;
use crate::finding::values::Values;
use crate::finding::verdict::{Ends, Evaluated};
use delaylab_stats::comparison::Bounds;
use std::rc::Rc;

impl Evaluation<'_> {
    /// Every statistic and fit, for `findings.json`.
    pub(in crate::finding::judge) fn evidence(&self) -> Vec<Evaluated> {
        let leaves = (0..self.plan.leaves.len()).map(|index| self.leaf_evidence(index));
        let fits = (0..self.plan.fits.len()).map(|index| self.fit_evidence(index));
        leaves.chain(fits).collect()
    }

    fn leaf_evidence(&self, index: usize) -> Evaluated {
        let leaf = &self.plan.leaves[index];
        let statistic = self.statistics[index].as_ref();
        let interval = self.leaf_interval(index);
        let mut evidence = evaluated(&leaf.text, leaf.dimension, leaf.point(), interval);
        clip(&mut evidence.ends, leaf.possible());
        evidence.no_interval = self.leaf_doubt(index, false).or(evidence.no_interval);
        evidence.count = self.count_of(index);
        let estimate = statistic.filter(|_| !leaf.functional.is_found());
        let effective = estimate.map(|statistic| statistic.effective);
        // 0: the streams are too short to tell.
        evidence.effective = effective.filter(|&effective| effective > 0.0);
        evidence.trials = self.trials(&[leaf]);
        let notes = leaf.note.iter().cloned();
        let notes = notes.chain(self.unseen(&Term::Leaf(index)));
        let notes: Vec<String> = notes.chain(unended(leaf.measure, &leaf.values)).collect();
        evidence.note = (!notes.is_empty()).then(|| notes.join("; "));
        evidence
    }

    /// Its interval, of which an end may be infinite, or why it has none.
    pub(super) fn leaf_interval(&self, index: usize) -> Result<Bounds, String> {
        match (self.leaf_doubt(index, false), &self.leaves[index]) {
            (Some(_), Some(number)) if self.is_open(index) => self.interval(number),
            (Some(doubt), _) => Err(doubt),
            (None, Some(number)) => self.interval(number),
            (None, None) => Err(nothing()),
        }
    }

    /// How many values a leaf is made of.
    pub(super) fn count_of(&self, index: usize) -> u64 {
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
        clip(&mut evidence.ends, self.possible(&Term::Fit(index)));
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
        evidence.trials = self.trials(&leaves);
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

    /// How many independent trials these are of.
    fn trials(&self, leaves: &[&Leaf]) -> usize {
        let values = leaves.iter().flat_map(|leaf| &leaf.values);
        let trials = values.map(|(trial, _)| trial);
        self.design.repeats_of(trials).len()
    }
}

/// To what is possible: intervals are widened for few blocks or repeats.
fn clip(Ends { low, high }: &mut Ends, (least, most): (f64, f64)) {
    *low = low.map(|low| low.max(least));
    *high = high.map(|high| high.min(most));
}

fn evaluated(
    text: &str,
    dimension: Dimension,
    value: Option<f64>,
    interval: Result<Bounds, String>,
) -> Evaluated {
    let (ends, no_interval) = match interval {
        Ok(bounds) => (Ends::finite(bounds.low, bounds.high), None),
        Err(reason) => (Ends::default(), Some(reason)),
    };
    let unbounded = no_interval.is_none() && (ends.low.is_none() || ends.high.is_none());
    let open = || "a more extreme one may come at any time; repeats would bound it".to_owned();
    Evaluated {
        statistic: text.to_owned(),
        value: value.and_then(finite),
        unit: dimension.to_string(),
        ends,
        no_interval: no_interval.or_else(|| unbounded.then(open)),
        count: 0,
        effective: None,
        trials: 0,
        note: None,
    }
}

/// That transfers are not in a statistic of completion times, because they had not ended: the longest of all may be among them.
fn unended(measure: Measure, values: &[(usize, Rc<Values>)]) -> Option<String> {
    if measure != Measure::Fct {
        return None;
    }
    let streams = values.iter().filter_map(|(_, values)| match &**values {
        Values::Packets(times) => Some(times),
        _ => None,
    });
    let times: Vec<f64> = streams.flatten().copied().collect();
    let unended = times.iter().filter(|time| time.is_nan()).count();
    (unended > 0).then(|| {
        format!(
            "{unended} of {} transfers had not ended when their trial did, and are not in it",
            times.len()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfers_that_had_not_ended_are_counted() {
        let values = [[1e6, f64::NAN], [2e6, 3e6]];
        let values = values.map(|times| (0_usize, Rc::new(Values::Packets(times.to_vec()))));
        let said = unended(Measure::Fct, &values);
        let why = "1 of 4 transfers had not ended when their trial did, and are not in it";
        assert_eq!(said.as_deref(), Some(why));
        assert_eq!(unended(Measure::Response, &values), None);
        assert_eq!(unended(Measure::Fct, &values[1..]), None);
    }
}
