//! What a datagram channel asks of its socket, and the kernel's own as the one that answers.
//!
//! Tests put a socket in its place that plays another kernel.

use delaylab_kernel::ancillary::Ancillary;
use delaylab_kernel::datagram::{Blocking, DatagramSocket, Received};
use delaylab_kernel::error_queue::ErrorQueue;
use delaylab_kernel::stamping::Flags;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// A connected datagram socket.
pub trait ProbeSocket {
    /// One send call.
    fn send(&self, packet: &[u8]) -> io::Result<usize>;

    /// One receive call, the packet alone.
    fn receive_plain(&self, buffer: &mut [u8], blocking: Blocking) -> io::Result<Received>;

    /// One receive call, with stamps and marks.
    fn receive(&self, buffer: &mut [u8], blocking: Blocking) -> io::Result<Received>;

    /// Reads a batch of the error queue: see [`ErrorQueue::read`].
    fn read_errors(
        &self,
        queue: &mut ErrorQueue,
        expected: usize,
        take: impl FnMut(&Ancillary, &[u8]),
    ) -> io::Result<bool>;

    /// Asks for stamps.
    fn set_stamping(&self, flags: Flags) -> io::Result<()>;

    /// To wait on.
    fn descriptor(&self) -> BorrowedFd<'_>;
}

impl ProbeSocket for DatagramSocket {
    #[inline]
    fn send(&self, packet: &[u8]) -> io::Result<usize> {
        DatagramSocket::send(self, packet)
    }

    #[inline]
    fn receive_plain(&self, buffer: &mut [u8], blocking: Blocking) -> io::Result<Received> {
        DatagramSocket::receive_plain(self, buffer, blocking)
    }

    #[inline]
    fn receive(&self, buffer: &mut [u8], blocking: Blocking) -> io::Result<Received> {
        DatagramSocket::receive(self, buffer, blocking)
    }

    #[inline]
    fn read_errors(
        &self,
        queue: &mut ErrorQueue,
        expected: usize,
        take: impl FnMut(&Ancillary, &[u8]),
    ) -> io::Result<bool> {
        queue.read(self.as_fd(), expected, take)
    }

    fn set_stamping(&self, flags: Flags) -> io::Result<()> {
        DatagramSocket::set_stamping(self, flags)
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.as_fd()
    }
}
