//! A comparison as one JSON document, and its JSON Schema.
//!
//! Values of delays are nanoseconds, of shares 0 to 1: `unit` says which. What is not known is null, and
//! `reason` says why.

mod pair;

pub use pair::{Anatomy, Apart, AtQuantile, Compares, Missing, Moved, Packets, Pair, Stage, Tests};

use super::{Compared, Side};
use crate::json::{Interval, Published};
use delaylab_explain::compare::Whole;
use delaylab_explain::compare::circumstances::Difference;
use delaylab_explain::compare::limits::LimitResult;
use delaylab_explain::compare::statistic_name;
use delaylab_explain::compare::whole::{Estimate, MeanShift};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// What `delaylab compare --json` prints.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Document<'a> {
    /// The command line as typed.
    pub supplied: &'a [String],
    /// The first run.
    pub a: Run<'a>,
    /// The second run.
    pub b: Run<'a>,
    /// What else differs.
    pub differences: &'a [Difference],
    /// What the verdicts are about: the name of a measure.
    pub headline: &'static str,
    /// For so many figures the verdicts allow: each is told to differ as if so many had to be right at once.
    pub looks: usize,
    /// What came out, in sentences.
    pub verdict: String,
    /// What is not compared, or not as a reader may expect, in sentences.
    pub notes: Vec<String>,
    /// Conditions that were asked for, each once for each combination of levels of its `for each`.
    pub conditions: Vec<Condition<'a>>,
    /// Has one of them failed, so that the command ends with code 1?
    pub failed: bool,
    /// All pairs together; null for a single one.
    pub whole: Option<Together<'a>>,
    /// Each probe under each combination of levels that both have.
    pub pairs: Vec<Pair<'a>>,
}

impl Published for Document<'_> {
    const SCHEMA: &'static str = "delaylab/compare/2";
    const TITLE: &'static str = "delaylab compare";
}

/// One of the runs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Run<'a> {
    #[serde(flatten)]
    side: &'a Side,
    /// Probes under combinations of levels that it alone has.
    alone: &'a [String],
    /// Factors that it alone has: their levels are pooled.
    pooled: &'a [String],
}

/// A condition and what came of it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Condition<'a> {
    /// What must not be.
    pub condition: &'a str,
    /// The levels that its `for each` fixed.
    pub factors: BTreeMap<&'a str, &'a str>,
    /// `failed`, `held` (passed), `cannot_tell` (undecided).
    pub outcome: String,
    /// Of `a` and `b`: `ns`, `1` for a share or a plain number.
    pub unit: &'a str,
    /// The statistic in A; null where there are too few values, or A does not matter.
    pub a: Option<f64>,
    /// The statistic in B.
    pub b: Option<f64>,
    /// What was held against the bound: B's own value, B − A, or (B − A)/A.
    pub value: Option<f64>,
    /// The interval of that; null where there is none.
    pub interval: Option<Interval>,
    /// The bound.
    pub bound: f64,
    /// In a sentence.
    pub reason: &'a str,
}

/// All pairs together; each weighs the same.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Together<'a> {
    /// How many pairs.
    pub pairs: usize,
    /// How many of them differ.
    pub differ: usize,
    /// How many are undecided.
    pub cannot_tell: usize,
    /// In how many packets of A alone were ever answered.
    pub never_answered_b: usize,
    /// In how many packets of B alone were ever answered.
    pub never_answered_a: usize,
    /// Of the headline.
    pub shifts: Vec<Average>,
    /// In a sentence.
    pub verdict: &'a str,
}

/// The shift of a statistic over pairs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Average {
    /// `mean`, `p5`, `p50`, `p90`, `p99`, `p99.9`.
    pub statistic: String,
    /// Mean of B − A, in the headline's unit; null unless every pair has an interval of it.
    pub difference: Option<Averaged>,
    /// Geometric mean of B/A, less 1.
    pub relative: Option<Averaged>,
}

