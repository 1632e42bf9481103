//! All pairs of a comparison together, in JSON.

use super::pair::figure_of;
use crate::json::{ByFigure, Interval, Measured, Reasons, with_reasons};
use delaylab_explain::compare::whole::{Averaged, MeanShift};
use delaylab_explain::compare::{Quantity, Whole};
use delaylab_lab::finding::Measure;
use schemars::JsonSchema;
use serde::Serialize;

/// All pairs together; each weighs the same.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Together<'a> {
    /// How many pairs.
    pub pairs: usize,
    /// How many of them differ.
    pub differ: usize,
    /// How many are undecided.
    pub undecided: usize,
    /// In how many pairs one side alone is never answered.
    pub never_answered: NeverAnswered,
    /// How far figures of the headline moved, on average over the pairs.
    pub shift: ByFigure<MeanMoved>,
    /// The answer, in a sentence.
    pub sentence: &'a str,
}

/// In how many pairs a side is never answered, where the other one is.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct NeverAnswered {
    /// In how many A is never answered, and B is.
    pub a: usize,
    /// In how many B is never answered, and A is.
    pub b: usize,
}

/// How far a figure moved on average, in the unit of its name; null unless every pair has an interval of it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct MeanMoved {
    /// Mean of B − A.
    pub difference: Measured<f64>,
    /// The interval of `difference`.
    pub interval: Measured<Interval>,
    /// Geometric mean of B/A, less 1.
    pub relative: Measured<f64>,
    /// The interval of `relative`.
    pub relative_interval: Measured<Interval>,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

impl<'a> Together<'a> {
    pub(super) fn new(whole: &'a Whole, headline: Measure) -> Self {
        let headline = Quantity::Measure(headline);
        let shifts = whole.shifts.iter();
        let shifts = shifts.map(|shift| {
            let figure = figure_of(shift.statistic, headline.dimension());
            (figure, MeanMoved::new(shift))
        });
        Self {
            pairs: whole.pairs,
            differ: whole.differ,
            undecided: whole.undecided,
            never_answered: NeverAnswered {
                a: whole.never_answered_a,
                b: whole.never_answered_b,
            },
            shift: [(headline.key(), shifts.collect())].into(),
            sentence: &whole.text,
        }
    }
}

impl MeanMoved {
    fn new(shift: &MeanShift) -> Self {
        let unknown = || "not every pair has an interval of it".to_owned();
        let value = |averaged: Option<Averaged>| Measured::or(averaged.map(|it| it.value), unknown);
        let interval =
            |averaged: Option<Averaged>| Measured::or(averaged.map(|it| it.interval), unknown);
        with_reasons!(Self {
            difference: value(shift.difference),
            interval: interval(shift.difference),
            relative: value(shift.relative),
            relative_interval: interval(shift.relative),
        })
    }
}
