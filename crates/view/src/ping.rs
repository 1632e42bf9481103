//! What every face of `delaylab ping` is made from.

use delaylab_lab::finding::single::Answer;
use delaylab_model::trial::{ProbeFacts, ProbeRun};
use delaylab_stats::summary::Summary;
use delaylab_stats::verdict;

/// A finished trial of one probe, ready to be shown.
#[derive(Debug, Clone, Copy)]
pub struct Ping<'a> {
    /// The target as the user named it.
    pub target: &'a str,
    /// What was asked for.
    pub run: &'a ProbeRun,
    /// What came of it, beside its records.
    pub facts: &'a ProbeFacts,
    /// Its statistics.
    pub summary: &'a Summary,
    /// What came of each condition that it was held against.
    pub conditions: &'a [Answer],
}

impl Ping<'_> {
    /// One sentence or two that say what dominates; `None` where nothing was answered.
    pub fn verdict(&self) -> Option<String> {
        verdict::dominant(self.summary).map(|verdict| verdict.to_string())
    }
}