/// An average over pairs.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Averaged {
    /// The value.
    pub value: f64,
    /// Its interval.
    pub interval: Interval,
    /// Over so many pairs.
    pub pairs: usize,
}

impl<'a> Document<'a> {
    /// Of a comparison, asked for by this command line.
    pub fn new(compared: &'a Compared, supplied: &'a [String]) -> Self {
        let comparison = &compared.comparison;
        let (looks, [a, b]) = (
            comparison.looks,
            [0, 1].map(|side| Run::new(compared, side)),
        );
        let pairs = comparison.pairs.iter();
        Self {
            supplied,
            a,
            b,
            differences: &compared.differences,
            headline: comparison.headline.name(),
            looks,
            verdict: compared.verdict(),
            notes: compared.notes(),
            conditions: compared.limits.iter().map(Condition::new).collect(),
            failed: compared.has_failed(),
            whole: comparison.whole.as_ref().map(Together::new),
            pairs: pairs.map(|pair| Pair::new(pair, looks)).collect(),
        }
    }
}

impl<'a> Run<'a> {
    fn new(compared: &'a Compared, at: usize) -> Self {
        Self {
            side: &compared.sides[at],
            alone: &compared.comparison.alone[at],
            pooled: &compared.comparison.pooled[at],
        }
    }
}

impl<'a> Condition<'a> {
    fn new(held: &'a LimitResult) -> Self {
        let fixed = held.levels.iter();
        let [a, b] = held.values;
        Self {
            condition: &held.limit,
            factors: fixed
                .map(|fixed| (fixed.factor.as_str(), fixed.level.as_str()))
                .collect(),
            outcome: held.outcome.id().to_owned(),
            unit: &held.unit,
            a,
            b,
            value: held.value,
            interval: ends(held.low, held.high),
            bound: held.bound,
            reason: &held.reason,
        }
    }
}

/// `None` where neither end is known.
fn ends(low: Option<f64>, high: Option<f64>) -> Option<Interval> {
    let is_known = low.is_some() || high.is_some();
    is_known.then(|| Interval {
        low,
        high,
        ..Interval::between(None)
    })
}

impl<'a> Together<'a> {
    fn new(whole: &'a Whole) -> Self {
        Self {
            pairs: whole.pairs,
            differ: whole.differ,
            cannot_tell: whole.unknown,
            never_answered_b: whole.silent[1],
            never_answered_a: whole.silent[0],
            shifts: whole.shifts.iter().map(Average::new).collect(),
            verdict: &whole.text,
        }
    }
}

impl Average {
    fn new(shift: &MeanShift) -> Self {
        let averaged = |estimate: Estimate| Averaged {
            value: estimate.value,
            interval: Interval::new(estimate.low, estimate.high),
            pairs: estimate.pairs,
        };
        Self {
            statistic: statistic_name(shift.statistic),
            difference: shift.absolute.map(averaged),
            relative: shift.relative.map(averaged),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::compare::samples::{import, samples};
    use serde_json::Value;

    fn document(compared: &Compared) -> Value {
        let supplied = ["compare".to_owned()];
        let document = Document::new(compared, &supplied);
        crate::json::valid(&document)
    }

    #[test]
    fn every_document_keeps_to_the_schema() {
        for (_, compared) in samples() {
            document(&compared);
        }
    }

    #[test]
    fn the_schema_refuses_what_we_never_write() {
        let validator = crate::json::validator::<Document<'_>>();
        let good = document(&import());
        for (pointer, bad) in [
            ("/schema", Value::from("delaylab/compare/1")),
            ("/pairs/0/packets_a/sent", Value::Null),
            ("/pairs/0/quantities/0/shifts/0/differs", Value::from("yes")),
        ] {
            let mut document = good.clone();
            *document.pointer_mut(pointer).unwrap() = bad;
            assert!(!validator.is_valid(&document), "{pointer}");
        }
    }
}
