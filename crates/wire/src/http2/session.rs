//! One connection of HTTP/2: requests out, one at a time, replies in, and what the peer must be told (RFC 9113).
//!
//! Times are handed in and handed back: when the first byte of a reply came is the stamp of the piece that it was in.

use super::Http2Error;
use super::frame::{self, Code, HEADER, Header, MOST_PAYLOAD, flag, kind};
use super::head;
use crate::http::{MOST_BESIDE, MOST_HEAD, MOST_REPLY, Whole};
use delaylab_model::Nanos;

/// What a client says first (RFC 9113 §3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// What a server of HTTP/1 begins with.
const HTTP1: &[u8] = b"HTTP/1";
/// The largest window (RFC 9113 §6.9.1): a server never waits for us.
const WINDOW: u32 = (1 << 31) - 1;
/// The window of a connection before anything is said of it.
const FIRST_WINDOW: u32 = 65_535;
/// So many bytes of bodies, and the server may send as many more.
const REPLENISH: u32 = 1 << 26;
/// The most bytes of answers that the peer does not take.
pub const MOST_UNSENT: usize = 64 << 10;
/// The last number that a stream can have.
const LAST_STREAM: u32 = (1 << 31) - 1;

/// Numbers of settings (RFC 9113 §6.5.2).
mod setting {
    pub const HEADER_TABLE_SIZE: u16 = 1;
    pub const ENABLE_PUSH: u16 = 2;
    pub const INITIAL_WINDOW_SIZE: u16 = 4;
}

/// How far the reply is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing is asked.
    Quiet,
    /// The head that counts has not come.
    Head,
    /// It has: body and trailers follow.
    Body,
}

/// One connection.
#[derive(Debug)]
pub struct Session {
    /// The head of each request.
    head: Vec<u8>,
    /// Is this side's preface said?
    began: bool,
    /// Has the peer's first SETTINGS come?
    agreed: bool,
    /// The stream of the last request; 0: none was asked.
    stream: u32,
    state: State,
    /// The last stream that the peer looks at, and why.
    goes_away: Option<(u32, Code)>,
    /// Of the frame that comes.
    kept: Vec<u8>,
    frame_at: Option<Nanos>,
    /// The block of fields that comes: whose, whether its stream ends with it, and its bytes.
    block: Option<(u32, bool)>,
    fields: Vec<u8>,
    /// What its frames took.
    block_bytes: usize,
    /// Of the reply.
    first: Option<Nanos>,
    has_begun: bool,
    bytes: u64,
    /// Bytes of frames since the request that take the reply no further.
    beside: u64,
    status: u16,
    /// Bytes of bodies for which the peer has not been given room again.
    consumed: u32,
    unsent: Vec<u8>,
}

impl Session {
    /// For requests with this [`head`](head::request).
    pub const fn new(head: Vec<u8>) -> Self {
        Self {
            head,
            began: false,
            agreed: false,
            stream: 0,
            state: State::Quiet,
            goes_away: None,
            kept: Vec::new(),
            frame_at: None,
            block: None,
            fields: Vec::new(),
            block_bytes: 0,
            first: None,
            has_begun: false,
            bytes: 0,
            beside: 0,
            status: 0,
            consumed: 0,
            unsent: Vec::new(),
        }
    }

    /// The bytes of the next request, behind the preface on a connection that has said nothing. What the peer must be told goes
    /// with them.
    pub fn ask(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        if !self.began {
            self.began = true;
            preface(&mut out);
        }
        out.append(&mut self.unsent);
        self.stream = if self.stream == 0 { 1 } else { self.stream + 2 };
        self.state = State::Head;
        (self.first, self.has_begun) = (None, false);
        (self.bytes, self.beside, self.status) = (0, 0, 0);
        let mut pieces = self.head.chunks(MOST_PAYLOAD).peekable();
        let mut kind = kind::HEADERS;
        while let Some(piece) = pieces.next() {
            let ends = if pieces.peek().is_none() {
                flag::END_HEADERS
            } else {
                0
            };
            let whole = if kind == kind::HEADERS {
                flag::END_STREAM
            } else {
                0
            };
            frame::write(&mut out, kind, ends | whole, self.stream, piece);
            kind = kind::CONTINUATION;
        }
        out
    }

