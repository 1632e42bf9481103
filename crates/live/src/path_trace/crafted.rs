//! Packets that are written here as a whole: what they leave by, and what their answers arrive by.
//!
//! Packets leave whole, IP header and all, by a raw socket for each class: its own mark on the socket has
//! this host's routes and queues treat the packet as one of its class. A socket that is bound and never
//! used keeps our port from others.

use super::PathTracing;
use super::wires::{Arrived, Wires, connected};
use crate::connections::tcp_socket;
use crate::prober::error::OpenError;
use crate::prober::open::bind_to_interface;
use delaylab_kernel::ancillary::Ancillary;
use delaylab_kernel::datagram::{Blocking, DatagramSocket, Kind, Received, SendOptions};
use delaylab_kernel::privilege::{self, Capability};
use delaylab_kernel::stamping::Flags;
use delaylab_kernel::{clock, random, socket_options as options};
use delaylab_model::Nanos;
use delaylab_model::method::{Carrier, Method};
use delaylab_model::probe::DontFragment;
use delaylab_traffic::path_trace::{QuotedMarks, Said};
use delaylab_wire::icmp_error::IcmpError;
use delaylab_wire::ip::Header;
use delaylab_wire::path_probe::{Flow, Mark, TcpReply, Transport};
use socket2::Socket;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

/// The port by which the kernel is asked for the route where the method has none: udp's discard.
const ANY_PORT: u16 = 9;
/// Longer than any quote.
const BUFFER: usize = 65_536;

/// The sockets of such a path trace.
pub(super) struct Crafted {
    packet: Vec<u8>,
    flow: Flow,
    to: SocketAddr,
    senders: Vec<DatagramSocket>,
    icmp: DatagramSocket,
    tcp: Option<DatagramSocket>,
    /// Bound to our port and connected to the target's.
    udp: DatagramSocket,
    /// Bound to our port.
    _tcp_port: Option<Socket>,
    buffer: Vec<u8>,
}

impl Crafted {
    /// Opens them, for packets of this method with so much payload.
    pub fn open(tracing: &PathTracing, method: Method, payload: u32) -> Result<Self, OpenError> {
        let opening = Opening { tracing, method };
        let (udp, local) = opening.udp()?;
        let [a, b, c, d, ..] = random::bytes().map_err(opening.failed("random numbers"))?;
        let mut tcp_port = None;
        let transport = match method.carrier() {
            Carrier::Icmp => Transport::Icmp {
                id: u16::from_be_bytes([a, b]),
            },
            Carrier::Tcp => {
                let (socket, source) = opening.tcp_port(local)?;
                tcp_port = Some(socket);
                Transport::Tcp {
                    source,
                    port: tracing.target.port(),
                }
            }
            Carrier::Udp => Transport::Udp {
                source: local.port(),
                port: tracing.target.port(),
            },
        };
        let mut to = tracing.target;
        to.set_port(0);
        let flow = Flow {
            source: local.ip(),
            destination: tracing.target.ip(),
            transport,
            token: u16::from_be_bytes([c, d]).max(1),
        };
        Ok(Self {
            packet: vec![0; flow.packet_size(payload as usize)],
            flow,
            to,
            senders: opening.senders()?,
            icmp: opening.icmp()?,
            tcp: method.is_stream().then(|| opening.tcp(to)).transpose()?,
            udp,
            _tcp_port: tcp_port,
            buffer: vec![0; BUFFER],
        })
    }

    fn read_icmp(&self, received: Received) -> Option<Arrived> {
        let (from, beside, message) = self.unpack(received)?;
        let v6 = self.flow.destination.is_ipv6();
        if let Ok(number) = self.flow.echo_reply(message) {
            // Others may answer in the target's name; only its own echo counts.
            let is_target = from == self.flow.destination;
            return is_target.then(|| Arrived::new(number, from, Said::EchoReply, &beside));
        }
        let error = IcmpError::parse(message, v6).ok()?;
        let mark = self.flow.quoted(error.quote).ok()?;
        let mut arrived = Arrived::new(mark.number, from, Said::Error(error.reason), &beside);
        arrived.answer.seen = Some(QuotedMarks {
            traffic_class: mark.traffic_class,
            ttl: mark.ttl,
        });
        arrived.answer.labels = error.labels;
        Some(arrived)
    }

    fn read_tcp(&self, received: Received) -> Option<Arrived> {
        let (from, beside, segment) = self.unpack(received)?;
        let (number, reply) = self.flow.tcp_reply(segment).ok()?;
        let said = match reply {
            TcpReply::Open => Said::Open,
            TcpReply::Closed => Said::Closed,
        };
        Some(Arrived::new(number, from, said, &beside))
    }

    /// What was read from a raw socket, without the IP header that IPv4 ones leave on: who sent it, what came beside it.
    fn unpack(&self, received: Received) -> Option<(IpAddr, Ancillary, &[u8])> {
        let bytes = &self.buffer[..received.length];
        if self.flow.destination.is_ipv6() {
            return Some((received.from?.ip(), received.beside, bytes));
        }
        let (header, at) = Header::parse(bytes).ok()?;
        let beside = Ancillary {
            ttl: Some(header.ttl),
            traffic_class: Some(header.traffic_class),
            ..received.beside
        };
        Some((header.source, beside, &bytes[at..]))
    }
}

impl Wires for Crafted {
    fn packet_size(&self) -> usize {
        self.packet.len()
    }

