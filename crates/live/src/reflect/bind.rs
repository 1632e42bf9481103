//! Opening a reflector's sockets.

use crate::clocks::HostClock;
use crate::connections::{CONGESTION_CONTROL, tcp_socket};
use delaylab_kernel::datagram::{DatagramSocket, Kind};
use delaylab_kernel::privilege::{self, Capability};
use delaylab_kernel::socket_options as options;
use delaylab_kernel::stamping::{self, Flags};
use delaylab_kernel::steering;
use delaylab_kernel::udp_errors::UdpErrors;
use delaylab_model::{MILLISECOND, Nanos};
use delaylab_traffic::reflector::Port;
use socket2::SockRef;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// How often a thread that sleeps looks whether it is to stop.
pub(super) const LOOK_EVERY: Nanos = 200 * MILLISECOND;
/// Room for what comes while the reflector is kept from reading.
const BUFFER: i32 = 4 << 20;
/// Connections that wait to be taken.
const BACKLOG: i32 = 128;

/// Why a socket could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("cannot serve {service} on {address}: {source}{}", remedy(.source, .address.port()))]
pub struct BindError {
    service: &'static str,
    address: SocketAddr,
    source: io::Error,
}

fn remedy(error: &io::Error, port: u16) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            ". Another process has this port: `ss -lntup` shows which; or choose another".to_owned()
        }
        io::ErrorKind::PermissionDenied if port < 1024 => format!(
            ". Ports below 1024 need CAP_NET_BIND_SERVICE: `{}`, or choose another with --stamp-port, such as {}",
            privilege::setcap_of_installed(),
            u32::from(port) + 8000
        ),
        io::ErrorKind::AddrNotAvailable => {
            ". This host has no such address: `ip -br address` lists those it has".to_owned()
        }
        _ => String::new(),
    }
}

impl BindError {
    /// Is it STAMP's port below 1024 that is not allowed?
    pub fn is_privilege(&self) -> bool {
        self.source.kind() == io::ErrorKind::PermissionDenied
    }
}

/// Open sockets, not served yet.
#[derive(Debug)]
pub struct Bound {
    /// Read now: once privileges are given up, it cannot be found out which clock it is.
    pub(crate) clock: HostClock,
    /// Opened now, as above.
    pub(super) udp_errors: Arc<UdpErrors>,
    pub(crate) datagrams: Vec<Served>,
    pub(super) streams: Vec<TcpListener>,
    pub(super) load_datagrams: Vec<DatagramSocket>,
    pub(super) load_streams: Vec<TcpListener>,
    ports: Vec<u16>,
}

/// The sockets of one address and port.
#[derive(Debug)]
pub(crate) struct Served {
    pub(super) port: Port,
    /// Where everything comes that does not come to the other one.
    pub(crate) socket: DatagramSocket,
    /// Where packets of established sessions come: a flood of strangers fills the other one's buffer.
    pub(crate) established: Option<DatagramSocket>,
}

impl Default for Bound {
    fn default() -> Self {
        Self {
            clock: HostClock::of_kernel(),
            udp_errors: Arc::new(UdpErrors::open()),
            datagrams: Vec::new(),
            streams: Vec::new(),
            load_datagrams: Vec::new(),
            load_streams: Vec::new(),
            ports: Vec::new(),
        }
    }
}

impl Bound {
    /// Opens udp echo and tcp on every address and port. Port 0 is any free one, the same for both.
    pub fn open_echo(
        &mut self,
        addresses: &[IpAddr],
        ports: RangeInclusive<u16>,
    ) -> Result<Vec<SocketAddr>, BindError> {
        let mut opened = Vec::new();
        for port in ports {
            opened.extend(on_one_port(addresses, port, |address| {
                free_for_both(address, || {
                    let at = self.open_datagram(Port::Echo, address)?;
                    self.open_stream(at).inspect_err(|_| {
                        self.datagrams.pop();
                        self.ports.pop();
                    })?;
                    Ok(at)
                })
            })?);
        }
        Ok(opened)
    }

    /// Opens STAMP on every address.
    pub fn open_stamp(
        &mut self,
        addresses: &[IpAddr],
        port: u16,
    ) -> Result<Vec<SocketAddr>, BindError> {
        on_one_port(addresses, port, |at| self.open_datagram(Port::Stamp, at))
    }

    /// Opens a port for load, udp and tcp, on every address. Port 0 is any free one, the same for both.
    pub fn open_load(
        &mut self,
        addresses: &[IpAddr],
        port: u16,
    ) -> Result<Vec<SocketAddr>, BindError> {
        on_one_port(addresses, port, |address| {
            let failed = |source| BindError {
                service: "load",
                address,
                source,
            };
            let (socket, at, listener) = free_for_both(address, || {
                let (socket, at) = load_socket(address).map_err(failed)?;
                let listener = stream_socket(at).map_err(failed)?;
                Ok((socket, at, listener))
            })?;
            // While there is privilege for it: its connections have what is usual for load, and may keep it.
            let _ = SockRef::from(&listener).set_tcp_congestion(CONGESTION_CONTROL.as_bytes());
            self.load_streams.push(listener);
            self.load_datagrams.push(socket);
            self.ports.push(at.port());
            Ok(at)
        })
    }

