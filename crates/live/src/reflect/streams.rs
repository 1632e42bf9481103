//! tcp: one thread accepts, one thread a connection answers.

use super::accept::{self, Entry};
use super::departures::Departures;
use super::{Shared, arrival, at, bind};
use crate::clocks::Clocks;
use crate::connections::is_nothing;
use delaylab_kernel::ancillary::Ancillary;
use delaylab_kernel::datagram::Blocking;
use delaylab_kernel::stamping::Flags;
use delaylab_kernel::stream::StreamSocket;
use delaylab_kernel::{clock, socket_options};
use delaylab_model::Nanos;
use delaylab_traffic::admission::Full;
use delaylab_traffic::reflector::{Arrival, Now, Opening, SessionRef, Verdict};
use delaylab_wire::control;
use delaylab_wire::tcp::{Decoder, Frame};
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread::Scope;

/// The largest request.
const LARGEST: u32 = delaylab_model::probe::MAX_TCP_PAYLOAD;
/// One read.
const READ: usize = 64 * 1024;

/// Accepts connections until told to stop.
pub fn serve<'scope, 'env>(
    listener: &TcpListener,
    shared: &'scope Shared<'env>,
    scope: &'scope Scope<'scope, 'env>,
) {
    let admits = |from| shared.reflector().admits(from);
    accept::serve(
        listener,
        shared,
        scope,
        &shared.places,
        admits,
        |stream, from, shared, entry| {
            Connection::open(stream, from, shared, entry).and_then(Connection::serve)
        },
    );
}

struct Connection<'a> {
    socket: StreamSocket,
    from: SocketAddr,
    shared: &'a Shared<'a>,
    entry: Entry,
    /// A request was answered, which shows that the peer has the session's key, if there is one.
    proven: bool,
    session: Option<SessionRef>,
    clocks: Clocks,
    departures: Departures,
    /// Bytes read that are no whole frame yet.
    undecoded: usize,
    /// Bytes sent since stamping began: a stamp's id is the offset of a reply's last byte.
    sent: u32,
    reply: Vec<u8>,
}

/// Go on, or close.
#[derive(PartialEq, Eq)]
enum Then {
    GoOn,
    Close,
}

