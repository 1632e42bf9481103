//! A captured packet with its link and IP headers taken off.
//!
//! Captures keep only the beginning of packets, so lengths are those of the IP header and never those
//! of what was kept. Of a segment that the network card is to cut they may be 0, and what was kept is all there is.

use super::frames::Frame;
use delaylab_model::Nanos;
use delaylab_model::icmp::IcmpReason;
use etherparse::{IpNumber, LaxNetSlice, LaxSlicedPacket, TransportSlice};
use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// Where a packet was seen: at an interface of the file, and of `any` at one of its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Place {
    pub interface: u32,
    pub of_any: Option<u32>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.of_any {
            Some(index) => write!(f, "interface {index}"),
            None => write!(f, "interface {} of the file", self.interface),
        }
    }
}

/// What is needed of a packet to match it.
pub struct Packet<'a> {
    pub time: Nanos,
    pub place: Place,
    pub from: IpAddr,
    pub to: IpAddr,
    /// Its identification, of IPv4 where it has one: what is sent again has another.
    pub id: Option<u16>,
    /// Bytes of the IP packet.
    pub size: u32,
    pub dscp: u8,
    pub ecn: u8,
    pub ttl: u8,
    pub transport: Transport<'a>,
}

pub enum Transport<'a> {
    Icmp(Icmp<'a>),
    Udp(Udp<'a>),
    Tcp(Tcp),
}

/// An ICMP message, of either version.
pub struct Icmp<'a> {
    pub kind: Kind,
    /// Identifier and sequence number, of an echo.
    pub id: u16,
    pub seq: u16,
    pub numbers: IcmpNumbers,
    /// Of an error: the packet that it is about.
    about: &'a [u8],
}

/// The numbers of an ICMP message, and of an error what they mean.
#[derive(Debug, Clone, Copy)]
pub struct IcmpNumbers {
    pub icmp_type: u8,
    pub icmp_code: u8,
    pub reason: IcmpReason,
    /// What would have fit, of one that was too big.
    pub path_mtu: Option<u32>,
}

/// What an error is about.
pub enum About<'a> {
    /// An echo request.
    Echo(Echo),
    Udp(Datagram<'a>),
}

/// An echo request: to whom, and its numbers.
pub struct Echo {
    pub to: IpAddr,
    pub id: u16,
    pub seq: u16,
}

/// A datagram, as much of it as the error has.
pub struct Datagram<'a> {
    pub from: SocketAddr,
    pub to: SocketAddr,
    pub payload: &'a [u8],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Request,
    Reply,
    /// Unreachable, too big, time exceeded, parameter problem.
    Error,
}

pub struct Udp<'a> {
    pub from: u16,
    pub to: u16,
    /// As much as was kept.
    pub payload: &'a [u8],
}

pub struct Tcp {
    pub from: u16,
    pub to: u16,
    pub seq: u32,
    pub ack: u32,
    /// Bytes of data that it carried.
    pub data: u32,
    pub opens: bool,
    /// Is this a SYN that answers one?
    pub accepts: bool,
    /// Is it the last of its side?
    pub ends: bool,
    pub resets: bool,
}

impl Packet<'_> {
    pub fn source(&self, port: u16) -> SocketAddr {
        SocketAddr::new(self.from, port)
    }

    pub fn destination(&self, port: u16) -> SocketAddr {
        SocketAddr::new(self.to, port)
    }
}

/// What stands in front of IP.
enum Link {
    Ethernet,
    /// Another header of this number of bytes.
    Header(usize),
}

impl Link {
    /// By its LINKTYPE.
    const fn known(number: u32) -> Option<Self> {
        Some(match number {
            1 => Link::Ethernet,
            // BSD loopback: an address family, in either byte order.
            0 | 108 => Link::Header(4),
            // Raw IP, by its several numbers.
            12 | 14 | 101 | 228 | 229 => Link::Header(0),
            // Linux cooked, of `tcpdump -i any`, first and second version.
            113 => Link::Header(16),
            SLL2 => Link::Header(20),
            _ => return None,
        })
    }
}

/// Linux cooked, second version: `tcpdump -i any`.
const SLL2: u32 = 276;

/// May a capture of this link have packets of several interfaces?
pub const fn is_of_any(link: u32) -> bool {
    link == SLL2
}

fn place(frame: &Frame) -> Place {
    let header = frame.data.get(4..8).filter(|_| is_of_any(frame.link));
    let index = header.and_then(|bytes| bytes.try_into().ok());
    Place {
        interface: frame.interface,
        of_any: index.map(u32::from_be_bytes),
    }
}

