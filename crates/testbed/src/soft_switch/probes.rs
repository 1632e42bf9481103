//! Whose packet a frame carries: which probe's, and which of its packets.

use super::frame::{FlowKey, Read, Whose};
use delaylab_model::method::{Carrier, Method, Responder};
use delaylab_wire::stamp::{Form, Reflector};
use delaylab_wire::{control, echo};
use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;

/// A probe whose packets are to be known again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedProbe {
    /// Which probe of the trial.
    pub probe: u16,
    /// How it asks.
    pub method: Method,
    /// Its host.
    pub from: IpAddr,
    /// The reflector's.
    pub to: IpAddr,
    /// Where it listens: a load between the same hosts has another. `None` where the address alone tells.
    pub port: Option<u16>,
    /// Its class.
    pub code_point: u8,
}

impl WatchedProbe {
    /// What a switch sees of its conversation before its first packet is read.
    fn looks(&self) -> impl PartialEq {
        let carrier = self.method.carrier();
        (carrier, self.from, self.to, self.port, self.code_point)
    }

    /// Is a packet of this conversation and code point one of its requests?
    fn sends(&self, key: &FlowKey, code_point: u8) -> bool {
        let protocol = match self.method.carrier() {
            Carrier::Icmp => matches!(key.protocol, ICMP | ICMPV6),
            Carrier::Udp => key.protocol == UDP,
            Carrier::Tcp => false,
        };
        let ends = (self.from, self.to) == (key.from.0, key.to.0);
        let port = self.port.is_none_or(|port| port == key.to.1);
        protocol && ends && port && self.code_point == code_point
    }
}

/// Every probe of a trial.
#[derive(Debug, Clone, Default)]
pub struct Probes {
    watched: Vec<WatchedProbe>,
    /// Which number packet 0 of each has on the wire, where it is not 0 and a packet has been seen.
    firsts: HashMap<u16, u32>,
    /// Conversations that have been seen, and which of the probes each is of; `None`: of no probe.
    known: HashMap<FlowKey, Option<usize>>,
}

const ICMP: u8 = 1;
const UDP: u8 = 17;
const ICMPV6: u8 = 58;
/// Conversations remembered at once.
const MOST: usize = 1 << 16;

impl Probes {
    /// These.
    pub fn new(watched: Vec<WatchedProbe>) -> Self {
        Self {
            watched,
            ..Self::default()
        }
    }

    /// Probes that look like another one to a switch: it knows of no packet whose it is.
    pub fn alike(&self) -> BTreeSet<u16> {
        let has_hops = |one: &&WatchedProbe| one.method.is_one_packet();
        let is_alike = |one: &&WatchedProbe| {
            let mut others = self.watched.iter().filter(|other| other.probe != one.probe);
            others.any(|other| other.looks() == one.looks())
        };
        let found = self.watched.iter().filter(has_hops).filter(is_alike);
        found.map(|one| one.probe).collect()
    }

    /// Whose packet it is. Packets of tcp are bytes of a stream and say of no probe which it is.
    pub fn whose(&mut self, read: &Read, frame: &[u8]) -> Option<Whose> {
        let key = read.key?;
        if self.watched.is_empty() || !matches!(key.protocol, ICMP | UDP | ICMPV6) {
            return None;
        }
        let (found, back) = match self.known.get(&key.reversed()) {
            Some(Some(found)) => (Some(*found), true),
            _ => (self.out(key, read), false),
        };
        let WatchedProbe { probe, method, .. } = self.watched[found?];
        let mut seq = number(method, read, frame, back)?;
        if method.responder() == Some(Responder::Stamp) {
            // The first packet of all tries the reflector, and has the number before packet 0.
            let first = *self.firsts.entry(probe).or_insert(seq.wrapping_add(1));
            seq = seq.wrapping_sub(first);
            if seq > u32::MAX / 2 {
                return None;
            }
        }
        Some(Whose { probe, seq, back })
    }

