//! Finite transfers: each stream has so many bytes to send, and again when they have come, or when those of all
//! streams have.
//!
//! Who asks for them is not simulated: the next round begins `gap` after the last byte of the one before was read.

use super::{Connection, Engine, Flow};
use crate::event_set::EventSet;
use crate::slots::Event;
use delaylab_model::Picos;
use std::sync::Arc;

/// The transfers of one stream.
#[derive(Debug, Clone)]
pub(super) struct Transfers {
    /// Of each.
    pub bytes: u64,
    pub gap: Picos,
    /// How many more may begin.
    pub left: u32,
    /// When the next begins; none while one is under way, or others are waited for.
    pub due: Option<Picos>,
    /// When each began that has begun, and ended that has ended.
    pub begun: Vec<Picos>,
    pub ended: Vec<Picos>,
    /// The load whose other streams it waits for.
    pub barrier: Option<u32>,
}

/// The streams of a load that begin their transfers together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Barrier {
    pub first: u32,
    pub streams: u32,
    /// How many have not ended theirs.
    pub waits_for: u32,
}

/// A transfer and the stream that it is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transferred {
    /// As in `senders 1`.
    pub of: Arc<str>,
    /// From 0.
    pub number: u64,
    /// Payload.
    pub bytes: u64,
    /// When the sender had it.
    pub start: Picos,
    /// When the receiver had all of it.
    pub end: Option<Picos>,
}

impl Transfers {
    /// Bytes to write now, where one is due.
    pub(super) fn begins(&mut self, now: Picos) -> Option<u64> {
        self.due.filter(|due| *due <= now)?;
        self.due = None;
        self.begun.push(now);
        Some(self.bytes)
    }

    /// How many have come to their end by so many bytes.
    fn ends(&mut self, now: Picos, delivered: u64) -> bool {
        let under_way = self.begun.len() > self.ended.len();
        let whole = delivered >= self.bytes * (self.ended.len() as u64 + 1);
        if under_way && whole {
            self.ended.push(now);
        }
        under_way && whole
    }

    fn again(&mut self, now: Picos) {
        if let Some(left) = self.left.checked_sub(1) {
            self.left = left;
            self.due = Some(now + self.gap);
        }
    }
}

impl<E: EventSet> Engine<E> {
    /// The receiving application has so many bytes of the stream.
    pub(super) fn transferred(&mut self, flow: u32, delivered: u64) {
        let now = self.now;
        let Some(transfers) = self.transfers_of(flow) else {
            return;
        };
        if !transfers.ends(now, delivered) {
            return;
        }
        let Some(barrier) = transfers.barrier else {
            transfers.again(now);
            let due = transfers.due;
            return self.set(Event::Application(flow), due);
        };
        let Some(Some(barrier)) = self.barriers.get_mut(barrier as usize) else {
            return;
        };
        barrier.waits_for -= 1;
        if barrier.waits_for > 0 {
            return;
        }
        barrier.waits_for = barrier.streams;
        let flows = barrier.first..barrier.first + barrier.streams;
        for flow in flows {
            if let Some(transfers) = self.transfers_of(flow) {
                transfers.again(now);
                let due = transfers.due;
                self.set(Event::Application(flow), due);
            }
        }
    }

    fn transfers_of(&mut self, flow: u32) -> Option<&mut Transfers> {
        self.connection(flow)?.transfers.as_deref_mut()
    }

    /// Every transfer that has begun. To be called once, at the end.
    pub fn take_transfers(&mut self) -> Vec<Transferred> {
        let mut all = Vec::new();
        for (flow, name) in self.flows.iter_mut().zip(&self.flow_names) {
            let Flow::Tcp(connection) = flow else {
                continue;
            };
            let Some(transfers) = connection.transfers.take() else {
                continue;
            };
            let ends = transfers.ended.iter().copied().map(Some);
            let each = transfers
                .begun
                .iter()
                .zip(ends.chain(std::iter::repeat(None)));
            all.extend(each.zip(0..).map(|((&start, end), number)| Transferred {
                of: name.clone(),
                number,
                bytes: transfers.bytes,
                start,
                end,
            }));
        }
        all
    }
}

impl Connection {
    /// When its next transfer begins. One that is due begins now.
    pub(super) fn next_transfer(&mut self, now: Picos) -> Option<Picos> {
        let transfers = self.transfers.as_deref_mut()?;
        if let Some(bytes) = transfers.begins(now) {
            self.sender.write(bytes);
        }
        transfers.due
    }
}
