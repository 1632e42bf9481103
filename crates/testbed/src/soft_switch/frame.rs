//! An Ethernet frame as a queue sees it: its size on the wire, its flow, its class, and whose packet it is.

use delaylab_model::Picos;
use delaylab_switch::Item;
use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use std::net::IpAddr;

/// An Ethernet address.
pub type Mac = [u8; 6];

/// ECN bits (RFC 3168 §5): the ends understand marks, and the mark.
const ECT: u8 = 0b11;
const CE: u8 = 0b11;
/// Set in ECT(1) and CE: L4S (RFC 9331).
const ECT_1: u8 = 0b01;

/// What tells the packets of one conversation and direction from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FlowKey {
    /// Source address and port; of ICMP echo, its identifier.
    pub from: (IpAddr, u16),
    /// Destination.
    pub to: (IpAddr, u16),
    /// IP protocol.
    pub protocol: u8,
}

impl FlowKey {
    /// The other direction.
    pub const fn reversed(self) -> Self {
        Self {
            from: self.to,
            to: self.from,
            protocol: self.protocol,
        }
    }
}

/// What a frame says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Read {
    /// Where the IP header begins; `None`: no IP.
    ip_at: Option<usize>,
    /// Bytes of the IP packet and of tags before it; of other frames, without their header.
    pub ip_size: u32,
    /// Whose it is; `None`: no IP.
    pub key: Option<FlowKey>,
    /// Traffic class byte.
    pub traffic_class: u8,
    /// Where the transport's payload begins and how long it is.
    pub payload: Option<(usize, usize)>,
    /// ICMP echo's sequence number.
    pub icmp_seq: Option<u16>,
}

const ETHERNET: usize = 14;

impl Read {
    fn without_ip(frame: &[u8]) -> Self {
        Self {
            ip_at: None,
            ip_size: frame.len().saturating_sub(ETHERNET) as u32,
            key: None,
            traffic_class: 0,
            payload: None,
            icmp_seq: None,
        }
    }

    /// Of a whole frame without its check sequence. What cannot be read is forwarded all the same.
    pub fn new(frame: &[u8]) -> Self {
        let Ok(sliced) = SlicedPacket::from_ethernet(frame) else {
            return Self::without_ip(frame);
        };
        let at = |part: &[u8]| part.as_ptr() as usize - frame.as_ptr() as usize;
        let Some(ip) = sliced.net.as_ref().and_then(Ip::new) else {
            return Self::without_ip(frame);
        };
        let (ports, payload, icmp_seq) = above_ip(sliced.transport.as_ref());
        let ip_at = at(ip.header);
        Self {
            ip_at: Some(ip_at),
            ip_size: ip.size + ip_at.saturating_sub(ETHERNET) as u32,
            key: Some(FlowKey {
                from: (ip.from, ports[0]),
                to: (ip.to, ports[1]),
                protocol: ip.protocol,
            }),
            traffic_class: ip.traffic_class,
            payload: payload.map(|payload| (at(payload), payload.len())),
            icmp_seq,
        }
    }

    /// The DSCP.
    pub const fn code_point(&self) -> u8 {
        self.traffic_class >> 2
    }
}

/// Whose packet a frame carries, where that is a probe's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whose {
    /// Which probe of the trial.
    pub probe: u16,
    /// Which packet of it, as far as the packet says: 16 bits of it for icmp, 32 for others.
    pub seq: u32,
    /// Is it a reply?
    pub back: bool,
}

/// A frame in a switch.
#[derive(Debug, Clone)]
pub struct Frame {
    /// All of it but the check sequence.
    pub bytes: Vec<u8>,
    /// What it takes on the wire, framing included.
    pub wire: u32,
    /// A small number for its flow.
    pub flow: u32,
    /// Its class queue.
    pub queue: u8,
    /// By which port it came.
    pub ingress: u16,
    /// Whose packet it is.
    pub whose: Option<Whose>,
    /// How long the switch held it as it paused.
    pub held: Picos,
    /// When it came to the queue, or was held before it, and what it found there.
    pub joined: (Picos, u64),
    /// Where its IP header is.
    ip_at: Option<usize>,
}

