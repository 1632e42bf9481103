//! Waiting for a socket until a deadline.

use crate::clock;
use delaylab_model::Nanos;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// What a wait ended with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// Something can be read, from the socket or its error queue.
    Ready,
    /// The deadline came.
    Deadline,
    /// A signal came.
    Signal,
}

/// Lets [`until_readable`] keep its deadline when the calling thread is stopped (`SIGSTOP`, a debugger)
/// and goes on: it then ends with [`Woken::Signal`]. Otherwise the kernel writes back the time that was
/// left when the stop came, and begins the sleep anew with it.
pub fn keep_deadlines_over_stops() -> io::Result<()> {
    const READ: libc::c_ulong = 0xffff_ffff;
    // SAFETY: takes an integer; this one only reads.
    let now = crate::socket_options::check(unsafe { libc::personality(READ) })?;
    let sticky = now.cast_unsigned() | libc::STICKY_TIMEOUTS.cast_unsigned();
    // SAFETY: takes an integer and changes only whether this thread's calls write time-outs back.
    crate::socket_options::check(unsafe { libc::personality(sticky.into()) }).map(drop)
}

/// Sleeps until the socket has something or `CLOCK_MONOTONIC` reaches `deadline` (`None`: no deadline).
pub fn until_readable(socket: BorrowedFd<'_>, deadline: Option<Nanos>) -> io::Result<Woken> {
    let mut poll = libc::pollfd {
        fd: socket.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let timeout = deadline.map(|d| clock::to_timespec(d - clock::monotonic()));
    let timeout_ptr = timeout
        .as_ref()
        .map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: one valid pollfd, a valid or null timeout, no signal mask.
    let code = unsafe { libc::ppoll(&mut poll, 1, timeout_ptr, std::ptr::null()) };
    match crate::socket_options::check(code) {
        Ok(0) => Ok(Woken::Deadline),
        Ok(_) => Ok(Woken::Ready),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Woken::Signal),
        Err(error) => Err(error),
    }
}
