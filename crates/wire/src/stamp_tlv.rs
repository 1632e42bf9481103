//! STAMP's optional extensions (RFC 8972 §4): what is behind a base packet.
//!
//! ```text
//! 0 flags U M I ·····  1 type  2 length of value u16  4 value …
//! ```
//!
//! A sender sets U and clears the rest; a reflector clears U on what it knows, sets M on what is
//! malformed and I on all if the HMAC TLV does not verify. [`spans`] walks them in place, so that a
//! reflector can fill a copy of the request; [`Writer`] writes them one behind the other. Location
//! and Access Report are left out: a reflector of ours answers them as unknown.

use crate::auth::{Key, TAG};
use crate::field::{get, get_u16, get_u32, get_u64, put, room};
use crate::{EmitError, ParseError};
use std::ops::Range;

/// Bytes of a TLV's header.
pub const HEADER: usize = 4;

/// Unrecognised: set by senders, cleared by reflectors that know the type.
pub const U: u8 = 0x80;
/// Malformed: the length does not fit the type or the packet.
pub const M: u8 = 0x40;
/// Integrity: the HMAC TLV did not verify.
pub const I: u8 = 0x20;

/// Types, from the registry "STAMP TLV Types".
pub mod kind {
    /// Filler of any length (§4.1).
    pub const EXTRA_PADDING: u8 = 1;
    /// How the reflector's clock is synchronised and read (§4.3).
    pub const TIMESTAMP_INFORMATION: u8 = 3;
    /// DSCP and ECN there, and DSCP wanted back (§4.4).
    pub const CLASS_OF_SERVICE: u8 = 4;
    /// Counts of packets (§4.5).
    pub const DIRECT_MEASUREMENT: u8 = 5;
    /// When an earlier reply really left (§4.7).
    pub const FOLLOW_UP_TELEMETRY: u8 = 7;
    /// Integrity of the TLVs before it (§4.8).
    pub const HMAC: u8 = 8;
    /// Ours, from the range for private use: which clock the reflector reads (8 bytes, as
    /// [`crate::control::ClockFacts::id`]; zeros in a request).
    pub const CLOCK_IDENTITY: u8 = 252;
}

/// Where one TLV is in a packet. Its value is within the packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Where its header begins.
    pub at: usize,
    /// U, M and I.
    pub flags: u8,
    /// What it is ([`kind`]).
    pub kind: u8,
    /// Bytes of its value.
    pub len: usize,
}

impl Span {
    /// Where its value is.
    pub const fn value(&self) -> Range<usize> {
        self.at + HEADER..self.end()
    }

    /// Where the next one begins.
    pub const fn end(&self) -> usize {
        self.at + HEADER + self.len
    }
}

/// What comes next behind a base packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    /// A TLV that fits.
    Tlv(Span),
    /// A header at this offset whose value goes beyond the packet's end. Nothing comes after it.
    Malformed(usize),
    /// Not a TLV from this offset on: fewer bytes than a header, or a header of zeros, which is the
    /// padding of a TWAMP-Light sender (type 0 is reserved). Nothing comes after it.
    Padding(usize),
}

/// Walks the TLVs of `packet` from offset `from` on.
pub fn spans(packet: &[u8], from: usize) -> Spans<'_> {
    Spans { packet, at: from }
}

/// The iterator of [`spans`].
#[derive(Debug, Clone)]
pub struct Spans<'a> {
    packet: &'a [u8],
    at: usize,
}

impl Iterator for Spans<'_> {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        let at = self.at;
        if at >= self.packet.len() {
            return None;
        }
        let item = item(self.packet, at);
        self.at = match item {
            Item::Tlv(span) => span.end(),
            _ => self.packet.len(),
        };
        Some(item)
    }
}

fn item(packet: &[u8], at: usize) -> Item {
    let Ok([flags, kind, high, low]) = get(packet, at) else {
        return Item::Padding(at);
    };
    if [flags, kind, high, low] == [0; HEADER] {
        return Item::Padding(at);
    }
    let len = usize::from(u16::from_be_bytes([high, low]));
    if at + HEADER + len > packet.len() {
        return Item::Malformed(at);
    }
    Item::Tlv(Span {
        at,
        flags,
        kind,
        len,
    })
}