    /// May another request be asked?
    pub const fn is_open(&self) -> bool {
        self.goes_away.is_none() && self.stream < LAST_STREAM - 2
    }

    /// What the peer must be told, with nothing in it most of the time. Before the preface nothing can be said.
    pub fn unsent(&mut self) -> Vec<u8> {
        match self.began {
            true => std::mem::take(&mut self.unsent),
            false => Vec::new(),
        }
    }

    /// Has a reply begun to come?
    pub const fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// When its first byte came.
    pub const fn first(&self) -> Option<Nanos> {
        self.first
    }

    /// How much to read so that no more comes than one frame, its header, or the first byte of that: then the stamp of what was
    /// read is that of the first byte.
    pub fn wants(&self) -> usize {
        match self.header() {
            Some(header) => HEADER + header.length - self.kept.len(),
            None if self.kept.is_empty() => 1,
            None => HEADER - self.kept.len(),
        }
    }

    fn header(&self) -> Option<Header> {
        self.kept.first_chunk().copied().map(Header::read)
    }

    /// Takes what came at this time. `Some` once the reply is whole.
    ///
    /// # Errors
    /// It is no HTTP/2, or the reply will not come.
    pub fn take(
        &mut self,
        mut bytes: &[u8],
        at: Option<Nanos>,
    ) -> Result<Option<Whole>, Http2Error> {
        let mut whole = None;
        while !bytes.is_empty() {
            if self.kept.is_empty() {
                self.frame_at = at;
            }
            let end = self
                .header()
                .map_or(HEADER, |header| HEADER + header.length);
            let (piece, rest) = bytes.split_at(bytes.len().min(end - self.kept.len()));
            self.kept.extend_from_slice(piece);
            bytes = rest;
            if end == HEADER && (self.kept.len() == HEADER || !self.agreed) {
                self.begin_frame()?;
            }
            let Some(header) = self.header() else {
                continue;
            };
            if self.kept.len() == HEADER + header.length {
                let frame = std::mem::take(&mut self.kept);
                let done = self.frame(header, &frame[HEADER..]);
                // The buffer is used again.
                self.kept = frame;
                self.kept.clear();
                whole = done?.or(whole);
            }
        }
        // GOAWAY may stand behind the reply.
        let reusable = self.is_open();
        Ok(whole.map(|whole| Whole { reusable, ..whole }))
    }

    /// Looks at a header before its payload comes.
    fn begin_frame(&mut self) -> Result<(), Http2Error> {
        let came = self.kept.len().min(HTTP1.len());
        if !self.agreed && self.kept[..came] == HTTP1[..came] {
            return match came == HTTP1.len() {
                true => Err(Http2Error::Http1),
                false => Ok(()),
            };
        }
        let Some(header) = self.header() else {
            return Ok(());
        };
        if !self.agreed && (header.kind != kind::SETTINGS || header.has(flag::ACK)) {
            return Err(Http2Error::NotHttp2);
        }
        if header.length > MOST_PAYLOAD {
            return Err(match self.agreed {
                true => Http2Error::Protocol("a frame is longer than was agreed"),
                false => Http2Error::NotHttp2,
            });
        }
        let bytes = (HEADER + header.length) as u64;
        if self.is_ours(header.stream) {
            if header.kind == kind::HEADERS && !self.has_begun {
                self.has_begun = true;
                self.first = self.frame_at;
            }
            self.bytes += bytes;
            if self.bytes > MOST_REPLY {
                return Err(Http2Error::TooLong);
            }
        }
        match self.is_of_reply(header) {
            true => Ok(()),
            false => self.came_beside(bytes),
        }
    }

    /// Does it take the reply further? The last frame may be empty; more of those could come without end.
    fn is_of_reply(&self, header: Header) -> bool {
        let carries = matches!(header.kind, kind::HEADERS | kind::DATA | kind::CONTINUATION);
        carries && header.length > 0 && self.is_ours(header.stream)
    }

