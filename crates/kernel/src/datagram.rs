//! UDP and ICMP sockets whose packets carry stamps.
//!
//! A probe that spins makes one call after the other, and each is a part of what it measures. `rustix` makes the system call
//! alone. The C library does more around it, for threads that may be cancelled.

use crate::ancillary::{self, Ancillary, ControlBuffer};
use crate::socket_options::{self, check_len};
use crate::stamping::{self, Flags};
use delaylab_model::probe::DontFragment;
use rustix::net::{self, RecvFlags, SendFlags};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// What a datagram socket speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// UDP.
    Udp,
    /// ICMP echo by the kernel's ping socket: no privilege, but the group must be in
    /// `net.ipv4.ping_group_range`.
    IcmpDatagram,
    /// ICMP on a raw socket: needs `CAP_NET_RAW`. IPv4 packets are read with their IP header.
    IcmpRaw,
    /// TCP segments on a raw socket, beside the kernel's own TCP: needs `CAP_NET_RAW`. IPv4 packets are
    /// read with their IP header.
    TcpRaw,
    /// Whole IP packets, their header included, as the caller wrote them: needs `CAP_NET_RAW`. It only
    /// sends.
    IpRaw,
}

/// A UDP or ICMP socket.
#[derive(Debug)]
pub struct DatagramSocket {
    socket: Socket,
    v6: bool,
}

/// A packet that was read: its length and what came beside it.
#[derive(Debug, Clone, Copy)]
pub struct Received {
    /// Bytes in the buffer.
    pub length: usize,
    /// Who sent it. Only [`DatagramSocket::receive_from`] fills it in.
    pub from: Option<SocketAddr>,
    /// Stamps and marks.
    pub beside: Ancillary,
}

/// How a reply leaves.
#[derive(Debug, Clone, Copy, Default)]
pub struct SendOptions {
    /// From this address.
    pub local: Option<IpAddr>,
    /// With this TOS or traffic class byte.
    pub traffic_class: Option<u8>,
    /// With a departure stamp in the error queue (ids count only such packets).
    pub stamp: bool,
}

/// Whether a call may sleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blocking {
    /// Until something comes, the receive time-out, or a signal.
    Yes,
    /// `WouldBlock` at once.
    No,
}

impl Blocking {
    pub(crate) const fn flags(self) -> libc::c_int {
        match self {
            Blocking::Yes => 0,
            Blocking::No => libc::MSG_DONTWAIT,
        }
    }
}

impl DatagramSocket {
    /// Opens a socket for this family.
    pub fn open(kind: Kind, v6: bool) -> io::Result<Self> {
        let domain = if v6 { Domain::IPV6 } else { Domain::IPV4 };
        let icmp = if v6 {
            Protocol::ICMPV6
        } else {
            Protocol::ICMPV4
        };
        let (kind, protocol) = match kind {
            Kind::Udp => (Type::DGRAM, Protocol::UDP),
            Kind::IcmpDatagram => (Type::DGRAM, icmp),
            Kind::IcmpRaw => (Type::RAW, icmp),
            Kind::TcpRaw => (Type::RAW, Protocol::TCP),
            Kind::IpRaw => (Type::RAW, Protocol::from(libc::IPPROTO_RAW)),
        };
        let socket = Socket::new(domain, kind, Some(protocol))?;
        if v6 && protocol == Protocol::UDP {
            socket.set_only_v6(true)?;
        }
        Ok(Self { socket, v6 })
    }

    /// Binds to a local address.
    pub fn bind(&self, address: SocketAddr) -> io::Result<()> {
        self.socket.bind(&address.into())
    }

    /// Sends to and receives from this address only.
    pub fn connect(&self, address: SocketAddr) -> io::Result<()> {
        self.socket.connect(&SockAddr::from(address))
    }

