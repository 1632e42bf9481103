//! Signed frames of a tester: Ethernet, IP and UDP around a signature (RFC 2544, appendix C).
//!
//! ```text
//! Ethernet  0 to  6 from  12 [tag 4]  type
//! signature 0 stream  2 number  6 time of sending  14 CRC-32 of what is behind it, then of what is
//!           before it
//! ```
//!
//! So loss, duplication, order, corruption and delay are known of each frame by itself. The check is of
//! the fill first, which is the same in all frames: a sender has its state ready.

use crate::field::{get_u16, get_u32};
use crate::ip::{self, Header};
use crate::{EmitError, ParseError};
use delaylab_model::Nanos;
use delaylab_model::frames::{Frames, SIGNATURE};
use delaylab_model::probe::Family;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Where frames go to: nobody listens there, so that no host answers them.
pub const PORT: u16 = 8864;
/// Bytes of the frame check sequence, which a host neither writes nor reads.
pub const FCS: u32 = 4;

const UDP: u8 = 17;
const UDP_HEADER: usize = 8;
const ETHERNET: usize = 14;
const TAG: usize = 4;
const TYPE_V4: u16 = 0x0800;
const TYPE_V6: u16 = 0x86dd;
const TYPE_TAG: u16 = 0x8100;
/// Bytes of the signature before its check.
const SIGNED: usize = SIGNATURE as usize - 4;
/// Nothing on the way may end a frame's life, and routers count down.
const TTL: u8 = 64;

/// A hardware address.
pub type Mac = [u8; 6];

/// The addresses of the two ports of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    /// Of the port that sends.
    pub from: Mac,
    /// Of the port that receives.
    pub to: Mac,
    /// Tells the streams of one tester apart, and testers from each other: the UDP source port.
    pub token: u16,
}

/// A frame of a stream, to be sent over and over with another signature.
#[derive(Debug, Clone)]
pub struct Template {
    bytes: Vec<u8>,
    signature: usize,
    stream: u16,
    /// Of the fill.
    check: crc32fast::Hasher,
    /// Of everything that the UDP checksum covers but the signature; IPv4 needs none.
    sum: Option<u32>,
}

impl Template {
    /// Of the stream of this number. Addresses are of the range for benchmarks (RFC 2544 appendix C,
    /// RFC 5180 §8), a pair a stream, so that disciplines that tell flows apart can.
    ///
    /// # Errors
    /// When the frame is too short for its headers and a signature.
    pub fn new(
        frames: &Frames,
        ends: Ends,
        stream: u16,
        traffic_class: u8,
    ) -> Result<Self, EmitError> {
        if frames.size < frames.least_size() {
            return Err(EmitError {
                needed: frames.least_size() as usize,
                got: frames.size as usize,
            });
        }
        let mut bytes = vec![0; (frames.size - FCS) as usize];
        bytes[..6].copy_from_slice(&ends.to);
        bytes[6..12].copy_from_slice(&ends.from);
        let mut at = 12;
        if let Some(vlan) = frames.vlan {
            bytes[at..at + 2].copy_from_slice(&TYPE_TAG.to_be_bytes());
            bytes[at + 2..at + 4].copy_from_slice(&vlan.to_be_bytes());
            at += TAG;
        }
        let v6 = frames.family == Family::V6;
        let kind = if v6 { TYPE_V6 } else { TYPE_V4 };
        bytes[at..at + 2].copy_from_slice(&kind.to_be_bytes());
        at += 2;
        let (source, destination) = addresses(v6, stream);
        let header = Header {
            source,
            destination,
            traffic_class,
            ttl: TTL,
            protocol: UDP,
            id: 0,
        };
        // Frames of 64 bytes with IPv4 have no padding behind the packet: all of it is the packet.
        header.emit(&mut bytes[at..])?;
        let udp = at + header.length();
        let length = bytes.len() - udp;
        let signature = udp + UDP_HEADER;
        let ports = [ends.token, PORT, length as u16];
        for (field, value) in bytes[udp..].chunks_exact_mut(2).zip(ports) {
            field.copy_from_slice(&value.to_be_bytes());
        }
        let fill = signature + SIGNATURE as usize;
        // Bytes that differ: a line that repeats one is easier on a device than data.
        for (place, byte) in bytes[fill..].iter_mut().zip((0_u8..=250).cycle()) {
            *place = byte;
        }
        let mut check = crc32fast::Hasher::new();
        check.update(&bytes[fill..]);
        let sum = v6.then(|| header.pseudo_sum(length) + ip::sum(&bytes[udp..]));
        Ok(Self {
            bytes,
            signature,
            stream,
            check,
            sum,
        })
    }

