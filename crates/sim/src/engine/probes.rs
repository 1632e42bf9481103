//! Probes send, reflectors answer, records become whole. What came of each packet is decided by the
//! very [`Prober`](delaylab_traffic::prober::Prober) that live probes use.

use super::links::mix;
use super::servers::{Server, Work};
use super::{Channel, Engine, Flow, ProbeFlow, Serves, TcpProbe};
use crate::cpu::Job;
use crate::event_set::EventSet;
use crate::packet::{Content, Echo, Packet, PacketId};
use crate::slots::Event;
use delaylab_model::record::Record;
use delaylab_model::trial::StampPoint;
use delaylab_model::{Nanos, PICOS_PER_NANO, Picos};
use delaylab_topology::time::nanos;
use delaylab_traffic::prober::{FromServer, Prober, Reply, Step};

fn picos(at: Nanos) -> Picos {
    (at.max(0) as Picos).saturating_mul(PICOS_PER_NANO)
}

/// The number of a simulated host's CPU.
pub(crate) const ONLY_CPU: u16 = 0;

/// Congestion experienced (RFC 3168).
const CE: u8 = 3;

impl<E: EventSet> Engine<E> {
    fn prober(&mut self, flow: u32) -> Option<&mut Prober> {
        let asking = self.flows[flow as usize].asking()?;
        Some(&mut asking.prober)
    }

    /// Is a packet due, or a time-out over?
    pub(super) fn probe(&mut self, flow: u32) {
        let now = nanos(self.now);
        let Some(asking) = self.flows[flow as usize].asking() else {
            return;
        };
        let host = asking.host;
        if asking.waiting || matches!(asking.prober.next(now), Step::Send { .. }) {
            let waited = std::mem::replace(&mut asking.waiting, true);
            self.set(Event::Application(flow), None);
            if !waited {
                self.submit(host, Job::Due(flow));
            }
        } else {
            self.schedule(flow);
        }
    }

    /// When the probe has to do something next.
    pub(super) fn schedule(&mut self, flow: u32) {
        let now = nanos(self.now);
        // What is lost of a connection is sent again.
        let of_datagrams = matches!(&self.flows[flow as usize], Flow::Probe(_));
        let Some(asking) = self.flows[flow as usize].asking() else {
            return;
        };
        let records = &mut self.records;
        asking
            .prober
            .take_whole(now, |record| records.push(*record));
        let next = asking.prober.next(now);
        let only_waits = match next {
            Step::Send { .. } => false,
            Step::Wait { .. } => of_datagrams && asking.prober.sending_is_over(),
            Step::Done => true,
        };
        self.probes_sending -= usize::from(only_waits && !asking.only_waits);
        asking.only_waits |= only_waits;
        let at = match next {
            Step::Send { .. } => Some(self.now),
            Step::Wait { due, deadline } => {
                // A deadline is over when it has passed.
                let deadline = deadline.map(|deadline| deadline.max(now) + 1);
                due.into_iter().chain(deadline).min().map(picos)
            }
            Step::Done => {
                let done = std::mem::replace(&mut asking.done, true);
                self.probes_left -= usize::from(!done);
                None
            }
        };
        self.set(Event::Application(flow), at);
    }

    /// Every probe has sent its last packet. Where what they wait for is lost, the trial is over at once: how long they wait, their
    /// time-out, is no matter of the network, and what loads do meanwhile none of the trial.
    #[cold]
    pub(super) fn nothing_is_sent(&mut self) {
        if !std::mem::replace(&mut self.only_waits, true) {
            self.serve_at_each_departure();
        }
        if !self.packets.has_echoes() && self.servers.iter().all(Server::is_idle) {
            self.time_out();
        }
    }

    /// Probes wait as long as they would have, and nothing else happens.
    fn time_out(&mut self) {
        for flow in &mut self.flows {
            let Some(asking) = flow.asking().filter(|asking| !asking.done) else {
                continue;
            };
            let mut now = nanos(self.now);
            let records = &mut self.records;
            while let Step::Wait {
                deadline: Some(deadline),
                ..
            } = asking.prober.next(now)
            {
                now = deadline.max(now) + 1;
                asking
                    .prober
                    .take_whole(now, |record| records.push(*record));
            }
            asking.done = true;
            self.probes_left -= 1;
        }
    }

    /// The CPU has got to the packet that is due: the send call.
    pub(super) fn probe_begins(&mut self, flow: u32) -> Option<PacketId> {
        let now = nanos(self.now);
        let asking = self.flows[flow as usize].asking()?;
        asking.waiting = false;
        let prober = &mut asking.prober;
        let Step::Send { seq, t_intended } = prober.next(now) else {
            self.schedule(flow);
            return None;
        };
        if self.fresh(flow).is_some() {
            self.visit_begins(flow, seq, t_intended);
            self.schedule(flow);
            return None;
        }
        let prober = self.prober(flow)?;
        prober.sent(t_intended, now, Some(ONLY_CPU));
        let packet = match &mut self.flows[flow as usize] {
            Flow::Probe(probe) => {
                let (out, ip_size) = (probe.out, probe.ip_size);
                let echo = Echo {
                    flow,
                    seq,
                    ..Echo::default()
                };
                Some(self.packet(out, ip_size, Content::Request(echo)))
            }
            _ => {
                self.request(flow);
                None
            }
        };
        self.schedule(flow);
        packet
    }

