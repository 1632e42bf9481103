//! What ICMP errors carry behind the packet that they quote (RFC 4884 §7).
//!
//! ```text
//! 0 version (4 bits, 2)  reserved (12 bits)   2 checksum
//! then objects: 0 length, with these 4 bytes   2 class   3 c-type   4 payload
//! ```
//!
//! Class 1, c-type 1 is the MPLS label stack of RFC 4950.

use crate::ParseError;
use crate::field::{at_least, get_u16};
use crate::ip::checksum;
use crate::mpls;

/// Bytes of the header, and of an object's header.
const HEADER: usize = 4;
const VERSION: u8 = 2;
const MPLS_CLASS: u8 = 1;
const MPLS_STACK: u8 = 1;

/// An extension structure whose header and checksum are in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extension<'a> {
    objects: &'a [u8],
    /// Was a checksum sent? Without one, only the length attribute of the message says what this is.
    pub has_checksum: bool,
}

/// One object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Object<'a> {
    /// What kind of object.
    pub class: u8,
    /// What kind within its class.
    pub c_type: u8,
    /// What is in it.
    pub payload: &'a [u8],
}

impl<'a> Extension<'a> {
    /// Reads the structure that these bytes are.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
        at_least(bytes, HEADER)?;
        if bytes[0] >> 4 != VERSION {
            return Err(ParseError::NotOurs);
        }
        // A checksum of zero says that none was computed.
        let has_checksum = get_u16(bytes, 2)? != 0;
        if has_checksum && checksum(&[bytes]) != 0 {
            return Err(ParseError::Value("checksum"));
        }
        let objects = &bytes[HEADER..];
        Ok(Self {
            objects,
            has_checksum,
        })
    }

    /// Its objects, up to the first whose length cannot be.
    pub fn objects(&self) -> impl Iterator<Item = Object<'a>> + use<'a> {
        let mut rest = self.objects;
        std::iter::from_fn(move || {
            let length = usize::from(get_u16(rest, 0).ok()?);
            let payload = rest.get(HEADER..length)?;
            let object = Object {
                class: rest[2],
                c_type: rest[3],
                payload,
            };
            rest = &rest[length..];
            Some(object)
        })
    }

    /// The label stack of the packet as it arrived; empty if it had none.
    pub fn label_stack(&self) -> Vec<mpls::Entry> {
        let stack = self
            .objects()
            .find(|object| (object.class, object.c_type) == (MPLS_CLASS, MPLS_STACK));
        stack.map_or_else(Vec::new, |object| mpls::stack(object.payload))
    }
}

/// The bytes of a structure with this label stack alone.
pub fn with_label_stack(stack: &[mpls::Entry]) -> Vec<u8> {
    let payload = mpls::bytes(stack);
    let length = u16::try_from(HEADER + payload.len()).unwrap_or(u16::MAX);
    let mut bytes = vec![VERSION << 4, 0, 0, 0];
    bytes.extend(length.to_be_bytes());
    bytes.extend([MPLS_CLASS, MPLS_STACK]);
    bytes.extend(payload);
    let sum = checksum(&[&bytes]).to_be_bytes();
    bytes[2..4].copy_from_slice(&sum);
    bytes
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    /// Label 24001, CoS 0, bottom, TTL 1; put together by hand.
    const SEEN: [u8; 12] = [
        0x20, 0x00, 0xc8, 0x19, 0x00, 0x08, 0x01, 0x01, 0x05, 0xdc, 0x11, 0x01,
    ];

    #[test]
    fn a_label_stack_is_read() {
        let entry = mpls::Entry {
            label: 24_001,
            cos: 0,
            bottom: true,
            ttl: 1,
        };
        let extension = Extension::parse(&SEEN).unwrap();
        assert_eq!(extension.label_stack(), [entry]);
        assert!(extension.has_checksum);
        assert_eq!(with_label_stack(&[entry]), SEEN);
    }

    #[test]
    fn a_wrong_checksum_is_refused_and_none_is_not() {
        let mut bytes = SEEN;
        bytes[9] ^= 1;
        assert!(Extension::parse(&bytes).is_err());
        bytes[2..4].fill(0);
        assert!(!Extension::parse(&bytes).unwrap().has_checksum);
        bytes[0] = 0x10;
        assert_eq!(Extension::parse(&bytes), Err(ParseError::NotOurs));
    }

    #[test]
    fn an_object_that_is_too_short_or_too_long_ends_the_list() {
        for length in [0, 3, 9] {
            let mut bytes = SEEN;
            bytes[5] = length;
            bytes[2..4].fill(0);
            let extension = Extension::parse(&bytes).unwrap();
            assert_eq!(extension.objects().count(), 0, "{length}");
        }
    }

    proptest! {
        #[test]
        fn stacks_come_back(bits in prop::collection::vec(any::<u32>(), 0..6)) {
            let last = bits.len().saturating_sub(1);
            let stack: Vec<_> = bits
                .into_iter()
                .enumerate()
                .map(|(at, bits)| mpls::Entry { bottom: at == last, ..mpls::Entry::from_bits(bits) })
                .collect();
            let bytes = with_label_stack(&stack);
            prop_assert_eq!(Extension::parse(&bytes).unwrap().label_stack(), stack);
        }

        #[test]
        fn any_bytes_parse_or_fail(bytes: Vec<u8>) {
            if let Ok(extension) = Extension::parse(&bytes) {
                prop_assert!(extension.objects().count() <= bytes.len() / HEADER);
                extension.label_stack();
            }
        }
    }
}
