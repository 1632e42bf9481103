//! IPv4 and IPv6 headers, as path probes have them and ICMP errors quote them (RFC 791, RFC 8200).
//!
//! ```text
//! IPv4   0 version, header length  1 TOS  2 total length  4 identification  6 flags, fragment offset
//!        8 TTL  9 protocol  10 checksum  12 source  16 destination
//! IPv6   0 version, traffic class, flow label  4 payload length  6 next header  7 hop limit
//!        8 source  24 destination
//! ```

use crate::field::{at_least, get, get_u16, get_u32, put, room};
use crate::{EmitError, ParseError};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Bytes of an IPv4 header without options.
pub const V4: usize = 20;
/// Bytes of an IPv6 header.
pub const V6: usize = 40;

/// The fields of a header that path probes use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// From.
    pub source: IpAddr,
    /// To, of the same family.
    pub destination: IpAddr,
    /// TOS or traffic class byte.
    pub traffic_class: u8,
    /// TTL or hop limit.
    pub ttl: u8,
    /// What follows: 1 ICMP, 6 TCP, 17 UDP, 58 ICMPv6.
    pub protocol: u8,
    /// IPv4: identification. IPv6: flow label.
    pub id: u32,
}

impl Header {
    /// Reads the header at the start, and says where what follows it begins. The packet behind it may
    /// be cut off: quotes are.
    pub fn parse(packet: &[u8]) -> Result<(Self, usize), ParseError> {
        at_least(packet, 1)?;
        match packet[0] >> 4 {
            4 => Self::parse_v4(packet),
            6 => Self::parse_v6(packet),
            _ => Err(ParseError::NotOurs),
        }
    }

    fn parse_v4(packet: &[u8]) -> Result<(Self, usize), ParseError> {
        let length = usize::from(packet[0] & 15) * 4;
        if length < V4 {
            return Err(ParseError::Value("header length"));
        }
        at_least(packet, length)?;
        let header = Self {
            source: Ipv4Addr::from(get::<4>(packet, 12)?).into(),
            destination: Ipv4Addr::from(get::<4>(packet, 16)?).into(),
            traffic_class: packet[1],
            ttl: packet[8],
            protocol: packet[9],
            id: get_u16(packet, 4)?.into(),
        };
        Ok((header, length))
    }

    fn parse_v6(packet: &[u8]) -> Result<(Self, usize), ParseError> {
        at_least(packet, V6)?;
        let first = get_u32(packet, 0)?;
        let header = Self {
            source: Ipv6Addr::from(get::<16>(packet, 8)?).into(),
            destination: Ipv6Addr::from(get::<16>(packet, 24)?).into(),
            traffic_class: (first >> 20) as u8,
            ttl: packet[7],
            protocol: packet[6],
            id: first & 0xf_ffff,
        };
        Ok((header, V6))
    }

    /// Bytes of this header.
    pub const fn length(&self) -> usize {
        delaylab_model::headers::ip(self.destination.is_ipv6()) as usize
    }

    /// Writes the header of `packet`, which is as long as the buffer. Fragmentation is allowed.
    pub fn emit(&self, packet: &mut [u8]) -> Result<(), EmitError> {
        room(packet, self.length())?;
        // No packet is longer; what does not fit is refused by the kernel.
        let length = u16::try_from(packet.len()).unwrap_or(u16::MAX);
        match (self.source, self.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                put(packet, 0, [0x45, self.traffic_class]);
                put(packet, 2, length.to_be_bytes());
                put(packet, 4, (self.id as u16).to_be_bytes());
                put(packet, 6, [0, 0, self.ttl, self.protocol, 0, 0]);
                put(packet, 12, source.octets());
                put(packet, 16, destination.octets());
                let sum = checksum(&[&packet[..V4]]);
                put(packet, 10, sum.to_be_bytes());
            }
            (source, destination) => {
                let class = u32::from(self.traffic_class) << 20;
                let first = 6 << 28 | class | (self.id & 0xf_ffff);
                put(packet, 0, first.to_be_bytes());
                put(packet, 4, length.saturating_sub(V6 as u16).to_be_bytes());
                put(packet, 6, [self.protocol, self.ttl]);
                put(packet, 8, as_v6(source).octets());
                put(packet, 24, as_v6(destination).octets());
            }
        }
        Ok(())
    }

    /// The pseudo-header that checksums of UDP, TCP and ICMPv6 cover (RFC 768, RFC 9293, RFC 8200 §8.1),
    /// for so many bytes behind the header, as a sum.
    pub fn pseudo_sum(&self, length: usize) -> u32 {
        let addresses = match (self.source, self.destination) {
            (IpAddr::V4(from), IpAddr::V4(to)) => sum(&from.octets()) + sum(&to.octets()),
            (from, to) => sum(&as_v6(from).octets()) + sum(&as_v6(to).octets()),
        };
        addresses + u32::from(self.protocol) + length as u32
    }
}

