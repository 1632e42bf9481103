//! Methods that ask a server of any make over TCP: a handshake, a page, a name.
//!
//! | module | holds |
//! |---|---|
//! | [`dialogue`] | the bytes of a request, and where its reply ends |
//! | [`tls`] | TLS around them |
//! | [`connection`] | one connection: how it is set up, and its request |
//! | [`failure`] | why a request has no reply |
//! | [`stamps`] | which request a stamp is of |
//! | [`resolver`] | a name that is looked up for each request |
//!
//! A request that is due while every connection waits for a reply goes on one more: nothing waits for another reply, or
//! the delays of a slow server would be hidden (coordinated omission).

mod connection;
mod dialogue;
mod failure;
mod resolver;
mod stamps;
mod tls;

use super::channel::{Channel, Decoded, QueueEvent};
use super::dns::Resolved;
use super::error::OpenError;
use super::open::Settings;
use connection::{Connection, READ, Terms, Went};
use delaylab_kernel::clock;
use delaylab_kernel::datagram::{Blocking, DatagramSocket, Kind};
use delaylab_kernel::error_queue::ErrorQueue;
use delaylab_kernel::poller::{Poller, Ready};
use delaylab_kernel::stamping::{self, Flags};
use delaylab_kernel::wait;
use delaylab_model::probe::{Probe, StampRequest};
use delaylab_model::request::{DnsTransport, Request, Trust};
use delaylab_model::trial::{Negotiated, RecordFacts};
use delaylab_model::{Nanos, SECOND};
use delaylab_traffic::prober::Reply;
use dialogue::Dialogue;
use failure::{Failed, Failures};
use resolver::Resolver;
use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use tls::Tls;

/// Connections at once. A server that answers nothing would take all the descriptors of this process.
const MOST_CONNECTIONS: usize = 512;
/// How long the first connection may take.
const CONNECT_FOR: Nanos = 5 * SECOND;
/// The resolver among the connections.
const RESOLVER: u64 = u64::MAX;
/// EAGAIN of Linux.
const TRY_AGAIN: i32 = 11;

/// Connections to one server.
#[derive(Debug)]
pub struct ServerChannel {
    terms: Terms,
    target: SocketAddr,
    /// Is each request on a connection of its own?
    fresh: bool,
    connections: Vec<Connection>,
    made: u32,
    poller: Poller,
    /// What it found: empty between calls.
    ready: Vec<Ready>,
    resolver: Option<Resolver>,
    /// Which request is next.
    seq: u64,
    replies: VecDeque<Decoded>,
    events: VecDeque<QueueEvent>,
    queue: ErrorQueue,
    /// What connections read into.
    buffer: Box<[u8; READ]>,
    failures: Failures,
    negotiated: Vec<Negotiated>,
    resolved: Resolved,
    /// Keeps the kernel stamping arrivals: it begins only some time after the first socket has asked for it.
    _stamping: Option<DatagramSocket>,
}

