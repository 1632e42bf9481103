//! What a server of any make is asked: to connect, for a page, for a name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

/// What one request of a probe is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// A TCP handshake, and nothing more.
    Connect {
        /// The port.
        port: u16,
        /// How it is ended once it has been answered.
        close: Close,
    },
    /// A page.
    Http(HttpRequest),
    /// A name.
    Dns(DnsRequest),
}

impl Request {
    /// The port of the server.
    pub const fn port(&self) -> u16 {
        match self {
            Request::Connect { port, .. } => *port,
            Request::Http(http) => http.url.port,
            Request::Dns(dns) => dns.port,
        }
    }

    /// Is something asked on a connection, so that the far kernel acknowledges it?
    pub const fn is_asked_on_stream(&self) -> bool {
        match self {
            Request::Connect { .. } => false,
            Request::Http(_) => true,
            Request::Dns(dns) => !matches!(dns.transport, DnsTransport::Udp),
        }
    }
}

/// For people: `GET https://example.org/`, `example.org AAAA by udp`.
impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Request::Connect { port, .. } => write!(f, "a handshake with port {port}"),
            Request::Http(http) => {
                write!(f, "{} {}", http.verb, http.url)?;
                match http.version {
                    HttpVersion::Two => f.write_str(" by HTTP/2"),
                    HttpVersion::One | HttpVersion::Best => Ok(()),
                }
            }
            Request::Dns(dns) => write!(f, "{} by {}", dns.question, dns.transport),
        }
    }
}

/// How a connection is ended by who made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Close {
    /// In order. Its port rests for a minute here (TIME-WAIT), which limits how many can be made.
    #[default]
    Fin,
    /// At once, as a port scanner does. Servers may report it.
    Rst,
}

/// A request of HTTP without a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// What is asked for, and whether by TLS. Redirects are not followed.
    pub url: Url,
    /// How.
    pub verb: Verb,
    /// Which HTTP.
    pub version: HttpVersion,
    /// Is each request made on a connection of its own? Otherwise connections are kept, and one more is made where a
    /// request is due while all of them wait.
    pub fresh: bool,
    /// Is the name of its host looked up for each connection? Otherwise all of them go where the first one went.
    pub resolves: bool,
    /// https: whose certificates are believed.
    pub trust: Trust,
    /// Fields of its head besides those that every request has.
    pub headers: Vec<Header>,
}

/// A field of a request's head (RFC 9110 §5), as in `Accept-Encoding: gzip`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// Why a text is no [`Header`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// It cannot be read.
    #[error("`{0}` is no field of a request: write it like `Accept-Encoding: gzip`")]
    Malformed(String),
    /// Every request has it already, or it would say that more comes.
    #[error("`{0}` follows from the URL and the other options")]
    Taken(String),
}

impl Header {
    /// Is it of one connection, so that HTTP/2 cannot have it (RFC 9113 §8.2.2)?
    pub fn is_of_a_connection(&self) -> bool {
        match self.name.as_str() {
            "keep-alive" | "proxy-connection" => true,
            "te" => !self.value.eq_ignore_ascii_case("trailers"),
            _ => false,
        }
    }
}

impl FromStr for Header {
    type Err = HeaderError;

    fn from_str(text: &str) -> Result<Self, HeaderError> {
        const TAKEN: [&str; 5] = [
            "Host",
            "Connection",
            "Content-Length",
            "Transfer-Encoding",
            "Upgrade",
        ];
        let malformed = || HeaderError::Malformed(text.to_owned());
        let (name, value) = text.split_once(':').ok_or_else(malformed)?;
        let name = http::HeaderName::from_str(name).map_err(|_| malformed())?;
        let value = http::HeaderValue::from_str(value.trim()).map_err(|_| malformed())?;
        let value = value.to_str().map_err(|_| malformed())?.to_owned();
        if let Some(taken) = TAKEN.into_iter().find(|taken| name == *taken) {
            return Err(HeaderError::Taken(taken.to_owned()));
        }
        Ok(Self {
            name: name.to_string(),
            value,
        })
    }
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.value)
    }
}

/// Which HTTP a server is asked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum HttpVersion {
    /// HTTP/1.1 (RFC 9112).
    #[serde(rename = "1.1")]
    One,
    /// HTTP/2 (RFC 9113); without TLS with prior knowledge.
    #[serde(rename = "2")]
    Two,
    /// What the server chooses of both, by TLS (ALPN, RFC 7301).
    #[serde(rename = "best")]
    Best,
}

