//! Deficit round robin: as round robin, but fair in bytes where items differ in size.
//!
//! At its turn a flow may send its quantum in bytes, and what it could not use of the turn before
//! because its next item was larger. A flow that empties its queue keeps nothing.
//!
//! References: M. Shreedhar and G. Varghese, "Efficient fair queueing using deficit round-robin",
//! IEEE/ACM Trans. Networking 4(3), 1996: any two backlogged flows differ by less than the quantum and
//! twice the largest item (its theorem).
//!
//! Validation: that bound for random sizes; order and conservation under random traffic.

use super::flows::Flows;
use super::queue::Queue;
use crate::growing;
use crate::item::{Backlog, Dropped, Item, Length};
use delaylab_model::Picos;
use std::collections::VecDeque;

/// The queues, whose turn it is, and what each may still send.
#[derive(Debug, Clone)]
pub struct Drr<T> {
    quantum: u64,
    flows: Flows<T>,
    deficits: Vec<u64>,
    /// Backlogged flows after the current one.
    turns: VecDeque<u32>,
    current: Option<u32>,
}

impl<T: Item> Drr<T> {
    /// Bytes a turn; 0 counts as 1.
    pub fn new(quantum: u32) -> Self {
        Self {
            quantum: u64::from(quantum.max(1)),
            flows: Flows::default(),
            deficits: Vec::new(),
            turns: VecDeque::new(),
            current: None,
        }
    }

    /// A turn begins. None: nothing is queued.
    fn next_turn(&mut self) -> Option<u32> {
        let flow = self.turns.pop_front()?;
        self.deficits[flow as usize] += self.quantum;
        self.current = Some(flow);
        Some(flow)
    }

    /// May the flow send its next item in this turn?
    fn affords(&self, flow: u32) -> bool {
        let next = self.flows.first(flow as usize);
        next.is_some_and(|item| u64::from(item.bytes()) <= self.deficits[flow as usize])
    }

    fn send(&mut self, flow: u32) -> Option<T> {
        let item = self.flows.pop(flow as usize)?;
        let deficit = &mut self.deficits[flow as usize];
        *deficit -= u64::from(item.bytes());
        if self.flows.is_empty(flow as usize) {
            *deficit = 0;
            self.current = None;
        }
        Some(item)
    }
}

impl<T: Item> Queue<T> for Drr<T> {
    #[inline]
    fn enqueue(&mut self, _: Picos, item: T, _: &mut Vec<Dropped<T>>) {
        let flow = item.flow();
        if self.flows.push(flow as usize, item) {
            self.turns.push_back(flow);
        }
        growing::at(&mut self.deficits, flow as usize, 0);
    }

    #[inline]
    fn dequeue(&mut self, _: Picos, _: &mut Vec<Dropped<T>>) -> Option<T> {
        loop {
            let flow = match self.current {
                Some(flow) => flow,
                None => self.next_turn()?,
            };
            if self.affords(flow) {
                return self.send(flow);
            }
            self.turns.push_back(flow);
            self.current = None;
        }
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
