//! DualPI2: a queue for L4S and one for Classic traffic, coupled, so that flows of both get the same rate and those of L4S hardly wait.
//!
//! A controller moves p′ with the delay of the queue that waits longer. Classic items are dropped, or marked, with probability p′²; L4S items are marked
//! with k·p′, or with what their own queue's delay says where that is more. So both see a rate ∝ 1/p′: Classic flows by the square
//! root of their drops, scalable ones directly. What is ECT(1) or CE goes into the L queue (RFC 9331).
//!
//! The L queue's own marks rise from 0 to 1 between two delays (a ramp; equal ones are a step), if another item waits behind the
//! one that leaves. The L queue is served first, but the Classic queue gets its share while both wait (weighted
//! round robin, by bytes). When p′² reaches 1/k², marks would be certain in the L queue: from there on items of both queues are dropped with
//! p′², marked or not.
//!
//! What the RFC leaves open: Classic drops are drawn (p′ above two uniform numbers), L4S marks are spread evenly (`recur`); the delay of
//! a queue is how long its first item has waited. The probability is updated when time has passed, at the next arrival or
//! departure. Buffers are the switch's.
//!
//! References: RFC 9332, K. De Schepper, B. Briscoe and G. White (2023), appendix A: parameters (A.1, α = 0.1·T/RTT², β = 0.3/RTT), enqueue, dequeue,
//! update and overload; RFC 9331; K. De Schepper et al., "PI²: a linearized AQM for both classic and scalable TCP", CoNEXT 2016.
//!
//! Validation: p′, p′² and k·p′ against the RFC's steps by hand; the shares dropped and marked; the ramp and the step; the share of each
//! queue; shares of Reno, CUBIC and Prague, Reno's window and p_L against p_C, and the delays of both queues
//! (`crates/sim/tests/aqm.rs`). Not against a kernel's.

#[cfg(test)]
mod tests;

use super::queue::Queue;
use super::timed::Timed;
use crate::item::{Backlog, Cause, Dropped, Item};
use delaylab_model::{PICOS_PER_SECOND, Picos};
use delaylab_stats::random::SplitMix;

/// A.1: what the gains of the controller are of the update time and the largest round trip.
const ALPHA: f64 = 0.1;
const BETA: f64 = 0.3;

/// Its parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameters {
    /// Delay that it aims at, of the Classic queue where L4S traffic heeds its marks.
    pub target: Picos,
    /// Between two updates.
    pub update: Picos,
    /// Largest round trip for which it is stable.
    pub largest_rtt: Picos,
    /// k.
    pub coupling: f64,
    /// Delay of the L queue from which its items are marked.
    pub mark_from: Picos,
    /// And from which all are.
    pub mark_all_from: Picos,
    /// Of the line, what the Classic queue gets while both wait.
    pub classic_share: f64,
}

impl Parameters {
    /// The largest p′² for which marks suffice: k·p′ is 1 there.
    fn most(&self) -> f64 {
        (1.0 / (self.coupling * self.coupling)).min(1.0)
    }

    /// The L queue's own probability.
    fn native(&self, delay: Picos) -> f64 {
        if delay >= self.mark_all_from {
            1.0
        } else if delay > self.mark_from {
            (delay - self.mark_from) as f64 / (self.mark_all_from - self.mark_from) as f64
        } else {
            0.0
        }
    }
}

/// The controller: p′.
#[derive(Debug, Clone, Copy)]
struct Control {
    alpha: f64,
    beta: f64,
    target: f64,
    base: f64,
    delay_before: f64,
}

impl Control {
    fn new(parameters: Parameters) -> Self {
        let rtt = seconds(parameters.largest_rtt);
        Self {
            alpha: ALPHA * seconds(parameters.update) / (rtt * rtt),
            beta: BETA / rtt,
            target: seconds(parameters.target),
            base: 0.0,
            delay_before: 0.0,
        }
    }

    fn update(&mut self, delay: Picos) {
        let delay = seconds(delay);
        let step = self.alpha * (delay - self.target) + self.beta * (delay - self.delay_before);
        self.base = (self.base + step).clamp(0.0, 1.0);
        self.delay_before = delay;
    }

    fn is_at_rest(&self) -> bool {
        self.base == 0.0 && self.delay_before == 0.0
    }
}

fn seconds(time: Picos) -> f64 {
    time as f64 / PICOS_PER_SECOND as f64
}

/// What one queue has been hit by: hits are spread evenly (`recur`).
#[derive(Debug, Clone, Copy, Default)]
struct Spread(f64);

impl Spread {
    fn hits(&mut self, probability: f64) -> bool {
        self.0 += probability;
        let hit = self.0 > 1.0;
        self.0 -= if hit { 1.0 } else { 0.0 };
        hit
    }
}