    /// The frame of this number, sent at this time, without its frame check sequence.
    pub fn sign(&mut self, number: u32, t_send: Nanos) -> &[u8] {
        let signature = &mut self.bytes[self.signature..][..SIGNATURE as usize];
        signature[..2].copy_from_slice(&self.stream.to_be_bytes());
        signature[2..6].copy_from_slice(&number.to_be_bytes());
        signature[6..14].copy_from_slice(&t_send.to_be_bytes());
        let mut check = self.check.clone();
        check.update(&signature[..SIGNED]);
        signature[SIGNED..].copy_from_slice(&check.finalize().to_be_bytes());
        if let Some(sum) = self.sum {
            // The signature begins at an even offset behind the headers, as words do.
            let folded = ip::fold(sum + ip::sum(signature));
            let checksum = match !folded {
                0 => u16::MAX,
                other => other,
            };
            let at = self.signature - 2;
            self.bytes[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
        }
        &self.bytes
    }
}

/// What one port sends the other before a trial, so that a switch between them learns where each is
/// (RFC 2544 §23).
pub fn learning(ends: Ends) -> Vec<u8> {
    let mut frame = vec![0; 60];
    frame[..6].copy_from_slice(&ends.to);
    frame[6..12].copy_from_slice(&ends.from);
    // Loopback (IEEE 802.3 configuration testing): no host hands it to anybody.
    frame[12..14].copy_from_slice(&0x9000_u16.to_be_bytes());
    frame
}

/// From which address the frames of this stream go to which: it is of no host.
pub fn addresses(v6: bool, stream: u16) -> (IpAddr, IpAddr) {
    let [high, low] = stream.to_be_bytes();
    if v6 {
        // RFC 5180 §8: 2001:2::/48 is for benchmarks.
        let address = |side| Ipv6Addr::new(0x2001, 2, 0, side, 0, 0, 0, stream.wrapping_add(1));
        return (address(0).into(), address(1).into());
    }
    let address = |side: u8| Ipv4Addr::new(198, 18 + side, high, low.wrapping_add(1));
    (address(0).into(), address(1).into())
}

/// A frame of a tester that has come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReturnedFrame {
    /// Of which stream.
    pub stream: u16,
    /// Its number.
    pub number: u32,
    /// When it was sent.
    pub t_send: Nanos,
    /// Are its bytes those that were sent? If not, what it says of itself may be wrong too.
    pub intact: bool,
    /// DSCP and ECN as they came.
    pub traffic_class: u8,
}