/// The value of the first TLV of this kind that its reflector has understood (no U, M or I).
pub fn understood(packet: &[u8], from: usize, kind: u8) -> Option<&[u8]> {
    spans(packet, from).find_map(|item| match item {
        Item::Tlv(span) if span.kind == kind && span.flags & (U | M | I) == 0 => {
            packet.get(span.value())
        }
        _ => None,
    })
}

/// The tag of an HMAC TLV at `at` (§4.8): over the sequence number, which is the packet's first
/// four bytes, and all TLVs before it. `from` is where the TLVs begin.
pub fn hmac(key: &Key, packet: &[u8], from: usize, at: usize) -> [u8; TAG] {
    let seq = packet.get(..4).unwrap_or_default();
    let before = packet.get(from..at).unwrap_or_default();
    key.tag(&[seq, before])
}

/// Is the HMAC TLV in its place, behind all others but Extra Padding, and made with this key? A
/// packet with no TLV, or with Extra Padding alone, needs none.
pub fn is_authentic(key: &Key, packet: &[u8], from: usize) -> bool {
    let mut verified = false;
    let mut count = 0;
    for item in spans(packet, from) {
        count += 1;
        match item {
            Item::Tlv(span) if span.kind == kind::HMAC => {
                if verified || !hmac_matches(key, packet, from, span) {
                    return false;
                }
                verified = true;
            }
            Item::Tlv(span) if span.kind == kind::EXTRA_PADDING => {
                // Alone it needs no HMAC; among others it is before or behind one.
            }
            Item::Padding(_) => count -= 1,
            _ if verified => return false,
            _ => {}
        }
    }
    verified || count == 0 || (count == 1 && begins_with_padding(packet, from))
}

fn begins_with_padding(packet: &[u8], from: usize) -> bool {
    matches!(spans(packet, from).next(), Some(Item::Tlv(span)) if span.kind == kind::EXTRA_PADDING)
}

fn hmac_matches(key: &Key, packet: &[u8], from: usize, span: Span) -> bool {
    let seq = packet.get(..4).unwrap_or_default();
    let before = packet.get(from..span.at).unwrap_or_default();
    let tag = packet.get(span.value()).unwrap_or_default();
    key.verify(&[seq, before], tag)
}

/// Writes TLVs one behind the other, as a sender does: U set.
#[derive(Debug)]
pub struct Writer<'a> {
    packet: &'a mut [u8],
    from: usize,
    at: usize,
}

impl<'a> Writer<'a> {
    /// Begins at `from`, behind the base packet.
    pub fn new(packet: &'a mut [u8], from: usize) -> Self {
        Self {
            packet,
            from,
            at: from,
        }
    }

    /// Where the next TLV would begin: the length of the packet so far.
    pub const fn position(&self) -> usize {
        self.at
    }

    /// Writes one.
    pub fn push(&mut self, kind: u8, value: &[u8]) -> Result<(), EmitError> {
        let end = self.header(kind, value.len())?;
        self.packet[self.at + HEADER..end].copy_from_slice(value);
        self.at = end;
        Ok(())
    }

    /// Writes Extra Padding whose value is what the buffer already holds there.
    pub fn pad(&mut self, value_len: usize) -> Result<(), EmitError> {
        self.at = self.header(kind::EXTRA_PADDING, value_len)?;
        Ok(())
    }

    /// Writes the HMAC TLV over all so far. The base packet's sequence number must be there.
    pub fn seal(&mut self, key: &Key) -> Result<(), EmitError> {
        let tag = hmac(key, self.packet, self.from, self.at);
        self.push(kind::HMAC, &tag)
    }

    /// Writes a header and says where its value ends.
    fn header(&mut self, kind: u8, len: usize) -> Result<usize, EmitError> {
        let end = self.at + HEADER + len;
        room(self.packet, end)?;
        let [high, low] = u16::try_from(len)
            .map_err(|_| EmitError {
                needed: len,
                got: usize::from(u16::MAX),
            })?
            .to_be_bytes();
        put(self.packet, self.at, [U, kind, high, low]);
        Ok(end)
    }
}

/// `DSCP1(6) DSCP2(6) ECN(2) RP(2) reserved(16)` (§4.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClassOfService {
    /// What the sender wants the reply to carry.
    pub dscp1: u8,
    /// What the request carried on arrival.
    pub dscp2: u8,
    /// The ECN bits of the request on arrival.
    pub ecn: u8,
    /// The reflector's policy did not allow DSCP1: the reply carries DSCP2.
    pub refused: bool,
}

