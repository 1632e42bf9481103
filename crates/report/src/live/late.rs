//! The latest excursions of a stream that goes on: their bound follows what is usual so far.

use delaylab_model::Nanos;
use delaylab_model::record::Record;
use delaylab_model::trial::RecordFacts;
use delaylab_stats::excursion::{Excursion, Excursions, bound};
use delaylab_stats::loglinear::LogLinear;

/// Responses from which on there is a bound.
pub(super) const RESPONSES_NEEDED: usize = 10;
/// Excursions that are kept.
const KEPT: usize = 64;

/// Tells excursions from the rest as records come.
#[derive(Debug)]
pub(super) struct Late {
    found: Excursions,
    bound: Option<Nanos>,
    /// So many responses, and the bound is looked at again.
    again_at: u64,
    /// Taken before there is a bound.
    waiting: Vec<Record>,
    count: u64,
}

impl Late {
    pub(super) fn new(facts: RecordFacts) -> Self {
        Self {
            found: Excursions::new(facts, Nanos::MAX),
            bound: None,
            again_at: RESPONSES_NEEDED as u64,
            waiting: Vec::new(),
            count: 0,
        }
    }

    /// Takes an answered record; its response and all before it are in `responses`.
    pub(super) fn push(&mut self, record: &Record, responses: &LogLinear) {
        if responses.count() >= self.again_at {
            self.look_again(responses);
        }
        if self.bound.is_none() {
            self.waiting.push(*record);
            return;
        }
        for waiting in std::mem::take(&mut self.waiting) {
            self.judge(&waiting);
        }
        self.judge(record);
    }

    /// Each time the stream has grown by an eighth.
    fn look_again(&mut self, responses: &LogLinear) {
        let at = |q| responses.quantile(q);
        if let (Some(p25), Some(p50), Some(p75)) = (at(0.25), at(0.5), at(0.75)) {
            let bound = bound(p50, p75.saturating_sub(p25));
            self.bound = Some(bound);
            self.found.set_bound(bound);
        }
        self.again_at = responses.count() + (responses.count() / 8).max(1);
    }

    fn judge(&mut self, record: &Record) {
        if self.found.push(record) {
            self.count += 1;
            self.found.keep_latest(KEPT);
        }
    }

    /// Beyond what response a packet is one; `None`: there are too few to tell.
    pub(super) const fn bound(&self) -> Option<Nanos> {
        self.bound
    }

    /// How many there have been.
    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    /// The latest, latest first.
    pub(super) fn latest(&self) -> Vec<Excursion> {
        let mut latest: Vec<_> = self.found.iter().collect();
        latest.reverse();
        latest
    }
}