    /// The address that it is bound to.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        let address = self.socket.local_addr()?;
        address
            .as_socket()
            .ok_or_else(|| io::Error::from_raw_os_error(libc::EAFNOSUPPORT))
    }

    /// Sets the traffic class, TTL and fragmentation of what it sends.
    pub fn set_marks(
        &self,
        traffic_class: u8,
        ttl: Option<u8>,
        df: DontFragment,
    ) -> io::Result<()> {
        socket_options::set_traffic_class(self, self.v6, traffic_class)?;
        if let Some(ttl) = ttl {
            socket_options::set_ttl(self, self.v6, ttl)?;
        }
        socket_options::set_dont_fragment(self, self.v6, df)
    }

    /// Asks for stamps.
    pub fn set_stamping(&self, flags: Flags) -> io::Result<()> {
        stamping::set(self, flags)
    }

    /// On a raw ICMP socket: lets only echo replies in. Errors come by the error queue.
    pub fn accept_only_echo_replies(&self) -> io::Result<()> {
        self.accept_only_types(&[if self.v6 { 129 } else { 0 }])
    }

    /// On a raw ICMP socket: lets only messages of these types in. ICMPv4 types from 32 on always come.
    pub fn accept_only_types(&self, types: &[u8]) -> io::Result<()> {
        // linux/icmp.h ICMP_FILTER and linux/icmpv6.h ICMPV6_FILTER: a set bit blocks the type.
        const ICMP_FILTER: libc::c_int = 1;
        const ICMPV6_FILTER: libc::c_int = 1;
        let mut blocked = [u32::MAX; 8];
        let (level, name, words) = if self.v6 {
            (libc::IPPROTO_ICMPV6, ICMPV6_FILTER, 8_usize)
        } else {
            (libc::SOL_RAW, ICMP_FILTER, 1)
        };
        for kind in types.iter().copied().map(usize::from) {
            blocked[kind / 32] &= !(1 << (kind % 32));
        }
        socket_options::set_value(self.socket.as_raw_fd(), level, name, &blocked[..words])
    }

    /// One send call on a connected socket.
    #[inline]
    pub fn send(&self, packet: &[u8]) -> io::Result<usize> {
        Ok(net::send(&self.socket, packet, SendFlags::empty())?)
    }

    /// One receive call on a connected socket, the packet alone.
    #[inline]
    pub fn receive_plain(&self, buffer: &mut [u8], blocking: Blocking) -> io::Result<Received> {
        let flags = match blocking {
            Blocking::Yes => RecvFlags::empty(),
            Blocking::No => RecvFlags::DONTWAIT,
        };
        let (_, length) = net::recv(&self.socket, buffer, flags)?;
        Ok(Received {
            length,
            from: None,
            beside: Ancillary::default(),
        })
    }

    /// One receive call on a connected socket, with stamps and marks.
    #[inline]
    pub fn receive(&self, buffer: &mut [u8], blocking: Blocking) -> io::Result<Received> {
        self.receive_message(buffer, blocking.flags(), None)
    }

    /// One receive call, with stamps, marks and who sent it.
    #[inline]
    pub fn receive_from(&self, buffer: &mut [u8], blocking: Blocking) -> io::Result<Received> {
        // SAFETY: all zeros is a valid sockaddr_storage.
        let mut from: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
        self.receive_message(buffer, blocking.flags(), Some(&mut from))
    }

    fn receive_message(
        &self,
        buffer: &mut [u8],
        flags: libc::c_int,
        from: Option<&mut libc::sockaddr_storage>,
    ) -> io::Result<Received> {
        let fd = self.socket.as_raw_fd();
        let (length, beside, from) = ancillary::receive(fd, buffer, flags, from)?;
        Ok(Received {
            length,
            from,
            beside,
        })
    }

    /// One send call to any address, with options.
    pub fn send_to(
        &self,
        packet: &[u8],
        to: SocketAddr,
        options: SendOptions,
    ) -> io::Result<usize> {
        let mut control = ControlBuffer::new();
        let used = write_control(&mut control, options, self.v6);
        if used == 0 {
            // Without options the plain call does, and costs less.
            return Ok(net::sendto(&self.socket, packet, SendFlags::empty(), &to)?);
        }
        let address = SockAddr::from(to);
        let mut part = libc::iovec {
            iov_base: packet.as_ptr().cast_mut().cast(),
            iov_len: packet.len(),
        };
        // SAFETY: all zeros is a valid msghdr.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        header.msg_name = address.as_ptr().cast_mut().cast();
        header.msg_namelen = address.len();
        header.msg_iov = &mut part;
        header.msg_iovlen = 1;
        header.msg_control = (&raw mut control).cast();
        header.msg_controllen = used as _;
        // SAFETY: every pointer in `header` describes memory that outlives the call; the kernel only
        // reads the name and the packet.
        check_len(unsafe { libc::sendmsg(self.socket.as_raw_fd(), &header, 0) })
    }
}

fn write_control(control: &mut ControlBuffer, options: SendOptions, v6: bool) -> usize {
    let mut writer = ControlWriter {
        buffer: control,
        used: 0,
    };
    if let Some(byte) = options.traffic_class {
        let (level, kind) = if v6 {
            (libc::SOL_IPV6, libc::IPV6_TCLASS)
        } else {
            (libc::SOL_IP, libc::IP_TOS)
        };
        writer.push(level, kind, libc::c_int::from(byte));
    }
    match options.local {
        Some(IpAddr::V4(ip)) => {
            let address = libc::in_addr {
                s_addr: u32::from(ip).to_be(),
            };
            let info = libc::in_pktinfo {
                ipi_ifindex: 0,
                ipi_spec_dst: address,
                ipi_addr: libc::in_addr { s_addr: 0 },
            };
            writer.push(libc::SOL_IP, libc::IP_PKTINFO, info);
        }
        Some(IpAddr::V6(ip)) => {
            let address = libc::in6_addr {
                s6_addr: ip.octets(),
            };
            let info = libc::in6_pktinfo {
                ipi6_addr: address,
                ipi6_ifindex: 0,
            };
            writer.push(libc::SOL_IPV6, libc::IPV6_PKTINFO, info);
        }
        None => {}
    }
    if options.stamp {
        writer.push(
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPING,
            libc::SOF_TIMESTAMPING_TX_SOFTWARE,
        );
    }
    writer.used
}

struct ControlWriter<'a> {
    buffer: &'a mut ControlBuffer,
    used: usize,
}

impl ControlWriter<'_> {
    fn push<T: Copy>(&mut self, level: i32, kind: i32, value: T) {
        // SAFETY: CMSG_SPACE and CMSG_LEN only compute.
        let (space, length) = unsafe {
            let size = size_of::<T>() as u32;
            (
                libc::CMSG_SPACE(size) as usize,
                libc::CMSG_LEN(size) as usize,
            )
        };
        assert!(
            self.used + space <= size_of::<ControlBuffer>(),
            "control messages outgrew their buffer"
        );
        let start = (&raw mut *self.buffer).cast::<u8>().wrapping_add(self.used);
        // SAFETY: `space` bytes from `start` are inside the buffer (checked above) and 8-aligned,
        // because the buffer is and every CMSG_SPACE is a multiple of 8.
        unsafe {
            start.write_bytes(0, space);
            let header = start.cast::<libc::cmsghdr>();
            (*header).cmsg_len = length as _;
            (*header).cmsg_level = level;
            (*header).cmsg_type = kind;
            libc::CMSG_DATA(header).cast::<T>().write_unaligned(value);
        }
        self.used += space;
    }
}

impl AsFd for DatagramSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
