//! A stream's session with `delaylab reflect --accept-load`.

use super::bulk::{self, Bulk};
use super::error::{LoadError, is_end};
use super::fetch::Fetched;
use super::paced::{self, Heading, Paced};
use super::questions::Questions;
use super::{Flow, LoadState, StreamRun};
use crate::prober::session::printable;
use delaylab_kernel::stream::StreamSocket;
use delaylab_kernel::{clock, socket_options};
use delaylab_model::load::{Direction, LoadKind};
use delaylab_model::stream_report::{Amount, Received, StreamReport, Whose};
use delaylab_model::{MILLISECOND, Nanos, SECOND};
use delaylab_wire::auth::{Key, KeyPair, Transport};
use delaylab_wire::control::{Control, Counted, Fetch, LoadHello, Name, Refuse, SIZE};
use socket2::{SockRef, TcpKeepalive};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// An answer comes by then: it may wait in a queue that the load has filled.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// From one question that keeps a session to the next. Reflectors forget one after some minutes.
const KEEP_ALIVE: Nanos = 60 * SECOND;
/// Between two questions of what has arrived.
const ASK_EVERY: Nanos = 100 * MILLISECOND;
/// Nothing more is under way once the count has stood still for so many questions.
const STILL: u32 = 3;
/// It is asked no longer than this.
const PATIENCE: Nanos = 5 * SECOND;

/// Streams introduce themselves one after the other: a reflector lets an address hold few connections that
/// have not said anything yet.
fn one_at_a_time() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A session that is agreed.
pub(super) struct Session {
    control: TcpStream,
    token: u32,
    keys: Option<KeyPair>,
}

const fn transport(kind: LoadKind) -> Transport {
    match kind {
        LoadKind::Tcp | LoadKind::Transfers => Transport::Tcp,
        LoadKind::Cbr | LoadKind::Poisson | LoadKind::OnOff | LoadKind::Replay => Transport::Udp,
    }
}

impl Session {
    /// Agrees on a session for this stream.
    pub(super) fn open(run: &StreamRun, key: Option<&Key>) -> Result<Self, LoadError> {
        let _alone = one_at_a_time();
        let transport = transport(run.load.kind);
        let mut control = connect(run)?;
        let window = run.load.window.map_or(0, |window| window.0);
        let hello = LoadHello {
            nonce: run.seed ^ (clock::realtime() as u64).rotate_left(32),
            transport,
            window: u32::try_from(window).unwrap_or(u32::MAX),
        };
        let pair = key.map(|key| KeyPair::control(key, Transport::Tcp));
        let answer = exchange(&mut control, &Control::LoadHello(hello), pair.as_ref());
        let refused = |error: &io::Error| match is_end(error) {
            true => LoadError::WrongKey {
                target: run.target,
                with_key: key.is_some(),
            },
            false => LoadError::asking(run.target, run.server, ANSWER_WITHIN, error),
        };
        let accept = match answer {
            Ok(Control::Accept(accept)) if accept.nonce == hello.nonce => accept,
            Ok(Control::Refuse(refuse)) => return Err(refused_by(run.target, &refuse)),
            Ok(_) => return Err(refused(&io::ErrorKind::InvalidData.into())),
            Err(error) => return Err(refused(&error)),
        };
        let mut session = Self {
            control,
            token: accept.token,
            keys: key.map(|key| accept.keys(key, transport)),
        };
        // The first question shows that both ends have the session's keys; from then on it counts.
        session.ask().map_err(|error| refused(&error))?;
        Ok(session)
    }

    /// What carries the stream's packets.
    pub(super) fn flow(&mut self, run: &StreamRun) -> Result<Flow, LoadError> {
        if run.load.direction == Direction::Down {
            let fetched = self.fetch(run)?;
            return Ok(Flow::Fetched(Box::new(fetched)));
        }
        if run.load.kind != LoadKind::Tcp {
            let paced = Paced::new(paced::socket(run)?, Heading::Ours(self.token), run)?;
            return Ok(Flow::Paced(Box::new(paced)));
        }
        let stream = self.attached(run)?;
        Bulk::new(stream, run).map(Flow::Bulk)
    }

    /// The connection of the stream's data.
    fn attached(&self, run: &StreamRun) -> Result<TcpStream, LoadError> {
        let _alone = one_at_a_time();
        let mut stream = bulk::connect(run)?;
        let token = self.token;
        self.sealed(&Control::Attach { token })
            .and_then(|attach| stream.write_all(&attach))
            .map_err(|source| LoadError::connecting(run.target, run.server, source))?;
        Ok(stream)
    }

