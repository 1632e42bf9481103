//! Switching off what a network interface does in place of the kernel: segments put together, checksums
//! left out. A frame that somebody forwards by hand must be whole.

use crate::ifreq;
use std::io;

const SIOCETHTOOL: libc::c_ulong = 0x8946;

/// The `ethtool -K` names of what [`switch_off`] switches off, and the requests that do (linux/ethtool.h).
const FEATURES: [(&str, u32); 6] = [
    ("tso", 0x1f),
    ("gso", 0x24),
    ("gro", 0x2c),
    ("sg", 0x19),
    ("tx", 0x17),
    ("rx", 0x15),
];

/// As `ethtool -K` would be told.
pub fn ethtool_words() -> String {
    let words = FEATURES.map(|(name, _)| format!("{name} off"));
    words.join(" ")
}

#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// Switches segmentation, reassembly and checksums off on an interface of the calling thread's network
/// namespace. What it does not know is off. Needs `CAP_NET_ADMIN`.
pub fn switch_off(interface: &str) -> io::Result<()> {
    FEATURES.iter().try_for_each(|&(_, command)| {
        let mut value = Value { command, data: 0 };
        // SAFETY: these commands take an ethtool_value.
        match unsafe { ifreq::ask(interface, SIOCETHTOOL, &mut value) } {
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(()),
            done => done,
        }
    })
}