impl ClassOfService {
    /// Bytes of the value.
    pub const LEN: usize = 4;

    /// The value.
    pub const fn to_bytes(self) -> [u8; Self::LEN] {
        let word = ((self.dscp1 as u16 & 63) << 10)
            | ((self.dscp2 as u16 & 63) << 4)
            | ((self.ecn as u16 & 3) << 2)
            | self.refused as u16;
        let [high, low] = word.to_be_bytes();
        [high, low, 0, 0]
    }

    /// Reads the value.
    pub fn parse(value: &[u8]) -> Result<Self, ParseError> {
        exactly(value, Self::LEN)?;
        let word = get_u16(value, 0)?;
        Ok(Self {
            dscp1: (word >> 10) as u8,
            dscp2: (word >> 4) as u8 & 63,
            ecn: (word >> 2) as u8 & 3,
            refused: word & 3 != 0,
        })
    }
}

/// How a timestamp is made: the registry "STAMP Timestamping Methods".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stamping {
    /// 0, or a number that this program does not know.
    #[default]
    Unknown,
    /// 1: with the help of hardware.
    Hardware,
    /// 2: by local software.
    Software,
    /// 3: in the control plane.
    ControlPlane,
}

impl Stamping {
    /// The number on the wire.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The number on the wire.
    pub const fn from_code(code: u8) -> Self {
        match code {
            1 => Stamping::Hardware,
            2 => Stamping::Software,
            3 => Stamping::ControlPlane,
            _ => Stamping::Unknown,
        }
    }
}

/// How a clock is synchronised: the registry "STAMP Synchronization Sources".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SyncSource {
    /// 0, or a number that this program does not know.
    #[default]
    Unknown,
    /// 1.
    Ntp,
    /// 2.
    Ptp,
    /// 3: SSU or BITS.
    Ssu,
    /// 4: a satellite system or LORAN-C.
    Satellite,
    /// 5: a local free-running clock.
    FreeRunning,
}

impl SyncSource {
    /// The number on the wire.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The number on the wire.
    pub const fn from_code(code: u8) -> Self {
        match code {
            1 => SyncSource::Ntp,
            2 => SyncSource::Ptp,
            3 => SyncSource::Ssu,
            4 => SyncSource::Satellite,
            5 => SyncSource::FreeRunning,
            _ => SyncSource::Unknown,
        }
    }
}

/// `0 sync source in  1 stamping in  2 sync source out  3 stamping out` (§4.3), as the reflector
/// takes T2 (in) and T3 (out). Zeros in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TimestampInformation {
    /// What synchronises the clock of T2.
    pub sync_in: SyncSource,
    /// How T2 is taken.
    pub stamping_in: Stamping,
    /// What synchronises the clock of T3.
    pub sync_out: SyncSource,
    /// How T3 is taken.
    pub stamping_out: Stamping,
}

impl TimestampInformation {
    /// Bytes of the value; sub-TLVs may follow.
    pub const LEN: usize = 4;

    /// The value.
    pub const fn to_bytes(self) -> [u8; Self::LEN] {
        [
            self.sync_in.code(),
            self.stamping_in.code(),
            self.sync_out.code(),
            self.stamping_out.code(),
        ]
    }

    /// Reads the value.
    pub fn parse(value: &[u8]) -> Result<Self, ParseError> {
        let [sync_in, stamping_in, sync_out, stamping_out] = get(value, 0)?;
        Ok(Self {
            sync_in: SyncSource::from_code(sync_in),
            stamping_in: Stamping::from_code(stamping_in),
            sync_out: SyncSource::from_code(sync_out),
            stamping_out: Stamping::from_code(stamping_out),
        })
    }
}

/// `0 S_TxC  4 R_RxC  8 R_TxC` (§4.5): packets of the session, this one included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DirectMeasurement {
    /// Sent by the sender.
    pub sender_sent: u32,
    /// Received by the reflector.
    pub reflector_received: u32,
    /// Sent by the reflector.
    pub reflector_sent: u32,
}

impl DirectMeasurement {
    /// Bytes of the value.
    pub const LEN: usize = 12;

