//! What is said on a connection: the bytes of a request, and where its reply ends. No input or output.

use crate::prober::dns::first_number;
use delaylab_model::record::Answer;
use delaylab_model::request::{DnsRequest, HttpRequest, Question, Request, Verb};
use delaylab_wire::{dns, http};

/// What is said on every connection of a probe.
#[derive(Debug, Clone)]
pub(super) enum Dialogue {
    /// Nothing: that there is a connection is the answer.
    Connect,
    Http {
        request: Vec<u8>,
        head_only: bool,
    },
    Dns {
        question: Question,
        /// Of the first one, where each has a name of its own.
        first: u64,
    },
}

/// Reads one reply.
#[derive(Debug)]
pub(super) enum Reading {
    Http(http::Reader),
    Dns {
        asked: Question,
        id: u16,
        kept: Vec<u8>,
    },
}

/// A reply that has come whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Said {
    pub answer: Answer,
    pub bytes: u64,
    /// May another request follow on the connection?
    pub reusable: bool,
}

/// What came is no reply, in words for people.
pub(super) type Broken = String;

impl Dialogue {
    pub fn new(request: &Request) -> Self {
        match request {
            Request::Connect { .. } => Dialogue::Connect,
            Request::Http(request) => Self::http(request),
            Request::Dns(DnsRequest { question, .. }) => Dialogue::Dns {
                question: question.clone(),
                first: first_number(),
            },
        }
    }

    fn http(request: &HttpRequest) -> Self {
        let url = &request.url;
        let verb = request.verb.to_string();
        Dialogue::Http {
            request: http::request(
                &verb,
                &url.path,
                &url.authority(),
                &request.headers,
                request.fresh,
            ),
            head_only: request.verb == Verb::Head,
        }
    }

    /// The bytes of request `seq`.
    pub fn request(&self, seq: u64) -> Vec<u8> {
        match self {
            Dialogue::Connect => Vec::new(),
            Dialogue::Http { request, .. } => request.clone(),
            // A name that was read has a form on the wire.
            Dialogue::Dns { question, first } => {
                let asked = question.numbered(first.wrapping_add(seq));
                dns::framed(&dns::question(&asked, seq as u16).unwrap_or_default())
            }
        }
    }

    /// Reads the reply to it.
    pub fn reading(&self, seq: u64) -> Option<Reading> {
        Some(match self {
            Dialogue::Connect => return None,
            Dialogue::Http { head_only, .. } => Reading::Http(http::Reader::new(*head_only)),
            Dialogue::Dns { question, first } => Reading::Dns {
                asked: question.numbered(first.wrapping_add(seq)).into_owned(),
                id: seq as u16,
                kept: Vec::new(),
            },
        })
    }
}

impl Reading {
    /// Takes what came; `Some` once the reply is whole.
    pub fn take(&mut self, bytes: &[u8]) -> Result<Option<Said>, Broken> {
        match self {
            Reading::Http(reader) => {
                let whole = reader.take(bytes).map_err(|error| error.to_string())?;
                Ok(whole.map(said))
            }
            Reading::Dns { asked, id, kept } => {
                kept.extend_from_slice(bytes);
                let Some((length, message)) = kept.split_first_chunk::<{ dns::LENGTH }>() else {
                    return Ok(None);
                };
                let length = usize::from(u16::from_be_bytes(*length));
                let Some(message) = message.get(..length) else {
                    return Ok(None);
                };
                let answered = dns::answer(message, asked).filter(|answered| answered.id == *id);
                let answered = answered.ok_or("what came is no answer to the question")?;
                Ok(Some(Said {
                    answer: Answer::Code(answered.code),
                    bytes: kept.len() as u64,
                    reusable: kept.len() == dns::LENGTH + length,
                }))
            }
        }
    }

    /// The peer has closed the connection.
    pub fn closed(&mut self) -> Result<Said, Broken> {
        match self {
            Reading::Http(reader) => {
                reader
                    .closed()
                    .map(said)
                    .map_err(|error| match reader.has_begun() {
                        true => error.to_string(),
                        false => "the server closed the connection without a reply".to_owned(),
                    })
            }
            Reading::Dns { .. } => {
                Err("the server closed the connection without an answer".to_owned())
            }
        }
    }
}

fn said(whole: http::Whole) -> Said {
    Said {
        answer: Answer::Status(whole.status),
        bytes: whole.bytes,
        reusable: whole.reusable,
    }
}
