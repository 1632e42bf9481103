//! What is said on a connection: the bytes of a request, and where its reply ends. No input or output.
//!
//! A [`Dialogue`] is what every connection of a probe has in common, a [`Conversation`] what is said on one of them.

use crate::prober::dns::{first_number, said as dns_answer};
use delaylab_model::Nanos;
use delaylab_model::record::Answer;
use delaylab_model::request::{DnsRequest, HttpRequest, HttpVersion, Question, Request, Verb};
use delaylab_wire::http2::{Http2Error, head, session::Session};
use delaylab_wire::{dns, http};
use std::net::IpAddr;

/// What is said on every connection of a probe.
#[derive(Debug, Clone)]
pub(super) enum Dialogue {
    /// Nothing: that there is a connection is the answer.
    Connect,
    Http(HttpRequest),
    Dns {
        question: Question,
        /// Of the first one, where each has a name of its own.
        first: u64,
    },
}

/// What is said on one connection.
#[derive(Debug)]
pub(super) struct Conversation {
    protocol: Protocol,
    /// Has the reply that is waited for begun, and when did its first byte come?
    begun: bool,
    first: Option<Nanos>,
}

#[derive(Debug)]
enum Protocol {
    /// Nothing.
    Silent,
    Http1 {
        request: Vec<u8>,
        head_only: bool,
        reader: http::Reader,
    },
    Http2(Box<Session>),
    Dns {
        /// What every question is made of, and the number of the first.
        question: Question,
        first: u64,
        /// The one that was asked last.
        asked: Question,
        id: u16,
        kept: Vec<u8>,
    },
}

/// A reply that has come whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WholeReply {
    pub answer: Answer,
    pub bytes: u64,
    /// dns: how long the answer may be kept, in seconds, and the addresses in it.
    pub ttl: Option<u32>,
    pub addresses: Vec<IpAddr>,
    /// What the server says that it took.
    pub says: Option<Nanos>,
    /// May another request follow on the connection?
    pub reusable: bool,
}

/// There is no reply, and why, in words for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Broken {
    /// What came is none.
    Garbled(String),
    /// The server has refused to give one.
    Refused(String),
}

impl Broken {
    fn garbled(why: impl ToString) -> Self {
        Broken::Garbled(why.to_string())
    }
}

impl From<Http2Error> for Broken {
    fn from(error: Http2Error) -> Self {
        match error.is_refusal() {
            true => Broken::Refused(error.to_string()),
            false => Broken::Garbled(error.to_string()),
        }
    }
}

impl Dialogue {
    pub fn new(request: &Request) -> Self {
        match request {
            Request::Connect { .. } => Dialogue::Connect,
            Request::Http(request) => Dialogue::Http(request.clone()),
            Request::Dns(DnsRequest { question, .. }) => Dialogue::Dns {
                question: question.clone(),
                first: first_number(),
            },
        }
    }

    /// On a connection of which TLS has chosen this protocol (ALPN), where there is TLS and it chose.
    ///
    /// # Errors
    /// It is not the one that was asked for.
    pub fn begin(&self, chosen: Option<&[u8]>) -> Result<Conversation, Broken> {
        let protocol = match self {
            Dialogue::Connect => Protocol::Silent,
            Dialogue::Http(request) => match version(request, chosen)? {
                HttpVersion::Two => http2(request),
                HttpVersion::One | HttpVersion::Best => http1(request),
            },
            Dialogue::Dns { question, first } => Protocol::Dns {
                question: question.clone(),
                first: *first,
                asked: question.clone(),
                id: 0,
                kept: Vec::new(),
            },
        };
        Ok(Conversation::new(protocol))
    }
}

/// The version that is spoken.
fn version(request: &HttpRequest, chosen: Option<&[u8]>) -> Result<HttpVersion, Broken> {
    match (request.version, chosen) {
        (HttpVersion::Best, Some(b"h2")) => Ok(HttpVersion::Two),
        (HttpVersion::Two, chosen) if request.url.tls && chosen != Some(b"h2") => Err(
            Broken::garbled("the server does not choose HTTP/2 (by ALPN): ask with --http 1.1"),
        ),
        (version, _) => Ok(version),
    }
}

fn http1(request: &HttpRequest) -> Protocol {
    let url = &request.url;
    let verb = request.verb.to_string();
    let head_only = request.verb == Verb::Head;
    Protocol::Http1 {
        request: http::request(
            &verb,
            &url.path,
            &url.authority(),
            &request.headers,
            request.fresh,
        ),
        head_only,
        reader: http::Reader::new(head_only),
    }
}

fn http2(request: &HttpRequest) -> Protocol {
    let url = &request.url;
    let verb = request.verb.to_string();
    let head = head::request(
        &verb,
        url.tls,
        &url.path,
        &url.authority(),
        &request.headers,
    );
    Protocol::Http2(Box::new(Session::new(head)))
}

impl Conversation {
    const fn new(protocol: Protocol) -> Self {
        Self {
            protocol,
            begun: false,
            first: None,
        }
    }

    /// Before anything can be said.
    pub const fn silent() -> Self {
        Self::new(Protocol::Silent)
    }

