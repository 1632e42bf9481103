//! ICMP errors: why a router or host gave a packet up, and the packet that it quotes
//! (RFC 792, RFC 1812 §5.2.7, RFC 4443, RFC 4884).
//!
//! ```text
//! 0 type  1 code  2 checksum  4 …   8 the packet, from its IP header on   … extension
//!         ICMP:   5 length of the quote in words of 4 bytes   6 MTU of the next hop (3/4)
//!         ICMPv6: 4 length of the quote in words of 8 bytes (types 1, 3)   4 MTU u32 (type 2)
//! ```
//!
//! A length says where the extension begins. Routers older than RFC 4884 leave it zero and put the
//! extension behind 128 bytes of quote; there it is taken for one only if its checksum was sent and is
//! right (§5.5), because those bytes may as well be the packet's own.

use crate::ParseError;
use crate::field::{at_least, get_u16, get_u32};
use crate::icmp_extension::Extension;
use crate::mpls;
use delaylab_model::icmp::IcmpReason;

/// Bytes before the quote.
pub const HEADER: usize = 8;
/// Where the extension of a router older than RFC 4884 begins, in the quote.
pub const OLD_QUOTE: usize = 128;

/// Why a packet was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// Its TTL ran out: it was on its way.
    TtlExceeded,
    /// Nothing listens there, or a firewall on the way says so.
    PortUnreachable,
    /// This protocol is not spoken there, or a firewall on the way says so.
    ProtocolUnreachable,
    /// No route to its network.
    NoRoute,
    /// Its host does not answer on the last link.
    HostUnreachable,
    /// Somebody forbids it.
    Prohibited,
    /// It does not fit the next link.
    TooBig {
        /// What would fit; 0 where the router does not say.
        mtu: u32,
    },
    /// Anything else.
    Other {
        /// ICMP or ICMPv6 type.
        kind: u8,
        /// ICMP or ICMPv6 code.
        code: u8,
    },
}

impl Reason {
    /// What an error of this type and code says, of ICMP or, for `v6`, of ICMPv6; `mtu` is what it says would fit, where it
    /// is about that. `None`: it is no error. A redirect (type 5) is advice, and its packet is forwarded all the same
    /// (RFC 1122 §3.2.2.2); source quench (type 4) means nothing any more (RFC 6633).
    pub const fn new(kind: u8, code: u8, mtu: u32, v6: bool) -> Option<Self> {
        let is_error = if v6 {
            matches!(kind, 1..=127)
        } else {
            matches!(kind, 3 | 11 | 12)
        };
        if !is_error {
            return None;
        }
        Some(match IcmpReason::from_code(kind, code, v6) {
            IcmpReason::TtlExceeded => Reason::TtlExceeded,
            IcmpReason::NoRoute => Reason::NoRoute,
            IcmpReason::HostUnreachable => Reason::HostUnreachable,
            IcmpReason::PortUnreachable => Reason::PortUnreachable,
            IcmpReason::ProtocolUnreachable => Reason::ProtocolUnreachable,
            IcmpReason::Prohibited => Reason::Prohibited,
            IcmpReason::TooBig => Reason::TooBig { mtu },
            IcmpReason::Other => Reason::Other { kind, code },
        })
    }

    /// What a message of this type and code says. Those that are no errors are not ours.
    fn read(kind: u8, code: u8, message: &[u8], v6: bool) -> Result<Self, ParseError> {
        let mtu = match v6 {
            true => get_u32(message, 4)?,
            false => get_u16(message, 6)?.into(),
        };
        Self::new(kind, code, mtu, v6).ok_or(ParseError::NotOurs)
    }
}

/// An ICMP error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IcmpError<'a> {
    /// Why.
    pub reason: Reason,
    /// The packet as it arrived there, from its IP header on, and often cut off.
    pub quote: &'a [u8],
    /// The MPLS label stack that it arrived with; empty if none is told.
    pub labels: Vec<mpls::Entry>,
}

impl<'a> IcmpError<'a> {
    /// Reads an ICMP or, for `v6`, an ICMPv6 message. Those that are no errors are not ours.
    pub fn parse(message: &'a [u8], v6: bool) -> Result<Self, ParseError> {
        at_least(message, HEADER)?;
        let (kind, code) = (message[0], message[1]);
        let reason = Reason::read(kind, code, message, v6)?;
        let quoted = match (v6, kind) {
            (true, 1 | 3) => usize::from(message[4]) * 8,
            (true, _) => 0,
            (false, _) => usize::from(message[5]) * 4,
        };
        let body = &message[HEADER..];
        let (quote, extension) = split(body, quoted);
        Ok(Self {
            reason,
            quote,
            labels: extension.map_or_else(Vec::new, |found| found.label_stack()),
        })
    }
}

/// The quote, and the extension behind it.
fn split(body: &[u8], quoted: usize) -> (&[u8], Option<Extension<'_>>) {
    let at = if quoted > 0 { quoted } else { OLD_QUOTE };
    let Some((quote, rest)) = body.split_at_checked(at) else {
        return (body, None);
    };
    match Extension::parse(rest) {
        Ok(found) if quoted > 0 || found.has_checksum => (quote, Some(found)),
        _ => (body, None),
    }
}

