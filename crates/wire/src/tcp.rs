//! Request and response on one TCP connection.
//!
//! ```text
//! request  0 length of all  4 seq  8 length of the reply wanted  12 fill …   [tag 16]
//! reply    0 length of all  4 seq  8 stamps as in udp, or fill   44 fill …   [tag 16]
//! ```
//!
//! A connection begins with a Hello and its answer ([`crate::control`]); Collect and Bye may stand
//! between requests. A reply is never longer than its request.

use crate::auth::TAG;
use crate::control::{self, RESERVED_TOKEN};
use crate::echo::{Mode, STAMPS_END};
use crate::field::{get, get_u32, put, room};
use crate::{EmitError, ParseError};

/// Bytes of a request's header.
pub const REQUEST_HEADER: usize = 12;
/// Bytes of a reply's header.
pub const REPLY_HEADER: usize = 8;

/// The smallest request.
pub const fn smallest_request(authenticated: bool) -> usize {
    with_tag(REQUEST_HEADER, authenticated)
}

/// The smallest reply that may be asked for.
pub const fn smallest_reply(authenticated: bool) -> usize {
    with_tag(REPLY_HEADER, authenticated)
}

/// Does a reply of `len` bytes carry stamps?
pub const fn is_stamped(mode: Mode, len: usize, authenticated: bool) -> bool {
    matches!(mode, Mode::Stamped) && len >= with_tag(STAMPS_END, authenticated)
}

const fn with_tag(len: usize, authenticated: bool) -> usize {
    if authenticated { len + TAG } else { len }
}

/// How a request begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Bytes of the request in all.
    pub len: u32,
    /// Which request, as the prober counts.
    pub seq: u32,
    /// Bytes of the reply wanted, in all.
    pub reply_len: u32,
}

impl Request {
    /// Reads the first 12 bytes.
    pub fn parse(frame: &[u8]) -> Result<Self, ParseError> {
        Ok(Self {
            len: get_u32(frame, 0)?,
            seq: get_u32(frame, 4)?,
            reply_len: get_u32(frame, 8)?,
        })
    }

    /// Writes the first 12 bytes and leaves the rest alone.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<(), EmitError> {
        room(buffer, REQUEST_HEADER)?;
        put(buffer, 0, self.len.to_be_bytes());
        put(buffer, 4, self.seq.to_be_bytes());
        put(buffer, 8, self.reply_len.to_be_bytes());
        Ok(())
    }
}

/// How a reply begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    /// Bytes of the reply in all.
    pub len: u32,
    /// The request's.
    pub seq: u32,
}

impl Reply {
    /// Reads the first 8 bytes.
    pub fn parse(frame: &[u8]) -> Result<Self, ParseError> {
        Ok(Self {
            len: get_u32(frame, 0)?,
            seq: get_u32(frame, 4)?,
        })
    }

    /// Writes the first 8 bytes and leaves the rest alone.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<(), EmitError> {
        room(buffer, REPLY_HEADER)?;
        put(buffer, 0, self.len.to_be_bytes());
        put(buffer, 4, self.seq.to_be_bytes());
        Ok(())
    }
}

/// One whole message out of the byte stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A control packet ([`control::Control::parse`] reads it).
    Control(&'a [u8]),
    /// A request or a reply.
    Data(&'a [u8]),
}

/// Why the stream cannot be read on: it has lost its frames, so the connection is of no use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Longer than agreed.
    #[error("a frame of {len} bytes, where at most {max} were agreed")]
    TooLong {
        /// What the frame says of itself.
        len: u32,
        /// What this decoder takes.
        max: u32,
    },
    /// Shorter than its own header.
    #[error("a frame of {0} bytes is shorter than its header")]
    TooShort(u32),
}

/// Cuts a byte stream into frames. Holds at most one read beyond the longest frame.
#[derive(Debug, Clone)]
pub struct Decoder {
    bytes: Vec<u8>,
    /// Where the first byte not handed out is.
    start: usize,
    max: u32,
}

impl Decoder {
    /// A decoder that takes data frames of up to `max` bytes.
    pub fn new(max: u32) -> Self {
        Self {
            bytes: Vec::new(),
            start: 0,
            max,
        }
    }

    /// What came from the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.start);
        self.start = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Has every byte been handed out? Then the last frame ended with the last read.
    pub fn is_empty(&self) -> bool {
        self.start == self.bytes.len()
    }

