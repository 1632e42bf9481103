//! Reading a socket's error queue in batches: departure stamps and ICMP errors.

use crate::ancillary::{self, Ancillary, ControlBuffer};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Entries read by one system call of a sender: two stamps a packet make this 32 packets.
const SENDER_BATCH: usize = 64;
/// Bytes kept of the packet that an ICMP error quotes: enough for every probe's header.
const QUOTE_BYTES: usize = 64;

/// Buffers for reading an error queue, `BATCH` entries at a time; made once and used again.
pub struct ErrorQueue<const BATCH: usize = SENDER_BATCH> {
    controls: Box<[ControlBuffer; BATCH]>,
    quotes: Box<[[u8; QUOTE_BYTES]; BATCH]>,
}

impl<const BATCH: usize> Default for ErrorQueue<BATCH> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const BATCH: usize> std::fmt::Debug for ErrorQueue<BATCH> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ErrorQueue")
    }
}

impl<const BATCH: usize> ErrorQueue<BATCH> {
    /// Allocates the buffers.
    pub fn new() -> Self {
        Self {
            controls: Box::new([ControlBuffer::new(); BATCH]),
            quotes: Box::new([[0; QUOTE_BYTES]; BATCH]),
        }
    }

    /// Reads up to `BATCH` entries without sleeping and hands each to `take`, with the start of the
    /// packet that an ICMP error quotes. `Ok(true)`: there may be more.
    pub fn read(
        &mut self,
        socket: BorrowedFd<'_>,
        mut take: impl FnMut(&Ancillary, &[u8]),
    ) -> io::Result<bool> {
        // SAFETY: all zeros is a valid mmsghdr and a valid iovec.
        let mut headers: [libc::mmsghdr; BATCH] = unsafe { std::mem::zeroed() };
        let mut parts: [libc::iovec; BATCH] = unsafe { std::mem::zeroed() };
        for index in 0..BATCH {
            parts[index].iov_base = self.quotes[index].as_mut_ptr().cast();
            parts[index].iov_len = QUOTE_BYTES;
            let header = &mut headers[index].msg_hdr;
            header.msg_iov = &mut parts[index];
            header.msg_iovlen = 1;
            header.msg_control = (&raw mut self.controls[index]).cast();
            header.msg_controllen = size_of::<ControlBuffer>() as _;
        }
        // SAFETY: every pointer in `headers` describes memory that outlives the call.
        let code = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                headers.as_mut_ptr(),
                BATCH as libc::c_uint,
                libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        };
        let count = match crate::socket_options::check(code) {
            Ok(count) => count as usize,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        for (header, quote) in headers[..count].iter().zip(self.quotes.iter()) {
            // SAFETY: recvmmsg has filled the first `count` headers.
            let beside = unsafe { ancillary::parse(&header.msg_hdr) };
            take(
                &beside,
                &quote[..(header.msg_len as usize).min(QUOTE_BYTES)],
            );
        }
        Ok(count == BATCH)
    }
}