impl HttpVersion {
    /// Where nobody says: by TLS the server chooses, as browsers let it; otherwise nothing can be chosen.
    pub const fn usual(tls: bool) -> Self {
        if tls { Self::Best } else { Self::One }
    }

    /// The protocols that are offered by TLS, the best first (RFC 7301, RFC 9113 §3.2).
    pub const fn offers(self) -> &'static [&'static [u8]] {
        match self {
            HttpVersion::One => &[b"http/1.1"],
            HttpVersion::Two => &[b"h2"],
            HttpVersion::Best => &[b"h2", b"http/1.1"],
        }
    }
}

/// The method of a request (RFC 9110 §9.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verb {
    /// The whole of it.
    #[default]
    Get,
    /// Its head alone.
    Head,
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verb::Get => "GET",
            Verb::Head => "HEAD",
        })
    }
}

/// Whose certificates are believed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Trust {
    /// Those of the authorities that this host trusts.
    #[default]
    System,
    /// Those of the authorities in this PEM file.
    File(String),
    /// Anyone's: encrypted, with nobody knows whom.
    Anyone,
}

/// An `http` or `https` URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// By TLS?
    pub tls: bool,
    /// Name or address, without brackets.
    pub host: String,
    /// The port, the usual one where none is written.
    pub port: u16,
    /// Path and query, as the request line has them.
    pub path: String,
}

/// Why a text is no [`Url`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// It cannot be read.
    #[error("`{url}` is no URL: {why}. Write it like https://example.org/page")]
    Malformed {
        /// The text.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// Another scheme.
    #[error("`{0}` is neither http:// nor https://")]
    Scheme(String),
    /// A password in it.
    #[error(
        "`{0}` has a user name or a password in it, which would stand in every file of the run: leave it out"
    )]
    UserInfo(String),
}

impl Url {
    /// Host and port as the `Host` field has them: the usual port is left out (RFC 9110 §7.2).
    pub fn authority(&self) -> String {
        let host = self.bracketed();
        match self.port == Self::usual_port(self.tls) {
            true => host,
            false => format!("{host}:{}", self.port),
        }
    }

    const fn usual_port(tls: bool) -> u16 {
        if tls { 443 } else { 80 }
    }

    fn bracketed(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]", self.host),
            false => self.host.clone(),
        }
    }
}

impl FromStr for Url {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        let malformed = |why: &str| UrlError::Malformed {
            url: text.to_owned(),
            why: why.to_owned(),
        };
        if !text.contains("://") {
            return Err(UrlError::Scheme(text.to_owned()));
        }
        let uri: http::Uri = text
            .parse()
            .map_err(|error: http::uri::InvalidUri| malformed(&error.to_string()))?;
        let tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(UrlError::Scheme(text.to_owned())),
        };
        let authority = uri.authority().ok_or_else(|| malformed("no host"))?;
        if authority.as_str().contains('@') {
            return Err(UrlError::UserInfo(text.to_owned()));
        }
        let host = authority.host();
        let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
        if bare.is_some_and(|bare| bare.parse::<Ipv6Addr>().is_err()) {
            return Err(malformed("in brackets stands an IPv6 address"));
        }
        let host_text = bare.unwrap_or(host).to_ascii_lowercase();
        if host_text.is_empty() {
            return Err(malformed("no host"));
        }
        if bare.is_none() && host_text.contains(['[', ']', ':', '%']) {
            return Err(malformed("its host is no name"));
        }
        let host = host_text;
        let has_port = authority.as_str().len() > authority.host().len();
        let port = match authority.port_u16() {
            Some(0) => return Err(malformed("port 0 is no port")),
            Some(port) => port,
            None if has_port => return Err(malformed("its port is no number up to 65535")),
            None => Self::usual_port(tls),
        };
        let path = uri
            .path_and_query()
            .map_or("/", http::uri::PathAndQuery::as_str);
        Ok(Self {
            tls,
            host,
            port,
            path: if path.starts_with('/') {
                path.to_owned()
            } else {
                format!("/{path}")
            },
        })
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority(), self.path)
    }
}

