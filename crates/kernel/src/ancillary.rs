//! What comes beside a packet: stamps, traffic class, TTL, local address, ICMP errors.
//!
//! Guarantees that nothing outside the buffer that the kernel filled is read.

use crate::clock::from_timespec;
use crate::socket_options::{Plain, check_len};
use delaylab_model::Nanos;
use delaylab_model::trial::StampPoint;
use std::io;
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::RawFd;

/// Room for every control message that these sockets ask for.
pub(crate) const CONTROL_BYTES: usize = 256;

/// Control messages, aligned as the kernel wants them.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
pub(crate) struct ControlBuffer(pub [MaybeUninit<u8>; CONTROL_BYTES]);

impl ControlBuffer {
    pub(crate) const fn new() -> Self {
        Self([MaybeUninit::uninit(); CONTROL_BYTES])
    }
}

/// What came beside a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ancillary {
    /// Software stamp, `CLOCK_REALTIME`.
    pub software: Option<Nanos>,
    /// Hardware stamp, the NIC's clock.
    pub hardware: Option<Nanos>,
    /// TOS or traffic class byte.
    pub traffic_class: Option<u8>,
    /// TTL or hop limit.
    pub ttl: Option<u8>,
    /// The address that the packet was sent to.
    pub local: Option<IpAddr>,
    /// What the error queue says.
    pub error: Option<QueuedError>,
    /// The tag of a VLAN that the kernel took out of a frame: its type and its value.
    pub tag: Option<[u8; 4]>,
}

/// An entry of a socket's error queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueuedError {
    /// A departure stamp: which stamp, of which packet (datagrams) or byte offset (TCP).
    Stamp {
        /// Which one.
        point: StampPoint,
        /// Packet or byte offset, wrapping.
        id: u32,
    },
    /// Acknowledged by the peer (TCP).
    Acknowledged {
        /// Byte offset, wrapping.
        id: u32,
    },
    /// An ICMP error, or a local one such as a packet too big for the path MTU.
    Refused {
        /// Error number.
        errno: i32,
        /// The router or host that refused; `None` for this host.
        by: Option<IpAddr>,
        /// Type and code of the ICMP error; `None` where this host refused by itself.
        icmp: Option<[u8; 2]>,
        /// What the error says besides: of one that says "too big", the MTU.
        info: u32,
    },
    /// Something that these sockets do not ask for.
    Other,
}

/// Reads the control messages of a message that the kernel filled.
///
/// # Safety
/// `header` must be as `recvmsg` left it: its control pointer and length describe initialised memory.
pub(crate) unsafe fn parse(header: &libc::msghdr) -> Ancillary {
    let mut found = Ancillary::default();
    // SAFETY: by this function's contract the CMSG macros stay inside the control buffer.
    let mut message = unsafe { libc::CMSG_FIRSTHDR(header) };
    while !message.is_null() {
        // SAFETY: CMSG_FIRSTHDR and CMSG_NXTHDR return null or a whole header within the buffer, and
        // the kernel wrote `cmsg_len` bytes of it. `Payload` never reads beyond them.
        unsafe {
            // A `u32` in musl.
            #[allow(clippy::unnecessary_cast)]
            let length = (*message).cmsg_len as usize - libc::CMSG_LEN(0) as usize;
            let payload = Payload {
                data: libc::CMSG_DATA(message),
                length,
            };
            found.take((*message).cmsg_level, (*message).cmsg_type, payload);
            message = libc::CMSG_NXTHDR(header, message);
        }
    }
    found
}

/// The bytes of one control message.
#[derive(Clone, Copy)]
struct Payload {
    data: *const u8,
    length: usize,
}

impl Payload {
    /// The value at `offset`, if the message is long enough.
    fn read<T: Copy + Plain>(self, offset: usize) -> Option<T> {
        if offset + size_of::<T>() > self.length {
            return None;
        }
        // SAFETY: within the message (checked above), unaligned reads are allowed for, and every bit
        // pattern is a `T` (`Plain`).
        Some(unsafe { self.data.add(offset).cast::<T>().read_unaligned() })
    }
}

impl Plain for libc::timespec {}
impl Plain for libc::sock_extended_err {}
impl Plain for libc::sockaddr_in {}
impl Plain for libc::sockaddr_in6 {}
impl Plain for libc::in_pktinfo {}
impl Plain for libc::in6_pktinfo {}
impl Plain for libc::sa_family_t {}

impl Ancillary {
    fn take(&mut self, level: i32, kind: i32, payload: Payload) {
        match (level, kind) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => self.take_stamps(payload),
            (libc::SOL_IP, libc::IP_TOS) => self.traffic_class = payload.read(0),
            (libc::SOL_IP, libc::IP_TTL) | (libc::SOL_IPV6, libc::IPV6_HOPLIMIT) => {
                self.ttl = payload.read::<libc::c_int>(0).map(|n| n as u8);
            }
            (libc::SOL_IPV6, libc::IPV6_TCLASS) => {
                self.traffic_class = payload.read::<libc::c_int>(0).map(|n| n as u8);
            }
            (libc::SOL_IP, libc::IP_PKTINFO) => {
                self.local = payload
                    .read::<libc::in_pktinfo>(0)
                    .map(|info| Ipv4Addr::from(u32::from_be(info.ipi_spec_dst.s_addr)).into());
            }
            (libc::SOL_IPV6, libc::IPV6_PKTINFO) => {
                self.local = payload
                    .read::<libc::in6_pktinfo>(0)
                    .map(|info| Ipv6Addr::from(info.ipi6_addr.s6_addr).into());
            }
            (libc::SOL_IP, libc::IP_RECVERR) | (libc::SOL_IPV6, libc::IPV6_RECVERR) => {
                self.error = payload.read(0).map(|error| queued_error(error, payload));
            }
            (libc::SOL_PACKET, libc::PACKET_AUXDATA) => self.tag = tag(payload),
            _ => {}
        }
    }

    /// Three times: software, (unused), hardware. Zero is "not this one".
    fn take_stamps(&mut self, payload: Payload) {
        let Some([software, _, hardware]) = payload.read::<[libc::timespec; 3]>(0) else {
            return;
        };
        let known = |time: &libc::timespec| Some(from_timespec(time)).filter(|&ns| ns != 0);
        self.software = known(&software);
        self.hardware = known(&hardware);
    }
}

