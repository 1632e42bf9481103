//! UDP: a reply goes back between the same two addresses and ports.
//!
//! Which request it answers is told, in this order,
//! - by irtt's sequence number, where both begin with irtt's magic;
//! - by the number and the question of DNS;
//! - by the Session-Sender's sequence number that a reply of STAMP or TWAMP repeats (RFC 8762 §4.3): its own is that of
//!   the reflector, which may count otherwise;
//! - by its beginning, as many bytes as it takes to tell requests from each other, where most replies have that of a request:
//!   delaylab's token and sequence number, sockperf's sequence number, any RFC 862 echo;
//! - by order, where no request is sent before the one before it is answered;
//! - by time, where a few requests have no reply and waited for one much longer than any other: each reply is that of the request
//!   before it. Else nothing tells it, and the flow is left out.
//!
//! A client may have a port of its own for each request: those that it has for a few are one stream. Requests that none answers are
//! lost where their server answers others.
//!
//! A capture may begin with a reply. Those of irtt and DNS say that they are, and those of STAMP or an echo repeat what the other side
//! sent before them; else the endpoint that is seen first is the one that asks.
//!
//! | module | holds |
//! |---|---|
//! | `matching` | by what the replies of a flow are matched |
//! | `irtt`, `dns` | what these have in front |

mod dns;
mod irtt;
mod matching;

use super::exchange::{Clients, Exchange, Reply};
use super::packet::{self, Icmp, Packet, Udp};
use super::places::Elsewhere;
use super::sightings::{Repeats, Sighted, Sightings};
use crate::import::Imported;
use delaylab_model::Nanos;
use delaylab_model::method::Method;
use delaylab_model::record::Outcome;
use matching::Matching;
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// The endpoint that sent first, and the other.
type Key = (SocketAddr, SocketAddr);

/// Every pair of endpoints of a capture.
#[derive(Default)]
pub struct Flows<'a> {
    flows: BTreeMap<Key, Flow<'a>>,
}

#[derive(Default)]
struct Flow<'a> {
    datagrams: Vec<Datagram<'a>>,
}

/// The datagram that an error is about is among this number of the latest ones.
const LOOKED_BACK: usize = 4096;

/// A request is lost and not answered later where it waited for this many of the longest round trips until the next one was sent.
const ROUND_TRIPS_WAITED: Nanos = 2;
/// One of this many requests may be lost. Where more have no reply, these need not be replies: each side may send at a rate of its own.
const REQUESTS_A_LOSS: usize = 4;

/// The requests of a flow, and how they were matched with replies.
struct Matched {
    seen: Sighted,
    /// How many replies have no request.
    strays: u64,
    /// Nothing but the times tells replies from lost ones.
    by_time: bool,
}

/// What is needed of a datagram when all have been seen.
struct Datagram<'a> {
    /// Does it ask? Until all have been seen: is it from the endpoint that sent first?
    forward: bool,
    exchange: Exchange,
    reply: Reply,
    payload: &'a [u8],
}

impl<'a> Flows<'a> {
    pub fn take(&mut self, packet: &Packet, datagram: &Udp<'a>) {
        let (from, to) = (
            packet.source(datagram.from),
            packet.destination(datagram.to),
        );
        let forward = !self.flows.contains_key(&(to, from));
        let key = if forward { (from, to) } else { (to, from) };
        self.flows.entry(key).or_default().datagrams.push(Datagram {
            forward,
            exchange: Exchange::asked(packet),
            reply: Reply::from_packet(packet),
            payload: datagram.payload,
        });
    }

    /// An error about a datagram.
    pub fn refuse(&mut self, packet: &Packet, message: &Icmp, about: &packet::Datagram<'_>) {
        let forward = self.flows.contains_key(&(about.from, about.to));
        let key = match forward {
            true => (about.from, about.to),
            false => (about.to, about.from),
        };
        if let Some(datagram) = self
            .flows
            .get_mut(&key)
            .and_then(|flow| flow.latest_like(forward, about.payload))
        {
            datagram.exchange.refuse(packet, message);
        }
    }

