//! Questions to a name server by UDP: a packet there, a packet back, and the server between them.

use super::datagram::{DatagramChannel, Format, FromReflector, Parsed};
use super::error::OpenError;
use super::exchange::exchange;
use super::open::{self, Settings};
use delaylab_kernel::clock;
use delaylab_kernel::datagram::DatagramSocket;
use delaylab_model::record::Answer;
use delaylab_model::request::{Question, Request};
use delaylab_model::words::plural;
use delaylab_model::{Nanos, SECOND};
use delaylab_traffic::prober::FromServer;
use delaylab_traffic::prober::sequence::widen;
use delaylab_wire::dns;
use std::borrow::Cow;
use std::io;
use std::net::IpAddr;

/// The longest message that a server may send all the same.
const LONGEST: usize = 4096;
/// A server that may have to ask others first is waited for so long before it is said that none answers.
const PATIENCE: [Nanos; 3] = [SECOND, 2 * SECOND, 4 * SECOND];

/// The number of the question that is asked before all others.
const FIRST: u64 = u16::MAX as u64;
/// The bytes of a label of its own.
const UNIQUE: usize = 16;

/// Maximum number of sets of addresses that are kept: a name has one, or a few that take turns.
const SETS: usize = 16;

/// The addresses that names have, once for all answers that have the same.
#[derive(Debug, Default)]
pub(super) struct Resolved(Vec<Vec<IpAddr>>);

impl Resolved {
    /// Takes those of an answer.
    pub fn note(&mut self, addresses: Vec<IpAddr>) {
        if !addresses.is_empty() && self.0.len() < SETS && !self.0.contains(&addresses) {
            self.0.push(addresses);
        }
    }

    /// All that were told.
    pub fn take(&mut self) -> Vec<Vec<IpAddr>> {
        std::mem::take(&mut self.0)
    }
}

/// Questions and answers.
#[derive(Debug)]
pub struct Dns {
    question: Question,
    /// Of the first one, where each has a name of its own.
    first: u64,
    resolved: Resolved,
    /// Packets that came and were no answers.
    rejected: u64,
    /// Answers of which a part was left out.
    truncated: u64,
}

impl Dns {
    fn new(question: &Question) -> Self {
        Self {
            question: question.clone(),
            first: first_number(),
            resolved: Resolved::default(),
            rejected: 0,
            truncated: 0,
        }
    }

    /// That one was asked again as its answer took long, and each of its copies is answered.
    fn answers_the_first(&self, packet: &[u8]) -> bool {
        let is_its_number = packet.first_chunk() == Some(&(FIRST as u16).to_be_bytes());
        is_its_number && dns::answer(packet, &self.asked(FIRST)).is_some()
    }

    fn asked(&self, seq: u64) -> Cow<'_, Question> {
        self.question.numbered(self.first.wrapping_add(seq))
    }
}

/// A number that names asked for earlier, by this program or another, did not have: a cache may still know them.
pub(crate) fn first_number() -> u64 {
    clock::monotonic().unsigned_abs()
}

/// What a name server answered, for the record.
pub(super) const fn said(answered: &dns::Answered) -> Answer {
    match answered.truncated {
        true => Answer::Truncated(answered.code),
        false => Answer::Code(answered.code),
    }
}

/// Opens a socket, and sees to it that something answers.
///
/// # Errors
/// Nothing answers, or not as a name server does.
pub fn open(settings: &Settings<'_>) -> Result<DatagramChannel<Dns>, OpenError> {
    let Some(Request::Dns(request)) = &settings.probe().request else {
        let reason = "which name? Write `question`, as in \"example.org AAAA\"";
        return Err(OpenError::setting("question", reason));
    };
    let format = Dns::new(&request.question);
    let socket = open::udp_socket(settings)?;
    let question = dns::question(&format.asked(FIRST), FIRST as u16).ok_or_else(|| {
        let reason = format!("`{}` cannot be asked for", format.question.name);
        OpenError::setting("question", reason)
    })?;
    let heard = listen(settings, &socket, &format, &question, &PATIENCE)?;
    if let Some(why) = heard.no_answer().filter(|_| !settings.stop.is_asked()) {
        return Err(OpenError::Server {
            target: settings.target,
            why,
        });
    }
    DatagramChannel::open(settings, socket, format, question)
}