impl<'a> Connection<'a> {
    fn open(
        stream: Arc<TcpStream>,
        from: SocketAddr,
        shared: &'a Shared<'a>,
        entry: Entry,
    ) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        let socket = StreamSocket::new(stream)?;
        // A send call that waits for room comes back and looks whether it is to stop.
        socket_options::set_send_timeout(&socket, bind::LOOK_EVERY)?;
        socket_options::set_receive_timeout(&socket, bind::LOOK_EVERY)?;
        socket_options::receive_marks(&socket, from.is_ipv6())?;
        Ok(Self {
            socket,
            from,
            shared,
            entry,
            proven: false,
            session: None,
            clocks: shared.clock.watch(),
            departures: Departures::default(),
            undecoded: 0,
            sent: 0,
            reply: Vec::new(),
        })
    }

    fn serve(mut self) -> io::Result<()> {
        let Some(session) = self.greet()? else {
            return Ok(());
        };
        self.answer_session(session)
    }

    /// Reads the Hello and not a byte more, and answers it.
    fn greet(&mut self) -> io::Result<Option<SessionRef>> {
        let mut hello = [0; control::SIZE];
        if !accept::read_first(&self.socket, &mut hello, &self.entry, self.shared)? {
            return Ok(None);
        }
        if let Some(full) = self.entry.full {
            return self.turn_away(&hello, full).map(|()| None);
        }
        self.answer_hello(&hello)
    }

    fn answer_session(&mut self, session: SessionRef) -> io::Result<()> {
        let mut buffer = vec![0; READ];
        let mut decoder = Decoder::new(LARGEST);
        let mut next_look = clock::monotonic() + bind::LOOK_EVERY;
        while !self.shared.stopped() {
            let received = self.socket.receive(&mut buffer, Blocking::Yes);
            let r_user = clock::monotonic();
            // Also while bytes come: they need not ever become a request.
            if r_user >= next_look {
                next_look = r_user + bind::LOOK_EVERY;
                if !self.shared.reflector().is_stream_alive(self.now(), session) {
                    return Ok(());
                }
            }
            let (length, beside) = match received {
                Ok((0, _)) => return Ok(()),
                Ok(received) => received,
                Err(error) if is_nothing(&error) => continue,
                Err(error) => return Err(error),
            };
            let arrival = self.arrival(&beside, r_user);
            decoder.push(&buffer[..length]);
            self.undecoded += length;
            if self.answer_all(session, &arrival, &mut decoder)? == Then::Close {
                return Ok(());
            }
        }
        Ok(())
    }

    fn now(&self) -> Now {
        at(&self.clocks, clock::monotonic())
    }

    fn arrival(&mut self, beside: &Ancillary, r_user: Nanos) -> Arrival {
        self.clocks.bracket_from(r_user);
        arrival(&self.clocks, beside, r_user)
    }

    fn answer_all(
        &mut self,
        session: SessionRef,
        read: &Arrival,
        decoder: &mut Decoder,
    ) -> io::Result<Then> {
        loop {
            match decoder.next_frame() {
                Ok(Some(frame)) => {
                    let (Frame::Control(bytes) | Frame::Data(bytes)) = frame;
                    self.undecoded -= bytes.len();
                    let arrival = arrival_of_frame(read, self.undecoded);
                    if self.answer_frame(session, &arrival, frame)? == Then::Close {
                        return Ok(Then::Close);
                    }
                }
                Ok(None) => return Ok(Then::GoOn),
                Err(_) => return Ok(Then::Close),
            }
        }
    }

    /// Says that there is no place.
    fn turn_away(&mut self, hello: &[u8], full: Full) -> io::Result<()> {
        self.reply.resize(hello.len(), 0);
        let (now, reply) = (self.now(), &mut self.reply);
        let mut reflector = self.shared.reflector();
        let length = reflector.stream_without_place(now, self.from, hello, full, reply);
        drop(reflector);
        length.map_or(Ok(()), |length| self.send_all(length))
    }

    fn answer_hello(&mut self, hello: &[u8]) -> io::Result<Option<SessionRef>> {
        self.reply.resize(hello.len(), 0);
        let opening =
            self.shared
                .reflector()
                .stream_hello(self.now(), self.from, hello, &mut self.reply);
        match opening {
            Opening::Accepted(length, session) => {
                self.session = Some(session);
                self.send_all(length)?;
                // Where the kernel does not know the flag, replies go without a departure stamp.
                let _ = self.socket.set_stamping(Flags::tcp_reflector());
                self.sent = 0;
                Ok(Some(session))
            }
            Opening::Refused(length) => self.send_all(length).map(|()| None),
            Opening::Drop(_) => Ok(None),
        }
    }

    fn answer_frame(
        &mut self,
        session: SessionRef,
        arrival: &Arrival,
        frame: Frame<'_>,
    ) -> io::Result<Then> {
        let (Frame::Control(bytes) | Frame::Data(bytes)) = frame;
        if self.reply.len() < bytes.len() {
            self.reply.resize(bytes.len(), 0);
        }
        if matches!(frame, Frame::Control(_)) && self.departures.any_awaited() {
            self.report_departures();
        }
        let verdict = self.shared.reflector().stream_frame(
            self.now(),
            session,
            arrival,
            frame,
            &mut self.reply,
        );
        let reply = match verdict {
            Verdict::Reply(reply) => reply,
            Verdict::Done => return Ok(Then::GoOn),
            Verdict::Drop(_) => return Ok(Then::Close),
        };
        if !self.proven && matches!(frame, Frame::Data(_)) {
            self.proven = true;
            self.entry.proven();
        }
        let sending = clock::monotonic();
        let last_byte = self.sent.wrapping_add(reply.len as u32).wrapping_sub(1);
        if let Some(stamp) = reply.stamp {
            self.departures.expect(last_byte, stamp, sending);
        }
        self.send_all(reply.len)?;
        self.report_departures();
        Ok(Then::GoOn)
    }

    fn send_all(&mut self, length: usize) -> io::Result<()> {
        let mut bytes = &self.reply[..length];
        let mut taking: Option<Taking> = None;
        while !bytes.is_empty() {
            match self.socket.send(bytes) {
                Ok(sent) => {
                    bytes = &bytes[sent..];
                    taking = None;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let taking = taking.get_or_insert_with(|| Taking::new(&self.socket));
                    let is_taken = taking.is_taken(&self.socket, self.shared.takes_within);
                    // One byte now and then outlasts no session.
                    if !is_taken || !self.is_alive() {
                        self.socket.abort()?;
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
            // A peer that takes byte after byte must not hold up the end.
            if self.shared.stopped() {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        self.sent = self.sent.wrapping_add(length as u32);
        Ok(())
    }

    fn is_alive(&self) -> bool {
        let is_alive = |session| (self.shared.reflector()).is_stream_alive(self.now(), session);
        self.session.is_none_or(is_alive)
    }

    fn report_departures(&mut self) {
        let shared = self.shared;
        self.departures
            .read(self.socket.as_fd(), &self.clocks, |reply, r_tx| {
                shared.reflector().transmitted(reply, r_tx);
            });
    }
}

/// How far a peer has taken what was sent. The kernel has room for more only once a third of its buffer is acknowledged: on a
/// slow path bytes are taken long before.
struct Taking {
    since: Nanos,
    acknowledged: Option<u64>,
}

impl Taking {
    fn new(socket: &StreamSocket) -> Self {
        Self {
            since: clock::monotonic(),
            acknowledged: acknowledged(socket),
        }
    }

    /// Has the peer taken anything within so long?
    fn is_taken(&mut self, socket: &StreamSocket, within: Nanos) -> bool {
        if acknowledged(socket) > self.acknowledged {
            *self = Self::new(socket);
        }
        clock::monotonic() - self.since <= within
    }
}

fn acknowledged(socket: &StreamSocket) -> Option<u64> {
    socket.info().ok()?.acknowledged
}

impl Drop for Connection<'_> {
    fn drop(&mut self) {
        // To close it is not enough where another thread has a copy of the descriptor: one that took a
        // table of its own while the connection was open. An error says that it is closed already.
        let _ = self.socket.stream().shutdown(Shutdown::Both);
        if let Some(session) = self.session {
            self.shared.reflector().stream_closed(session);
        }
    }
}

/// The kernel's stamp is of the last byte that a read brought. So it is the arrival of the frame
/// that ends there; when those before it came, nobody knows: what they waited on this host would
/// pass for the network's delay.
fn arrival_of_frame(read: &Arrival, bytes_behind: usize) -> Arrival {
    Arrival {
        r_rx: read.r_rx.filter(|_| bytes_behind == 0),
        ..*read
    }
}

#[cfg(test)]
mod tests;