/// Prepares to ask, and makes a first connection to see whether something answers. One that is kept is kept.
///
/// # Errors
/// There is nothing that can be asked.
pub fn open(settings: &Settings<'_>) -> Result<ServerChannel, OpenError> {
    let probe = settings.probe();
    let Some(request) = &probe.request else {
        let reason = format!("{} asks for nothing: it needs to know what", probe.method);
        return Err(OpenError::setting("method", reason));
    };
    let flags = Flags::requests(probe.stamps);
    let stamping = match probe.stamps {
        StampRequest::None => None,
        _ => Some(arrivals(settings).map_err(settings.failed("timestamps"))?),
    };
    let fresh = match request {
        Request::Connect { .. } => true,
        Request::Http(http) => http.fresh,
        Request::Dns(dns) => dns.fresh,
    };
    let poller = Poller::new().map_err(settings.failed("epoll"))?;
    let resolver =
        resolver(request, settings.target).map_err(settings.failed("a thread for names"))?;
    if let Some(resolver) = &resolver {
        poller
            .add(resolver, RESOLVER, false)
            .map_err(settings.failed("epoll"))?;
    }
    let mut channel = ServerChannel {
        terms: Terms {
            probe: probe.clone(),
            dialogue: Dialogue::new(request),
            tls: tls(request, settings)?,
            flags,
            shortest: settings.shortest.to(settings.target.ip()),
        },
        target: settings.target,
        fresh,
        connections: Vec::new(),
        made: 0,
        poller,
        ready: Vec::new(),
        resolver,
        seq: 0,
        replies: VecDeque::new(),
        events: VecDeque::new(),
        queue: ErrorQueue::new(),
        buffer: Box::new([0; READ]),
        failures: Failures::default(),
        negotiated: Vec::new(),
        resolved: Resolved::default(),
        _stamping: stamping,
    };
    // A handshake alone is its own first try: a port that is closed is a result.
    if !matches!(request, Request::Connect { .. }) {
        channel.first(settings)?;
    }
    Ok(channel)
}

fn arrivals(settings: &Settings<'_>) -> io::Result<DatagramSocket> {
    let socket = DatagramSocket::open(Kind::Udp, settings.target.is_ipv6())?;
    stamping::set(&socket, Flags::arrivals())?;
    Ok(socket)
}

fn resolver(request: &Request, target: SocketAddr) -> io::Result<Option<Resolver>> {
    match request {
        Request::Http(http) if http.fresh && http.resolves => {
            Resolver::new(http.url.host.clone(), target).map(Some)
        }
        _ => Ok(None),
    }
}

fn tls(request: &Request, settings: &Settings<'_>) -> Result<Option<Tls>, OpenError> {
    let address = || settings.target.ip().to_string();
    let made = match request {
        Request::Http(http) if http.url.tls => {
            Tls::new(&http.url.host, &http.trust, http.version.offers())
        }
        // Of protocols nothing is said: few name servers know that of RFC 7858, and its port says it.
        Request::Dns(dns) if dns.transport == DnsTransport::Tls => {
            let name = dns.tls_name.clone().unwrap_or_else(address);
            Tls::new(&name, &dns.trust, &[])
        }
        _ => return Ok(None),
    };
    let target = settings.target;
    made.map(Some)
        .map_err(|why| OpenError::Server { target, why })
}

/// Said of every result: nobody knows who answered.
fn unverified(probe: &Probe) -> Option<String> {
    let trust = match &probe.request {
        Some(Request::Http(http)) => &http.trust,
        Some(Request::Dns(dns)) => &dns.trust,
        _ => return None,
    };
    (*trust == Trust::Anyone).then(|| {
        "certificates were not verified (--insecure): who answered is not known".to_owned()
    })
}

/// What is said of a server that is not ready in time.
fn silence(is_connected: bool) -> String {
    let seconds = CONNECT_FOR / SECOND;
    match is_connected {
        true => format!(
            "it takes connections, and no TLS handshake is over in {seconds} s. Does it speak TLS on this port?"
        ),
        false => format!(
            "no answer in {seconds} s. Is the port open in its firewall? `delaylab trace` shows how far packets get"
        ),
    }
}

impl ServerChannel {
    /// Makes a connection and waits until it is ready.
    fn first(&mut self, settings: &Settings<'_>) -> Result<(), OpenError> {
        let target = self.target;
        let wrong = |why: String| OpenError::Server { target, why };
        let failed = |error: io::Error| wrong(error.to_string());
        let begun = self.begin(target, None).map_err(failed)?;
        let deadline = clock::monotonic() + CONNECT_FOR;
        loop {
            let woken = wait::until_readable(self.poller.as_fd(), Some(deadline));
            let woken = woken.map_err(failed)?;
            // One that speaks without end is never waited for.
            let late = clock::monotonic() >= deadline;
            if woken == wait::Woken::Deadline || late || settings.stop.is_asked() {
                return Err(wrong(silence(self.connections[begun].is_connected())));
            }
            match self.connections[begun].go_on(&self.terms, &mut self.buffer) {
                Went::Ready => {
                    self.note_negotiated(begun);
                    break;
                }
                Went::Failed(_, failed) => return Err(wrong(failed.why)),
                _ => self.watch(begun).map_err(failed)?,
            }
        }
        match self.fresh {
            true => self.connections.clear(),
            false => self.watch(begun).map_err(failed)?,
        }
        Ok(())
    }