    /// The value.
    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let mut value = [0; Self::LEN];
        put(&mut value, 0, self.sender_sent.to_be_bytes());
        put(&mut value, 4, self.reflector_received.to_be_bytes());
        put(&mut value, 8, self.reflector_sent.to_be_bytes());
        value
    }

    /// Reads the value.
    pub fn parse(value: &[u8]) -> Result<Self, ParseError> {
        exactly(value, Self::LEN)?;
        Ok(Self {
            sender_sent: get_u32(value, 0)?,
            reflector_received: get_u32(value, 4)?,
            reflector_sent: get_u32(value, 8)?,
        })
    }
}

/// `0 seq  4 timestamp  12 mode  13 zeros` (§4.7): when an earlier reply left. All zeros where
/// the reflector has nothing to tell, and in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FollowUpTelemetry {
    /// The reflector's number of that reply.
    pub seq: u32,
    /// When it left, in the format of the reply's own timestamps.
    pub timestamp: u64,
    /// How that was taken; unknown where there is nothing to tell.
    pub stamping: Stamping,
}

impl FollowUpTelemetry {
    /// Bytes of the value.
    pub const LEN: usize = 16;

    /// The value.
    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let mut value = [0; Self::LEN];
        put(&mut value, 0, self.seq.to_be_bytes());
        put(&mut value, 4, self.timestamp.to_be_bytes());
        put(&mut value, 12, [self.stamping.code()]);
        value
    }

    /// Reads the value.
    pub fn parse(value: &[u8]) -> Result<Self, ParseError> {
        exactly(value, Self::LEN)?;
        let [stamping] = get(value, 12)?;
        Ok(Self {
            seq: get_u32(value, 0)?,
            timestamp: get_u64(value, 4)?,
            stamping: Stamping::from_code(stamping),
        })
    }
}

/// Bytes of the value of [`kind::CLOCK_IDENTITY`].
pub const CLOCK_IDENTITY_LEN: usize = 8;

/// Reads the value of [`kind::CLOCK_IDENTITY`]; zero is unknown.
pub fn parse_clock_identity(value: &[u8]) -> Result<u64, ParseError> {
    exactly(value, CLOCK_IDENTITY_LEN)?;
    get_u64(value, 0)
}

