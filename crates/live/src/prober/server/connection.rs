//! One connection: how far it is set up, which request waits for its reply on it, and its stamps.

use super::dialogue::{Dialogue, Reading, Said};
use super::stamps::RequestStamps;
use super::tls::{Secured, Tls};
use crate::prober::channel::QueueEvent;
use crate::prober::engine::is_nothing;
use crate::prober::open::{self, CONGESTION_CONTROL};
use delaylab_kernel::ancillary::Ancillary;
use delaylab_kernel::clock;
use delaylab_kernel::datagram::Blocking;
use delaylab_kernel::error_queue::ErrorQueue;
use delaylab_kernel::socket_options as options;
use delaylab_kernel::stamping::Flags;
use delaylab_kernel::stream::StreamSocket;
use delaylab_model::probe::Probe;
use delaylab_model::record::Answer;
use delaylab_model::request::{Close, Request};
use delaylab_model::{MICROSECOND, Nanos};
use delaylab_traffic::prober::{FromServer, Refused, Reply};
use socket2::SockRef;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// One read, once the first byte of a reply is there.
const READ: usize = 64 << 10;
/// The first read of a reply is so short that its stamp is the first byte's.
const FIRST: usize = 1;

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Connecting,
    Securing,
    /// Ready, and nothing is asked.
    Idle,
    /// A reply is waited for.
    Asked,
    /// Nothing more can be asked on it.
    Over,
}

/// What made a request fail.
#[derive(Debug)]
pub(super) struct Failed {
    pub refused: Refused,
    /// In words for people.
    pub why: String,
    /// Were bytes wrong? Then it was answered, badly.
    pub corrupt: bool,
}

impl Failed {
    fn new(errno: i32, why: impl Into<String>) -> Self {
        Self {
            refused: Refused {
                by: None,
                icmp: None,
                info: 0,
                errno,
            },
            why: why.into(),
            corrupt: false,
        }
    }

    /// There is nowhere to ask.
    pub fn unreachable(why: impl Into<String>) -> Self {
        Self::new(errno::NO_HOST, why)
    }

    fn garbled(why: impl Into<String>) -> Self {
        Self {
            corrupt: true,
            ..Self::new(errno::PROTOCOL, why)
        }
    }

    fn from_error(error: &io::Error) -> Self {
        let errno = error.raw_os_error().unwrap_or(errno::IO);
        let why = match error.kind() {
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
                "the server reset the connection".to_owned()
            }
            io::ErrorKind::TimedOut => {
                "TCP sent again and again, and nothing was acknowledged".to_owned()
            }
            _ => error.to_string(),
        };
        Self::new(errno, why)
    }
}

/// errno values of Linux.
mod errno {
    pub const IO: i32 = 5;
    pub const PROTOCOL: i32 = 71;
    pub const RESET: i32 = 104;
    pub const NO_HOST: i32 = 113;
}

/// What came of letting a connection go on.
#[derive(Debug)]
pub(super) enum Went {
    /// Nothing was there to be done.
    Nowhere,
    /// Something was done, and more is to come.
    On,
    /// It is ready for its first request, which was not asked yet.
    Ready,
    /// A request has been answered.
    Replied(Reply),
    /// A request has failed, or the connection without one.
    Failed(Option<u64>, Failed),
}

/// What is the same for every connection of a probe.
#[derive(Debug)]
pub(super) struct Terms {
    pub probe: Probe,
    pub dialogue: Dialogue,
    pub tls: Option<Tls>,
    pub flags: Flags,
}

impl Terms {
    fn close(&self) -> Close {
        match self.probe.request {
            Some(Request::Connect { close, .. }) => close,
            _ => Close::Fin,
        }
    }
}

