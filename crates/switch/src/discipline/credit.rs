//! Round robin over the flows that have credit (N23, see [`crate::credit`]).
//!
//! A flow without credit is left out of the turns until a credit for it is handed in, however much of
//! it is queued: the one discipline that may hold items and give none.
//!
//! References and validation: in [`crate::credit`].

use super::list::Lists;
use super::queue::Queue;
use crate::credit::Upstream;
use crate::growing;
use crate::item::{Backlog, Dropped, Item};
use delaylab_model::{Picos, path};
use std::collections::VecDeque;

/// The queues, the credit of each, and whose turn it is.
#[derive(Debug, Clone)]
pub struct Credit<T> {
    flows: Lists<T>,
    /// Grown with the flows: one that is not here has sent nothing.
    upstream: Vec<Upstream>,
    fresh: Upstream,
    /// Flows that are backlogged and have credit.
    turns: VecDeque<u32>,
    held: Backlog,
}

impl<T> Credit<T> {
    /// Each flow begins with credit for N2 + N3.
    pub fn new(credit: path::Credit) -> Self {
        Self {
            flows: Lists::default(),
            upstream: Vec::new(),
            fresh: Upstream::new(credit),
            turns: VecDeque::new(),
            held: Backlog::default(),
        }
    }

    /// A credit came: the next hop has forwarded so many cells of the flow in all. True: the flow was
    /// waiting for it.
    pub fn credit(&mut self, flow: u32, forwarded: u64) -> bool {
        let upstream = self.upstream(flow);
        let had_none = upstream.credit() == 0;
        upstream.receive(forwarded);
        let wakes = had_none && upstream.credit() > 0 && !self.flows.is_empty(flow as usize);
        if wakes {
            self.turns.push_back(flow);
        }
        wakes
    }

    #[inline]
    fn upstream(&mut self, flow: u32) -> &mut Upstream {
        growing::at(&mut self.upstream, flow as usize, self.fresh)
    }
}

impl<T: Item> Queue<T> for Credit<T> {
    #[inline]
    fn enqueue(&mut self, _: Picos, item: T, _: &mut Vec<Dropped<T>>) {
        let flow = item.flow();
        self.held.add(item.bytes());
        if self.flows.push(flow as usize, item) && self.upstream(flow).credit() > 0 {
            self.turns.push_back(flow);
        }
    }

    #[inline]
    fn dequeue(&mut self, _: Picos, _: &mut Vec<Dropped<T>>) -> Option<T> {
        let flow = self.turns.pop_front()?;
        let item = self.flows.pop(flow as usize)?;
        let upstream = self.upstream(flow);
        upstream.send();
        if upstream.credit() > 0 && !self.flows.is_empty(flow as usize) {
            self.turns.push_back(flow);
        }
        self.held.remove(item.bytes());
        Some(item)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.held
    }
}
