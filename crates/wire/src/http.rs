//! HTTP/1.1 (RFC 9112) as a prober speaks it: a request without a body, and where its reply ends.
//!
//! What a server sends is not kept: bytes are counted. Nothing that comes makes it take more memory than [`MOST_HEAD`].

use delaylab_model::request::Header;
use delaylab_model::{MILLISECOND, Nanos};
use std::fmt::Write;
use std::mem::MaybeUninit;

/// The most bytes of a reply's head, as many servers have it.
pub const MOST_HEAD: usize = 64 << 10;
/// The most fields in it.
const MOST_FIELDS: usize = 1024;
/// The most bytes of a reply.
pub const MOST_REPLY: u64 = 1 << 30;
/// The most bytes that come before or between the parts of a reply and take it no further: interim replies, and frames of
/// HTTP/2 that are not of the reply. A server that says each second that it still works needs an hour for a tenth of it.
pub const MOST_BESIDE: u64 = 1 << 20;
/// The most bytes of a line that begins a chunk.
const MOST_CHUNK_LINE: usize = 256;

/// Fields of each request where none of that name is given.
pub(crate) const USER_AGENT: (&str, &str) = ("User-Agent", "delaylab");
/// As [`USER_AGENT`].
pub(crate) const ACCEPT: (&str, &str) = ("Accept", "*/*");

/// Is a field of this name given?
pub(crate) fn is_given(headers: &[Header], name: &str) -> bool {
    let mut names = headers.iter().map(|header| &header.name);
    names.any(|given| given.eq_ignore_ascii_case(name))
}

/// A request: method, path, host and more fields as they are to stand in it. Of those that every request has, a given one
/// takes the place.
///
/// The caller has seen to it that none of them has a line break: [`delaylab_model::request::Url`] and [`Header`] are read so.
pub fn request(
    verb: &str,
    path: &str,
    authority: &str,
    headers: &[Header],
    close: bool,
) -> Vec<u8> {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write!(text, "{verb} {path} HTTP/1.1\r\nHost: {authority}\r\n");
    for (name, value) in [USER_AGENT, ACCEPT] {
        if !is_given(headers, name) {
            let _ = write!(text, "{name}: {value}\r\n");
        }
    }
    for header in headers {
        let _ = write!(text, "{header}\r\n");
    }
    if close {
        text.push_str("Connection: close\r\n");
    }
    text.push_str("\r\n");
    text.into_bytes()
}

/// What a server is asked for: the path, and how many bytes the request has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// As it stands in the request line.
    pub path: String,
    /// The head alone?
    pub head_only: bool,
    /// Bytes up to the end of its head. Requests with a body are not read.
    pub bytes: usize,
    /// May another request follow on the connection?
    pub keeps: bool,
}

/// Reads the first request of these bytes; `None` where it has not come whole.
///
/// # Errors
/// They are no request, or its head is too long.
pub fn asked(bytes: &[u8]) -> Result<Option<Asked>, HttpError> {
    let mut fields = [const { MaybeUninit::uninit() }; MOST_FIELDS];
    let mut request = httparse::Request::new(&mut []);
    match request.parse_with_uninit_headers(bytes, &mut fields) {
        Ok(httparse::Status::Complete(length)) => {
            let close = has_token(request.headers, "connection", "close");
            Ok(Some(Asked {
                path: request.path.unwrap_or_default().to_owned(),
                head_only: request.method == Some("HEAD"),
                bytes: length,
                keeps: request.version == Some(1) && !close,
            }))
        }
        Ok(httparse::Status::Partial) if bytes.len() < MOST_HEAD => Ok(None),
        Ok(httparse::Status::Partial) => Err(HttpError::HeadTooLong),
        Err(error) => Err(error.into()),
    }
}

/// The head of a reply with a body of so many bytes, before which the server took this long: of the same length, whatever it took.
pub fn reply_head(body: u64, keeps: bool, took: Nanos) -> String {
    let connection = if keeps { "keep-alive" } else { "close" };
    let (ms, ns) = (took.max(0) / MILLISECOND, took.max(0) % MILLISECOND);
    format!(
        "HTTP/1.1 200 OK\r\nServer: delaylab\r\nServer-Timing: all;dur={ms:06}.{ns:06}\r\nContent-Type: text/plain\r\nContent-Length: {body}\r\nConnection: {connection}\r\n\r\n"
    )
}