    pub fn finish(self, imported: &mut Imported, elsewhere: &mut Elsewhere) {
        let mut unsure = Unsure::default();
        let mut clients = Clients::default();
        let mut servers: BTreeMap<SocketAddr, Method> = BTreeMap::new();
        let mut one_way: Vec<(Key, Flow)> = Vec::new();
        for ((mut from, mut to), mut flow) in self.flows {
            let (matching, begins_with_a_reply) = Matching::find(&flow.datagrams);
            if begins_with_a_reply {
                flow.turn();
                (from, to) = (to, from);
            }
            let is_answered = flow.goes(false);
            if !flow.goes(true) || !(is_answered || flow.is_refused()) {
                one_way.push(((from, to), flow));
                continue;
            }
            let name = format!("{from} to {to}");
            let Some(matched) = flow.matched(matching) else {
                unsure.untold.push(name);
                continue;
            };
            servers.extend(is_answered.then_some((to, matching.method())));
            let is_by_order = is_answered && matching == Matching::Order && !matched.by_time;
            unsure.by_order += u64::from(is_by_order);
            unsure.by_time += u64::from(matched.by_time);
            unsure.strays += matched.strays;
            elsewhere.take(&name, &matched.seen);
            let sessions = matched.seen.sessions.into_iter();
            sessions.for_each(|exchanges| clients.add(from, to, matching.method(), exchanges));
        }
        unsure.left_out = take_lost(one_way, &servers, &mut clients, elsewhere);
        clients.push(imported);
        unsure.warn(imported);
    }
}

