//! Asking about an interface by its name (netdevice(7)).

use crate::socket_options::check;
use std::io;
use std::os::fd::AsRawFd;

/// A request about an interface of this name; `None`: no interface could have it.
pub(crate) fn named(interface: &str) -> Option<libc::ifreq> {
    // SAFETY: all zeros is a valid ifreq.
    let mut about: libc::ifreq = unsafe { std::mem::zeroed() };
    if interface.len() >= about.ifr_name.len() {
        return None;
    }
    for (to, from) in about.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    Some(about)
}

/// Makes a request about this interface of the calling thread's namespace, with a value that the kernel
/// reads and writes. `ENODEV`: no interface could have this name.
///
/// # Safety
/// `T` must be what the request says that it takes.
pub(crate) unsafe fn ask<T>(
    interface: &str,
    request: libc::c_ulong,
    value: &mut T,
) -> io::Result<()> {
    // Requests are about an interface; any socket will do to make them.
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::DGRAM, None)?;
    let mut about = named(interface).ok_or_else(|| io::Error::from_raw_os_error(libc::ENODEV))?;
    about.ifr_ifru.ifru_data = std::ptr::from_mut(value).cast();
    // SAFETY: a whole ifreq whose data points to a whole `T`, which by this function's contract is what
    // the request takes.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), request as _, &mut about) }).map(drop)
}
