//! Switching NIC timestamps on, and back as they were (`SIOCGHWTSTAMP`, `SIOCSHWTSTAMP`).
//!
//! This changes the NIC for everyone on the host, so it is opt-in, and whoever switches it on sees to
//! it that it is restored, also after a crash.

use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

// linux/sockios.h and linux/net_tstamp.h; not in `libc` under these names on every version.
const SIOCSHWTSTAMP: libc::c_ulong = 0x89b0;
const SIOCGHWTSTAMP: libc::c_ulong = 0x89b1;
const TX_ON: libc::c_int = 1;
const RX_FILTER_ALL: libc::c_int = 1;

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Config {
    flags: libc::c_int,
    tx_type: libc::c_int,
    rx_filter: libc::c_int,
}

/// Stamps every departure that asks for it and every arrival. Fails with `EOPNOTSUPP` where the NIC
/// cannot, and with `EPERM` without `CAP_NET_ADMIN`. [`save`] comes before it.
pub fn switch_on(interface: &str) -> io::Result<()> {
    let wanted = Config {
        flags: 0,
        tx_type: TX_ON,
        rx_filter: RX_FILTER_ALL,
    };
    ioctl(&any_socket()?, SIOCSHWTSTAMP, interface, Some(wanted)).map(drop)
}

/// An interface's NIC stamping as it was, so that another process can restore it after a crash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saved {
    interface: String,
    before: Config,
}

/// What is set now, to be taken before [`switch_on`].
pub fn save(interface: &str) -> io::Result<Saved> {
    let before = ioctl(&any_socket()?, SIOCGHWTSTAMP, interface, None)?;
    Ok(Saved {
        interface: interface.to_owned(),
        before,
    })
}

/// Sets what was set then. Needs `CAP_NET_ADMIN`.
pub fn restore(saved: &Saved) -> io::Result<()> {
    ioctl(
        &any_socket()?,
        SIOCSHWTSTAMP,
        &saved.interface,
        Some(saved.before),
    )
    .map(drop)
}

/// The requests are about an interface; any socket will do to make them.
fn any_socket() -> io::Result<OwnedFd> {
    socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::DGRAM, None).map(OwnedFd::from)
}

fn ioctl(
    socket: &OwnedFd,
    request: libc::c_ulong,
    interface: &str,
    config: Option<Config>,
) -> io::Result<Config> {
    let mut config = config.unwrap_or(Config {
        flags: 0,
        tx_type: 0,
        rx_filter: 0,
    });
    // SAFETY: all zeros is a valid ifreq.
    let mut name: libc::ifreq = unsafe { std::mem::zeroed() };
    let bytes = interface.as_bytes();
    if bytes.len() >= name.ifr_name.len() {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    for (to, from) in name.ifr_name.iter_mut().zip(bytes) {
        *to = *from as libc::c_char;
    }
    name.ifr_ifru.ifru_data = (&raw mut config).cast();
    // SAFETY: `name` is a whole ifreq whose data points to a whole hwtstamp_config.
    let code = unsafe { libc::ioctl(socket.as_raw_fd(), request as _, &mut name) };
    crate::socket_options::check(code)?;
    Ok(config)
}
