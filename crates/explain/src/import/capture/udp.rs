//! UDP: a reply goes back between the same two addresses and ports.
//!
//! Which request it answers is told, in this order,
//! - by irtt's sequence number, where both begin with irtt's magic (irtt packet.go);
//! - by its first eight bytes, where every request has others and every reply has those of a request:
//!   delaylab's token and sequence number, sockperf's sequence number, any RFC 862 echo;
//! - by order: the oldest open request where all were answered, else the newest one.

use super::exchange::{Exchange, Reply, push};
use super::packet::{Packet, Udp};
use crate::import::Imported;
use delaylab_model::method::Method;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
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

/// What is needed of a datagram when all have been seen.
struct Datagram {
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
    seq: u32,
}

impl Irtt {
    fn read(payload: &[u8]) -> Option<Self> {
        const MAGIC: [u8; 3] = [0x14, 0xa7, 0x5b];
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
        Some(Self { control, seq })
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

    pub fn finish(self, imported: &mut Imported) {
        let (mut one_way, mut by_order, mut strays) = (0_u64, 0_u64, 0_u64);
        for ((from, to), flow) in self.flows {
            // What nobody answers is no request: a stream of media, a broadcast.
            if flow.datagrams.iter().all(|datagram| datagram.forward) {
                one_way += 1;
                continue;
            }
            by_order += u64::from(flow.by_order());
            let (exchanges, unasked) = flow.exchanges();
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
    fn is_irtt(&self) -> bool {
        self.datagrams
            .iter()
            .all(|datagram| datagram.irtt.is_some())
    }

    /// Does every request begin with bytes of its own, and every reply with those of a request?
    fn is_echo(&self) -> bool {
        let mut requests = BTreeSet::new();
        self.datagrams.iter().all(|datagram| match datagram.begins {
            Some(begins) if datagram.forward => requests.insert(begins),
            Some(begins) => requests.contains(&begins),
            None => false,
        })
    }

    fn by_order(&self) -> bool {
        !self.is_irtt() && !self.is_echo()
    }

    /// The requests with what came of them, and how many replies had none.
    fn exchanges(&self) -> (Vec<Exchange>, u64) {
        if self.is_irtt() {
            let probes = self
                .datagrams
                .iter()
                .filter(|datagram| datagram.irtt.is_some_and(|irtt| !irtt.control));
            return by_key(probes, |datagram| datagram.irtt.map(|irtt| irtt.seq));
        }
        if self.is_echo() {
            return by_key(self.datagrams.iter(), |datagram| datagram.begins);
        }
        self.in_order()
    }

    fn in_order(&self) -> (Vec<Exchange>, u64) {
        let requests = self
            .datagrams
            .iter()
            .filter(|datagram| datagram.forward)
            .count();
        let all_answered = requests * 2 == self.datagrams.len();
        let mut exchanges: Vec<Exchange> = Vec::with_capacity(requests);
        let mut open: VecDeque<usize> = VecDeque::new();
        let mut strays = 0;
        for datagram in &self.datagrams {
            if datagram.forward {
                open.push_back(exchanges.len());
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
            // The same request twice was seen on two interfaces: the first counts.
            places.entry(key).or_insert_with(|| {
                exchanges.push(datagram.exchange.clone());
                exchanges.len() - 1
            });
        } else {
            match places.get(&key) {
                Some(&index) => datagram.answer(&mut exchanges[index]),
                None => strays += 1,
            }
        }
    }
    (exchanges, strays)
}
