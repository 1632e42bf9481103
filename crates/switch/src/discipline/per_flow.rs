//! A queue a flow, served in turn: one item of each backlogged flow (per-VC queueing in ATM).
//!
//! Each step costs the same however many flows there are. A flow that becomes backlogged waits for
//! those that were before it, each once.
//!
//! References: J. Nagle, "On packet switches with infinite storage", RFC 970 (1985); M. Katevenis, "Fast
//! switching and fair control of congested flow in broadband networks", IEEE JSAC 5(8), 1987.
//!
//! Validation: order within a flow and conservation under random traffic; equal shares of backlogged
//! flows; n cells against m backlogged flows take n·(m + 1) cell times.

use super::flows::Flows;
use super::queue::Queue;
use crate::item::{Backlog, Dropped, Item, Length};
use delaylab_model::Picos;
use std::collections::VecDeque;

/// The queues, and whose turn it is.
#[derive(Debug, Clone)]
pub struct PerFlow<T> {
    flows: Flows<T>,
    /// Backlogged flows, the next one first.
    turns: VecDeque<u32>,
}

impl<T> Default for PerFlow<T> {
    fn default() -> Self {
        Self {
            flows: Flows::default(),
            turns: VecDeque::new(),
        }
    }
}

impl<T: Item> Queue<T> for PerFlow<T> {
    #[inline]
    fn enqueue(&mut self, _: Picos, item: T, _: &mut Vec<Dropped<T>>) {
        let flow = item.flow();
        if self.flows.push(flow as usize, item) {
            self.turns.push_back(flow);
        }
    }

    #[inline]
    fn dequeue(&mut self, _: Picos, _: &mut Vec<Dropped<T>>) -> Option<T> {
        let flow = self.turns.pop_front()?;
        let item = self.flows.pop(flow as usize)?;
        if !self.flows.is_empty(flow as usize) {
            self.turns.push_back(flow);
        }
        Some(item)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.flows.backlog()
    }

    fn give_way(&mut self, arrival: &T, length: Length) -> Option<T> {
        self.flows
            .give_way(arrival.flow() as usize, arrival.bytes(), length)
    }
}
