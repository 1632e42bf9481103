//! Load that a prober fetches: bulk TCP over the connection that it made.

use super::accept::{obey, read};
use super::{Shared, now};
use crate::connections::{CONGESTION_CONTROL, UNSENT, WRITE, is_nothing};
use crate::payload;
use delaylab_kernel::socket_options;
use delaylab_kernel::stream::{StreamSocket, TcpInfo};
use delaylab_model::probe::Fill;
use delaylab_model::{MILLISECOND, Nanos};
use delaylab_traffic::reflector::load::{LoadRef, Sending, Taken};
use delaylab_wire::control::{self, Name, Sender};
use socket2::SockRef;
use std::io;
use std::sync::OnceLock;
use std::time::Duration;

/// On a slow path a write takes its time: what the kernel says meanwhile is told so often.
const TELL_EVERY: Nanos = 100 * MILLISECOND;

/// Answers a packet that asks for load. `None`: it is another packet. Whether the kernel has the congestion control
/// is tried on the control connection: nothing but the kernel knows, and no file can be read any more.
pub fn answer(
    socket: &StreamSocket,
    session: LoadRef,
    packet: &[u8],
    reply: &mut [u8],
    shared: &Shared<'_>,
) -> Option<usize> {
    let set = |name: &str| socket.set_congestion_control(name).is_ok();
    let choose = |asked: Option<&Name>| match asked {
        Some(name) => set(name.as_str()).then(|| name.clone()),
        None => {
            let _ = set(CONGESTION_CONTROL);
            Name::new(&socket.congestion_control().ok()?)
        }
    };
    shared.sink().fetch(now(), session, packet, reply, choose)
}

/// Sends a session's load, once its prober says so, until the prober ends it or the limits do.
pub fn send_load(
    socket: &StreamSocket,
    session: LoadRef,
    sending: &Sending,
    v6: bool,
    shared: &Shared<'_>,
) -> io::Result<()> {
    if let Some(name) = &sending.congestion_control {
        socket.set_congestion_control(name.as_str())?;
    }
    socket.set_marks(v6, sending.traffic_class, None)?;
    if let Some(rate) = sending.rate {
        socket_options::set_most_rate(socket, rate / 8)?;
    }
    socket.set_unsent_limit(UNSENT)?;
    socket_options::set_send_timeout(socket, TELL_EVERY)?;
    let mut packet = [0; control::SIZE];
    let goes_on = || !shared.stopped() && shared.sink().is_alive(now(), session);
    if !read(socket, &mut packet, goes_on)? || !shared.sink().begins(now(), session, &packet) {
        return Ok(());
    }
    // What is still under way at the end is nobody's any more.
    SockRef::from(socket).set_linger(Some(Duration::ZERO))?;
    keep_full(socket, session, shared)
}

fn keep_full(socket: &StreamSocket, session: LoadRef, shared: &Shared<'_>) -> io::Result<()> {
    let first = socket.info()?;
    let mut written = 0;
    while !shared.stopped() {
        let length = match socket.send(fill()) {
            Ok(length) => length,
            Err(error) if is_nothing(&error) => 0,
            Err(error) => return Err(error),
        };
        written += length as u64;
        let tell = |length| told(socket, session, length, (first, written), shared);
        if !obey(shared, length, tell)? {
            return Ok(());
        }
    }
    Ok(())
}

/// Tells the state machine how far the connection is.
fn told(
    socket: &StreamSocket,
    session: LoadRef,
    length: usize,
    (first, written): (TcpInfo, u64),
    shared: &Shared<'_>,
) -> io::Result<Taken> {
    let info = socket.info()?;
    let sender = Sender {
        smoothed_rtt_us: info.smoothed_rtt_us,
        congestion_window: info.congestion_window.saturating_mul(info.send_mss),
        retransmits: info.total_retransmits,
    };
    let since = |first: u64| move |acknowledged: u64| acknowledged.saturating_sub(first);
    let acknowledged = (info.acknowledged).map(since(first.acknowledged.unwrap_or(0)));
    let acknowledged = acknowledged.unwrap_or(written);
    let taken = shared
        .sink()
        .sent(now(), session, length, acknowledged, sender);
    Ok(taken)
}

/// What is sent, again and again: the same bytes for all, as nobody looks at them, but none that could be made
/// smaller on the way.
fn fill() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| payload::filled(&Fill::Random, WRITE, 0))
}
