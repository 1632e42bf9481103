//! What probes and servers say to each other, in bytes: requests and replies of delaylab's own server, and what HTTP/2 and
//! TLS put around them. Headers of TCP, UDP and IP are not counted.

use delaylab_model::path::server::page_size;
use delaylab_model::request::{DnsRequest, DnsTransport, HttpRequest, HttpVersion, Request, Verb};
use delaylab_model::trial::Negotiated;
use delaylab_wire::http2::frame::{HEADER, MOST_PAYLOAD};
use delaylab_wire::http2::head;
use delaylab_wire::http2::session::Session;
use delaylab_wire::{dns, http};
use std::net::Ipv4Addr;

/// What TLS 1.3 adds to a record: header, type and authentication tag (RFC 8446 §5.2).
const SEAL: u64 = 5 + 1 + 16;
/// Bytes of a record before they are sealed, at most.
const RECORD: u64 = 1 << 14;

/// The records of a handshake of TLS 1.3, as in the example of RFC 8448 §3: what the client says first,
pub(super) const HELLO: u64 = 201;
/// what the server answers, its certificate in it,
pub(super) const FLIGHT: u64 = 95 + 679;
/// and the client's last.
pub(super) const FINISHED: u64 = 58;

/// What one request takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RequestBytes {
    /// Bytes of the request.
    pub(super) request: u32,
    /// What the server says for itself on a new connection, before its reply.
    pub(super) before: u32,
    /// Bytes of the reply.
    pub(super) reply: u32,
    /// The same without TLS around it.
    pub(super) plain: u32,
}

impl RequestBytes {
    /// Of this request: on a new connection where each has one, else on one that is there.
    pub(super) fn from_request(request: &Request) -> Self {
        let (asked, before, reply) = match request {
            // A handshake says nothing.
            Request::Connect { .. } => (0, 0, 0),
            Request::Http(asked) if is_http2(asked) => http2(asked),
            Request::Http(asked) => http1(asked),
            Request::Dns(asked) => names(asked),
        };
        let whole = |bytes: u64| match is_by_tls(request) {
            true => sealed(bytes),
            false => bytes,
        };
        let bytes = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
        Self {
            request: bytes(whole(asked)),
            before: bytes(whole(before)),
            reply: bytes(whole(reply)),
            plain: bytes(reply),
        }
    }
}

/// The length of this many bytes in records.
const fn sealed(bytes: u64) -> u64 {
    bytes + SEAL * bytes.div_ceil(RECORD)
}

/// Is it asked by TLS?
pub(super) const fn is_by_tls(request: &Request) -> bool {
    match request {
        Request::Connect { .. } => false,
        Request::Http(asked) => asked.url.tls,
        Request::Dns(asked) => matches!(asked.transport, DnsTransport::Tls),
    }
}

/// Is each request on a connection of its own?
pub(super) const fn is_fresh(request: &Request) -> bool {
    match request {
        Request::Connect { .. } => true,
        Request::Http(asked) => asked.fresh,
        Request::Dns(asked) => asked.fresh,
    }
}

/// A server that may choose chooses HTTP/2.
fn is_http2(asked: &HttpRequest) -> bool {
    match asked.version {
        HttpVersion::One => false,
        HttpVersion::Two => true,
        HttpVersion::Best => asked.url.tls,
    }
}

/// What connections for this request come to.
pub(crate) fn negotiated(request: &Request) -> Option<Negotiated> {
    let http = match request {
        Request::Http(asked) if is_http2(asked) => Some("2"),
        Request::Http(_) => Some("1.1"),
        _ => None,
    };
    let tls = is_by_tls(request);
    let alpn = http.filter(|_| tls).map(|version| match version {
        "2" => "h2",
        _ => "http/1.1",
    });
    (http.is_some() || tls).then(|| Negotiated {
        http: http.map(str::to_owned),
        tls: tls.then(|| "1.3".to_owned()),
        cipher: None,
        alpn: alpn.map(str::to_owned),
    })
}

/// The request, what comes before its reply, and the reply.
type Bytes = (u64, u64, u64);

fn http1(asked: &HttpRequest) -> Bytes {
    let url = &asked.url;
    let request = http::request(
        &asked.verb.to_string(),
        &url.path,
        &url.authority(),
        &asked.headers,
        asked.fresh,
    );
    let head = |body| http::reply_head(body, !asked.fresh, 0).len() as u64;
    let body = page_size(&url.path);
    let reply = match asked.verb {
        Verb::Get => head(body) + body,
        Verb::Head => head(body),
    };
    (request.len() as u64, 0, reply)
}

