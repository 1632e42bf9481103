//! Probes that make a connection for each request: a TCP handshake, TLS where it is asked for, the request and its reply.
//!
//! ```text
//! client                                 server
//!   SYN ─────────────────────────────────▶
//!    ◀───────────────────────────── SYN-ACK        connect
//!   ACK, ClientHello ────────────────────▶
//!    ◀────────────── ServerHello … Finished        tls
//!   Finished, request ───────────────────▶
//!    ◀───────────────────────── ACK … reply        network, server, transfer
//! ```
//!
//! A connection takes the place of one that is over. What ends one (FIN or RST) would follow the reply and is left out. The
//! server's kernel answers the handshake of TCP, and one of its workers that of TLS, which takes no time of its own.

use super::probes::ONLY_CPU;
use super::probes::StreamPoint as Point;
use super::request_bytes::{FINISHED, FLIGHT, HELLO, RequestBytes};
use super::servers::{VisitId, Work};
use super::{Asking, Engine, Flow, Serves};
use crate::event_set::EventSet;
use crate::packet::ChannelId;
use delaylab_model::record::Answer;
use delaylab_model::trial::StampPoint;
use delaylab_model::{Nanos, Picos};
use delaylab_topology::time::nanos;
use delaylab_traffic::prober::{FromServer, Reply};
use delaylab_traffic::tcp::{Segment, Settings};
use std::collections::VecDeque;

/// Connections of a probe at once, as many as a live one has.
pub(super) const MOST_VISITS: usize = 512;
/// EAGAIN of Linux: there is no place for one more.
const TRY_AGAIN: i32 = 11;

/// A probe that makes a connection for each request.
pub(super) struct FreshProbe {
    pub(super) asking: Asking,
    pub(super) channels: [ChannelId; 2],
    pub(super) peer: u32,
    /// What its end systems do.
    pub(super) settings: Settings,
    pub(super) says: Says,
    /// What answers; `None`: nothing listens on the port.
    pub(super) server: Option<Serves>,
    /// The first of the connections that take each other's place, two a visit: requests and replies.
    pub(super) first: u32,
    pub(super) visits: Vec<Visit>,
    /// Places without a visit, the one that has been so for longest first.
    pub(super) free: VecDeque<usize>,
    /// Connections made so far.
    pub(super) made: u32,
}

/// What is said on each connection.
#[derive(Debug, Clone, Copy)]
pub(super) enum Says {
    /// Nothing: the TCP handshake is all.
    Nothing,
    /// A request and its reply.
    Plain(RequestBytes),
    /// The same by TLS.
    ByTls(RequestBytes),
}

/// One connection.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Visit {
    /// The request that waits for its reply.
    seq: Option<u64>,
    number: u32,
    /// When the last SYN left the socket, and when the server read it.
    syn_left: Option<Nanos>,
    syn_read: Option<Picos>,
    /// The server has read all of ClientHello, and of the request.
    hello_read: bool,
    request_read: bool,
    t_connected: Option<Nanos>,
    t_secured: Option<Nanos>,
    t_send: Option<Nanos>,
    t_sched: Option<Nanos>,
    is_acknowledged: bool,
    t_first: Option<Nanos>,
    t_rx: Option<Nanos>,
    least_round_trip: Option<Nanos>,
}

impl Says {
    const fn bytes(self) -> Option<RequestBytes> {
        match self {
            Says::Nothing => None,
            Says::Plain(bytes) | Says::ByTls(bytes) => Some(bytes),
        }
    }

    const fn is_by_tls(self) -> bool {
        matches!(self, Says::ByTls(_))
    }

    /// Where the request ends among all that the client says.
    fn request_end(self) -> u64 {
        let handshake = if self.is_by_tls() {
            HELLO + FINISHED
        } else {
            0
        };
        handshake + self.bytes().map_or(0, |bytes| u64::from(bytes.request))
    }

    /// Where the reply begins and ends among all that the server says.
    fn reply(self) -> (u64, u64) {
        let handshake = if self.is_by_tls() { FLIGHT } else { 0 };
        let bytes = self.bytes();
        let begin = handshake + bytes.map_or(0, |bytes| u64::from(bytes.before));
        (
            begin,
            begin + bytes.map_or(0, |bytes| u64::from(bytes.reply)),
        )
    }
}

impl Visit {
    fn note_round_trip(&mut self, left: Option<Nanos>, now: Nanos) {
        let trip = left.map(|left| now - left);
        self.least_round_trip = self.least_round_trip.into_iter().chain(trip).min();
    }
}

impl FreshProbe {
    /// A place for one more connection: one that is free, or whose request has been given up.
    fn place(&mut self) -> Option<usize> {
        let over = self.asking.prober.over_before();
        let given_up = |visit: &Visit| visit.seq.is_some_and(|seq| seq < over);
        let free = self.free.pop_front();
        free.or_else(|| self.visits.iter().position(given_up))
    }

    const fn requests(&self, place: usize) -> u32 {
        self.first + 2 * place as u32
    }
}

