//! As much of HTTP/1.1 (RFC 9112) as pages need: GET, one request a connection. Whatever is odd is
//! refused, not guessed at.

use std::io::{self, BufRead, Write};

/// Bytes of a request at most, its body excepted: there is none.
const LONGEST: u64 = 16 << 10;

/// A request that can be answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Request {
    /// The segments of the path, decoded.
    pub(super) path: Vec<String>,
    /// The parameters, decoded, in their order.
    pub(super) query: Vec<(String, String)>,
    headers: Vec<(String, String)>,
}

/// Why a request is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// Nothing or too little came.
    Gone,
    /// It did not come in time.
    Late,
    /// It is no request of HTTP.
    Malformed,
    /// It is no GET.
    Method,
    /// It is too long.
    TooLong,
}

impl Request {
    /// Reads one.
    pub(super) fn read(from: impl BufRead) -> Result<Self, Refused> {
        let mut from = from.take(LONGEST);
        let first = line(&mut from)?;
        let mut words = first.split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(Refused::Malformed);
        };
        if !version.starts_with("HTTP/1.") || !target.starts_with('/') {
            return Err(Refused::Malformed);
        }
        if method != "GET" {
            return Err(Refused::Method);
        }
        let mut request = Self::of_target(target).ok_or(Refused::Malformed)?;
        loop {
            let header = line(&mut from)?;
            if header.is_empty() {
                return Ok(request);
            }
            let (name, value) = header.split_once(':').ok_or(Refused::Malformed)?;
            if name.is_empty() || name.contains([' ', '\t']) {
                return Err(Refused::Malformed);
            }
            request
                .headers
                .push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }

    /// `/path/of/it?name=value&name=value`.
    pub(super) fn of_target(target: &str) -> Option<Self> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let segments = path.split('/').filter(|segment| !segment.is_empty());
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let decoded = |text: &str| decode(&text.replace('+', " "));
            Some((decoded(name)?, decoded(value)?))
        };
        Some(Self {
            path: segments.map(decode).collect::<Option<_>>()?,
            query: pairs.map(pair).collect::<Option<_>>()?,
            headers: Vec::new(),
        })
    }

    /// The value of a header; `None` where it is missing, or there are several.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(other, _)| other == name);
        let (_, value) = found.next()?;
        found.next().is_none().then_some(value)
    }

    /// Every value of a header.
    pub(super) fn headers<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = self.headers.iter().filter(move |(other, _)| other == name);
        named.map(|(_, value)| value.as_str())
    }

    /// The first value of a parameter.
    pub(super) fn parameter<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.parameters(name).next()
    }

    /// Every value of a parameter.
    pub(super) fn parameters<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = self.query.iter().filter(move |(other, _)| other == name);
        named.map(|(_, value)| value.as_str())
    }
}

/// A line without its end.
fn line(from: &mut io::Take<impl BufRead>) -> Result<String, Refused> {
    let mut line = Vec::new();
    from.read_until(b'\n', &mut line)
        .map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => Refused::Late,
            _ => Refused::Gone,
        })?;
    if line.pop() != Some(b'\n') {
        return Err(if from.limit() == 0 {
            Refused::TooLong
        } else {
            Refused::Gone
        });
    }
    line.pop_if(|end| *end == b'\r');
    let text = String::from_utf8(line).map_err(|_| Refused::Malformed)?;
    if text.chars().any(|c| c.is_control() && c != '\t') {
        return Err(Refused::Malformed);
    }
    Ok(text)
}

/// `%2F` and so on (RFC 3986 §2.1); `None` where that is no text.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
            let value = digit(rest.next())? * 16 + digit(rest.next())?;
            bytes.push(u8::try_from(value).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

/// Any text as one segment of a path or one value of a query.
pub(super) fn encode(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(byte.into())
            }
            _ => encoded += &format!("%{byte:02X}"),
        }
    }
    encoded
}

/// What every answer says, so that no page of another site can use it.
const GUARD: &str = "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n\
     Cross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\n\
     Cache-Control: no-store\r\nConnection: close\r\n";

/// The beginning of an answer: status, type, and headers of its own, each with its line end.
pub(super) fn head(out: &mut dyn Write, status: &str, kind: &str, own: &str) -> io::Result<()> {
    write!(
        out,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{GUARD}{own}\r\n"
    )
}

/// A whole answer.
pub(super) fn answer(
    out: &mut dyn Write,
    status: &str,
    kind: &str,
    own: &str,
    body: &[u8],
) -> io::Result<()> {
    head(
        out,
        status,
        kind,
        &format!("Content-Length: {}\r\n{own}", body.len()),
    )?;
    out.write_all(body)?;
    out.flush()
}

/// Writes a body of unknown length in pieces (RFC 9112 §7.1): one that is cut short shows as such.
pub(super) struct Chunked<'a> {
    out: &'a mut dyn Write,
}

impl<'a> Chunked<'a> {
    /// The header that announces it.
    pub(super) const HEADER: &'static str = "Transfer-Encoding: chunked\r\n";

    /// Behind the head of an answer.
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Self { out }
    }

    /// The body is whole.
    pub(super) fn finish(self) -> io::Result<()> {
        self.out.write_all(b"0\r\n\r\n")?;
        self.out.flush()
    }
}

impl Write for Chunked<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !bytes.is_empty() {
            write!(self.out, "{:x}\r\n", bytes.len())?;
            self.out.write_all(bytes)?;
            self.out.write_all(b"\r\n")?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_request_is_read_whole() {
        let text =
            "GET /run/a%2Fb%20c/window?from=1.5&x=a%26b+c HTTP/1.1\r\nHost: localhost:1\r\n\r\n";
        let request = Request::read(text.as_bytes()).unwrap();
        assert_eq!(request.path, ["run", "a/b c", "window"]);
        assert_eq!(request.parameter("from"), Some("1.5"));
        assert_eq!(request.parameter("x"), Some("a&b c"));
        assert_eq!(request.header("host"), Some("localhost:1"));
    }

    #[test]
    fn whatever_is_odd_is_refused() {
        for (text, refused) in [
            ("", Refused::Gone),
            ("GET / HTTP/1.1\r\n", Refused::Gone),
            ("POST / HTTP/1.1\r\n\r\n", Refused::Method),
            ("GET http://other/ HTTP/1.1\r\n\r\n", Refused::Malformed),
            ("GET /%zz HTTP/1.1\r\n\r\n", Refused::Malformed),
            ("GET /%ff HTTP/1.1\r\n\r\n", Refused::Malformed),
            ("GET / HTTP/2\r\n\r\n", Refused::Malformed),
            ("GET /a b HTTP/1.1\r\n\r\n", Refused::Malformed),
            ("GET / HTTP/1.1\r\nno header\r\n\r\n", Refused::Malformed),
            ("GET / HTTP/1.1\r\nHost : x\r\n\r\n", Refused::Malformed),
        ] {
            assert_eq!(Request::read(text.as_bytes()), Err(refused), "{text:?}");
        }
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(20_000));
        assert_eq!(Request::read(long.as_bytes()), Err(Refused::TooLong));
    }

    #[test]
    fn of_a_header_that_is_there_twice_none_is_taken() {
        let text = "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n";
        assert_eq!(Request::read(text.as_bytes()).unwrap().header("host"), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Request::read(bytes.as_slice());
        }

        #[test]
        fn what_is_encoded_is_decoded(text in ".*") {
            prop_assert_eq!(decode(&encode(&text)), Some(text));
        }
    }
}