/// Why bytes are no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    /// They do not begin as one.
    #[error("what came is not HTTP/1.1")]
    NotHttp,
    /// Its head does not end.
    #[error("the head of the reply is longer than {} KiB", MOST_HEAD >> 10)]
    HeadTooLong,
    /// Its head has more fields than are read.
    #[error("the head of the reply has more than {MOST_FIELDS} fields")]
    TooManyFields,
    /// Interim replies come, and no other.
    #[error("the server sends interim replies (1xx) and no other: more than {} MiB of them", MOST_BESIDE >> 20)]
    Interim,
    /// Its length cannot be told.
    #[error("the reply says its length in a way that cannot be read")]
    Length,
    /// It does not end.
    #[error("the reply is longer than {} MiB", MOST_REPLY >> 20)]
    TooLong,
    /// The connection was closed before its end.
    #[error("the connection was closed before the end of the reply")]
    Cut,
}

impl From<httparse::Error> for HttpError {
    fn from(error: httparse::Error) -> Self {
        match error {
            httparse::Error::TooManyHeaders => HttpError::TooManyFields,
            _ => HttpError::NotHttp,
        }
    }
}

/// A reply that has come whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whole {
    /// Its status code (RFC 9110 §15).
    pub status: u16,
    /// All of its bytes, heads of interim replies included.
    pub bytes: u64,
    /// May another request follow on the connection?
    pub reusable: bool,
    /// What the server says that it took: the longest duration in `Server-Timing` (W3C).
    pub says: Option<Nanos>,
}

/// Reads one reply as its bytes come.
#[derive(Debug, Clone)]
pub struct Reader {
    /// Is it the reply to HEAD? Such has no body.
    head_only: bool,
    state: State,
    /// Bytes that could not be used yet.
    kept: Vec<u8>,
    bytes: u64,
    /// Those of interim replies.
    interim: u64,
    status: u16,
    reusable: bool,
    says: Option<Nanos>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Head,
    /// So many bytes of body are left.
    Left(u64),
    /// Until the connection is closed.
    UntilClosed,
    ChunkLine,
    /// So many bytes of a chunk and of the line break behind it are left.
    Chunk(u64),
    /// Fields behind the last chunk, up to an empty line.
    Trailer,
    Done,
}

impl Reader {
    /// For the reply to GET, or for `head_only` to HEAD.
    pub const fn new(head_only: bool) -> Self {
        Self {
            head_only,
            state: State::Head,
            kept: Vec::new(),
            bytes: 0,
            interim: 0,
            status: 0,
            reusable: true,
            says: None,
        }
    }

    /// Takes what came. `Some` once the reply is whole: what follows it is not looked at.
    ///
    /// # Errors
    /// It is no reply.
    pub fn take(&mut self, mut bytes: &[u8]) -> Result<Option<Whole>, HttpError> {
        while self.state != State::Done && !bytes.is_empty() {
            let used = match self.state {
                State::Head => self.take_head(bytes)?,
                State::Left(left) | State::Chunk(left) => self.take_body(bytes, left),
                State::UntilClosed => bytes.len(),
                State::ChunkLine => self.take_line(bytes, Self::chunk)?,
                State::Trailer => self.take_line(bytes, Self::trailer)?,
                State::Done => 0,
            };
            self.bytes += used as u64;
            if self.bytes > MOST_REPLY {
                return Err(HttpError::TooLong);
            }
            bytes = &bytes[used..];
        }
        if !bytes.is_empty() {
            // Nobody asked for more: whatever it is, it is no reply to the next request.
            self.reusable = false;
        }
        Ok(self.whole())
    }

    /// The connection was closed, by TLS in order or not: where nothing else says where the reply ends, an orderly close does
    /// (RFC 9112 §9.8).
    ///
    /// # Errors
    /// It had not ended.
    pub fn closed(&mut self, in_order: bool) -> Result<Whole, HttpError> {
        self.reusable = false;
        if in_order && self.state == State::UntilClosed {
            self.state = State::Done;
        }
        self.whole().ok_or(HttpError::Cut)
    }

    /// Has the reply begun to come? Whether a head is that of an interim reply shows only when it ends.
    pub const fn has_begun(&self) -> bool {
        self.bytes > self.interim
    }

    /// Bytes of the interim replies that have come whole.
    pub const fn interim(&self) -> u64 {
        self.interim
    }