    /// The next frame, if it is whole. Call until `None`, then push more.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, FrameError> {
        let Some(len) = self.next_length()? else {
            return Ok(None);
        };
        let at = self.start;
        let Some(frame) = self.bytes.get(at..at + len) else {
            return Ok(None);
        };
        self.start += len;
        Ok(Some(if begins_control(frame) {
            Frame::Control(frame)
        } else {
            Frame::Data(frame)
        }))
    }

    fn next_length(&self) -> Result<Option<usize>, FrameError> {
        let Ok(first) = get(&self.bytes, self.start) else {
            return Ok(None);
        };
        let len = u32::from_be_bytes(first);
        if len == RESERVED_TOKEN {
            return Ok(Some(control::SIZE));
        }
        if len > self.max {
            return Err(FrameError::TooLong { len, max: self.max });
        }
        if (len as usize) < REPLY_HEADER {
            return Err(FrameError::TooShort(len));
        }
        Ok(Some(len as usize))
    }
}

fn begins_control(frame: &[u8]) -> bool {
    frame.starts_with(&RESERVED_TOKEN.to_be_bytes())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::control::Control;
    use proptest::prelude::*;

    fn request(len: u32) -> Vec<u8> {
        let mut frame = vec![3; len as usize];
        let header = Request {
            len,
            seq: len,
            reply_len: 8,
        };
        header.emit(&mut frame).unwrap();
        frame
    }

    fn frames(decoder: &mut Decoder) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        while let Some(frame) = decoder.next_frame().unwrap() {
            let (Frame::Control(bytes) | Frame::Data(bytes)) = frame;
            all.push(bytes.to_vec());
        }
        all
    }

    #[test]
    fn sizes_count_the_tag() {
        assert_eq!((smallest_request(false), smallest_request(true)), (12, 28));
        assert_eq!((smallest_reply(false), smallest_reply(true)), (8, 24));
        assert!(is_stamped(Mode::Stamped, 44, false));
        assert!(!is_stamped(Mode::Stamped, 59, true));
        assert!(!is_stamped(Mode::Plain, 1000, false));
    }

    #[test]
    fn control_stands_among_data() {
        let mut bye = [0; control::SIZE];
        Control::Bye { token: 5 }.emit(None, &mut bye).unwrap();
        let mut decoder = Decoder::new(100);
        decoder.push(&[request(12).as_slice(), &bye, &request(30)].concat());
        assert!(matches!(decoder.next_frame(), Ok(Some(Frame::Data(f))) if f.len() == 12));
        assert!(matches!(decoder.next_frame(), Ok(Some(Frame::Control(f))) if f == bye));
        assert!(matches!(decoder.next_frame(), Ok(Some(Frame::Data(f))) if f.len() == 30));
        assert_eq!(decoder.next_frame(), Ok(None));
    }

    #[test]
    fn lengths_out_of_range_end_the_stream() {
        let mut decoder = Decoder::new(100);
        decoder.push(&request(101));
        let max = FrameError::TooLong { len: 101, max: 100 };
        assert_eq!(decoder.next_frame(), Err(max));
        let mut decoder = Decoder::new(100);
        decoder.push(&[0, 0, 0, 7]);
        assert_eq!(decoder.next_frame(), Err(FrameError::TooShort(7)));
    }

    proptest! {
        #[test]
        fn frames_do_not_depend_on_how_the_stream_is_cut(
            lens in proptest::collection::vec(12u32..200, 0..20), piece in 1usize..300,
        ) {
            let sent: Vec<_> = lens.iter().map(|&len| request(len)).collect();
            let mut decoder = Decoder::new(200);
            let mut got = Vec::new();
            for bytes in sent.concat().chunks(piece) {
                decoder.push(bytes);
                got.extend(frames(&mut decoder));
            }
            prop_assert_eq!(got, sent);
        }

        #[test]
        fn any_stream_is_read_or_refused(pieces: Vec<Vec<u8>>) {
            let mut decoder = Decoder::new(1000);
            for piece in pieces {
                decoder.push(&piece);
                while let Ok(Some(frame)) = decoder.next_frame() {
                    let (Frame::Control(bytes) | Frame::Data(bytes)) = frame;
                    prop_assert!(bytes.len() >= REPLY_HEADER);
                    prop_assert!(Request::parse(bytes).is_ok() || bytes.len() < REQUEST_HEADER);
                    prop_assert!(Reply::parse(bytes).is_ok());
                }
            }
        }
    }
}