    /// The ports that are served.
    pub fn ports(&self) -> impl Iterator<Item = u16> + '_ {
        self.ports.iter().copied()
    }

    fn open_datagram(&mut self, port: Port, address: SocketAddr) -> Result<SocketAddr, BindError> {
        let service = if port == Port::Stamp { "stamp" } else { "udp" };
        let failed = |source| BindError {
            service,
            address,
            source,
        };
        let (socket, at) = datagram_socket(address, Sharing::No).map_err(failed)?;
        let established = (port == Port::Echo).then(|| beside(&socket, at).ok());
        let served = Served {
            port,
            socket,
            established: established.flatten(),
        };
        self.ports.push(at.port());
        self.datagrams.push(served);
        Ok(at)
    }

    fn open_stream(&mut self, address: SocketAddr) -> Result<(), BindError> {
        let listener = stream_socket(address).map_err(|source| BindError {
            service: "tcp",
            address,
            source,
        })?;
        self.streams.push(listener);
        Ok(())
    }
}

/// How often another port is tried: that of a connection under way is free for UDP, and not for TCP.
const TRIES: u32 = 16;

/// Opens both sockets of a service; where any port will do, on one that is free for both.
fn free_for_both<T>(
    address: SocketAddr,
    mut open: impl FnMut() -> Result<T, BindError>,
) -> Result<T, BindError> {
    let mut tries = (1..TRIES).filter(|_| address.port() == 0);
    loop {
        match open() {
            Err(error) if error.source.kind() == io::ErrorKind::AddrInUse => {
                if tries.next().is_none() {
                    return Err(error);
                }
            }
            opened => return opened,
        }
    }
}

/// Opens a service on every address, on the same port everywhere: where any will do, on the first's.
fn on_one_port(
    addresses: &[IpAddr],
    mut port: u16,
    mut open: impl FnMut(SocketAddr) -> Result<SocketAddr, BindError>,
) -> Result<Vec<SocketAddr>, BindError> {
    let mut opened = Vec::new();
    for &address in addresses {
        let at = open(SocketAddr::new(address, port))?;
        port = at.port();
        opened.push(at);
    }
    Ok(opened)
}

/// May several sockets have the same port?
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sharing {
    Yes,
    No,
}

/// A second socket on the first one's port, where the kernel can tell which of them a packet is for.
///
/// The first was bound alone: with a shared one another reflector of this user would be given the same port.
/// It is not closed and bound again as a shared one: a process that is being started holds all sockets of
/// this one for a moment, and the port with them.
fn beside(first: &DatagramSocket, at: SocketAddr) -> io::Result<DatagramSocket> {
    steering::share_port(first)?;
    let (second, _) = datagram_socket(at, Sharing::Yes)?;
    steering::steer(first, &[])?;
    Ok(second)
}

fn datagram_socket(
    address: SocketAddr,
    sharing: Sharing,
) -> io::Result<(DatagramSocket, SocketAddr)> {
    let v6 = address.is_ipv6();
    let socket = DatagramSocket::open(Kind::Udp, v6)?;
    if sharing == Sharing::Yes {
        steering::share_port(&socket)?;
    }
    privilege::with(Capability::CAP_NET_BIND_SERVICE, || socket.bind(address))?;
    options::receive_marks(&socket, v6)?;
    if address.ip().is_unspecified() {
        options::receive_local_address(&socket, v6)?;
    }
    options::set_receive_buffer(&socket, BUFFER)?;
    options::set_send_buffer(&socket, BUFFER)?;
    options::set_receive_timeout(&socket, LOOK_EVERY)?;
    stamping::set(&socket, Flags::reflector())?;
    let at = socket.local_address()?;
    Ok((socket, at))
}

/// Without stamps and marks: what arrives here is only counted.
fn load_socket(address: SocketAddr) -> io::Result<(DatagramSocket, SocketAddr)> {
    let socket = DatagramSocket::open(Kind::Udp, address.is_ipv6())?;
    privilege::with(Capability::CAP_NET_BIND_SERVICE, || socket.bind(address))?;
    options::set_receive_buffer(&socket, BUFFER)?;
    options::set_receive_timeout(&socket, LOOK_EVERY)?;
    let at = socket.local_address()?;
    Ok((socket, at))
}

fn stream_socket(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = tcp_socket(address)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_reuse_address(true)?;
    privilege::with(Capability::CAP_NET_BIND_SERVICE, || {
        socket.bind(&address.into())
    })?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `setcap` takes away what it does not name, such as what the package gave.
    #[test]
    fn the_remedy_for_a_low_port_takes_no_capability_away() {
        let said = remedy(&io::ErrorKind::PermissionDenied.into(), 862);
        for name in ["cap_net_raw", "cap_sys_nice", "cap_net_bind_service"] {
            assert!(said.contains(name), "{said}");
        }
        assert!(said.ends_with("such as 8862"), "{said}");
    }
}
