//! TCP: data of the server that acknowledges data of the client answers it.
//!
//! A request is what the client sends until the server sends data that acknowledges it; its time is
//! that of its last byte's first transmission, its answer's time is that of the last byte before the
//! next request. Segments of the client that carry nothing new are counted as retransmitted.
//!
//! The server's acknowledgement of a request's last byte and its reply's first byte tell the network from the server; the handshake of
//! the connection is what the network takes at least. What the server has acknowledged and not
//! answered when it ends the connection was not lost.
//!
//! Where a capture has a segment at two places, the request counts where it was first, and its reply where it was last. Segments that were
//! sent again have another identification.
//!
//! A connection that a server never accepts is a request that was lost, where it answers others, or refused.
//! Connections of a few requests each are one stream of their client and server.

use super::exchange::{Clients, Exchange, Reply};
use super::packet::{Packet, Tcp};
use crate::import::Imported;
use delaylab_model::Nanos;
use delaylab_model::method::Method;
use delaylab_model::record::Outcome;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;

/// The client and the server.
type Key = (SocketAddr, SocketAddr);

/// Every connection of a capture.
#[derive(Default)]
pub struct Connections {
    connections: BTreeMap<Key, Connection>,
}

#[derive(Default)]
struct Connection {
    /// With which number it began.
    syn: Option<u32>,
    /// Its SYN, until the server accepts it.
    opening: Option<Exchange>,
    /// When the last SYN was sent that no SYN answers.
    syn_at: Option<Nanos>,
    /// The shortest round trip, of those that begin with the handshake.
    least_round_trip: Option<Nanos>,
    /// Has the server sent its end?
    ended: bool,
    /// Has the server sent anything but a reset?
    accepted: bool,
    /// What the client will send next, and the server: set by the first data seen.
    client_next: Option<u32>,
    server_next: Option<u32>,
    /// Segments of the client that no data has answered, with where they end.
    open: Vec<(u32, Exchange)>,
    /// How many of these, from the first on, the server acknowledged.
    told: usize,
    exchanges: Vec<Exchange>,
    /// Segments sent again since the last answer.
    again: u32,
    retransmitted_replies: u64,
    /// The latest data segments of either side.
    latest: VecDeque<Sent>,
    /// The last of the server that acknowledged a request, and when.
    acknowledging: Option<(Sent, Nanos)>,
    /// The first segment of the last reply.
    begins_reply: Option<Sent>,
    /// Segments that were seen again at a second place.
    seen_again: u64,
    joined: u64,
    /// Segments of the server that acknowledge what is not in the capture.
    unasked: u64,
}

/// A segment as it was sent: to which number, and its packet's identification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sent {
    to: u32,
    id: u16,
}

/// A segment is seen again before this number of others.
const LATEST: usize = 64;

/// Is `a` behind `b`, on numbers that wrap (RFC 9293 §3.4)?
const fn behind(a: u32, b: u32) -> bool {
    a.wrapping_sub(b).cast_signed() > 0
}

impl Connections {
    pub fn take(&mut self, packet: &Packet, segment: &Tcp) {
        let (from, to) = (packet.source(segment.from), packet.destination(segment.to));
        let known = self.connections.contains_key(&(to, from));
        // A SYN that answers one comes from the server; else whoever is seen first is the client.
        let backward = known || (segment.accepts && !self.connections.contains_key(&(from, to)));
        let key = if backward { (to, from) } else { (from, to) };
        if segment.opens {
            let connection = self.connections.entry(key).or_default();
            match segment.accepts {
                true => connection.accept(packet),
                false => connection.open(packet, segment.seq),
            }
            return;
        }
        // Who asks is known of a connection that began before the capture once there is data.
        if segment.data == 0 && !self.connections.contains_key(&key) {
            return;
        }
        let connection = self.connections.entry(key).or_default();
        if backward && !segment.resets {
            connection.is_heard();
            connection.acknowledge(packet, segment.ack);
            connection.ended |= segment.ends;
        }
        if segment.data == 0 && !segment.resets {
            return;
        }
        match (segment.resets, backward) {
            (true, true) => connection.reset(packet),
            (true, false) => {}
            (false, true) => connection.answer(packet, segment),
            (false, false) => connection.ask(packet, segment),
        }
    }

