//! Errors instead of answers: how many of each reason and sender, and their words.

use delaylab_model::record::{Outcome, Record};
pub use delaylab_model::unanswered::ErrorReply;
use std::collections::BTreeMap;

/// Reasons and senders that are told apart, so that memory stays flat whoever answers.
const MOST: usize = 32;

/// `TTL exceeded, from 192.0.2.1`; with several, how many of each; empty where no record says anything.
pub fn described(refusals: &[(ErrorReply, u64)]) -> String {
    let said = refusals.iter();
    let said: Vec<_> = said
        .filter_map(|(refusal, count)| Some((refusal.described()?, count)))
        .collect();
    match said.as_slice() {
        [] => String::new(),
        [(why, _)] if refusals.len() == 1 => why.clone(),
        several => {
            let each = several.iter().map(|(why, count)| format!("{count} {why}"));
            each.collect::<Vec<_>>().join("; ")
        }
    }
}

/// How often each came.
#[derive(Debug, Clone, Default)]
pub struct Refusals {
    counts: BTreeMap<ErrorReply, u64>,
}

impl Refusals {
    /// Counts a record that was refused.
    pub fn push(&mut self, record: &Record) {
        if record.outcome != Outcome::Refused {
            return;
        }
        self.add(ErrorReply::from_record(record), 1);
    }

    /// Counts `count` of them.
    pub fn add(&mut self, refusal: ErrorReply, count: u64) {
        if self.counts.len() < MOST || self.counts.contains_key(&refusal) {
            *self.counts.entry(refusal).or_default() += count;
        }
    }

    /// The most frequent first.
    pub fn listed(&self) -> Vec<(ErrorReply, u64)> {
        let mut listed: Vec<_> = self.counts.iter().map(|(r, n)| (*r, *n)).collect();
        listed.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        listed
    }
}