    /// The bytes of request `seq`, whose reply is read from here on.
    pub fn request(&mut self, seq: u64) -> Vec<u8> {
        (self.begun, self.first) = (false, None);
        match &mut self.protocol {
            Protocol::Silent => Vec::new(),
            Protocol::Http1 {
                request,
                head_only,
                reader,
            } => {
                *reader = http::Reader::new(*head_only);
                request.clone()
            }
            Protocol::Http2(session) => session.ask(),
            Protocol::Dns {
                question,
                first,
                asked,
                id,
                kept,
            } => {
                *id = seq as u16;
                *asked = question.numbered(first.wrapping_add(seq)).into_owned();
                kept.clear();
                // A name that was read has a form on the wire.
                dns::framed(&dns::question(asked, *id).unwrap_or_default())
            }
        }
    }

    /// Takes what came at this time; `Some` once the reply is whole.
    pub fn take(&mut self, bytes: &[u8], at: Option<Nanos>) -> Result<Option<WholeReply>, Broken> {
        if let Protocol::Http2(session) = &mut self.protocol {
            let whole = session.take(bytes, at);
            (self.begun, self.first) = (session.has_begun(), session.first());
            return Ok(whole?.map(said));
        }
        if !self.begun {
            (self.begun, self.first) = (true, at);
        }
        match &mut self.protocol {
            Protocol::Http1 { reader, .. } => {
                let interim = reader.interim();
                let whole = reader.take(bytes).map_err(Broken::garbled)?;
                if reader.interim() > interim {
                    // The reply begins behind an interim one: in this piece, or later.
                    self.begun = reader.has_begun();
                    self.first = at.filter(|_| self.begun);
                }
                Ok(whole.map(said))
            }
            Protocol::Dns {
                asked, id, kept, ..
            } => {
                kept.extend_from_slice(bytes);
                answer(kept, asked, *id).map_err(Broken::garbled)
            }
            Protocol::Silent | Protocol::Http2(_) => Ok(None),
        }
    }

    /// Takes what came while nothing was asked. `false`: nothing more can be asked.
    pub fn take_unasked(&mut self, bytes: &[u8]) -> bool {
        match &mut self.protocol {
            Protocol::Http2(session) => session.take(bytes, None).is_ok() && session.is_open(),
            _ => bytes.is_empty(),
        }
    }

    /// What the server must be told, beside requests.
    pub fn unsent(&mut self) -> Vec<u8> {
        match &mut self.protocol {
            Protocol::Http2(session) => session.unsent(),
            _ => Vec::new(),
        }
    }

    /// The version of HTTP that is spoken.
    pub const fn http_version(&self) -> Option<&'static str> {
        match &self.protocol {
            Protocol::Http1 { .. } => Some("1.1"),
            Protocol::Http2(_) => Some("2"),
            Protocol::Silent | Protocol::Dns { .. } => None,
        }
    }

    /// Has the reply begun to come?
    pub const fn has_begun(&self) -> bool {
        self.begun
    }

    /// When the first byte of the reply came.
    pub const fn first(&self) -> Option<Nanos> {
        self.first
    }

    /// How much to read before the reply has begun, so that the stamp of what is read is that of its first byte.
    pub fn wants(&self) -> usize {
        match &self.protocol {
            Protocol::Http2(session) => session.wants(),
            _ => 1,
        }
    }

    /// The peer has closed the connection, by TLS in order or not.
    pub fn closed(&mut self, in_order: bool) -> Result<WholeReply, Broken> {
        const WITHOUT: &str = "the server closed the connection without a reply";
        let begun = self.begun;
        match &mut self.protocol {
            Protocol::Http1 { reader, .. } => {
                let whole = reader.closed(in_order).map(said);
                whole.map_err(|error| match begun {
                    true => Broken::garbled(error),
                    false => Broken::Refused(WITHOUT.to_owned()),
                })
            }
            Protocol::Http2(session) => Err(match session.closed() {
                Http2Error::Cut if !begun => Broken::Refused(WITHOUT.to_owned()),
                error => error.into(),
            }),
            Protocol::Dns { .. } => {
                let why = "the server closed the connection without an answer".to_owned();
                Err(match begun {
                    true => Broken::Garbled(why),
                    false => Broken::Refused(why),
                })
            }
            Protocol::Silent => Err(Broken::Refused(
                "the server closed the connection".to_owned(),
            )),
        }
    }
}

/// The answer to a question, with its length in front (RFC 1035 §4.2.2).
fn answer(kept: &[u8], asked: &Question, id: u16) -> Result<Option<WholeReply>, &'static str> {
    let Some((length, message)) = kept.split_first_chunk::<{ dns::LENGTH }>() else {
        return Ok(None);
    };
    let length = usize::from(u16::from_be_bytes(*length));
    let Some(message) = message.get(..length) else {
        return Ok(None);
    };
    let answered = dns::answer(message, asked).filter(|answered| answered.id == id);
    let answered = answered.ok_or("what came is no answer to the question")?;
    Ok(Some(WholeReply {
        answer: dns_answer(&answered),
        bytes: kept.len() as u64,
        ttl: answered.ttl,
        addresses: answered.addresses,
        says: answered.says,
        reusable: kept.len() == dns::LENGTH + length,
    }))
}

fn said(whole: http::Whole) -> WholeReply {
    WholeReply {
        answer: Answer::Status(whole.status),
        bytes: whole.bytes,
        ttl: None,
        addresses: Vec::new(),
        says: whole.says,
        reusable: whole.reusable,
    }
}
