//! PIE: drops arrivals with a probability that a controller moves, so that the queueing delay settles at a target.
//!
//! Every `update` the probability moves by α·(delay − target) + β·(delay − delay before), divided the more the smaller the probability is,
//! and decays while nothing waits. Bursts of up to `burst` pass unhurt after a rest; so does everything while the delay is
//! below half the target and the probability below 20 %, or while two packets of mean size are held.
//!
//! What the RFC leaves open: the delay is that of the item which left last, by its time stamp (§4.3), and zero where nothing is left, as in
//! Linux; drops are spread by accumulated probability (§5.4); a large probability rises by no more than 2 % an update (§5.5). Items
//! that can be marked are, up to a probability (§5.1). It is never turned off (§5.3).
//!
//! The probability is updated when time has passed, at the next arrival or departure: nothing changes the queue in between.
//!
//! References: RFC 8033, R. Pan, P. Natarajan, F. Baker and G. White (2017), sections 4, 5.1, 5.4, 5.5 and appendix A.
//!
//! Validation: the probability against the RFC's steps worked out by hand, in each range of its scaling; burst allowance and decay; gaps
//! between drops; the share dropped against the probability; the delay of TCP near 15 ms, and Reno's window
//! (`crates/sim/tests/aqm.rs`). Not against a kernel's.

#[cfg(test)]
mod tests;

use super::queue::Queue;
use super::timed::Timed;
use crate::item::{Backlog, Cause, Dropped, Item};
use delaylab_model::{PICOS_PER_SECOND, Picos};
use delaylab_stats::random::SplitMix;

/// §4.2: a second's delay above the target, and a second's growth of the delay, in probability an update.
const ALPHA: f64 = 0.125;
const BETA: f64 = 1.25;
/// §4.1: no more than two packets of this many bytes are always taken.
const MEAN_PACKET: u64 = 1024;
/// §4.2: below the probability the step is divided so.
const SCALE: [(f64, f64); 6] = [
    (0.000_001, 2048.0),
    (0.000_01, 512.0),
    (0.000_1, 128.0),
    (0.001, 32.0),
    (0.01, 8.0),
    (0.1, 2.0),
];
/// §4.2: what is left of the probability after an update with nothing queued.
const DECAY: f64 = 0.98;
/// §4.1: up to here a delay below half the target lets everything pass.
const SMALL: f64 = 0.2;
/// §5.5.
const LARGEST_STEP: f64 = 0.02;
/// §5.4: nothing is dropped until the probabilities add up to the one, something is once they add up to the other.
const SOONEST: f64 = 0.85;
const LATEST: f64 = 8.5;

/// Its parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameters {
    /// Queueing delay that it aims at.
    pub target: Picos,
    /// Between two updates.
    pub update: Picos,
    /// How long a burst passes unhurt.
    pub burst: Picos,
    /// Largest probability at which marks stand for drops.
    pub mark_up_to: f64,
}

/// The controller, apart from any queue.
#[derive(Debug, Clone)]
struct Control {
    parameters: Parameters,
    probability: f64,
    accumulated: f64,
    /// Now and at the update before.
    delay: Picos,
    delay_before: Picos,
    allowance: Picos,
}

impl Control {
    const fn new(parameters: Parameters) -> Self {
        Self {
            parameters,
            probability: 0.0,
            accumulated: 0.0,
            delay: 0,
            delay_before: 0,
            allowance: parameters.burst,
        }
    }

    /// Would another update change nothing?
    fn is_at_rest(&self) -> bool {
        self.probability == 0.0
            && self.delay == 0
            && self.delay_before == 0
            && self.allowance == self.parameters.burst
    }