const fn exactly(value: &[u8], len: usize) -> Result<(), ParseError> {
    if value.len() > len {
        return Err(ParseError::Value("length"));
    }
    crate::field::at_least(value, len)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn key() -> Key {
        Key::new(b"sixteen bytes ok").unwrap()
    }

    /// A packet of 200 bytes with these TLVs from byte 44 on, and how long they made it.
    fn packet(write: impl FnOnce(&mut Writer)) -> Vec<u8> {
        let mut packet = vec![0x5a; 200];
        let mut writer = Writer::new(&mut packet, 44);
        write(&mut writer);
        let len = writer.position();
        packet.truncate(len);
        packet
    }

    #[test]
    fn tlvs_are_walked_as_written() {
        let packet = packet(|writer| {
            writer.push(kind::CLASS_OF_SERVICE, &[1, 2, 3, 4]).unwrap();
            writer.pad(7).unwrap();
        });
        let found: Vec<_> = spans(&packet, 44).collect();
        let cos = Span {
            at: 44,
            flags: U,
            kind: 4,
            len: 4,
        };
        let pad = Span {
            at: 52,
            flags: U,
            kind: 1,
            len: 7,
        };
        assert_eq!(found, [Item::Tlv(cos), Item::Tlv(pad)]);
        assert_eq!(packet[44..52], [0x80, 4, 0, 4, 1, 2, 3, 4]);
        assert_eq!(packet[56..63], [0x5a; 7]);
    }

    #[test]
    fn what_does_not_fit_is_malformed_and_zeros_are_padding() {
        let walk = |bytes: &[u8]| spans(bytes, 0).collect::<Vec<_>>();
        assert_eq!(walk(&[U, 1, 0, 1]), [Item::Malformed(0)]);
        assert_eq!(walk(&[U, 1, 0]), [Item::Padding(0)]);
        assert_eq!(walk(&[0; 100]), [Item::Padding(0)]);
        assert_eq!(walk(&[]), []);
        assert!(spans(&[1], 5).next().is_none());
    }

    #[test]
    fn only_what_was_understood_is_read() {
        let mut packet = packet(|writer| writer.push(kind::CLOCK_IDENTITY, &[7; 8]).unwrap());
        assert_eq!(understood(&packet, 44, kind::CLOCK_IDENTITY), None);
        packet[44] = 0;
        let value = understood(&packet, 44, kind::CLOCK_IDENTITY).unwrap();
        assert_eq!(parse_clock_identity(value), Ok(u64::from_be_bytes([7; 8])));
    }

    #[test]
    fn the_hmac_covers_the_sequence_number_and_the_tlvs_before_it() {
        let sealed = packet(|writer| {
            writer.push(kind::CLASS_OF_SERVICE, &[0; 4]).unwrap();
            writer.seal(&key()).unwrap();
            writer.pad(3).unwrap();
        });
        assert!(is_authentic(&key(), &sealed, 44));
        // Byte 52 holds the flags of the HMAC TLV itself.
        for at in (0..4).chain(44..52).chain(53..72) {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(!is_authentic(&key(), &changed, 44), "byte {at}");
        }
    }

    #[test]
    fn an_hmac_out_of_place_or_missing_fails() {
        let misplaced = packet(|writer| {
            writer.seal(&key()).unwrap();
            writer.push(kind::CLASS_OF_SERVICE, &[0; 4]).unwrap();
        });
        let missing = packet(|writer| writer.push(kind::CLASS_OF_SERVICE, &[0; 4]).unwrap());
        let twice = packet(|writer| {
            writer.seal(&key()).unwrap();
            writer.seal(&key()).unwrap();
        });
        for packet in [misplaced, missing, twice] {
            assert!(!is_authentic(&key(), &packet, 44));
        }
        let padding_alone = packet(|writer| writer.pad(9).unwrap());
        assert!(is_authentic(&key(), &padding_alone, 44));
        assert!(is_authentic(&key(), &[0; 44], 44));
        assert!(is_authentic(&key(), &[0; 60], 44));
    }

    #[test]
    fn a_class_of_service_is_laid_out_as_in_the_rfc() {
        let cos = ClassOfService {
            dscp1: 46,
            dscp2: 20,
            ecn: 1,
            refused: false,
        };
        assert_eq!(cos.to_bytes(), [0b1011_1001, 0b0100_0100, 0, 0]);
        assert!(ClassOfService::parse(&[0; 3]).is_err());
        assert!(ClassOfService::parse(&[0; 5]).is_err());
    }

    #[test]
    fn a_writer_does_not_write_past_the_end() {
        let mut packet = [0; 50];
        let mut writer = Writer::new(&mut packet, 44);
        assert!(writer.push(kind::CLASS_OF_SERVICE, &[0; 4]).is_err());
        assert_eq!(writer.pad(2), Ok(()));
        assert_eq!(writer.position(), 50);
    }

    proptest! {
        #[test]
        fn values_come_back(a: u32, b: u32, c: u32, timestamp: u64, code in 0u8..4, sync in 0u8..6, bits: u8) {
            let counts = DirectMeasurement { sender_sent: a, reflector_received: b, reflector_sent: c };
            prop_assert_eq!(DirectMeasurement::parse(&counts.to_bytes()), Ok(counts));
            let stamping = Stamping::from_code(code);
            let follow_up = FollowUpTelemetry { seq: a, timestamp, stamping };
            prop_assert_eq!(FollowUpTelemetry::parse(&follow_up.to_bytes()), Ok(follow_up));
            let sync_in = SyncSource::from_code(sync);
            let information = TimestampInformation { sync_in, stamping_in: stamping, ..Default::default() };
            prop_assert_eq!(TimestampInformation::parse(&information.to_bytes()), Ok(information));
            let cos = ClassOfService { dscp1: bits & 63, dscp2: bits >> 2, ecn: bits & 3, refused: bits > 99 };
            prop_assert_eq!(ClassOfService::parse(&cos.to_bytes()), Ok(cos));
        }

        #[test]
        fn any_bytes_are_walked_to_their_end(bytes: Vec<u8>, from in 0usize..300) {
            let mut at = from;
            for item in spans(&bytes, from) {
                let Item::Tlv(span) = item else { break };
                prop_assert_eq!(span.at, at);
                prop_assert!(span.end() <= bytes.len());
                at = span.end();
            }
            is_authentic(&key(), &bytes, from);
            understood(&bytes, from, kind::HMAC);
        }
    }
}
