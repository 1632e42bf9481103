//! TCP sockets whose bytes carry stamps.

use crate::ancillary::{self, Ancillary};
use crate::datagram::Blocking;
use crate::socket_options::{self, check, check_len};
use crate::stamping::{self, Flags};
use socket2::SockRef;
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Arc;

/// A connected TCP socket.
#[derive(Debug)]
pub struct StreamSocket {
    stream: Arc<TcpStream>,
}

/// What the kernel says of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpInfo {
    /// Segments retransmitted since the connection was opened.
    pub total_retransmits: u32,
    /// Smoothed round-trip time, in microseconds.
    pub smoothed_rtt_us: u32,
    /// The shortest round trip of the last minutes, the handshake's among them, in microseconds; `None` where the kernel
    /// does not say.
    pub least_rtt_us: Option<u32>,
    /// Largest segment sent, in bytes.
    pub send_mss: u32,
    /// Congestion window, in segments.
    pub congestion_window: u32,
    /// Bytes that the peer has acknowledged; `None` where the kernel does not count them.
    pub acknowledged: Option<u64>,
}

impl StreamSocket {
    /// Takes a connection over and turns Nagle's algorithm off: a probe must leave when it is sent.
    pub fn new(stream: impl Into<Arc<TcpStream>>) -> io::Result<Self> {
        let stream = stream.into();
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
            Err(error) if is_unknown(&error) => stamping::set(self, flags.without_tcp_ids()),
            set => set,
        }
    }

    /// The same where something may be unacknowledged. Returns how many bytes before this call ids begin to count.
    pub fn set_stamping_behind_others(&self, flags: Flags) -> io::Result<u32> {
        match stamping::set(self, flags) {
            Err(error) if is_unknown(&error) => {
                self.stamp_from_unacknowledged(flags.without_tcp_ids())
            }
            set => set.map(|()| 0),
        }
    }

    fn stamp_from_unacknowledged(&self, flags: Flags) -> io::Result<u32> {
        loop {
            let bytes = self.unacknowledged()?;
            stamping::restart_ids(self, flags)?;
            // What is acknowledged in between may be counted, or not.
            if self.unacknowledged()? == bytes {
                return Ok(bytes);
            }
        }
    }

    /// Bytes that it has been given to send and that the peer has not acknowledged.
    fn unacknowledged(&self) -> io::Result<u32> {
        let mut bytes: libc::c_int = 0;
        // SAFETY: SIOCOUTQ (tcp(7)), which is TIOCOUTQ, writes an int, as `bytes` is.
        check(unsafe { libc::ioctl(self.stream.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) })?;
        Ok(bytes.unsigned_abs())
    }

    /// Sets the congestion control algorithm; the kernel's default may be any.
    pub fn set_congestion_control(&self, name: &str) -> io::Result<()> {
        SockRef::from(&*self.stream).set_tcp_congestion(name.as_bytes())
    }

    /// Sets the traffic class and TTL of what it sends.
    pub fn set_marks(&self, v6: bool, traffic_class: u8, ttl: Option<u8>) -> io::Result<()> {
        socket_options::set_traffic_class(self, v6, traffic_class)?;
        ttl.map_or(Ok(()), |ttl| socket_options::set_ttl(self, v6, ttl))
    }

    /// Resets the connection, whoever else has a copy of the descriptor. A peer that waits for room to send
    /// would not learn of a mere end: it lies behind what that peer does not read.
    pub fn abort(&self) -> io::Result<()> {
        let nowhere = libc::AF_UNSPEC as libc::sa_family_t;
        // SAFETY: the pointer and length describe `nowhere`. To connect to no address is to disconnect
        // (connect(2)). A family alone names no address, so nothing else can be done by a call of this length:
        // a server's filter of system calls lets it through.
        check(unsafe {
            libc::connect(
                self.stream.as_raw_fd(),
                (&raw const nowhere).cast(),
                size_of::<libc::sa_family_t>() as libc::socklen_t,
            )
        })
        .map(drop)
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
        let (fd, flags) = (self.stream.as_raw_fd(), blocking.flags());
        let (length, beside, _) = ancillary::receive(fd, buffer, flags, None)?;
        Ok((length, beside))
    }

    /// Reads and throws away, without a copy, up to `most` bytes. 0 bytes: the peer closed.
    pub fn discard(&self, most: usize) -> io::Result<usize> {
        // SAFETY: with MSG_TRUNC a TCP socket throws the bytes away and writes nothing (tcp(7)), so the
        // null pointer is never written to.
        check_len(unsafe {
            libc::recv(
                self.stream.as_raw_fd(),
                std::ptr::null_mut(),
                most,
                libc::MSG_TRUNC,
            )
        })
    }

    /// The congestion control algorithm in use.
    pub fn congestion_control(&self) -> io::Result<String> {
        let name = SockRef::from(&*self.stream).tcp_congestion()?;
        let end = name.iter().position(|&byte| byte == 0);
        Ok(String::from_utf8_lossy(&name[..end.unwrap_or(name.len())]).into_owned())
    }

    /// Lets the peer have no more than so many bytes under way, until the kernel thinks better of it: from
    /// Linux 6.6 on it sets the clamp anew whenever the room that a segment takes has changed.
    pub fn set_window_clamp(&self, bytes: u32) -> io::Result<()> {
        let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
        self.set_int(libc::TCP_WINDOW_CLAMP, bytes)
    }

    /// Makes the receive buffer large enough for a window of so many bytes, and keeps the kernel from
    /// making it larger, which would take the window along.
    pub fn hold_receive_buffer(&self, window: u32) -> io::Result<()> {
        let window = i32::try_from(window).unwrap_or(i32::MAX);
        // Segments take room beside their bytes.
        crate::socket_options::set_receive_buffer(self, window.saturating_mul(2))
    }

    /// Takes no more bytes than so many that the network could not be given yet.
    pub fn set_unsent_limit(&self, bytes: u32) -> io::Result<()> {
        let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
        self.set_int(libc::TCP_NOTSENT_LOWAT, bytes)
    }

    fn set_int(&self, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
        socket_options::set_int(self.stream.as_raw_fd(), libc::IPPROTO_TCP, name, value)
    }

    /// Asks the kernel about the connection.
    pub fn info(&self) -> io::Result<TcpInfo> {
        let mut info = [0_u8; TCP_INFO];
        let (fd, level) = (self.stream.as_raw_fd(), libc::IPPROTO_TCP);
        let length = socket_options::get_value(fd, level, libc::TCP_INFO, &mut info)?;
        let word = |at: usize| {
            let bytes = info.get(at..).and_then(<[u8]>::first_chunk);
            u32::from_ne_bytes(bytes.copied().unwrap_or_default())
        };
        let acknowledged = info[ACKNOWLEDGED..].first_chunk().copied();
        Ok(TcpInfo {
            total_retransmits: word(100),
            smoothed_rtt_us: word(68),
            send_mss: word(16),
            congestion_window: word(80),
            least_rtt_us: Some(word(LEAST_RTT))
                .filter(|&rtt| length >= LEAST_RTT + 4 && rtt != u32::MAX),
            acknowledged: acknowledged
                .filter(|_| length >= ACKNOWLEDGED + 8)
                .map(u64::from_ne_bytes),
        })
    }
}

