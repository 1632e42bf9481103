//! Many datagrams in one call: a load's packets out, and how they begin, in.

use crate::ancillary;
use crate::datagram::DatagramSocket;
use crate::socket_options;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};

/// Packets in one call.
pub const BATCH: usize = 64;
/// Bytes at the beginning of a packet that are its own; the rest is the same in all.
pub const HEAD: usize = 16;

/// A packet to be sent: its own beginning, and how long it is in all.
#[derive(Debug, Clone, Copy, Default)]
pub struct Outgoing {
    /// Its first bytes.
    pub head: [u8; HEAD],
    /// How many of them count.
    pub head_length: usize,
    /// Bytes in all, the head among them.
    pub length: usize,
}

/// A packet that came: how it begins, and how long it was.
#[derive(Debug, Clone, Copy)]
pub struct Incoming {
    /// Its first bytes; zeros behind a shorter one.
    pub head: [u8; HEAD],
    /// Bytes in all.
    pub length: usize,
    /// Who sent it.
    pub from: Option<SocketAddr>,
}

/// Sends the packets on a connected socket, as many as it takes in one call (at most [`BATCH`]), and
/// says how many. What is behind a head is the beginning of `fill`, which must be long enough.
pub fn send(socket: &DatagramSocket, packets: &[Outgoing], fill: &[u8]) -> io::Result<usize> {
    let packets = &packets[..packets.len().min(BATCH)];
    // SAFETY: all zeros is a valid iovec and a valid mmsghdr (null pointers, zero lengths).
    let mut parts: [[libc::iovec; 2]; BATCH] = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    let mut messages: [libc::mmsghdr; BATCH] = unsafe { std::mem::zeroed() };
    for ((packet, parts), message) in packets.iter().zip(&mut parts).zip(&mut messages) {
        let head = packet.head_length.min(packet.length).min(HEAD);
        let fill = &fill[..packet.length - head];
        parts[0].iov_base = packet.head.as_ptr().cast_mut().cast();
        parts[0].iov_len = head;
        parts[1].iov_base = fill.as_ptr().cast_mut().cast();
        parts[1].iov_len = fill.len();
        message.msg_hdr.msg_iov = parts.as_mut_ptr();
        message.msg_hdr.msg_iovlen = 2;
    }
    // SAFETY: every pointer describes memory that outlives the call; the kernel only reads the packets.
    let code = unsafe {
        libc::sendmmsg(
            socket.as_fd().as_raw_fd(),
            messages.as_mut_ptr(),
            packets.len() as libc::c_uint,
            0,
        )
    };
    socket_options::check(code).map(|sent| sent as usize)
}

/// Reads how packets begin, as many as are there (at most [`BATCH`]), and hands them to `take`. Sleeps
/// until there is one, or for the socket's receive time-out.
pub fn receive(socket: &DatagramSocket, mut take: impl FnMut(&Incoming)) -> io::Result<()> {
    let mut heads = [[0_u8; HEAD]; BATCH];
    // SAFETY: all zeros is a valid sockaddr_storage, iovec and mmsghdr.
    let mut from: [libc::sockaddr_storage; BATCH] = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    let mut parts: [libc::iovec; BATCH] = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    let mut messages: [libc::mmsghdr; BATCH] = unsafe { std::mem::zeroed() };
    for index in 0..BATCH {
        parts[index].iov_base = heads[index].as_mut_ptr().cast();
        parts[index].iov_len = HEAD;
        let header = &mut messages[index].msg_hdr;
        header.msg_iov = &mut parts[index];
        header.msg_iovlen = 1;
        header.msg_name = (&raw mut from[index]).cast();
        header.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    }
    // SAFETY: every pointer describes memory that outlives the call. With MSG_TRUNC a length is the
    // packet's, but no more than HEAD bytes of it are written.
    let code = unsafe {
        libc::recvmmsg(
            socket.as_fd().as_raw_fd(),
            messages.as_mut_ptr(),
            BATCH as libc::c_uint,
            (libc::MSG_WAITFORONE | libc::MSG_TRUNC) as _,
            std::ptr::null_mut(),
        )
    };
    let count = socket_options::check(code)? as usize;
    for index in 0..count.min(BATCH) {
        let message = &messages[index];
        take(&Incoming {
            head: heads[index],
            length: message.msg_len as usize,
            from: ancillary::from_storage(&from[index], message.msg_hdr.msg_namelen),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::datagram::Kind;
    use crate::socket_options::dropped;

    fn pair() -> (DatagramSocket, DatagramSocket) {
        let open = || DatagramSocket::open(Kind::Udp, false).unwrap();
        let (client, server) = (open(), open());
        server.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        client.connect(server.local_address().unwrap()).unwrap();
        (client, server)
    }

    #[test]
    fn heads_and_lengths_arrive() {
        let (client, server) = pair();
        let packets: Vec<_> = (0..3_u8)
            .map(|number| Outgoing {
                head: [number; HEAD],
                head_length: 12,
                length: 8 + 100 * usize::from(number),
            })
            .collect();
        assert_eq!(send(&client, &packets, &[9; 300]).unwrap(), 3);
        let mut came = Vec::new();
        while came.len() < 3 {
            receive(&server, |packet| came.push(*packet)).unwrap();
        }
        for (sent, came) in packets.iter().zip(&came) {
            assert_eq!(came.length, sent.length);
            let own = sent.length.min(12);
            assert_eq!(came.head[..own], sent.head[..own]);
            let shared = sent.length.min(HEAD);
            assert!(came.head[own..shared].iter().all(|&byte| byte == 9));
            assert_eq!(came.from, Some(client.local_address().unwrap()));
        }
    }

    #[test]
    fn what_had_no_room_is_counted() {
        let (client, server) = pair();
        assert_eq!(dropped(&server).unwrap(), 0);
        let packets = [Outgoing {
            length: 1000,
            ..Outgoing::default()
        }; BATCH];
        for _ in 0..100 {
            send(&client, &packets, &[0; 1000]).unwrap();
        }
        assert!(dropped(&server).unwrap() > 0);
    }
}