/// Can packets of this LINKTYPE be read?
pub const fn is_read(link: u32) -> bool {
    Link::known(link).is_some()
}

impl<'a> Packet<'a> {
    /// `None` for what is no IP packet, a fragment, or of another protocol.
    pub fn read(frame: &'a Frame) -> Option<Self> {
        let sliced = sliced(frame)?;
        let net = sliced.net.as_ref()?;
        let (ip, payload) = (IpHeader::read(net)?, net.ip_payload_ref()?);
        if payload.fragmented {
            return None;
        }
        let kept = u32::try_from(payload.payload.len()).ok()?;
        let length = u32::try_from(ip.length).ok()?;
        let carried = ip.size.saturating_sub(length).max(kept);
        let transport = match sliced.transport {
            Some(TransportSlice::Udp(udp)) => Transport::Udp(Udp {
                from: udp.source_port(),
                to: udp.destination_port(),
                payload: udp.payload(),
            }),
            Some(TransportSlice::Tcp(tcp)) => Transport::Tcp(Tcp {
                from: tcp.source_port(),
                to: tcp.destination_port(),
                seq: tcp.sequence_number(),
                ack: tcp.acknowledgment_number(),
                data: carried.checked_sub(u32::from(tcp.data_offset()) * 4)?,
                opens: tcp.syn(),
                accepts: tcp.syn() && tcp.ack(),
                ends: tcp.fin(),
                resets: tcp.rst(),
            }),
            Some(TransportSlice::Icmpv4(_) | TransportSlice::Icmpv6(_)) => {
                Transport::Icmp(Icmp::read(payload.payload, payload.ip_number)?)
            }
            _ => return None,
        };
        Some(Self {
            time: frame.time,
            place: place(frame),
            from: ip.from,
            to: ip.to,
            id: ip.id,
            size: length.saturating_add(carried),
            dscp: ip.dscp,
            ecn: ip.ecn,
            ttl: ip.ttl,
            transport,
        })
    }
}

/// What the header of an IP packet says, of either version.
struct IpHeader {
    from: IpAddr,
    to: IpAddr,
    id: Option<u16>,
    /// Bytes of the packet, as it says itself.
    size: u32,
    /// Bytes in front of the transport header: those that were kept up to there.
    length: usize,
    dscp: u8,
    ecn: u8,
    ttl: u8,
}

impl IpHeader {
    fn read(net: &LaxNetSlice) -> Option<Self> {
        match net {
            LaxNetSlice::Ipv4(ip) => {
                let header = ip.header();
                let extension = ip.extensions().auth.map_or(0, |auth| auth.slice().len());
                Some(Self {
                    from: header.source_addr().into(),
                    to: header.destination_addr().into(),
                    id: Some(header.identification()).filter(|&id| id != 0),
                    size: header.total_len().into(),
                    length: header.slice().len() + extension,
                    dscp: header.dcp().value(),
                    ecn: header.ecn().value(),
                    ttl: header.ttl(),
                })
            }
            LaxNetSlice::Ipv6(ip) => {
                let header = ip.header();
                let class = header.traffic_class();
                Some(Self {
                    from: header.source_addr().into(),
                    to: header.destination_addr().into(),
                    id: None,
                    size: u32::from(header.payload_length()) + 40,
                    length: 40 + ip.extensions().slice().len(),
                    dscp: class >> 2,
                    ecn: class & 3,
                    ttl: header.hop_limit(),
                })
            }
            LaxNetSlice::Arp(_) => None,
        }
    }
}

/// Takes the link header off.
fn sliced<'a>(frame: &'a Frame) -> Option<LaxSlicedPacket<'a>> {
    match Link::known(frame.link)? {
        Link::Ethernet => LaxSlicedPacket::from_ethernet(frame.data).ok(),
        Link::Header(length) => LaxSlicedPacket::from_ip(frame.data.get(length..)?).ok(),
    }
}

