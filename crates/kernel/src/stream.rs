//! TCP sockets whose bytes carry stamps.

use crate::ancillary::{self, Ancillary, ControlBuffer};
use crate::datagram::Blocking;
use crate::socket_options::{self, check, check_len};
use crate::stamping::{self, Flags};
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// A connected TCP socket.
#[derive(Debug)]
pub struct StreamSocket {
    stream: TcpStream,
}

/// What the kernel says of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpInfo {
    /// Segments retransmitted since the connection was opened.
    pub total_retransmits: u32,
    /// Smoothed round-trip time, in microseconds.
    pub smoothed_rtt_us: u32,
    /// Largest segment sent, in bytes.
    pub send_mss: u32,
}

impl StreamSocket {
    /// Takes a connection over and turns Nagle's algorithm off: a probe must leave when it is sent.
    pub fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self { stream })
    }

    /// The connection.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Asks for stamps. Ids are byte offsets from this call on, so nothing may be unacknowledged.
    pub fn set_stamping(&self, flags: Flags) -> io::Result<()> {
        // Kernels before OPT_ID_TCP count from the oldest unacknowledged byte: the same here.
        match stamping::set(self, flags) {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                stamping::set(self, flags.without_tcp_ids())
            }
            set => set,
        }
    }

    /// Sets the congestion control algorithm; the kernel's default may be any.
    pub fn set_congestion_control(&self, name: &str) -> io::Result<()> {
        // SAFETY: the pointer and length describe `name`.
        let code = unsafe {
            libc::setsockopt(
                self.stream.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_CONGESTION,
                name.as_ptr().cast(),
                name.len() as libc::socklen_t,
            )
        };
        check(code).map(drop)
    }

    /// Sets the traffic class and TTL of what it sends.
    pub fn set_marks(&self, v6: bool, traffic_class: u8, ttl: Option<u8>) -> io::Result<()> {
        socket_options::set_traffic_class(self, v6, traffic_class)?;
        ttl.map_or(Ok(()), |ttl| socket_options::set_ttl(self, v6, ttl))
    }

    /// One send call; may take fewer bytes than offered.
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        // SAFETY: the pointer and length describe `bytes`. No SIGPIPE: a closed peer is an error here.
        check_len(unsafe {
            libc::send(
                self.stream.as_raw_fd(),
                bytes.as_ptr().cast(),
                bytes.len(),
                libc::MSG_NOSIGNAL,
            )
        })
    }

    /// One receive call with the stamp of the last byte that it returned. 0 bytes: the peer closed.
    pub fn receive(&self, buffer: &mut [u8], blocking: Blocking) -> io::Result<(usize, Ancillary)> {
        let mut control = ControlBuffer::new();
        let mut part = libc::iovec {
            iov_base: buffer.as_mut_ptr().cast(),
            iov_len: buffer.len(),
        };
        // SAFETY: all zeros is a valid msghdr.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        header.msg_iov = &mut part;
        header.msg_iovlen = 1;
        header.msg_control = (&raw mut control).cast();
        header.msg_controllen = size_of::<ControlBuffer>() as _;
        // SAFETY: every pointer in `header` describes memory that outlives the call.
        let length = check_len(unsafe {
            libc::recvmsg(self.stream.as_raw_fd(), &mut header, blocking.flags())
        })?;
        // SAFETY: recvmsg has just filled `header`.
        Ok((length, unsafe { ancillary::parse(&header) }))
    }

    /// Asks the kernel about the connection.
    pub fn info(&self) -> io::Result<TcpInfo> {
        // SAFETY: all zeros is a valid tcp_info; the length tells the kernel how much fits.
        let info = unsafe {
            let mut info: libc::tcp_info = std::mem::zeroed();
            let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
            check(libc::getsockopt(
                self.stream.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                (&raw mut info).cast(),
                &mut length,
            ))?;
            info
        };
        Ok(TcpInfo {
            total_retransmits: info.tcpi_total_retrans,
            smoothed_rtt_us: info.tcpi_rtt,
            send_mss: info.tcpi_snd_mss,
        })
    }
}

impl AsFd for StreamSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
