//! What all services over tcp have in common: connections accepted, and the first packet of each read.

use super::places::Place;
use super::{Shared, bind, start};
use delaylab_kernel::clock;
use delaylab_kernel::datagram::Blocking;
use delaylab_kernel::stream::StreamSocket;
use delaylab_kernel::wait::{self, Woken};
use delaylab_model::{Nanos, SECOND};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::thread::Scope;

/// A connection that has not said what it wants by then is closed.
const HELLO_WITHIN: Nanos = 5 * SECOND;

/// Accepts connections from those who are admitted until told to stop, and serves each on a thread of its
/// own, while it has a place.
pub fn serve<'scope, 'env>(
    listener: &TcpListener,
    shared: &'scope Shared<'env>,
    scope: &'scope Scope<'scope, 'env>,
    admits: impl Fn(IpAddr) -> bool,
    connection: fn(TcpStream, SocketAddr, &'scope Shared<'env>, Place<'scope>) -> io::Result<()>,
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
        if !admits(from.ip()) {
            continue;
        }
        let Some(place) = shared.places.take(from.ip()) else {
            continue;
        };
        // Where no thread can be started, the connection is closed and its place free again.
        let _ = start(scope, move || {
            // An error is this connection's end and nobody else's business.
            let _ = connection(stream, from, shared, place);
        });
    }
}

/// Reads the first packet of a connection and not a byte more. False: it did not come in time, the peer
/// closed, or the reflector is to stop.
pub fn read_first(
    socket: &StreamSocket,
    packet: &mut [u8],
    shared: &Shared<'_>,
) -> io::Result<bool> {
    let deadline = clock::monotonic() + HELLO_WITHIN;
    read(socket, packet, || {
        !shared.stopped() && clock::monotonic() <= deadline
    })
}

/// Reads a whole packet and not a byte more. False: the peer closed, or it is to go on no longer.
pub fn read(
    socket: &StreamSocket,
    packet: &mut [u8],
    goes_on: impl Fn() -> bool,
) -> io::Result<bool> {
    let mut length = 0;
    while length < packet.len() {
        if !goes_on() {
            return Ok(false);
        }
        match socket.receive(&mut packet[length..], Blocking::Yes) {
            Ok((0, _)) => return Ok(false),
            Ok((more, _)) => length += more,
            Err(error) if is_time_out(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Nothing came for a while.
pub fn is_time_out(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}
