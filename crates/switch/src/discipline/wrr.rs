//! Weighted round robin: at its turn a queue sends as many items as its weight.
//!
//! References: M. Katevenis, S. Sidiropoulos and C. Courcoubetis, "Weighted round-robin cell
//! multiplexing in a general-purpose ATM switch chip", IEEE JSAC 9(8), 1991. This one sends a turn's
//! items in a row, where theirs spreads them.
//!
//! Validation: backlogged queues leave in proportion to their weights within one turn; order and
//! conservation under random traffic.

use super::flows::Flows;
use super::queue::Queue;
use crate::item::{Backlog, Dropped, Item, Length};
use crate::weights::Weights;
use delaylab_model::Picos;
use std::collections::VecDeque;

/// The queues, and whose turn it is.
#[derive(Debug, Clone)]
pub struct Wrr<T> {
    weights: Weights,
    queues: Flows<T>,
    /// Backlogged queues after the current one.
    turns: VecDeque<usize>,
    current: usize,
    /// What the current one may still send; 0: its turn is over.
    left: u32,
}

impl<T> Wrr<T> {
    /// With these weights.
    pub fn new(weights: Weights) -> Self {
        Self {
            weights,
            queues: Flows::default(),
            turns: VecDeque::new(),
            current: 0,
            left: 0,
        }
    }

    fn next_turn(&mut self) -> Option<()> {
        self.current = self.turns.pop_front()?;
        self.left = self.weights.weight(self.current);
        Some(())
    }

    /// The current queue has sent one.
    fn sent(&mut self) {
        self.left -= 1;
        if self.queues.is_empty(self.current) {
            self.left = 0;
        } else if self.left == 0 {
            self.turns.push_back(self.current);
        }
    }
}

impl<T: Item> Wrr<T> {
    /// What is next of the queues that are not stopped: one that is loses its turn.
    pub(super) fn dequeue_but(&mut self, stopped: impl Fn(usize) -> bool) -> Option<T> {
        if self.left > 0 && stopped(self.current) {
            self.turns.push_back(self.current);
            self.left = 0;
        }
        if self.left == 0 {
            let open = self.turns.iter().position(|&queue| !stopped(queue))?;
            self.turns.rotate_left(open);
        }
        self.dequeue(0, &mut Vec::new())
    }
}

impl<T: Item> Queue<T> for Wrr<T> {
    #[inline]
    fn enqueue(&mut self, _: Picos, item: T, _: &mut Vec<Dropped<T>>) {
        let queue = self.weights.queue(&item);
        if self.queues.push(queue, item) {
            self.turns.push_back(queue);
        }
    }

    #[inline]
    fn dequeue(&mut self, _: Picos, _: &mut Vec<Dropped<T>>) -> Option<T> {
        if self.left == 0 {
            self.next_turn()?;
        }
        let item = self.queues.pop(self.current)?;
        self.sent();
        Some(item)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }

    fn give_way(&mut self, arrival: &T, length: Length) -> Option<T> {
        self.queues
            .give_way(self.weights.queue(arrival), arrival.bytes(), length)
    }
}