/// One connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub number: u32,
    target: SocketAddr,
    socket: StreamSocket,
    tls: Option<Secured>,
    state: State,
    /// The request that it was made for, or that is asked on it.
    seq: Option<u64>,
    /// What its set-up took, for the request that it was made for.
    set_up: FromServer,
    began: Nanos,
    /// An error of the connect call itself.
    at_once: Option<io::Error>,
    out: Vec<u8>,
    written: usize,
    /// Which request a stamp is of.
    pub stamps: RequestStamps,
    /// The sealed bytes of the next request.
    sealed: Option<u64>,
    reading: Option<Reading>,
    plain: Vec<u8>,
    beside: Ancillary,
    /// The stamp of the first byte of the record that comes.
    record_at: Option<Nanos>,
    first: Option<Nanos>,
    retransmits: u32,
}

impl Connection {
    /// Begins to connect, for the sake of a request where there is one.
    ///
    /// # Errors
    /// The socket cannot be set up, or this host has no route.
    pub fn begin(
        number: u32,
        target: SocketAddr,
        seq: Option<u64>,
        terms: &Terms,
    ) -> io::Result<Self> {
        let began = clock::monotonic();
        let socket = open::tcp_socket(&terms.probe, target).map_err(|unset| unset.source)?;
        options::receive_errors(&socket, target.is_ipv6(), true)?;
        socket.set_nonblocking(true)?;
        if terms.close() == Close::Rst {
            socket.set_linger(Some(Duration::ZERO))?;
        }
        let socket = StreamSocket::new(TcpStream::from(socket))?;
        // A kernel without this algorithm keeps its own.
        let _ = socket.set_congestion_control(CONGESTION_CONTROL);
        let called = SockRef::from(&socket.as_fd()).connect(&target.into());
        let at_once = match called {
            Ok(()) => None,
            Err(error) if error.raw_os_error() == Some(IN_PROGRESS) => None,
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Some(error),
            Err(error) => return Err(error),
        };
        Ok(Self {
            number,
            target,
            socket,
            tls: None,
            state: State::Connecting,
            seq,
            set_up: FromServer::default(),
            began,
            at_once,
            out: Vec::new(),
            written: 0,
            stamps: RequestStamps::default(),
            sealed: None,
            reading: None,
            plain: Vec::new(),
            beside: Ancillary::default(),
            record_at: None,
            first: None,
            retransmits: 0,
        })
    }

    /// The name was looked up for it at this time.
    pub fn resolved_at(&mut self, at: Nanos) {
        self.set_up.t_resolved = Some(at);
    }

    pub const fn is_idle(&self) -> bool {
        matches!(self.state, State::Idle)
    }

    pub const fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    /// Is its TCP handshake over?
    pub const fn is_connected(&self) -> bool {
        !matches!(self.state, State::Connecting)
    }

    /// The request that waits on it.
    pub const fn asked(&self) -> Option<u64> {
        self.seq
    }

    /// Does it wait for room to send, or for its connection?
    pub fn wants_room(&self) -> bool {
        self.state == State::Connecting || self.written < self.out.len()
    }

    /// Makes the bytes of a request ready, so that [`Self::ask`] only sends.
    pub fn prepare(&mut self, seq: u64, terms: &Terms) -> io::Result<()> {
        if self.sealed == Some(seq) {
            return Ok(());
        }
        let request = terms.dialogue.request(seq);
        self.out.clear();
        self.written = 0;
        match &mut self.tls {
            None => self.out = request,
            Some(tls) => {
                tls.seal(&request)?;
                tls.pour(&mut self.out);
            }
        }
        self.sealed = Some(seq);
        Ok(())
    }

