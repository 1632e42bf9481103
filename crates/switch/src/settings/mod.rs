//! What a `[path.switch]` means: every setting checked, every default filled in.
//!
//! | setting | default |
//! |---|---|
//! | discipline | fifo |
//! | buffer | 1000 packets (what a Linux interface holds), 13,000 cells (source 003's switches); fq-codel 10,240 packets (RFC 8290); efci, explicit-rate and credit unlimited |
//! | queue_buffer | none: a class queue may fill its port's buffer |
//! | pool | output; shared where `alpha` is given, input where `crossbar` is |
//! | threshold | none: a port may fill its buffer; efci and explicit-rate on cells 500 cells (source 003) |
//! | weights | 1 each; without any, wrr and wfq serve flows and not class queues |
//! | quantum | 1514 bytes; fq-codel on packets the largest packet with an Ethernet header; drr on cells one cell; cake with a rate what each tin sends in 244 µs, 300 to 1514 bytes |
//! | red | packets: from 5 to 15 packets, 10 % (Floyd 1997); weight 0.002; gentle; ECN where the ends know it |
//! | codel | 5 ms in 100 ms (RFC 8289); fq-codel hashes into 1024 queues and leaves a flow its last packet (`near_empty = "flow"`) |
//! | pie | 15 ms, updated every 15 ms; bursts of 150 ms pass; marks up to 10 % (RFC 8033) |
//! | dualpi2 | 15 ms, updated every 16 ms, round trips up to 100 ms, k = 2; L4S marks from 0.8 to 1.2 ms; Classic traffic gets 10 % at least (RFC 9332) |
//! | cake | no rate; 14 bytes beyond the IP packet; diffserv4; triple; 100 ms; what the rate takes in 400 ms, from 4 MiB to 10,240 of the largest packets (tc-cake(8), sch_cake) |
//! | credit | none: it must be given |
//! | crossbar | none: buffers are at the outputs, or counted by input where `pool` is input; 4 iterations |
//! | flow_control | none; `xon` two of the largest frames below `xoff`; `headroom` what the link needs; 65,535 quanta; all priorities |
//! | shaper, policer | none; `ceil_burst` 1600 bytes; `header` 14 bytes beyond the IP packet (what the kernel counts of Ethernet) |
//!
//! `threshold` is where efci marks and explicit-rate acts; of the other disciplines it limits a port's
//! share of its buffer. A share of it (`"50%"`) is of the buffer. What disciplines are set by may stand
//! beside another one in use (tables, `weights`, `quantum`, `near_empty`), so that a sweep need set `discipline` alone; `burst` and
//! `explicit_rate` may not. `latency` is the world's.

mod guarded;
mod limit;
mod parameters;
mod read;
#[cfg(test)]
mod tests;

use crate::buffer::{Bound, Memory};
use crate::crossbar::scheduler;
use crate::discard::Discard;
use crate::discipline::Discipline;
pub use crate::discipline::Kind;
use crate::flow_control;
use crate::item::Item;
use crate::token_bucket::Limits as Buckets;
pub use crate::weights::{By, Weights};
use delaylab_model::path::{self, AbrMark};
use delaylab_model::refusal::Refusal;
pub use read::BUFFER_OF_CELLS;
use read::{Reader, cake_bytes};

/// What the links of a switch carry, and so what its queues count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// ATM cells.
    Cells,
    /// Packets or frames.
    Packets,
}

/// A switch, ready to be built.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The discipline of each output port.
    pub kind: Kind,
    /// The buffers behind them.
    pub memory: Memory,
    /// What each class queue of a port gets of them.
    pub queue_share: Bound,
    /// Whether PDUs are dropped as a whole.
    pub discard: Discard,
    /// Between buffers at the inputs and the output ports.
    pub crossbar: Option<scheduler::Parameters>,
    /// Between the queue of each port and its line.
    pub shaper: Option<Buckets>,
    /// Before the queue of each port.
    pub policer: Option<Buckets>,
    /// Pauses between neighbours.
    pub flow_control: Option<flow_control::Parameters>,
}

impl Settings {
    /// Of a `[path.switch]` between links that carry `counts`. The index of a name in `queues` is the
    /// number that items of that class queue say. What is refused is called as within `[path.switch]`: `red.min`.
    pub fn read(switch: &path::Switch, counts: Counts, queues: &[&str]) -> Result<Self, Refusal> {
        Reader::new(switch, counts, queues)?.settings()
    }

    /// The same, marking there (efci; without effect on others). As read, it marks at departure, which
    /// tells the source sooner.
    #[must_use]
    pub fn with_mark(mut self, at: AbrMark) -> Self {
        if let Kind::Fifo { mark: Some(mark) } = &mut self.kind {
            mark.at = at;
        }
        self
    }

    /// The same between links whose frames have so many bytes beyond the IP packet. As read, shapers and policers count
    /// all bytes of an item.
    #[must_use]
    pub fn with_framing(mut self, overhead: u32, section: &path::Switch) -> Self {
        let pairs = [
            (&mut self.shaper, section.shaper),
            (&mut self.policer, section.policer),
        ];
        for (buckets, given) in pairs {
            if let (Some(buckets), Some(given)) = (buckets, given) {
                buckets.uncounted = i64::from(overhead) - i64::from(given.counted());
            }
        }
        if let Kind::Cake(cake) = &mut self.kind {
            cake.overhead -= i64::from(overhead);
        }
        self
    }

    /// The same between links whose largest packet has `packet` bytes of IP, and `framed` bytes with its framing. What is given as
    /// `quantum` or `buffer` stays.
    #[must_use]
    pub fn with_largest(mut self, packet: u32, framed: u32, section: &path::Switch) -> Self {
        let frame = packet.saturating_add(parameters::ETHERNET);
        match &mut self.kind {
            Kind::CoDel(codel) => codel.largest = framed,
            Kind::FqCoDel(fq) => {
                fq.codel.largest = framed;
                if section.quantum.is_none() {
                    fq.quantum = frame;
                }
            }
            Kind::Cake(cake) => {
                cake.largest = frame;
                if section.buffer.is_none() {
                    self.memory.size.bytes = cake_bytes(section.cake.unwrap_or_default(), frame);
                }
            }
            _ => {}
        }
        self
    }

    /// An empty queue of a port. Equal seeds make equal decisions.
    pub(crate) fn queue<T: Item>(&self, seed: u64) -> Discipline<T> {
        let queue = Discipline::new(&self.kind, self.memory.size, seed);
        match self.flow_control {
            None => queue,
            Some(_) => queue.pausable(&self.kind),
        }
    }

    /// Does it lose nothing, whatever arrives?
    pub fn never_drops(&self) -> bool {
        let limits = [self.memory.size, self.memory.share, self.queue_share];
        limits == [Bound::UNLIMITED; 3]
            && self.policer.is_none()
            && !self.kind.drops_at_arrival()
            && !self.kind.drops_at_departure()
    }

    /// The same, with early or partial packet discard.
    #[must_use]
    pub const fn with_discard(mut self, discard: Discard) -> Self {
        self.discard = discard;
        self
    }
}