impl<'a> Icmp<'a> {
    /// RFC 792 and RFC 4443: type, code, checksum, then what the type says.
    fn read(message: &'a [u8], number: IpNumber) -> Option<Self> {
        let (head, about) = message.split_at_checked(8)?;
        let kind = match (number, head[0]) {
            (IpNumber::ICMP, 8) | (IpNumber::IPV6_ICMP, 128) => Kind::Request,
            (IpNumber::ICMP, 0) | (IpNumber::IPV6_ICMP, 129) => Kind::Reply,
            (IpNumber::ICMP, 3 | 11 | 12) | (IpNumber::IPV6_ICMP, 1..=4) => Kind::Error,
            _ => return None,
        };
        let path_mtu = match (number, head[0], head[1]) {
            (IpNumber::ICMP, 3, 4) => u32::from(u16::from_be_bytes([head[6], head[7]])),
            (IpNumber::IPV6_ICMP, 2, _) => u32::from_be_bytes([head[4], head[5], head[6], head[7]]),
            _ => 0,
        };
        Some(Self {
            kind,
            numbers: IcmpNumbers {
                icmp_type: head[0],
                icmp_code: head[1],
                reason: IcmpReason::from_code(head[0], head[1], number == IpNumber::IPV6_ICMP),
                path_mtu: Some(path_mtu).filter(|&mtu| mtu > 0),
            },
            id: u16::from_be_bytes([head[4], head[5]]),
            seq: u16::from_be_bytes([head[6], head[7]]),
            about,
        })
    }

    /// Of an error: what it is about, if that is a probe.
    pub fn about(&self) -> Option<About<'a>> {
        if self.kind != Kind::Error {
            return None;
        }
        let sliced = LaxSlicedPacket::from_ip(self.about).ok()?;
        let net = sliced.net.as_ref()?;
        let (ip, payload) = (IpHeader::read(net)?, net.ip_payload_ref()?);
        if payload.ip_number == IpNumber::UDP {
            let (head, payload) = payload.payload.split_at_checked(8)?;
            let port = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
            return Some(About::Udp(Datagram {
                from: SocketAddr::new(ip.from, port(0)),
                to: SocketAddr::new(ip.to, port(2)),
                payload,
            }));
        }
        let inner = Icmp::read(payload.payload, payload.ip_number)?;
        (inner.kind == Kind::Request).then_some(About::Echo(Echo {
            to: ip.to,
            id: inner.id,
            seq: inner.seq,
        }))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Windows and Linux write a total length of 0 where the card is to cut the segment (LSO, BIG TCP).
    #[test]
    fn a_segment_that_the_card_cuts_is_as_long_as_what_was_kept() {
        for total in [0_u16, 140] {
            let mut data = vec![0x45, 0];
            data.extend(total.to_be_bytes());
            data.extend([0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
            data.extend([
                4, 0, 0, 80, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x18, 1, 0, 0, 0, 0, 0,
            ]);
            data.extend([7; 100]);
            let frame = Frame {
                time: 0,
                interface: 0,
                link: 101,
                data: &data,
            };
            let packet = Packet::read(&frame).unwrap();
            let Transport::Tcp(segment) = packet.transport else {
                panic!("no segment");
            };
            assert_eq!((packet.size, segment.data), (140, 100), "{total}");
        }
    }
}

#[cfg(test)]
pub mod testing {
    use super::*;

    /// A packet from host to host, at this number of milliseconds.
    pub fn packet(ms: i64, from: u8, to: u8, transport: Transport<'_>) -> Packet<'_> {
        Packet {
            time: ms * delaylab_model::MILLISECOND,
            place: Place::default(),
            from: IpAddr::from([10, 0, 0, from]),
            to: IpAddr::from([10, 0, 0, to]),
            id: None,
            size: 100,
            dscp: 0,
            ecn: 0,
            ttl: 64,
            transport,
        }
    }

    /// An ICMP message of these bytes.
    pub fn icmp(message: &[u8]) -> Icmp<'_> {
        Icmp::read(message, IpNumber::ICMP).expect("a message")
    }

    /// Hands a packet to what takes packets with their ICMP message.
    pub fn with_icmp(message: &[u8], ms: i64, from: u8, to: u8, take: impl FnOnce(&Packet, &Icmp)) {
        take(
            &packet(ms, from, to, Transport::Icmp(icmp(message))),
            &icmp(message),
        );
    }

    /// Port unreachable, about a datagram from port 1000 of host 1 to port 2000 of host 2.
    pub fn unreachable(payload: &[u8]) -> Vec<u8> {
        let length = 28 + payload.len() as u8;
        let mut message = vec![3, 3, 0, 0, 0, 0, 0, 0];
        message.extend([0x45, 0, 0, length, 0, 0, 0, 0, 64, 17, 0, 0]);
        message.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        message.extend([1000_u16.to_be_bytes(), 2000_u16.to_be_bytes()].concat());
        message.extend([0, length - 20, 0, 0]);
        message.extend(payload);
        message
    }
}
