//! TCP connections: segments and acknowledgements between the two halves of `traffic::tcp`.

use super::probes::StreamPoint;
use super::sections::{SYN_HEADERS, TCP_HEADERS};
use super::{Connection, Engine, Flow};
use crate::cpu::Job;
use crate::event_set::EventSet;
use crate::packet::Content;
use crate::slots::Event;
use crate::trace::Trace;
use delaylab_model::{PICOS_PER_NANO, Picos};
use delaylab_traffic::tcp::{Ack, Receiver, Segment, Sender, Settings};

impl<E: EventSet> Engine<E> {
    pub(super) fn connection(&mut self, flow: u32) -> Option<&mut Connection> {
        match &mut self.flows[flow as usize] {
            Flow::Tcp(connection) => Some(connection),
            _ => None,
        }
    }

    /// A new connection takes the place of one that is over, at one of its ends or the other.
    pub(super) fn reopen(&mut self, flow: u32, settings: &Settings) {
        let now = self.now;
        if let Some(connection) = self.connection(flow) {
            connection.sender = Sender::new(settings, now);
            connection.receiver = Receiver::opened(settings, now);
            (connection.starts, connection.sending) = (now, false);
        }
        self.arm_receiver(flow);
        self.pump(flow);
    }

    /// Is what was sent at this time of a connection that was in this place before?
    fn is_of_before(&self, flow: u32, sent: Picos) -> bool {
        let came_after =
            |flow: &Flow| matches!(flow, Flow::Tcp(connection) if sent < connection.starts);
        flow < self.first_load && came_after(&self.flows[flow as usize])
    }

    /// The application writes.
    pub(super) fn write(&mut self, flow: u32, bytes: u64) {
        if let Some(connection) = self.connection(flow) {
            connection.sender.write(bytes);
            self.pump(flow);
        }
    }

    /// Sends what may be sent. One segment at a time goes through the CPU: what comes up meanwhile has
    /// its turn.
    pub(super) fn pump(&mut self, flow: u32) {
        let now = self.now;
        let Some(connection) = self.connection(flow) else {
            return;
        };
        if connection.starts > now {
            let starts = connection.starts;
            return self.set(Event::Application(flow), Some(starts));
        }
        let due = connection.next_transfer(now);
        self.set(Event::Application(flow), due);
        while let Some(connection) = self.connection(flow) {
            // What has left the card tells `segment_left`.
            connection.throttled = connection.queued > connection.sender.host_queue();
            if connection.sending || connection.throttled {
                break;
            }
            let Some(segment) = connection.sender.poll_transmit(now) else {
                break;
            };
            connection.sending = true;
            let (data, from) = (connection.data, connection.from);
            let ip_size = connection.ip_size(&segment);
            if connection.sender.settings().host_queue.is_some() {
                connection.queued += u64::from(ip_size);
            }
            let packet = self.packet(data, ip_size, Content::Data { flow, segment });
            self.submit(from, Job::Send(packet));
        }
        self.arm_sender(flow);
    }

    fn arm_sender(&mut self, flow: u32) {
        let Some(connection) = self.connection(flow) else {
            return;
        };
        let timeout = connection.sender.next_timeout();
        self.set(Event::Retransmit(flow), timeout);
    }

    fn arm_receiver(&mut self, flow: u32) {
        let Some(connection) = self.connection(flow) else {
            return;
        };
        let timeout = connection.receiver.next_timeout();
        self.set(Event::DelayedAck(flow), timeout);
    }

    /// A segment has gone down to the network card: the next may follow.
    pub(super) fn segment_sent(&mut self, flow: u32, segment: &Segment) {
        if self.is_of_before(flow, segment.sent) {
            return;
        }
        let now = self.now;
        if let Some(connection) = self.connection(flow) {
            connection.sending = false;
        }
        self.stamp(flow, segment, StreamPoint::Sched, now);
        self.pump(flow);
    }

    /// Its first bit leaves.
    pub(super) fn segment_leaves(&mut self, flow: u32, segment: &Segment, at: Picos) {
        self.stamp(flow, segment, StreamPoint::Leaves, at);
    }

    /// Its last unit leaves: where the connection waits for that, it goes on.
    pub(super) fn segment_left(&mut self, flow: u32, segment: &Segment) {
        let now = self.now;
        let Some(connection) = self.connection(flow) else {
            return;
        };
        let left = u64::from(connection.ip_size(segment));
        connection.queued = connection.queued.saturating_sub(left);
        let room = connection.queued <= connection.sender.host_queue();
        if room && std::mem::replace(&mut connection.throttled, false) {
            self.set(Event::Application(flow), Some(now));
        }
    }

    /// Its last bit has come.
    pub(super) fn segment_arrives(&mut self, flow: u32, segment: &Segment) {
        let now = self.now;
        self.stamp(flow, segment, StreamPoint::Arrives, now);
    }

