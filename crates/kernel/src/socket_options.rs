//! What all sockets share: marks, TTL, fragmentation, interface, buffers.

use delaylab_model::Nanos;
use delaylab_model::probe::DontFragment;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};

pub(crate) fn set_int(fd: RawFd, level: i32, name: i32, value: libc::c_int) -> io::Result<()> {
    set_value(fd, level, name, &value)
}

pub(crate) fn set_value<T: Plain + ?Sized>(
    fd: RawFd,
    level: i32,
    name: i32,
    value: &T,
) -> io::Result<()> {
    // SAFETY: what is `Plain` has no pointer that the kernel could follow.
    unsafe { set_with_pointers(fd, level, name, value) }
}

/// The same of a value that may have pointers.
///
/// # Safety
/// What they point to is there for the kernel, as long as the option says, until this returns.
pub(crate) unsafe fn set_with_pointers<T: ?Sized>(
    fd: RawFd,
    level: i32,
    name: i32,
    value: &T,
) -> io::Result<()> {
    let length = size_of_val(value) as libc::socklen_t;
    // SAFETY: the pointer and length describe `value`, which outlives the call, and so does what it points to.
    let code = unsafe { libc::setsockopt(fd, level, name, (&raw const *value).cast(), length) };
    check(code).map(drop)
}

fn get_int(fd: RawFd, level: i32, name: i32) -> io::Result<libc::c_int> {
    let mut value: libc::c_int = 0;
    get_value(fd, level, name, &mut value).map(|_| value)
}

/// Types of which every bit pattern is a value: they have no pointers.
pub(crate) trait Plain {}
impl Plain for u8 {}
impl Plain for libc::c_int {}
impl Plain for u32 {}
impl Plain for u64 {}
impl Plain for libc::timeval {}
impl<T: Plain, const N: usize> Plain for [T; N] {}
impl<T: Plain> Plain for [T] {}

/// Says how many bytes the kernel wrote.
pub(crate) fn get_value<T: Plain>(
    fd: RawFd,
    level: i32,
    name: i32,
    value: &mut T,
) -> io::Result<usize> {
    let mut length = size_of_val(value) as libc::socklen_t;
    // SAFETY: the pointers describe `value` and its length, which outlive the call; whatever the kernel writes is a `T`
    // (`Plain`).
    let code =
        unsafe { libc::getsockopt(fd, level, name, (&raw mut *value).cast(), &raw mut length) };
    check(code).map(|_| length as usize)
}

/// The level and the name of an option that IPv6 and IPv4 each have.
fn by_family(v6: bool, of_v6: i32, of_v4: i32) -> (i32, i32) {
    if v6 {
        (libc::IPPROTO_IPV6, of_v6)
    } else {
        (libc::IPPROTO_IP, of_v4)
    }
}

/// Sets an option by its level and name.
fn set(socket: &impl AsFd, (level, name): (i32, i32), value: libc::c_int) -> io::Result<()> {
    set_int(socket.as_fd().as_raw_fd(), level, name, value)
}

/// -1 is an error in `errno`; anything else is a result.
pub(crate) fn check(code: libc::c_int) -> io::Result<libc::c_int> {
    if code < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(code)
    }
}

pub(crate) fn check_len(code: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(code).map_err(|_| io::Error::last_os_error())
}

/// Sets the TOS or traffic class byte of outgoing packets.
pub fn set_traffic_class(socket: &impl AsFd, v6: bool, byte: u8) -> io::Result<()> {
    let option = by_family(v6, libc::IPV6_TCLASS, libc::IP_TOS);
    set(socket, option, byte.into())
}

/// Sets the TTL or hop limit of outgoing packets.
pub fn set_ttl(socket: &impl AsFd, v6: bool, ttl: u8) -> io::Result<()> {
    let option = by_family(v6, libc::IPV6_UNICAST_HOPS, libc::IP_TTL);
    set(socket, option, ttl.into())
}