/// A question to a name server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DnsRequest {
    /// The name and the type asked for.
    pub question: Question,
    /// What carries it.
    pub transport: DnsTransport,
    /// By TCP: is each question asked on a connection of its own?
    pub fresh: bool,
    /// The port of the server.
    pub port: u16,
    /// tls: the name or address that its certificate is to have; `None`: the address that is asked.
    pub tls_name: Option<String>,
    /// tls: whose certificates are believed.
    pub trust: Trust,
}

/// What carries a question (RFC 1035 §4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DnsTransport {
    /// A packet each way: network and server cannot be separated.
    #[default]
    Udp,
    /// A connection, kept (RFC 7766) or of its own for each question.
    Tcp,
    /// The same by TLS (RFC 7858).
    Tls,
}

impl DnsTransport {
    crate::named! {
        Udp "udp";
        Tcp "tcp";
        Tls "tls";
    }

    /// The usual port of name servers (RFC 1035 §4.2, RFC 7858 §3.1).
    pub const fn usual_port(self) -> u16 {
        match self {
            DnsTransport::Udp | DnsTransport::Tcp => 53,
            DnsTransport::Tls => 853,
        }
    }
}

impl fmt::Display for DnsTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name and the type of record asked for: `example.org AAAA`. In `*.example.org` the first label is another one in each
/// question, so that no cache knows the name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The name, without the dot at its end; empty is the root.
    pub name: String,
    /// The type's number.
    pub kind: u16,
}

/// The types that can be asked for.
const TYPES: [(&str, u16); 12] = [
    ("A", 1),
    ("NS", 2),
    ("CNAME", 5),
    ("SOA", 6),
    ("PTR", 12),
    ("MX", 15),
    ("TXT", 16),
    ("AAAA", 28),
    ("SRV", 33),
    ("DS", 43),
    ("DNSKEY", 48),
    ("HTTPS", 65),
];

/// The most bytes of a name (RFC 1035 §2.3.4).
const LONGEST_NAME: usize = 253;
/// Those that a label has which is another one in each question.
const DIGITS: usize = 16;

/// Why a text is no [`Question`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QuestionError {
    /// The type is not known.
    #[error(
        "`{0}` is no type of record that can be asked for: A, AAAA, CNAME, DNSKEY, DS, HTTPS, MX, NS, PTR, SOA, SRV or TXT"
    )]
    Type(String),
    /// The name cannot be asked for.
    #[error("`{name}` is no name that can be asked for: {why}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
}

impl Question {
    fn checked(name: &str, kind: u16) -> Result<Self, QuestionError> {
        let wrong = |why| QuestionError::Name {
            name: name.to_owned(),
            why,
        };
        let name = name.strip_suffix('.').unwrap_or(name);
        if !name.is_ascii() {
            return Err(wrong("write names of other alphabets as xn--… (RFC 5890)"));
        }
        if name.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
            return Err(wrong("it has a space in it"));
        }
        let labels = || name.split('.').filter(|_| !name.is_empty());
        if labels().any(str::is_empty) {
            return Err(wrong("two dots in a row"));
        }
        if labels().any(|label| label.len() > 63) {
            return Err(wrong("a label has at most 63 bytes (RFC 1035 §2.3.4)"));
        }
        if name.len() > LONGEST_NAME {
            return Err(wrong("a name has at most 253 bytes (RFC 1035 §2.3.4)"));
        }
        if name.starts_with("*.") && name.len() - 1 + DIGITS > LONGEST_NAME {
            return Err(wrong(
                "`*` becomes 16 digits, and a name has at most 253 bytes with them (RFC 1035 §2.3.4)",
            ));
        }
        Ok(Self {
            name: name.to_owned(),
            kind,
        })
    }

    /// The question of this number: where the name begins with `*`, each has a label of its own, 16 digits long.
    pub fn numbered(&self, number: u64) -> Cow<'_, Self> {
        match self.name.strip_prefix("*.") {
            None => Cow::Borrowed(self),
            Some(rest) => Cow::Owned(Self {
                name: format!("{number:0DIGITS$x}.{rest}"),
                kind: self.kind,
            }),
        }
    }

    /// The types that can be asked for, by number.
    pub fn kinds() -> impl Iterator<Item = u16> {
        TYPES.into_iter().map(|(_, kind)| kind)
    }

    fn kind_of(text: &str) -> Option<u16> {
        let known = TYPES
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(text));
        known.map(|(_, kind)| *kind)
    }
}

impl Question {
    /// Does it ask the same? Upper and lower case of a name are (RFC 4343).
    pub fn is_same(&self, other: &Self) -> bool {
        self.kind == other.kind && self.name.eq_ignore_ascii_case(&other.name)
    }
}