/// Takes flows of one direction to servers that answer others: these requests, or their replies, were lost. Other flows of one direction
/// are no requests, as a stream of media or a broadcast. Returns how many of these there are.
fn take_lost(
    one_way: Vec<(Key, Flow<'_>)>,
    servers: &BTreeMap<SocketAddr, Method>,
    clients: &mut Clients,
    elsewhere: &mut Elsewhere,
) -> u64 {
    let mut left_out = 0;
    for ((from, to), flow) in one_way {
        let Some(method) = servers.get(&to).filter(|_| flow.goes(true)) else {
            left_out += 1;
            continue;
        };
        let seen = flow.unanswered();
        elsewhere.take(&format!("{from} to {to}"), &seen);
        let sessions = seen.sessions.into_iter();
        sessions.for_each(|exchanges| clients.add(from, to, *method, exchanges));
    }
    left_out
}

/// What is not sure of how flows were matched.
#[derive(Default)]
struct Unsure {
    /// Flows that were left out, because nothing says which reply answers which request.
    untold: Vec<String>,
    /// How many flows were matched by order.
    by_order: u64,
    /// How many were matched by time.
    by_time: u64,
    /// Replies without a request.
    strays: u64,
    /// How many flows go one way only and were left out.
    left_out: u64,
}

impl Unsure {
    fn warn(&self, imported: &mut Imported) {
        let Self {
            untold,
            by_order,
            by_time,
            strays,
            left_out,
        } = self;
        if let Some(first) = untold.first() {
            imported.warn(format!(
                "the replies of {} UDP flows do not say which request they answer, and several requests were open at once, or may have been: they were left out (the first: {first})",
                untold.len()
            ));
        }
        if *by_order > 0 {
            imported.warn(format!("the replies of {by_order} UDP flows do not say which request they answer: they were matched by order"));
        }
        if *by_time > 0 {
            imported.warn(format!(
                "the replies of {by_time} UDP flows do not say which request they answer, and a few requests have none: each reply was taken for that \
                 of the request before it, because all came long before the next request"
            ));
        }
        if *strays > 0 {
            imported.warn(format!(
                "{strays} UDP replies answer no request in the capture"
            ));
        }
        if *left_out > 0 {
            imported.warn(format!(
                "{left_out} UDP flows go one way only and were left out"
            ));
        }
    }
}

impl<'a> Flow<'a> {
    /// Is there a datagram in this direction?
    fn goes(&self, forward: bool) -> bool {
        self.datagrams.iter().any(|it| it.forward == forward)
    }

    fn is_refused(&self) -> bool {
        let mut requests = self.datagrams.iter().filter(|it| it.forward);
        requests.any(|it| it.exchange.outcome == Outcome::Refused)
    }

    fn turn(&mut self) {
        for datagram in &mut self.datagrams {
            datagram.forward = !datagram.forward;
        }
    }

    /// The latest datagram in this direction that begins as this payload does, as far as both are known, and about
    /// which no error has come.
    fn latest_like(&mut self, forward: bool, payload: &[u8]) -> Option<&mut Datagram<'a>> {
        let latest = self.datagrams.iter_mut().rev().take(LOOKED_BACK);
        let mut open =
            latest.filter(|it| it.forward == forward && it.exchange.outcome == Outcome::Lost);
        open.find(|it| {
            let both = payload.len().min(it.payload.len());
            payload[..both] == it.payload[..both]
        })
    }

    /// `None` if nothing tells which reply answers which request.
    fn matched(&self, matching: Matching) -> Option<Matched> {
        match matching {
            Matching::Order => self.in_order(),
            _ => Some(self.by_tag(matching)),
        }
    }

    fn by_tag(&self, matching: Matching) -> Matched {
        let mut sightings = Sightings::default();
        let mut strays = 0;
        for datagram in &self.datagrams {
            let Some(tag) = matching.tag(datagram) else {
                continue;
            };
            if datagram.forward {
                sightings.ask(tag, datagram.exchange.clone());
                continue;
            }
            let reply = Reply {
                answer: matching.answer(datagram),
                ..datagram.reply
            };
            strays += u64::from(!sightings.answer(&tag, datagram.exchange.sent, reply));
        }
        Matched {
            seen: sightings.finish(Repeats::Sometimes),
            strays,
            by_time: false,
        }
    }

    /// Its requests, where none has a reply.
    fn unanswered(&self) -> Sighted {
        let mut sightings = Sightings::default();
        for datagram in self.datagrams.iter().filter(|it| it.forward) {
            sightings.ask(datagram.payload, datagram.exchange.clone());
        }
        sightings.finish(Repeats::Sometimes)
    }

    /// Each reply answers the request before it. `None` if that is not sure: a request was sent while another waited.
    fn in_order(&self) -> Option<Matched> {
        let mut exchanges: Vec<Exchange> = Vec::new();
        let (mut waits, mut strays) = (false, 0);
        // How long those waited that another request came before their reply.
        let mut waited: Option<Nanos> = None;
        for datagram in &self.datagrams {
            let exchange = &datagram.exchange;
            match (datagram.forward, exchanges.last_mut()) {
                (true, last) => {
                    if let Some(last) = last.filter(|_| waits) {
                        let here = exchange.sent.saturating_sub(last.sent);
                        waited = Some(waited.map_or(here, |waited| waited.min(here)));
                    }
                    waits = exchange.waits();
                    exchanges.push(exchange.clone());
                }
                (false, Some(last)) if waits => {
                    waits = false;
                    datagram.answer(last);
                }
                (false, _) => strays += 1,
            }
        }
        let waited = waited.filter(|_| self.goes(false));
        let is_sure = |waited| strays == 0 && are_lost(&exchanges, waited);
        waited.is_none_or(is_sure).then(|| Matched {
            strays,
            by_time: waited.is_some(),
            seen: Sighted {
                sessions: vec![exchanges],
                ..Sighted::default()
            },
        })
    }
}