    /// A packet of the probe has gone down to the network card.
    pub(super) fn probe_sent(&mut self, echo: Echo) {
        let now = nanos(self.now);
        if let Some(prober) = self.prober(echo.flow) {
            prober.stamped(echo.seq, StampPoint::TSched, now);
        }
    }

    /// Its first bit leaves.
    pub(super) fn probe_leaves(&mut self, echo: Echo, at: Picos) {
        if let Some(prober) = self.prober(echo.flow) {
            prober.stamped(echo.seq, StampPoint::TTx, nanos(at));
        }
    }

    /// The reflector has read a packet and answers it; without a reflector it is its own reply.
    pub(super) fn request_read(&mut self, host: u32, mut echo: Echo, packet: &Packet) {
        let Some(ProbeFlow {
            loopback,
            back,
            server,
            ..
        }) = self.datagrams(echo.flow)
        else {
            return;
        };
        if *loopback {
            return self.reply_read(echo, packet);
        }
        let (back, server) = (*back, *server);
        if let Some(Serves { server, reply, .. }) = server {
            let work = Work::Datagram {
                host,
                back,
                ip_size: reply,
                echo,
            };
            return self.asked(server, work);
        }
        echo.r_user = self.now;
        let reply = self.packet(back, packet.ip_size, Content::Reply(echo));
        self.submit(host, Job::Send(reply));
    }

    /// The probe has read a reply.
    pub(super) fn reply_read(&mut self, echo: Echo, packet: &Packet) {
        let t_recv = nanos(self.now);
        let Channel { dscp, ecn, .. } = self.channels[packet.channel as usize];
        // EFCI is the cell's affair; an IP header says what it was sent with, or CE.
        let marked = ecn > 0 && !self.in_cells && packet.marked;
        let ecn = if marked { CE } else { ecn };
        let Some(probe) = self.datagrams(echo.flow) else {
            return;
        };
        let is_reflected = !probe.loopback && probe.server.is_none();
        let reflected = |at: Picos| is_reflected.then(|| nanos(at));
        let reply = Reply {
            seq: echo.seq,
            t_recv,
            t_rx: Some(nanos(echo.t_rx)),
            r_rx: reflected(echo.r_rx),
            r_user: reflected(echo.r_user),
            r_dscp: is_reflected.then_some(dscp),
            reply_dscp: Some(dscp),
            reply_ecn: Some(ecn),
            server: probe.server.map(|serves| {
                Box::new(FromServer {
                    answer: Some(serves.answer),
                    reply_bytes: Some(u64::from(serves.plain)),
                    ..FromServer::default()
                })
            }),
            ..Reply::default()
        };
        if is_reflected {
            probe.asking.prober.follow_up(echo.seq, nanos(echo.r_tx));
        }
        probe.asking.prober.reply(&reply);
        self.schedule(echo.flow);
    }

    /// The records that have become whole since the last call.
    pub fn take_records(&mut self) -> Vec<Record> {
        let records = taken(&mut self.records);
        for record in &records {
            self.digest_of_records = of_record(self.digest_of_records, record);
        }
        records
    }

    /// The simulation is over: what is left is whole as it is.
    pub(super) fn close_records(&mut self) {
        let records = &mut self.records;
        for asking in self.flows.iter_mut().filter_map(Flow::asking) {
            asking.prober.close(|record| records.push(*record));
        }
        self.frame_records();
    }

    /// A request over TCP: the application writes it.
    fn request(&mut self, flow: u32) {
        let Flow::TcpProbe(probe) = &mut self.flows[flow as usize] else {
            return;
        };
        let (requests, bytes) = (probe.requests, probe.request);
        self.write(requests, bytes);
    }

    /// So many bytes of a probe's requests have been acknowledged.
    pub(super) fn request_acknowledged(&mut self, flow: u32, bytes: u64) {
        let now = nanos(self.now);
        let Flow::TcpProbe(probe) = &mut self.flows[flow as usize] else {
            return;
        };
        if probe.server.is_none() {
            return;
        }
        for seq in probe.acknowledged..bytes / probe.request {
            let sched = probe.exchange(seq).and_then(|stamps| stamps.sched);
            let trip = sched.map(|sched| now - sched);
            probe.least_round_trip = probe.least_round_trip.into_iter().chain(trip).min();
            probe.asking.prober.stamped(seq, StampPoint::TAck, now);
        }
        probe.acknowledged = probe.acknowledged.max(bytes / probe.request);
        self.schedule(flow);
    }