/// Sets path MTU discovery, as `ping -M` names its modes.
pub fn set_dont_fragment(socket: &impl AsFd, v6: bool, mode: DontFragment) -> io::Result<()> {
    // The IPv6 modes have the same values as the IPv4 ones (linux/in6.h).
    let value = match mode {
        DontFragment::Want => libc::IP_PMTUDISC_WANT,
        DontFragment::Do => libc::IP_PMTUDISC_DO,
        DontFragment::Dont => libc::IP_PMTUDISC_DONT,
        DontFragment::Probe => libc::IP_PMTUDISC_PROBE,
    };
    let option = by_family(v6, libc::IPV6_MTU_DISCOVER, libc::IP_MTU_DISCOVER);
    set(socket, option, value)
}

/// The MTU of a connected socket's path, as this host knows it: that of the interface until an ICMP error says
/// that a later link takes less (ip(7), "IP_MTU").
pub fn path_mtu(socket: &impl AsFd, v6: bool) -> io::Result<u32> {
    let (level, name) = by_family(v6, libc::IPV6_MTU, libc::IP_MTU);
    let mtu = get_int(socket.as_fd().as_raw_fd(), level, name)?;
    Ok(mtu.unsigned_abs())
}

/// Asks for traffic class and TTL beside each arriving packet.
pub fn receive_marks(socket: &impl AsFd, v6: bool) -> io::Result<()> {
    let class = by_family(v6, libc::IPV6_RECVTCLASS, libc::IP_RECVTOS);
    set(socket, class, 1)?;
    let ttl = by_family(v6, libc::IPV6_RECVHOPLIMIT, libc::IP_RECVTTL);
    set(socket, ttl, 1)
}

/// Asks for the local address beside each arriving packet, so that a reply can leave from it.
pub fn receive_local_address(socket: &impl AsFd, v6: bool) -> io::Result<()> {
    let option = by_family(v6, libc::IPV6_RECVPKTINFO, libc::IP_PKTINFO);
    set(socket, option, 1)
}

/// Packets that a datagram socket has dropped so far, modulo 2³² (`SO_MEMINFO`, from Linux 4.12 on): it had no room for them,
/// or, over UDP, their checksum was wrong.
pub fn dropped(socket: &impl AsFd) -> io::Result<u32> {
    // SK_MEMINFO_DROPS and SK_MEMINFO_VARS of linux/sock_diag.h; not in `libc`.
    const DROPS: usize = 8;
    const VARS: usize = 9;
    let mut counts = [0_u32; VARS];
    let fd = socket.as_fd().as_raw_fd();
    get_value(fd, libc::SOL_SOCKET, libc::SO_MEMINFO, &mut counts)?;
    Ok(counts[DROPS])
}

/// Asks for ICMP errors, with who sent them, in the error queue.
pub fn receive_errors(socket: &impl AsFd, v6: bool, wanted: bool) -> io::Result<()> {
    let option = by_family(v6, libc::IPV6_RECVERR, libc::IP_RECVERR);
    set(socket, option, wanted.into())
}

/// Makes the receive buffer this large, past the system's limit where the privilege is there.
pub fn set_receive_buffer(socket: &impl AsFd, bytes: i32) -> io::Result<()> {
    let fd = socket.as_fd().as_raw_fd();
    set_int(fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, bytes)
        .or_else(|_| set_int(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, bytes))
}

/// Sends no more than so many bytes a second (TCP; `SO_MAX_PACING_RATE`).
pub fn set_most_rate(socket: &impl AsFd, bytes_per_second: u64) -> io::Result<()> {
    let fd = socket.as_fd().as_raw_fd();
    let (level, name) = (libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE);
    let rate = bytes_per_second.max(1);
    // Eight bytes from Linux 4.20 on: kernels before read the first four, and know no rate that needs more.
    match u32::try_from(rate) {
        Ok(rate) => set_value(fd, level, name, &rate),
        Err(_) => set_value(fd, level, name, &rate),
    }
}