/// Of a `tpacket_auxdata` (linux/if_packet.h): status, two lengths, two offsets, and of a tag its value and its type.
fn tag(payload: Payload) -> Option<[u8; 4]> {
    const HAS_TAG: u32 = 1 << 4;
    const HAS_TYPE: u32 = 1 << 6;
    const USUAL: u16 = 0x8100;
    let status: u32 = payload.read(0)?;
    let (value, kind): (u16, u16) = (payload.read(16)?, payload.read(18)?);
    let kind = if status & HAS_TYPE > 0 { kind } else { USUAL };
    let ([a, b], [c, d]) = (kind.to_be_bytes(), value.to_be_bytes());
    (status & HAS_TAG > 0).then_some([a, b, c, d])
}

fn queued_error(error: libc::sock_extended_err, payload: Payload) -> QueuedError {
    // linux/errqueue.h and linux/net_tstamp.h; not in `libc`.
    const STAMP_SENT: u32 = 0;
    const STAMP_SCHEDULED: u32 = 1;
    const STAMP_ACKNOWLEDGED: u32 = 2;
    let id = error.ee_data;
    let refused = |by: Option<SocketAddr>, icmp| QueuedError::Refused {
        errno: error.ee_errno as i32,
        by: by.map(|address| address.ip()),
        icmp,
        info: error.ee_info,
    };
    match (error.ee_origin, error.ee_info) {
        (libc::SO_EE_ORIGIN_TIMESTAMPING, STAMP_SENT) => {
            let point = StampPoint::TTx;
            QueuedError::Stamp { point, id }
        }
        (libc::SO_EE_ORIGIN_TIMESTAMPING, STAMP_SCHEDULED) => {
            let point = StampPoint::TSched;
            QueuedError::Stamp { point, id }
        }
        (libc::SO_EE_ORIGIN_TIMESTAMPING, STAMP_ACKNOWLEDGED) => QueuedError::Acknowledged { id },
        (libc::SO_EE_ORIGIN_ICMP | libc::SO_EE_ORIGIN_ICMP6, _) => {
            // The offender's address follows the error (ip(7), "IP_RECVERR").
            let by = read_address(payload, size_of::<libc::sock_extended_err>());
            refused(by, Some([error.ee_type, error.ee_code]))
        }
        (libc::SO_EE_ORIGIN_LOCAL, _) => refused(None, None),
        _ => QueuedError::Other,
    }
}

fn read_address(payload: Payload, offset: usize) -> Option<SocketAddr> {
    match i32::from(payload.read::<libc::sa_family_t>(offset)?) {
        libc::AF_INET => payload.read(offset).map(from_sockaddr_in),
        libc::AF_INET6 => payload.read(offset).map(from_sockaddr_in6),
        _ => None,
    }
}

fn from_sockaddr_in(address: libc::sockaddr_in) -> SocketAddr {
    let ip = Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr));
    SocketAddrV4::new(ip, u16::from_be(address.sin_port)).into()
}

fn from_sockaddr_in6(address: libc::sockaddr_in6) -> SocketAddr {
    let ip = Ipv6Addr::from(address.sin6_addr.s6_addr);
    SocketAddrV6::new(
        ip,
        u16::from_be(address.sin6_port),
        address.sin6_flowinfo,
        address.sin6_scope_id,
    )
    .into()
}

/// One receive call: the bytes in the buffer, what came beside them, and who sent it where there is room for that.
#[inline]
pub(crate) fn receive(
    socket: RawFd,
    buffer: &mut [u8],
    flags: libc::c_int,
    from: Option<&mut libc::sockaddr_storage>,
) -> io::Result<(usize, Ancillary, Option<SocketAddr>)> {
    let mut control = ControlBuffer::new();
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    // SAFETY: all zeros is a valid msghdr (null pointers, zero lengths).
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = &mut part;
    header.msg_iovlen = 1;
    header.msg_control = (&raw mut control).cast();
    header.msg_controllen = size_of::<ControlBuffer>() as _;
    let from = from.map(|storage| {
        header.msg_name = (&raw mut *storage).cast();
        header.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
        storage
    });
    // The system call alone: `recvmsg` of the C library does more around it, for threads that may be cancelled.
    // SAFETY: every pointer in `header` describes memory that outlives the call; the kernel's `msghdr` is this one.
    let length = unsafe { libc::syscall(libc::SYS_recvmsg, socket, &raw mut header, flags) };
    let length = check_len(length as isize)?;
    // SAFETY: recvmsg has just filled `header`.
    let beside = unsafe { parse(&header) };
    let from = from.and_then(|storage| from_storage(storage, header.msg_namelen));
    Ok((length, beside, from))
}

/// Reads a socket address that the kernel wrote.
pub(crate) fn from_storage(storage: &libc::sockaddr_storage, length: u32) -> Option<SocketAddr> {
    let payload = Payload {
        data: (&raw const *storage).cast(),
        length: length as usize,
    };
    read_address(payload, 0)
}