impl Frame {
    /// A frame that was read as `read`.
    pub fn new(bytes: &[u8], read: &Read, wire: u32, flow: u32, queue: u8, ingress: u16) -> Self {
        Self {
            bytes: bytes.to_vec(),
            wire,
            flow,
            queue,
            ingress,
            whose: None,
            held: 0,
            joined: (0, 0),
            ip_at: read.ip_at,
        }
    }

    fn traffic_class(&self) -> Option<(usize, u8, bool)> {
        let at = self.ip_at?;
        let v4 = self.bytes[at] >> 4 == 4;
        let class = if v4 {
            self.bytes[at + 1]
        } else {
            self.bytes[at] << 4 | self.bytes[at + 1] >> 4
        };
        Some((at, class, v4))
    }
}

/// What an IP header says.
struct Ip<'a> {
    header: &'a [u8],
    /// Bytes of the packet.
    size: u32,
    from: IpAddr,
    to: IpAddr,
    protocol: u8,
    traffic_class: u8,
}

impl<'a> Ip<'a> {
    fn new(net: &'a NetSlice<'a>) -> Option<Self> {
        match net {
            NetSlice::Ipv4(ip) => {
                let header = ip.header();
                Some(Self {
                    header: header.slice(),
                    size: u32::from(header.total_len()),
                    from: header.source_addr().into(),
                    to: header.destination_addr().into(),
                    protocol: header.protocol().0,
                    traffic_class: header.dcp().value() << 2 | header.ecn().value(),
                })
            }
            NetSlice::Ipv6(ip) => {
                let header = ip.header();
                Some(Self {
                    header: header.slice(),
                    size: u32::from(header.payload_length()) + 40,
                    from: header.source_addr().into(),
                    to: header.destination_addr().into(),
                    protocol: ip.payload().ip_number.0,
                    traffic_class: header.traffic_class(),
                })
            }
            _ => None,
        }
    }
}

/// Source and destination port (of an echo its identifier, twice), the payload, and the number of an ICMP echo.
fn above_ip<'a>(
    transport: Option<&TransportSlice<'a>>,
) -> ([u16; 2], Option<&'a [u8]>, Option<u16>) {
    let echo = |[id_a, id_b, seq_a, seq_b]: [u8; 4], payload| {
        let id = u16::from_be_bytes([id_a, id_b]);
        let seq = u16::from_be_bytes([seq_a, seq_b]);
        ([id, id], Some(payload), Some(seq))
    };
    match transport {
        Some(TransportSlice::Udp(udp)) => (
            [udp.source_port(), udp.destination_port()],
            Some(udp.payload()),
            None,
        ),
        Some(TransportSlice::Tcp(tcp)) => (
            [tcp.source_port(), tcp.destination_port()],
            Some(tcp.payload()),
            None,
        ),
        Some(TransportSlice::Icmpv4(icmp)) => echo(icmp.bytes5to8(), icmp.payload()),
        Some(TransportSlice::Icmpv6(icmp)) => echo(icmp.bytes5to8(), icmp.payload()),
        _ => ([0, 0], None, None),
    }
}

impl Item for Frame {
    fn bytes(&self) -> u32 {
        self.wire
    }

    fn flow(&self) -> u32 {
        self.flow
    }

    fn queue(&self) -> u8 {
        self.queue
    }

    fn ingress(&self) -> u16 {
        self.ingress
    }

