//! HTTP/2 (RFC 9113) as a prober speaks it: a request without a body, one at a time on a connection, and where its reply ends.
//!
//! | module | holds |
//! |---|---|
//! | [`frame`] | frames: their headers, padding, and the codes of errors |
//! | [`head`] | heads of requests and replies (HPACK, RFC 7541), without a dynamic table |
//! | [`session`] | one connection: requests out, replies in, and what the peer must be told |
//!
//! What a server sends is not kept: bytes are counted. Nothing that comes makes a session take more memory than a frame, a head
//! and [`session::MOST_UNSENT`] bytes of answers.

pub mod frame;
pub mod head;
pub mod session;

use crate::http::{MOST_BESIDE, MOST_HEAD, MOST_REPLY};
use frame::Code;

/// Why there is no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Http2Error {
    /// It speaks the version before.
    #[error("the server answers by HTTP/1, and was asked by HTTP/2: ask with `--http 1.1`")]
    Http1,
    /// The first frame is to be SETTINGS (RFC 9113 §3.4).
    #[error("what came is not HTTP/2")]
    NotHttp2,
    /// A rule of RFC 9113 is broken.
    #[error("what came is not HTTP/2 as RFC 9113 has it: {0}")]
    Protocol(&'static str),
    /// The head of a reply cannot be read (RFC 7541).
    #[error("the head of the reply cannot be read")]
    Head,
    /// It does not end.
    #[error("the head of the reply is longer than {} KiB", MOST_HEAD >> 10)]
    HeadTooLong,
    /// The reply does not end.
    #[error("the reply is longer than {} MiB", MOST_REPLY >> 20)]
    TooLong,
    /// What comes is not the reply, and does not end.
    #[error("the server sends frames that are not of the reply: more than {} MiB of them", MOST_BESIDE >> 20)]
    Beside,
    /// It asks faster than it reads answers.
    #[error("the server sends PING or SETTINGS and reads no answers")]
    Flood,
    /// The server gave the request up (RST_STREAM).
    #[error("the server reset the request: {0}")]
    Reset(Code),
    /// The server ends the connection, and has not looked at the request (GOAWAY).
    #[error("the server goes away without a reply: {0}")]
    GoAway(Code),
    /// The connection was closed before the end of the reply.
    #[error("the connection was closed before the end of the reply")]
    Cut,
}

impl Http2Error {
    /// Did the server refuse the request, in order? Otherwise what came is wrong.
    pub const fn is_refusal(self) -> bool {
        matches!(self, Http2Error::Reset(_) | Http2Error::GoAway(_))
    }
}