/// What came after a question.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Heard {
    answered: bool,
    /// Packets that were no answer.
    rejected: u64,
}

impl Heard {
    /// Why there is no answer, where there is none.
    fn no_answer(self) -> Option<String> {
        let packets = match self.rejected {
            _ if self.answered => return None,
            0 => {
                return Some(
                    "no answer in 7 s. Is it a name server, does it serve this host, and does a firewall drop UDP to its port?"
                        .to_owned(),
                );
            }
            rejected => plural(rejected, "packet"),
        };
        Some(format!(
            "what came is no answer to the question ({packets} in 7 s): malformed, or to another question. Is it a name server?"
        ))
    }
}

/// Asks until something answers, or patience ends.
fn listen(
    settings: &Settings<'_>,
    socket: &DatagramSocket,
    format: &Dns,
    question: &[u8],
    patience: &[Nanos],
) -> Result<Heard, OpenError> {
    let mut buffer = vec![0; LONGEST];
    let mut heard = Heard::default();
    for &patience in patience {
        let told = exchange(socket, question, &mut buffer, patience, |packet| {
            let answered = dns::answer(packet, &format.asked(FIRST));
            heard.rejected += u64::from(answered.is_none());
            answered
        });
        let told = told.map_err(|source| no_server(settings, socket, source))?;
        heard.answered = told.is_some();
        if heard.answered || settings.stop.is_asked() {
            break;
        }
    }
    Ok(heard)
}

fn no_server(settings: &Settings<'_>, socket: &DatagramSocket, source: io::Error) -> OpenError {
    match open::no_exchange(settings, socket, source) {
        OpenError::NothingListens { target, .. } => OpenError::Server {
            target,
            why: "nothing listens on this UDP port. Is it a name server? Set another port with --port"
                .to_owned(),
        },
        error => error,
    }
}

impl Format for Dns {
    fn emit(&mut self, seq: u64, packet: &mut [u8]) {
        if let Some(id) = packet.first_chunk_mut() {
            *id = (seq as u16).to_be_bytes();
        }
        // The label of its own stands where the other's stood, and is as long.
        let asked = self.asked(seq);
        if let Cow::Owned(asked) = &asked
            && let Some(label) = packet.get_mut(dns::FIRST_LABEL..dns::FIRST_LABEL + UNIQUE)
        {
            label.copy_from_slice(&asked.name.as_bytes()[..UNIQUE]);
        }
    }

    fn parse(&mut self, packet: &[u8], _: &[u8], last: u64) -> Parsed {
        if last < FIRST && self.answers_the_first(packet) {
            return Parsed::Ignored;
        }
        let id = packet.first_chunk().map(|id| u16::from_be_bytes(*id));
        let Some(seq) = id.and_then(|id| widen(last, id.into(), 16)) else {
            self.rejected += 1;
            return Parsed::Rejected;
        };
        let Some(answered) = dns::answer(packet, &self.asked(seq)) else {
            self.rejected += 1;
            return Parsed::Rejected;
        };
        self.truncated += u64::from(answered.truncated);
        let server = FromServer {
            answer: Some(said(&answered)),
            reply_bytes: Some(packet.len() as u64),
            answer_ttl: answered.ttl,
            server_says: answered.says,
            ..FromServer::default()
        };
        self.resolved.note(answered.addresses);
        Parsed::Reply {
            seq,
            reflector: FromReflector {
                server: Some(Box::new(server)),
                ..FromReflector::default()
            },
            follow_up: None,
            corrupt: false,
        }
    }