const fn as_v6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    }
}

/// The bytes as 16-bit words, added up. An odd byte at the end is the first of its word.
pub fn sum(bytes: &[u8]) -> u32 {
    let (words, rest) = bytes.as_chunks::<2>();
    let words = words
        .iter()
        .map(|word| u32::from(u16::from_be_bytes(*word)));
    words.sum::<u32>() + rest.first().map_or(0, |&byte| u32::from(byte) << 8)
}

/// A sum in 16 bits, its carries added in (RFC 1071).
pub const fn fold(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// The Internet checksum (RFC 1071) of parts of which all but the last have an even length. Over bytes
/// that hold their own checksum it is 0.
pub fn checksum(parts: &[&[u8]]) -> u16 {
    !fold(parts.iter().map(|part| u32::from(fold(sum(part)))).sum())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_are_where_the_diagram_says() {
        let header = Header {
            source: "10.0.0.1".parse().unwrap(),
            destination: "192.0.2.7".parse().unwrap(),
            traffic_class: 0xb8,
            ttl: 3,
            protocol: 17,
            id: 0x1234,
        };
        let mut packet = [0; 28];
        header.emit(&mut packet).unwrap();
        assert_eq!(packet[..10], [0x45, 0xb8, 0, 28, 0x12, 0x34, 0, 0, 3, 17]);
        assert_eq!(packet[12..20], [10, 0, 0, 1, 192, 0, 2, 7]);
        assert_eq!(checksum(&[&packet[..V4]]), 0);
        assert!(header.emit(&mut packet[..19]).is_err());
        let header = Header {
            source: "fd00::1".parse().unwrap(),
            destination: "fd00::2".parse().unwrap(),
            protocol: 58,
            id: 0xabcde,
            ..header
        };
        let mut packet = [0; 48];
        header.emit(&mut packet).unwrap();
        assert_eq!(packet[..8], [0x6b, 0x8a, 0xbc, 0xde, 0, 8, 58, 3]);
        assert_eq!((packet[23], packet[39]), (1, 2));
    }

    /// The example of RFC 1071 §3.
    #[test]
    fn sums_are_those_of_rfc_1071() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(fold(sum(&bytes)), 0xddf2);
        assert_eq!(checksum(&[&bytes, &[1]]), !0xdef2);
    }

    #[test]
    fn options_are_skipped() {
        let mut packet = [0; 24];
        packet[0] = 0x46;
        assert_eq!(Header::parse(&packet).unwrap().1, 24);
        assert!(Header::parse(&packet[..23]).is_err());
        packet[0] = 0x44;
        assert!(Header::parse(&packet).is_err());
    }

    proptest! {
        #[test]
        fn headers_come_back(
            v6: bool, from: [u8; 16], to: [u8; 16], traffic_class: u8, ttl: u8, protocol: u8, id: u16,
        ) {
            let address = |bytes: [u8; 16]| match v6 {
                true => IpAddr::from(bytes),
                false => IpAddr::from([bytes[0], bytes[1], bytes[2], bytes[3]]),
            };
            let header = Header {
                source: address(from), destination: address(to), traffic_class, ttl, protocol, id: id.into(),
            };
            let mut packet = vec![0; header.length() + 5];
            header.emit(&mut packet).unwrap();
            prop_assert_eq!(Header::parse(&packet), Ok((header, header.length())));
        }

        #[test]
        fn any_bytes_parse_or_fail(bytes: Vec<u8>) {
            if let Ok((_, length)) = Header::parse(&bytes) {
                prop_assert!(length <= bytes.len());
            }
        }
    }
}
