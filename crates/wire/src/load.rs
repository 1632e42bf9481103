//! A load's datagrams: nobody answers them, so they carry no more than what counts them.
//!
//! ```text
//! 0 token  4 seq u64  12 fill …
//! ```

use crate::field::{get_u32, get_u64, put, room};
use crate::{EmitError, ParseError};

/// Bytes of the header.
pub const HEADER: usize = 12;

/// How every datagram begins. What is behind it is fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Which session.
    pub token: u32,
    /// Which packet of it.
    pub seq: u64,
}

impl Header {
    /// Reads the first 12 bytes.
    pub fn parse(packet: &[u8]) -> Result<Self, ParseError> {
        Ok(Self {
            token: get_u32(packet, 0)?,
            seq: get_u64(packet, 4)?,
        })
    }

    /// Writes the first 12 bytes and leaves the rest alone.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<(), EmitError> {
        room(buffer, HEADER)?;
        put(buffer, 0, self.token.to_be_bytes());
        put(buffer, 4, self.seq.to_be_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(token: u32, seq: u64) {
            let header = Header { token, seq };
            let mut packet = [7; HEADER + 1];
            header.emit(&mut packet).unwrap();
            prop_assert_eq!(Header::parse(&packet), Ok(header));
            prop_assert_eq!(packet[HEADER], 7);
        }

        #[test]
        fn any_bytes_parse_or_fail(bytes in proptest::collection::vec(any::<u8>(), 0..20)) {
            prop_assert_eq!(Header::parse(&bytes).is_ok(), bytes.len() >= HEADER);
        }
    }
}