    pub fn finish(self, imported: &mut Imported) {
        let (mut joined, mut retransmitted, mut unasked, mut unanswered) = (0, 0, 0, 0_u64);
        let mut seen_again = 0;
        let accepting = self.connections.iter().filter(|(_, it)| it.accepted);
        let servers: BTreeSet<SocketAddr> = accepting.map(|((_, server), _)| *server).collect();
        let mut clients = Clients::default();
        for ((client, server), mut connection) in self.connections {
            connection.close();
            joined += connection.joined;
            retransmitted += connection.retransmitted_replies;
            unasked += connection.unasked;
            seen_again += connection.seen_again;
            let exchanges = connection.exchanges;
            if exchanges.is_empty() {
                continue;
            }
            match servers.contains(&server) || !exchanges.iter().all(Exchange::waits) {
                true => clients.add(client, server, Method::Tcp, exchanges),
                false => unanswered += 1,
            }
        }
        clients.push(imported);
        if seen_again > 0 {
            imported.warn(format!("{seen_again} TCP segments are in the capture again, at a second place: requests count where they were first, replies where they were last"));
        }
        if unanswered > 0 {
            imported.warn(format!("{unanswered} TCP connections are to servers that answer nothing in the capture: they were left out"));
        }
        if joined > 0 {
            imported.warn(format!("{joined} TCP segments of clients came before an answer to those before them: they were taken for one request"));
        }
        if unasked > 0 {
            imported.warn(format!("{unasked} TCP segments of servers answer what is not in the capture: they were left out"));
        }
        if retransmitted > 0 {
            imported.warn(format!(
                "{retransmitted} TCP segments of servers are in the capture again (retransmitted)"
            ));
        }
    }
}

impl Connection {
    /// Numbers begin anew where ports are used again.
    fn open(&mut self, packet: &Packet, syn: u32) {
        self.syn_at = Some(packet.time);
        if self.syn == Some(syn) {
            self.again = self.again.saturating_add(1);
            return;
        }
        self.close();
        (self.client_next, self.server_next) = (None, None);
        (self.least_round_trip, self.ended) = (None, false);
        self.again = 0;
        self.syn = Some(syn);
        self.opening = Some(Exchange {
            size: None,
            ..Exchange::asked(packet)
        });
    }

    /// The server's SYN. One that was sent again may answer the first: then it is early, and no bound that is wrong.
    fn accept(&mut self, packet: &Packet) {
        self.is_heard();
        if let Some(sent) = self.syn_at.take() {
            self.least_round_trip = Some(packet.time.saturating_sub(sent));
        }
    }

    /// The server acknowledges all before this. It may wait with that, so what it tells of the network is less than the handshake,
    /// or nothing.
    fn acknowledge(&mut self, packet: &Packet, ack: u32) {
        let time = packet.time;
        let sent = packet.id.map(|id| Sent { to: ack, id });
        let again = self.acknowledging.filter(|(known, _)| Some(*known) == sent);
        if let Some((known, before)) = again {
            self.acknowledging = Some((known, time));
            let told = self.open[..self.told].iter_mut().rev();
            let told = told.map(|(_, exchange)| exchange);
            let last = told.take_while(|it| it.acknowledged == Some(before));
            let answered = self.exchanges.last_mut();
            for exchange in last.chain(answered.filter(|it| it.acknowledged == Some(before))) {
                exchange.acknowledged = Some(time);
            }
            return;
        }
        let open = self.open.iter_mut().skip(self.told);
        for (_, exchange) in open.take_while(|(end, _)| !behind(*end, ack)) {
            self.told += 1;
            exchange.acknowledged = Some(time);
            self.acknowledging = sent.map(|sent| (sent, time));
            let trip = time.saturating_sub(exchange.sent);
            let known = self.least_round_trip.filter(|_| self.again == 0);
            self.least_round_trip = known.map(|least| least.min(trip)).or(self.least_round_trip);
        }
    }

    /// Was this segment seen before, at another place?
    fn is_seen_again(&mut self, sent: Option<Sent>) -> bool {
        let Some(sent) = sent else {
            return false;
        };
        let is_known = self.latest.contains(&sent);
        self.seen_again += u64::from(is_known);
        if self.latest.len() == LATEST {
            self.latest.pop_front();
        }
        self.latest.push_back(sent);
        is_known
    }