/// A kernel before 6.2 does not know OPT_ID_TCP.
fn is_unknown(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EINVAL)
}

/// The part of linux/tcp.h's tcp_info that is read here. Its fields never move; a kernel that has fewer
/// writes fewer. (The C libraries' own type ends before the counts of bytes.)
const TCP_INFO: usize = 152;
/// tcpi_bytes_acked in it.
const ACKNOWLEDGED: usize = 120;
/// tcpi_min_rtt in it.
const LEAST_RTT: usize = 148;

impl AsFd for StreamSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::ancillary::QueuedError;
    use crate::error_queue::ErrorQueue;
    use delaylab_model::probe::StampRequest;
    use std::net::TcpListener;
    use std::time::{Duration, Instant};

    fn pair() -> (StreamSocket, StreamSocket) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let server = listener.accept().unwrap().0;
        (
            StreamSocket::new(client).unwrap(),
            StreamSocket::new(server).unwrap(),
        )
    }

    #[test]
    fn the_kernel_counts_what_was_acknowledged() {
        let (client, server) = pair();
        client.set_congestion_control("reno").unwrap();
        assert_eq!(client.congestion_control().unwrap(), "reno");
        // The handshake counts as a byte.
        let before = client.info().unwrap().acknowledged.unwrap();
        client.send(&[7; 5000]).unwrap();
        let mut left = 5000;
        while left > 0 {
            left -= server.discard(3000).unwrap();
        }
        // The acknowledgement may still be under way.
        let begun = Instant::now();
        while client.info().unwrap().acknowledged != Some(before + 5000) {
            assert!(begun.elapsed() < Duration::from_secs(20));
        }
        let info = client.info().unwrap();
        assert!(info.congestion_window > 0 && info.send_mss > 0 && info.smoothed_rtt_us > 0);
        assert_eq!(info.total_retransmits, 0);
    }

    /// A copy of the descriptor keeps an end from being a close, and a peer without room waits behind it.
    #[test]
    fn an_abort_ends_a_send_that_waits_for_room() {
        let (client, server) = pair();
        let _copy = server.stream().try_clone().unwrap();
        let sender = std::thread::spawn(move || {
            loop {
                if let Err(error) = client.send(&[7; 60_000]) {
                    break error.kind();
                }
            }
        });
        // Most likely until nothing more fits; if not, the end is the same.
        std::thread::sleep(Duration::from_millis(200));
        server.abort().unwrap();
        let ended = sender.join().unwrap();
        let closed = [io::ErrorKind::ConnectionReset, io::ErrorKind::BrokenPipe];
        assert!(closed.contains(&ended), "{ended:?}");
    }

    /// As kernels before 6.2 do always, and this one where it is not asked for OPT_ID_TCP.
    #[test]
    fn ids_that_begin_with_unacknowledged_bytes_are_told_by_their_number() {
        let (client, server) = pair();
        client.stream().set_nonblocking(true).unwrap();
        let mut left = 0;
        while let Ok(taken) = client.send(&[7; 60_000]) {
            left += taken;
        }
        let flags = Flags::requests(StampRequest::Software).without_tcp_ids();
        let unacknowledged = client.stamp_from_unacknowledged(flags).unwrap();
        assert!(unacknowledged > 0 && unacknowledged as usize <= left);
        while left > 0 {
            left -= server.discard(left).unwrap();
        }
        let begun = Instant::now();
        while client.send(&[7]).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(20));
        }
        assert_eq!(server.discard(1).unwrap(), 1);
        let mut queue = ErrorQueue::<4>::new();
        let mut ids = Vec::new();
        while ids.is_empty() {
            let read = queue.read(client.as_fd(), 4, |beside, _| {
                if let Some(QueuedError::Stamp { id, .. } | QueuedError::Acknowledged { id }) =
                    beside.error
                {
                    ids.push(id);
                }
            });
            read.unwrap();
            assert!(begun.elapsed() < Duration::from_secs(20));
        }
        assert!(ids.iter().all(|&id| id == unacknowledged), "{ids:?}");
    }

    #[test]
    fn what_is_discarded_is_gone_and_the_end_is_seen() {
        let (client, server) = pair();
        client.send(b"abcdef").unwrap();
        assert_eq!(server.discard(4).unwrap(), 4);
        let mut rest = [0; 10];
        let (length, _) = server.receive(&mut rest, Blocking::Yes).unwrap();
        assert_eq!(&rest[..length], b"ef");
        drop(client);
        assert_eq!(server.discard(4).unwrap(), 0);
    }
}