    /// Sends what was prepared.
    pub fn ask(&mut self, seq: u64, terms: &Terms) -> io::Result<()> {
        self.prepare(seq, terms)?;
        self.sealed = None;
        self.seq = Some(seq);
        self.reading = terms.dialogue.reading(seq);
        self.state = State::Asked;
        (self.first, self.record_at) = (None, None);
        self.stamps.asking(seq, self.out.len());
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        while self.written < self.out.len() {
            match self.socket.send(&self.out[self.written..]) {
                Ok(sent) => {
                    self.written += sent;
                    self.stamps.sent(sent);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The rest goes once there is room.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Goes on with whatever it is ready for.
    pub fn go_on(&mut self, terms: &Terms) -> Went {
        let went = match self.state {
            State::Connecting => self.connected(terms),
            State::Securing => self.secure(terms),
            State::Idle => self.idle(terms),
            State::Asked => self.read_reply(),
            State::Over => Ok(Went::Nowhere),
        };
        went.unwrap_or_else(|failed| {
            self.state = State::Over;
            Went::Failed(self.seq.take(), failed)
        })
    }

    fn connected(&mut self, terms: &Terms) -> Result<Went, Failed> {
        let error = match self.at_once.take() {
            Some(error) => Some(error),
            None => self.socket.stream().take_error().ok().flatten(),
        };
        let now = clock::monotonic();
        if let Some(error) = error {
            return self.not_connected(&error, now, terms);
        }
        if self.socket.stream().peer_addr().is_err() {
            return Ok(Went::Nowhere);
        }
        // Later a passing ICMP error would end the connection.
        let _ = options::receive_errors(&self.socket, self.target.is_ipv6(), false);
        if matches!(terms.dialogue, Dialogue::Connect) {
            return Ok(Went::Replied(self.handshake(Answer::Open, now)));
        }
        self.set_up.t_connected = Some(self.handshake_ended(now).0);
        match &terms.tls {
            None => self.ready(terms),
            Some(tls) => {
                let mut secured = tls.begin().map_err(|error| Failed::from_error(&error))?;
                secured.pour(&mut self.out);
                self.tls = Some(secured);
                self.state = State::Securing;
                self.flush().map_err(|error| Failed::from_error(&error))?;
                Ok(Went::On)
            }
        }
    }

    /// A port where nothing listens answers as well: with RST.
    fn not_connected(
        &mut self,
        error: &io::Error,
        now: Nanos,
        terms: &Terms,
    ) -> Result<Went, Failed> {
        let mut failed = Failed::from_error(error);
        let icmp = open::refusal(&self.socket.as_fd()).filter(|refused| refused.icmp.is_some());
        if let Some(refused) = icmp {
            failed.refused = refused;
            if let Some(reason) = refused.reason() {
                failed.why = reason.describe(refused.path_mtu());
            }
        } else if error.kind() == io::ErrorKind::ConnectionRefused {
            if matches!(terms.dialogue, Dialogue::Connect) {
                return Ok(Went::Replied(self.handshake(Answer::Closed, now)));
            }
            failed.refused.by = Some(self.target.ip());
            failed.why = "nothing listens on this TCP port".to_owned();
        }
        Err(failed)
    }

    /// When the SYN-ACK came, and how long after the SYN: the first round trip of a connection is its handshake's. That
    /// this process learns of it later is no part of it.
    fn handshake_ended(&self, now: Nanos) -> (Nanos, Option<Nanos>) {
        let info = self.socket.info().ok();
        let rtt = info.map(|info| Nanos::from(info.smoothed_rtt_us) * MICROSECOND);
        let rtt = rtt.filter(|&rtt| rtt > 0);
        let from = self.set_up.t_resolved.unwrap_or(self.began).max(self.began);
        (rtt.map_or(now, |rtt| (from + rtt).min(now)), rtt)
    }

    /// That the handshake is over is the answer.
    fn handshake(&mut self, answer: Answer, now: Nanos) -> Reply {
        self.state = State::Over;
        let info = self.socket.info().ok();
        // Of a refusal the kernel keeps no round trip.
        let (ended, rtt) = match answer {
            Answer::Open => self.handshake_ended(now),
            _ => (now, None),
        };
        let server = FromServer {
            t_connected: Some(ended),
            least_round_trip: rtt,
            answer: Some(answer),
            connection: Some(self.number),
            ..FromServer::default()
        };
        Reply {
            seq: self.seq.take().unwrap_or(0),
            retransmits: info.map(|info| info.total_retransmits),
            server: Some(Box::new(server)),
            ..Reply::default()
        }
    }

    fn ready(&mut self, terms: &Terms) -> Result<Went, Failed> {
        self.state = State::Idle;
        let _ = self.socket.set_stamping(terms.flags);
        self.stamps.restart();
        let Some(seq) = self.seq else {
            self.set_up = FromServer::default();
            return Ok(Went::Ready);
        };
        self.prepare(seq, terms)
            .map_err(|error| Failed::from_error(&error))?;
        self.set_up.t_send = Some(clock::monotonic());
        self.ask(seq, terms)
            .map_err(|error| Failed::from_error(&error))?;
        Ok(Went::On)
    }

    fn secure(&mut self, terms: &Terms) -> Result<Went, Failed> {
        self.flush().map_err(|error| Failed::from_error(&error))?;
        let mut buffer = [0; READ];
        let received = match self.socket.receive(&mut buffer, Blocking::No) {
            Ok((0, _)) => return Err(Failed::new(errno::RESET, NO_TLS)),
            Ok((length, _)) => length,
            Err(error) if is_nothing(&error) => return Ok(Went::Nowhere),
            Err(error) => return Err(Failed::from_error(&error)),
        };
        let Some(tls) = &mut self.tls else {
            return Ok(Went::Nowhere);
        };
        let taken = tls.take(&buffer[..received], &mut self.plain);
        tls.pour(&mut self.out);
        let handshaking = tls.is_handshaking();
        // An alert says to the server why, too.
        let flushed = self.flush();
        taken.map_err(|error| Failed::new(errno::PROTOCOL, refused_by_tls(&error)))?;
        flushed.map_err(|error| Failed::from_error(&error))?;
        match handshaking {
            true => Ok(Went::On),
            false => {
                self.set_up.t_secured = Some(clock::monotonic());
                self.ready(terms)
            }
        }
    }

    /// Nobody asked: only its end, or what TLS has to say, can come.
    fn idle(&mut self, _: &Terms) -> Result<Went, Failed> {
        let mut buffer = [0; 4096];
        self.plain.clear();
        match self.socket.receive(&mut buffer, Blocking::No) {
            Ok((0, _)) => {}
            Ok((length, _)) => {
                if let Some(tls) = &mut self.tls
                    && tls.take(&buffer[..length], &mut self.plain).is_ok()
                    && self.plain.is_empty()
                {
                    return Ok(Went::On);
                }
            }
            Err(error) if is_nothing(&error) => return Ok(Went::Nowhere),
            Err(_) => {}
        }
        self.state = State::Over;
        Ok(Went::On)
    }

    fn read_reply(&mut self) -> Result<Went, Failed> {
        self.flush().map_err(|error| Failed::from_error(&error))?;
        let mut buffer = [0; READ];
        let mut went = Went::Nowhere;
        loop {
            let most = match (&self.tls, self.first) {
                (_, Some(_)) => READ,
                (None, None) => FIRST,
                (Some(tls), None) => tls.wants().min(READ),
            };
            let (length, beside) = match self.socket.receive(&mut buffer[..most], Blocking::No) {
                Ok(received) => received,
                Err(error) if is_nothing(&error) => return Ok(went),
                Err(error) => return Err(Failed::from_error(&error)),
            };
            went = Went::On;
            self.beside = beside;
            let said = match length {
                0 => Some(self.closed()?),
                _ => self.take(&buffer[..length])?,
            };
            if let Some(said) = said {
                return Ok(Went::Replied(self.replied(said)));
            }
        }
    }

    /// What came of a reply.
    fn take(&mut self, bytes: &[u8]) -> Result<Option<Said>, Failed> {
        let plain = match &mut self.tls {
            None => {
                self.first = self.first.or(self.beside.software);
                return self.read(|reading| reading.take(bytes));
            }
            Some(tls) => {
                if tls.is_beginning() {
                    self.record_at = self.beside.software;
                }
                self.plain.clear();
                tls.take(bytes, &mut self.plain)
                    .map_err(|error| Failed::garbled(refused_by_tls(&error)))?;
                std::mem::take(&mut self.plain)
            }
        };
        if plain.is_empty() {
            return Ok(None);
        }
        self.first = self.first.or(self.record_at).or(self.beside.software);
        let said = self.read(|reading| reading.take(&plain));
        self.plain = plain;
        said
    }

    fn closed(&mut self) -> Result<Said, Failed> {
        let begun = self.first.is_some();
        self.state = State::Over;
        let said = self.read(|reading| reading.closed().map(Some));
        match said {
            Ok(Some(said)) => Ok(said),
            Ok(None) => Err(Failed::new(
                errno::RESET,
                "the server closed the connection",
            )),
            Err(failed) if begun => Err(failed),
            Err(failed) => Err(Failed::new(errno::RESET, failed.why)),
        }
    }

    fn read(
        &mut self,
        take: impl FnOnce(&mut Reading) -> Result<Option<Said>, String>,
    ) -> Result<Option<Said>, Failed> {
        match &mut self.reading {
            Some(reading) => take(reading).map_err(Failed::garbled),
            None => Ok(None),
        }
    }

    fn replied(&mut self, said: Said) -> Reply {
        let reusable = said.reusable && self.state == State::Asked;
        self.state = if reusable { State::Idle } else { State::Over };
        let info = self.socket.info().ok();
        let total = info.map(|info| info.total_retransmits);
        let retransmits = total.map(|total| total.wrapping_sub(self.retransmits));
        self.retransmits = total.unwrap_or(self.retransmits);
        let least = info.and_then(|info| info.least_rtt_us);
        let server = FromServer {
            t_first: self.first,
            least_round_trip: least.map(|rtt| Nanos::from(rtt) * MICROSECOND),
            answer: Some(said.answer),
            reply_bytes: Some(said.bytes),
            connection: Some(self.number),
            ..std::mem::take(&mut self.set_up)
        };
        Reply {
            seq: self.seq.take().unwrap_or(0),
            t_rx: self.beside.software,
            t_rx_hw: self.beside.hardware,
            retransmits,
            server: Some(Box::new(server)),
            ..Reply::default()
        }
    }

    /// Reads its stamps. `true`: there may be more.
    pub fn read_stamps(
        &mut self,
        queue: &mut ErrorQueue,
        take: &mut dyn FnMut(QueueEvent),
    ) -> bool {
        self.stamps.read(self.socket.as_fd(), queue, take)
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// EINPROGRESS of Linux.
const IN_PROGRESS: i32 = 115;
const NO_TLS: &str =
    "the server closed the connection in the TLS handshake. Does it speak TLS on this port?";

/// What TLS refuses, with what to do.
fn refused_by_tls(error: &rustls::Error) -> String {
    use rustls::CertificateError as Bad;
    match error {
        rustls::Error::InvalidCertificate(bad) => match bad {
            Bad::Expired | Bad::ExpiredContext { .. } => {
                "its certificate has expired. To measure it all the same: --insecure".to_owned()
            }
            Bad::NotValidForName | Bad::NotValidForNameContext { .. } => {
                "its certificate is of another name. Ask by that name (--resolve NAME:PORT:ADDRESS), or --insecure".to_owned()
            }
            Bad::UnknownIssuer => {
                "nobody that this host trusts has signed its certificate. Name the authority's file with --cacert, or --insecure"
                    .to_owned()
            }
            Bad::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => {
                "its certificate is one that it has signed itself, as an authority would: --insecure".to_owned()
            }
            other => format!("its certificate is not accepted: {other}"),
        },
        rustls::Error::InvalidMessage(_) => {
            "what it sent is not TLS. Is this the port for https?".to_owned()
        }
        other => format!("TLS: {other}"),
    }
}
