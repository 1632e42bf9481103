//! UDP: a reply goes back between the same two addresses and ports.
//!
//! Which request it answers is told, in this order,
//! - by irtt's sequence number, where both begin with irtt's magic (irtt packet.go);
//! - by the Session-Sender's sequence number that a reply of STAMP or TWAMP repeats (RFC 8762 §4.3): its own is that of
//!   the reflector, which may count otherwise;
//! - by its first eight bytes, where requests have others each and most replies have those of a request:
//!   delaylab's token and sequence number, sockperf's sequence number, any RFC 862 echo;
//! - by order: the oldest open request where all were answered, else the newest one.
//!
//! A capture may begin with a reply. irtt's say that they are, and those of STAMP or an echo repeat what the other side
//! sent before them; else the endpoint that is seen first is the one that asks.

use super::exchange::{Exchange, Reply, push};
use super::packet::{self, Icmp, Packet, Udp};
use crate::import::Imported;
use delaylab_model::method::Method;
use delaylab_model::record::Outcome;
use delaylab_model::{MILLISECOND, Nanos};
use std::collections::{BTreeMap, VecDeque};
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

/// By what the replies of a flow are matched with its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Matching {
    Irtt,
    Echo(Echo),
    Order,
}

/// What replies have of their requests: this number of the first bytes, at this place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Echo {
    length: usize,
    at: usize,
}

/// The first by which a flow can be matched counts. STAMP's number has the time behind it, or in authenticated packets
/// zeros: the time of these stands further behind than most captures reach.
const ECHOES: [Echo; 3] = [
    Echo { length: 12, at: 24 },
    Echo { length: 12, at: 48 },
    Echo { length: 8, at: 0 },
];

/// What is needed of a datagram when all have been seen.
struct Datagram<'a> {
    /// Does it ask? Until all have been seen: is it from the endpoint that sent first?
    forward: bool,
    exchange: Exchange,
    reply: Reply,
    payload: &'a [u8],
}

/// irtt's header: 3 bytes of magic, flags, a tag if flag 8 is set, the token, the sequence number
/// (little endian).
#[derive(Clone, Copy)]
struct Irtt {
    /// Opens or closes, and is no probe.
    control: bool,
    reply: bool,
    seq: u32,
}

impl Irtt {
    fn read(payload: &[u8]) -> Option<Self> {
        const MAGIC: [u8; 3] = [0x14, 0xa7, 0x5b];
        const REPLY: u8 = 2;
        const TAGGED: u8 = 8;
        const CONTROL: u8 = 1 | 4;
        let flags = *payload.strip_prefix(&MAGIC)?.first()?;
        let seq_at = if flags & TAGGED == 0 { 12 } else { 28 };
        // What opens is shorter than a probe: it has no number.
        let seq = payload
            .get(seq_at..seq_at + 4)
            .and_then(|bytes| bytes.try_into().ok());
        let control = flags & CONTROL != 0;
        let seq = seq.map_or(control.then_some(0), |bytes| {
            Some(u32::from_le_bytes(bytes))
        })?;
        Some(Self {
            control,
            reply: flags & REPLY != 0,
            seq,
        })
    }
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

    pub fn finish(self, imported: &mut Imported) {
        let (mut one_way, mut by_order, mut strays) = (0_u64, 0_u64, 0_u64);
        for ((mut from, mut to), mut flow) in self.flows {
            let (matching, begins_with_a_reply) = flow.matching();
            if begins_with_a_reply {
                flow.turn();
                (from, to) = (to, from);
            }
            let is_answered = flow.goes(false);
            // What is neither answered nor refused is no request: a stream of media, a broadcast.
            if !flow.goes(true) || !(is_answered || flow.is_refused()) {
                one_way += 1;
                continue;
            }
            by_order += u64::from(is_answered && matching == Matching::Order);
            let (exchanges, unasked) = flow.exchanges(matching);
            strays += unasked;
            let name = format!("{from} to {to}");
            push(imported, name, to.to_string(), Method::Udp, &exchanges);
        }
        if by_order > 0 {
            imported.warn(format!("the replies of {by_order} UDP flows do not say which request they answer: they were matched by order"));
        }
        if strays > 0 {
            imported.warn(format!(
                "{strays} UDP replies answer no request in the capture"
            ));
        }
        if one_way > 0 {
            imported.warn(format!(
                "{one_way} UDP flows go one way only and were left out"
            ));
        }
    }
}

impl<'a> Flow<'a> {
    /// How its replies are matched, and whether its first datagram is one.
    fn matching(&self) -> (Matching, bool) {
        if self.datagrams.iter().all(|it| it.irtt().is_some()) {
            let first = self.datagrams.first().and_then(Datagram::irtt);
            return (Matching::Irtt, first.is_some_and(|irtt| irtt.reply));
        }
        for echo in ECHOES {
            for forward in [true, false] {
                if self.is_echo(forward, echo) {
                    return (Matching::Echo(echo), !forward);
                }
            }
        }
        (Matching::Order, false)
    }

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