fn http2(asked: &HttpRequest) -> Bytes {
    let (url, verb) = (&asked.url, asked.verb.to_string());
    let head = head::request(&verb, url.tls, &url.path, &url.authority(), &asked.headers);
    let mut session = Session::new(head);
    // The first request on a connection goes with what this side says of itself.
    let [first, later] = [(); 2].map(|()| session.ask().len() as u64);
    let body = page_size(&url.path);
    let reply = match asked.verb {
        Verb::Get => frames(http2_head(body)) + frames(body),
        Verb::Head => frames(http2_head(body)),
    };
    match asked.fresh {
        // SETTINGS without any, and that ours have been seen.
        true => (first, 2 * HEADER as u64, reply),
        false => (later, 0, reply),
    }
}

/// The length of this many bytes in frames of HTTP/2.
const fn frames(bytes: u64) -> u64 {
    bytes + HEADER as u64 * bytes.div_ceil(MOST_PAYLOAD as u64)
}

/// A reply's head with the fields of HTTP/1.1's (RFC 7541): a status of the table, names of it with their values, and
/// `server-timing`, which is in no table.
fn http2_head(body: u64) -> u64 {
    let value = |name: u64, value: &str| name + 1 + value.len() as u64;
    let timing = 1 + 1 + "server-timing".len() as u64;
    1 + value(2, "delaylab")
        + value(timing, "all;dur=000000.000000")
        + value(2, "text/plain")
        + value(2, &body.to_string())
}

fn names(asked: &DnsRequest) -> Bytes {
    // A label of its own is as long in each.
    let question = dns::question(&asked.question.numbered(0), 0).unwrap_or_default();
    let reply = dns::reply(&question, Ipv4Addr::UNSPECIFIED, 0, 0).unwrap_or_default();
    let length = match asked.transport {
        DnsTransport::Udp => 0,
        DnsTransport::Tcp | DnsTransport::Tls => dns::LENGTH,
    };
    let bytes = |message: Vec<u8>| (message.len() + length) as u64;
    (bytes(question), 0, bytes(reply))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_model::request::Trust;

    fn page(url: &str, version: HttpVersion, fresh: bool) -> Request {
        Request::Http(HttpRequest {
            url: url.parse().unwrap(),
            verb: Verb::Get,
            version,
            fresh,
            resolves: false,
            trust: Trust::System,
            headers: Vec::new(),
        })
    }

    #[test]
    fn tls_adds_a_seal_to_each_record() {
        assert_eq!(sealed(0), 0);
        assert_eq!(sealed(RECORD), RECORD + SEAL);
        assert_eq!(sealed(RECORD + 1), RECORD + 1 + 2 * SEAL);
        let plain = RequestBytes::from_request(&page("http://web/1KiB", HttpVersion::One, true));
        let by_tls = RequestBytes::from_request(&page("https://web/1KiB", HttpVersion::One, true));
        assert_eq!(by_tls.request, plain.request + SEAL as u32);
        assert_eq!(by_tls.reply, plain.reply + SEAL as u32);
        assert_eq!((by_tls.plain, plain.plain), (plain.reply, plain.reply));
    }

    /// HTTP/2 says SETTINGS on a new connection, and heads are shorter than HTTP/1.1's.
    #[test]
    fn http2_has_frames_and_a_preface() {
        let [kept, fresh] = [false, true].map(|fresh| {
            RequestBytes::from_request(&page("http://web/20KiB", HttpVersion::Two, fresh))
        });
        assert!(fresh.request > kept.request + 24, "{fresh:?} {kept:?}");
        assert_eq!((kept.before, fresh.before), (0, 18));
        let frames = u64::from(kept.reply) - (20 << 10);
        assert!((40..150).contains(&frames), "{frames}");
        let one = RequestBytes::from_request(&page("http://web/20KiB", HttpVersion::One, false));
        assert!(kept.reply < one.reply);
    }

    #[test]
    fn a_server_that_may_choose_chooses_http_2() {
        let said = |url, version| negotiated(&page(url, version, true)).unwrap().to_string();
        assert_eq!(said("http://web/", HttpVersion::One), "HTTP/1.1");
        assert_eq!(
            said("https://web/", HttpVersion::Best),
            "HTTP/2, TLS 1.3, ALPN h2"
        );
        assert_eq!(
            said("https://web/", HttpVersion::One),
            "HTTP/1.1, TLS 1.3, ALPN http/1.1"
        );
    }
}