    fn out(&mut self, key: FlowKey, read: &Read) -> Option<usize> {
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let code_point = read.code_point();
        let is_of = |(_, watched): &(usize, &WatchedProbe)| watched.sends(&key, code_point);
        let mut found = self.watched.iter().enumerate().filter(is_of);
        // Two that look alike cannot be told apart.
        let one = found.next().filter(|_| found.next().is_none());
        let found = one.map(|(index, _)| index);
        if self.known.len() >= MOST {
            self.known.clear();
        }
        self.known.insert(key, found);
        found
    }
}

/// The number that the packet has on the wire.
fn number(method: Method, read: &Read, frame: &[u8], back: bool) -> Option<u32> {
    if !method.has_port() {
        return read.icmp_seq.map(u32::from);
    }
    let (at, length) = read.payload?;
    let payload = frame.get(at..at + length)?;
    match method.responder() {
        // What is said when a session is set up is no packet of it.
        Some(Responder::Echo) if control::is_control(payload) => None,
        Some(Responder::Echo) => Some(echo::Header::parse(payload).ok()?.seq),
        Some(Responder::Stamp) => {
            // A reply begins with the reflector's own count, and no probe of a testbed has a key.
            let reply = || Reflector::parse(Form::Unauthenticated, payload).ok();
            match back {
                false => Some(u32::from_be_bytes(*payload.first_chunk()?)),
                true => Some(reply()?.sender.seq),
            }
        }
        // A frame of a tester.
        None => Some(u32::from_be_bytes(*payload.get(2..)?.first_chunk()?)),
        Some(_) => None,
    }
}