    fn whole(&self) -> Option<Whole> {
        (self.state == State::Done).then_some(Whole {
            status: self.status,
            bytes: self.bytes,
            reusable: self.reusable,
            says: self.says,
        })
    }

    /// How many of the bytes belong to the head.
    fn take_head(&mut self, bytes: &[u8]) -> Result<usize, HttpError> {
        let before = self.kept.len();
        let came = &bytes[..bytes.len().min(MOST_HEAD - before)];
        // One that lies whole in what came is read where it is: many at once would be copied once for each.
        if before > 0 {
            self.kept.extend_from_slice(came);
        }
        let head = if before > 0 { &self.kept } else { came };
        let mut fields = [const { MaybeUninit::uninit() }; MOST_FIELDS];
        let mut reply = httparse::Response::new(&mut []);
        let mut config = httparse::ParserConfig::default();
        // A field may continue on the next line, and is to be read (RFC 9112 §5.2).
        config.allow_obsolete_multiline_headers_in_responses(true);
        match config.parse_response_with_uninit_headers(&mut reply, head, &mut fields) {
            Ok(httparse::Status::Complete(length)) => {
                let next = after_head(&reply, self.head_only)?;
                self.status = reply.code.unwrap_or(0);
                self.reusable = keeps_alive(&reply);
                self.says = said_to_take(&reply);
                self.state = match self.status {
                    // Interim replies come before the one that counts (RFC 9110 §15.2).
                    100 | 102..=199 => {
                        self.interim += length as u64;
                        State::Head
                    }
                    _ => next,
                };
                self.kept.clear();
                match self.interim > MOST_BESIDE {
                    true => Err(HttpError::Interim),
                    false => Ok(length - before),
                }
            }
            Ok(httparse::Status::Partial) if head.len() < MOST_HEAD => {
                if before == 0 {
                    self.kept.extend_from_slice(came);
                }
                Ok(bytes.len())
            }
            Ok(httparse::Status::Partial) => Err(HttpError::HeadTooLong),
            Err(error) => Err(error.into()),
        }
    }

    fn take_body(&mut self, bytes: &[u8], left: u64) -> usize {
        let used = left.min(bytes.len() as u64);
        let left = left - used;
        self.state = match (self.state, left) {
            (State::Chunk(_), 0) => State::ChunkLine,
            (State::Chunk(_), left) => State::Chunk(left),
            (_, 0) => State::Done,
            (_, left) => State::Left(left),
        };
        used as usize
    }

    /// Up to the end of a line, of which `then` makes the next state.
    fn take_line(
        &mut self,
        bytes: &[u8],
        then: fn(&[u8]) -> Result<State, HttpError>,
    ) -> Result<usize, HttpError> {
        let end = bytes.iter().position(|&byte| byte == b'\n');
        let used = end.map_or(bytes.len(), |end| end + 1);
        self.kept.extend_from_slice(&bytes[..used]);
        let most = match self.state {
            State::Trailer => MOST_HEAD,
            _ => MOST_CHUNK_LINE,
        };
        if self.kept.len() > most {
            return Err(HttpError::Length);
        }
        if end.is_some() {
            self.state = then(&self.kept)?;
            self.kept.clear();
        }
        Ok(used)
    }

    fn chunk(line: &[u8]) -> Result<State, HttpError> {
        match httparse::parse_chunk_size(line) {
            Ok(httparse::Status::Complete((_, 0))) => Ok(State::Trailer),
            // The line break behind the chunk belongs to it here.
            Ok(httparse::Status::Complete((_, size))) if size <= MOST_REPLY => {
                Ok(State::Chunk(size + 2))
            }
            Ok(httparse::Status::Complete(_)) => Err(HttpError::TooLong),
            _ => Err(HttpError::Length),
        }
    }

    fn trailer(line: &[u8]) -> Result<State, HttpError> {
        match line {
            b"\r\n" | b"\n" => Ok(State::Done),
            _ => Ok(State::Trailer),
        }
    }
}

type Head<'h, 'b> = httparse::Response<'h, 'b>;

type Fields<'a> = &'a [httparse::Header<'a>];

fn fields<'a>(all: Fields<'a>, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
    let of_name = all.iter();
    let of_name = of_name.filter(move |field| field.name.eq_ignore_ascii_case(name));
    of_name.map(|field| field.value)
}

