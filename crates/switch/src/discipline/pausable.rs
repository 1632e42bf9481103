//! A discipline behind which the line may be stopped: for all, or for one class queue and not the others.
//!
//! Priority, and wrr and wfq by class queue, leave out the queues that are stopped. Every other discipline has one queue for
//! all classes (or queues of flows), and stops as a whole when any of the classes does, as a queue does that several
//! priorities are mapped to.
//!
//! References: IEEE 802.1Q-2018, 36.2 and 8.6.8: a queue whose priority is paused is not selected for transmission.
//!
//! Validation: stopped class queues give nothing, others what the discipline gives without them; order within each
//! queue; nothing is lost, under random traffic.

use super::queue::Queue;
use super::{Discipline, Kind};
use crate::flow_control::{PRIORITIES, Set, sum_of};
use crate::item::{Backlog, Dropped, Item};
use crate::weights::By;
use delaylab_model::Picos;

/// The discipline, and until when each class queue is stopped.
#[derive(Debug, Clone)]
pub struct Pausable<T> {
    queue: Discipline<T>,
    by_class: bool,
    until: [Picos; PRIORITIES],
    held: [Backlog; PRIORITIES],
}

/// A class queue's bit.
const fn place(queue: u8) -> usize {
    queue as usize % PRIORITIES
}

impl<T: Item> Pausable<T> {
    /// Of this kind, nothing stopped.
    pub fn new(queue: Discipline<T>, kind: &Kind) -> Self {
        Self {
            queue,
            by_class: has_class_queues(kind),
            until: [0; PRIORITIES],
            held: [Backlog::default(); PRIORITIES],
        }
    }

    /// These class queues give nothing before then.
    pub fn pause(&mut self, queues: Set, until: Picos) {
        for (queue, own) in self.until.iter_mut().enumerate() {
            if queues >> queue & 1 == 1 {
                *own = until;
            }
        }
    }

    /// What these class queues hold.
    pub fn held(&self, queues: Set) -> Backlog {
        sum_of(&self.held, queues)
    }

    fn is_stopped(&self, now: Picos) -> bool {
        self.until.iter().any(|&until| until > now)
    }

    /// What is next of the class queues that are not stopped.
    fn next(&mut self, now: Picos, drops: &mut Vec<Dropped<T>>) -> Option<T> {
        if !self.is_stopped(now) {
            return self.queue.dequeue(now, drops);
        }
        if !self.by_class {
            return None;
        }
        let until = &self.until;
        let stopped = |queue: usize| until[queue % PRIORITIES] > now;
        match &mut self.queue {
            Discipline::Priority(queue) => queue.dequeue_but(stopped),
            Discipline::Wrr(queue) => queue.dequeue_but(stopped),
            Discipline::Wfq(queue) => queue.dequeue_but(stopped),
            _ => None,
        }
    }

    fn gave(&mut self, item: &T) {
        self.held[place(item.queue())].remove(item.bytes());
    }

    fn dropped(&mut self, drops: &[Dropped<T>]) {
        for dropped in drops {
            self.gave(&dropped.item);
        }
    }
}

/// Does a pause of one class leave the others alone?
pub const fn has_class_queues(kind: &Kind) -> bool {
    match kind {
        Kind::Priority => true,
        Kind::Wrr(weights) | Kind::Wfq(weights) => matches!(weights.by(), By::Queue),
        _ => false,
    }
}

impl<T: Item> Queue<T> for Pausable<T> {
    fn enqueue(&mut self, now: Picos, item: T, drops: &mut Vec<Dropped<T>>) {
        self.held[place(item.queue())].add(item.bytes());
        let before = drops.len();
        self.queue.enqueue(now, item, drops);
        self.dropped(&drops[before..]);
    }

    fn dequeue(&mut self, now: Picos, drops: &mut Vec<Dropped<T>>) -> Option<T> {
        let before = drops.len();
        let item = self.next(now, drops);
        self.dropped(&drops[before..]);
        item.inspect(|item| self.gave(item))
    }

    fn give_up(&mut self, now: Picos, drops: &mut Vec<Dropped<T>>) -> Option<T> {
        let before = drops.len();
        let item = self.queue.give_up(now, drops);
        self.dropped(&drops[before..]);
        item.inspect(|item| self.gave(item))
    }

    /// When the first pause ends of those for which something waits.
    fn next_event(&self) -> Option<Picos> {
        if !self.by_class {
            return self.until.iter().copied().max();
        }
        let of = self.until.iter().zip(&self.held);
        let waiting = of.filter(|(_, held)| !held.is_empty());
        waiting.map(|(until, _)| *until).min()
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn overflow(&mut self, now: Picos) {
        self.queue.overflow(now);
    }
}

#[cfg(test)]
mod tests;