    /// The server's data is seen once more.
    fn answer_again(&mut self, packet: &Packet, sent: Option<Sent>) {
        let to = sent.map(|sent| sent.to);
        let ends = to.is_some() && to == self.server_next;
        let begins = sent.is_some() && sent == self.begins_reply;
        if let Some(last) = self.exchanges.last_mut().filter(|it| it.answered.is_some()) {
            if begins {
                last.first_byte = Some(packet.time);
            }
            if ends {
                last.answered = Some(packet.time);
            }
        }
    }

    /// The server sends something other than a reset.
    fn is_heard(&mut self) {
        self.accepted = true;
        if self.opening.take().is_some() {
            self.again = 0;
        }
    }

    /// What is open is not answered any more.
    fn close(&mut self) {
        if let Some(mut opening) = self.opening.take() {
            opening.retransmits = Some(std::mem::take(&mut self.again));
            self.exchanges.push(opening);
        }
        self.told = 0;
        for (_, mut exchange) in self.open.drain(..) {
            if self.ended && exchange.acknowledged.is_some() && exchange.waits() {
                exchange.outcome = Outcome::Skipped;
            }
            self.exchanges.push(exchange);
        }
    }

    fn ask(&mut self, packet: &Packet, segment: &Tcp) {
        let end = segment.seq.wrapping_add(segment.data);
        if self.is_seen_again(packet.id.map(|id| Sent { to: end, id })) {
            return;
        }
        if self.client_next.is_some_and(|next| !behind(end, next)) {
            self.again = self.again.saturating_add(1);
            return;
        }
        self.client_next = Some(end);
        let asked = Exchange {
            size: None,
            ..Exchange::asked(packet)
        };
        self.open.push((end, asked));
    }

    fn answer(&mut self, packet: &Packet, segment: &Tcp) {
        let end = segment.seq.wrapping_add(segment.data);
        let sent = packet.id.map(|id| Sent { to: end, id });
        if self.is_seen_again(sent) {
            self.answer_again(packet, sent);
            return;
        }
        if self.server_next.is_some_and(|next| !behind(end, next)) {
            self.retransmitted_replies += 1;
            return;
        }
        self.server_next = Some(end);
        let covered = self
            .open
            .iter()
            .take_while(|(end, _)| !behind(*end, segment.ack))
            .count();
        // Nothing new was asked: this goes on with the last answer, or greets before any request.
        if covered == 0 {
            // The end of a connection counts as one byte.
            let known = self.client_next.map(|next| next.wrapping_add(1));
            if known.is_some_and(|known| behind(segment.ack, known)) {
                self.unasked += 1;
            } else if let Some(last) = self
                .exchanges
                .last_mut()
                .filter(|last| last.answered.is_some())
            {
                last.answered = Some(packet.time);
            }
            return;
        }
        self.joined += covered as u64 - 1;
        self.told = self.told.saturating_sub(covered);
        if let Some((_, mut exchange)) = self.open.drain(..covered).next_back() {
            exchange.answer(packet.time, Reply::from_packet(packet));
            exchange.first_byte = Some(packet.time);
            self.begins_reply = sent;
            exchange.least_round_trip = self.least_round_trip;
            exchange.retransmits = Some(std::mem::take(&mut self.again));
            self.exchanges.push(exchange);
        }
    }

