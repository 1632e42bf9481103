//! What the tests queue, and what holds for every discipline.

mod conservation;
mod fairness;
mod hop;
mod pdus;
mod pools;

use crate::item::{Backlog, Cause, Dropped, Item, Pdu};
use crate::{Counts, Queue, Settings, Switch};
use delaylab_model::Picos;
use delaylab_model::path;

/// An item that can be anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Thing {
    pub(crate) number: u32,
    pub(crate) flow: u32,
    pub(crate) bytes: u32,
    pub(crate) queue: u8,
    pub(crate) ingress: u16,
    pub(crate) ecn: bool,
    pub(crate) low_latency: bool,
    pub(crate) dscp: u8,
    pub(crate) marked: bool,
    pub(crate) pdu: Pdu,
}

impl Thing {
    /// A cell of a flow.
    pub(crate) const fn cell(flow: u32) -> Self {
        Self {
            number: 0,
            flow,
            bytes: 53,
            queue: 0,
            ingress: 0,
            ecn: false,
            low_latency: false,
            dscp: 0,
            marked: false,
            pdu: Pdu::Apart,
        }
    }

    /// The same, with a number to know it by.
    pub(crate) const fn number(mut self, number: u32) -> Self {
        self.number = number;
        self
    }

    pub(crate) const fn bytes(mut self, bytes: u32) -> Self {
        self.bytes = bytes;
        self
    }

    pub(crate) const fn queue(mut self, queue: u8) -> Self {
        self.queue = queue;
        self
    }

    pub(crate) const fn ecn(mut self) -> Self {
        self.ecn = true;
        self
    }

    pub(crate) const fn dscp(mut self, dscp: u8) -> Self {
        self.dscp = dscp;
        self
    }

    pub(crate) const fn low_latency(mut self) -> Self {
        self.low_latency = true;
        self
    }
}

impl Item for Thing {
    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn flow(&self) -> u32 {
        self.flow
    }

    fn queue(&self) -> u8 {
        self.queue
    }

    fn ingress(&self) -> u16 {
        self.ingress
    }

    fn mark(&mut self) -> bool {
        self.marked = self.ecn;
        self.ecn
    }

    fn ecn_capable(&self) -> bool {
        self.ecn
    }

    fn dscp(&self) -> u8 {
        self.dscp
    }

    fn low_latency(&self) -> bool {
        self.low_latency
    }

    fn pdu(&self) -> Pdu {
        self.pdu
    }
}

/// Settings as a file would have them, for cells.
pub(crate) fn cells(change: impl FnOnce(&mut path::Switch)) -> Settings {
    let mut switch = path::Switch::default();
    change(&mut switch);
    Settings::read(&switch, Counts::Cells, &["a", "b", "c"]).expect("good settings")
}

/// Puts an item into a queue that drops nothing.
pub(crate) fn put(queue: &mut impl Queue<Thing>, now: Picos, item: Thing) {
    let mut drops = Vec::new();
    queue.enqueue(now, item, &mut drops);
    assert_eq!(drops, []);
}

/// Takes an item out of a queue that drops nothing.
pub(crate) fn take(queue: &mut impl Queue<Thing>, now: Picos) -> Option<Thing> {
    let mut drops = Vec::new();
    let item = queue.dequeue(now, &mut drops);
    assert_eq!(drops, []);
    item
}
