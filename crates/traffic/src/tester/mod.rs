//! A tester's side of a stream of frames: what was sent, what arrived, and a record of each.
//!
//! | module | holds |
//! |---|---|
//! | [`self_check`] | whether the sender sent what it was asked to |
//!
//! Nothing answers a frame: what a record has of it is when it was due, when it was sent, and when it
//! arrived at the other port. Both ports are of one tester, so all times are of one clock, and a frame's
//! round trip is its way through the device.

pub mod self_check;
#[cfg(test)]
mod tests;

use crate::prober::reordering::Reordering;
use delaylab_model::Nanos;
use delaylab_model::method::Method;
use delaylab_model::probe::Probe;
use delaylab_model::record::{Outcome, Record};

/// What is known of a frame that was due.
#[derive(Debug, Clone, Copy)]
struct Entry {
    t_intended: Nanos,
    /// When it was handed over, unless that failed.
    sent: Result<Nanos, Option<i32>>,
    /// The first arrival at the port.
    arrival: Option<Nanos>,
    intact: bool,
    copies: u16,
    extent: u32,
}

/// Frames of one stream, and what became of them. Takes about 100 bytes a frame.
#[derive(Debug)]
pub struct Ledger {
    trial: u32,
    probe: u16,
    dscp: u8,
    ip_size: Option<u32>,
    timeout: Nanos,
    entries: Vec<Entry>,
    /// Sent, and not there yet.
    missing: u64,
    reordering: Reordering,
    strays: u64,
}

impl Ledger {
    /// Of this probe, which is the `index`th of its trial.
    pub fn new(trial: u32, index: u16, probe: &Probe) -> Self {
        Self {
            trial,
            probe: index,
            dscp: probe.dscp.code_point(),
            ip_size: probe.frames.map(|frames| frames.ip_size()),
            timeout: probe.timeout,
            entries: Vec::new(),
            missing: 0,
            reordering: Reordering::default(),
            strays: 0,
        }
    }

    /// The next frame was sent. Its number is returned.
    pub fn sent(&mut self, t_intended: Nanos, t_send: Nanos) -> u64 {
        self.add(t_intended, Ok(t_send))
    }

    /// The next frame could not be sent.
    pub fn not_sent(&mut self, t_intended: Nanos, errno: Option<i32>) -> u64 {
        self.add(t_intended, Err(errno))
    }

    fn add(&mut self, t_intended: Nanos, sent: Result<Nanos, Option<i32>>) -> u64 {
        self.missing += u64::from(sent.is_ok());
        self.entries.push(Entry {
            t_intended,
            sent,
            arrival: None,
            intact: true,
            copies: 0,
            extent: 0,
        });
        self.entries.len() as u64 - 1
    }

    /// How many were due so far.
    pub fn len(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Was none due so far?
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Frames that were sent and have not arrived: on their way, or lost.
    pub const fn missing(&self) -> u64 {
        self.missing
    }

    /// A frame of this number arrived. Arrivals are told of in their order.
    pub fn arrived(&mut self, seq: u64, t_rx: Nanos, intact: bool) {
        let entry = usize::try_from(seq).ok();
        let Some(entry) = entry.and_then(|at| self.entries.get_mut(at)) else {
            self.strays += 1;
            return;
        };
        if entry.arrival.is_some() {
            entry.copies = entry.copies.saturating_add(1);
            return;
        }
        entry.arrival = Some(t_rx);
        entry.intact = intact;
        self.missing -= u64::from(entry.sent.is_ok());
        entry.extent = self.reordering.arrived(seq);
    }

    /// Frames with numbers that were never sent.
    pub const fn strays(&self) -> u64 {
        self.strays
    }

    /// The trial is over and drained: every record, in order.
    pub fn records(&self) -> impl Iterator<Item = Record> + '_ {
        (0..).zip(&self.entries).map(|(seq, entry)| {
            let mut record =
                Record::due(self.trial, self.probe, seq, Method::Frame, entry.t_intended);
            record.dscp = self.dscp;
            record.ip_size = self.ip_size;
            record.copies = entry.copies;
            record.reorder_extent = entry.extent;
            (record.t_send, record.errno) = match entry.sent {
                Ok(t_send) => (Some(t_send), None),
                Err(errno) => (None, errno),
            };
            // It has arrived when the port has it: when that is read is nobody's delay.
            (record.t_rx, record.t_recv) = (entry.arrival, entry.arrival);
            record.outcome = self.outcome(entry);
            record
        })
    }

    fn outcome(&self, entry: &Entry) -> Outcome {
        match (entry.sent, entry.arrival) {
            (Err(_), _) => Outcome::LocalError,
            (_, None) => Outcome::Lost,
            (_, Some(_)) if !entry.intact => Outcome::Corrupt,
            (Ok(t_send), Some(t_rx)) if t_rx - t_send > self.timeout => Outcome::Late,
            _ => Outcome::Ok,
        }
    }
}