    /// Asks the reflector for the stream. One that does not know the question closes the connection, where a session
    /// that has just been agreed on would be answered.
    fn fetch(&mut self, run: &StreamRun) -> Result<Fetched, LoadError> {
        let (target, token) = (run.target, self.token);
        let named = run.load.congestion_control.as_deref();
        let name = named.map(|name| {
            let why = "it is no name of an algorithm";
            Name::new(name).ok_or_else(|| bulk::no_such_algorithm(run, name, why))
        });
        let asked = Control::Fetch(Fetch {
            token,
            rate: run.load.rate.map_or(0, |rate| rate.0),
            traffic_class: run.load.class.0.traffic_class(0),
            congestion_control: name.transpose()?,
        });
        let used = match exchange(&mut self.control, &asked, self.keys.as_ref()) {
            Ok(Control::Fetched(fetched)) if fetched.token == token => fetched.congestion_control,
            Ok(Control::Refuse(refuse)) => return Err(refused_by(target, &refuse)),
            Ok(_) => {
                return Err(LoadError::NotOurs {
                    target,
                    server: run.server,
                });
            }
            Err(error) if is_end(&error) => return Err(LoadError::SendsNone { target }),
            Err(error) => {
                return Err(LoadError::asking(target, run.server, ANSWER_WITHIN, &error));
            }
        };
        let begin = self.sealed(&Control::Begin { token });
        let begin = begin.map_err(LoadError::socket("begin"))?;
        let control = self.control.try_clone().and_then(StreamSocket::new);
        let control = control.map_err(LoadError::socket("control connection"))?;
        let question = self.sealed(&Control::Count { token });
        let question = question.map_err(LoadError::socket("question"))?;
        let reply = self.keys.as_ref().map(|pair| pair.reply.clone());
        let questions = Questions::new(control, question, token, reply);
        Fetched::new(self.attached(run)?, begin, questions, used, run)
    }

    /// A control packet as it goes over a connection of this session.
    fn sealed(&self, control: &Control) -> io::Result<[u8; SIZE]> {
        sealed(control, self.keys.as_ref())
    }

    /// Asks now and then, until it is nearly time to send: the reflector forgets a session that is silent.
    pub(super) fn keep_until(&mut self, start: Nanos, state: &LoadState) {
        let next = || clock::monotonic() + KEEP_ALIVE;
        // The answer may take long, and the stream is not to begin late.
        while next() + PATIENCE < start && !state.stopped() {
            state.sleep_until(next());
            // The stream itself will say what is wrong.
            let _ = self.ask();
        }
    }

    /// The stream is over: asks what arrived.
    pub(super) fn end(mut self, flows: Vec<Flow>, report: &mut StreamReport) {
        let down = report.direction == Direction::Down;
        if down && report.lasted.is_some() {
            let is_late = |flow: &Flow| matches!(flow, Flow::Fetched(one) if !one.is_settled());
            let asked = match flows.iter().any(is_late) {
                true => Err(io::ErrorKind::WouldBlock.into()),
                false => self.ask(),
            };
            take_from_sender(asked, report);
        }
        for flow in flows {
            flow.abort();
        }
        if report.lasted.is_none() || down {
            return;
        }
        match self.settled(report.sent) {
            Ok(counted) => {
                report.held_back = held_back(&counted);
                report.received = Some(Received {
                    amount: Amount {
                        packets: counted.packets,
                        bytes: counted.bytes,
                    },
                    span: Nanos::try_from(counted.span).unwrap_or(Nanos::MAX),
                    reordered: counted.reordered,
                    copies: counted.copies,
                    refused: counted.refused.saturating_sub(counted.overflowed),
                    overflowed: counted.overflowed,
                    of_others: counted.of_others,
                    whose_overflow: Whose::Own,
                });
            }
            Err(error) => unanswered(report, "the other end no longer says what arrived", &error),
        }
    }

    /// What has arrived once nothing more is under way.
    fn settled(&mut self, sent: Amount) -> io::Result<Counted> {
        let deadline = clock::monotonic() + PATIENCE;
        let first = self.ask()?;
        let (mut counted, mut still) = (first, 0);
        while clock::monotonic() < deadline && still < STILL {
            if is_whole(&counted, sent) {
                break;
            }
            let _ = clock::sleep_until(clock::monotonic() + ASK_EVERY);
            let before = arrived(&counted);
            counted = self.ask()?;
            still = match arrived(&counted) == before {
                true => still + 1,
                false => 0,
            };
        }
        // The reflector may go on to hold back what is left: that is no time of the stream.
        Ok(Counted {
            held_back: first.held_back,
            ..counted
        })
    }