/// Both queues.
#[derive(Debug, Clone)]
pub struct DualPi2<T> {
    parameters: Parameters,
    control: Control,
    random: SplitMix,
    low_latency: Timed<T>,
    classic: Timed<T>,
    marks: Spread,
    /// Bytes that the Classic queue is owed, weighed.
    owed: f64,
    next_update: Picos,
}

impl<T: Item> DualPi2<T> {
    /// Empty queues. An update time of 0 counts as 1.
    pub fn new(mut parameters: Parameters, seed: u64) -> Self {
        parameters.update = parameters.update.max(1);
        Self {
            parameters,
            control: Control::new(parameters),
            random: SplitMix::new(seed),
            low_latency: Timed::new(),
            classic: Timed::new(),
            marks: Spread::default(),
            owed: 0.0,
            next_update: parameters.update,
        }
    }

    #[inline]
    fn catch_up(&mut self, now: Picos) {
        if now >= self.next_update {
            self.update_until(now);
        }
    }

    fn update_until(&mut self, now: Picos) {
        let every = self.parameters.update;
        while now >= self.next_update {
            let empty = self.backlog().is_empty();
            if self.control.is_at_rest() && empty {
                let updates = (now - self.next_update) / every + 1;
                self.next_update = self
                    .next_update
                    .saturating_add(updates.saturating_mul(every));
                return;
            }
            // A.2: the greater of both, so that a load that heeds no marks is met by drops in the L queue too.
            let [classic, low_latency] =
                [&self.classic, &self.low_latency].map(|queue| queue.delay(self.next_update));
            self.control.update(classic.max(low_latency));
            self.next_update = self.next_update.saturating_add(every);
        }
    }

    /// Is the L queue next? None: nothing waits.
    fn is_low_latency_next(&mut self) -> Option<bool> {
        match (self.low_latency.first(), self.classic.first()) {
            (None, None) => None,
            (Some(_), None) => {
                self.owed = 0.0;
                Some(true)
            }
            (None, Some(_)) => {
                self.owed = 0.0;
                Some(false)
            }
            (Some(low_latency), Some(classic)) => {
                let share = self.parameters.classic_share;
                let low_latency_next = self.owed <= 0.0;
                self.owed += if low_latency_next {
                    share * f64::from(low_latency.bytes())
                } else {
                    -(1.0 - share) * f64::from(classic.bytes())
                };
                Some(low_latency_next)
            }
        }
    }

    /// With probability p′²: both of two numbers drawn are below p′.
    fn squared_hits(&mut self) -> bool {
        let [one, other] = [self.random.uniform(), self.random.uniform()];
        self.control.base > one.max(other)
    }

    fn overloaded(&self) -> bool {
        self.control.base * self.control.base >= self.parameters.most()
    }

    fn take_low_latency(&mut self, now: Picos, drops: &mut Vec<Dropped<T>>) -> Option<T> {
        let (arrived, mut item) = self.low_latency.pop()?;
        let coupled = self.parameters.coupling * self.control.base;
        if self.overloaded() {
            if self.squared_hits() {
                return drop_it(item, drops);
            }
            item.mark();
            return Some(item);
        }
        let native = if self.low_latency.held().is_empty() {
            0.0
        } else {
            self.parameters.native(now.saturating_sub(arrived))
        };
        if self.marks.hits(native.max(coupled).min(1.0)) && !item.mark() {
            return drop_it(item, drops);
        }
        Some(item)
    }

    fn take_classic(&mut self, drops: &mut Vec<Dropped<T>>) -> Option<T> {
        let (_, mut item) = self.classic.pop()?;
        let hit = self.squared_hits();
        let marks = !self.overloaded() && item.ecn_capable();
        if hit && !(marks && item.mark()) {
            return drop_it(item, drops);
        }
        Some(item)
    }
}

fn drop_it<T>(item: T, drops: &mut Vec<Dropped<T>>) -> Option<T> {
    drops.push(Dropped::new(item, Cause::DualPi2));
    None
}

impl<T: Item> Queue<T> for DualPi2<T> {
    fn enqueue(&mut self, now: Picos, item: T, _: &mut Vec<Dropped<T>>) {
        self.catch_up(now);
        if item.low_latency() {
            self.low_latency.push(now, item);
        } else {
            self.classic.push(now, item);
        }
    }

    fn dequeue(&mut self, now: Picos, drops: &mut Vec<Dropped<T>>) -> Option<T> {
        self.catch_up(now);
        while let Some(low_latency) = self.is_low_latency_next() {
            let item = if low_latency {
                self.take_low_latency(now, drops)
            } else {
                self.take_classic(drops)
            };
            if item.is_some() {
                return item;
            }
        }
        None
    }

    fn backlog(&self) -> Backlog {
        self.low_latency.held().and(self.classic.held())
    }
}