/// Makes the send buffer this large, past the system's limit where the privilege is there.
pub fn set_send_buffer(socket: &impl AsFd, bytes: i32) -> io::Result<()> {
    let fd = socket.as_fd().as_raw_fd();
    set_int(fd, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, bytes)
        .or_else(|_| set_int(fd, libc::SOL_SOCKET, libc::SO_SNDBUF, bytes))
}

/// Sends and receives by this interface only.
pub fn bind_to_interface(socket: &impl AsFd, name: &str) -> io::Result<()> {
    let name = CString::new(name).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
    let (fd, option) = (socket.as_fd().as_raw_fd(), libc::SO_BINDTODEVICE);
    set_value(fd, libc::SOL_SOCKET, option, name.as_bytes_with_nul())
}

/// Lets a blocking receive give up after this long. 0 is never.
pub fn set_receive_timeout(socket: &impl AsFd, ns: Nanos) -> io::Result<()> {
    set_timeout(socket, libc::SO_RCVTIMEO, ns)
}

/// Lets a blocking send give up after this long. 0 is never.
pub fn set_send_timeout(socket: &impl AsFd, ns: Nanos) -> io::Result<()> {
    set_timeout(socket, libc::SO_SNDTIMEO, ns)
}

fn set_timeout(socket: &impl AsFd, name: libc::c_int, ns: Nanos) -> io::Result<()> {
    // Rounded up: none at all would be for ever.
    let micros = ns.div_euclid(1_000) + Nanos::from(ns % 1_000 != 0);
    let timeout = libc::timeval {
        tv_sec: micros / 1_000_000,
        tv_usec: micros % 1_000_000,
    };
    set_value(socket.as_fd().as_raw_fd(), libc::SOL_SOCKET, name, &timeout)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::datagram::{Blocking, DatagramSocket, Kind};

    #[test]
    fn a_short_time_out_is_not_for_ever() {
        let socket = DatagramSocket::open(Kind::Udp, false).unwrap();
        for (asked, kept) in [
            (1, 1_000),
            (999, 1_000),
            (1_001, 2_000),
            (999_999_001, 1_000_000_000),
        ] {
            set_receive_timeout(&socket, asked).unwrap();
            let kept = std::time::Duration::from_nanos(kept);
            let timeout = socket2::SockRef::from(&socket).read_timeout().unwrap();
            // In ticks of the kernel, of which some are a few milliseconds.
            assert!(
                timeout.is_some_and(|timeout| timeout >= kept),
                "{asked} ns: {timeout:?}"
            );
        }
        set_receive_timeout(&socket, 0).unwrap();
        assert_eq!(
            socket2::SockRef::from(&socket).read_timeout().unwrap(),
            None
        );
    }

    fn most_rate(socket: &impl AsFd) -> u64 {
        let mut rate = 0_u64;
        let (fd, option) = (socket.as_fd().as_raw_fd(), libc::SO_MAX_PACING_RATE);
        get_value(fd, libc::SOL_SOCKET, option, &mut rate).unwrap();
        rate
    }

    #[test]
    fn a_rate_is_set_whole() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        for (asked, kept) in [
            (0, 1),
            (125_000, 125_000),
            (2_500_000_000, 2_500_000_000),
            (12_500_000_000, 12_500_000_000),
        ] {
            set_most_rate(&stream, asked).unwrap();
            assert_eq!(most_rate(&stream), kept);
        }
    }

    #[test]
    fn the_kernel_counts_what_a_socket_has_no_room_for() {
        let socket = DatagramSocket::open(Kind::Udp, false).unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        set_receive_buffer(&socket, 1).unwrap();
        let sender = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = socket.local_address().unwrap();
        let send = |times: u32| {
            (0..times).for_each(|_| assert_eq!(sender.send_to(&[7; 1000], to).unwrap(), 1000));
        };
        let mut buffer = [0; 1500];
        let mut read = || {
            let mut kept = 0;
            while socket.receive(&mut buffer, Blocking::No).is_ok() {
                kept += 1;
            }
            kept
        };
        send(50);
        let lost = 50 - read();
        assert!(lost > 0);
        assert_eq!(dropped(&socket).unwrap(), lost);
    }
}
