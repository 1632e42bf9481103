//! Reading a socket's error queue in batches: departure stamps and ICMP errors.

use crate::ancillary::{self, Ancillary, ControlBuffer};
use std::io;
use std::mem::MaybeUninit;
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

    /// Reads what there is, up to `BATCH` entries, without sleeping, and hands each to `take`, with
    /// the start of the packet that an ICMP error quotes. Room is made for `expected` entries and one
    /// more. `Ok(true)`: there may be others.
    pub fn read(
        &mut self,
        socket: BorrowedFd<'_>,
        expected: usize,
        mut take: impl FnMut(&Ancillary, &[u8]),
    ) -> io::Result<bool> {
        let room = (expected + 1).min(BATCH);
        let mut headers = [const { MaybeUninit::<libc::mmsghdr>::uninit() }; BATCH];
        let mut parts = [const { MaybeUninit::<libc::iovec>::uninit() }; BATCH];
        for index in 0..room {
            let part = parts[index].write(libc::iovec {
                iov_base: self.quotes[index].as_mut_ptr().cast(),
                iov_len: QUOTE_BYTES,
            });
            // SAFETY: all zeros is a valid mmsghdr.
            let header = headers[index].write(unsafe { std::mem::zeroed() });
            let header = &mut header.msg_hdr;
            header.msg_iov = part;
            header.msg_iovlen = 1;
            header.msg_control = (&raw mut self.controls[index]).cast();
            header.msg_controllen = size_of::<ControlBuffer>() as _;
        }
        // SAFETY: the first `room` headers are initialised, and every pointer in them describes memory
        // that outlives the call.
        let code = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                headers.as_mut_ptr().cast(),
                room as libc::c_uint,
                (libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT) as _,
                std::ptr::null_mut(),
            )
        };
        let count = match crate::socket_options::check(code) {
            Ok(count) => count as usize,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        for (header, quote) in headers[..count].iter().zip(self.quotes.iter()) {
            // SAFETY: `count` is at most `room`, and recvmmsg has filled the first `count` headers.
            let header = unsafe { header.assume_init_ref() };
            // SAFETY: as above.
            let beside = unsafe { ancillary::parse(&header.msg_hdr) };
            take(
                &beside,
                &quote[..(header.msg_len as usize).min(QUOTE_BYTES)],
            );
        }
        Ok(count == room)
    }
}
