//! Frames of HTTP/2 (RFC 9113 §4 to §7).
//!
//! ```text
//! +-----------------------------------------------+
//! |                 Length (24)                   |
//! +---------------+---------------+---------------+
//! |   Type (8)    |   Flags (8)   |
//! +-+-------------+---------------+-------------------------------+
//! |R|                 Stream Identifier (31)                      |
//! +=+=============================================================+
//! |                   Frame Payload (0...)                      ...
//! +---------------------------------------------------------------+
//! ```

use super::Http2Error;
use std::fmt;

/// Bytes of a frame's header.
pub const HEADER: usize = 9;
/// The longest payload that we take, and that any peer takes (RFC 9113 §4.2).
pub const MOST_PAYLOAD: usize = 16_384;

/// Types of frames (RFC 9113 §6).
pub mod kind {
    #![allow(missing_docs)]
    pub const DATA: u8 = 0;
    pub const HEADERS: u8 = 1;
    pub const PRIORITY: u8 = 2;
    pub const RST_STREAM: u8 = 3;
    pub const SETTINGS: u8 = 4;
    pub const PUSH_PROMISE: u8 = 5;
    pub const PING: u8 = 6;
    pub const GOAWAY: u8 = 7;
    pub const WINDOW_UPDATE: u8 = 8;
    pub const CONTINUATION: u8 = 9;
}

/// Flags of frames. What a bit means depends on the type.
pub mod flag {
    /// SETTINGS and PING: this is the answer.
    pub const ACK: u8 = 1;
    /// DATA and HEADERS: nothing follows on this stream.
    pub const END_STREAM: u8 = 1;
    /// HEADERS and CONTINUATION: the head ends here.
    pub const END_HEADERS: u8 = 4;
    /// DATA and HEADERS: a length of padding comes first.
    pub const PADDED: u8 = 8;
    /// HEADERS: five bytes of priority come first.
    pub const PRIORITY: u8 = 0x20;
}

/// The header of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Bytes of payload.
    pub length: usize,
    /// One of [`kind`], or one that nobody knows yet.
    pub kind: u8,
    /// Some of [`flag`].
    pub flags: u8,
    /// Which request it is about; 0: the connection.
    pub stream: u32,
}

impl Header {
    /// Takes it apart. The reserved bit is not looked at.
    pub const fn read(bytes: [u8; HEADER]) -> Self {
        let [a, b, c, kind, flags, s, t, u, v] = bytes;
        Self {
            length: u32::from_be_bytes([0, a, b, c]) as usize,
            kind,
            flags,
            stream: u32::from_be_bytes([s, t, u, v]) & 0x7fff_ffff,
        }
    }

    /// Has it this flag?
    pub const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// The payload of DATA or HEADERS without padding and priority.
    ///
    /// # Errors
    /// It has more padding than payload (RFC 9113 §6.1, §6.2).
    pub fn content<'a>(&self, mut payload: &'a [u8]) -> Result<&'a [u8], Http2Error> {
        const TOO_SHORT: Http2Error = Http2Error::Protocol("more padding than payload");
        let mut padding = 0;
        if self.has(flag::PADDED) {
            let (&length, rest) = payload.split_first().ok_or(TOO_SHORT)?;
            (padding, payload) = (usize::from(length), rest);
        }
        if self.kind == kind::HEADERS && self.has(flag::PRIORITY) {
            payload = payload.get(5..).ok_or(TOO_SHORT)?;
        }
        let length = payload.len().checked_sub(padding).ok_or(TOO_SHORT)?;
        Ok(&payload[..length])
    }
}

/// Appends a frame. The payload has at most [`MOST_PAYLOAD`] bytes.
pub fn write(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    debug_assert!(payload.len() <= MOST_PAYLOAD, "too long for a frame");
    out.extend_from_slice(&(payload.len() as u32).to_be_bytes()[1..]);
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
}

/// Why a peer ends a stream or a connection (RFC 9113 §7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code(pub u32);

/// By number, from 0.
const NAMES: [&str; 14] = [
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
];

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.get(self.0 as usize) {
            Some(name) => f.write_str(name),
            None => write!(f, "error {:#x}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_frame_is_read_back_as_it_was_written(
            kind: u8, flags: u8, stream in 0_u32..1 << 31, payload in proptest::collection::vec(any::<u8>(), 0..300),
        ) {
            let mut bytes = Vec::new();
            write(&mut bytes, kind, flags, stream, &payload);
            let header = Header::read(*bytes.first_chunk().unwrap());
            prop_assert_eq!(header, Header { length: payload.len(), kind, flags, stream });
            prop_assert_eq!(&bytes[HEADER..], &payload);
        }

        #[test]
        fn padding_and_priority_are_taken_off(
            content in proptest::collection::vec(any::<u8>(), 0..50), padding in 0_u8..50, priority: bool,
        ) {
            let flags = flag::PADDED | if priority { flag::PRIORITY } else { 0 };
            let mut payload = vec![padding];
            payload.extend(std::iter::repeat_n(7, if priority { 5 } else { 0 }));
            payload.extend(&content);
            payload.extend(std::iter::repeat_n(0, padding.into()));
            let header = Header { length: payload.len(), kind: kind::HEADERS, flags, stream: 1 };
            prop_assert_eq!(header.content(&payload), Ok(&content[..]));
            payload[0] = payload.len() as u8;
            prop_assert!(header.content(&payload).is_err());
        }
    }
}