fn has_token(all: Fields<'_>, name: &str, token: &str) -> bool {
    fields(all, name).any(|value| {
        let mut tokens = value.split(|&byte| byte == b',');
        tokens.any(|each| each.trim_ascii().eq_ignore_ascii_case(token.as_bytes()))
    })
}

/// Parts of a duration lie within the whole of it, so the longest counts.
fn said_to_take(head: &Head<'_, '_>) -> Option<Nanos> {
    let metrics = fields(head.headers, "server-timing").flat_map(|value| split(value, b','));
    metrics.filter_map(duration).max()
}

/// The duration of `name;dur=12.3;desc="…"`, which has it in milliseconds.
fn duration(metric: &[u8]) -> Option<Nanos> {
    let mut parameters = split(metric, b';').skip(1);
    let ms: f64 = parameters.find_map(|parameter| {
        let (name, value) = std::str::from_utf8(parameter).ok()?.split_once('=')?;
        let is_duration = name.trim().eq_ignore_ascii_case("dur");
        is_duration.then(|| value.trim().trim_matches('"').parse().ok())?
    })?;
    let ns = ms * MILLISECOND as f64;
    // A day is no time for a page.
    (0.0..DAY_NS).contains(&ns).then_some(ns.round() as Nanos)
}

/// The parts between these, but for those within quotes (RFC 9110 §5.6.4), where `\` takes a quote along.
fn split(text: &[u8], at: u8) -> impl Iterator<Item = &[u8]> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    text.split(move |&byte| {
        if is_escaped {
            is_escaped = false;
        } else if is_quoted && byte == b'\\' {
            is_escaped = true;
        } else if byte == b'"' {
            is_quoted = !is_quoted;
        }
        byte == at && !is_quoted
    })
}

const DAY_NS: f64 = 86_400e9;

fn keeps_alive(head: &Head<'_, '_>) -> bool {
    match head.version {
        Some(1) => !has_token(head.headers, "connection", "close"),
        _ => has_token(head.headers, "connection", "keep-alive"),
    }
}

/// How the body's length is told (RFC 9112 §6.3).
fn after_head(head: &Head<'_, '_>, head_only: bool) -> Result<State, HttpError> {
    let empty = head_only || matches!(head.code, Some(100..=199 | 204 | 304));
    if empty {
        return Ok(State::Done);
    }
    if fields(head.headers, "transfer-encoding").next().is_some() {
        return match has_token(head.headers, "transfer-encoding", "chunked") {
            true => Ok(State::ChunkLine),
            false => Ok(State::UntilClosed),
        };
    }
    let mut lengths = fields(head.headers, "content-length").map(length);
    let Some(first) = lengths.next() else {
        return Ok(State::UntilClosed);
    };
    let first = first?;
    // Two lengths that differ are how requests are smuggled: no length is to be believed then.
    if lengths.any(|other| other != Ok(first)) {
        return Err(HttpError::Length);
    }
    match first {
        0 => Ok(State::Done),
        1..=MOST_REPLY => Ok(State::Left(first)),
        _ => Err(HttpError::TooLong),
    }
}