    fn stamp(&mut self, flow: u32, segment: &Segment, point: StreamPoint, at: Picos) {
        if flow >= self.first_load || self.is_of_before(flow, segment.sent) {
            return; // of no probe, or of nothing that is waited for
        }
        let probe = self
            .connection(flow)
            .and_then(|connection| connection.probe);
        if let Some((probe, is_reply)) = probe {
            let bytes = (segment.offset, segment.end());
            match self.visit(probe, flow) {
                Some(visit) => self.visit_stamp(visit, is_reply, point, segment, at),
                None => self.stream_stamp(probe, is_reply, point, bytes, at),
            }
        }
    }

    /// The receiving host has a segment.
    pub(super) fn segment_read(&mut self, flow: u32, segment: &Segment, marked: bool) {
        if self.is_of_before(flow, segment.sent) {
            return;
        }
        let now = self.now;
        let Some(connection) = self.connection(flow) else {
            return;
        };
        let ack = connection.receiver.on_segment(now, segment, marked);
        let (delivered, probe) = (connection.receiver.delivered(), connection.probe);
        if let Some(ack) = ack {
            self.acknowledge(flow, ack);
        }
        self.arm_receiver(flow);
        let Some((probe, is_reply)) = probe else {
            return self.load_read(flow, delivered);
        };
        match (self.visit(probe, flow), is_reply) {
            (Some(visit), false) => self.visit_asked(visit, segment.syn, delivered),
            (Some(visit), true) => self.visit_answered(visit, delivered),
            (None, _) => self.stream_read(probe, delivered, is_reply),
        }
    }

    /// The receiving application of a load has so many bytes.
    fn load_read(&mut self, flow: u32, delivered: u64) {
        let now = self.now;
        let Some(connection) = self.connection(flow) else {
            return;
        };
        let came = delivered - connection.delivered;
        if came == 0 {
            return;
        }
        connection.delivered = delivered;
        if let Some(goodput) = &mut connection.goodput {
            goodput.add(now, came);
        }
        let has_transfers = connection.transfers.is_some();
        if let Some((load, stream)) = connection.stream {
            self.shares[load as usize].received(now, stream, came);
            if let Some(goodput) = &mut self.goodputs[load as usize] {
                goodput.add(now, came);
            }
        }
        if has_transfers {
            self.transferred(flow, delivered);
        }
    }

    fn acknowledge(&mut self, flow: u32, ack: Ack) {
        let Some(&mut Connection {
            acks, to, headers, ..
        }) = self.connection(flow)
        else {
            return;
        };
        let ip_size = match ack.syn {
            // A reset has no options.
            true if self.is_refused(flow) => TCP_HEADERS,
            true => SYN_HEADERS,
            false => headers + ack.sack.bytes(),
        };
        let packet = self.packet(acks, ip_size, Content::Ack { flow, ack });
        self.submit(to, Job::Send(packet));
    }

    /// The sending host has an acknowledgement.
    pub(super) fn ack_read(&mut self, flow: u32, ack: &Ack) {
        if self.is_of_before(flow, ack.echo) {
            return;
        }
        let now = self.now;
        if let Some(connection) = self.connection(flow) {
            connection.sender.on_ack(now, *ack);
            connection.note_window(now);
            let (probe, acknowledged) = (connection.probe, connection.sender.acknowledged());
            if let Some((probe, false)) = probe {
                match self.visit(probe, flow) {
                    Some(visit) if ack.syn => self.visit_connected(visit),
                    Some(visit) => self.visit_acknowledged(visit, acknowledged),
                    None => self.request_acknowledged(probe, acknowledged),
                }
            }
            self.pump(flow);
        }
    }

    /// The retransmission timer has run out.
    pub(super) fn retransmit(&mut self, flow: u32) {
        let now = self.now;
        if let Some(connection) = self.connection(flow) {
            connection.sender.on_timeout(now);
            connection.note_window(now);
            self.pump(flow);
        }
    }

    /// The delayed acknowledgement is due.
    pub(super) fn delayed_ack(&mut self, flow: u32) {
        let now = self.now;
        let ack = self
            .connection(flow)
            .and_then(|connection| connection.receiver.on_timeout(now));
        if let Some(ack) = ack {
            self.acknowledge(flow, ack);
        }
        self.arm_receiver(flow);
    }

    /// An acknowledgement that is held back goes now.
    pub(super) fn acknowledge_now(&mut self, flow: u32) {
        let held_back = self
            .connection(flow)
            .and_then(|connection| connection.receiver.next_timeout());
        let ack = held_back.and_then(|at| self.connection(flow)?.receiver.on_timeout(at));
        if let Some(ack) = ack {
            self.acknowledge(flow, ack);
        }
        self.arm_receiver(flow);
    }
}

impl Connection {
    fn ip_size(&self, segment: &Segment) -> u32 {
        if segment.syn {
            SYN_HEADERS
        } else {
            self.headers + segment.len
        }
    }

    fn note_window(&mut self, now: Picos) {
        if let Some(trace) = &mut self.cwnd {
            trace.set(now, self.sender.cwnd());
            if let Some(smoothed) = self.sender.smoothed_rtt() {
                let srtt = smoothed / PICOS_PER_NANO;
                let trace = self.srtt.get_or_insert_with(|| Trace::starting(now, srtt));
                trace.set(now, srtt);
            }
        }
    }
}
