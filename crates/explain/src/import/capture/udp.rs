//! UDP: a reply goes back between the same two addresses and ports.
//!
//! Which request it answers is told, in this order,
//! - by irtt's sequence number, where both begin with irtt's magic (irtt packet.go);
//! - by its first eight bytes, where requests have others each and most replies have those of a request:
//!   delaylab's token and sequence number, sockperf's sequence number, any RFC 862 echo;
//! - by order: the oldest open request where all were answered, else the newest one.
//!
//! A capture may begin with a reply. irtt's say that they are, and those of an echo repeat what the other side sent
//! before them; else the endpoint that is seen first is the one that asks.

use super::exchange::{Exchange, Reply, push};
use super::packet::{self, Icmp, Packet, Udp};
use crate::import::Imported;
use delaylab_model::MILLISECOND;
use delaylab_model::method::Method;
use delaylab_model::record::Outcome;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

/// The endpoint that sent first, and the other.
type Key = (SocketAddr, SocketAddr);

/// Every pair of endpoints of a capture.
#[derive(Default)]
pub struct Flows {
    flows: BTreeMap<Key, Flow>,
}

#[derive(Default)]
struct Flow {
    datagrams: Vec<Datagram>,
}

/// The datagram that an error is about is among this number of the latest ones.
const LOOKED_BACK: usize = 4096;

/// By what the replies of a flow are matched with its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Matching {
    Irtt,
    Echo,
    Order,
}

/// What is needed of a datagram when all have been seen.
struct Datagram {
    /// Does it ask? Until all have been seen: is it from the endpoint that sent first?
    forward: bool,
    exchange: Exchange,
    reply: Reply,
    begins: Option<[u8; 8]>,
    irtt: Option<Irtt>,
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

impl Flows {
    pub fn take(&mut self, packet: &Packet, datagram: &Udp) {
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
            begins: datagram.payload.first_chunk().copied(),
            irtt: Irtt::read(datagram.payload),
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

impl Flow {
    /// How its replies are matched, and whether its first datagram is one.
    fn matching(&self) -> (Matching, bool) {
        if self.datagrams.iter().all(|it| it.irtt.is_some()) {
            let first = self.datagrams.first().and_then(|it| it.irtt);
            return (Matching::Irtt, first.is_some_and(|irtt| irtt.reply));
        }
        let echoes = [true, false]
            .into_iter()
            .find(|&forward| self.is_echo(forward));
        match echoes {
            Some(forward) => (Matching::Echo, !forward),
            None => (Matching::Order, false),
        }
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
    fn latest_like(&mut self, forward: bool, payload: &[u8]) -> Option<&mut Datagram> {
        let begins: Option<[u8; 8]> = payload.first_chunk().copied();
        let seq = |irtt: Option<Irtt>| irtt.map(|irtt| irtt.seq);
        let irtt = seq(Irtt::read(payload));
        let latest = self.datagrams.iter_mut().rev().take(LOOKED_BACK);
        let mut open =
            latest.filter(|it| it.forward == forward && it.exchange.outcome == Outcome::Lost);
        open.find(|it| {
            begins.is_none_or(|begins| it.begins.is_none_or(|own| own == begins))
                && irtt.is_none_or(|_| irtt == seq(it.irtt))
        })
    }

    /// Do requests, which go in this direction, begin with bytes of their own, but for a few, and at least half of the replies
    /// with those of a request before them?
    fn is_echo(&self, forward: bool) -> bool {
        let mut known = BTreeMap::new();
        let (mut requests, mut again, mut replies, mut echoes) = (0, 0, 0, 0);
        for datagram in &self.datagrams {
            let Some(begins) = datagram.begins else {
                return false;
            };
            if datagram.forward != forward {
                replies += 1;
                echoes += usize::from(known.contains_key(&begins));
                continue;
            }
            requests += 1;
            let time = datagram.exchange.sent;
            match known.entry(begins) {
                Entry::Vacant(place) => {
                    place.insert(time);
                }
                // Other than at the next interface.
                Entry::Occupied(first) if time > first.get() + MILLISECOND => again += 1,
                Entry::Occupied(_) => {}
            }
        }
        again * 10 <= requests && echoes * 2 >= replies
    }

    /// The requests with what came of them, and how many replies had none.
    fn exchanges(&self, matching: Matching) -> (Vec<Exchange>, u64) {
        let all = self.datagrams.iter();
        match matching {
            Matching::Irtt => {
                let probes = all.filter(|it| it.irtt.is_some_and(|irtt| !irtt.control));
                by_key(probes, |datagram| datagram.irtt.map(|irtt| irtt.seq))
            }
            Matching::Echo => by_key(all, |datagram| datagram.begins),
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

impl Datagram {
    fn answer(&self, exchange: &mut Exchange) {
        exchange.answer(self.exchange.sent, self.reply);
    }
}

fn by_key<'a, K: Ord>(
    datagrams: impl Iterator<Item = &'a Datagram>,
    key: impl Fn(&Datagram) -> Option<K>,
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
    fn take(flows: &mut Flows, ms: i64, is_reply: bool, payload: &[u8]) {
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
