//! The packets of a path trace: every one of the same flow, and each with a number of its own.
//!
//! Load balancers keep to one path what has the same addresses, protocol and ports, or, some of them,
//! the same first four bytes behind the IP header. So those never change (Augustin et al., "Avoiding
//! traceroute anomalies with Paris traceroute", 2006). The number is where no balancer looks, and within
//! the eight bytes behind the IP header that every router quotes (RFC 792):
//!
//! | | number | constant |
//! |---|---|---|
//! | IPv4 | identification, which udp is known by | addresses, protocol |
//! | udp | checksum, balanced by the payload | ports |
//! | icmp | sequence | identifier and, balanced by the payload, checksum |
//! | tcp | low half of the sequence number | ports, high half |
//!
//! ```text
//! payload of udp and icmp   0 balance  2 token  4 number  6 zeros …
//! ```
//!
//! A tcp packet is a SYN without options or payload.

use crate::ip::{Header, fold, sum};
use crate::{EmitError, ParseError, field};
use delaylab_model::headers;
use field::{get_u16, get_u32, put, room};
use std::net::IpAddr;

/// The shortest payload of udp and icmp.
pub const SMALLEST_PAYLOAD: usize = 6;

const UDP: u8 = 17;
const TCP: u8 = 6;
const ICMP: u8 = 1;
const ICMPV6: u8 = 58;
const UDP_HEADER: usize = 8;
const TCP_HEADER: usize = 20;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;

/// How a path is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// Datagrams to a port where, most likely, nothing listens.
    Udp {
        /// Ours.
        source: u16,
        /// The target's.
        port: u16,
    },
    /// Echo requests.
    Icmp {
        /// Identifier.
        id: u16,
    },
    /// SYNs.
    Tcp {
        /// Ours.
        source: u16,
        /// The target's.
        port: u16,
    },
}

/// What all packets of a path trace have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// This host.
    pub source: IpAddr,
    /// The target, of the same family.
    pub destination: IpAddr,
    /// Above IP.
    pub transport: Transport,
    /// Tells this path trace from others. Not 0.
    pub token: u16,
}

/// What a packet has of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Which packet. Not 0: the kernel would write an identification of its own.
    pub number: u16,
    /// TOS or traffic class byte.
    pub traffic_class: u8,
    /// TTL or hop limit.
    pub ttl: u8,
}

/// What a TCP says to a SYN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TcpReply {
    /// SYN and ACK: something listens.
    Open,
    /// RST: nothing does.
    Closed,
}

impl Flow {
    /// Bytes of a whole IP packet with so much payload.
    pub const fn packet_size(&self, payload: usize) -> usize {
        let ip = headers::ip(self.destination.is_ipv6()) as usize;
        ip + match self.transport {
            Transport::Tcp { .. } => TCP_HEADER,
            _ => UDP_HEADER + payload,
        }
    }

    const fn protocol(&self) -> u8 {
        match (self.transport, self.destination) {
            (Transport::Udp { .. }, _) => UDP,
            (Transport::Tcp { .. }, _) => TCP,
            (Transport::Icmp { .. }, IpAddr::V4(_)) => ICMP,
            (Transport::Icmp { .. }, IpAddr::V6(_)) => ICMPV6,
        }
    }

    /// Writes a packet of [`Self::packet_size`] bytes, from its IP header on.
    pub fn emit(&self, mark: Mark, packet: &mut [u8]) -> Result<(), EmitError> {
        room(packet, self.packet_size(SMALLEST_PAYLOAD))?;
        packet.fill(0);
        let v6 = self.destination.is_ipv6();
        let header = Header {
            source: self.source,
            destination: self.destination,
            traffic_class: mark.traffic_class,
            ttl: mark.ttl,
            protocol: self.protocol(),
            id: if v6 { self.token } else { mark.number }.into(),
        };
        header.emit(packet)?;
        let body = &mut packet[header.length()..];
        let pseudo = header.pseudo_sum(body.len());
        match self.transport {
            Transport::Udp { source, port } => {
                put(body, 0, source.to_be_bytes());
                put(body, 2, port.to_be_bytes());
                put(body, 4, (body.len() as u16).to_be_bytes());
                self.fill(body, 6, mark, pseudo, mark.number);
            }
            Transport::Icmp { id } => {
                body[0] = if v6 { 128 } else { 8 };
                put(body, 4, id.to_be_bytes());
                put(body, 6, mark.number.to_be_bytes());
                // Only ICMPv6 covers a pseudo-header.
                self.fill(body, 2, mark, if v6 { pseudo } else { 0 }, self.token);
            }
            Transport::Tcp { source, port } => {
                put(body, 0, source.to_be_bytes());
                put(body, 2, port.to_be_bytes());
                put(body, 4, self.sequence(mark.number).to_be_bytes());
                body[12] = (TCP_HEADER as u8 / 4) << 4;
                body[13] = SYN;
                put(body, 14, u16::MAX.to_be_bytes());
                let sum = fold(pseudo + u32::from(fold(sum(body))));
                put(body, 16, (!sum).to_be_bytes());
            }
        }
        Ok(())
    }

