//! An interface that frames go through.

use super::error::TesterError;
use super::overruns::{INTERFACES, Overruns};
use crate::joined;
use crate::placed::{Enter, enter_place};
use delaylab_kernel::packet_socket::PacketSocket;
use delaylab_kernel::privilege::{self, Capability};
use delaylab_model::frames::Frames;
use delaylab_wire::test_frame::{Ends, Mac};
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Room for frames that wait to be read: some hundred milliseconds of a fast line.
const RECEIVE_BUFFER: i32 = 64 << 20;

/// An interface, and how to get to it.
#[derive(Clone)]
pub struct Port {
    /// Its name there.
    pub interface: String,
    /// Its hardware address.
    pub mac: Mac,
    /// Its MTU; `None` where it was made to fit.
    pub mtu: Option<u32>,
    /// How a thread gets to where it is.
    pub enter: Option<Enter>,
}

impl fmt::Debug for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Port").field(&self.interface).finish()
    }
}

/// A port that is open.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) interface: String,
    pub(super) socket: PacketSocket,
    /// Of its NIC when it was opened; `None` of one that is no interface of this host.
    pub(super) overruns: Option<Overruns>,
}

impl Port {
    /// An interface of this host, looked at.
    ///
    /// # Errors
    /// When it is not there, is down, or has nothing at its other end.
    pub fn of_this_host(name: &str) -> Result<Self, TesterError> {
        let interface = name.to_owned();
        let place = Path::new(INTERFACES).join(name);
        if name.is_empty() || name.contains('/') || !place.is_dir() {
            return Err(TesterError::NoInterface { interface });
        }
        let failed = |source| TesterError::Interface {
            interface: name.to_owned(),
            source,
        };
        let read = |what: &str| std::fs::read_to_string(place.join(what)).map_err(failed);
        let flags = read("flags")?;
        let flags = u32::from_str_radix(flags.trim().trim_start_matches("0x"), 16).unwrap_or(0);
        if flags & IFF_UP == 0 {
            return Err(TesterError::Down { interface });
        }
        if read("carrier").is_ok_and(|carrier| carrier.trim() == "0") {
            return Err(TesterError::NoCarrier { interface });
        }
        let odd = |what: &str| failed(io::Error::other(format!("its {what} cannot be read")));
        let mac = parse_mac(read("address")?.trim()).ok_or_else(|| odd("address"))?;
        let mtu = read("mtu")?.trim().parse().map_err(|_| odd("MTU"))?;
        Ok(Self {
            interface,
            mac,
            mtu: Some(mtu),
            enter: None,
        })
    }

    /// Is it the same one?
    pub(super) fn is(&self, other: &Self) -> bool {
        let same_place = match (&self.enter, &other.enter) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b) || self.mac == other.mac,
            _ => false,
        };
        same_place && self.interface == other.interface && self.mac == other.mac
    }

    /// From here to there, in frames with this token.
    pub(super) const fn ends(&self, to: &Self, token: u16) -> Ends {
        Ends {
            from: self.mac,
            to: to.mac,
            token,
        }
    }

    /// Opens it for frames of which these are the largest.
    pub(super) fn open(&self, largest: Option<&Frames>) -> Result<Opened, TesterError> {
        self.takes(largest)?;
        let enter = self.enter.clone();
        let interface = self.interface.clone();
        // Where a thread is in another namespace its sockets are, too; this one stays where it is.
        let open = move || open_in(enter.as_ref(), &interface);
        let thread = std::thread::Builder::new().spawn(open);
        let socket: io::Result<_> = joined(thread.map_err(TesterError::Thread)?.join());
        Ok(Opened {
            socket: socket.map_err(|error| self.cannot_open(error))?,
            interface: self.interface.clone(),
            overruns: self
                .enter
                .is_none()
                .then(|| Overruns::read(&self.interface)),
        })
    }

    /// Do these frames fit, as far as is known?
    pub(crate) fn takes(&self, frames: Option<&Frames>) -> Result<(), TesterError> {
        match (self.mtu, frames) {
            (Some(mtu), Some(frames)) => self.fits(mtu, frames),
            _ => Ok(()),
        }
    }

    fn fits(&self, mtu: u32, frames: &Frames) -> Result<(), TesterError> {
        // A tag is not counted (IEEE 802.3ac).
        if frames.ip_size() <= mtu {
            return Ok(());
        }
        Err(TesterError::Mtu {
            interface: self.interface.clone(),
            mtu,
            size: frames.size,
            needed: frames.ip_size(),
        })
    }

    fn cannot_open(&self, source: io::Error) -> TesterError {
        let interface = self.interface.clone();
        match source.kind() {
            io::ErrorKind::PermissionDenied => TesterError::NotPermitted { interface },
            _ if source.raw_os_error() == Some(ENODEV) => TesterError::NoInterface { interface },
            _ => TesterError::Interface { interface, source },
        }
    }

    pub(super) fn cannot_send(&self, source: io::Error) -> TesterError {
        let interface = self.interface.clone();
        match source.raw_os_error() {
            Some(ENETDOWN) => TesterError::Down { interface },
            _ => TesterError::Interface { interface, source },
        }
    }
}

/// linux/if.h.
const IFF_UP: u32 = 1;
const ENODEV: i32 = 19;
const ENETDOWN: i32 = 100;

/// A socket at this interface, opened where `enter` leads: in another namespace with the privileges that are held there.
fn open_in(enter: Option<&Enter>, interface: &str) -> io::Result<PacketSocket> {
    enter_place(enter)?;
    let open = || PacketSocket::open(interface);
    let socket = match enter {
        Some(_) => open()?,
        None => privilege::with(Capability::CAP_NET_RAW, open)?,
    };
    socket.set_receive_buffer(RECEIVE_BUFFER)?;
    Ok(socket)
}

fn parse_mac(text: &str) -> Option<Mac> {
    let mut mac = [0; 6];
    let mut parts = text.split(':');
    for byte in &mut mac {
        *byte = u8::from_str_radix(parts.next()?, 16).ok()?;
    }
    parts.next().is_none().then_some(mac)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_that_is_not_there_is_named() {
        for name in ["no-such", "", "../lo", "."] {
            let error = Port::of_this_host(name)
                .map(|_| ())
                .map_err(|e| e.to_string());
            let error = error.err().unwrap_or_default();
            assert!(
                error.contains("there is no interface") || name == ".",
                "{name}: {error}"
            );
        }
    }

    #[test]
    fn addresses_are_read() {
        assert_eq!(
            parse_mac("02:64:6c:00:00:ff"),
            Some([2, 0x64, 0x6c, 0, 0, 255])
        );
        for wrong in ["", "02:64", "02:64:6c:00:00:ff:00", "xx:64:6c:00:00:ff"] {
            assert_eq!(parse_mac(wrong), None, "{wrong}");
        }
    }
}
