//! Sockets that see and send whole frames of one interface (`AF_PACKET`).

use crate::ancillary;
use crate::interfaces;
use crate::socket_options::{self, check, set_int};
use crate::stamping::{self, Flags};
use delaylab_model::Nanos;
use socket2::{Socket, Type};
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// Every protocol, as `socket(2)` wants it: in network byte order.
const ALL_PROTOCOLS: u16 = (libc::ETH_P_ALL as u16).to_be();

/// A frame that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// Bytes of it, without the frame check sequence.
    pub length: usize,
    /// When it arrived in the kernel, `CLOCK_REALTIME`.
    pub stamp: Option<Nanos>,
}

/// Frames of one interface in both directions. It does not see what it sends itself.
#[derive(Debug)]
pub struct PacketSocket(Socket);

impl PacketSocket {
    /// On this interface of the calling thread's network namespace. Needs `CAP_NET_RAW` there.
    pub fn open(interface: &str) -> io::Result<Self> {
        let index = interfaces::index_of(interface)?;
        // No protocol yet: it sees nothing before it is bound.
        let opened = Socket::new(libc::AF_PACKET.into(), Type::RAW.nonblocking(), None)?;
        let socket = Self(opened);
        socket.set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)?;
        // Straight to the driver: the interface's own queue is no part of a switch.
        socket.set(libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1)?;
        socket.set(libc::SOL_PACKET, libc::PACKET_AUXDATA, 1)?;
        stamping::set(&socket, Flags::arrivals())?;
        // SAFETY: all zeros is a valid sockaddr_ll.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = ALL_PROTOCOLS;
        address.sll_ifindex = libc::c_int::try_from(index).map_err(io::Error::other)?;
        // SAFETY: a whole sockaddr_ll and its size.
        check(unsafe {
            libc::bind(
                socket.0.as_raw_fd(),
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as libc::socklen_t,
            )
        })?;
        Ok(socket)
    }

    /// Room for frames that wait to be read. The kernel may double it.
    pub fn set_receive_buffer(&self, bytes: i32) -> io::Result<()> {
        socket_options::set_receive_buffer(self, bytes)
    }

    fn set(&self, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
        set_int(self.0.as_raw_fd(), level, option, value)
    }

    /// The next frame. `WouldBlock`: there is none.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Received> {
        let fd = self.0.as_raw_fd();
        let (length, beside, _) = ancillary::receive(fd, buffer, libc::MSG_DONTWAIT, None)?;
        Ok(Received {
            length: match beside.tag {
                Some(tag) => put_back(tag, buffer, length),
                None => length,
            },
            stamp: beside.software,
        })
    }

    /// The same socket once more, for another thread.
    pub fn duplicate(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// Frames that this socket had no room for since it was opened; `None` where the kernel does not
    /// say.
    pub fn overflowed(&self) -> Option<u32> {
        socket_options::dropped(self).ok()
    }

    /// Sends a frame. `WouldBlock` or no buffers: the interface takes no more just now.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        let sent = self.0.send_with_flags(frame, libc::MSG_DONTWAIT);
        sent.map(drop)
    }
}

/// The tag of a VLAN, which the kernel takes out of a frame, where it belongs: behind the two addresses. Returns how long the
/// frame then is.
fn put_back(tag: [u8; 4], buffer: &mut [u8], length: usize) -> usize {
    const ADDRESSES: usize = 12;
    let whole = length + tag.len();
    if length < ADDRESSES || whole > buffer.len() {
        return length;
    }
    buffer.copy_within(ADDRESSES..length, ADDRESSES + tag.len());
    buffer[ADDRESSES..ADDRESSES + tag.len()].copy_from_slice(&tag);
    whole
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_behind_the_addresses() {
        let mut buffer: Vec<u8> = (0..20).collect();
        let tag = [0x81, 0, 0, 7];
        assert_eq!(put_back(tag, &mut buffer, 15), 19);
        let (addresses, rest) = buffer.split_at(12);
        assert!((0..12).eq(addresses.iter().copied()));
        assert_eq!(rest[..7], [0x81, 0, 0, 7, 12, 13, 14]);
        // No room, and no frame.
        assert_eq!(put_back(tag, &mut buffer, 17), 17);
        assert_eq!(put_back(tag, &mut buffer, 11), 11);
    }
}