/// Are the requests without a reply lost, where each reply was taken for that of the request before it? They waited for this time at least
/// until the next one. Had the replies come later, each behind the next request, the first request would have none.
fn are_lost(exchanges: &[Exchange], waited: Nanos) -> bool {
    let trip = |it: &Exchange| Some(it.answered?.saturating_sub(it.sent));
    let longest = exchanges.iter().filter_map(trip).max().unwrap_or(0);
    let lost = exchanges.iter().filter(|it| it.waits()).count();
    let begins_with_a_reply = exchanges.first().is_some_and(|first| !first.waits());
    begins_with_a_reply
        && lost * REQUESTS_A_LOSS <= exchanges.len()
        && longest.saturating_mul(ROUND_TRIPS_WAITED) <= waited
}

impl Datagram<'_> {
    fn answer(&self, exchange: &mut Exchange) {
        exchange.answer(self.exchange.sent, self.reply);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::import::capture::packet::testing::{packet, unreachable, with_icmp};
    use crate::import::capture::packet::{About, Transport};
    use crate::import::ping;
    use delaylab_model::MILLISECOND;
    use delaylab_model::icmp::IcmpReason;
    use delaylab_model::record::Answer;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Host 1 asks from port 1000 and host 2 answers.
    fn take(flows: &mut Flows<'static>, ms: i64, is_reply: bool, payload: &[u8]) {
        // A capture outlives its flows.
        let payload = &*payload.to_vec().leak();
        let ((from, to), ports) = match is_reply {
            false => ((1, 2), (1000, 2000)),
            true => ((2, 1), (2000, 1000)),
        };
        let udp = || Udp {
            from: ports.0,
            to: ports.1,
            payload,
        };
        flows.take(&packet(ms, from, to, Transport::Udp(udp())), &udp());
    }

    fn finished(flows: Flows) -> Imported {
        let mut imported = Imported::new(&ping::FORMAT);
        flows.finish(&mut imported, &mut Elsewhere::default());
        imported
    }

    /// In ms.
    fn trips(imported: &Imported) -> Vec<Option<i64>> {
        let records = imported.streams[0].records.iter();
        let trips = records.map(|it| Some((it.t_rx? - it.t_tx?) / MILLISECOND));
        trips.collect()
    }

    fn irtt(seq: i64, is_reply: bool) -> Vec<u8> {
        let mut payload = vec![0x14, 0xa7, 0x5b, if is_reply { 2 } else { 0 }];
        payload.extend([7; 8]);
        payload.extend((seq as u32).to_le_bytes());
        payload
    }

    fn echo(seq: i64, _: bool) -> Vec<u8> {
        seq.to_be_bytes().to_vec()
    }

    /// A test packet of STAMP, sent at this number of milliseconds.
    fn stamp_request(is_authenticated: bool, seq: i64, ms: i64) -> Vec<u8> {
        let mut packet = vec![0; if is_authenticated { 112 } else { 44 }];
        packet[..4].copy_from_slice(&(seq as u32).to_be_bytes());
        let time_at = if is_authenticated { 16 } else { 4 };
        packet[time_at..][..8].copy_from_slice(&ntp(ms));
        packet
    }

    /// The reply of a reflector that counts its replies.
    fn stamp_reply(request: &[u8], count: i64, ms: i64) -> Vec<u8> {
        let mut packet = vec![0; request.len()];
        let [time_at, received_at, seq_at, sent_at] = match request.len() {
            44 => [4, 16, 24, 28],
            _ => [16, 32, 48, 64],
        };
        packet[..4].copy_from_slice(&(count as u32).to_be_bytes());
        packet[time_at..][..8].copy_from_slice(&ntp(ms));
        packet[received_at..][..8].copy_from_slice(&ntp(ms));
        packet[seq_at..][..4].copy_from_slice(&request[..4]);
        packet[sent_at..][..8].copy_from_slice(&request[time_at..][..8]);
        packet
    }

    fn ntp(ms: i64) -> [u8; 8] {
        (((ms as u64) << 32) / 1_000).to_be_bytes()
    }

    /// The fourth has no reply; the clock's second turns between the ninth and its reply.
    #[test]
    fn replies_of_stamp_are_matched_by_the_number_of_the_sender() {
        for (is_authenticated, kept) in [(false, 44_usize), (false, 41), (true, 112), (true, 66)] {
            let mut flows = Flows::default();
            for seq in 0..10 {
                let ms = 100 * seq;
                let request = stamp_request(is_authenticated, seq, ms + 195);
                let kept = kept.min(request.len());
                take(&mut flows, ms, false, &request[..kept]);
                if seq != 3 {
                    let count = seq - i64::from(seq > 3);
                    let reply = stamp_reply(&request, count, ms + 205);
                    take(&mut flows, ms + 20, true, &reply[..kept]);
                }
            }
            let imported = finished(flows);
            let mut expected = [Some(20); 10];
            expected[3] = None;
            assert_eq!(trips(&imported), expected, "{is_authenticated} {kept}");
            assert_eq!(imported.warnings, [] as [String; 0]);
        }
    }

    /// Each of its replies has zeros where STAMP has what the first request begins with.
    #[test]
    fn an_echo_that_is_filled_with_zeros_is_no_stamp() {
        let mut flows = Flows::default();
        for seq in 0..10 {
            let payload = [&echo(seq, false)[..], &[0; 64]].concat();
            take(&mut flows, 100 * seq, false, &payload);
            take(&mut flows, 100 * seq + 20, true, &payload);
        }
        assert_eq!(trips(&finished(flows)), [Some(20); 10]);
    }

    #[test]
    fn a_capture_of_stamp_may_begin_with_a_reply() {
        let mut flows = Flows::default();
        for seq in 0..10 {
            let request = stamp_request(false, seq, 100 * seq);
            if seq > 0 {
                take(&mut flows, 100 * seq, false, &request);
            }
            let reply = stamp_reply(&request, seq, 100 * seq + 10);
            take(&mut flows, 100 * seq + 20, true, &reply);
        }
        let imported = finished(flows);
        assert_eq!(imported.streams[0].target, "10.0.0.2:2000");
        assert_eq!(trips(&imported), [Some(20); 9]);
    }

    /// Requests every 100 ms, replies 20 ms behind; the first and the last request are not in the capture, nor is the last
    /// reply.
    #[test]
    fn a_capture_may_begin_with_a_reply() {
        for payload in [irtt, echo] {
            let mut flows = Flows::default();
            take(&mut flows, 20, true, &payload(0, true));
            for seq in 1..10 {
                take(&mut flows, 100 * seq, false, &payload(seq, false));
                if seq < 9 {
                    take(&mut flows, 100 * seq + 20, true, &payload(seq, true));
                }
            }
            let imported = finished(flows);
            assert_eq!(imported.streams[0].target, "10.0.0.2:2000");
            let mut expected = vec![Some(20); 8];
            expected.push(None);
            assert_eq!(trips(&imported), expected);
        }
    }

    /// Each is sent before the reply to the one before it comes.
    #[test]
    fn what_is_under_way_at_the_ends_spoils_no_match() {
        let mut flows = Flows::default();
        for seq in 0..12 {
            if seq < 10 {
                take(&mut flows, 10 * seq, false, &echo(seq, false));
            }
            take(&mut flows, 10 * seq + 5, true, &echo(seq - 2, true));
        }
        let imported = finished(flows);
        assert_eq!(trips(&imported), [Some(25); 10]);
        assert_eq!(
            imported.warnings,
            ["2 UDP replies answer no request in the capture"]
        );
    }

    #[test]
    fn what_is_seen_at_two_interfaces_is_one_request() {
        let mut flows = Flows::default();
        for seq in 0..5 {
            for is_reply in [false, false, true, true] {
                let ms = 10 * seq + if is_reply { 4 } else { 0 };
                take(&mut flows, ms, is_reply, &echo(seq, is_reply));
            }
        }
        let imported = finished(flows);
        assert_eq!(trips(&imported), [Some(4); 5]);
        assert_eq!(imported.streams[0].records.counts().duplicate, 0);
    }

    /// By a resolver that waits for 500 ms, or 5 s.
    #[test]
    fn a_request_that_was_sent_again_is_not_the_same_at_another_interface() {
        let message = |flags: u16| {
            let head = [7, flags, 1, 0, 0, 0].map(u16::to_be_bytes).concat();
            [&head, &b"\x03com\x00\x00\x01\x00\x01"[..]].concat()
        };
        for waited in [500, 5_000] {
            let mut flows = Flows::default();
            take(&mut flows, 0, false, &message(0x100));
            take(&mut flows, waited, false, &message(0x100));
            take(&mut flows, waited + 20, true, &message(0x8180));
            let imported = finished(flows);
            assert_eq!(trips(&imported), [None, Some(20)], "{waited}");
        }
    }

    #[test]
    fn requests_that_are_alike_are_matched_by_order() {
        let mut flows = Flows::default();
        for at in 0..5 {
            take(&mut flows, 10 * at, false, &[0; 8]);
            take(&mut flows, 10 * at + 4, true, &[0; 8]);
        }
        let imported = finished(flows);
        assert_eq!(trips(&imported), [Some(4); 5]);
        assert!(imported.warnings[0].contains("by order"));
    }

    /// One each period, from the first on; of each what comes back, and how long after it.
    fn every(
        period: i64,
        count: i64,
        request: impl Fn(i64) -> Vec<u8>,
        reply: impl Fn(i64) -> Option<(i64, Vec<u8>)>,
    ) -> Imported {
        let mut all = Vec::new();
        for at in 0..count {
            all.push((period * at, false, request(at)));
            all.extend(reply(at).map(|(after, payload)| (period * at + after, true, payload)));
        }
        all.sort_by_key(|(ms, ..)| *ms);
        let mut flows = Flows::default();
        for (ms, is_reply, payload) in all {
            take(&mut flows, ms, is_reply, &payload);
        }
        finished(flows)
    }

    /// Several are under way at a time, and five of them get lost.
    #[test]
    fn an_echo_is_matched_by_as_much_as_tells_requests_apart() {
        let lost = |at: i64| at % 60 == 30;
        for same in [0, 2, 8, 16, 100] {
            let payload = |at: i64| [vec![7; same], (at as u32).to_be_bytes().to_vec()].concat();
            let whole = |at| [payload(at), vec![9; 30]].concat();
            // A reply may have other bytes behind its number.
            let changed = |at| [payload(at), (at * 3).to_be_bytes().to_vec()].concat();
            let replies: [&dyn Fn(i64) -> Vec<u8>; 2] = [&whole, &changed];
            for reply in &replies[..if same < 8 { 1 } else { 2 }] {
                let answer = |at| (!lost(at)).then(|| (50, reply(at)));
                let imported = every(20, 300, whole, answer);
                let expected = (0..300).map(|at| (!lost(at)).then_some(50));
                assert_eq!(trips(&imported), expected.collect::<Vec<_>>(), "{same}");
                assert_eq!(imported.warnings, [] as [String; 0]);
            }
        }
    }

    #[test]
    fn answers_of_name_servers_are_matched_by_number_and_question() {
        let message = |at: i64, flags: u16, answers: u16, name: &[u8]| {
            let head = [(at * 401) as u16, flags, 1, answers, 0, 0];
            let mut message = head.map(u16::to_be_bytes).concat();
            message.extend([&b"\x03www"[..], name, &b"\x00\x00\x01\x00\x01"[..]].concat());
            message
        };
        let query = |at| message(at, 0x100, 0, b"\x07example");
        let answer = |at| [message(at, 0x8180, 1, b"\x07example"), vec![at as u8; 16]].concat();
        let lost = |at: i64| at % 40 == 7;
        let steady = every(10, 100, query, |at| (!lost(at)).then(|| (25, answer(at))));
        let expected = (0..100).map(|at| (!lost(at)).then_some(25));
        assert_eq!(trips(&steady), expected.collect::<Vec<_>>());
        assert_eq!(steady.streams[0].method, Method::Dns);
        let first = steady.streams[0].records.get(0).unwrap();
        assert_eq!(first.answer, Some(Answer::Code(0)));
        assert!(
            steady.streams[0]
                .records
                .iter()
                .all(|it| it.reorder_extent == 0)
        );
        let after = |at| if at % 4 == 0 { 60 } else { 3 };
        let reordered = every(10, 100, query, |at| Some((after(at), answer(at))));
        let expected = (0..100).map(|at| Some(after(at)));
        assert_eq!(trips(&reordered), expected.collect::<Vec<_>>());
        // What was asked is as long as the capture kept it, and another question has another answer.
        let other = |at| message(at, 0x8180, 1, b"\x07elsewhr");
        let strange = every(10, 100, query, |at| Some((25, other(at))));
        assert_eq!(trips(&strange), [None; 100]);
        for kept in [12, 15, 20] {
            let cut = |message: Vec<u8>| message[..kept].to_vec();
            let imported = every(
                10,
                100,
                |at| cut(query(at)),
                |at| Some((25, cut(answer(at)))),
            );
            assert_eq!(trips(&imported), [Some(25); 100], "{kept}");
        }
    }

    /// A stub resolver asks from another port each time, and every fifth answer does not come.
    #[test]
    fn questions_from_a_port_each_are_one_stream_of_their_server() {
        let message = |flags: u16| {
            let mut message = [7, flags, 1, 0, 0, 0].map(u16::to_be_bytes).concat();
            message.extend(b"\x07example\x03com\x00\x00\x01\x00\x01");
            &*message.leak()
        };
        let mut flows = Flows::default();
        let mut send = |ms, hosts: (u8, u8), from, to, payload| {
            let udp = || Udp { from, to, payload };
            flows.take(&packet(ms, hosts.0, hosts.1, Transport::Udp(udp())), &udp());
        };
        for at in 0..100 {
            let (ms, port) = (100 * i64::from(at), 40_000 + 17 * at);
            send(ms, (1, 2), port, 53, message(0x100));
            if at % 5 != 0 {
                send(ms + 20, (2, 1), 53, port, message(0x8180));
            }
            // Another client, another server, and what is no request.
            send(ms + 30, (3, 2), 50_000, 53, message(0x100));
            send(ms + 40, (2, 3), 53, 50_000, message(0x8180));
            send(ms + 50, (1, 4), port, 5004, &b"media"[..]);
        }
        let imported = finished(flows);
        let names = imported.streams.iter().map(|it| it.name.as_str());
        let names: Vec<_> = names.collect();
        assert_eq!(
            names,
            ["10.0.0.1 to 10.0.0.2:53", "10.0.0.3:50000 to 10.0.0.2:53"]
        );
        let expected = (0..100).map(|at| (at % 5 != 0).then_some(20));
        assert_eq!(trips(&imported), expected.collect::<Vec<_>>());
        assert_eq!(imported.streams[0].records.counts().lost, 20);
        assert_eq!(
            imported.warnings,
            ["100 UDP flows go one way only and were left out"]
        );
    }

    #[test]
    fn replies_that_say_nothing_while_several_requests_are_open_give_no_figures() {
        // Neither is in the other.
        let random = |at: i64, salt: u64| {
            (0..4).map(move |word| {
                let mixed = (at as u64 * 31 + word + salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                (mixed ^ mixed >> 29).to_be_bytes()
            })
        };
        let payload = |salt| move |at| random(at, salt).flatten().collect::<Vec<_>>();
        for lost in [0, 7, 299] {
            let reply = payload(1 << 40);
            let imported = every(20, 300, payload(0), |at| {
                (at != lost).then(|| (50, reply(at)))
            });
            assert_eq!(imported.streams.len(), 0);
            let [warning] = &imported.warnings[..] else {
                panic!("{:?}", imported.warnings);
            };
            assert!(warning.contains("1 UDP flows do not say which request they answer, and several requests were open at once"), "{warning}");
        }
    }

    proptest! {
        /// Requests are 10 ms apart, and replies take this number of milliseconds. Nothing is in a reply that is in its request only, and some
        /// replies do not come.
        #[test]
        fn replies_that_say_nothing_are_matched_by_time_or_left_out(
            count in 8_i64..60,
            lost in proptest::collection::btree_set(0_i64..60, 1..10),
            after in 1_i64..45,
        ) {
            let lost: BTreeSet<i64> = lost.into_iter().filter(|at| *at < count).collect();
            let answer = |at: i64| (!lost.contains(&at)).then(|| (after, vec![0; 8]));
            let imported = every(10, count, |_| vec![0; 8], answer);
            let expected: Vec<_> = (0..count).map(|at| answer(at).map(|(after, _)| after)).collect();
            let is_sure = after <= 5 && lost.len() as i64 * 4 <= count && !lost.contains(&0);
            prop_assert!(!imported.streams.is_empty() || !is_sure);
            if !imported.streams.is_empty() {
                prop_assert_eq!(trips(&imported), expected);
                let is_last_alone = lost.iter().all(|at| *at == count - 1);
                let said = imported.warnings[0].contains("taken for that of the request before it");
                prop_assert_eq!(said, !is_last_alone);
            }
        }
    }

    /// Each side sends at a rate of its own.
    #[test]
    fn where_many_requests_have_no_reply_they_are_none() {
        let reply = |at: i64| (at % 2 == 0).then(|| (3, vec![0; 8]));
        assert_eq!(every(10, 100, |_| vec![0; 8], reply).streams.len(), 0);
    }

    #[test]
    fn what_is_refused_goes_no_one_way_only() {
        let mut flows = Flows::default();
        for seq in 0..3 {
            take(&mut flows, 10 * seq, false, &echo(seq, false));
        }
        for seq in [2, 0] {
            let message = unreachable(&echo(seq, false));
            with_icmp(&message, 25, 2, 1, |packet, icmp| {
                let Some(About::Udp(datagram)) = icmp.about() else {
                    panic!("it is about a datagram");
                };
                flows.refuse(packet, icmp, &datagram);
            });
        }
        let imported = finished(flows);
        let records = imported.streams[0].records.iter();
        let said = records.map(|it| (it.outcome, it.icmp, it.icmp_type, it.icmp_code));
        let refused = (
            Outcome::Refused,
            Some(IcmpReason::PortUnreachable),
            Some(3),
            Some(3),
        );
        let lost = (Outcome::Lost, None, None, None);
        assert_eq!(said.collect::<Vec<_>>(), [refused, lost, refused]);
        assert_eq!(imported.warnings, [] as [String; 0]);
    }

    /// An error has some of its datagram, or all.
    #[test]
    fn an_error_is_about_the_datagram_that_it_has() {
        let payload = |seq: u8| [&b"MYPROBE1"[..], &[0, 0, 0, seq], &[9; 20]].concat();
        for kept in [12, 32] {
            let mut flows = Flows::default();
            for seq in 0..3 {
                take(&mut flows, 10 * i64::from(seq), false, &payload(seq));
            }
            let message = unreachable(&payload(1)[..kept]);
            with_icmp(&message, 25, 2, 1, |packet, icmp| {
                let Some(About::Udp(datagram)) = icmp.about() else {
                    panic!("it is about a datagram");
                };
                flows.refuse(packet, icmp, &datagram);
            });
            let imported = finished(flows);
            let said = imported.streams[0].records.iter().map(|it| it.outcome);
            let expected = [Outcome::Lost, Outcome::Refused, Outcome::Lost];
            assert_eq!(said.collect::<Vec<_>>(), expected);
        }
    }
}
