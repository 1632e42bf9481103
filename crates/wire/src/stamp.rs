//! STAMP base packets (RFC 8762 §4.2 and §4.3) with the SSID of RFC 8972 §3, and what a
//! TWAMP-Light sender (RFC 5357 appendix I) sends and understands.
//!
//! ```text
//! sender     0 seq  4 timestamp  12 error  14 SSID  16 zeros                                       44
//! reflector  0 seq  4 timestamp  12 error  14 SSID  16 receive  24 sender seq  28 sender timestamp
//!            36 sender error  38 zeros  40 sender TTL  41 zeros                                    44
//! authenticated:
//! sender     0 seq  16 timestamp  24 error  26 SSID  28 zeros  96 HMAC                            112
//! reflector  0 seq  16 timestamp  24 error  26 SSID  32 receive  48 sender seq  64 sender timestamp
//!            72 sender error  80 sender TTL  96 HMAC                                              112
//! ```
//!
//! What is behind a base packet is TLVs ([`crate::stamp_tlv`]) or TWAMP's padding.

use crate::auth::{Key, TAG};
use crate::field::{at_least, get, get_u16, get_u32, get_u64, put, room};
use crate::ntp::ErrorEstimate;
use crate::{EmitError, ParseError};
use delaylab_model::Nanos;
use delaylab_model::method::Responder;

/// The well-known port (RFC 8762 §4.1).
pub const PORT: u16 = Responder::Stamp.usual_port();
/// Bytes of what a TWAMP-Light reflector's reply says (RFC 5357 §4.2.1).
pub const TWAMP_REPLY: usize = 41;

/// A reply that was kept longer, in seconds, is not known as one.
const LONGEST_RESIDENCE: u32 = 60;

const HMAC_AT: usize = 96;
const HMAC_END: usize = HMAC_AT + TAG;

/// Which of the two layouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// 44 bytes, no HMAC.
    Unauthenticated,
    /// 112 bytes, an HMAC over the first 96.
    Authenticated,
}

impl Form {
    /// Bytes of a base packet, in either direction.
    pub const fn size(self) -> usize {
        match self {
            Form::Unauthenticated => 44,
            Form::Authenticated => HMAC_END,
        }
    }

    /// The layout of either direction's first fields.
    const fn at(self) -> Offsets {
        match self {
            Form::Unauthenticated => Offsets {
                timestamp: 4,
                receive: 16,
                sender_seq: 24,
                sender_timestamp: 28,
                sender_error: 36,
                sender_ttl: 40,
            },
            Form::Authenticated => Offsets {
                timestamp: 16,
                receive: 32,
                sender_seq: 48,
                sender_timestamp: 64,
                sender_error: 72,
                sender_ttl: 80,
            },
        }
    }
}

/// The Error Estimate is 8 and the SSID 10 bytes behind the timestamp, in both forms.
struct Offsets {
    timestamp: usize,
    receive: usize,
    sender_seq: usize,
    sender_timestamp: usize,
    sender_error: usize,
    sender_ttl: usize,
}

/// Writes the HMAC of an authenticated base packet. A buffer that is too short stays as it is.
pub fn seal(key: &Key, packet: &mut [u8]) {
    if let Some(base) = packet.get_mut(..HMAC_END) {
        key.seal(base);
    }
}

/// Is the HMAC of this authenticated base packet made with this key?
pub fn is_sealed(key: &Key, packet: &[u8]) -> bool {
    packet
        .get(..HMAC_END)
        .is_some_and(|base| key.is_sealed(base))
}

/// Does this packet look like a reflector's reply, of either form? Where a sender writes zeros, or padding as
/// TWAMP has it, a reply has the time of arrival, a little before its own timestamp. Random padding looks
/// so once in a hundred million times.
///
/// A reflector that answers replies can be set on another one with a single forged packet.
pub fn is_reply(packet: &[u8]) -> bool {
    [Form::Unauthenticated, Form::Authenticated]
        .into_iter()
        .any(|form| is_reply_of(form, packet))
}

