//! Methods that speak in datagrams: one packet, one reply.

use super::channel::{Channel, Decoded, FollowUp, QueueEvent, ReflectorTime, Told};
use super::{error, open};
use delaylab_kernel::ancillary::{Ancillary, QueuedError};
use delaylab_kernel::datagram::{Blocking, DatagramSocket, Received};
use delaylab_kernel::error_queue::ErrorQueue;
use delaylab_kernel::stamping::{self, Flags};
use delaylab_model::Nanos;
use delaylab_model::dscp::Dscp;
use delaylab_model::trial::{RecordFacts, StampPoint};
use delaylab_traffic::prober::Reply;
use delaylab_traffic::prober::stamp_ids::StampIds;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// What a method writes and reads.
pub trait Format {
    /// Writes packet `seq`. The buffer holds the fill, and keeps what is not overwritten.
    fn emit(&mut self, seq: u64, packet: &mut [u8]);

    /// Reads what came. `sent` is the last packet as it was sent: its fill is every packet's.
    fn parse(&mut self, packet: &[u8], sent: &[u8], last: u64) -> Parsed;

    /// Which packet an ICMP error quotes.
    fn quoted(&self, quote: &[u8], last: u64) -> Option<u64>;

    /// How to read the reflector's stamps.
    fn facts(&self) -> RecordFacts {
        RecordFacts::default()
    }

    /// See [`Channel::reflector_time`].
    fn reflector_time(&self) -> ReflectorTime {
        ReflectorTime::AsItCame
    }

    /// See [`Channel::max_duration`].
    fn max_duration(&self) -> Option<Nanos> {
        None
    }

    /// See [`Channel::finish`]. `sent` is the last packet as it was sent.
    fn finish(&mut self, _socket: &DatagramSocket, _sent: &[u8], _last: u64) -> Told {
        Told::default()
    }
}

/// What a format made of a packet.
#[derive(Debug, Clone, Copy)]
pub enum Parsed {
    /// A reply: its number, what the reflector said, whether the bytes are wrong.
    Reply {
        /// Which packet it answers.
        seq: u64,
        /// What the reflector said.
        reflector: FromReflector,
        /// An earlier reply's departure.
        follow_up: Option<FollowUp>,
        /// The bytes are not those sent.
        corrupt: bool,
    },
    /// Malformed, forged, of another run.
    Rejected,
    /// Somebody else's.
    Ignored,
}

/// What a reply tells of its reflector.
#[derive(Debug, Clone, Copy, Default)]
#[allow(missing_docs)] // named after the record's columns
pub struct FromReflector {
    pub r_rx: Option<Nanos>,
    pub r_user: Option<Nanos>,
    pub r_dscp: Option<u8>,
    pub reflector_seq: Option<u32>,
}

/// A datagram socket and a format.
#[derive(Debug)]
pub struct DatagramChannel<F> {
    socket: DatagramSocket,
    format: F,
    flags: Flags,
    packet: Vec<u8>,
    buffer: Vec<u8>,
    received: Option<Received>,
    queue: ErrorQueue,
    /// The packet that was prepared.
    seq: u64,
    ids: StampIds,
}

/// Room for an IPv4 header with options, which raw sockets deliver.
const HEADER_ROOM: usize = 64;

impl<F: Format> DatagramChannel<F> {
    /// `packet` is the fill at the packet's full length. From here on the socket stamps.
    pub fn new(
        socket: DatagramSocket,
        format: F,
        packet: Vec<u8>,
        flags: Flags,
    ) -> io::Result<Self> {
        stamping::restart_ids(&socket, flags)?;
        let buffer = vec![0; packet.len() + HEADER_ROOM];
        Ok(Self {
            socket,
            format,
            flags,
            packet,
            buffer,
            received: None,
            queue: ErrorQueue::new(),
            seq: 0,
            ids: StampIds::default(),
        })
    }
}

impl<F: Format> Channel for DatagramChannel<F> {
    #[inline]
    fn prepare(&mut self, seq: u64) {
        self.seq = seq;
        self.format.emit(seq, &mut self.packet);
    }