    const fn sequence(&self, number: u16) -> u32 {
        (self.token as u32) << 16 | number as u32
    }

    /// Writes the payload, so balanced that the checksum at `at` comes out as `checksum`.
    fn fill(&self, body: &mut [u8], at: usize, mark: Mark, pseudo: u32, checksum: u16) {
        put(body, at, checksum.to_be_bytes());
        put(body, UDP_HEADER + 2, self.token.to_be_bytes());
        put(body, UDP_HEADER + 4, mark.number.to_be_bytes());
        // Over a packet with a right checksum the sum is all ones.
        let balance = !fold(pseudo + u32::from(fold(sum(body))));
        put(body, UDP_HEADER, balance.to_be_bytes());
    }

    /// What an ICMP error's quote says of a packet of ours as it arrived there.
    pub fn quoted(&self, quote: &[u8]) -> Result<Mark, ParseError> {
        let (header, at) = Header::parse(quote)?;
        if header.protocol != self.protocol() || header.destination != self.destination {
            return Err(ParseError::NotOurs);
        }
        let body = &quote[at..];
        let number = match self.transport {
            Transport::Udp { source, port } => {
                is(get_u16(body, 0)? == source && get_u16(body, 2)? == port)?;
                get_u16(body, 6)?
            }
            Transport::Icmp { id } => {
                let request = if self.destination.is_ipv6() { 128 } else { 8 };
                is(body.first() == Some(&request) && get_u16(body, 4)? == id)?;
                get_u16(body, 6)?
            }
            Transport::Tcp { source, port } => {
                is(get_u16(body, 0)? == source && get_u16(body, 2)? == port)?;
                self.number_of(get_u32(body, 4)?)?
            }
        };
        // A translator of addresses on the way changes udp's checksum, and may not change it back. Of the others it is the
        // identification that changes, where a firewall writes random ones.
        let number = match (self.transport, self.destination) {
            (Transport::Udp { .. }, IpAddr::V4(_)) => header.id as u16,
            _ => number,
        };
        Ok(Mark {
            number,
            traffic_class: header.traffic_class,
            ttl: header.ttl,
        })
    }

    fn number_of(&self, sequence: u32) -> Result<u16, ParseError> {
        is((sequence >> 16) as u16 == self.token)?;
        Ok(sequence as u16)
    }

    /// Which packet an ICMP or ICMPv6 message is the echo of.
    pub fn echo_reply(&self, message: &[u8]) -> Result<u16, ParseError> {
        let Transport::Icmp { id } = self.transport else {
            return Err(ParseError::NotOurs);
        };
        let reply = if self.destination.is_ipv6() { 129 } else { 0 };
        is(message.first() == Some(&reply) && get_u16(message, 4)? == id)?;
        get_u16(message, 6)
    }

    /// Which packet a datagram's payload is the echo of.
    pub fn udp_reply(&self, payload: &[u8]) -> Result<u16, ParseError> {
        is(get_u16(payload, 2)? == self.token)?;
        get_u16(payload, 4)
    }

    /// Which packet a TCP segment answers, and how.
    pub fn tcp_reply(&self, segment: &[u8]) -> Result<(u16, TcpReply), ParseError> {
        let Transport::Tcp { source, port } = self.transport else {
            return Err(ParseError::NotOurs);
        };
        field::at_least(segment, TCP_HEADER)?;
        is(get_u16(segment, 0)? == port && get_u16(segment, 2)? == source)?;
        let reply = match segment[13] & (SYN | RST | ACK) {
            flags if flags == SYN | ACK => TcpReply::Open,
            flags if flags == RST | ACK => TcpReply::Closed,
            _ => return Err(ParseError::NotOurs),
        };
        // A SYN counts as one byte (RFC 9293 §3.4).
        let number = self.number_of(get_u32(segment, 8)?.wrapping_sub(1))?;
        Ok((number, reply))
    }
}

