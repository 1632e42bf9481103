//! Weighted fair queueing, by self-clocked tags (SCFQ): the queue with the smallest tag is next.
//!
//! A queue's tag grows by bytes/weight with each of its items; a queue that was idle begins at the tag of
//! the item that left last, the virtual time: F = max(F_prev, v) + bytes/w. Items of one size are cells,
//! where this is 1/w in another unit.
//!
//! References: S. J. Golestani, "A self-clocked fair queueing scheme for broadband applications",
//! INFOCOM 1994: while two queues are backlogged, what they were served of, divided by their weights,
//! differs by at most L_i/w_i + L_j/w_j (its theorem 1).
//!
//! Validation: that bound for random sizes and weights; order and conservation under random traffic.

use super::flows::Flows;
use super::queue::Queue;
use crate::growing;
use crate::item::{Backlog, Dropped, Item, Length};
use crate::weights::Weights;
use delaylab_model::Picos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Bytes/weight with a fraction of 32 bits.
type Tag = u128;

/// The queues and their tags.
#[derive(Debug, Clone)]
pub struct Wfq<T> {
    weights: Weights,
    queues: Flows<T>,
    /// Of the item at the head of each queue, or of the one that left it empty.
    tags: Vec<Tag>,
    /// Backlogged queues: tag, the order in which they got it, queue.
    heads: BinaryHeap<Reverse<(Tag, u64, usize)>>,
    virtual_time: Tag,
    order: u64,
}

impl<T> Wfq<T> {
    /// With these weights.
    pub fn new(weights: Weights) -> Self {
        Self {
            weights,
            queues: Flows::default(),
            tags: Vec::new(),
            heads: BinaryHeap::new(),
            virtual_time: 0,
            order: 0,
        }
    }

    /// An item of so many bytes is now at the head of a queue.
    fn at_head(&mut self, queue: usize, bytes: u32) {
        let cost = (Tag::from(bytes) << 32) / Tag::from(self.weights.weight(queue));
        let tag = growing::at(&mut self.tags, queue, 0);
        // A backlogged queue's tag is never behind the virtual time.
        *tag = (*tag).max(self.virtual_time) + cost;
        self.order += 1;
        self.heads.push(Reverse((*tag, self.order, queue)));
    }
}

impl<T: Item> Wfq<T> {
    /// What is next of the queues that are not stopped. For those that are the virtual time goes on, as for idle ones.
    pub(super) fn dequeue_but(&mut self, stopped: impl Fn(usize) -> bool) -> Option<T> {
        let mut aside = Vec::new();
        let open = loop {
            match self.heads.pop() {
                Some(Reverse(head)) if stopped(head.2) => aside.push(Reverse(head)),
                head => break head,
            }
        };
        self.heads.extend(open);
        let item = open.and_then(|_| self.dequeue(0, &mut Vec::new()));
        for Reverse((tag, order, queue)) in aside {
            let tag = tag.max(self.virtual_time);
            self.tags[queue] = tag;
            self.heads.push(Reverse((tag, order, queue)));
        }
        item
    }
}

impl<T: Item> Queue<T> for Wfq<T> {
    #[inline]
    fn enqueue(&mut self, _: Picos, item: T, _: &mut Vec<Dropped<T>>) {
        let (queue, bytes) = (self.weights.queue(&item), item.bytes());
        if self.queues.push(queue, item) {
            self.at_head(queue, bytes);
        }
    }

    #[inline]
    fn dequeue(&mut self, _: Picos, _: &mut Vec<Dropped<T>>) -> Option<T> {
        let Reverse((tag, _, queue)) = self.heads.pop()?;
        self.virtual_time = tag;
        let item = self.queues.pop(queue)?;
        if let Some(bytes) = self.queues.first(queue).map(Item::bytes) {
            self.at_head(queue, bytes);
        }
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
