//! TCP handshakes of the kernel's own, each with a hop limit: no privilege is needed.
//!
//! A router where the limit runs out says so by ICMP, and the kernel hands that to the socket's error queue. The target
//! answers with SYN-ACK or RST; a connection that opens is reset at once, so that none is left over.
//!
//! All of them go from one port to the other, so that load balancers keep them to one path. A host has one such connection at a
//! time: one handshake is under way in all.

use super::PathTracing;
use super::wires::{Arrival, Arrived, Wires, connected, icmp_error};
use crate::connections::tcp_socket;
use crate::prober::error::OpenError;
use delaylab_kernel::ancillary::Ancillary;
use delaylab_kernel::clock;
use delaylab_kernel::error_queue::ErrorQueue;
use delaylab_kernel::poller::Poller;
use delaylab_kernel::socket_options as options;
use delaylab_kernel::stamping::{self, Flags};
use delaylab_kernel::stream::StreamSocket;
use delaylab_model::headers;
use delaylab_model::method::Method;
use delaylab_model::{MICROSECOND, Nanos, SECOND};
use delaylab_traffic::path_trace::Said;
use delaylab_wire::path_probe::Mark;
use socket2::Socket;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// The kernel sends a SYN again that has not been answered for so long (RFC 6298, section 2). Which of the two was answered, nobody
/// knows.
pub(super) const SENT_AGAIN: Nanos = SECOND;
/// EINPROGRESS of Linux.
const IN_PROGRESS: i32 = 115;
/// The TCP header of a SYN with the options that Linux gives it.
const SYN: usize = 40;

/// Handshakes with one port.
pub(super) struct Handshakes {
    target: SocketAddr,
    interface: Option<String>,
    source: SocketAddr,
    /// Keeps the port from others.
    _port: Socket,
    poller: Poller,
    queue: ErrorQueue<4>,
    under_way: Option<Handshake>,
    /// What the connect call was told.
    arrived: Option<Arrived>,
}

/// The one that is under way.
struct Handshake {
    number: u16,
    socket: StreamSocket,
    sent_at: Nanos,
}

impl Handshakes {
    /// Takes a port.
    pub fn open(tracing: &PathTracing) -> Result<Self, OpenError> {
        let failed = |what| OpenError::socket(Method::TcpConnect, what);
        let target = tracing.target;
        let mut local = this_address(tracing)?;
        local.set_port(0);
        let port = socket(target, local).map_err(failed("port"))?;
        let bound = port.local_addr().map_err(failed("port"))?.as_socket();
        Ok(Self {
            target,
            interface: tracing.interface.clone(),
            source: bound.unwrap_or(local),
            _port: port,
            poller: Poller::new().map_err(failed("epoll"))?,
            queue: ErrorQueue::new(),
            under_way: None,
            arrived: None,
        })
    }

    /// A socket that is ready to connect.
    fn made(&self, traffic_class: u8, ttl: u8) -> io::Result<Socket> {
        let v6 = self.target.is_ipv6();
        let socket = socket(self.target, self.source)?;
        if let Some(name) = &self.interface {
            options::bind_to_interface(&socket, name)?;
        }
        options::set_traffic_class(&socket, v6, traffic_class)?;
        options::set_ttl(&socket, v6, ttl)?;
        options::receive_errors(&socket, v6, true)?;
        options::receive_marks(&socket, v6)?;
        // Without the kernel's stamps the reader's clock has to do.
        let _ = stamping::set(&socket, Flags::arrivals());
        socket.set_linger(Some(Duration::ZERO))?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    }

    /// The result of the current handshake.
    fn ended(&mut self) -> Option<Arrived> {
        let handshake = self.under_way.as_ref()?;
        let (number, target) = (handshake.number, self.target.ip());
        let stream = handshake.socket.stream();
        let Some(error) = stream.take_error().ok().flatten() else {
            stream.peer_addr().ok()?;
            let opened = Arrived {
                at: opened_after(&handshake.socket),
                ..Arrived::new(number, target, Said::Open, &Ancillary::default())
            };
            self.under_way = None;
            return Some(opened);
        };
        self.refused(&error)
    }

    /// Who refused the one under way, or let its hop limit run out; `None`: nobody says.
    fn refused(&mut self, error: &io::Error) -> Option<Arrived> {
        let handshake = self.under_way.take()?;
        let (number, target) = (handshake.number, self.target.ip());
        let mut told = None;
        let mut take = |beside: &Ancillary, _: &[u8]| {
            if let Some((by, said)) = icmp_error(beside) {
                told.get_or_insert(Arrived::new(number, by, said, beside));
            }
        };
        // Nothing more can be said where the queue cannot be read.
        let _ = self.queue.read(handshake.socket.as_fd(), 1, &mut take);
        if told.is_none() && error.kind() == io::ErrorKind::ConnectionRefused {
            let nothing = Ancillary::default();
            return Some(Arrived::new(number, target, Said::Closed, &nothing));
        }
        told
    }
}

/// From which address this host sends to the target.
fn this_address(tracing: &PathTracing) -> Result<SocketAddr, OpenError> {
    let target = tracing.target;
    let no_route = |source| OpenError::NoRoute { target, source };
    let socket = connected(tracing, target, no_route)?;
    socket.local_address().map_err(no_route)
}

/// A handshake's round trip is the first that TCP has of a connection.
fn opened_after(socket: &StreamSocket) -> Arrival {
    let info = socket.info().ok();
    let rtt = info.map(|info| Nanos::from(info.smoothed_rtt_us) * MICROSECOND);
    rtt.filter(|&rtt| rtt > 0)
        .map_or(Arrival::Read, Arrival::After)
}

/// A TCP socket with this address of this host, which it shares with others of this process.
fn socket(target: SocketAddr, source: SocketAddr) -> io::Result<Socket> {
    let socket = tcp_socket(target)?;
    if target.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_reuse_address(true)?;
    socket.bind(&source.into())?;
    Ok(socket)
}

impl Wires for Handshakes {
    fn packet_size(&self) -> usize {
        headers::ip(self.target.is_ipv6()) as usize + SYN
    }

    fn readable(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.poller.as_fd()]
    }

    fn send(&mut self, _: usize, mark: Mark) -> io::Result<Nanos> {
        // The port is free again once the last one is gone.
        self.under_way = None;
        let socket = self.made(mark.traffic_class, mark.ttl)?;
        let sent_at = clock::monotonic();
        let called = socket.connect(&self.target.into());
        let socket = StreamSocket::new(TcpStream::from(socket))?;
        self.poller.add(&socket, mark.number.into(), true)?;
        self.under_way = Some(Handshake {
            number: mark.number,
            socket,
            sent_at,
        });
        match called {
            Err(error) if error.raw_os_error() != Some(IN_PROGRESS) => {
                // Its answer may be there before the call returns; else nothing was sent.
                self.arrived = Some(self.refused(&error).ok_or(error)?);
            }
            _ => {}
        }
        Ok(sent_at)
    }

    fn receive(&mut self) -> io::Result<Option<Arrived>> {
        let arrived = self.arrived.take().or_else(|| self.ended());
        if arrived.is_none()
            && let Some(handshake) = &self.under_way
            && clock::monotonic() - handshake.sent_at >= SENT_AGAIN
        {
            self.under_way = None;
        }
        Ok(arrived)
    }
}
