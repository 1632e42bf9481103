//! Random early detection: drops or marks with a probability that grows with the average queue.
//!
//! The average moves by `weight` towards the queue that each arrival finds; after idle time it decays
//! as if so many items had been transmitted, each finding nothing. Between `min` and `max` the
//! probability rises to `probability`, and is made larger with each item that passes, so that the gaps
//! between drops are uniform and not geometric. From `max` on everything is dropped, or with `gentle`
//! from twice `max` on. An item whose ends know ECN is marked instead, whatever the average.
//!
//! The average of items gives each the same probability whatever its size, as RFC 7141 wants; so does
//! the average of bytes.
//!
//! With min = max = K it is DCTCP's marking: the queue of this moment counts, not an average, and
//! everything that finds K or more is marked.
//!
//! References: S. Floyd and V. Jacobson, "Random early detection gateways for congestion avoidance",
//! IEEE/ACM Trans. Networking 1(4), 1993; S. Floyd, "Recommendation on using the gentle variant of
//! RED" (2000); RFC 3168 (ECN); RFC 8257 section 3.1 (DCTCP). How long an item takes to transmit, which
//! the decay needs, is measured at departures unless given.
//!
//! Validation: the average against q(1 − (1−w)ⁿ) and the decay against (1−w)ᵐ; gaps between marks
//! uniform on 1 … 1/p; the ramp with and without `gentle`; marks at K.

#[cfg(test)]
mod tests;

use super::queue::Queue;
use crate::item::{Backlog, Cause, Dropped, Item};
use delaylab_model::Picos;
use delaylab_stats::random::SplitMix;
use std::collections::VecDeque;

/// What a queue is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Cells or packets.
    Items,
    /// Bytes.
    Bytes,
}

impl Unit {
    const fn amount(self, held: Backlog) -> u64 {
        match self {
            Self::Items => held.items,
            Self::Bytes => held.bytes,
        }
    }
}

/// Its parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameters {
    /// Average from which items are dropped or marked.
    pub min: u64,
    /// Average from which all are.
    pub max: u64,
    /// Of both.
    pub unit: Unit,
    /// Probability just below `max`.
    pub probability: f64,
    /// How far an arrival moves the average.
    pub weight: f64,
    /// Beyond `max` the probability rises on, to 1 at twice `max`.
    pub gentle: bool,
    /// How long an item takes to transmit. None: as measured.
    pub service: Option<Picos>,
}

impl Parameters {
    /// The weight that Floyd and Jacobson recommend.
    pub const WEIGHT: f64 = 0.002;

    /// Between two averages, with what the paper recommends.
    pub const fn between(min: u64, max: u64, unit: Unit) -> Self {
        Self {
            min,
            max,
            unit,
            probability: 0.1,
            weight: Self::WEIGHT,
            gentle: true,
            service: None,
        }
    }

    /// Everything that finds `threshold` or more is marked or dropped (DCTCP's K).
    pub const fn step(threshold: u64, unit: Unit) -> Self {
        Self::between(threshold, threshold, unit)
    }

    const fn is_step(&self) -> bool {
        self.min == self.max
    }

    /// The probability at an average from `min` on.
    fn at(&self, average: f64) -> f64 {
        let (min, max) = (self.min as f64, self.max as f64);
        if average < max {
            self.probability * (average - min) / (max - min)
        } else if self.gentle && !self.is_step() {
            self.probability + (1.0 - self.probability) * (average - max) / max
        } else {
            1.0
        }
    }
}

/// One queue under RED.
#[derive(Debug, Clone)]
pub struct Red<T> {
    parameters: Parameters,
    random: SplitMix,
    items: VecDeque<T>,
    held: Backlog,
    average: f64,
    /// How many passed before the last one did, unhit since; None: it was hit, or could not be.
    passed: Option<u64>,
    /// Since when nothing is transmitted.
    idle: Option<Picos>,
    /// The last departure that left something behind.
    departed: Option<Picos>,
    service: Picos,
}

impl<T: Item> Red<T> {
    /// An empty queue.
    pub fn new(parameters: Parameters, seed: u64) -> Self {
        Self {
            parameters,
            random: SplitMix::new(seed),
            items: VecDeque::new(),
            held: Backlog::default(),
            average: 0.0,
            passed: None,
            idle: Some(0),
            departed: None,
            service: parameters.service.unwrap_or(0),
        }
    }

    /// The average queue.
    pub const fn average(&self) -> f64 {
        self.average
    }

    /// An item arrives.
    fn observe(&mut self, now: Picos) {
        let queued = self.parameters.unit.amount(self.held) as f64;
        if self.parameters.is_step() {
            self.average = queued;
            return;
        }
        self.decay(now);
        self.average += self.parameters.weight * (queued - self.average);
    }

    /// After idle time: as if items had been transmitted one after the other.
    fn decay(&mut self, now: Picos) {
        let Some(since) = self.idle.filter(|since| *since < now) else {
            return;
        };
        let missed = (now - since).checked_div(self.service).unwrap_or(0);
        self.average *= power(1.0 - self.parameters.weight, missed);
        self.idle = Some(now);
    }

    /// Must the item that arrives be marked or dropped?
    fn hits(&mut self) -> bool {
        if self.average < self.parameters.min as f64 {
            self.passed = None;
            return false;
        }
        let probability = self.parameters.at(self.average);
        let passed = self.passed.map_or(0, |passed| passed + 1);
        let hit = probability >= 1.0 || self.random.uniform() < spread(probability, passed);
        // The paper's text: gaps are uniform on 1 … 1/p. (Its figure sets the count to 0 here, which
        // makes them uniform on 1 … 1/p − 1.)
        self.passed = (!hit).then_some(passed);
        hit
    }

    /// How long the item before this one took, if the line was busy throughout.
    fn measure(&mut self, now: Picos) {
        if let (Some(departed), None) = (self.departed, self.parameters.service) {
            self.service = now.saturating_sub(departed);
        }
        let empty = self.held.is_empty();
        self.departed = (!empty).then_some(now);
        self.idle = empty.then_some(now.saturating_add(self.service));
    }
}

/// p/(1 − passed·p): uniform gaps between hits.
fn spread(probability: f64, passed: u64) -> f64 {
    let left = 1.0 - passed as f64 * probability;
    if left > 0.0 { probability / left } else { 1.0 }
}

/// By squaring, so that every machine gets the same bits.
fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut product = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            product *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    product
}

impl<T: Item> Queue<T> for Red<T> {
    #[inline]
    fn enqueue(&mut self, now: Picos, mut item: T, drops: &mut Vec<Dropped<T>>) {
        self.observe(now);
        if self.hits() && !(item.ecn_capable() && item.mark()) {
            drops.push(Dropped::new(item, Cause::Red));
            return;
        }
        self.idle = None;
        self.held.add(item.bytes());
        self.items.push_back(item);
    }

    #[inline]
    fn dequeue(&mut self, now: Picos, _: &mut Vec<Dropped<T>>) -> Option<T> {
        let item = self.items.pop_front()?;
        self.held.remove(item.bytes());
        self.measure(now);
        Some(item)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.held
    }

    /// It arrived, and was dropped: both count.
    fn overflow(&mut self, now: Picos) {
        self.observe(now);
        self.passed = None;
    }
}
