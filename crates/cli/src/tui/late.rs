//! The latest excursions of a stream that goes on: their bound follows what is usual so far.

use super::view::Event;
use delaylab_model::Nanos;
use delaylab_model::record::Record;
use delaylab_model::trial::RecordFacts;
use delaylab_stats::excursion::{Events, Excursion, Excursions, Spread};
use delaylab_stats::loglinear::LogLinear;

/// Responses from which on there is a bound.
pub(super) const RESPONSES_NEEDED: usize = 10;
/// Excursions that are kept.
const KEPT: usize = 64;

/// Tells excursions from the rest as records come.
#[derive(Debug)]
pub(super) struct ExcursionFinder {
    found: Excursions,
    bound: Option<Nanos>,
    /// So many responses, and the bound is looked at again.
    again_at: u64,
    /// Taken before there is a bound.
    waiting: Vec<Record>,
    count: u64,
    events: Events,
}

impl ExcursionFinder {
    pub(super) fn new(facts: RecordFacts) -> Self {
        Self {
            found: Excursions::new(facts, Nanos::MAX),
            bound: None,
            again_at: RESPONSES_NEEDED as u64,
            waiting: Vec::new(),
            count: 0,
            events: Events::default(),
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
        if let [Some(min), Some(p25), Some(median), Some(p75)] = [0.0, 0.25, 0.5, 0.75].map(at) {
            let iqr = p75.saturating_sub(p25);
            let bound = Spread { min, median, iqr }.bound();
            self.bound = Some(bound);
            self.found.set_bound(bound);
        }
        self.again_at = responses.count() + (responses.count() / 8).max(1);
    }

    fn judge(&mut self, record: &Record) {
        if self.found.push(record) {
            self.count += 1;
            let response = record.response().unwrap_or(0);
            self.events.push(record.t_intended, response);
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

    /// How many events they are.
    pub(super) const fn events(&self) -> u64 {
        self.events.count()
    }

    /// The latest events, latest first.
    pub(super) fn latest(&self) -> Vec<Event> {
        let mut together = Events::default();
        let mut latest: Vec<Event> = Vec::new();
        for late in self.found.iter() {
            match latest.last_mut() {
                Some(event) if !together.push(late.due, late.response) => {
                    event.packets += 1;
                    if late.excess > event.worst.excess {
                        event.worst = late;
                    }
                }
                Some(_) => latest.push(Event::new(late)),
                None => {
                    together.push(late.due, late.response);
                    latest.push(Event::new(late));
                }
            }
        }
        latest.reverse();
        latest
    }
}

impl Event {
    const fn new(first: Excursion) -> Self {
        Self {
            worst: first,
            packets: 1,
        }
    }
}