impl ReturnedFrame {
    /// Reads a frame, of this tester.
    ///
    /// # Errors
    /// When it is somebody else's.
    pub fn read(frame: &[u8], token: u16) -> Result<Self, ParseError> {
        let mut at = 12;
        if get_u16(frame, at)? == TYPE_TAG {
            at += TAG;
        }
        if !matches!(get_u16(frame, at)?, TYPE_V4 | TYPE_V6) {
            return Err(ParseError::NotOurs);
        }
        let at = at + ETHERNET - 12;
        let (header, length) = Header::parse(&frame[at..])?;
        let udp = at + length;
        let ports = (get_u16(frame, udp)?, get_u16(frame, udp + 2)?);
        if header.protocol != UDP || ports != (token, PORT) {
            return Err(ParseError::NotOurs);
        }
        // What is behind the packet is padding.
        let end = udp + usize::from(get_u16(frame, udp + 4)?);
        let signature = udp + UDP_HEADER;
        let fill = signature + SIGNATURE as usize;
        if end < fill || frame.len() < end {
            return Err(ParseError::NotOurs);
        }
        let mut check = crc32fast::Hasher::new();
        check.update(&frame[fill..end]);
        check.update(&frame[signature..signature + SIGNED]);
        let high = u64::from(get_u32(frame, signature + 6)?);
        let low = u64::from(get_u32(frame, signature + 10)?);
        Ok(Self {
            stream: get_u16(frame, signature)?,
            number: get_u32(frame, signature + 2)?,
            t_send: (high << 32 | low).cast_signed(),
            intact: check.finalize() == get_u32(frame, signature + SIGNED)?,
            traffic_class: header.traffic_class,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    const ENDS: Ends = Ends {
        from: [2, 0, 0, 0, 0, 1],
        to: [2, 0, 0, 0, 0, 2],
        token: 50_000,
    };

    fn frames(size: u32, family: Family, vlan: Option<u16>) -> Frames {
        Frames {
            family,
            vlan,
            ..Frames::new(size)
        }
    }

    fn every_kind() -> [Frames; 5] {
        [
            frames(64, Family::V4, None),
            frames(1518, Family::V4, None),
            frames(68, Family::V4, Some(7)),
            frames(88, Family::V6, Some(7)),
            frames(1519, Family::V6, None),
        ]
    }

    #[test]
    fn what_is_signed_is_read() {
        for frames in every_kind() {
            let mut template = Template::new(&frames, ENDS, 3, 0xb8).unwrap();
            let bytes = template.sign(77, 1 << 60);
            assert_eq!(bytes.len() as u32, frames.size - 4);
            let seen = ReturnedFrame::read(bytes, ENDS.token).unwrap();
            let expected = ReturnedFrame {
                stream: 3,
                number: 77,
                t_send: 1 << 60,
                intact: true,
                traffic_class: 0xb8,
            };
            assert_eq!(seen, expected, "{frames:?}");
            assert_eq!(ReturnedFrame::read(bytes, 1), Err(ParseError::NotOurs));
        }
    }

    #[test]
    fn checksums_are_what_hosts_expect() {
        for frames in every_kind() {
            let mut template = Template::new(&frames, ENDS, 3, 0).unwrap();
            let bytes = template.sign(77, 12_345);
            let at = if frames.vlan.is_some() { 18 } else { 14 };
            let (header, length) = Header::parse(&bytes[at..]).unwrap();
            let udp = &bytes[at + length..];
            if frames.family == Family::V6 {
                let sum = header.pseudo_sum(udp.len()) + ip::sum(udp);
                assert_eq!(ip::fold(sum), u16::MAX);
            } else {
                assert_eq!(ip::fold(ip::sum(&bytes[at..at + length])), u16::MAX);
                assert_eq!(udp[6..8], [0, 0], "none is a checksum too (RFC 768)");
            }
        }
    }

    #[test]
    fn every_flipped_bit_behind_the_headers_shows() {
        let mut template = Template::new(&frames(128, Family::V4, None), ENDS, 3, 0).unwrap();
        let bytes = template.sign(77, 12_345).to_vec();
        for bit in 42 * 8..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(
                !ReturnedFrame::read(&damaged, ENDS.token).unwrap().intact,
                "{bit}"
            );
        }
    }

    #[test]
    fn too_short_a_frame_is_refused() {
        assert!(Template::new(&frames(67, Family::V4, Some(1)), ENDS, 0, 0).is_err());
        assert!(Template::new(&frames(64, Family::V6, None), ENDS, 0, 0).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = ReturnedFrame::read(&bytes, 50_000);
        }
    }
}