    /// Begins to connect, and says at which place.
    fn begin(&mut self, target: SocketAddr, seq: Option<u64>) -> io::Result<usize> {
        if self.connections.len() >= MOST_CONNECTIONS {
            return Err(io::Error::from_raw_os_error(TRY_AGAIN));
        }
        let connection = Connection::begin(self.made, target, seq, &self.terms)?;
        self.poller.add(&connection, self.made.into(), true)?;
        self.made += 1;
        self.connections.push(connection);
        Ok(self.connections.len() - 1)
    }

    /// Watches a connection for what it waits for; the kernel is asked where that has changed.
    fn watch(&mut self, at: usize) -> io::Result<()> {
        let connection = &mut self.connections[at];
        let room = connection.wants_room();
        if std::mem::replace(&mut connection.watched_for_room, room) == room {
            return Ok(());
        }
        self.poller
            .change(&*connection, connection.number.into(), room)
    }

    /// Lets one connection go on, and takes what comes of it.
    fn go_on(&mut self, at: usize) -> bool {
        let went = self.connections[at].go_on(&self.terms, &mut self.buffer);
        let any = !matches!(went, Went::Nowhere);
        self.note_negotiated(at);
        self.resolved.note(self.connections[at].take_resolved());
        match went {
            Went::Replied(reply) => self.replies.push_back(Decoded::Reply(reply, None)),
            Went::Failed(Some(seq), failed) => self.fail(seq, failed),
            Went::Failed(None, failed) => self.failures.note(&failed),
            Went::Nowhere | Went::On | Went::Ready => {}
        }
        if self.connections[at].is_over() {
            self.end(at);
        } else {
            // Its socket is there, so it can be watched.
            let _ = self.watch(at);
        }
        any
    }

    /// The connection that alone can have something, so that nothing has to be asked which one it is.
    fn only_one(&self) -> Option<usize> {
        match &self.connections[..] {
            [only] if self.resolver.is_none() && only.awaits_reply() => Some(0),
            _ => None,
        }
    }

    /// Notes what a connection came to, where no other has come to the same.
    fn note_negotiated(&mut self, at: usize) {
        if let Some(negotiated) = self.connections[at].take_negotiated()
            && !self.negotiated.contains(&negotiated)
        {
            self.negotiated.push(negotiated);
        }
    }

    fn fail(&mut self, seq: u64, failed: Failed) {
        self.failures.note(&failed);
        if failed.corrupt {
            let reply = Reply {
                seq,
                corrupt: true,
                ..Reply::default()
            };
            self.replies.push_back(Decoded::Reply(reply, None));
        } else {
            let refused = failed.refused;
            self.events.push_back(QueueEvent::Refused { seq, refused });
        }
    }

    /// Reads the last stamps of a connection and closes it.
    fn end(&mut self, at: usize) {
        let mut connection = self.connections.swap_remove(at);
        let (queue, events) = (&mut self.queue, &mut self.events);
        while connection.read_stamps(queue, &mut |event| events.push_back(event)) {}
    }

    /// Connects where the names that have been looked up say.
    fn take_names(&mut self) -> bool {
        let Some(resolver) = &mut self.resolver else {
            return false;
        };
        let answers = resolver.answers();
        let any = !answers.is_empty();
        for resolved in answers {
            let begun = resolved.result.and_then(|target| {
                let begun = self.begin(target, Some(resolved.seq));
                begun.map_err(|error| error.to_string())
            });
            match begun {
                Ok(at) => self.connections[at].resolved_at(resolved.at),
                Err(why) => self.fail(resolved.seq, Failed::unreachable(why)),
            }
        }
        any
    }
}

