//! What opening a socket has in common for every method.

use super::error::{self, OpenError};
use super::shortest::RoundTrips;
use crate::clocks::HostClock;
use crate::connections;
use crate::payload;
use delaylab_kernel::ancillary::{Ancillary, QueuedError};
use delaylab_kernel::datagram::{DatagramSocket, Kind};
use delaylab_kernel::error_queue::ErrorQueue;
use delaylab_kernel::socket_options as options;
use delaylab_model::icmp::IcmpReason;
use delaylab_model::probe::Probe;
use delaylab_model::stop::Stop;
use delaylab_model::trial::ProbeRun;
use delaylab_traffic::prober::Refused;
use delaylab_wire::auth::Key;
use socket2::Socket;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;

/// Room for the replies and stamps of a host that is kept from reading for a while.
const RECEIVE_BUFFER: i32 = 4 << 20;

/// What a method needs to open its socket.
#[derive(Debug, Clone, Copy)]
pub struct Settings<'a> {
    /// What to do.
    pub run: &'a ProbeRun,
    /// Where to.
    pub target: SocketAddr,
    /// The secret shared with the reflector.
    pub key: Option<&'a Key>,
    /// This host's clocks.
    pub clock: &'a HostClock,
    /// Ends it early.
    pub stop: &'a Stop,
    /// The shortest round trips, which all probes share.
    pub shortest: &'a RoundTrips,
}

impl Settings<'_> {
    /// The probe.
    pub fn probe(&self) -> &Probe {
        &self.run.probe
    }

    /// A packet of this length, filled as the probe wants it.
    pub fn filled(&self, length: usize) -> Vec<u8> {
        payload::filled(&self.probe().fill, length, self.run.seed)
    }

    /// A step of setting the socket up failed.
    pub fn failed(&self, what: &'static str) -> impl Fn(io::Error) -> OpenError + use<> {
        OpenError::socket(self.probe().method, what)
    }
}

/// Marks, interface, buffers and what to tell beside each packet.
pub fn set_up(socket: &DatagramSocket, settings: &Settings<'_>) -> Result<(), OpenError> {
    let probe = settings.probe();
    let v6 = settings.target.is_ipv6();
    bind_to_interface(socket, probe.interface.as_deref())?;
    socket
        .set_marks(
            probe.dscp.traffic_class(probe.ecn),
            probe.ttl,
            probe.dont_fragment,
        )
        .map_err(settings.failed("marks"))?;
    options::set_receive_buffer(socket, RECEIVE_BUFFER)
        .map_err(settings.failed("receive buffer"))?;
    options::receive_marks(socket, v6).map_err(settings.failed("receive marks"))?;
    options::receive_errors(socket, v6, true).map_err(settings.failed("receive errors"))
}

/// Binds it to the interface that was asked for, if one was.
pub fn bind_to_interface(socket: &impl AsFd, name: Option<&str>) -> Result<(), OpenError> {
    let Some(name) = name else {
        return Ok(());
    };
    options::bind_to_interface(socket, name).map_err(|source| OpenError::Interface {
        name: name.to_owned(),
        source,
    })
}

/// A step of setting a socket up that failed.
#[derive(Debug)]
pub(super) struct Unset {
    pub what: &'static str,
    pub source: io::Error,
}

impl Unset {
    /// As an error of a probe.
    pub fn into_error(self, settings: &Settings<'_>) -> OpenError {
        match (self.what, &settings.probe().interface) {
            (INTERFACE, Some(name)) => OpenError::Interface {
                name: name.clone(),
                source: self.source,
            },
            _ => settings.failed(self.what)(self.source),
        }
    }
}

const INTERFACE: &str = "interface";