    fn ask(&mut self) -> io::Result<Counted> {
        let count = Control::Count { token: self.token };
        match exchange(&mut self.control, &count, self.keys.as_ref())? {
            Control::Counted(counted) if counted.token == self.token => Ok(counted),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

/// What the reflector says of what it sent. What arrived is known without it.
fn take_from_sender(asked: io::Result<Counted>, report: &mut StreamReport) {
    match asked {
        Ok(counted) => {
            report.sent.bytes = counted.bytes.max(report.sent.bytes);
            report.retransmits = Some(counted.sender.retransmits.into());
            report.held_back = held_back(&counted);
        }
        Err(error) => unanswered(
            report,
            "the reflector no longer says what it sent again",
            &error,
        ),
    }
}

fn unanswered(report: &mut StreamReport, what: &str, error: &io::Error) {
    let why = no_longer_says(error, ANSWER_WITHIN);
    report.failed.get_or_insert(format!("{what}: {why}"));
}

/// Has every packet been taken? What the buffer had no room for may be others'.
const fn is_whole(counted: &Counted, sent: Amount) -> bool {
    let taken = counted.packets + counted.refused.saturating_sub(counted.overflowed);
    sent.packets > 0 && taken >= sent.packets
}

/// Packets, bytes, and packets that were not taken.
const fn arrived(counted: &Counted) -> [u64; 3] {
    [counted.packets, counted.bytes, counted.refused]
}

/// For how long the reflector's limits have held the stream back.
fn held_back(counted: &Counted) -> Nanos {
    Nanos::try_from(counted.held_back).unwrap_or(Nanos::MAX)
}

/// The control connection goes as the load does: in the same queues, so an answer comes after what was
/// sent before the question.
fn connect(run: &StreamRun) -> Result<TcpStream, LoadError> {
    let stream = TcpStream::connect_timeout(&run.target, ANSWER_WITHIN)
        .map_err(|source| LoadError::connecting(run.target, run.server, source))?;
    set_up_control(&stream, run, ANSWER_WITHIN).map_err(LoadError::socket("control connection"))?;
    // What is under way when it ends is of no use.
    let _ = SockRef::from(&stream).set_linger(Some(Duration::ZERO));
    Ok(stream)
}

/// A control connection in the load's queues, on which every answer comes within this time.
pub(super) fn set_up_control(
    stream: &TcpStream,
    run: &StreamRun,
    within: Duration,
) -> io::Result<()> {
    let class = run.load.class.0.traffic_class(0);
    socket_options::set_traffic_class(stream, run.target.is_ipv6(), class)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(within))?;
    stream.set_write_timeout(Some(within))?;
    keep_alive(stream)
}

/// Nothing is said on a control connection while its stream lasts: without this, hosts on the way that translate addresses
/// forget it after some minutes.
fn keep_alive(stream: &TcpStream) -> io::Result<()> {
    let often = TcpKeepalive::new()
        .with_time(Duration::from_secs(60))
        .with_interval(Duration::from_secs(15))
        // An outage of the path is measured, and no reason to give up: not within half an hour.
        .with_retries(127);
    SockRef::from(stream).set_tcp_keepalive(&often)
}

/// Why a question behind a stream was not answered, which may have waited so long.
pub(super) fn no_longer_says(error: &io::Error, waited: Duration) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock => format!(
            "no answer in {} s. Either the queue on the way is longer than that, or something on the way has forgotten the \
             connection",
            waited.as_secs()
        ),
        io::ErrorKind::TimedOut => {
            "nothing came back on the connection for so long that it was given up".to_owned()
        }
        _ if is_end(error) => {
            "the connection was closed. It has ended, or has ended the session (--max-duration)"
                .to_owned()
        }
        _ => error.to_string(),
    }
}

/// One question, one answer.
fn exchange(
    stream: &mut TcpStream,
    asked: &Control,
    keys: Option<&KeyPair>,
) -> io::Result<Control> {
    let mut packet = sealed(asked, keys)?;
    stream.write_all(&packet)?;
    stream.read_exact(&mut packet)?;
    let answer = Control::parse(keys.map(|pair| &pair.reply), &packet);
    answer.map_err(|_| io::ErrorKind::InvalidData.into())
}

fn sealed(control: &Control, keys: Option<&KeyPair>) -> io::Result<[u8; SIZE]> {
    let mut packet = [0; SIZE];
    let emitted = control.emit(keys.map(|pair| &pair.request), &mut packet);
    emitted.map_err(|_| io::ErrorKind::InvalidData)?;
    Ok(packet)
}

fn refused_by(target: SocketAddr, refuse: &Refuse) -> LoadError {
    let text = printable(&refuse.text);
    LoadError::Refused { target, text }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_connection_that_says_nothing_is_kept_alive() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        keep_alive(&stream).unwrap();
        assert!(SockRef::from(&stream).keepalive().unwrap());
    }

    #[test]
    fn a_late_answer_is_no_end() {
        let said = |kind: io::ErrorKind| no_longer_says(&kind.into(), ANSWER_WITHIN);
        assert!(said(io::ErrorKind::WouldBlock).starts_with("no answer in 5 s"));
        assert!(said(io::ErrorKind::ConnectionReset).contains("--max-duration"));
    }
}
