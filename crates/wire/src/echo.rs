//! Our udp echo: the shortest request that can be told apart, and a reply of the same length.
//!
//! ```text
//! request        0 token  4 seq  8 fill …                                            [tag 16]
//! plain reply    the request's bytes; the tag anew
//! stamped reply  0 token  4 seq  8 reflector_seq  12 traffic class  13 TTL  14 flags  15 clock steps
//!                16 r_rx i64  24 r_user i64  32 follow-up seq  36 follow-up r_tx i64
//!                44 the request's bytes from 44 on                                   [tag 16]
//! ```
//!
//! A session is plain or stamped for its whole life, never per packet: a size sweep would get a
//! step of our own making. tcp replies carry the same stamps at the same offsets.

use crate::auth::TAG;
use crate::field::{at_least, get, get_i64, get_u32, put, room};
use crate::{EmitError, ParseError};
use delaylab_model::Nanos;

/// Bytes of the header of requests and plain replies.
pub const HEADER: usize = 8;

/// Where the stamps of a reply end and the request's fill goes on.
pub const STAMPS_END: usize = 44;

const R_RX: u8 = 1;
const FOLLOW_UP: u8 = 2;
const TRAFFIC_CLASS: u8 = 4;
const TTL: u8 = 8;

/// What a session's replies are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// The request's bytes.
    Plain,
    /// With the reflector's stamps.
    Stamped,
}

/// The smallest udp payload of such a session.
pub const fn smallest(mode: Mode, authenticated: bool) -> usize {
    let body = match mode {
        Mode::Plain => HEADER,
        Mode::Stamped => STAMPS_END,
    };
    if authenticated { body + TAG } else { body }
}

/// How every data packet begins. What is behind it is fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Which session.
    pub token: u32,
    /// Which packet of it, as the prober counts.
    pub seq: u32,
}

impl Header {
    /// Reads the first 8 bytes.
    pub fn parse(packet: &[u8]) -> Result<Self, ParseError> {
        Ok(Self {
            token: get_u32(packet, 0)?,
            seq: get_u32(packet, 4)?,
        })
    }

    /// Writes the first 8 bytes and leaves the rest alone.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<(), EmitError> {
        room(buffer, HEADER)?;
        put(buffer, 0, self.token.to_be_bytes());
        put(buffer, 4, self.seq.to_be_bytes());
        Ok(())
    }
}

/// When an earlier reply was handed to the reflector's driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowUp {
    /// The request's sequence number.
    pub seq: u32,
    /// `CLOCK_MONOTONIC` of the reflector.
    pub r_tx: Nanos,
}

/// What a stamped reply says: bytes 8 to 44. Times are `CLOCK_MONOTONIC` of the reflector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamps {
    /// The reflector's own count of this session's packets, from 0.
    pub reflector_seq: u32,
    /// The request's TOS or traffic class byte as it arrived (DSCP « 2 | ECN).
    pub traffic_class: Option<u8>,
    /// The request's TTL or hop limit as it arrived.
    pub ttl: Option<u8>,
    /// Arrived in the reflector's kernel.
    pub r_rx: Option<Nanos>,
    /// Read by the reflector's process.
    pub r_user: Nanos,
    /// When an earlier reply left.
    pub follow_up: Option<FollowUp>,
    /// How often the reflector has seen its `CLOCK_REALTIME` and `CLOCK_MONOTONIC` move against each other (a
    /// step, a leap second, a suspend), modulo 256. Always 0 from a reflector from before it counted.
    pub clock_steps: u8,
}

impl Stamps {
    /// Reads the stamps of a whole reply.
    pub fn parse(reply: &[u8]) -> Result<Self, ParseError> {
        at_least(reply, STAMPS_END)?;
        let [traffic_class, ttl, flags, clock_steps] = get(reply, 12)?;
        let follow_up = FollowUp {
            seq: get_u32(reply, 32)?,
            r_tx: get_i64(reply, 36)?,
        };
        let r_rx = get_i64(reply, 16)?;
        Ok(Self {
            reflector_seq: get_u32(reply, 8)?,
            traffic_class: (flags & TRAFFIC_CLASS != 0).then_some(traffic_class),
            ttl: (flags & TTL != 0).then_some(ttl),
            r_rx: (flags & R_RX != 0).then_some(r_rx),
            r_user: get_i64(reply, 24)?,
            follow_up: (flags & FOLLOW_UP != 0).then_some(follow_up),
            clock_steps,
        })
    }