/// Which packet of a probe it is whose number's low bits are these; its later packets are beyond
/// `last`, a packet that has been seen.
pub const fn widened(method: Method, low: u32, last: u64) -> u64 {
    let bits = if method.has_port() { 32 } else { 16 };
    let span = 1_u64 << bits;
    // The nearest to what was seen last.
    let base = last & !(span - 1);
    let here = base | low as u64;
    if here + span / 2 < last {
        here + span
    } else if here > last + span / 2 && here >= span {
        here - span
    } else {
        here
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_wire::ntp::ErrorEstimate;
    use delaylab_wire::stamp::{Echoed, Sender};
    use etherparse::PacketBuilder;
    use proptest::prelude::*;

    fn watched(probe: u16, code_point: u8) -> WatchedProbe {
        WatchedProbe {
            probe,
            method: Method::Udp,
            from: [10, 0, 0, 1].into(),
            to: [10, 0, 0, 2].into(),
            port: Some(8862),
            code_point,
        }
    }

    fn packet(from: u8, to: u8, ports: (u16, u16), payload: &[u8]) -> Vec<u8> {
        let builder = PacketBuilder::ethernet2([2; 6], [4; 6])
            .ipv4([10, 0, 0, from], [10, 0, 0, to], 64)
            .udp(ports.0, ports.1);
        let mut bytes = Vec::new();
        builder.write(&mut bytes, payload).unwrap();
        bytes
    }

    fn whose(probes: &mut Probes, bytes: &[u8]) -> Option<Whose> {
        probes.whose(&Read::new(bytes), bytes)
    }

    #[test]
    fn packets_are_known_in_both_directions() {
        let mut probes = Probes::new(vec![watched(3, 0), watched(4, 46)]);
        let mut payload = [0; 20];
        payload[4..8].copy_from_slice(&77_u32.to_be_bytes());
        let found = whose(&mut probes, &packet(1, 2, (5000, 8862), &payload)).unwrap();
        assert_eq!((found.probe, found.seq, found.back), (3, 77, false));
        let found = whose(&mut probes, &packet(2, 1, (8862, 5000), &payload)).unwrap();
        assert_eq!((found.probe, found.seq, found.back), (3, 77, true));
        let other = packet(2, 1, (1, 2), &payload);
        assert_eq!(whose(&mut probes, &other), None);
        let hello = packet(1, 2, (5000, 8862), b"delaylab and so on");
        assert_eq!(whose(&mut probes, &hello), None);
    }

    /// A sender counts from a number of its own, a reflector counts replies and repeats the sender's number.
    #[test]
    fn packets_of_stamp_are_known_by_the_senders_number() {
        const FIRST: u32 = 1_000_000;
        let mut probes = Probes::new(vec![WatchedProbe {
            method: Method::Stamp,
            port: Some(862),
            ..watched(3, 0)
        }]);
        let error = ErrorEstimate::from_bits(0x8001);
        let mut out = |seq| {
            let sender = Sender {
                seq,
                timestamp: 7,
                error,
                ssid: 9,
            };
            let mut payload = [0; 44];
            sender.emit(Form::Unauthenticated, &mut payload).unwrap();
            whose(&mut probes, &packet(1, 2, (5000, 862), &payload)).map(|found| found.seq)
        };
        // They try the reflector.
        assert_eq!(out(FIRST - 1), None);
        assert_eq!(out(FIRST - 2), None);
        assert_eq!(out(FIRST), Some(0));
        assert_eq!(out(FIRST + 77), Some(77));
        let mut back = |seq| {
            let reply = Reflector {
                seq: 5,
                timestamp: 8,
                error,
                ssid: 9,
                receive: 8,
                sender: Echoed {
                    seq,
                    timestamp: 7,
                    error,
                    ttl: 64,
                },
            };
            let mut payload = [0; 44];
            reply.emit(Form::Unauthenticated, &mut payload).unwrap();
            whose(&mut probes, &packet(2, 1, (862, 5000), &payload))
                .map(|found| (found.seq, found.back))
        };
        assert_eq!(back(FIRST + 77), Some((77, true)));
        assert_eq!(back(FIRST - 1), None);
    }

    /// Its datagrams look like those of a probe, and may be the first ones between these hosts.
    #[test]
    fn a_load_between_the_hosts_of_a_probe_is_none_of_its_packets() {
        let mut probes = Probes::new(vec![watched(3, 0)]);
        let mut of = |ports| whose(&mut probes, &packet(1, 2, ports, &[0; 20]));
        assert_eq!(of((5000, 8863)), None);
        assert!(of((5000, 8862)).is_some());
        assert_eq!(of((5001, 8863)), None);
    }

    #[test]
    fn probes_that_ask_at_different_ports_are_told_apart() {
        let other = WatchedProbe {
            port: Some(53),
            ..watched(4, 0)
        };
        let mut probes = Probes::new(vec![watched(3, 0), other]);
        let mut of = |port| whose(&mut probes, &packet(1, 2, (5000, port), &[0; 20]));
        let found = [of(8862), of(53)].map(|found| found.map(|it| it.probe));
        assert_eq!(found, [Some(3), Some(4)]);
    }

    /// And which they are can be known before there are packets.
    #[test]
    fn two_that_look_alike_are_not_told_apart() {
        let tcp = |probe| WatchedProbe {
            method: Method::Tcp,
            ..watched(probe, 0)
        };
        let all = vec![watched(3, 0), watched(4, 0), watched(5, 46), tcp(6), tcp(7)];
        let mut probes = Probes::new(all);
        assert_eq!(Vec::from_iter(probes.alike()), [3, 4]);
        assert_eq!(
            whose(&mut probes, &packet(1, 2, (5000, 8862), &[0; 20])),
            None
        );
    }

    proptest! {
        #[test]
        fn low_bits_find_the_packet(seq in 0_u64..1 << 34, behind in -30_000_i64..30_000) {
            let last = seq.saturating_add_signed(behind);
            prop_assert_eq!(widened(Method::Icmp, (seq & 0xffff) as u32, last), seq);
            prop_assert_eq!(widened(Method::Udp, seq as u32, last), seq);
        }
    }
}
