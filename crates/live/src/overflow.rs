//! How many datagrams a socket had no room for.

use delaylab_kernel::socket_options;
use delaylab_kernel::udp_errors::UdpErrors;
use delaylab_model::method::Carrier;
use std::os::fd::AsFd;
use std::sync::Arc;

/// Counts them from when it was made.
///
/// A socket's count of what it dropped also has what arrived corrupted, which is the path's doing. So of UDP no more is
/// credited than all sockets of the namespace together had no room for meanwhile.
#[derive(Debug)]
pub(crate) struct Overflow {
    /// `None`: the socket drops nothing else.
    errors: Option<Arc<UdpErrors>>,
    v6: bool,
    before: Counts,
    overflowed: u32,
}

/// What the kernel counts.
#[derive(Debug, Clone, Copy)]
struct Counts {
    /// By the socket, wrapping.
    dropped: u32,
    /// By UDP; `None` where it does not say.
    no_room: Option<u64>,
}

impl Overflow {
    /// Of a UDP socket in the namespace of these counters.
    pub(crate) fn of_udp(socket: &impl AsFd, v6: bool, errors: Arc<UdpErrors>) -> Self {
        Self::new(socket, v6, Some(errors))
    }

    /// Of a probe's socket. Of a stream there is none: what it drops is anything but lost bytes.
    pub(crate) fn of_probe(socket: &impl AsFd, v6: bool, carrier: Carrier) -> Option<Self> {
        let errors = match carrier {
            Carrier::Icmp => None,
            Carrier::Udp => Some(Arc::new(UdpErrors::open())),
            Carrier::Tcp => return None,
        };
        Some(Self::new(socket, v6, errors))
    }

    fn new(socket: &impl AsFd, v6: bool, errors: Option<Arc<UdpErrors>>) -> Self {
        let before = Counts {
            dropped: socket_options::dropped(socket).unwrap_or(0),
            no_room: errors.as_ref().and_then(|errors| errors.no_room(v6)),
        };
        Self {
            errors,
            v6,
            before,
            overflowed: 0,
        }
    }

    /// Datagrams for which there was no room so far, wrapping. A kernel that cannot say has dropped nothing that is known.
    pub(crate) fn count(&mut self, socket: &impl AsFd) -> u32 {
        // The other count takes longer to read.
        if let Ok(dropped) = socket_options::dropped(socket)
            && dropped != self.before.dropped
        {
            let no_room = self.errors.as_ref().and_then(|all| all.no_room(self.v6));
            let now = Counts { dropped, no_room };
            let grown = now.overflowed_since(self.before);
            self.overflowed = self.overflowed.wrapping_add(grown);
            self.before = now;
        }
        self.overflowed
    }
}

impl Counts {
    fn overflowed_since(self, before: Self) -> u32 {
        let dropped = self.dropped.wrapping_sub(before.dropped);
        let no_room = self.no_room.zip(before.no_room);
        no_room.map_or(dropped, |(now, before)| {
            let most = now.saturating_sub(before);
            u32::try_from(most).map_or(dropped, |most| dropped.min(most))
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_kernel::datagram::{Blocking, DatagramSocket, Kind};
    use delaylab_kernel::namespace::enter_new;
    use socket2::{Domain, Protocol, Socket, Type};
    use std::net::SocketAddr;
    use std::process::Command;

    fn counts(dropped: u32, no_room: Option<u64>) -> Counts {
        Counts { dropped, no_room }
    }

    #[test]
    fn no_more_is_credited_than_had_no_room() {
        let before = counts(u32::MAX, Some(40));
        assert_eq!(counts(4, Some(42)).overflowed_since(before), 2);
        assert_eq!(counts(4, Some(60)).overflowed_since(before), 5);
        // A kernel that has no such count, and a socket that needs none.
        assert_eq!(counts(4, None).overflowed_since(before), 5);
    }

    fn receiver() -> (DatagramSocket, SocketAddr) {
        let socket = DatagramSocket::open(Kind::Udp, false).unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let at = socket.local_address().unwrap();
        (socket, at)
    }

    /// A datagram of 200 B, longer than the kernel checks before it is read, whose checksum is wrong.
    fn corrupted(port: u16) -> Vec<u8> {
        let mut datagram = vec![7; 208];
        datagram[..2].copy_from_slice(&9_u16.to_be_bytes());
        datagram[2..4].copy_from_slice(&port.to_be_bytes());
        datagram[4..6].copy_from_slice(&208_u16.to_be_bytes());
        datagram[6..8].copy_from_slice(&0x1234_u16.to_be_bytes());
        datagram
    }

    /// In a namespace of its own: what other sockets had no room for meanwhile would be counted, too.
    #[test]
    fn what_arrived_corrupted_had_room() {
        if enter_new().is_err() {
            eprintln!("skipped: a network namespace needs CAP_SYS_ADMIN");
            return;
        }
        let up = Command::new("ip")
            .args(["link", "set", "lo", "up"])
            .status();
        assert!(up.unwrap().success());
        let Ok(raw) = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::UDP)) else {
            eprintln!("skipped: raw sockets need CAP_NET_RAW");
            return;
        };
        let (socket, at) = receiver();
        let mut overflow = Overflow::of_probe(&socket, false, Carrier::Udp).unwrap();
        for _ in 0..5 {
            raw.send_to(&corrupted(at.port()), &at.into()).unwrap();
        }
        // Reading is what finds it out.
        assert!(socket.receive(&mut [0; 500], Blocking::No).is_err());
        assert_eq!(socket_options::dropped(&socket).unwrap(), 5);
        assert_eq!(overflow.count(&socket), 0);
    }

    #[test]
    fn what_had_no_room_is_counted() {
        let (socket, at) = receiver();
        socket_options::set_receive_buffer(&socket, 1).unwrap();
        let mut overflow = Overflow::of_probe(&socket, false, Carrier::Udp).unwrap();
        let sender = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        for _ in 0..50 {
            sender.send_to(&[7; 1000], at).unwrap();
        }
        let lost = socket_options::dropped(&socket).unwrap();
        assert!(lost > 0);
        assert_eq!([(); 2].map(|()| overflow.count(&socket)), [lost; 2]);
    }
}
