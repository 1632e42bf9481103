//! Asking the kernel for timestamps (`SO_TIMESTAMPING`, kernel document "Timestamping").

use delaylab_model::probe::StampRequest;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Flags for `SO_TIMESTAMPING`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flags(u32);

const REPORT_SOFTWARE: u32 = libc::SOF_TIMESTAMPING_SOFTWARE
    | libc::SOF_TIMESTAMPING_RX_SOFTWARE
    | libc::SOF_TIMESTAMPING_OPT_ID
    | libc::SOF_TIMESTAMPING_OPT_TSONLY
    | libc::SOF_TIMESTAMPING_OPT_CMSG;
const HARDWARE: u32 = libc::SOF_TIMESTAMPING_RAW_HARDWARE | libc::SOF_TIMESTAMPING_RX_HARDWARE;
/// Linux 6.2: count bytes on TCP from the moment of the call. Not in `libc` yet.
const OPT_ID_TCP: u32 = 1 << 16;
/// Linux 4.13: deliver software stamps although hardware stamps are asked for.
const OPT_TX_SWHW: u32 = libc::SOF_TIMESTAMPING_OPT_TX_SWHW;

impl Flags {
    /// None at all.
    pub const NONE: Flags = Flags(0);

    /// For a socket that sends requests: every stamp of each packet.
    pub const fn prober(request: StampRequest) -> Flags {
        const SENDER: u32 =
            REPORT_SOFTWARE | libc::SOF_TIMESTAMPING_TX_SCHED | libc::SOF_TIMESTAMPING_TX_SOFTWARE;
        match request {
            StampRequest::None => Flags::NONE,
            StampRequest::Software => Flags(SENDER),
            StampRequest::Hardware => {
                Flags(SENDER | HARDWARE | libc::SOF_TIMESTAMPING_TX_HARDWARE | OPT_TX_SWHW)
            }
        }
    }

    /// The same for a TCP socket, whose ids are byte offsets.
    pub const fn tcp_prober(request: StampRequest) -> Flags {
        match request {
            StampRequest::None => Flags::NONE,
            _ => Flags(Self::prober(request).0 | OPT_ID_TCP),
        }
    }

    /// The same with the acknowledgements by the far kernel.
    pub const fn requests(request: StampRequest) -> Flags {
        match request {
            StampRequest::None => Flags::NONE,
            _ => Flags(Self::tcp_prober(request).0 | libc::SOF_TIMESTAMPING_TX_ACK),
        }
    }

    /// For kernels that do not know how to count a TCP socket's bytes from the call on.
    pub(crate) const fn without_tcp_ids(self) -> Flags {
        Flags(self.0 & !OPT_ID_TCP)
    }

    /// The same without the stamps of departures. Packets take no number then, and the numbers go on where they were.
    pub const fn without_departures(self) -> Flags {
        const DEPARTURES: u32 = libc::SOF_TIMESTAMPING_TX_SCHED
            | libc::SOF_TIMESTAMPING_TX_SOFTWARE
            | libc::SOF_TIMESTAMPING_TX_HARDWARE;
        Flags(self.0 & !DEPARTURES)
    }

    /// For a socket that replies: arrivals stamped; departures only where a packet asks for it.
    pub const fn reflector() -> Flags {
        Flags(REPORT_SOFTWARE)
    }

    /// For a socket that only reads: arrivals.
    pub const fn arrivals() -> Flags {
        Flags(libc::SOF_TIMESTAMPING_SOFTWARE | libc::SOF_TIMESTAMPING_RX_SOFTWARE)
    }

    /// For a TCP socket that replies: arrivals, and the departure of every reply's last byte.
    pub const fn tcp_reflector() -> Flags {
        Flags(REPORT_SOFTWARE | OPT_ID_TCP | libc::SOF_TIMESTAMPING_TX_SOFTWARE)
    }
}

/// Sets the flags. Packet ids restart at 0 only if they were off before ([`restart_ids`]).
pub fn set(socket: &impl AsFd, flags: Flags) -> io::Result<()> {
    crate::socket_options::set_int(
        socket.as_fd().as_raw_fd(),
        libc::SOL_SOCKET,
        libc::SO_TIMESTAMPING,
        flags.0 as libc::c_int,
    )
}

/// Sets the flags anew, so that the next packet has id 0. Wanted after a send call failed: whether
/// it used up an id depends on where in the kernel it failed.
pub fn restart_ids(socket: &impl AsFd, flags: Flags) -> io::Result<()> {
    set(socket, Flags::NONE)?;
    set(socket, flags)
}