    /// Counts what came and is no part of the reply.
    fn came_beside(&mut self, bytes: u64) -> Result<(), Http2Error> {
        self.beside += bytes;
        match self.beside > MOST_BESIDE {
            true => Err(Http2Error::Beside),
            false => Ok(()),
        }
    }

    /// Is it the stream of the reply that is waited for?
    fn is_ours(&self, stream: u32) -> bool {
        self.state != State::Quiet && stream == self.stream
    }

    fn frame(&mut self, header: Header, payload: &[u8]) -> Result<Option<Whole>, Http2Error> {
        if self.block.is_some() && header.kind != kind::CONTINUATION {
            return Err(Http2Error::Protocol("a head was interrupted"));
        }
        match header.kind {
            kind::DATA => return self.data(header, payload),
            kind::HEADERS => {
                self.of_request(header)?;
                self.block = Some((header.stream, header.has(flag::END_STREAM)));
                self.fields.clear();
                self.block_bytes = 0;
                return self.fields(header, header.content(payload)?);
            }
            kind::CONTINUATION => {
                if self.block.is_none_or(|(stream, _)| stream != header.stream) {
                    return Err(Http2Error::Protocol("CONTINUATION continues nothing"));
                }
                return self.fields(header, payload);
            }
            kind::RST_STREAM => {
                let code = word(payload, 0).filter(|_| payload.len() == 4);
                let code = code.ok_or(Http2Error::Protocol("RST_STREAM has another length"))?;
                self.of_request(header)?;
                if self.is_ours(header.stream) {
                    return Err(Http2Error::Reset(Code(code)));
                }
            }
            kind::SETTINGS => self.settings(header, payload)?,
            kind::PUSH_PROMISE => {
                return Err(Http2Error::Protocol("it pushes although that is off"));
            }
            kind::PING => self.ping(header, payload)?,
            kind::GOAWAY => self.go_away(payload)?,
            kind::WINDOW_UPDATE if payload.len() != 4 => {
                return Err(Http2Error::Protocol("WINDOW_UPDATE has another length"));
            }
            // We send no bodies, and of priorities and of what nobody knows yet nothing follows (RFC 9113 §5.5).
            _ => {}
        }
        Ok(None)
    }

    /// Only streams that we have opened can be spoken of.
    fn of_request(&self, header: Header) -> Result<(), Http2Error> {
        match header.stream % 2 == 1 && header.stream <= self.stream {
            true => Ok(()),
            false => Err(Http2Error::Protocol("a stream that was not opened")),
        }
    }

    fn data(&mut self, header: Header, payload: &[u8]) -> Result<Option<Whole>, Http2Error> {
        self.of_request(header)?;
        header.content(payload)?;
        self.consumed += payload.len() as u32;
        if self.consumed >= REPLENISH {
            let more = std::mem::take(&mut self.consumed).to_be_bytes();
            self.tell(kind::WINDOW_UPDATE, 0, &more)?;
        }
        if !self.is_ours(header.stream) {
            return Ok(None);
        }
        match self.state {
            State::Body => Ok(self.ended(header.has(flag::END_STREAM))),
            _ => Err(Http2Error::Protocol("a body without a head")),
        }
    }