    /// The server refuses what is open.
    fn reset(&mut self, packet: &Packet) {
        let open = self.open.iter_mut().map(|(_, exchange)| exchange);
        for exchange in open.chain(&mut self.opening) {
            exchange.outcome = Outcome::Refused;
            exchange.refused_by = Some(packet.from);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::import::capture::packet::Transport;
    use crate::import::capture::packet::testing::packet;
    use crate::import::ping;

    fn segment(from: u16, to: u16, seq: u32, ack: u32, data: u32) -> Tcp {
        Tcp {
            from,
            to,
            seq,
            ack,
            data,
            opens: data == 0,
            accepts: false,
            ends: false,
            resets: false,
        }
    }

    /// Each at a number of milliseconds, of the server if it is from port 80.
    fn read(segments: impl IntoIterator<Item = (i64, Tcp)>) -> Imported {
        let segments = segments.into_iter();
        read_identified(segments.map(|(ms, segment)| (ms, None, segment)))
    }

    /// With identifications.
    fn read_identified(segments: impl IntoIterator<Item = (i64, Option<u16>, Tcp)>) -> Imported {
        let mut connections = Connections::default();
        for (ms, id, segment) in segments {
            let (from, to) = if segment.from == 80 { (2, 1) } else { (1, 2) };
            let packet = Packet {
                id,
                ..packet(ms, from, to, Transport::Tcp(segment))
            };
            let Transport::Tcp(segment) = &packet.transport else {
                unreachable!();
            };
            connections.take(&packet, segment);
        }
        let mut imported = Imported::new(&ping::FORMAT);
        connections.finish(&mut imported);
        imported
    }

    fn trips(imported: &Imported) -> Vec<Option<i64>> {
        let records = imported.streams[0].records.iter();
        let ms = |nanos| nanos / delaylab_model::MILLISECOND;
        let trips = records.map(|record| Some(ms(record.t_rx? - record.t_tx?)));
        trips.collect()
    }

    #[test]
    fn an_answer_to_what_was_not_captured_lengthens_none() {
        let imported = read([
            (0, segment(1000, 80, 1, 1, 10)),
            (20, segment(80, 1000, 1, 11, 10)),
            // Its connection lives, and it acknowledges the client's end.
            (30, segment(80, 1000, 11, 12, 10)),
            (5_000, segment(80, 1000, 21, 8_000, 10)),
            (6_000, segment(1000, 80, 8_000, 31, 10)),
            (6_030, segment(80, 1000, 31, 8_010, 10)),
        ]);
        assert_eq!(trips(&imported), [Some(30), Some(30)]);
        assert!(imported.warnings[0].starts_with("1 TCP segments of servers answer"));
    }

    /// The first segment of a connection that began before the capture may be the server's, and ask nothing.
    #[test]
    fn who_asks_is_told_by_data() {
        let imported = read([
            (
                0,
                Tcp {
                    opens: false,
                    ..segment(80, 1000, 1, 1, 0)
                },
            ),
            (10, segment(1000, 80, 1, 1, 10)),
            (40, segment(80, 1000, 1, 11, 10)),
            (540, segment(1000, 80, 11, 11, 10)),
            (570, segment(80, 1000, 11, 21, 10)),
        ]);
        assert_eq!(trips(&imported), [Some(30), Some(30)]);
    }

    #[test]
    fn ports_that_are_used_again_have_numbers_of_their_own() {
        let mut segments = Vec::new();
        for (ms, begin) in [(0, 3_000_000_000_u32), (1_000, 1_000_000_000)] {
            let asked = begin.wrapping_add(11);
            segments.extend([
                (ms, segment(1000, 80, begin, 0, 0)),
                // The SYN again.
                (ms + 1, segment(1000, 80, begin, 0, 0)),
                (ms + 2, segment(1000, 80, begin.wrapping_add(1), 0, 10)),
                (ms + 22, segment(80, 1000, begin / 2, asked, 10)),
            ]);
        }
        let imported = read(segments);
        assert_eq!(trips(&imported), [Some(20), Some(20)]);
        assert_eq!(imported.warnings, [] as [String; 0]);
    }

    /// Of ten connections with a request each the second gets no answer to its SYNs, and the third is refused.
    #[test]
    fn a_connection_that_is_not_accepted_is_a_request_that_was_lost() {
        let reset = |port| Tcp {
            opens: false,
            resets: true,
            ..segment(80, port, 0, 2, 0)
        };
        let mut segments = Vec::new();
        for at in 0..10 {
            let (ms, port) = (100 * i64::from(at), 1000 + at);
            segments.push((ms, segment(port, 80, 1, 0, 0)));
            match at {
                1 => segments.push((ms + 50, segment(port, 80, 1, 0, 0))),
                2 => segments.push((ms + 5, reset(port))),
                _ => {
                    let accepts = Tcp {
                        accepts: true,
                        ..segment(80, port, 1, 2, 0)
                    };
                    segments.push((ms + 5, accepts));
                    segments.push((ms + 5, segment(port, 80, 2, 2, 10)));
                    segments.push((ms + 25, segment(80, port, 2, 12, 10)));
                }
            }
        }
        let imported = read(segments);
        let names: Vec<_> = imported.streams.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["10.0.0.1 to 10.0.0.2:80"]);
        let mut expected = [Some(20); 10];
        (expected[1], expected[2]) = (None, None);
        assert_eq!(trips(&imported), expected);
        let records: Vec<_> = imported.streams[0].records.iter().collect();
        let said = [1, 2].map(|at: usize| (records[at].outcome, records[at].retransmits));
        assert_eq!(
            said,
            [(Outcome::Lost, Some(1)), (Outcome::Refused, Some(0))]
        );
        assert_eq!(imported.warnings, [] as [String; 0]);
    }

    /// The handshake takes 1 ms, and a reply comes in two segments after 15 ms of thinking.
    #[test]
    fn the_far_kernel_tells_the_network_from_the_server() {
        let accepts = Tcp {
            accepts: true,
            ..segment(80, 1000, 1, 2, 0)
        };
        let ack = |ack| Tcp {
            opens: false,
            ..segment(80, 1000, 2, ack, 0)
        };
        let ends = Tcp {
            ends: true,
            ..ack(42)
        };
        let imported = read([
            (0, segment(1000, 80, 1, 0, 0)),
            (1, accepts),
            // Acknowledged at once.
            (10, segment(1000, 80, 2, 2, 10)),
            (12, ack(12)),
            (26, segment(80, 1000, 2, 12, 10)),
            (28, segment(80, 1000, 12, 12, 10)),
            // With the reply.
            (100, segment(1000, 80, 12, 22, 10)),
            (116, segment(80, 1000, 22, 22, 10)),
            // Acknowledged, without a reply before the server's end.
            (200, segment(1000, 80, 22, 32, 10)),
            (201, ack(32)),
            (202, ends),
        ]);
        let records: Vec<_> = imported.streams[0].records.iter().collect();
        let since = |at: usize, time: Option<Nanos>| {
            Some((time? - records[at].t_tx?) / delaylab_model::MILLISECOND)
        };
        let said = [0, 1, 2].map(|at| {
            let record = &records[at];
            [record.t_ack, record.t_first, record.t_rx].map(|time| since(at, time))
        });
        let expected = [
            [Some(2), Some(16), Some(18)],
            [Some(16), Some(16), Some(16)],
            [Some(1), None, None],
        ];
        assert_eq!(said, expected);
        let least = Some(delaylab_model::MILLISECOND);
        assert_eq!(records[0].least_round_trip, least);
        assert_eq!(records[1].least_round_trip, least);
        let outcomes = records.iter().map(|record| record.outcome);
        let expected = [Outcome::Ok, Outcome::Ok, Outcome::Skipped];
        assert_eq!(outcomes.collect::<Vec<_>>(), expected);
        assert_eq!(imported.streams[0].records.counts().lost, 0);
    }

    /// On a router that keeps what comes back for 80 ms.
    #[test]
    fn a_segment_at_two_places_is_no_retransmission() {
        let reply = |seq| segment(80, 1000, seq, 11, 10);
        let ack = Tcp {
            opens: false,
            ..segment(80, 1000, 1, 11, 0)
        };
        let seen = |places: &[i64]| {
            let mut segments = Vec::new();
            for (at, later) in places.iter().enumerate() {
                segments.push((at as i64, Some(7), segment(1000, 80, 1, 1, 10)));
                segments.push((later + 6, Some(50), Tcp { ..ack }));
                segments.push((later + 16, Some(51), reply(1)));
                segments.push((later + 18, Some(52), reply(11)));
            }
            segments.sort_by_key(|(ms, ..)| *ms);
            read_identified(segments)
        };
        for (places, later, warnings) in [(&[0][..], 0, 0), (&[80, 0][..], 80, 1)] {
            let imported = seen(places);
            let record = imported.streams[0].records.get(0).unwrap();
            let ms = |time: Option<Nanos>| time.map(|time| time / delaylab_model::MILLISECOND);
            let said = [record.t_tx, record.t_ack, record.t_first, record.t_rx].map(ms);
            let expected = [0, later + 6, later + 16, later + 18].map(Some);
            assert_eq!((said, record.retransmits), (expected, Some(0)));
            assert_eq!(imported.warnings.len(), warnings, "{:?}", imported.warnings);
        }
    }

    #[test]
    fn a_server_that_answers_nothing_is_said_and_gives_no_stream() {
        let imported = read([
            (0, segment(1000, 80, 1, 0, 0)),
            (50, segment(1000, 80, 1, 0, 0)),
        ]);
        assert_eq!(imported.streams.len(), 0);
        let said = [
            "1 TCP connections are to servers that answer nothing in the capture: they were left out",
        ];
        assert_eq!(imported.warnings, said);
    }
}
