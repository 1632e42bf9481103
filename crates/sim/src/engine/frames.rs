//! A tester's frames: sent and stamped at the very picosecond, whatever a host's CPU is at.
//!
//! A trial drains behind its last frame (RFC 2544 §23 d). What a device holds for longer than the wait is not lost: where
//! frames are missing when the wait ends, it begins again with each frame that comes, of whichever stream.

use super::{Engine, Flow};
use crate::event_set::EventSet;
use crate::packet::{ChannelId, Content};
use crate::slots::Event;
use delaylab_model::{Nanos, Picos};
use delaylab_topology::time::nanos;
use delaylab_traffic::tester::Ledger;

/// A stream of frames between two ports of a tester.
pub(super) struct FrameStream {
    pub(super) channel: ChannelId,
    pub(super) ip_size: u32,
    /// When the first is due, and how far apart they are.
    pub(super) start: Picos,
    pub(super) interval: Picos,
    /// How many there are.
    pub(super) count: u64,
    /// How long is waited behind the last frame; while frames are missing, for as long without one that comes.
    pub(super) drain: Picos,
    pub(super) ledger: Ledger,
    pub(super) done: bool,
}

impl FrameStream {
    fn due(&self, seq: u64) -> Picos {
        self.start.saturating_add(self.interval.saturating_mul(seq))
    }

    /// When the frame after these is due, or when the last has been waited for.
    pub(super) fn next(&self) -> Picos {
        let sent = self.ledger.len();
        if sent < self.count {
            self.due(sent)
        } else {
            self.due(self.count.saturating_sub(1)) + self.drain
        }
    }

    /// When it has drained, if no frame comes after that of `last_frame`.
    fn drained(&self, last_frame: Picos) -> Picos {
        match self.ledger.missing() {
            0 => self.next(),
            _ => self.next().max(last_frame + self.drain),
        }
    }
}

impl<E: EventSet> Engine<E> {
    /// A frame is due, or the stream has drained.
    pub(super) fn frame(&mut self, flow: u32) {
        let now = self.now;
        let Flow::Frames(stream) = &mut self.flows[flow as usize] else {
            return;
        };
        if stream.ledger.len() == stream.count {
            let drained = stream.drained(self.last_frame);
            if drained > now {
                return self.set(Event::Application(flow), Some(drained));
            }
            let done = std::mem::replace(&mut stream.done, true);
            self.probes_left -= usize::from(!done);
            self.probes_sending -= usize::from(!done);
            return self.set(Event::Application(flow), None);
        }
        let seq = stream.ledger.sent(nanos(now), nanos(now));
        let (channel, ip_size, next) = (stream.channel, stream.ip_size, stream.next());
        self.set(Event::Application(flow), Some(next));
        let packet = self.packet(channel, ip_size, Content::Frame { flow, seq });
        self.hand_down(packet);
    }

    /// A frame has come to the other port.
    pub(super) fn frame_arrives(&mut self, flow: u32, seq: u64) {
        let now: Nanos = nanos(self.now);
        if let Flow::Frames(stream) = &mut self.flows[flow as usize] {
            let missing = stream.ledger.missing();
            stream.ledger.arrived(seq, now, true);
            // A copy is no frame that was waited for.
            if stream.ledger.missing() < missing {
                self.last_frame = self.now;
            }
        }
    }

    /// The records of every stream of frames.
    pub(super) fn frame_records(&mut self) {
        for flow in &self.flows {
            if let Flow::Frames(stream) = flow {
                self.records.extend(stream.ledger.records());
            }
        }
    }
}