    /// A piece of a block of fields.
    fn fields(&mut self, header: Header, content: &[u8]) -> Result<Option<Whole>, Http2Error> {
        // An empty piece counts too, or they could come without end.
        self.block_bytes += HEADER + content.len();
        if self.block_bytes > MOST_HEAD {
            return Err(Http2Error::HeadTooLong);
        }
        self.fields.extend_from_slice(content);
        if !header.has(flag::END_HEADERS) {
            return Ok(None);
        }
        let Some((stream, ends)) = self.block.take() else {
            return Ok(None);
        };
        let status = head::status(&self.fields)?;
        if !self.is_ours(stream) {
            return Ok(None);
        }
        match (self.state, status) {
            (State::Body, None) if ends => {}
            (State::Body, _) => return Err(Http2Error::Protocol("trailers are none")),
            // Interim replies come before the one that counts (RFC 9110 §15.2).
            (_, Some(100..=199)) if !ends => {
                (self.first, self.has_begun) = (None, false);
                self.came_beside(self.block_bytes as u64)?;
                return Ok(None);
            }
            (_, Some(100..=199)) => {
                return Err(Http2Error::Protocol("an interim reply is the last"));
            }
            (_, Some(status)) => {
                self.status = status;
                self.state = State::Body;
            }
            (_, None) => return Err(Http2Error::Protocol("a reply without a status")),
        }
        Ok(self.ended(ends))
    }

    fn ended(&mut self, ends: bool) -> Option<Whole> {
        if !ends {
            return None;
        }
        self.state = State::Quiet;
        Some(Whole {
            status: self.status,
            bytes: self.bytes,
            reusable: self.is_open(),
            says: None,
        })
    }

    fn settings(&mut self, header: Header, payload: &[u8]) -> Result<(), Http2Error> {
        let ack = header.has(flag::ACK);
        if header.stream != 0 || !payload.len().is_multiple_of(6) || (ack && !payload.is_empty()) {
            return Err(Http2Error::Protocol("SETTINGS that cannot be"));
        }
        self.agreed = true;
        // Whatever a server sets is about what we do not use: tables, pushes, bodies, frames of more than the least.
        match ack {
            true => Ok(()),
            false => self.tell(kind::SETTINGS, flag::ACK, &[]),
        }
    }

    fn ping(&mut self, header: Header, payload: &[u8]) -> Result<(), Http2Error> {
        if header.stream != 0 || payload.len() != 8 {
            return Err(Http2Error::Protocol("PING that cannot be"));
        }
        match header.has(flag::ACK) {
            true => Ok(()),
            false => self.tell(kind::PING, flag::ACK, payload),
        }
    }

    fn go_away(&mut self, payload: &[u8]) -> Result<(), Http2Error> {
        let (Some(last), Some(code)) = (word(payload, 0), word(payload, 4)) else {
            return Err(Http2Error::Protocol("GOAWAY is too short"));
        };
        let (last, code) = (last & LAST_STREAM, Code(code));
        self.goes_away = Some((last, code));
        match self.state != State::Quiet && last < self.stream {
            true => Err(Http2Error::GoAway(code)),
            false => Ok(()),
        }
    }

    fn tell(&mut self, kind: u8, flags: u8, payload: &[u8]) -> Result<(), Http2Error> {
        if self.unsent.len() > MOST_UNSENT {
            return Err(Http2Error::Flood);
        }
        frame::write(&mut self.unsent, kind, flags, 0, payload);
        Ok(())
    }

    /// Why there is no reply now that the connection is closed.
    pub fn closed(&self) -> Http2Error {
        match self.goes_away {
            Some((_, code)) => Http2Error::GoAway(code),
            None => Http2Error::Cut,
        }
    }
}

fn word(payload: &[u8], at: usize) -> Option<u32> {
    let four = payload.get(at..)?.first_chunk()?;
    Some(u32::from_be_bytes(*four))
}

/// What a client says first: no table, nothing pushed, and as much room as there can be.
fn preface(out: &mut Vec<u8>) {
    out.extend_from_slice(PREFACE);
    let mut settings = Vec::new();
    for (number, value) in [
        (setting::HEADER_TABLE_SIZE, 0),
        (setting::ENABLE_PUSH, 0),
        (setting::INITIAL_WINDOW_SIZE, WINDOW),
    ] {
        settings.extend_from_slice(&number.to_be_bytes());
        settings.extend_from_slice(&value.to_be_bytes());
    }
    frame::write(out, kind::SETTINGS, 0, 0, &settings);
    let more = (WINDOW - FIRST_WINDOW).to_be_bytes();
    frame::write(out, kind::WINDOW_UPDATE, 0, 0, &more);
}

#[cfg(test)]
mod tests;