impl Channel for ServerChannel {
    fn prepare(&mut self, seq: u64) {
        self.seq = seq;
        if !self.fresh
            && let Some(idle) = self.connections.iter_mut().find(|each| each.is_idle())
        {
            // What fails here fails again when it is sent, and is told there.
            let _ = idle.prepare(seq);
        }
    }

    fn transmit(&mut self) -> io::Result<()> {
        let seq = self.seq;
        let connections = &self.connections;
        // What is sealed for one connection and not sent would be missing in its stream.
        let prepared = connections.iter().position(|each| each.is_prepared(seq));
        let idle = prepared.or_else(|| connections.iter().position(Connection::is_idle));
        if let Some(at) = idle.filter(|_| !self.fresh) {
            return self.connections[at].ask(seq);
        }
        match &mut self.resolver {
            Some(resolver) => {
                if let Err(why) = resolver.ask(seq) {
                    self.fail(seq, Failed::unreachable(why));
                }
                Ok(())
            }
            None => self.begin(self.target, Some(seq)).map(drop),
        }
    }

    fn receive(&mut self, _: Blocking) -> io::Result<()> {
        if let Some(only) = self.only_one() {
            if self.go_on(only) {
                return Ok(());
            }
            // Nothing came: what this process was woken for is in the error queue.
            if let Some(connection) = self.connections.get_mut(only) {
                connection.stamps.waiting = true;
            }
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let mut ready = std::mem::take(&mut self.ready);
        let polled = self.poller.ready(|each| ready.push(each));
        let mut any = false;
        for each in ready.drain(..) {
            if each.token == RESOLVER {
                any |= self.take_names();
                continue;
            }
            let numbered = |connection: &Connection| u64::from(connection.number) == each.token;
            let Some(at) = self.connections.iter().position(numbered) else {
                continue;
            };
            self.connections[at].stamps.waiting |= each.failed;
            // A stamp alone is read where the queue is; an error of the connection makes it readable too.
            if each.readable || each.writable {
                any |= self.go_on(at);
            }
        }
        self.ready = ready;
        polled?;
        match any {
            true => Ok(()),
            false => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    fn speaks_unasked(&self) -> bool {
        !self.connections.is_empty()
    }

    fn decode(&mut self, _: u64) -> Option<Decoded> {
        self.replies.pop_front()
    }

    fn read_queue(
        &mut self,
        _: u64,
        _: usize,
        take: &mut dyn FnMut(QueueEvent),
    ) -> io::Result<bool> {
        self.events.drain(..).for_each(&mut *take);
        let mut more = false;
        for connection in &mut self.connections {
            more |= connection.read_stamps(&mut self.queue, take);
        }
        Ok(more)
    }

    fn queue_is_read(&mut self, over: u64) -> io::Result<()> {
        // What was given up would be taken for the reply to the next request.
        let given_up = |each: &Connection| each.asked().is_some_and(|seq| seq < over);
        self.connections.retain(|each| !given_up(each));
        Ok(())
    }

    fn negotiated(&mut self) -> Vec<Negotiated> {
        std::mem::take(&mut self.negotiated)
    }

    fn resolved(&mut self) -> Vec<Vec<IpAddr>> {
        self.resolved.take()
    }

    fn warnings(&mut self) -> Vec<String> {
        let failures = std::mem::take(&mut self.failures).told();
        unverified(&self.terms.probe)
            .into_iter()
            .chain(failures)
            .collect()
    }

    fn socket(&self) -> BorrowedFd<'_> {
        self.poller.as_fd()
    }

    fn facts(&self) -> RecordFacts {
        RecordFacts::default()
    }
}