/// [`is_reply`], of this form.
pub fn is_reply_of(form: Form, packet: &[u8]) -> bool {
    left_soon_after_arrival(form, packet).unwrap_or(false)
}

/// Whole seconds are in the upper half of either format of a timestamp.
fn left_soon_after_arrival(form: Form, packet: &[u8]) -> Result<bool, ParseError> {
    at_least(packet, smallest_reply(form))?;
    let at = form.at();
    let receive = get_u64(packet, at.receive)?;
    let sent = get_u32(packet, at.timestamp)?;
    let residence = sent.wrapping_sub((receive >> 32) as u32);
    Ok(receive != 0 && residence <= LONGEST_RESIDENCE)
}

/// What a Session-Sender says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sender {
    /// One more each packet.
    pub seq: u32,
    /// T1 as written, by `error.format`.
    pub timestamp: u64,
    /// How good it is.
    pub error: ErrorEstimate,
    /// STAMP Session Identifier; 0 is none.
    pub ssid: u16,
}

impl Sender {
    /// Reads a base packet. The HMAC is [`is_sealed`]'s.
    pub fn parse(form: Form, packet: &[u8]) -> Result<Self, ParseError> {
        at_least(packet, form.size())?;
        let timestamp = form.at().timestamp;
        Ok(Self {
            seq: get_u32(packet, 0)?,
            timestamp: get_u64(packet, timestamp)?,
            error: ErrorEstimate::from_bits(get_u16(packet, timestamp + 8)?),
            ssid: get_u16(packet, timestamp + 10)?,
        })
    }

    /// Reads what a TWAMP-Light sender says (RFC 5357 §4.1.2): padding begins at byte 14, so there
    /// is no SSID.
    pub fn parse_twamp(packet: &[u8]) -> Result<Self, ParseError> {
        at_least(packet, 14)?;
        Ok(Self {
            seq: get_u32(packet, 0)?,
            timestamp: get_u64(packet, 4)?,
            error: ErrorEstimate::from_bits(get_u16(packet, 12)?),
            ssid: 0,
        })
    }

    /// Writes a base packet, zeros included, and leaves what is behind it alone. [`seal`] comes
    /// after it.
    pub fn emit(&self, form: Form, buffer: &mut [u8]) -> Result<usize, EmitError> {
        room(buffer, form.size())?;
        buffer[..form.size()].fill(0);
        let timestamp = form.at().timestamp;
        put(buffer, 0, self.seq.to_be_bytes());
        put(buffer, timestamp, self.timestamp.to_be_bytes());
        put(buffer, timestamp + 8, self.error.to_bits().to_be_bytes());
        put(buffer, timestamp + 10, self.ssid.to_be_bytes());
        Ok(form.size())
    }

    /// T1 in nanoseconds of UNIX time.
    pub const fn sent(&self) -> Nanos {
        self.error.format.decode(self.timestamp)
    }
}

/// What a Session-Reflector says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reflector {
    /// Its own count (stateful), or the sender's number (stateless).
    pub seq: u32,
    /// T3 as written, by `error.format`.
    pub timestamp: u64,
    /// How good T2 and T3 are.
    pub error: ErrorEstimate,
    /// The sender's.
    pub ssid: u16,
    /// T2 as written, by `error.format`.
    pub receive: u64,
    /// The sender's packet as it came.
    pub sender: Echoed,
}

/// What a reflector repeats of the sender's packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Echoed {
    /// Its sequence number.
    pub seq: u32,
    /// T1 as written, by `error.format`.
    pub timestamp: u64,
    /// Its Error Estimate.
    pub error: ErrorEstimate,
    /// TTL or hop limit as it arrived; 255 if the reflector cannot tell (RFC 5357 §4.2.1).
    pub ttl: u8,
}

