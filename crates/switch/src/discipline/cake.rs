//! CAKE: a shaper, tins by DiffServ, fair between hosts and between the flows of each, and COBALT in each queue.
//!
//! | part | here |
//! |---|---|
//! | shaper | a virtual clock: an item may leave when what left before it would have been sent at `rate`. No bursts are saved up in idle time. Of each item so many bytes are counted beyond IP, and at least so many |
//! | tins | `besteffort`: one. `diffserv4`: voice, video and bulk go first up to 1/4, 1/2 and 1/16 of the rate, in this order; best effort has the rest. Without a rate they share by weights of 256, 512, 64 and 1024 |
//! | flows | deficit round robin with new flows first (DRR++), each in a queue of its own by a hash of eight ways; the quantum of a tin is its rate / 4096, from 300 to 1514 bytes |
//! | hosts | a flow's quantum is divided by how many flows of its source or of its destination are backlogged, whichever is more (`triple`) |
//! | queue | COBALT, target 5 ms or 1.5 times what the largest packet takes at the tin's rate |
//!
//! When more is held than the limit, the longest queue loses its first item. What the kernel's has beyond this is not here: the ACK
//! filter, washing DSCP, ingress mode, automatic rates, tins by 3, 5 and 8 precedences, NAT. The drop count and BLUE's probability of a
//! queue that rests go down with time; in the kernel with what leaves other queues, and no other flow has the queue until then. Here
//! another flow begins afresh.
//!
//! References: T. Høiland-Jørgensen, D. Täht and J. Morton, "Piece of CAKE: a comprehensive queue management solution for home gateways",
//! IEEE LANMAN 2018; tc-cake(8); RFC 8290 section 4; COBALT: J. Palmei
//! et al., "Design and evaluation of COBALT queue discipline", IEEE LANMAN 2019.
//!
//! Validation: the shaper against rate·t with overhead; bytes of backlogged flows, and of hosts with unequal numbers of flows; tins'
//! shares; COBALT's spacing against CoDel's; conservation under random traffic; TCP in `crates/sim/tests/aqm.rs`. Not against a kernel's.

mod cobalt;
mod table;
#[cfg(test)]
mod tests;
mod tin;

use super::list::Lists;
use super::queue::Queue;
use crate::buffer::Bound;
use crate::item::{Backlog, Cause, Dropped, Item};
use delaylab_model::path::{CakeTins, Isolation};
use delaylab_model::{PICOS_PER_SECOND, Picos};
use delaylab_stats::random::SplitMix;
use tin::{Hosts, Tin};

/// Queues of a tin.
const QUEUES: usize = 1024;
/// Bytes of a round at low rates, and at high ones.
const LEAST_QUANTUM: u64 = 300;
const MOST_QUANTUM: u64 = 1514;

/// Its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// In bit/s. None: as fast as the line takes it.
    pub rate: Option<u64>,
    /// Added to the bytes of each item before the shaper counts them.
    pub overhead: i64,
    /// The least that it counts.
    pub least: u32,
    /// Which tins there are.
    pub tins: CakeTins,
    /// Between whom it is fair.
    pub isolation: Isolation,
    /// Acceptable standing sojourn time.
    pub target: Picos,
    /// Over which it is observed: a usual round trip.
    pub interval: Picos,
    /// Bytes of the largest packet, which targets allow for: an Ethernet frame without its FCS.
    pub largest: u32,
    /// Bytes a round. None: by the rate of each tin.
    pub quantum: Option<u32>,
}

/// All tins.
#[derive(Debug, Clone)]
pub struct Cake<T> {
    parameters: Parameters,
    limit: Bound,
    random: SplitMix,
    store: Lists<(Picos, T)>,
    tins: Vec<Tin>,
    /// Whose turn it is where there is no rate.
    current: usize,
    hosts: Hosts,
    /// When the shaper lets the next item go.
    next: Picos,
    held: Backlog,
}

/// Picoseconds of so many bytes at so many bit/s.
fn takes(bytes: u64, rate: u64) -> Picos {
    let picos = u128::from(bytes) * 8 * u128::from(PICOS_PER_SECOND) / u128::from(rate.max(1));
    Picos::try_from(picos).unwrap_or(Picos::MAX)
}

