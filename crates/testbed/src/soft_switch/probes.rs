//! Whose packet a frame carries: which probe's, and which of its packets.

use super::frame::{FlowKey, Read, Whose};
use delaylab_model::method::{Carrier, Method};
use delaylab_wire::{control, echo};
use std::collections::HashMap;
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
    /// Its class: it tells probes between the same hosts apart.
    pub code_point: u8,
}

/// Every probe of a trial.
#[derive(Debug, Clone, Default)]
pub struct Probes {
    watched: Vec<WatchedProbe>,
    /// Conversations that have been seen; `None`: nobody's.
    known: HashMap<FlowKey, Option<(u16, Method)>>,
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
            known: HashMap::new(),
        }
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
        let (probe, method) = found?;
        let seq = seq(method, read, frame)?;
        Some(Whose { probe, seq, back })
    }

    fn out(&mut self, key: FlowKey, read: &Read) -> Option<(u16, Method)> {
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let code_point = read.code_point();
        let is_of = |watched: &&WatchedProbe| {
            let protocol = match watched.method.carrier() {
                Carrier::Icmp => matches!(key.protocol, ICMP | ICMPV6),
                Carrier::Udp => key.protocol == UDP,
                Carrier::Tcp => false,
            };
            let ends = (watched.from, watched.to) == (key.from.0, key.to.0);
            protocol && ends && watched.code_point == code_point
        };
        let mut found = self.watched.iter().filter(is_of);
        // Of two that look alike nobody can say which it is.
        let one = found.next().filter(|_| found.next().is_none());
        let found = one.map(|watched| (watched.probe, watched.method));
        if self.known.len() >= MOST {
            self.known.clear();
        }
        self.known.insert(key, found);
        found
    }
}

fn seq(method: Method, read: &Read, frame: &[u8]) -> Option<u32> {
    if method == Method::Icmp {
        return read.icmp_seq.map(u32::from);
    }
    let (at, length) = read.payload?;
    let payload = frame.get(at..at + length)?;
    match method {
        // What is said when a session is set up is no packet of it.
        Method::Udp if control::is_control(payload) => None,
        Method::Udp => Some(echo::Header::parse(payload).ok()?.seq),
        Method::Stamp => Some(u32::from_be_bytes(*payload.first_chunk()?)),
        Method::Frame => Some(u32::from_be_bytes(*payload.get(2..)?.first_chunk()?)),
        _ => None,
    }
}

/// Which packet of a probe it is whose number's low bits are these; its later packets are beyond
/// `last`, a packet that has been seen.
pub const fn unwrap(method: Method, low: u32, last: u64) -> u64 {
    let bits = match method {
        Method::Icmp => 16,
        _ => 32,
    };
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
    use etherparse::PacketBuilder;
    use proptest::prelude::*;

    fn watched(probe: u16, code_point: u8) -> WatchedProbe {
        WatchedProbe {
            probe,
            method: Method::Udp,
            from: [10, 0, 0, 1].into(),
            to: [10, 0, 0, 2].into(),
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

    #[test]
    fn of_two_alike_nobody_is_named() {
        let mut probes = Probes::new(vec![watched(3, 0), watched(4, 0)]);
        assert_eq!(
            whose(&mut probes, &packet(1, 2, (5000, 8862), &[0; 20])),
            None
        );
    }

    proptest! {
        #[test]
        fn low_bits_find_the_packet(seq in 0_u64..1 << 34, behind in -30_000_i64..30_000) {
            let last = seq.saturating_add_signed(behind);
            prop_assert_eq!(unwrap(Method::Icmp, (seq & 0xffff) as u32, last), seq);
            prop_assert_eq!(unwrap(Method::Udp, seq as u32, last), seq);
        }
    }
}