    fn readable(&self) -> Vec<BorrowedFd<'_>> {
        let always = [self.icmp.as_fd(), self.udp.as_fd()];
        let tcp = self.tcp.iter().map(AsFd::as_fd);
        always.into_iter().chain(tcp).collect()
    }

    fn send(&mut self, class: usize, mark: Mark) -> io::Result<Nanos> {
        let emitted = self.flow.emit(mark, &mut self.packet);
        emitted.map_err(io::Error::other)?;
        let sent_at = clock::monotonic();
        self.senders[class]
            .send_to(&self.packet, self.to, SendOptions::default())
            .map(|_| sent_at)
    }

    fn receive(&mut self) -> io::Result<Option<Arrived>> {
        while let Some(received) = arrived(&self.icmp, false, &mut self.buffer)? {
            if let Some(arrived) = self.read_icmp(received) {
                return Ok(Some(arrived));
            }
        }
        if let Some(tcp) = &self.tcp {
            while let Some(received) = arrived(tcp, true, &mut self.buffer)? {
                if let Some(arrived) = self.read_tcp(received) {
                    return Ok(Some(arrived));
                }
            }
        }
        while let Some(received) = arrived(&self.udp, true, &mut self.buffer)? {
            if let Ok(number) = self.flow.udp_reply(&self.buffer[..received.length]) {
                let from = self.flow.destination;
                let arrived = Arrived::new(number, from, Said::Datagram, &received.beside);
                return Ok(Some(arrived));
            }
        }
        Ok(None)
    }
}

/// The next packet of a socket. A connected one is told of ICMP errors as well; the raw one reads them.
fn arrived(
    socket: &DatagramSocket,
    connected: bool,
    buffer: &mut [u8],
) -> io::Result<Option<Received>> {
    loop {
        match socket.receive_from(buffer, Blocking::No) {
            Ok(received) => return Ok(Some(received)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if connected || error.kind() == io::ErrorKind::WouldBlock => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        }
    }
}

struct Opening<'a> {
    tracing: &'a PathTracing,
    method: Method,
}

impl Opening<'_> {
    fn failed(&self, what: &'static str) -> impl Fn(io::Error) -> OpenError + use<> {
        let method = self.method;
        move |source| match source.kind() {
            io::ErrorKind::PermissionDenied => OpenError::NoRawPrivilege,
            _ => OpenError::socket(method, what)(source),
        }
    }

    const fn v6(&self) -> bool {
        self.tracing.target.is_ipv6()
    }

    /// The socket that keeps our udp port, and by which the kernel says from which address we send.
    fn udp(&self) -> Result<(DatagramSocket, SocketAddr), OpenError> {
        let mut target = self.tracing.target;
        if self.method.carrier() != Carrier::Udp {
            target.set_port(ANY_PORT);
        }
        let socket = connected(self.tracing, target, self.failed("open"))?;
        options::receive_marks(&socket, self.v6()).map_err(self.failed("receive marks"))?;
        let _ = socket.set_stamping(Flags::reflector());
        let local = socket.local_address().map_err(self.failed("address"))?;
        Ok((socket, local))
    }

    /// A tcp port of this address that nobody else has. Nothing listens there, so the kernel resets what
    /// the target opens.
    fn tcp_port(&self, local: SocketAddr) -> Result<(Socket, u16), OpenError> {
        let mut any = local;
        any.set_port(0);
        let port = || {
            let socket = tcp_socket(any)?;
            socket.bind(&any.into())?;
            let bound = socket.local_addr()?.as_socket();
            Ok((socket, bound.map_or(0, |bound| bound.port())))
        };
        port().map_err(self.failed("port"))
    }

    fn raw(&self, kind: Kind) -> Result<DatagramSocket, OpenError> {
        // A permitted capability (setcap …+p) is only used where it is raised.
        let opened = privilege::with(Capability::CAP_NET_RAW, || {
            DatagramSocket::open(kind, self.v6())
        });
        let socket = opened.map_err(self.failed("open"))?;
        bind_to_interface(&socket, self.tracing.interface.as_deref())?;
        Ok(socket)
    }

    fn senders(&self) -> Result<Vec<DatagramSocket>, OpenError> {
        let settings = &self.tracing.settings;
        let sender = |class: &delaylab_model::dscp::Dscp| {
            let socket = self.raw(Kind::IpRaw)?;
            let byte = class.traffic_class(settings.ecn);
            options::set_traffic_class(&socket, self.v6(), byte).map_err(self.failed("class"))?;
            // A hop that says "too big" is an answer. The kernel learns the path's MTU from it and would, of IPv6,
            // refuse to send any further packet to the target, and of IPv4 fragment it here.
            options::set_dont_fragment(&socket, self.v6(), DontFragment::Probe)
                .map_err(self.failed("ignore the path MTU"))?;
            Ok(socket)
        };
        settings.classes.iter().map(sender).collect()
    }

    fn listener(&self, kind: Kind) -> Result<DatagramSocket, OpenError> {
        let socket = self.raw(kind)?;
        options::receive_marks(&socket, self.v6()).map_err(self.failed("receive marks"))?;
        // Without the kernel's stamps the reader's clock has to do.
        let _ = socket.set_stamping(Flags::reflector());
        Ok(socket)
    }

    fn icmp(&self) -> Result<DatagramSocket, OpenError> {
        let socket = self.listener(Kind::IcmpRaw)?;
        let types: &[u8] = if self.v6() {
            &[1, 2, 3, 4, 129]
        } else {
            &[0, 3, 11, 12]
        };
        let filtered = socket.accept_only_types(types);
        filtered.map_err(self.failed("filter answers"))?;
        Ok(socket)
    }

    /// Segments of the target alone: others have connections as well.
    fn tcp(&self, to: SocketAddr) -> Result<DatagramSocket, OpenError> {
        let socket = self.listener(Kind::TcpRaw)?;
        let connected = socket.connect(to);
        connected.map_err(|source| OpenError::NoRoute { target: to, source })?;
        Ok(socket)
    }
}