    /// Every `update` (appendix A, `calculate_drop_prob`).
    fn update(&mut self) {
        let target = self.parameters.target;
        let seconds = |delay: Picos| delay as f64 / PICOS_PER_SECOND as f64;
        let error = seconds(self.delay) - seconds(target);
        let growth = seconds(self.delay) - seconds(self.delay_before);
        let step = (ALPHA * error + BETA * growth) / self.divisor();
        let step = if self.probability >= 0.1 {
            step.min(LARGEST_STEP)
        } else {
            step
        };
        self.probability += step;
        if self.delay == 0 && self.delay_before == 0 {
            self.probability *= DECAY;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.allowance = self.allowance.saturating_sub(self.parameters.update);
        let low = |delay: Picos| delay < target / 2;
        if self.probability == 0.0 && low(self.delay) && low(self.delay_before) {
            self.allowance = self.parameters.burst;
        }
        self.delay_before = self.delay;
    }

    fn divisor(&self) -> f64 {
        let mut scale = SCALE.iter();
        let range = scale.find(|(below, _)| self.probability < *below);
        range.map_or(1.0, |(_, divisor)| *divisor)
    }

    /// Must what arrives be dropped or marked while so many bytes are held (`drop_early`)?
    fn hits(&mut self, held: u64, random: &mut SplitMix) -> bool {
        let calm = self.delay_before < self.parameters.target / 2 && self.probability < SMALL;
        if self.allowance > 0 || calm || held <= 2 * MEAN_PACKET {
            return false;
        }
        if self.probability == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += self.probability;
        if self.accumulated < SOONEST {
            return false;
        }
        let hit = self.accumulated >= LATEST || random.uniform() < self.probability;
        if hit {
            self.accumulated = 0.0;
        }
        hit
    }
}

/// One queue under PIE.
#[derive(Debug, Clone)]
pub struct Pie<T> {
    control: Control,
    random: SplitMix,
    items: Timed<T>,
    next_update: Picos,
}

impl<T: Item> Pie<T> {
    /// An empty queue. An update time of 0 counts as 1.
    pub fn new(mut parameters: Parameters, seed: u64) -> Self {
        parameters.update = parameters.update.max(1);
        Self {
            control: Control::new(parameters),
            random: SplitMix::new(seed),
            items: Timed::new(),
            next_update: parameters.update,
        }
    }

    /// The probability of a drop or a mark.
    pub const fn probability(&self) -> f64 {
        self.control.probability
    }

    /// The updates that were due by now.
    #[inline]
    fn catch_up(&mut self, now: Picos) {
        if now >= self.next_update {
            self.update_until(now);
        }
    }

    fn update_until(&mut self, now: Picos) {
        let every = self.control.parameters.update;
        while now >= self.next_update {
            if self.control.is_at_rest() {
                let updates = (now - self.next_update) / every + 1;
                self.next_update = self
                    .next_update
                    .saturating_add(updates.saturating_mul(every));
                return;
            }
            self.control.update();
            self.next_update = self.next_update.saturating_add(every);
        }
    }
}

impl<T: Item> Queue<T> for Pie<T> {
    #[inline]
    fn enqueue(&mut self, now: Picos, mut item: T, drops: &mut Vec<Dropped<T>>) {
        self.catch_up(now);
        if self.control.hits(self.backlog().bytes, &mut self.random) {
            let marks = self.control.probability <= self.control.parameters.mark_up_to;
            if !(marks && item.ecn_capable() && item.mark()) {
                drops.push(Dropped::new(item, Cause::Pie));
                return;
            }
        }
        self.items.push(now, item);
    }

    #[inline]
    fn dequeue(&mut self, now: Picos, _: &mut Vec<Dropped<T>>) -> Option<T> {
        let (arrived, item) = self.items.pop()?;
        self.catch_up(now);
        self.control.delay = if self.backlog().is_empty() {
            0
        } else {
            now.saturating_sub(arrived)
        };
        Some(item)
    }

    /// A drop by the full buffer is a drop: the next is as far from it (appendix A, `enque`).
    fn overflow(&mut self, now: Picos) {
        self.catch_up(now);
        self.control.accumulated = 0.0;
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.items.held()
    }
}
