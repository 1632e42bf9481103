//! One packet out and its answer in, beside the measured stream: setting up and winding up.

use super::socket::ProbeSocket;
use delaylab_kernel::datagram::Blocking;
use delaylab_kernel::{clock, wait};
use delaylab_model::Nanos;
use std::io;

/// Sends `packet` and waits up to `patience` for an answer that `take` accepts, whatever else comes. `None`: none came,
/// or a signal did. Packets longer than `buffer` are cut.
pub fn exchange<T>(
    socket: &impl ProbeSocket,
    packet: &[u8],
    buffer: &mut [u8],
    patience: Nanos,
    mut take: impl FnMut(&[u8]) -> Option<T>,
) -> io::Result<Option<T>> {
    socket.send(packet)?;
    let deadline = clock::monotonic() + patience;
    loop {
        match socket.receive_plain(buffer, Blocking::No) {
            Ok(received) => {
                let length = received.length.min(buffer.len());
                if let Some(answer) = take(&buffer[..length]) {
                    return Ok(Some(answer));
                }
                if clock::monotonic() >= deadline {
                    return Ok(None);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                // What lies in the error queue makes every wait end at once: the clock decides.
                let woken = wait::until_readable(socket.descriptor(), Some(deadline))?;
                if woken != wait::Woken::Ready || clock::monotonic() >= deadline {
                    return Ok(None);
                }
            }
            Err(error) => return Err(error),
        }
    }
}
