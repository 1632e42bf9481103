//! tcp: one thread accepts, one thread a connection answers.

use super::departures::Departures;
use super::{Shared, bind, now};
use crate::clocks::Clocks;
use delaylab_kernel::datagram::Blocking;
use delaylab_kernel::stamping::Flags;
use delaylab_kernel::stream::StreamSocket;
use delaylab_kernel::wait::{self, Woken};
use delaylab_kernel::{clock, socket_options};
use delaylab_model::{Nanos, SECOND};
use delaylab_traffic::reflector::{Arrival, Opening, SessionRef, Verdict};
use delaylab_wire::tcp::{Decoder, Frame};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Scope;

/// Connections at once: each is a thread.
const CONNECTIONS: usize = 256;
/// A connection that has not said what it wants by then is closed.
const HELLO_WITHIN: Nanos = 5 * SECOND;
/// The largest request.
const LARGEST: u32 = delaylab_model::probe::MAX_TCP_PAYLOAD;
/// One read.
const READ: usize = 64 * 1024;

static OPEN: AtomicUsize = AtomicUsize::new(0);

/// Accepts connections until told to stop.
pub fn serve<'scope, 'env>(
    listener: &TcpListener,
    shared: &'scope Shared<'env>,
    scope: &'scope Scope<'scope, 'env>,
) {
    while !shared.stopped() {
        let look = clock::monotonic() + bind::LOOK_EVERY;
        match wait::until_readable(listener.as_fd(), Some(look)) {
            Ok(Woken::Ready) => {}
            _ => continue,
        }
        let Ok((stream, from)) = listener.accept() else {
            continue;
        };
        if !shared.reflector().admits(from.ip()) || !take_place() {
            continue;
        }
        scope.spawn(move || {
            // An error is this connection's end and nobody else's business.
            let _ = Connection::open(stream, from, shared).and_then(Connection::serve);
            OPEN.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

fn take_place() -> bool {
    let taken = OPEN.fetch_add(1, Ordering::Relaxed) < CONNECTIONS;
    if !taken {
        OPEN.fetch_sub(1, Ordering::Relaxed);
    }
    taken
}

struct Connection<'a> {
    socket: StreamSocket,
    from: SocketAddr,
    shared: &'a Shared<'a>,
    session: Option<SessionRef>,
    clocks: Clocks,
    departures: Departures,
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
    fn open(stream: TcpStream, from: SocketAddr, shared: &'a Shared<'a>) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        let socket = StreamSocket::new(stream)?;
        socket_options::set_receive_timeout(&socket, bind::LOOK_EVERY)?;
        socket_options::receive_marks(&socket, from.is_ipv6())?;
        Ok(Self {
            socket,
            from,
            shared,
            session: None,
            clocks: Clocks::new(),
            departures: Departures::default(),
            sent: 0,
            reply: Vec::new(),
        })
    }

    fn serve(mut self) -> io::Result<()> {
        let mut buffer = vec![0; READ];
        let mut decoder = Decoder::new(LARGEST);
        let opened = clock::monotonic();
        while !self.shared.stopped() {
            let (length, beside) = match self.socket.receive(&mut buffer, Blocking::Yes) {
                Ok((0, _)) => return Ok(()),
                Ok(received) => received,
                Err(error) if is_time_out(&error) => {
                    if self.session.is_none() && clock::monotonic() > opened + HELLO_WITHIN {
                        return Ok(());
                    }
                    continue;
                }
                Err(error) => return Err(error),
            };
            let r_user = clock::monotonic();
            self.clocks.bracket_from(r_user);
            let arrival = Arrival {
                r_rx: beside
                    .software
                    .map(|real| self.clocks.to_monotonic(real, 0, r_user)),
                r_user,
                traffic_class: beside.traffic_class,
                ttl: beside.ttl,
            };
            decoder.push(&buffer[..length]);
            if self.answer_all(&arrival, &mut decoder)? == Then::Close {
                return Ok(());
            }
        }
        Ok(())
    }

    fn answer_all(&mut self, arrival: &Arrival, decoder: &mut Decoder) -> io::Result<Then> {
        loop {
            match decoder.next_frame() {
                Ok(Some(frame)) => {
                    if self.answer(arrival, frame)? == Then::Close {
                        return Ok(Then::Close);
                    }
                }
                Ok(None) => return Ok(Then::GoOn),
                Err(_) => return Ok(Then::Close),
            }
        }
    }

    fn answer(&mut self, arrival: &Arrival, frame: Frame<'_>) -> io::Result<Then> {
        let (Frame::Control(bytes) | Frame::Data(bytes)) = frame;
        if self.reply.len() < bytes.len() {
            self.reply.resize(bytes.len(), 0);
        }
        match (self.session, frame) {
            (Some(session), frame) => self.answer_frame(session, arrival, frame),
            (None, Frame::Control(hello)) => self.answer_hello(hello),
            (None, Frame::Data(_)) => Ok(Then::Close),
        }
    }

    fn answer_hello(&mut self, hello: &[u8]) -> io::Result<Then> {
        let opening =
            self.shared
                .reflector()
                .stream_hello(now(), self.from, hello, &mut self.reply);
        match opening {
            Opening::Accepted(length, session) => {
                self.session = Some(session);
                self.send_all(length)?;
                // Where the kernel does not know the flag, replies go without a departure stamp.
                let _ = self.socket.set_stamping(Flags::tcp_reflector());
                self.sent = 0;
                Ok(Then::GoOn)
            }
            Opening::Refused(length) => self.send_all(length).map(|()| Then::Close),
            Opening::Drop(_) => Ok(Then::Close),
        }
    }

    fn answer_frame(
        &mut self,
        session: SessionRef,
        arrival: &Arrival,
        frame: Frame<'_>,
    ) -> io::Result<Then> {
        if matches!(frame, Frame::Control(_)) && self.departures.any_awaited() {
            self.report_departures();
        }
        let verdict =
            self.shared
                .reflector()
                .stream_frame(now(), session, arrival, frame, &mut self.reply);
        let reply = match verdict {
            Verdict::Reply(reply) => reply,
            Verdict::Done => return Ok(Then::GoOn),
            Verdict::Drop(_) => return Ok(Then::Close),
        };
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
        while !bytes.is_empty() {
            let sent = self.socket.send(bytes)?;
            bytes = &bytes[sent..];
        }
        self.sent = self.sent.wrapping_add(length as u32);
        Ok(())
    }

    fn report_departures(&mut self) {
        let shared = self.shared;
        self.departures
            .read(self.socket.as_fd(), &self.clocks, |reply, r_tx| {
                shared.reflector().transmitted(reply, r_tx);
            });
    }
}

impl Drop for Connection<'_> {
    fn drop(&mut self) {
        if let Some(session) = self.session {
            self.shared.reflector().stream_closed(session);
        }
    }
}

fn is_time_out(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}
