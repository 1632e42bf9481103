//! The sink of loads: a thread that counts datagrams, one that accepts connections, one a connection.
//!
//! It must not make the noise that the probes measure: nothing is copied that is only counted, and the
//! thread of datagrams rests between reads.

use super::accept::{self, Entry, read};
use super::{Shared, bind, fetch, now};
use crate::connections::is_nothing;
use crate::places::Place;
use delaylab_kernel::batch;
use delaylab_kernel::datagram::DatagramSocket;
use delaylab_kernel::stream::StreamSocket;
use delaylab_kernel::{clock, socket_options};
use delaylab_model::{MILLISECOND, Nanos, SECOND};
use delaylab_traffic::reflector::load::{LoadOpening, LoadRef};
use delaylab_wire::control;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::Scope;

/// The thread of datagrams rests so long between reads; its buffer holds what comes meanwhile.
const REST: Nanos = MILLISECOND;
/// One read of a connection.
const READ: usize = 1 << 20;

/// Counts datagrams until it is to stop. `number` is the socket's among those of the sink.
pub fn count(socket: &DatagramSocket, number: usize, shared: &Shared<'_>) {
    let _ = delaylab_kernel::process::own_descriptors();
    let mut next_look = 0;
    let mut overflow = shared.overflow(socket);
    let mut told = 0;
    while !shared.stopped() {
        let mut came = 0;
        let read = {
            // One that came at once is the first of its batch; the lock is taken once it is there.
            let mut sink = None;
            batch::receive(socket, |packet| {
                let sink = sink.get_or_insert_with(|| (shared.sink(), now()));
                came += 1;
                if let Some(from) = packet.from {
                    sink.0
                        .datagram(sink.1, number, from.ip(), &packet.head, packet.length);
                }
            })
        };
        let time = clock::monotonic();
        if time >= next_look {
            next_look = time + REST * 20;
            let overflowed = overflow.count(socket);
            let more = overflowed.wrapping_sub(std::mem::replace(&mut told, overflowed));
            if more > 0 {
                shared.sink().overflowed(number, more.into());
            }
        }
        // A full batch: there is more.
        if read.is_ok() && came < batch::BATCH {
            let _ = clock::sleep_until(time + REST);
        }
    }
}

/// Accepts connections until told to stop.
pub fn serve<'scope, 'env>(
    listener: &TcpListener,
    shared: &'scope Shared<'env>,
    scope: &'scope Scope<'scope, 'env>,
) {
    let admits = |from| shared.sink().admits(from);
    accept::serve(
        listener,
        shared,
        scope,
        &shared.load_places,
        admits,
        connection,
    );
}

fn connection(
    stream: Arc<TcpStream>,
    from: SocketAddr,
    shared: &Shared<'_>,
    entry: Entry,
) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    let socket = StreamSocket::new(stream)?;
    socket_options::set_receive_timeout(&socket, bind::LOOK_EVERY)?;
    socket_options::set_send_timeout(&socket, SECOND)?;
    let mut packet = [0; control::SIZE];
    let mut reply = [0; control::SIZE];
    if !accept::read_first(&socket, &mut packet, &entry, shared)? {
        return Ok(());
    }
    let opening = (shared.sink()).open(now(), from.ip(), &packet, entry.full, &mut reply);
    // The data of a session needs none: there are no more of these connections than of those that opened sessions.
    let place = entry.into_place();
    match (opening, place) {
        (LoadOpening::Control(length, session), Some(place)) => {
            let ended = send(&socket, &reply[..length])
                .and_then(|()| answer(&socket, session, shared, &place));
            shared.sink().closed(session);
            ended
        }
        (LoadOpening::Data(session, window), place) => {
            // Its first packet was made with the session's key.
            place.iter().for_each(Place::proven);
            if let Some(bytes) = window {
                socket.hold_receive_buffer(bytes)?;
            }
            take(&socket, session, window, shared)
        }
        (LoadOpening::Send(session, sending), place) => {
            place.iter().for_each(Place::proven);
            fetch::send_load(&socket, session, &sending, from.is_ipv6(), shared)
        }
        (LoadOpening::Refused(length), _) => send(&socket, &reply[..length]),
        (LoadOpening::Control(..) | LoadOpening::Close, _) => Ok(()),
    }
}

/// Answers what is asked of a session, until its connection ends.
fn answer(
    socket: &StreamSocket,
    session: LoadRef,
    shared: &Shared<'_>,
    place: &Place,
) -> io::Result<()> {
    let mut packet = [0; control::SIZE];
    let mut reply = [0; control::SIZE];
    let goes_on = || !shared.stopped() && shared.sink().is_alive(now(), session);
    while read(socket, &mut packet, goes_on)? {
        let length = fetch::answer(socket, session, &packet, &mut reply, shared);
        let length = length.or_else(|| shared.sink().control(now(), session, &packet, &mut reply));
        let Some(length) = length else { break };
        place.proven();
        send(socket, &reply[..length])?;
    }
    Ok(())
}

/// Takes a session's data until it ends.
fn take(
    socket: &StreamSocket,
    session: LoadRef,
    window: Option<u32>,
    shared: &Shared<'_>,
) -> io::Result<()> {
    while !shared.stopped() {
        // Said again and again: the kernel forgets it when it learns how long segments are.
        if let Some(bytes) = window {
            socket.set_window_clamp(bytes)?;
        }
        let length = match socket.discard(READ) {
            Ok(0) => return Ok(()),
            Ok(length) => length,
            // It has nothing to send, and no limit holds it back.
            Err(error) if is_nothing(&error) => match shared.sink().is_alive(now(), session) {
                true => continue,
                false => return Ok(()),
            },
            Err(error) => return Err(error),
        };
        let tell = |length| Ok(shared.sink().bytes(now(), session, length));
        if !accept::obey(shared, length, tell)? {
            return Ok(());
        }
    }
    Ok(())
}

/// Small enough for any buffer: it is taken whole, or the peer takes nothing.
fn send(socket: &StreamSocket, bytes: &[u8]) -> io::Result<()> {
    match socket.send(bytes)? {
        length if length == bytes.len() => Ok(()),
        _ => Err(io::ErrorKind::TimedOut.into()),
    }
}