    /// Writes bytes 8 to 44 of a whole reply.
    pub fn emit(&self, reply: &mut [u8]) -> Result<(), EmitError> {
        room(reply, STAMPS_END)?;
        let follow_up = self.follow_up.unwrap_or(FollowUp { seq: 0, r_tx: 0 });
        let class = self.traffic_class.unwrap_or(0);
        let ttl = self.ttl.unwrap_or(0);
        put(reply, 8, self.reflector_seq.to_be_bytes());
        put(reply, 12, [class, ttl, self.flags(), self.clock_steps]);
        put(reply, 16, self.r_rx.unwrap_or(0).to_be_bytes());
        put(reply, 24, self.r_user.to_be_bytes());
        put(reply, 32, follow_up.seq.to_be_bytes());
        put(reply, 36, follow_up.r_tx.to_be_bytes());
        Ok(())
    }

    fn flags(&self) -> u8 {
        let flag = |is_there: bool, flag: u8| if is_there { flag } else { 0 };
        flag(self.r_rx.is_some(), R_RX)
            | flag(self.follow_up.is_some(), FOLLOW_UP)
            | flag(self.traffic_class.is_some(), TRAFFIC_CLASS)
            | flag(self.ttl.is_some(), TTL)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_smallest_probe_is_an_ip_packet_of_40_bytes() {
        assert!(smallest(Mode::Plain, false) + 8 + 20 <= 40);
        assert_eq!(smallest(Mode::Plain, true), 24);
        assert_eq!(smallest(Mode::Stamped, false), 44);
        assert_eq!(smallest(Mode::Stamped, true), 60);
    }

    #[test]
    fn stamps_are_where_the_table_says() {
        let stamps = Stamps {
            reflector_seq: 0x0102_0304,
            traffic_class: Some(0xb8),
            ttl: None,
            r_rx: Some(-1),
            r_user: 5,
            follow_up: Some(FollowUp { seq: 9, r_tx: 7 }),
            clock_steps: 11,
        };
        let mut reply = [0xff; 48];
        stamps.emit(&mut reply).unwrap();
        assert_eq!(reply[8..16], [1, 2, 3, 4, 0xb8, 0, 7, 11]);
        assert_eq!(reply[16..24], [0xff; 8]);
        assert_eq!(reply[24..32], [0, 0, 0, 0, 0, 0, 0, 5]);
        assert_eq!(reply[32..44], [0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 7]);
        assert_eq!(reply[44..], [0xff; 4]);
        assert!(stamps.emit(&mut reply[..43]).is_err());
    }

    proptest! {
        #[test]
        fn headers_and_stamps_come_back(
            token: u32, seq: u32, reflector_seq: u32, traffic_class: Option<u8>, ttl: Option<u8>,
            r_rx: Option<i64>, r_user: i64, follow_up: Option<(u32, i64)>, clock_steps: u8,
        ) {
            let follow_up = follow_up.map(|(seq, r_tx)| FollowUp { seq, r_tx });
            let stamps = Stamps {
                reflector_seq, traffic_class, ttl, r_rx, r_user, follow_up, clock_steps,
            };
            let header = Header { token, seq };
            let mut reply = [0; 60];
            header.emit(&mut reply).unwrap();
            stamps.emit(&mut reply).unwrap();
            prop_assert_eq!(Header::parse(&reply), Ok(header));
            prop_assert_eq!(Stamps::parse(&reply), Ok(stamps));
        }

        #[test]
        fn any_bytes_parse_or_fail(bytes: Vec<u8>) {
            prop_assert_eq!(Header::parse(&bytes).is_ok(), bytes.len() >= HEADER);
            prop_assert_eq!(Stamps::parse(&bytes).is_ok(), bytes.len() >= STAMPS_END);
        }
    }
}
