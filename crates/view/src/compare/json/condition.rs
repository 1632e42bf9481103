//! A condition of a comparison in JSON.

use crate::compare::Compared;
use delaylab_explain::compare::limits::LimitResult;
use delaylab_model::plan::{Level, level_of};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// A condition that must not hold.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Condition<'a> {
    #[serde(flatten)]
    result: &'a LimitResult,
    /// The levels that its `for each` fixed.
    factors: BTreeMap<&'a str, Level>,
    /// Does it make the command fail?
    failed: bool,
}

impl<'a> Condition<'a> {
    pub(super) fn new(result: &'a LimitResult, compared: &Compared) -> Self {
        let pairs = &compared.comparison.pairs;
        let level = |factor: &str, label: &str| {
            let all = pairs.iter();
            let mut all = all.filter_map(|pair| level_of(&pair.pair.factors, factor));
            let known = all.find(|level| level.label == label);
            known.cloned().unwrap_or_else(|| Level::named(label))
        };
        let factors = result.levels.iter();
        Self {
            result,
            factors: factors
                .map(|fixed| (fixed.factor.as_str(), level(&fixed.factor, &fixed.level)))
                .collect(),
            failed: compared.fails(result),
        }
    }
}