impl Reflector {
    /// Reads a base packet, and of an unauthenticated one also the shorter reply of a TWAMP-Light
    /// reflector, whose zeros stand where the SSID does. The HMAC is [`is_sealed`]'s.
    pub fn parse(form: Form, packet: &[u8]) -> Result<Self, ParseError> {
        at_least(packet, smallest_reply(form))?;
        let at = form.at();
        let [ttl] = get(packet, at.sender_ttl)?;
        let sender = Echoed {
            seq: get_u32(packet, at.sender_seq)?,
            timestamp: get_u64(packet, at.sender_timestamp)?,
            error: ErrorEstimate::from_bits(get_u16(packet, at.sender_error)?),
            ttl,
        };
        Ok(Self {
            seq: get_u32(packet, 0)?,
            timestamp: get_u64(packet, at.timestamp)?,
            error: ErrorEstimate::from_bits(get_u16(packet, at.timestamp + 8)?),
            ssid: get_u16(packet, at.timestamp + 10)?,
            receive: get_u64(packet, at.receive)?,
            sender,
        })
    }

    /// Writes a base packet, zeros included, and leaves what is behind it alone. [`seal`] comes
    /// after it. An unauthenticated one also fits a buffer of 41 to 43 bytes, as TWAMP-Light's.
    pub fn emit(&self, form: Form, buffer: &mut [u8]) -> Result<usize, EmitError> {
        room(buffer, smallest_reply(form))?;
        let len = form.size().min(buffer.len());
        let at = form.at();
        buffer[..len].fill(0);
        put(buffer, 0, self.seq.to_be_bytes());
        put(buffer, at.timestamp, self.timestamp.to_be_bytes());
        put(buffer, at.timestamp + 8, self.error.to_bits().to_be_bytes());
        put(buffer, at.timestamp + 10, self.ssid.to_be_bytes());
        put(buffer, at.receive, self.receive.to_be_bytes());
        put(buffer, at.sender_seq, self.sender.seq.to_be_bytes());
        let sender_timestamp = self.sender.timestamp.to_be_bytes();
        put(buffer, at.sender_timestamp, sender_timestamp);
        let sender_error = self.sender.error.to_bits().to_be_bytes();
        put(buffer, at.sender_error, sender_error);
        put(buffer, at.sender_ttl, [self.sender.ttl]);
        Ok(len)
    }

    /// T2 in nanoseconds of UNIX time.
    pub const fn received(&self) -> Nanos {
        self.error.format.decode(self.receive)
    }

    /// T3 in nanoseconds of UNIX time.
    pub const fn sent(&self) -> Nanos {
        self.error.format.decode(self.timestamp)
    }
}

