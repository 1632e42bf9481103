//! Switching NIC timestamps on, and back as they were (`SIOCGHWTSTAMP`, `SIOCSHWTSTAMP`).
//!
//! This changes the NIC for everyone on the host, so it is opt-in, and whoever switches it on sees to
//! it that it is restored, also after a crash.

use crate::ifreq;
use serde::{Deserialize, Serialize};
use std::io;

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
    ioctl(SIOCSHWTSTAMP, interface, Some(wanted)).map(drop)
}

/// An interface's NIC stamping as it was, so that another process can restore it after a crash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saved {
    interface: String,
    before: Config,
}

/// What is set now, to be taken before [`switch_on`].
pub fn save(interface: &str) -> io::Result<Saved> {
    let before = ioctl(SIOCGHWTSTAMP, interface, None)?;
    Ok(Saved {
        interface: interface.to_owned(),
        before,
    })
}

/// Sets what was set then. Needs `CAP_NET_ADMIN`.
pub fn restore(saved: &Saved) -> io::Result<()> {
    ioctl(SIOCSHWTSTAMP, &saved.interface, Some(saved.before)).map(drop)
}

fn ioctl(request: libc::c_ulong, interface: &str, config: Option<Config>) -> io::Result<Config> {
    let mut config = config.unwrap_or(Config {
        flags: 0,
        tx_type: 0,
        rx_filter: 0,
    });
    // SAFETY: both requests take a hwtstamp_config.
    unsafe { ifreq::ask(interface, request, &mut config) }?;
    Ok(config)
}