/// An error's message with this quote, and `extension` behind it, if that is not empty: as RFC 4884 has
/// it, or, for `old`, as routers before it did. The checksum is that of ICMP; ICMPv6 has the addresses
/// in its own.
pub fn compose(
    [kind, code]: [u8; 2],
    v6: bool,
    quote: &[u8],
    extension: &[u8],
    old: bool,
) -> Vec<u8> {
    let mut message = vec![kind, code, 0, 0, 0, 0, 0, 0];
    message.extend(quote);
    if !extension.is_empty() {
        let word = if v6 { 8 } else { 4 };
        let padded = if old {
            OLD_QUOTE
        } else {
            quote.len().max(OLD_QUOTE).next_multiple_of(word)
        };
        message.resize(HEADER + padded, 0);
        if !old {
            message[if v6 { 4 } else { 5 }] = (padded / word) as u8;
        }
        message.extend(extension);
    }
    if !v6 {
        let sum = crate::ip::checksum(&[&message]);
        message[2..4].copy_from_slice(&sum.to_be_bytes());
    }
    message
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::icmp_extension::with_label_stack;
    use proptest::prelude::*;

    const LABEL: mpls::Entry = mpls::Entry {
        label: 100_123,
        cos: 3,
        bottom: true,
        ttl: 1,
    };

    #[test]
    fn reasons_are_those_of_the_rfcs() {
        let reason = |kind, code, v6| {
            let message = [kind, code, 0, 0, 0, 0, 5, 0xdc];
            IcmpError::parse(&message, v6).map(|error| error.reason)
        };
        for (kind, code, v6, expected) in [
            (11, 0, false, Reason::TtlExceeded),
            (11, 1, false, Reason::Other { kind: 11, code: 1 }),
            (3, 3, false, Reason::PortUnreachable),
            (3, 13, false, Reason::Prohibited),
            (3, 4, false, Reason::TooBig { mtu: 1500 }),
            (3, 0, true, Reason::TtlExceeded),
            (1, 4, true, Reason::PortUnreachable),
            (1, 1, true, Reason::Prohibited),
            (4, 1, true, Reason::ProtocolUnreachable),
            (2, 0, true, Reason::TooBig { mtu: 1500 }),
        ] {
            assert_eq!(reason(kind, code, v6), Ok(expected), "{kind}/{code} {v6}");
        }
        // An echo request and its reply, source quench and redirects.
        let others = [(8, false), (0, false), (128, true), (129, true)];
        for (kind, v6) in others
            .into_iter()
            .chain([(4, false), (5, false), (137, true)])
        {
            assert_eq!(reason(kind, 0, v6), Err(ParseError::NotOurs));
        }
    }

    /// A quote of 128 bytes, and the stack behind it as RFC 4884 and as older routers have it.
    #[test]
    fn labels_are_found_with_a_length_and_without() {
        let quote = [7; 200];
        let extension = with_label_stack(&[LABEL]);
        for v6 in [false, true] {
            let kind = if v6 { [3, 0] } else { [11, 0] };
            for old in [false, true] {
                let quote = if old { &quote[..128] } else { &quote };
                let message = compose(kind, v6, quote, &extension, old);
                let error = IcmpError::parse(&message, v6).unwrap();
                assert_eq!(error.labels, [LABEL], "{v6} {old}");
                assert_eq!(error.quote, quote);
            }
        }
    }

    #[test]
    fn a_long_quote_is_not_taken_for_an_extension() {
        let mut quote = vec![0; 140];
        // Looks like one, without a checksum: an old router's cannot be told from the packet's own bytes.
        quote[128..].copy_from_slice(&with_label_stack(&[LABEL]));
        quote[130..132].fill(0);
        let message = compose([11, 0], false, &quote, &[], false);
        let error = IcmpError::parse(&message, false).unwrap();
        assert_eq!(error.labels, []);
        assert_eq!(error.quote, quote);
    }

    proptest! {
        #[test]
        fn quotes_come_back(
            quote in prop::collection::vec(any::<u8>(), 0..300), v6: bool, bits: u32,
        ) {
            let kind = if v6 { [3, 0] } else { [11, 0] };
            let entry = mpls::Entry { bottom: true, ..mpls::Entry::from_bits(bits) };
            let message = compose(kind, v6, &quote, &with_label_stack(&[entry]), false);
            let error = IcmpError::parse(&message, v6).unwrap();
            prop_assert_eq!(error.labels, [entry]);
            prop_assert!(error.quote.starts_with(&quote));
        }

        #[test]
        fn any_bytes_parse_or_fail(mut bytes: Vec<u8>, v6: bool, kind in 0_u8..16) {
            if let Some(first) = bytes.first_mut() {
                *first = kind;
            }
            if let Ok(error) = IcmpError::parse(&bytes, v6) {
                prop_assert!(error.quote.len() + HEADER <= bytes.len());
            }
        }
    }
}