const fn smallest_reply(form: Form) -> usize {
    match form {
        Form::Unauthenticated => TWAMP_REPLY,
        Form::Authenticated => HMAC_END,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    const FORMS: [Form; 2] = [Form::Unauthenticated, Form::Authenticated];

    fn reflector() -> Reflector {
        Reflector {
            seq: 0x0102_0304,
            timestamp: 0x1111_1111_2222_2222,
            error: ErrorEstimate::from_bits(0x8001),
            ssid: 0x0506,
            receive: 0x3333_3333_4444_4444,
            sender: Echoed {
                seq: 0x0708_090a,
                timestamp: 0x5555_5555_6666_6666,
                error: ErrorEstimate::from_bits(0x4102),
                ttl: 61,
            },
        }
    }

    #[test]
    fn a_reply_is_told_from_a_request() {
        for form in [Form::Unauthenticated, Form::Authenticated] {
            for (receive, is_a_reply) in [
                (0, false),
                (0x0000_0100_0000_0000, true),
                (0x0000_00ff_ffff_ffff, true),
                (0x0000_0101_0000_0000, false),
                (0x0000_0001_0000_0000, false),
            ] {
                let mut packet = [0; 112];
                let reply = Reflector {
                    timestamp: 0x0000_0100_8000_0000,
                    receive,
                    ..reflector()
                };
                let length = reply.emit(form, &mut packet).unwrap();
                assert_eq!(is_reply(&packet[..length]), is_a_reply, "{receive:x}");
            }
            let mut packet = [0; 112];
            let sender = Sender {
                seq: 1,
                timestamp: 0x0000_0100_8000_0000,
                error: reflector().error,
                ssid: 3,
            };
            let length = sender.emit(form, &mut packet).unwrap();
            assert!(!is_reply(&packet[..length]));
            assert!(!is_reply(&packet[..40]));
        }
    }

    #[test]
    fn fields_are_where_the_rfc_has_them() {
        let mut reply = [0xff; 44];
        reflector().emit(Form::Unauthenticated, &mut reply).unwrap();
        assert_eq!(reply[..4], [1, 2, 3, 4]);
        assert_eq!(reply[12..16], [0x80, 1, 5, 6]);
        assert_eq!(reply[24..28], [7, 8, 9, 10]);
        assert_eq!(reply[36..44], [0x41, 2, 0, 0, 61, 0, 0, 0]);
        let mut reply = [0xff; 112];
        reflector().emit(Form::Authenticated, &mut reply).unwrap();
        assert_eq!(reply[24..28], [0x80, 1, 5, 6]);
        assert_eq!(
            reply[32..40],
            [0x33, 0x33, 0x33, 0x33, 0x44, 0x44, 0x44, 0x44]
        );
        assert_eq!(reply[48..52], [7, 8, 9, 10]);
        assert_eq!(reply[72..82], [0x41, 2, 0, 0, 0, 0, 0, 0, 61, 0]);
    }

    #[test]
    fn a_twamp_light_reply_is_the_same_without_its_end() {
        let mut whole = [0; 44];
        let mut short = [0xff; 41];
        reflector().emit(Form::Unauthenticated, &mut whole).unwrap();
        let len = reflector().emit(Form::Unauthenticated, &mut short);
        assert_eq!(len, Ok(TWAMP_REPLY));
        assert_eq!(short[..], whole[..41]);
        assert!(
            reflector()
                .emit(Form::Unauthenticated, &mut short[..40])
                .is_err()
        );
        assert_eq!(
            Reflector::parse(Form::Unauthenticated, &short),
            Ok(reflector())
        );
    }

    #[test]
    fn the_hmac_covers_the_first_96_bytes() {
        let key = Key::new(b"sixteen bytes ok").unwrap();
        let mut packet = [1; 120];
        seal(&key, &mut packet);
        assert_eq!(packet[96..112], key.tag(&[&packet[..96]]));
        assert!(is_sealed(&key, &packet));
        packet[115] ^= 1;
        assert!(is_sealed(&key, &packet));
        packet[95] ^= 1;
        assert!(!is_sealed(&key, &packet));
        assert!(!is_sealed(&key, &packet[..111]));
    }

    proptest! {
        #[test]
        fn senders_come_back(seq: u32, timestamp: u64, error: u16, ssid: u16) {
            let error = ErrorEstimate::from_bits(error);
            let sender = Sender { seq, timestamp, error, ssid };
            for form in FORMS {
                let mut packet = [0xff; 120];
                prop_assert_eq!(sender.emit(form, &mut packet), Ok(form.size()));
                prop_assert_eq!(Sender::parse(form, &packet), Ok(sender));
                prop_assert_eq!(&packet[form.size()..], &[0xff; 120][form.size()..]);
            }
        }

        #[test]
        fn reflectors_come_back(seq: u32, timestamp: u64, receive: u64, ttl: u8, ssid: u16) {
            let mut sent = Reflector { seq, timestamp, receive, ssid, ..reflector() };
            sent.sender.ttl = ttl;
            for form in FORMS {
                let mut packet = [0xff; 112];
                prop_assert_eq!(sent.emit(form, &mut packet), Ok(form.size()));
                prop_assert_eq!(Reflector::parse(form, &packet), Ok(sent));
            }
        }

        #[test]
        fn any_bytes_parse_or_fail(bytes: Vec<u8>) {
            for form in FORMS {
                prop_assert_eq!(Sender::parse(form, &bytes).is_ok(), bytes.len() >= form.size());
                prop_assert_eq!(Reflector::parse(form, &bytes).is_ok(), bytes.len() >= smallest_reply(form));
            }
            prop_assert_eq!(Sender::parse_twamp(&bytes).is_ok(), bytes.len() >= 14);
        }
    }
}
