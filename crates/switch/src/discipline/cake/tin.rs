//! A tin: the flows of one class, and which of them is next.

use super::QUEUES;
use super::cobalt::{self, Cobalt};
use super::table::Table;
use crate::discipline::longest::Longest;
use crate::growing;
use crate::item::{Backlog, Item};
use delaylab_model::Picos;
use delaylab_model::path::Isolation;
use std::collections::VecDeque;

/// Deficits are in bytes of 2⁻¹⁶, so that a quantum can be divided among many flows.
const SCALE: i64 = 1 << 16;

/// Between which hosts flows are.
#[derive(Debug, Clone, Default)]
pub(super) struct Hosts(Vec<Option<[u32; 2]>>);

impl Hosts {
    pub(super) fn tell(&mut self, flow: u32, hosts: [u32; 2]) {
        *growing::at(&mut self.0, flow as usize, None) = Some(hosts);
    }

    fn ends(&self, flow: u32) -> Option<[u32; 2]> {
        self.0.get(flow as usize).copied().flatten()
    }
}

/// How a flow is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Set {
    /// Nothing is queued, nor is it in a list.
    #[default]
    None,
    /// New: it has not used up its first quantum.
    Sparse,
    /// It has, but had nothing more.
    SparseWait,
    /// Backlogged: it counts for its hosts.
    Bulk,
}

/// A queue and what is known of it. Its items are in the common store.
#[derive(Debug, Clone, Default)]
pub(super) struct Flow {
    pub(super) cobalt: Cobalt,
    /// The flow that has the queue, or the last one that came.
    number: u32,
    set: Set,
    /// The hosts that it is counted for while it is bulk.
    counts_for: Option<[u32; 2]>,
    deficit: i64,
    held: Backlog,
}

/// One class.
#[derive(Debug, Clone)]
pub(super) struct Tin {
    rate: Option<u64>,
    /// Bytes a round of each flow.
    pub(super) quantum: u32,
    /// Bytes a turn among tins without a rate.
    pub(super) weight: i64,
    pub(super) deficit: i64,
    /// Until then its share of the rate is used up.
    pub(super) next: Picos,
    pub(super) cobalt: cobalt::Parameters,
    table: Table,
    pub(super) flows: Vec<Flow>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    /// Bulk flows from each host, and to each.
    bulk: [Vec<u32>; 2],
    pub(super) held: Backlog,
    longest: Longest,
}

impl Tin {
    /// With this rate, quantum and weight.
    pub(super) fn new(
        (rate, quantum, weight): (Option<u64>, u32, i64),
        cobalt: cobalt::Parameters,
        salt: u64,
    ) -> Self {
        let table = Table::new(QUEUES, salt);
        Self {
            rate,
            quantum,
            weight,
            deficit: 0,
            next: 0,
            cobalt,
            flows: vec![Flow::default(); table.len()],
            table,
            new: VecDeque::new(),
            old: VecDeque::new(),
            bulk: [Vec::new(), Vec::new()],
            held: Backlog::default(),
            longest: Longest::default(),
        }
    }

    /// An item comes: into which queue?
    pub(super) fn arrives(
        &mut self,
        now: Picos,
        item: &impl Item,
        isolation: Isolation,
        hosts: &Hosts,
    ) -> usize {
        if self.held.is_empty() {
            self.next = self.next.max(now);
        }
        let flows = &self.flows;
        let queue = self
            .table
            .queue(item.flow(), |queue| flows[queue].set == Set::None);
        self.held.add(item.bytes());
        let flow = &mut self.flows[queue];
        flow.held.add(item.bytes());
        self.longest.note(queue, flow.held.bytes);
        let is_another = flow.number != item.flow();
        flow.number = item.flow();
        match flow.set {
            Set::None => {
                if is_another {
                    flow.cobalt = Cobalt::default();
                } else {
                    flow.cobalt.rested(now, self.cobalt);
                }
                flow.set = Set::Sparse;
                let share = self.share(queue, isolation, hosts);
                self.flows[queue].deficit = share;
                self.new.push_back(queue);
            }
            Set::SparseWait => self.becomes_bulk(queue, hosts),
            Set::Sparse | Set::Bulk => {}
        }
        queue
    }

