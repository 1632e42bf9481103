//! FQ-CoDel: deficit round robin over hashed flows, each under CoDel, new flows first.
//!
//! A flow that sends less than a quantum a round is always new, and so passes the backlogged ones. When
//! more is held than the limit, the fattest queue loses half of its items from its head, at most 64.
//! Flows are hashed with the seed, as RFC 8290 wants: two may share a queue.
//!
//! CoDel leaves the last packet alone (RFC 8289 section 5: no drop while no more than one MTU is held). RFC 8290 runs it in
//! each queue, so that `n` flows of one packet each are never dropped from, and wait for n packets. Linux asks
//! whether all queues together hold no more than an MTU, and keeps to the target with any number of flows.
//! Both are here ([`NearEmpty`]); the RFC's is the default.
//!
//! References: RFC 8290, T. Høiland-Jørgensen et al. (2018), sections 4.1 (enqueue, overload) and 4.2
//! (dequeue).
//!
//! Validation: backlogged flows get equal bytes within a quantum and an item; a sparse flow waits for
//! one item at most; overload falls on the fattest; CoDel's control is the same code as
//! [`super::codel`]'s; 100 flows of one packet each at 10 Mbit/s, dropped from by the one rule and not by the other.

#[cfg(test)]
mod tests;

use super::codel::{self, Control, Source};
use super::list::Lists;
use super::longest::Longest;
use super::queue::Queue;
use crate::buffer::Bound;
use crate::item::{Backlog, Cause, Dropped, Item};
use delaylab_model::Picos;
use delaylab_model::path::NearEmpty;
use delaylab_stats::random::SplitMix;
use std::collections::VecDeque;

/// The most that one overload drops (RFC 8290 section 4.1).
const BATCH: u64 = 64;

/// Its parameters. What it holds at most is the buffer's size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// Of each queue.
    pub codel: codel::Parameters,
    /// Bytes a round.
    pub quantum: u32,
    /// How many queues flows are hashed into.
    pub queues: u32,
    /// What must hold more than one of the largest items for CoDel to drop.
    pub near_empty: NearEmpty,
}

/// A queue and what is known of it. Its items are in the common store.
#[derive(Debug, Clone, Default)]
struct Flow {
    control: Control,
    /// Bytes it may still send this round.
    credit: i64,
    held: Backlog,
    /// Is it in a list?
    active: bool,
}

/// Every queue.
#[derive(Debug, Clone)]
pub struct FqCoDel<T> {
    parameters: Parameters,
    limit: Bound,
    salt: u64,
    flows: Vec<Flow>,
    store: Lists<(Picos, T)>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    held: Backlog,
    fattest: Longest,
    largest: u32,
}

/// One queue of them, as CoDel takes from it.
struct Taken<'a, T> {
    store: &'a mut Lists<(Picos, T)>,
    queue: usize,
    held: &'a mut Backlog,
    all: &'a mut Backlog,
    largest: u32,
    near_empty: NearEmpty,
}

impl<T: Item> Source<T> for Taken<'_, T> {
    #[inline]
    fn pop(&mut self) -> Option<(Picos, T)> {
        let (arrived, item) = self.store.pop(self.queue)?;
        self.held.remove(item.bytes());
        self.all.remove(item.bytes());
        Some((arrived, item))
    }

    #[inline]
    fn nearly_empty(&self) -> bool {
        let held = match self.near_empty {
            NearEmpty::Flow => &self.held,
            NearEmpty::All => &self.all,
        };
        held.bytes <= u64::from(self.largest)
    }
}

impl<T: Item> FqCoDel<T> {
    /// Empty queues that hold no more than `limit` together. A quantum or a number of 0 counts as 1.
    pub fn new(mut parameters: Parameters, limit: Bound, seed: u64) -> Self {
        parameters.quantum = parameters.quantum.max(1);
        Self {
            parameters,
            limit,
            salt: seed,
            flows: vec![Flow::default(); parameters.queues.max(1) as usize],
            store: Lists::default(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            held: Backlog::default(),
            fattest: Longest::default(),
            largest: parameters.codel.largest,
        }
    }

    /// Which queue a flow is hashed into.
    #[inline]
    pub fn queue_of(&self, flow: u32) -> usize {
        SplitMix::new(self.salt ^ u64::from(flow)).below(self.flows.len())
    }

    fn activate(&mut self, queue: usize) {
        let flow = &mut self.flows[queue];
        if !flow.active {
            flow.active = true;
            flow.credit = i64::from(self.parameters.quantum);
            self.new.push_back(queue);
        }
    }

    /// Half of the fattest queue, from its head.
    fn shed(&mut self, drops: &mut Vec<Dropped<T>>) {
        let all = self.flows.iter().map(|flow| flow.held.bytes);
        let (fattest, _) = self.fattest.get(all);
        let count = (self.flows[fattest].held.items / 2).clamp(1, BATCH);
        let (_, mut taken) = self.taken(fattest);
        let shed = (0..count).map_while(|_| taken.pop());
        drops.extend(shed.map(|(_, item)| Dropped::new(item, Cause::BufferFull)));
        self.note_length(fattest);
    }

    /// Something came to a queue, or left it.
    #[inline]
    fn note_length(&mut self, queue: usize) {
        self.fattest.note(queue, self.flows[queue].held.bytes);
    }

    fn taken(&mut self, queue: usize) -> (&mut Control, Taken<'_, T>) {
        let flow = &mut self.flows[queue];
        let taken = Taken {
            store: &mut self.store,
            queue,
            held: &mut flow.held,
            all: &mut self.held,
            largest: self.largest,
            near_empty: self.parameters.near_empty,
        };
        (&mut flow.control, taken)
    }

    /// The queue whose turn it is, with credit; and is it new? None: all lists are empty.
    fn turn(&mut self) -> Option<(usize, bool)> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let queue = *list.front()?;
            let flow = &mut self.flows[queue];
            if flow.credit > 0 {
                return Some((queue, is_new));
            }
            flow.credit += i64::from(self.parameters.quantum);
            list.pop_front();
            self.old.push_back(queue);
        }
    }

    /// The queue whose turn it is turned out empty. A new one goes behind the old ones, else it could be
    /// new again at once and starve them.
    fn retire(&mut self, queue: usize, is_new: bool) {
        if is_new {
            self.new.pop_front();
            self.old.push_back(queue);
        } else {
            self.old.pop_front();
            self.flows[queue].active = false;
        }
    }
}

impl<T: Item> Queue<T> for FqCoDel<T> {
    #[inline]
    fn enqueue(&mut self, now: Picos, item: T, drops: &mut Vec<Dropped<T>>) {
        let queue = self.queue_of(item.flow());
        self.held.add(item.bytes());
        self.flows[queue].held.add(item.bytes());
        self.note_length(queue);
        self.largest = self.largest.max(item.bytes());
        self.store.push(queue, (now, item));
        self.activate(queue);
        while self.limit.exceeded(self.held) {
            self.shed(drops);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Picos, drops: &mut Vec<Dropped<T>>) -> Option<T> {
        loop {
            let (queue, is_new) = self.turn()?;
            let codel = self.parameters.codel;
            let (control, mut taken) = self.taken(queue);
            let item = control.dequeue(now, codel, &mut taken, drops);
            self.note_length(queue);
            if let Some(item) = item {
                self.flows[queue].credit -= i64::from(item.bytes());
                return Some(item);
            }
            self.retire(queue, is_new);
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.held
    }
}