    /// Sets CE where the ends understand it (RFC 3168 §5).
    fn mark(&mut self) -> bool {
        let Some((at, class, v4)) = self.traffic_class() else {
            return false;
        };
        if class & ECT == 0 {
            return false;
        }
        if v4 {
            let word = |bytes: &[u8], at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
            let before = word(&self.bytes, at);
            self.bytes[at + 1] |= CE;
            let sum = update_checksum(word(&self.bytes, at + 10), before, word(&self.bytes, at));
            self.bytes[at + 10..at + 12].copy_from_slice(&sum.to_be_bytes());
        } else {
            self.bytes[at + 1] |= CE << 4;
        }
        true
    }

    fn ecn_capable(&self) -> bool {
        self.traffic_class()
            .is_some_and(|(_, class, _)| class & ECT != 0)
    }

    fn dscp(&self) -> u8 {
        self.traffic_class().map_or(0, |(_, class, _)| class >> 2)
    }

    fn low_latency(&self) -> bool {
        let class = self.traffic_class();
        class.is_some_and(|(_, class, _)| class & ECT_1 != 0)
    }
}

/// A header's checksum after one of its words has changed (RFC 1624, equation 3).
fn update_checksum(sum: u16, before: u16, after: u16) -> u16 {
    let total = u32::from(!sum) + u32::from(!before) + u32::from(after);
    let folded = (total & 0xffff) + (total >> 16);
    !(((folded & 0xffff) + (folded >> 16)) as u16)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use etherparse::{Ipv4Header, PacketBuilder};
    use proptest::prelude::*;

    pub(crate) fn udp(class: u8, payload: &[u8]) -> Vec<u8> {
        let mut ip = Ipv4Header::new(
            0,
            64,
            etherparse::IpNumber::UDP,
            [10, 0, 0, 1],
            [10, 0, 0, 2],
        )
        .unwrap();
        ip.dscp = (class >> 2).try_into().unwrap();
        ip.ecn = (class & 3).try_into().unwrap();
        let builder = PacketBuilder::ethernet2([2; 6], [4; 6])
            .ip(etherparse::IpHeaders::Ipv4(ip, Default::default()))
            .udp(1000, 2000);
        let mut bytes = Vec::new();
        builder.write(&mut bytes, payload).unwrap();
        bytes
    }

    #[test]
    fn a_udp_packet_is_read() {
        let bytes = udp(46 << 2 | 1, b"hello");
        let read = Read::new(&bytes);
        assert_eq!((read.code_point(), read.ip_size), (46, 33));
        let key = read.key.unwrap();
        assert_eq!((key.from.1, key.to.1, key.protocol), (1000, 2000, 17));
        let (at, length) = read.payload.unwrap();
        assert_eq!(&bytes[at..at + length], b"hello");
    }

    #[test]
    fn a_mark_keeps_the_header_whole() {
        for ecn in [1, 2] {
            let bytes = udp(46 << 2 | ecn, b"hello");
            let mut frame = Frame::new(&bytes, &Read::new(&bytes), 64, 0, 0, 0);
            assert!(frame.ecn_capable() && frame.mark());
            let ip = Ipv4Header::from_slice(&frame.bytes[ETHERNET..]).unwrap().0;
            assert_eq!((ip.ecn.value(), ip.dscp.value()), (3, 46));
            assert_eq!(ip.header_checksum, ip.calc_header_checksum());
        }
        let bytes = udp(0, b"");
        let mut frame = Frame::new(&bytes, &Read::new(&bytes), 64, 0, 0, 0);
        assert!(!frame.ecn_capable() && !frame.mark());
        assert_eq!(frame.bytes, bytes);
    }

    proptest! {
        #[test]
        fn whatever_the_bytes_nothing_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let read = Read::new(&bytes);
            let mut frame = Frame::new(&bytes, &read, 64, 0, 0, 0);
            frame.mark();
        }

        #[test]
        fn a_changed_header_of_ours_does_not_panic(at in 0_usize..60, value: u8) {
            let mut bytes = udp(1, &[7; 18]);
            bytes[at] = value;
            let read = Read::new(&bytes);
            Frame::new(&bytes, &read, 64, 0, 0, 0).mark();
        }
    }
}