impl<E: EventSet> Engine<E> {
    /// The probe of this number, if it makes a connection for each request.
    pub(super) fn fresh(&mut self, probe: u32) -> Option<&mut FreshProbe> {
        match &mut self.flows[probe as usize] {
            Flow::Fresh(probe) => Some(probe),
            _ => None,
        }
    }

    /// Whose connection this is, if its probe makes one for each request.
    pub(super) fn visit(&self, probe: u32, connection: u32) -> Option<VisitId> {
        match &self.flows[probe as usize] {
            Flow::Fresh(fresh) => Some(VisitId {
                probe,
                place: (connection - fresh.first) as usize / 2,
            }),
            _ => None,
        }
    }

    /// Does nothing listen where this connection goes?
    pub(super) fn is_refused(&mut self, connection: u32) -> bool {
        let probe = self
            .connection(connection)
            .and_then(|connection| connection.probe);
        let fresh = probe.and_then(|(probe, _)| self.fresh(probe));
        fresh.is_some_and(|fresh| fresh.server.is_none())
    }

    /// A request is due: its connection begins.
    pub(super) fn visit_begins(&mut self, probe: u32, seq: u64, t_intended: Nanos) {
        let now = nanos(self.now);
        let Some(fresh) = self.fresh(probe) else {
            return;
        };
        let Some(place) = fresh.place() else {
            let prober = &mut fresh.asking.prober;
            return prober.send_failed(t_intended, now, Some(TRY_AGAIN), None);
        };
        fresh.asking.prober.sent(t_intended, now, Some(ONLY_CPU));
        fresh.visits[place] = Visit {
            seq: Some(seq),
            number: fresh.made,
            ..Visit::default()
        };
        fresh.made += 1;
        let (requests, asks) = (fresh.requests(place), fresh.settings);
        // The handshake is that of the requests: SYN-ACK is the acknowledgement of the SYN.
        let answers = Settings {
            handshake: false,
            ..asks
        };
        self.reopen(requests + 1, &answers);
        self.reopen(requests, &asks);
    }

    /// The client has the SYN-ACK, or the RST.
    pub(super) fn visit_connected(&mut self, VisitId { probe, place }: VisitId) {
        let now = nanos(self.now);
        let Some(fresh) = self.fresh(probe) else {
            return;
        };
        let visit = &mut fresh.visits[place];
        // Another SYN-ACK answers a SYN that was sent twice.
        if visit.seq.is_none() || visit.t_connected.is_some() {
            return;
        }
        visit.t_connected = Some(now);
        visit.note_round_trip(visit.syn_left, now);
        let (requests, says) = (fresh.requests(place), fresh.says);
        if fresh.server.is_none() {
            // Nothing follows a reset.
            let silent = Settings {
                handshake: false,
                ..fresh.settings
            };
            fresh.visits[place].least_round_trip = None;
            self.visit_over(VisitId { probe, place }, Answer::Closed);
            return self.reopen(requests, &silent);
        }
        match says {
            Says::Nothing => self.visit_over(VisitId { probe, place }, Answer::Open),
            Says::Plain(_) => self.visit_asks(VisitId { probe, place }),
            Says::ByTls(_) => self.write(requests, HELLO),
        }
    }

    /// The request goes.
    fn visit_asks(&mut self, VisitId { probe, place }: VisitId) {
        let now = nanos(self.now);
        let Some(fresh) = self.fresh(probe) else {
            return;
        };
        fresh.visits[place].t_send = Some(now);
        let requests = fresh.requests(place);
        if let Some(bytes) = fresh.says.bytes() {
            self.write(requests, bytes.request.into());
        }
    }

    /// So much of what the client says has been acknowledged.
    pub(super) fn visit_acknowledged(&mut self, VisitId { probe, place }: VisitId, bytes: u64) {
        let now = nanos(self.now);
        let Some(fresh) = self.fresh(probe) else {
            return;
        };
        let visit = &mut fresh.visits[place];
        let Some(seq) = visit.seq else {
            return;
        };
        if visit.t_send.is_none() || visit.is_acknowledged || bytes < fresh.says.request_end() {
            return;
        }
        visit.is_acknowledged = true;
        visit.note_round_trip(visit.t_sched, now);
        fresh.asking.prober.stamped(seq, StampPoint::TAck, now);
        self.schedule(probe);
    }

    /// The server has read so much of what the client says, or its SYN.
    pub(super) fn visit_asked(&mut self, id: VisitId, syn: bool, delivered: u64) {
        let now = self.now;
        let Some(fresh) = self.fresh(id.probe) else {
            return;
        };
        let replies = fresh.requests(id.place) + 1;
        let says = fresh.says;
        let visit = &mut fresh.visits[id.place];
        if syn {
            visit.syn_read = Some(now);
            return;
        }
        let answered = visit.syn_read.take();
        let number = visit.number;
        let hello = says.is_by_tls() && delivered >= HELLO && !visit.hello_read;
        visit.hello_read |= hello;
        let asks = says.bytes().is_some();
        let request = asks && delivered >= says.request_end() && !visit.request_read;
        visit.request_read |= request;
        let server = fresh.server.map(|serves| serves.server);
        // The server's kernel has seen its own round trip: SYN-ACK and ACK.
        if let (Some(answered), Some(connection)) = (answered, self.connection(replies)) {
            connection.sender.note_handshake(answered, now);
        }
        let Some(server) = server else {
            return;
        };
        if hello {
            self.asked(server, Work::Flight { visit: id, number });
        }
        if request {
            self.asked(server, Work::Visit { visit: id, number });
        }
    }