    /// The latest datagram in this direction that begins as this payload does, as far as that is known, and about
    /// which no error has come.
    fn latest_like(&mut self, forward: bool, payload: &[u8]) -> Option<&mut Datagram<'a>> {
        fn begins(payload: &[u8]) -> Option<&[u8; 8]> {
            payload.first_chunk()
        }
        let seq = |irtt: Option<Irtt>| irtt.map(|irtt| irtt.seq);
        let irtt = seq(Irtt::read(payload));
        let latest = self.datagrams.iter_mut().rev().take(LOOKED_BACK);
        let mut open =
            latest.filter(|it| it.forward == forward && it.exchange.outcome == Outcome::Lost);
        open.find(|it| {
            let (said, own) = (begins(payload), begins(it.payload));
            said.is_none_or(|said| own.is_none_or(|own| own == said))
                && irtt.is_none_or(|_| irtt == seq(it.irtt()))
        })
    }

    /// Do requests, which go in this direction, begin with bytes of their own, but for a few, and have at least half of the
    /// replies those of a request before them that no other reply had?
    fn is_echo(&self, forward: bool, echo: Echo) -> bool {
        // When each was sent and answered.
        let mut known: BTreeMap<&[u8], (Nanos, Option<Nanos>)> = BTreeMap::new();
        let (mut requests, mut again, mut replies, mut echoes) = (0, 0, 0, 0);
        for datagram in &self.datagrams {
            let is_request = datagram.forward == forward;
            let Some(begins) = datagram.echoed(is_request, echo) else {
                return false;
            };
            let time = datagram.exchange.sent;
            // Other than at the next interface.
            let is_later = |first: Nanos| time > first + MILLISECOND;
            if is_request {
                requests += 1;
                let (sent, _) = known.entry(begins).or_insert((time, None));
                again += usize::from(is_later(*sent));
            } else {
                replies += 1;
                if let Some((_, answered)) = known.get_mut(begins) {
                    let answered = *answered.get_or_insert(time);
                    echoes += usize::from(!is_later(answered));
                }
            }
        }
        again * 10 <= requests && echoes * 2 >= replies
    }

    /// The requests with what came of them, and how many replies had none.
    fn exchanges(&self, matching: Matching) -> (Vec<Exchange>, u64) {
        let all = self.datagrams.iter();
        match matching {
            Matching::Irtt => {
                let probes = all.filter(|it| it.irtt().is_some_and(|irtt| !irtt.control));
                by_key(probes, |datagram| datagram.irtt().map(|irtt| irtt.seq))
            }
            Matching::Echo(echo) => by_key(all, |it| it.echoed(it.forward, echo)),
            Matching::Order => self.in_order(),
        }
    }

    fn in_order(&self) -> (Vec<Exchange>, u64) {
        let requests = self
            .datagrams
            .iter()
            .filter(|it| it.forward && it.exchange.outcome == Outcome::Lost)
            .count();
        let replies = self.datagrams.iter().filter(|it| !it.forward).count();
        let all_answered = requests == replies;
        let mut exchanges: Vec<Exchange> = Vec::with_capacity(requests);
        let mut open: VecDeque<usize> = VecDeque::new();
        let mut strays = 0;
        for datagram in &self.datagrams {
            if datagram.forward {
                if datagram.exchange.outcome == Outcome::Lost {
                    open.push_back(exchanges.len());
                }
                exchanges.push(datagram.exchange.clone());
                continue;
            }
            let answered = if all_answered {
                open.pop_front()
            } else {
                open.pop_back()
            };
            match answered {
                Some(index) => datagram.answer(&mut exchanges[index]),
                None => strays += 1,
            }
        }
        (exchanges, strays)
    }
}

impl<'a> Datagram<'a> {
    fn irtt(&self) -> Option<Irtt> {
        Irtt::read(self.payload)
    }

    /// The bytes that a request and its reply have in common, in one or the other.
    fn echoed(&self, is_request: bool, echo: Echo) -> Option<&'a [u8]> {
        let at = if is_request { 0 } else { echo.at };
        self.payload.get(at..at + echo.length)
    }

    fn answer(&self, exchange: &mut Exchange) {
        exchange.answer(self.exchange.sent, self.reply);
    }
}

fn by_key<'a, 'p: 'a, K: Ord>(
    datagrams: impl Iterator<Item = &'a Datagram<'p>>,
    key: impl Fn(&Datagram<'p>) -> Option<K>,
) -> (Vec<Exchange>, u64) {
    let mut exchanges: Vec<Exchange> = Vec::new();
    let mut places: BTreeMap<K, usize> = BTreeMap::new();
    let mut strays = 0;
    for datagram in datagrams {
        let Some(key) = key(datagram) else { continue };
        if datagram.forward {
            let known = places.get(&key).map(|&at| &mut exchanges[at]);
            if !known.is_some_and(|known| known.is_seen_again(datagram.exchange.sent)) {
                places.insert(key, exchanges.len());
                exchanges.push(datagram.exchange.clone());
            }
        } else {
            match places.get(&key) {
                Some(&index) => datagram.answer(&mut exchanges[index]),
                None => strays += 1,
            }
        }
    }
    (exchanges, strays)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::import::capture::packet::testing::{packet, unreachable, with_icmp};
    use crate::import::capture::packet::{About, Transport};
    use crate::import::ping;
    use delaylab_model::icmp::IcmpReason;

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
        flows.finish(&mut imported);
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
        assert_eq!(imported.streams[0].records.counts().copies, 0);
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
}