    #[inline]
    fn transmit(&mut self) -> io::Result<()> {
        let sent = self.socket.send(&self.packet).map(drop);
        if sent.as_ref().err().is_none_or(packet_was_made) {
            self.ids.used(self.seq);
        }
        sent
    }

    #[inline]
    fn receive(&mut self, blocking: Blocking) -> io::Result<()> {
        let received = if self.flags == Flags::NONE {
            self.socket.receive_plain(&mut self.buffer, blocking)
        } else {
            self.socket.receive(&mut self.buffer, blocking)
        };
        self.received = Some(received?);
        Ok(())
    }

    #[inline]
    fn decode(&mut self, last: u64) -> Option<Decoded> {
        let received = self.received.take()?;
        let packet = &self.buffer[..received.length.min(self.buffer.len())];
        Some(match self.format.parse(packet, &self.packet, last) {
            Parsed::Reply {
                seq,
                reflector,
                follow_up,
                corrupt,
            } => Decoded::Reply(reply(seq, reflector, &received.beside, corrupt), follow_up),
            Parsed::Rejected => Decoded::Rejected,
            Parsed::Ignored => Decoded::Ignored,
        })
    }

    fn read_queue(
        &mut self,
        last: u64,
        expected: usize,
        take: &mut dyn FnMut(QueueEvent),
    ) -> io::Result<bool> {
        let (format, ids) = (&self.format, &self.ids);
        self.queue
            .read(self.socket.as_fd(), expected, |beside, quote| {
                let event = match beside.error {
                    Some(QueuedError::Stamp { point, id }) => {
                        let Some(seq) = ids.seq(id) else { return };
                        return for_each_stamp(beside, point, |point, at| {
                            take(QueueEvent::Stamp { seq, point, at });
                        });
                    }
                    _ => open::refused(beside).and_then(|refused| {
                        if let Some(mtu) = refused.path_mtu() {
                            take(QueueEvent::PathMtu(mtu));
                        }
                        let seq = format.quoted(quote, last)?;
                        Some(QueueEvent::Refused { seq, refused })
                    }),
                };
                if let Some(event) = event {
                    take(event);
                }
            })
    }

    fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn facts(&self) -> RecordFacts {
        self.format.facts()
    }

    fn reflector_time(&self) -> ReflectorTime {
        self.format.reflector_time()
    }

    fn max_duration(&self) -> Option<Nanos> {
        self.format.max_duration()
    }

    fn finish(&mut self, last: u64) -> Told {
        // From here on nobody reads stamps, and unread ones would wake every wait.
        let _ = self.socket.set_stamping(Flags::NONE);
        self.format.finish(&self.socket, &self.packet, last)
    }
}

/// Did this send call fail behind the point where the packet got its number? A full queue drops the
/// packet (ENOBUFS), a firewall forbids it (EPERM): both after it was made.
fn packet_was_made(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(error::NO_BUFFERS | error::NOT_PERMITTED)
    )
}

/// A departure entry holds a software time, a NIC time, or both.
pub(super) fn for_each_stamp(
    beside: &Ancillary,
    point: StampPoint,
    mut take: impl FnMut(StampPoint, Nanos),
) {
    if let Some(at) = beside.software {
        take(point, at);
    }
    if let (Some(at), StampPoint::TTx) = (beside.hardware, point) {
        take(StampPoint::TTxHw, at);
    }
}

/// A reply with what the kernel told beside it.
pub(super) fn reply(
    seq: u64,
    reflector: FromReflector,
    beside: &Ancillary,
    corrupt: bool,
) -> Reply {
    let class = beside.traffic_class.map(Dscp::from_traffic_class);
    Reply {
        seq,
        t_recv: 0,
        t_rx: beside.software,
        t_rx_hw: beside.hardware,
        r_rx: reflector.r_rx,
        r_user: reflector.r_user,
        r_dscp: reflector.r_dscp,
        reply_dscp: class.map(|(dscp, _)| dscp.code_point()),
        reply_ecn: class.map(|(_, ecn)| ecn),
        reply_ttl: beside.ttl,
        reflector_seq: reflector.reflector_seq,
        retransmits: None,
        corrupt,
    }
}