/// A TCP socket as the probe wants it, not connected yet.
pub(super) fn tcp_socket(probe: &Probe, target: SocketAddr) -> Result<Socket, Unset> {
    let v6 = target.is_ipv6();
    let failed = |what: &'static str| move |source| Unset { what, source };
    let socket = connections::tcp_socket(target).map_err(failed("open"))?;
    if let Some(name) = &probe.interface {
        options::bind_to_interface(&socket, name).map_err(failed(INTERFACE))?;
    }
    options::set_dont_fragment(&socket, v6, probe.dont_fragment)
        .map_err(failed("fragmentation"))?;
    options::set_traffic_class(&socket, v6, probe.dscp.traffic_class(0))
        .map_err(failed("marks"))?;
    if let Some(ttl) = probe.ttl {
        options::set_ttl(&socket, v6, ttl).map_err(failed("TTL"))?;
    }
    Ok(socket)
}

/// A UDP socket to the target.
pub fn udp_socket(settings: &Settings<'_>) -> Result<DatagramSocket, OpenError> {
    let socket = DatagramSocket::open(Kind::Udp, settings.target.is_ipv6())
        .map_err(settings.failed("open"))?;
    set_up(&socket, settings)?;
    connect(&socket, settings.target, settings)?;
    Ok(socket)
}

/// A first exchange with the target failed. Where an ICMP error ended it, the error queue has it: a firewall on the
/// way refuses with the same error number as a host without the port.
pub fn no_exchange(settings: &Settings<'_>, socket: &impl AsFd, source: io::Error) -> OpenError {
    let target = settings.target;
    if let Some(refused) = refusal(socket)
        && let (Some(by), Some(reason)) = (refused.by, refused.reason())
        && !(reason == IcmpReason::PortUnreachable && by == target.ip())
    {
        return OpenError::Icmp {
            target,
            by,
            reason,
            path_mtu: refused.path_mtu(),
        };
    }
    if source.kind() == io::ErrorKind::ConnectionRefused {
        return OpenError::NothingListens {
            method: settings.probe().method,
            target: settings.target,
        };
    }
    cannot_reach(settings, source)
}

/// The first ICMP error in the queue.
pub(super) fn refusal(socket: &impl AsFd) -> Option<Refused> {
    let mut first = None;
    let mut take = |beside: &Ancillary, _: &[u8]| {
        if let Some(refused) = refused(beside) {
            first.get_or_insert(refused);
        }
    };
    // Nothing more can be said where the queue cannot be read.
    let mut queue: ErrorQueue<4> = ErrorQueue::new();
    let _ = queue.read(socket.as_fd(), 1, &mut take);
    first
}

/// What an entry of the error queue says of a refusal.
pub fn refused(beside: &Ancillary) -> Option<Refused> {
    match beside.error? {
        QueuedError::Refused {
            errno,
            by,
            icmp,
            info,
        } => Some(Refused {
            by,
            icmp,
            info,
            errno,
        }),
        _ => None,
    }
}

/// Connects, which finds the route.
pub fn connect(
    socket: &DatagramSocket,
    target: SocketAddr,
    settings: &Settings<'_>,
) -> Result<(), OpenError> {
    socket
        .connect(target)
        .map_err(|source| cannot_reach(settings, source))
}

/// Does the packet not fit the MTU?
pub fn is_too_long(error: &io::Error) -> bool {
    error.raw_os_error() == Some(error::MESSAGE_TOO_LONG)
}

/// The kernel says that the target cannot be reached.
pub fn cannot_reach(settings: &Settings<'_>, source: io::Error) -> OpenError {
    if is_too_long(&source) {
        return OpenError::setting(
            "payload",
            "the packet does not fit the MTU and must not be fragmented. Use a smaller -s, or -M want",
        );
    }
    if let SocketAddr::V6(target) = settings.target
        && target.ip().is_unicast_link_local()
        && target.scope_id() == 0
        && source.kind() == io::ErrorKind::InvalidInput
    {
        let address = target.ip();
        let reason = format!(
            "{address} is an address of a link, and each interface has one (RFC 4007): write {address}%eth0, or -I eth0"
        );
        return OpenError::setting("interface", reason);
    }
    OpenError::NoRoute {
        target: settings.target,
        source,
    }
}
