//! MPLS label stack entries (RFC 3032 §2.1; the three bits are the Traffic Class of RFC 5462).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! |                 label                 | CoS |S|      TTL      |
//! ```
//!
//! A router that runs out of TTL on a labelled packet quotes the stack as it arrived, the top first
//! (RFC 4950).

use schemars::JsonSchema;
use serde::Serialize;

/// Bytes of an entry.
pub const SIZE: usize = 4;

/// One MPLS label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[schemars(rename = "Label")]
pub struct Entry {
    /// 20 bits.
    pub label: u32,
    /// Class of service, 3 bits.
    pub cos: u8,
    /// The last of its stack.
    pub bottom: bool,
    /// Time to live.
    pub ttl: u8,
}

impl Entry {
    /// From its 32 bits. Every value is an entry.
    pub const fn from_bits(bits: u32) -> Self {
        Self {
            label: bits >> 12,
            cos: (bits >> 9 & 7) as u8,
            bottom: bits & 0x100 != 0,
            ttl: bits as u8,
        }
    }

    /// Its 32 bits; of label and CoS those that have room.
    pub const fn bits(self) -> u32 {
        (self.label << 12)
            | ((self.cos as u32 & 7) << 9)
            | ((self.bottom as u32) << 8)
            | self.ttl as u32
    }
}

/// The stack in these bytes, up to its bottom; what is behind it, or does not fill an entry, is left.
pub fn stack(bytes: &[u8]) -> Vec<Entry> {
    let mut found = Vec::new();
    for bytes in bytes.as_chunks::<SIZE>().0 {
        let entry = Entry::from_bits(u32::from_be_bytes(*bytes));
        found.push(entry);
        if entry.bottom {
            break;
        }
    }
    found
}

/// The bytes of a stack.
pub fn bytes(stack: &[Entry]) -> Vec<u8> {
    let entries = stack.iter();
    entries
        .flat_map(|entry| entry.bits().to_be_bytes())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_are_where_the_diagram_says() {
        let entry = Entry {
            label: 24_001,
            cos: 5,
            bottom: true,
            ttl: 254,
        };
        assert_eq!(entry.bits().to_be_bytes(), [0x05, 0xdc, 0x1b, 0xfe]);
    }

    #[test]
    fn a_stack_ends_at_its_bottom() {
        let bytes = [0, 1, 0, 1, 0, 1, 1, 1, 0, 1, 1, 1];
        let labels: Vec<_> = stack(&bytes).iter().map(|e| (e.label, e.bottom)).collect();
        assert_eq!(labels, [(16, false), (16, true)]);
        assert_eq!(stack(&bytes[..7]).len(), 1);
    }

    proptest! {
        #[test]
        fn entries_come_back(bits: u32) {
            prop_assert_eq!(Entry::from_bits(bits).bits(), bits);
        }

        #[test]
        fn any_bytes_are_a_stack(given: Vec<u8>) {
            let stack = stack(&given);
            prop_assert!(given.starts_with(&bytes(&stack)));
        }
    }
}
