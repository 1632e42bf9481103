//! What all services over tcp have in common: connections accepted, and the first packet of each read.

use super::{Shared, bind, start};
use crate::connections::is_nothing;
use crate::places::{Place, Places};
use delaylab_kernel::clock;
use delaylab_kernel::datagram::Blocking;
use delaylab_kernel::stream::StreamSocket;
use delaylab_kernel::wait::{self, Woken};
use delaylab_model::{MILLISECOND, Nanos, SECOND};
use delaylab_traffic::admission::{Full, Limits, Share};
use delaylab_traffic::reflector::Policy;
use delaylab_traffic::reflector::load::Taken;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread::Scope;

/// A connection that has not said what it wants by then is closed.
const HELLO_WITHIN: Nanos = 5 * SECOND;
/// Connections at once.
const ALL: usize = 256;
/// Connections at once that have proven nothing: no request of a session was answered yet.
const UNPROVEN: usize = 192;
/// Connections at once that have no place, and are refused with that reason.
const CROWDED: usize = 64;
/// These have said what they want by then.
const CROWDED_HELLO_WITHIN: Nanos = SECOND;
/// Where a connection cannot be accepted, such as when descriptors have run out, so long is waited.
const PAUSE: Nanos = 50 * MILLISECOND;

/// How many connections there may be. A key makes those equal that have it; without one, neither a network nor
/// an address gets all places.
pub fn limits(policy: &Policy) -> Limits {
    let shared = Share {
        all: ALL,
        network: ALL / 2,
        address: ALL / 2,
    };
    Limits {
        places: if policy.is_keyed() {
            Share::of_all(ALL)
        } else {
            shared
        },
        unproven: Share {
            all: UNPROVEN,
            network: UNPROVEN / 2,
            address: UNPROVEN / 3,
        },
        prove_within: policy.prove_within,
        grace: 0,
    }
}

/// What connections have for which there is no place.
pub const fn crowded_limits() -> Limits {
    Limits {
        places: Share::of_all(CROWDED),
        unproven: Share::of_all(CROWDED),
        prove_within: CROWDED_HELLO_WITHIN,
        // The one that is read just now is not to make way for the next.
        grace: CROWDED_HELLO_WITHIN,
    }
}

/// What a connection has: a place, or one among those that are refused.
pub struct Entry {
    place: Place,
    /// Why it has none of its own.
    pub full: Option<Full>,
}

impl Entry {
    /// A place of its own.
    pub fn into_place(self) -> Option<Place> {
        self.full.is_none().then_some(self.place)
    }

    /// The connection has proven itself.
    pub fn proven(&self) {
        self.place.proven();
    }
}

/// Accepts connections from those who are admitted until told to stop, and serves each on a thread of its
/// own, while it has a place or can be refused.
pub fn serve<'scope, 'env>(
    listener: &TcpListener,
    shared: &'scope Shared<'env>,
    scope: &'scope Scope<'scope, 'env>,
    places: &Places,
    admits: impl Fn(IpAddr) -> bool,
    connection: fn(Arc<TcpStream>, SocketAddr, &'scope Shared<'env>, Entry) -> io::Result<()>,
) {
    while !shared.stopped() {
        let look = clock::monotonic() + bind::LOOK_EVERY;
        match wait::until_readable(listener.as_fd(), Some(look)) {
            Ok(Woken::Ready) => {}
            _ => continue,
        }
        let (stream, from) = match listener.accept() {
            Ok((stream, from)) => (Arc::new(stream), from),
            Err(error) => {
                if !is_over(&error) {
                    // The connection stays in the queue, and the listener readable.
                    places.free_one();
                    let _ = clock::sleep_until(clock::monotonic() + PAUSE);
                }
                continue;
            }
        };
        if !admits(from.ip()) {
            continue;
        }
        let take = |places: &Places| places.take(clock::monotonic(), from.ip(), stream.clone());
        let (taken, full) = match take(places) {
            Ok(place) => (Ok(place), None),
            Err(full) => (take(&shared.crowded), Some(full)),
        };
        let Ok(place) = taken else { continue };
        let entry = Entry { place, full };
        // Where no thread can be started, the connection is closed and its place free again.
        let _ = start(scope, move || {
            // An error is this connection's end and nobody else's business.
            let _ = connection(stream, from, shared, entry);
        });
    }
}

/// Reads the first packet of a connection and not a byte more. False: it did not come in time, the peer
/// closed, or the reflector is to stop.
pub fn read_first(
    socket: &StreamSocket,
    packet: &mut [u8],
    entry: &Entry,
    shared: &Shared<'_>,
) -> io::Result<bool> {
    let within = match entry.full {
        None => HELLO_WITHIN,
        Some(_) => CROWDED_HELLO_WITHIN,
    };
    let deadline = clock::monotonic() + within;
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
            Err(error) if is_nothing(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Tells the state machine of these bytes, and of none until the limits hold the session back no longer. False: it is
/// over.
pub fn obey(
    shared: &Shared<'_>,
    length: usize,
    mut tell: impl FnMut(usize) -> io::Result<Taken>,
) -> io::Result<bool> {
    let mut taken = tell(length)?;
    while let Taken::Wait(pause) = taken {
        if shared.stopped() {
            return Ok(false);
        }
        let _ = clock::sleep_until(clock::monotonic() + pause);
        taken = tell(0)?;
    }
    Ok(taken != Taken::Close)
}

/// The connection is gone already, or was none.
fn is_over(error: &io::Error) -> bool {
    is_nothing(error) || error.kind() == io::ErrorKind::ConnectionAborted
}