fn length(value: &[u8]) -> Result<u64, HttpError> {
    let text = std::str::from_utf8(value.trim_ascii()).map_err(|_| HttpError::Length)?;
    match text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => text.parse().map_err(|_| HttpError::Length),
        false => Err(HttpError::Length),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    /// What is made of these bytes, whole or in pieces of this length.
    fn read(bytes: &[u8], piece: usize, head_only: bool) -> Result<Option<Whole>, HttpError> {
        let mut reader = Reader::new(head_only);
        for piece in bytes.chunks(piece.max(1)) {
            if let Some(whole) = reader.take(piece)? {
                return Ok(Some(whole));
            }
        }
        Ok(None)
    }

    #[test]
    fn each_way_to_say_a_length_is_understood_in_any_pieces() {
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n1;x=y\r\ne\r\n0\r\nT: u\r\n\r\n";
        let interim = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n";
        let folded = "HTTP/1.1 403 No\r\nX: a\r\n b\r\nY:\r\nContent-Length:\r\n\t2\r\n\r\nok";
        for (text, status) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200),
            (folded, 403),
            ("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", 404),
            (chunked, 200),
            (interim, 204),
        ] {
            for piece in [1, 2, 3, 7, 1000] {
                let whole = read(text.as_bytes(), piece, false).unwrap().unwrap();
                let expected = Whole {
                    status,
                    bytes: text.len() as u64,
                    reusable: true,
                    says: None,
                };
                assert_eq!(whole, expected, "{text:?} by {piece}");
            }
        }
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n";
        assert_eq!(
            read(head, 9, true).unwrap().unwrap().bytes,
            head.len() as u64
        );
    }

    #[test]
    fn what_is_asked_is_read_back() {
        let gzip = "Accept-Encoding: gzip".parse().unwrap();
        let kept = request("GET", "/a?b", "host", &[gzip], false);
        let closing = request("HEAD", "/", "host", &[], true);
        let both = [kept.clone(), closing.clone()].concat();
        let first = asked(&both).unwrap().unwrap();
        assert_eq!((first.path.as_str(), first.head_only), ("/a?b", false));
        assert_eq!((first.bytes, first.keeps), (kept.len(), true));
        let second = asked(&both[first.bytes..]).unwrap().unwrap();
        assert_eq!((second.path.as_str(), second.head_only), ("/", true));
        assert_eq!((second.bytes, second.keeps), (closing.len(), false));
        for end in 0..kept.len() {
            assert_eq!(asked(&kept[..end]), Ok(None));
        }
        for (connection, keeps) in [("close, TE", false), ("TE,Close", false), ("TE", true)] {
            let text = format!("GET / HTTP/1.1\r\nConnection: {connection}\r\n\r\n");
            let read = asked(text.as_bytes()).unwrap().unwrap();
            assert_eq!(read.keeps, keeps, "{connection}");
        }
        assert_eq!(asked(b"\x16\x03\x01"), Err(HttpError::NotHttp));
        let endless = format!("GET / HTTP/1.1\r\nX: {}", "y".repeat(MOST_HEAD));
        assert_eq!(asked(endless.as_bytes()), Err(HttpError::HeadTooLong));
        let head = reply_head(9, true, 1_500_000) + "123456789";
        let whole = read(head.as_bytes(), 7, false).unwrap().unwrap();
        assert_eq!((whole.status, whole.reusable), (200, true));
        assert_eq!(whole.says, Some(1_500_000));
        assert_eq!(head.len(), reply_head(9, true, 0).len() + 9);
    }

    #[test]
    fn given_fields_take_the_place_of_the_usual_ones() {
        let usual = "GET / HTTP/1.1\r\nHost: a\r\nUser-Agent: delaylab\r\nAccept: */*\r\n\r\n";
        assert_eq!(request("GET", "/", "a", &[], false), usual.as_bytes());
        let given = ["User-Agent: x", "ACCEPT: y"].map(|text| text.parse().unwrap());
        let text = String::from_utf8(request("GET", "/", "a", &given, false)).unwrap();
        let fields = text.to_ascii_lowercase();
        let fields: Vec<_> = fields.lines().skip(2).collect();
        assert_eq!(fields, ["user-agent: x", "accept: y", ""]);
    }

    #[test]
    fn what_a_server_says_it_took_is_the_longest_that_it_says() {
        let says = |timing: &str| {
            let reply = format!("HTTP/1.1 204 N\r\n{timing}\r\n");
            read(reply.as_bytes(), 99, false).unwrap().unwrap().says
        };
        for (timing, expected) in [
            ("", None),
            ("Server-Timing: cache\r\n", None),
            ("Server-Timing: all;dur=1.5\r\n", Some(1_500_000)),
            (
                "Server-Timing: db;dur=1,\r\n all;dur=\r\n 2\r\n",
                Some(2_000_000),
            ),
            (
                "server-timing: db;desc=\"a\";DUR=\"0.25\", all;dur=12\r\nServer-Timing: x;dur=3\r\n",
                Some(12_000_000),
            ),
            ("Server-Timing: all;dur=-1, b;dur=NaN, c;dur=1e99\r\n", None),
            ("Server-Timing: all;dur=soon\r\n", None),
            // What is quoted is no structure.
            (
                "Server-Timing: db;desc=\"q;dur=9000, \\\"x;dur=9\";dur=5\r\n",
                Some(5_000_000),
            ),
        ] {
            assert_eq!(says(timing), expected, "{timing}");
        }
    }

    #[test]
    fn a_reply_until_the_connection_is_closed_ends_there_and_no_other_does() {
        let mut reader = Reader::new(false);
        assert_eq!(reader.take(b"HTTP/1.1 200 OK\r\n\r\nabc"), Ok(None));
        assert_eq!(reader.clone().closed(false), Err(HttpError::Cut));
        let whole = reader.closed(true).unwrap();
        assert_eq!((whole.bytes, whole.reusable), (22, false));
        let mut reader = Reader::new(false);
        let _ = reader.take(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc");
        assert_eq!(reader.closed(true), Err(HttpError::Cut));
        assert_eq!(Reader::new(false).closed(true), Err(HttpError::Cut));
    }

    #[test]
    fn connections_are_kept_as_their_replies_say() {
        let reusable = |text: &str| read(text.as_bytes(), 99, false).unwrap().unwrap().reusable;
        assert!(!reusable(
            "HTTP/1.1 204 N\r\nConnection: foo, Close\r\n\r\n"
        ));
        assert!(!reusable("HTTP/1.0 204 N\r\n\r\n"));
        assert!(reusable("HTTP/1.0 204 N\r\nConnection: keep-alive\r\n\r\n"));
        assert!(!reusable("HTTP/1.1 204 N\r\n\r\nmore"));
    }

    #[test]
    fn what_is_no_reply_is_said() {
        for (text, error) in [
            ("SSH-2.0-OpenSSH_9.2\r\n", HttpError::NotHttp),
            ("<html>HTTP/0.9</html>", HttpError::NotHttp),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
                HttpError::Length,
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
                HttpError::Length,
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
                HttpError::TooLong,
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                HttpError::Length,
            ),
        ] {
            for piece in [1, 5, 1000] {
                assert_eq!(read(text.as_bytes(), piece, false), Err(error), "{text:?}");
            }
        }
        let endless = format!("HTTP/1.1 200 OK\r\nX: {}", "y".repeat(2 * MOST_HEAD));
        assert_eq!(
            read(endless.as_bytes(), 4096, false),
            Err(HttpError::HeadTooLong)
        );
    }

    #[test]
    fn a_head_may_have_many_fields() {
        let lines = |count: usize| format!("HTTP/1.1 204 N\r\n{}\r\n", "X: y\r\n".repeat(count));
        for piece in [500, 4096, usize::MAX] {
            let read = |count| read(lines(count).as_bytes(), piece, false);
            assert_eq!(read(MOST_FIELDS).unwrap().unwrap().status, 204);
            for more in [MOST_FIELDS + 1, 1 << 15] {
                assert_eq!(read(more), Err(HttpError::TooManyFields));
            }
        }
        let error = HttpError::TooManyFields.to_string();
        assert!(error.contains("1024 fields"), "{error}");
    }

    /// What is measured as the reply's first byte is not that of an interim reply.
    #[test]
    fn a_reply_begins_behind_interim_ones() {
        let hints = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
        for piece in [1, 7, 1000] {
            let mut reader = Reader::new(false);
            for piece in hints.as_bytes().chunks(piece) {
                assert_eq!(reader.take(piece), Ok(None));
            }
            assert_eq!(
                (reader.interim(), reader.has_begun()),
                (hints.len() as u64, false)
            );
            assert_eq!(reader.take(b"H"), Ok(None));
            assert!(reader.has_begun());
        }
    }

    #[test]
    fn interim_replies_do_not_come_without_end() {
        let many = "HTTP/1.1 102 Processing\r\n\r\n".repeat(1 << 16);
        for piece in [999, 4096, usize::MAX] {
            assert_eq!(read(many.as_bytes(), piece, false), Err(HttpError::Interim));
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic_and_pieces_make_no_difference(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            head in "(HTTP/1\\.[01] [0-9]{3} x\r\n)?(Content-Length: [0-9]{1,3}\r\n|Transfer-Encoding: chunked\r\n)?(\r\n)?",
            piece in 1_usize..20,
        ) {
            let all = [head.as_bytes(), &bytes].concat();
            let _ = asked(&all);
            let whole = read(&all, usize::MAX, false);
            let in_pieces = read(&all, piece, false);
            let known = |read: &Result<Option<Whole>, HttpError>| {
                read.map(|whole| whole.map(|whole| (whole.status, whole.bytes)))
            };
            prop_assert_eq!(known(&whole), known(&in_pieces));
        }
    }
}