    /// Something of a probe over TCP has been read: by its reflector, or by itself.
    pub(super) fn stream_read(&mut self, flow: u32, delivered: u64, is_reply: bool) {
        let now = self.now;
        let Flow::TcpProbe(probe) = &mut self.flows[flow as usize] else {
            return;
        };
        if is_reply {
            while probe.reply * (probe.answered + 1) <= delivered {
                probe.answer(nanos(now));
            }
            return self.schedule(flow);
        }
        if let Some(Serves { server, .. }) = probe.server {
            let asked = delivered / probe.request - probe.asked;
            probe.asked += asked;
            for _ in 0..asked {
                self.asked(server, Work::Stream { flow });
            }
            return;
        }
        let mut replies = 0;
        while probe.request * (probe.asked + 1) <= delivered {
            if let Some(stamps) = probe.exchange(probe.asked) {
                stamps.r_user = Some(nanos(now));
            }
            probe.asked += 1;
            replies += probe.reply;
        }
        if replies > 0 {
            let connection = probe.replies;
            self.write(connection, replies);
        }
    }

    /// A segment of a probe over TCP was at a place where stamps are made.
    pub(super) fn stream_stamp(
        &mut self,
        flow: u32,
        is_reply: bool,
        point: StreamPoint,
        bytes: (u64, u64),
        at: Picos,
    ) {
        let at = nanos(at);
        let Flow::TcpProbe(probe) = &mut self.flows[flow as usize] else {
            return;
        };
        let size = if is_reply { probe.reply } else { probe.request };
        if is_reply && point == StreamPoint::Arrives {
            // Those whose first byte is in the segment.
            for seq in bytes.0.div_ceil(size)..bytes.1.div_ceil(size) {
                if let Some(stamps) = probe.exchange(seq) {
                    stamps.t_first.get_or_insert(at);
                }
            }
        }
        // Those whose last byte is in the segment.
        for seq in bytes.0 / size..bytes.1 / size {
            match (point, is_reply) {
                (StreamPoint::Sched, false) => {
                    if let Some(stamps) = probe.exchange(seq) {
                        stamps.sched.get_or_insert(at);
                    }
                    probe.asking.prober.stamped(seq, StampPoint::TSched, at);
                }
                (StreamPoint::Leaves, false) => {
                    probe.asking.prober.stamped(seq, StampPoint::TTx, at)
                }
                _ => probe.note(seq, is_reply, point, at),
            }
        }
    }
}

/// What there is, and room for as much again.
pub(super) fn taken<T>(all: &mut Vec<T>) -> Vec<T> {
    let next = Vec::with_capacity(all.len());
    std::mem::replace(all, next)
}

/// Mixes what came of a packet into a digest. What hosts do behind the last link shows nowhere else.
fn of_record(digest: u64, record: &Record) -> u64 {
    let since = |at: Option<Nanos>| at.map_or(u64::MAX, |at| (at - record.t_intended) as u64);
    let words = [
        u64::from(record.probe) << 48 | record.seq,
        record.t_intended as u64,
        since(record.t_send),
        since(record.t_recv),
        u64::from(record.reply_ecn.unwrap_or(u8::MAX)),
    ];
    words.into_iter().fold(digest, mix)
}

/// Where a segment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamPoint {
    /// Given to the network card.
    Sched,
    /// Its first bit leaves.
    Leaves,
    /// Its last bit has come.
    Arrives,
}

impl TcpProbe {
    /// The first time counts: later ones are of segments sent again.
    fn note(&mut self, seq: u64, is_reply: bool, point: StreamPoint, at: Nanos) {
        let Some(stamps) = self.exchange(seq) else {
            return;
        };
        let stamp = match (point, is_reply) {
            (StreamPoint::Arrives, false) => &mut stamps.r_rx,
            (StreamPoint::Leaves, true) => &mut stamps.r_tx,
            (StreamPoint::Arrives, true) => &mut stamps.t_rx,
            _ => return,
        };
        stamp.get_or_insert(at);
    }

    /// What is known of the exchange of this number; `None` once it is over: what comes of it then was
    /// sent again.
    fn exchange(&mut self, seq: u64) -> Option<&mut super::TcpStamps> {
        let at = seq.checked_sub(self.answered)? as usize;
        if self.stamps.len() <= at {
            self.stamps.resize(at + 1, super::TcpStamps::default());
        }
        self.stamps.get_mut(at)
    }

    fn answer(&mut self, t_recv: Nanos) {
        let stamps = self.stamps.pop_front().unwrap_or_default();
        let seq = self.answered;
        self.answered += 1;
        if let Some(serves) = self.server {
            let server = FromServer {
                t_first: stamps.t_first,
                least_round_trip: self.least_round_trip,
                answer: Some(serves.answer),
                reply_bytes: Some(u64::from(serves.plain)),
                connection: Some(0),
                ..FromServer::default()
            };
            return self.asking.prober.reply(&Reply {
                seq,
                t_recv,
                // A segment that overtook a lost one came before the bytes in front of it.
                t_rx: stamps.t_rx.max(stamps.t_first),
                server: Some(Box::new(server)),
                ..Reply::default()
            });
        }
        if let Some(r_tx) = stamps.r_tx {
            self.asking.prober.follow_up(seq, r_tx);
        }
        self.asking.prober.reply(&Reply {
            seq,
            t_recv,
            t_rx: stamps.t_rx,
            r_rx: stamps.r_rx,
            r_user: stamps.r_user,
            ..Reply::default()
        });
    }
}