/// `Ok` if it is so.
const fn is(ours: bool) -> Result<(), ParseError> {
    if ours {
        Ok(())
    } else {
        Err(ParseError::NotOurs)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn flow(kind: u8, v6: bool, token: u16) -> Flow {
        let [source, destination] = if v6 {
            ["fd00::1", "2001:db8::ffff:7"]
        } else {
            ["10.0.0.1", "192.0.2.255"]
        };
        let transport = match kind {
            0 => Transport::Udp {
                source: 40_000,
                port: 33_434,
            },
            1 => Transport::Icmp { id: 0x6465 },
            _ => Transport::Tcp {
                source: 40_000,
                port: 443,
            },
        };
        Flow {
            source: source.parse().unwrap(),
            destination: destination.parse().unwrap(),
            transport,
            token,
        }
    }

    fn emitted(flow: &Flow, mark: Mark, payload: usize) -> Vec<u8> {
        let mut packet = vec![0xff; flow.packet_size(payload)];
        flow.emit(mark, &mut packet).unwrap();
        packet
    }

    proptest! {
        #[test]
        fn checksums_are_right_and_flows_constant(
            kind in 0_u8..3, v6: bool, token in 1_u16.., number in 1_u16.., traffic_class: u8, ttl: u8,
            payload in SMALLEST_PAYLOAD..200,
        ) {
            let flow = flow(kind, v6, token);
            let mark = Mark { number, traffic_class, ttl };
            let packet = emitted(&flow, mark, payload);
            let (header, at) = Header::parse(&packet).unwrap();
            let body = &packet[at..];
            let pseudo = if header.protocol == ICMP { 0 } else { header.pseudo_sum(body.len()) };
            prop_assert_eq!(fold(pseudo + u32::from(fold(sum(body)))), 0xffff);
            let other = emitted(&flow, Mark { number: number ^ 0x5a5a | 1, ..mark }, payload);
            prop_assert_eq!(&other[at..at + 4], &body[..4]);
            // Eight bytes of the body are enough to know it again.
            prop_assert_eq!(flow.quoted(&packet[..at + 8]), Ok(mark));
            prop_assert!(flow.quoted(&packet[..at + 3]).is_err());
        }

        #[test]
        fn answers_find_their_packet(v6: bool, token in 1_u16.., number in 1_u16..) {
            let mark = Mark { number, traffic_class: 0, ttl: 9 };
            let echo = flow(1, v6, token);
            let mut message = emitted(&echo, mark, 6).split_off(if v6 { 40 } else { 20 });
            prop_assert!(echo.echo_reply(&message).is_err());
            message[0] = if v6 { 129 } else { 0 };
            prop_assert_eq!(echo.echo_reply(&message), Ok(number));
            let udp = flow(0, v6, token);
            let payload = emitted(&udp, mark, 6).split_off(if v6 { 48 } else { 28 });
            prop_assert_eq!(udp.udp_reply(&payload), Ok(number));
            let tcp = flow(2, v6, token);
            let mut segment = [0; 20];
            put(&mut segment, 0, 443_u16.to_be_bytes());
            put(&mut segment, 2, 40_000_u16.to_be_bytes());
            put(&mut segment, 8, tcp.sequence(number).wrapping_add(1).to_be_bytes());
            prop_assert!(tcp.tcp_reply(&segment).is_err());
            segment[13] = SYN | ACK;
            prop_assert_eq!(tcp.tcp_reply(&segment), Ok((number, TcpReply::Open)));
            segment[13] = RST | ACK;
            prop_assert_eq!(tcp.tcp_reply(&segment), Ok((number, TcpReply::Closed)));
        }

        #[test]
        fn any_bytes_parse_or_fail(kind in 0_u8..3, v6: bool, bytes: Vec<u8>) {
            let flow = flow(kind, v6, 1);
            let _ = flow.quoted(&bytes);
            let _ = flow.echo_reply(&bytes);
            let _ = flow.udp_reply(&bytes);
            let _ = flow.tcp_reply(&bytes);
        }
    }

    #[test]
    fn another_identification_hides_no_packet_that_has_its_number_elsewhere() {
        let mark = Mark {
            number: 7,
            traffic_class: 0,
            ttl: 3,
        };
        for (kind, number) in [(0, 0x9c41), (1, 7), (2, 7)] {
            let flow = flow(kind, false, 5);
            let mut quote = emitted(&flow, mark, 6);
            put(&mut quote, 4, 0x9c41_u16.to_be_bytes());
            assert_eq!(flow.quoted(&quote), Ok(Mark { number, ..mark }));
        }
    }

    #[test]
    fn packets_of_others_are_not_ours() {
        let ours = flow(0, false, 7);
        let mark = Mark {
            number: 1,
            traffic_class: 0xb8,
            ttl: 1,
        };
        let packet = emitted(&ours, mark, 6);
        for other in [flow(1, false, 7), flow(2, false, 7), flow(0, true, 7)] {
            assert_eq!(other.quoted(&packet), Err(ParseError::NotOurs));
        }
        let elsewhere = Flow {
            destination: "192.0.2.8".parse().unwrap(),
            ..ours
        };
        assert_eq!(elsewhere.quoted(&packet), Err(ParseError::NotOurs));
    }
}