    /// The server says what is due, on a connection of this number: the flight of TLS, or the reply.
    pub(super) fn visit_replies(
        &mut self,
        VisitId { probe, place }: VisitId,
        number: u32,
        is_flight: bool,
    ) {
        let Some(fresh) = self.fresh(probe) else {
            return;
        };
        if fresh.visits[place].number != number {
            return; // another one has taken its place
        }
        let requests = fresh.requests(place);
        let reply = fresh
            .says
            .bytes()
            .map_or(0, |bytes| bytes.before + bytes.reply);
        // What is said acknowledges what was read.
        self.acknowledge_now(requests);
        self.write(requests + 1, if is_flight { FLIGHT } else { reply.into() });
    }

    /// The client has read so much of what the server says.
    pub(super) fn visit_answered(&mut self, id: VisitId, delivered: u64) {
        let now = nanos(self.now);
        let Some(fresh) = self.fresh(id.probe) else {
            return;
        };
        let requests = fresh.requests(id.place);
        let says = fresh.says;
        let answer = fresh.server.map(|serves| serves.answer);
        let visit = &mut fresh.visits[id.place];
        if visit.seq.is_none() {
            return;
        }
        if says.is_by_tls() && visit.t_secured.is_none() && delivered >= FLIGHT {
            visit.t_secured = Some(now);
            self.write(requests, FINISHED);
            return self.visit_asks(id);
        }
        if let Some(answer) = answer.filter(|_| delivered >= says.reply().1) {
            self.visit_over(id, answer);
        }
    }

    /// A segment of it was at a place where stamps are made.
    pub(super) fn visit_stamp(
        &mut self,
        VisitId { probe, place }: VisitId,
        is_reply: bool,
        point: Point,
        segment: &Segment,
        at: Picos,
    ) {
        let at = nanos(at);
        let Some(fresh) = self.fresh(probe) else {
            return;
        };
        let visit = &mut fresh.visits[place];
        let Some(seq) = visit.seq else {
            return;
        };
        let has_first = |begin: u64| segment.offset <= begin && begin < segment.end();
        let has_last = |end: u64| segment.offset < end && end <= segment.end();
        if is_reply {
            let (begin, end) = fresh.says.reply();
            if point == Point::Arrives && has_first(begin) {
                visit.t_first.get_or_insert(at);
            }
            if point == Point::Arrives && has_last(end) {
                visit.t_rx.get_or_insert(at);
            }
            return;
        }
        if segment.syn && point == Point::Sched {
            visit.syn_left = Some(at);
        }
        let is_request = has_last(fresh.says.request_end());
        let stamp = match point {
            Point::Sched => StampPoint::TSched,
            Point::Leaves => StampPoint::TTx,
            Point::Arrives => return,
        };
        if is_request {
            if point == Point::Sched {
                visit.t_sched.get_or_insert(at);
            }
            fresh.asking.prober.stamped(seq, stamp, at);
        }
    }

    /// The request has been answered.
    fn visit_over(&mut self, VisitId { probe, place }: VisitId, answer: Answer) {
        let t_recv = nanos(self.now);
        let Some(fresh) = self.fresh(probe) else {
            return;
        };
        let requests = fresh.requests(place);
        let retransmits = self
            .connection(requests)
            .map(|connection| connection.sender.retransmits());
        let Some(fresh) = self.fresh(probe) else {
            return;
        };
        let visit = &mut fresh.visits[place];
        let Some(seq) = visit.seq.take() else {
            return;
        };
        let visit = *visit;
        fresh.free.push_back(place);
        let plain = fresh.server.map(|serves| u64::from(serves.plain));
        let prober = &mut fresh.asking.prober;
        if let (false, Some(t_first)) = (visit.is_acknowledged, visit.t_first) {
            // The acknowledgement was lost: the reply acknowledges the request as well.
            prober.stamped(seq, StampPoint::TAck, t_first);
        }
        let server = FromServer {
            t_connected: visit.t_connected,
            t_secured: visit.t_secured,
            t_send: visit.t_send,
            t_first: visit.t_first,
            least_round_trip: visit.least_round_trip,
            answer: Some(answer),
            reply_bytes: plain.filter(|_| visit.t_send.is_some()),
            connection: Some(visit.number),
            ..FromServer::default()
        };
        prober.reply(&Reply {
            seq,
            t_recv,
            // A segment that overtook a lost one came before the bytes in front of it.
            t_rx: visit.t_rx.max(visit.t_first),
            retransmits: retransmits.map(|count| u32::try_from(count).unwrap_or(u32::MAX)),
            server: Some(Box::new(server)),
            ..Reply::default()
        });
        self.schedule(probe);
    }
}