    fn resolved(&mut self) -> Vec<Vec<IpAddr>> {
        self.resolved.take()
    }

    fn warnings(&mut self) -> Vec<String> {
        let rejected = counted(
            self.rejected,
            "packet that came was no answer to its question: malformed, or to another",
            "packets that came were no answers to their questions: malformed, or to others",
        );
        let truncated = counted(
            self.truncated,
            "answer was truncated (TC) because it does not fit a datagram: ask by --transport tcp for the whole of it",
            "answers were truncated (TC) because they do not fit a datagram: ask by --transport tcp for the whole of them",
        );
        rejected.into_iter().chain(truncated).collect()
    }

    fn quoted(&self, quote: &[u8], last: u64) -> Option<u64> {
        let id = u16::from_be_bytes(*quote.first_chunk()?);
        widen(last, id.into(), 16)
    }

    fn longest_reply(&self, _: usize) -> usize {
        LONGEST
    }
}

/// The count with its noun phrase, singular or plural; `None` if it is 0.
fn counted(count: u64, one: &str, more: &str) -> Option<String> {
    match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        count => Some(format!("{count} {more}")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn answered(question: &[u8]) -> Vec<u8> {
        dns::reply(question, std::net::Ipv4Addr::LOCALHOST, 9, 0).unwrap()
    }

    /// A server that answers wrong is not one that is silent.
    #[test]
    fn what_came_and_was_no_answer_is_said() {
        let heard = |answered, rejected| Heard { answered, rejected }.no_answer();
        assert_eq!(heard(true, 3), None);
        assert!(heard(false, 0).unwrap().contains("no answer in 7 s"));
        assert!(heard(false, 1).unwrap().contains("(1 packet in 7 s)"));
        let why = heard(false, 3).unwrap();
        assert!(
            why.contains("no answer to the question (3 packets"),
            "{why}"
        );
    }

    #[test]
    fn a_second_answer_to_the_first_question_is_no_wrong_packet() {
        let question: Question = "example.org".parse().unwrap();
        let mut format = Dns::new(&question);
        let first = answered(&dns::question(&question, FIRST as u16).unwrap());
        assert!(matches!(format.parse(&first, &[], 3), Parsed::Ignored));
        assert_eq!(format.warnings(), [""; 0]);
        // Later that is a question's number.
        let parsed = format.parse(&first, &[], FIRST + 2);
        assert!(
            matches!(parsed, Parsed::Reply { seq: FIRST, .. }),
            "{parsed:?}"
        );
    }

    #[test]
    fn rejected_and_truncated_answers_are_counted() {
        let question: Question = "example.org".parse().unwrap();
        let mut format = Dns::new(&question);
        assert_eq!(format.warnings(), [""; 0]);
        let mut right = answered(&dns::question(&question, 3).unwrap());
        let cut = right[..right.len() - 5].to_vec();
        let other = answered(&dns::question(&"a.b".parse().unwrap(), 3).unwrap());
        for wrong in [&cut[..], &other, b"x"] {
            let parsed = format.parse(wrong, &[], 3);
            assert!(matches!(parsed, Parsed::Rejected), "{parsed:?}");
        }
        let whole = format.parse(&right, &[], 3);
        right[2] |= 2;
        let truncated = format.parse(&right, &[], 3);
        for (parsed, expected) in [(whole, Answer::Code(0)), (truncated, Answer::Truncated(0))] {
            let Parsed::Reply {
                seq: 3, reflector, ..
            } = parsed
            else {
                panic!("{parsed:?}");
            };
            assert_eq!(reflector.server.unwrap().answer, Some(expected));
        }
        let [rejected, truncated] = &format.warnings()[..] else {
            panic!("{:?}", format.warnings());
        };
        assert!(rejected.starts_with("3 packets"), "{rejected}");
        assert!(
            truncated.starts_with("1 answer was truncated"),
            "{truncated}"
        );
    }
}