impl FromStr for Question {
    type Err = QuestionError;

    /// A name alone asks for `A`.
    fn from_str(text: &str) -> Result<Self, QuestionError> {
        let text = text.trim();
        match text.rsplit_once(char::is_whitespace) {
            None => Self::checked(text, 1),
            Some((name, kind)) => {
                let number = Self::kind_of(kind);
                let number = number.ok_or_else(|| QuestionError::Type(kind.to_owned()))?;
                Self::checked(name.trim_end(), number)
            }
        }
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.name.is_empty() {
            "."
        } else {
            &self.name
        };
        match TYPES.iter().find(|(_, kind)| *kind == self.kind) {
            Some((kind, _)) => write!(f, "{name} {kind}"),
            None => write!(f, "{name} type {}", self.kind),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn url(text: &str) -> Url {
        text.parse().unwrap()
    }

    #[test]
    fn a_url_is_read_with_what_it_leaves_out() {
        for (text, written, port) in [
            ("http://Example.org", "http://example.org/", 80),
            (
                "https://example.org:443/a?b=c",
                "https://example.org/a?b=c",
                443,
            ),
            ("https://[::1]:8443/", "https://[::1]:8443/", 8443),
            ("http://10.0.0.1?x", "http://10.0.0.1/?x", 80),
        ] {
            let read = url(text);
            assert_eq!((read.to_string().as_str(), read.port), (written, port));
            assert_eq!(url(written), read);
        }
        assert_eq!(url("https://[::1]/").host, "::1");
        assert_eq!(url("http://a:8080/").authority(), "a:8080");
    }

    #[test]
    fn what_is_no_url_is_said() {
        for (text, said) in [
            ("ftp://a/", "neither"),
            ("example.org/", "neither"),
            ("http://", "no URL"),
            ("http://a:0/", "port 0"),
            ("http://a:99999/", "port"),
            ("http://me:secret@a/", "password"),
            ("http://a b/", "no URL"),
        ] {
            let error = text.parse::<Url>().unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn a_star_is_another_label_in_each_question() {
        let question: Question = "*.example.org".parse().unwrap();
        assert_eq!(
            question.numbered(0x2a).to_string(),
            "000000000000002a.example.org A"
        );
        let other: Question = "a.*.org".parse().unwrap();
        assert_eq!(*other.numbered(1), other);
        let longest = format!("*{}", [".", &"x".repeat(46)].concat().repeat(5) + ".y");
        let question: Question = longest.parse().unwrap();
        assert_eq!(question.numbered(u64::MAX).name.len(), LONGEST_NAME);
        assert!(format!("{longest}y").parse::<Question>().is_err());
    }

    #[test]
    fn a_header_is_read_and_what_is_none_is_said() {
        let header: Header = "Accept-Encoding:  gzip ".parse().unwrap();
        assert_eq!(header.to_string(), "accept-encoding: gzip");
        for wrong in [
            "gzip",
            "a b: c",
            "X: a\r\nHost: b",
            ": x",
            "host: example.org",
            "connection: close",
        ] {
            assert!(wrong.parse::<Header>().is_err(), "{wrong}");
        }
        for (text, of_a_connection) in [
            ("keep-alive: timeout=5", true),
            ("Proxy-Connection: x", true),
            ("TE: gzip", true),
            ("TE: Trailers", false),
            ("Accept: */*", false),
        ] {
            let header: Header = text.parse().unwrap();
            assert_eq!(header.is_of_a_connection(), of_a_connection, "{text}");
        }
    }

    #[test]
    fn a_question_is_read_back_as_it_is_written() {
        for (text, written) in [
            ("example.org", "example.org A"),
            ("example.org. aaaa", "example.org AAAA"),
            (". NS", ". NS"),
        ] {
            let question: Question = text.parse().unwrap();
            assert_eq!(question.to_string(), written);
            assert_eq!(written.parse(), Ok(question));
        }
        let long = format!("{}.org", "x".repeat(64));
        for wrong in ["a..b", "a NOTYPE", "bücher.de", "a b c A", &long] {
            assert!(wrong.parse::<Question>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,60}") {
            let _ = text.parse::<Url>();
            let _ = format!("http://{text}").parse::<Url>();
            let _ = text.parse::<Question>();
        }
    }
}
