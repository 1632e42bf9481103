//! Waiting for a socket until a deadline.

use crate::clock;
use crate::socket_options::check;
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
    let now = check(unsafe { libc::personality(READ) })?;
    let sticky = now.cast_unsigned() | libc::STICKY_TIMEOUTS.cast_unsigned();
    // SAFETY: takes an integer and changes only whether this thread's calls write time-outs back.
    check(unsafe { libc::personality(sticky.into()) }).map(drop)
}

/// Sleeps until the socket has something or `CLOCK_MONOTONIC` reaches `deadline` (`None`: no deadline).
pub fn until_readable(socket: BorrowedFd<'_>, deadline: Option<Nanos>) -> io::Result<Woken> {
    poll(&mut [for_reading(socket)], deadline)
}

/// Sleeps until the socket takes something, or the deadline.
pub fn until_writable(socket: BorrowedFd<'_>, deadline: Nanos) -> io::Result<Woken> {
    let writing = libc::pollfd {
        events: libc::POLLOUT,
        ..for_reading(socket)
    };
    poll(&mut [writing], Some(deadline))
}

/// Several sockets to wait for.
#[derive(Debug)]
pub struct Watched(Vec<libc::pollfd>);

impl Watched {
    /// These, which outlive it.
    pub fn new<'a>(sockets: impl IntoIterator<Item = BorrowedFd<'a>>) -> Self {
        Self(sockets.into_iter().map(for_reading).collect())
    }

    /// Sleeps until one of them has something or `CLOCK_MONOTONIC` reaches `deadline`.
    pub fn until_readable(&mut self, deadline: Option<Nanos>) -> io::Result<Woken> {
        poll(&mut self.0, deadline)
    }
}

fn for_reading(socket: BorrowedFd<'_>) -> libc::pollfd {
    libc::pollfd {
        fd: socket.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    }
}

fn poll(polled: &mut [libc::pollfd], deadline: Option<Nanos>) -> io::Result<Woken> {
    let timeout = deadline.map(|d| clock::to_timespec(d - clock::monotonic()));
    let timeout_ptr = timeout
        .as_ref()
        .map_or(std::ptr::null(), std::ptr::from_ref);
    let count = polled.len() as libc::nfds_t;
    // SAFETY: so many valid pollfds, a valid or null timeout, no signal mask.
    let code = unsafe { libc::ppoll(polled.as_mut_ptr(), count, timeout_ptr, std::ptr::null()) };
    match check(code) {
        Ok(0) => Ok(Woken::Deadline),
        Ok(_) => Ok(Woken::Ready),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Woken::Signal),
        Err(error) => Err(error),
    }
}