/// Of each tin its part of the rate, and its weight where there is no rate.
const fn shares(tins: CakeTins) -> &'static [(u64, u64)] {
    match tins {
        CakeTins::BestEffort => &[(1, 1)],
        // Best effort, bulk, video, voice.
        CakeTins::DiffServ4 => &[(1, 1024), (16, 64), (2, 512), (4, 256)],
    }
}

/// Bytes a round of a tin's flows: what the tin sends in 244 µs, from 300 bytes to a packet, as the kernel has it.
fn quantum_at(rate: Option<u64>) -> u32 {
    let bytes = rate.map_or(MOST_QUANTUM, |rate| (rate / 8) >> 12);
    bytes.clamp(LEAST_QUANTUM, MOST_QUANTUM) as u32
}

impl<T: Item> Cake<T> {
    /// Empty queues that hold no more than `limit` together. A quantum of 0 counts as 1.
    pub fn new(parameters: Parameters, limit: Bound, seed: u64) -> Self {
        let mut random = SplitMix::new(seed);
        let salt = random.next();
        let tins = shares(parameters.tins).iter().map(|(part, weight)| {
            let rate = parameters.rate.map(|rate| (rate / part).max(1));
            let quantum = parameters.quantum.unwrap_or_else(|| quantum_at(rate));
            let tin = (rate, quantum.max(1), *weight as i64);
            Tin::new(tin, Self::cobalt(parameters, rate), salt)
        });
        Self {
            parameters,
            limit,
            random,
            store: Lists::default(),
            tins: tins.collect(),
            current: 0,
            hosts: Hosts::default(),
            next: 0,
            held: Backlog::default(),
        }
    }

    fn cobalt(parameters: Parameters, rate: Option<u64>) -> cobalt::Parameters {
        let largest = rate.map_or(0, |rate| takes(parameters.largest.into(), rate));
        let target = parameters.target.max(largest + largest / 2);
        let longer = parameters.interval + (target - parameters.target);
        cobalt::Parameters {
            target,
            interval: longer.max(2 * target),
            largest,
        }
    }

    /// A flow is between these hosts, by small dense numbers.
    pub fn tell_hosts(&mut self, flow: u32, hosts: [u32; 2]) {
        self.hosts.tell(flow, hosts);
    }

    /// What the shaper counts of an item.
    fn counted(&self, bytes: u32) -> u64 {
        let bytes = i64::from(bytes) + self.parameters.overhead;
        bytes.max(i64::from(self.parameters.least)).cast_unsigned()
    }

    /// Which tin, by the item's DSCP (tc-cake(8), diffserv4).
    fn tin_of(&self, dscp: u8) -> usize {
        match (self.parameters.tins, dscp) {
            (CakeTins::BestEffort, _) => 0,
            // LE (RFC 8622) and CS1.
            (_, 1 | 8) => 1,
            // CS7, CS6, EF, VA, CS5, CS4.
            (_, 56 | 48 | 46 | 44 | 40 | 32) => 3,
            // AF4, AF3, CS3, AF2, CS2 and the TOS bits of throughput.
            (_, 34 | 36 | 38 | 26 | 28 | 30 | 24 | 18 | 20 | 22 | 16 | 4) => 2,
            _ => 0,
        }
    }

    /// The store's list of a queue of a tin.
    const fn list(tin: usize, queue: usize) -> usize {
        tin * QUEUES + queue
    }

    /// Which tin is next. None: nothing is held.
    fn choose(&mut self, now: Picos) -> Option<usize> {
        if self.held.is_empty() {
            return None;
        }
        if self.parameters.rate.is_some() {
            return self.earliest(now);
        }
        loop {
            let tin = &mut self.tins[self.current];
            if !tin.held.is_empty() && tin.deficit > 0 {
                return Some(self.current);
            }
            // Its turn is over; it begins the next one with what it owes.
            tin.deficit = if tin.held.is_empty() {
                0
            } else {
                tin.deficit + tin.weight
            };
            self.current = (self.current + 1) % self.tins.len();
        }
    }