    /// An item left a queue.
    pub(super) fn left(&mut self, queue: usize, bytes: u32) {
        self.held.remove(bytes);
        self.flows[queue].held.remove(bytes);
        self.longest.note(queue, self.flows[queue].held.bytes);
    }

    /// It was sent.
    pub(super) fn charge(&mut self, queue: usize, bytes: u32) {
        self.flows[queue].deficit -= i64::from(bytes) * SCALE;
        self.deficit -= i64::from(bytes);
    }

    /// Its share of the rate is used for so long.
    pub(super) fn advance(&mut self, now: Picos, takes: impl Fn(u64) -> Picos) {
        let Some(rate) = self.rate else {
            return;
        };
        let takes = takes(rate);
        if self.next < now {
            self.next += takes;
        } else if self.next < now.saturating_add(takes) {
            self.next = now.saturating_add(takes);
        }
    }

    /// The queue whose turn it is, with deficit left. None: all lists are empty.
    pub(super) fn turn(&mut self, isolation: Isolation, hosts: &Hosts) -> Option<usize> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let queue = *list.front()?;
            let flow = &mut self.flows[queue];
            if flow.deficit > 0 {
                return Some(queue);
            }
            list.pop_front();
            self.old.push_back(queue);
            if flow.set == Set::Sparse {
                if flow.held.is_empty() {
                    flow.set = Set::SparseWait;
                } else {
                    self.becomes_bulk(queue, hosts);
                }
            }
            let share = self.share(queue, isolation, hosts);
            self.flows[queue].deficit += share;
        }
    }

    /// The queue whose turn it is turned out empty.
    pub(super) fn retire(&mut self, queue: usize, now: Picos) {
        let is_new = self.new.front() == Some(&queue);
        let list = if is_new { &mut self.new } else { &mut self.old };
        list.pop_front();
        let flow = &mut self.flows[queue];
        flow.cobalt.empty(now, self.cobalt);
        flow.set = Set::None;
        if let Some(hosts) = flow.counts_for.take() {
            for (bulk, host) in self.bulk.iter_mut().zip(hosts) {
                bulk[host as usize] -= 1;
            }
        }
    }

    fn becomes_bulk(&mut self, queue: usize, hosts: &Hosts) {
        let flow = &mut self.flows[queue];
        flow.set = Set::Bulk;
        flow.counts_for = hosts.ends(flow.number);
        for (bulk, host) in self
            .bulk
            .iter_mut()
            .zip(flow.counts_for.into_iter().flatten())
        {
            *growing::at(bulk, host as usize, 0) += 1;
        }
    }

    /// A flow's part of the quantum: by how many flows its hosts have.
    fn share(&self, queue: usize, isolation: Isolation, hosts: &Hosts) -> i64 {
        let flow = &self.flows[queue];
        let ends = flow.counts_for.or_else(|| hosts.ends(flow.number));
        let bulk = |way: usize| {
            let host = ends.map(|ends| ends[way] as usize);
            host.and_then(|host| self.bulk[way].get(host)).copied()
        };
        let [from, to] = [0, 1].map(|way| bulk(way).unwrap_or(0).max(1));
        let load = match isolation {
            Isolation::Flows => 1,
            Isolation::DualSource => from,
            Isolation::DualDestination => to,
            Isolation::Triple => from.max(to),
        };
        i64::from(self.quantum) * SCALE / i64::from(load)
    }

    /// The queue that holds the most, and how much.
    pub(super) fn longest(&mut self) -> Option<(u64, usize)> {
        let all = self.flows.iter().map(|flow| flow.held.bytes);
        let (queue, bytes) = self.longest.get(all);
        (bytes > 0).then_some((bytes, queue))
    }
}
