//! One connection: how far it is, which request waits for its reply on it, and its stamps.
//!
//! How it is set up stands in [`set_up`].

mod set_up;

use super::dialogue::{Conversation, Dialogue, WholeReply};
use super::failure::{Failed, refused_by_tls};
use super::stamps::RequestStamps;
use super::tls::{Secured, Tls};
use crate::connections::{CONGESTION_CONTROL, is_nothing};
use crate::prober::arrival::ReplyArrival;
use crate::prober::channel::QueueEvent;
use crate::prober::open;
use crate::prober::shortest::Shortest;
use delaylab_kernel::ancillary::Ancillary;
use delaylab_kernel::clock;
use delaylab_kernel::datagram::Blocking;
use delaylab_kernel::error_queue::ErrorQueue;
use delaylab_kernel::socket_options as options;
use delaylab_kernel::stamping::Flags;
use delaylab_kernel::stream::StreamSocket;
use delaylab_model::probe::Probe;
use delaylab_model::request::{Close, Request};
use delaylab_model::trial::Negotiated;
use delaylab_model::{MICROSECOND, MILLISECOND, Nanos};
use delaylab_traffic::prober::{FromServer, Reply};
use socket2::SockRef;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

/// One read, once the first byte of a reply is there, and about what one connection reads before others have their turn.
pub(super) const READ: usize = 64 << 10;
/// Reads of one connection before others have their turn: before a reply begins they are short.
const READS: usize = 64;
/// The most bytes that a server may send while nothing is asked, as tickets of TLS and PING of HTTP/2.
const MOST_UNASKED: usize = 1 << 20;

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
    /// The shortest round trip to the target, of all connections.
    pub shortest: Arc<Shortest>,
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
    /// Is its socket watched for room to send as well?
    pub watched_for_room: bool,
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
    conversation: Conversation,
    /// What it came to, until somebody takes it.
    negotiated: Option<Negotiated>,
    /// The addresses in the last answer, until they are taken.
    resolved: Vec<IpAddr>,
    plain: Vec<u8>,
    beside: Ancillary,
    /// When what has come of the reply came.
    arrival: ReplyArrival,
    /// The stamp of the first byte of the record that comes.
    record_at: Option<Nanos>,
    retransmits: u32,
    /// Its SYN was sent more than once.
    syn_again: bool,
    /// Bytes that came since the last reply.
    unasked: usize,
    shortest: Arc<Shortest>,
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
            watched_for_room: true,
            target,
            socket,
            tls: None,
            state: State::Connecting,
            seq,
            set_up: FromServer::default(),
            shortest: terms.shortest.clone(),
            began,
            at_once,
            out: Vec::new(),
            written: 0,
            stamps: RequestStamps::default(),
            sealed: None,
            conversation: Conversation::silent(),
            negotiated: None,
            resolved: Vec::new(),
            plain: Vec::new(),
            beside: Ancillary::default(),
            arrival: ReplyArrival::default(),
            record_at: None,
            retransmits: 0,
            syn_again: false,
            unasked: 0,
        })
    }

    /// The name was looked up for it at this time.
    pub fn resolved_at(&mut self, at: Nanos) {
        self.set_up.t_resolved = Some(at);
    }

    /// Can a request be asked on it?
    pub const fn is_idle(&self) -> bool {
        // What the server is told beside requests has gone.
        matches!(self.state, State::Idle)
            && (self.sealed.is_some() || self.written >= self.out.len())
    }

    /// Are the bytes of this request ready on it? Then it is to be asked here.
    pub fn is_prepared(&self, seq: u64) -> bool {
        self.is_idle() && self.sealed == Some(seq)
    }

    /// What it has come to, once.
    pub const fn take_negotiated(&mut self) -> Option<Negotiated> {
        self.negotiated.take()
    }

    /// The addresses of its last answer, once.
    pub fn take_resolved(&mut self) -> Vec<IpAddr> {
        std::mem::take(&mut self.resolved)
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

    /// Does a request wait for its reply on it, and for nothing else?
    pub fn awaits_reply(&self) -> bool {
        self.state == State::Asked && self.written >= self.out.len()
    }

    /// Does it wait for room to send, or for its connection?
    pub fn wants_room(&self) -> bool {
        self.state == State::Connecting || self.written < self.out.len()
    }

    /// Makes the bytes of a request ready, so that [`Self::ask`] only sends.
    pub fn prepare(&mut self, seq: u64) -> io::Result<()> {
        if self.sealed.is_some() {
            // What was made ready for a request that was never sent does for this one: replies are told apart by their
            // connection, and what is sealed cannot be taken back.
            self.sealed = Some(seq);
            return Ok(());
        }
        let request = self.conversation.request(seq);
        self.make_ready(request)?;
        self.sealed = Some(seq);
        Ok(())
    }

    fn make_ready(&mut self, bytes: Vec<u8>) -> io::Result<()> {
        self.out.clear();
        self.written = 0;
        match &mut self.tls {
            None => self.out = bytes,
            Some(tls) => {
                tls.seal(&bytes)?;
                tls.pour(&mut self.out);
            }
        }
        Ok(())
    }

    /// Sends what was prepared.
    pub fn ask(&mut self, seq: u64) -> io::Result<()> {
        self.prepare(seq)?;
        self.sealed = None;
        self.seq = Some(seq);
        self.state = State::Asked;
        self.record_at = None;
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

    /// Does what its socket is ready for. What arrives is read into `buffer`.
    pub fn go_on(&mut self, terms: &Terms, buffer: &mut [u8; READ]) -> Went {
        let went = match self.state {
            State::Connecting => self.connected(terms),
            State::Securing => self.secure(terms, buffer),
            State::Idle => self.idle(buffer),
            State::Asked => self.read_reply(buffer),
            State::Over => Ok(Went::Nowhere),
        };
        went.unwrap_or_else(|failed| {
            self.state = State::Over;
            Went::Failed(self.seq.take(), failed)
        })
    }

    /// Nobody asked: only its end, or what TLS and HTTP/2 have to say, can come.
    fn idle(&mut self, buffer: &mut [u8; READ]) -> Result<Went, Failed> {
        if self.sealed.is_none() && self.flush().is_err() {
            self.state = State::Over;
            return Ok(Went::On);
        }
        let goes_on = match self.socket.receive(buffer, Blocking::No) {
            Ok((0, _)) => false,
            Ok((length, _)) => {
                self.unasked += length;
                self.unasked <= MOST_UNASKED && self.take_unasked(&buffer[..length])
            }
            Err(error) if is_nothing(&error) => return Ok(Went::Nowhere),
            Err(_) => false,
        };
        if !goes_on || self.tell().is_err() {
            self.state = State::Over;
        }
        Ok(Went::On)
    }

    fn take_unasked(&mut self, bytes: &[u8]) -> bool {
        let Some(tls) = &mut self.tls else {
            return self.conversation.take_unasked(bytes);
        };
        self.plain.clear();
        tls.take(bytes, &mut self.plain).is_ok()
            && !tls.has_ended()
            && self.conversation.take_unasked(&self.plain)
    }

    /// Tells the server what it must be told beside requests. Behind a request that is ready it waits, or it would overtake
    /// what is sealed.
    fn tell(&mut self) -> io::Result<()> {
        if self.sealed.is_some() || self.written < self.out.len() {
            return Ok(());
        }
        let unsent = self.conversation.unsent();
        if unsent.is_empty() {
            return Ok(());
        }
        self.make_ready(unsent)?;
        self.flush()
    }

    /// Reads what has come, up to a bound: a server that sends without end leaves time for all else.
    fn read_reply(&mut self, buffer: &mut [u8; READ]) -> Result<Went, Failed> {
        self.flush().map_err(|error| Failed::from_error(&error))?;
        let mut went = Went::Nowhere;
        let mut read = 0;
        for _ in 0..READS {
            let most = match (&self.tls, self.conversation.has_begun()) {
                (_, true) => READ,
                (None, false) => self.conversation.wants(),
                (Some(tls), false) => tls.wants().min(READ),
            };
            let (length, beside) = match self.socket.receive(&mut buffer[..most], Blocking::No) {
                Ok(received) => received,
                Err(error) if is_nothing(&error) => return Ok(went),
                Err(error) => return Err(Failed::from_error(&error)),
            };
            went = Went::On;
            self.note_arrival(beside);
            if length == 0 && read == 0 {
                // The close was waited for, and has no stamp: the last data came earlier than the reply's end. When that
                // came here is not known.
                self.arrival.restart();
            }
            let said = match length {
                0 => Some(self.closed()?),
                _ => self.take(&buffer[..length])?,
            };
            // One that is gone says so when it is read.
            let _ = self.tell();
            if let Some(said) = said {
                return Ok(Went::Replied(self.replied(said)));
            }
            read += length;
            if read >= READ {
                break;
            }
        }
        Ok(went)
    }

    fn note_arrival(&mut self, beside: Ancillary) {
        if !self.conversation.has_begun() {
            self.arrival.restart();
        }
        self.arrival.went_on(&beside);
        self.beside = beside;
    }

    /// What came of a reply.
    fn take(&mut self, bytes: &[u8]) -> Result<Option<WholeReply>, Failed> {
        let (plain, has_ended) = match &mut self.tls {
            None => {
                let said = self.conversation.take(bytes, self.beside.software);
                return said.map_err(Failed::broken);
            }
            Some(tls) => {
                if tls.is_beginning() {
                    self.record_at = self.beside.software;
                }
                self.plain.clear();
                tls.take(bytes, &mut self.plain)
                    .map_err(|error| Failed::garbled(refused_by_tls(&error)))?;
                (std::mem::take(&mut self.plain), tls.has_ended())
            }
        };
        let at = self.record_at.or(self.beside.software);
        let said = match plain.is_empty() {
            true => Ok(None),
            false => self.conversation.take(&plain, at),
        };
        self.plain = plain;
        match said.map_err(Failed::broken)? {
            // The connection itself may stay open until we close it.
            None if has_ended => self.closed().map(Some),
            said => Ok(said),
        }
    }

    fn closed(&mut self) -> Result<WholeReply, Failed> {
        self.state = State::Over;
        // By TLS an end that the server has not announced may be anyone's (RFC 8446 §6.1).
        let in_order = self.tls.as_ref().is_none_or(Secured::has_ended);
        self.conversation.closed(in_order).map_err(Failed::broken)
    }

    fn replied(&mut self, said: WholeReply) -> Reply {
        self.unasked = 0;
        self.resolved = said.addresses;
        let reusable = said.reusable && self.state == State::Asked;
        self.state = if reusable { State::Idle } else { State::Over };
        let info = self.socket.info().ok();
        let total = info.map(|info| info.total_retransmits);
        let retransmits = total.map(|total| total.wrapping_sub(self.retransmits));
        self.retransmits = total.unwrap_or(self.retransmits);
        let least = info.and_then(|info| info.least_rtt_us);
        let server = FromServer {
            t_first: self.conversation.first(),
            least_round_trip: least.map(|rtt| self.least_round_trip(rtt)),
            answer: Some(said.answer),
            reply_bytes: Some(said.bytes),
            answer_ttl: said.ttl,
            server_says: said.says,
            connection: Some(self.number),
            ..std::mem::take(&mut self.set_up)
        };
        Reply {
            seq: self.seq.take().unwrap_or(0),
            t_rx: self.arrival.whole(),
            t_rx_hw: self.arrival.whole_hw(),
            retransmits,
            server: Some(Box::new(server)),
            ..Reply::default()
        }
    }

    /// Of a request on a connection that was there it is that of all connections: its own handshake may have been held up.
    fn least_round_trip(&self, rtt_us: u32) -> Nanos {
        let own = own_least_round_trip(rtt_us, self.syn_again);
        match self.set_up.t_connected {
            Some(_) => own,
            None => self.shortest.or(own),
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

/// By what the kernel measures the round trip of a segment that it has sent twice: timestamps of RFC 7323 (TCP_TS_HZ).
const TICK: Nanos = MILLISECOND;

/// What the network takes at least, by the kernel's shortest round trip. Where the SYN was sent again that may be of the SYN, by
/// whole ticks, one too many.
fn own_least_round_trip(rtt_us: u32, syn_again: bool) -> Nanos {
    let rtt = Nanos::from(rtt_us) * MICROSECOND;
    match syn_again {
        true => (rtt - TICK).max(0),
        false => rtt,
    }
}

/// EINPROGRESS of Linux.
const IN_PROGRESS: i32 = 115;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::prober::server::tls::tests::server;
    use crate::prober::shortest::RoundTrips;
    use delaylab_model::method::Method;
    use delaylab_model::record::{Answer, Record};
    use delaylab_model::request::{HttpRequest, HttpVersion, Trust, Verb};
    use rustls::StreamOwned;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    /// The end of a page without a length, of a server that says by TLS that it has ended and leaves the connection open, or that
    /// cuts it.
    fn page_by_tls(says_so: bool) -> Went {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let target = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let mut stream = StreamOwned::new(server(), listener.accept().unwrap().0);
            assert!(stream.read(&mut [0; 1000]).unwrap() > 0);
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nhalf of").unwrap();
            if says_so {
                stream.conn.send_close_notify();
            }
            stream.flush().unwrap();
            says_so.then_some(stream)
        });
        let request = HttpRequest {
            url: format!("https://{target}/").parse().unwrap(),
            verb: Verb::Get,
            version: HttpVersion::One,
            fresh: false,
            resolves: false,
            trust: Trust::Anyone,
            headers: Vec::new(),
        };
        let terms = Terms {
            probe: Probe::new("page", Method::Http),
            dialogue: Dialogue::Http(request),
            tls: Some(Tls::new("localhost", &Trust::Anyone, &[]).unwrap()),
            flags: Flags::NONE,
            shortest: RoundTrips::default().to(target.ip()),
        };
        let mut connection = Connection::begin(0, target, Some(7), &terms).unwrap();
        let mut buffer = [0; READ];
        let begun = std::time::Instant::now();
        loop {
            match connection.go_on(&terms, &mut buffer) {
                Went::On => {}
                Went::Nowhere => std::thread::sleep(Duration::from_millis(1)),
                ended => {
                    server.join().unwrap();
                    return ended;
                }
            }
            assert!(begun.elapsed() < Duration::from_secs(20));
        }
    }

    #[test]
    fn a_page_without_a_length_ends_where_tls_ends_and_not_where_it_is_cut() {
        let Went::Replied(reply) = page_by_tls(true) else {
            panic!("no reply");
        };
        let server = reply.server.unwrap();
        let told = (server.answer, server.reply_bytes);
        assert_eq!(told, (Some(Answer::Status(200)), Some(26)));
        let Went::Failed(Some(7), failed) = page_by_tls(false) else {
            panic!("it was cut");
        };
        assert!(failed.corrupt && failed.why.contains("before the end"));
    }

    /// A path of 0.2 ms: the kernel says 1 ms of a SYN that was sent twice, or 5 of one of 4.2 ms.
    #[test]
    fn a_syn_that_was_sent_again_bounds_the_server_all_the_same() {
        for (network, kernel_says_us) in [(200, 1_000), (4_200, 5_000), (4_900, 4_000)] {
            let (network, server) = (network * MICROSECOND, 20 * MILLISECOND);
            let mut record = Record::due(0, 0, 0, Method::Http, 0);
            (record.t_send, record.t_tx) = (Some(0), Some(0));
            (record.t_ack, record.t_first) = (Some(network + server), Some(network + server));
            record.least_round_trip = Some(own_least_round_trip(kernel_says_us, true));
            let most = record.server().map(|bounds| bounds.most);
            assert!(most >= Some(server), "{most:?}");
        }
        assert_eq!(own_least_round_trip(1_000, false), MILLISECOND);
    }
}