    /// The last of those within their share of the rate, else the one that will be first.
    fn earliest(&self, now: Picos) -> Option<usize> {
        let backlogged = (0..self.tins.len()).filter(|tin| !self.tins[*tin].held.is_empty());
        backlogged.min_by_key(|tin| {
            let wait = self.tins[*tin].next.saturating_sub(now);
            (wait, self.tins.len() - tin)
        })
    }

    /// An item of a tin that leaves. None: all of them were dropped.
    fn take(&mut self, tin: usize, now: Picos, drops: &mut Vec<Dropped<T>>) -> Option<T> {
        let isolation = self.parameters.isolation;
        while let Some(queue) = self.tins[tin].turn(isolation, &self.hosts) {
            let list = Self::list(tin, queue);
            while let Some((arrived, mut item)) = self.store.pop(list) {
                let of = &mut self.tins[tin];
                of.left(queue, item.bytes());
                self.held.remove(item.bytes());
                let cobalt = &mut of.flows[queue].cobalt;
                let drop = cobalt.drops(now, arrived, &mut item, of.cobalt, &mut self.random);
                if !drop || self.store.is_empty(list) {
                    of.charge(queue, item.bytes());
                    return Some(item);
                }
                drops.push(Dropped::new(item, Cause::Cobalt));
            }
            self.tins[tin].retire(queue, now);
        }
        None
    }

    /// What leaves now keeps the shaper, and the tin's share, busy for so long.
    fn advance(&mut self, tin: usize, now: Picos, bytes: u32) {
        let counted = self.counted(bytes);
        if let Some(rate) = self.parameters.rate {
            self.next = self.next.saturating_add(takes(counted, rate));
            self.tins[tin].advance(now, |rate| takes(counted, rate));
        }
    }

    /// The first item of the longest queue goes.
    fn shed(&mut self, now: Picos, drops: &mut Vec<Dropped<T>>) {
        let longest = self.tins.iter_mut().enumerate().filter_map(|(tin, of)| {
            let (bytes, queue) = of.longest()?;
            Some((bytes, tin, queue))
        });
        let Some((_, tin, queue)) = longest.max() else {
            return;
        };
        let Some((_, item)) = self.store.pop(Self::list(tin, queue)) else {
            return;
        };
        self.held.remove(item.bytes());
        let of = &mut self.tins[tin];
        of.left(queue, item.bytes());
        of.flows[queue].cobalt.full(now, of.cobalt);
        drops.push(Dropped::new(item, Cause::BufferFull));
    }

    fn next_item(&mut self, now: Picos, drops: &mut Vec<Dropped<T>>) -> Option<T> {
        while let Some(tin) = self.choose(now) {
            if let Some(item) = self.take(tin, now, drops) {
                self.advance(tin, now, item.bytes());
                return Some(item);
            }
        }
        None
    }
}

impl<T: Item> Queue<T> for Cake<T> {
    fn enqueue(&mut self, now: Picos, item: T, drops: &mut Vec<Dropped<T>>) {
        // Idle time saves nothing up.
        if self.held.is_empty() {
            self.next = self.next.max(now);
        }
        let tin = self.tin_of(item.dscp());
        let queue = self.tins[tin].arrives(now, &item, self.parameters.isolation, &self.hosts);
        self.held.add(item.bytes());
        self.store.push(Self::list(tin, queue), (now, item));
        while self.limit.exceeded(self.held) {
            self.shed(now, drops);
        }
    }

    fn dequeue(&mut self, now: Picos, drops: &mut Vec<Dropped<T>>) -> Option<T> {
        if self.parameters.rate.is_some() && now < self.next {
            return None;
        }
        self.next_item(now, drops)
    }

    fn next_event(&self) -> Option<Picos> {
        self.parameters.rate.map(|_| self.next)
    }

    fn give_up(&mut self, now: Picos, drops: &mut Vec<Dropped<T>>) -> Option<T> {
        self.next_item(now, drops)
    }

    fn backlog(&self) -> Backlog {
        self.held
    }
}
