//! Methods that speak in datagrams: one packet, one reply.

use super::channel::{Channel, Decoded, FinalReport, FollowUp, KeptFor, QueueEvent, ReflectorTime};
use super::error::OpenError;
use super::open::{self, Settings};
use super::session::Frame;
use super::socket::ProbeSocket;
use delaylab_kernel::ancillary::{Ancillary, QueuedError};
use delaylab_kernel::clock;
use delaylab_kernel::datagram::{Blocking, DatagramSocket, Received};
use delaylab_kernel::error_queue::ErrorQueue;
use delaylab_kernel::stamping::Flags;
use delaylab_model::Nanos;
use delaylab_model::dscp::Dscp;
use delaylab_model::trial::{RecordFacts, StampPoint};
use delaylab_traffic::prober::stamp_ids::StampIds;
use delaylab_traffic::prober::{FromServer, Reply};
use std::io;
use std::net::IpAddr;
use std::os::fd::BorrowedFd;

/// What a method writes and reads.
pub trait Format {
    /// Writes packet `seq`. The buffer holds the fill, and keeps what is not overwritten.
    fn emit(&mut self, seq: u64, packet: &mut [u8]);

    /// Reads what came. `sent` is the last packet as it was sent: its fill is every packet's.
    fn parse(&mut self, packet: &[u8], sent: &[u8], last: u64) -> Parsed;

    /// Which packet an ICMP error quotes.
    fn quoted(&self, quote: &[u8], last: u64) -> Option<u64>;

    /// The longest reply to packets of this length.
    fn longest_reply(&self, packet: usize) -> usize {
        packet
    }

    /// How to read the reflector's stamps.
    fn facts(&self) -> RecordFacts {
        RecordFacts::default()
    }

    /// See [`Channel::reflector_time`].
    fn reflector_time(&self) -> ReflectorTime {
        ReflectorTime::AsItCame
    }

    /// See [`Channel::kept`].
    fn kept(&self) -> KeptFor {
        KeptFor::default()
    }

    /// What has the reflector keep the session.
    fn keep_alive(&mut self) -> Option<Frame> {
        None
    }

    /// See [`Channel::resolved`].
    fn resolved(&mut self) -> Vec<Vec<IpAddr>> {
        Vec::new()
    }

    /// See [`Channel::warnings`].
    fn warnings(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// See [`Channel::finish`]. `sent` is the last packet as it was sent.
    fn finish(
        &mut self,
        _socket: &impl ProbeSocket,
        _sent: &[u8],
        _last: u64,
        _patience: Nanos,
    ) -> FinalReport {
        FinalReport::default()
    }
}

/// What a format made of a packet.
#[derive(Debug, Clone)]
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
    /// The answer to [`Format::keep_alive`], and what it told.
    Told(Vec<FollowUp>),
    /// Malformed, forged, of another run.
    Rejected,
    /// Somebody else's.
    Ignored,
}

impl Parsed {
    /// With the whole record of a reply, made of its number, what the reflector said and whether the bytes are wrong.
    #[inline]
    pub(super) fn decoded(self, whole: impl FnOnce(u64, FromReflector, bool) -> Reply) -> Decoded {
        match self {
            Parsed::Reply {
                seq,
                reflector,
                follow_up,
                corrupt,
            } => Decoded::Reply(whole(seq, reflector, corrupt), follow_up),
            Parsed::Told(follow_ups) => Decoded::Told(follow_ups),
            Parsed::Rejected => Decoded::Rejected,
            Parsed::Ignored => Decoded::Ignored,
        }
    }
}

/// What a reply tells of its reflector.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs)] // named after the record's columns
pub struct FromReflector {
    pub r_rx: Option<Nanos>,
    pub r_user: Option<Nanos>,
    /// Where an earlier packet has told it.
    pub r_tx: Option<Nanos>,
    pub r_dscp: Option<u8>,
    pub reflector_seq: Option<u32>,
    /// How often the reflector had begun to count again.
    pub reflector_epoch: u32,
    /// What a server of any make answered.
    pub server: Option<Box<FromServer>>,
}

/// A datagram socket and a format.
#[derive(Debug)]
pub struct DatagramChannel<F, S = DatagramSocket> {
    socket: S,
    format: F,
    flags: Flags,
    packet: Vec<u8>,
    buffer: Vec<u8>,
    received: Option<Received>,
    queue: ErrorQueue,
    /// The packet that was prepared.
    seq: u64,
    ids: StampIds,
    /// Departures are not stamped now.
    muted: bool,
    unstamped: u64,
}

/// Room for an IPv4 header with options, which raw sockets deliver.
const HEADER_ROOM: usize = 64;

impl<F: Format, S: ProbeSocket> DatagramChannel<F, S> {
    /// As [`Self::new`], with the stamps that the probe asks for.
    pub fn open(
        settings: &Settings<'_>,
        socket: S,
        format: F,
        packet: Vec<u8>,
    ) -> Result<Self, OpenError> {
        let flags = Flags::prober(settings.probe().stamps);
        Self::new(socket, format, packet, flags).map_err(settings.failed("timestamps"))
    }

    /// `packet` is the fill at the packet's full length. From here on the socket stamps.
    pub fn new(socket: S, format: F, packet: Vec<u8>, flags: Flags) -> io::Result<Self> {
        // Numbers begin anew only where stamps were off.
        socket.set_stamping(Flags::NONE)?;
        socket.set_stamping(flags)?;
        let buffer = vec![0; format.longest_reply(packet.len()) + HEADER_ROOM];
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
            muted: false,
            unstamped: 0,
        })
    }
}

impl<F, S> DatagramChannel<F, S> {
    const fn flags_now(&self) -> Flags {
        match self.muted {
            true => self.flags.without_departures(),
            false => self.flags,
        }
    }
}

impl<F: Format, S: ProbeSocket> Channel for DatagramChannel<F, S> {
    #[inline]
    fn prepare(&mut self, seq: u64) {
        self.seq = seq;
        self.format.emit(seq, &mut self.packet);
    }

    #[inline]
    fn transmit(&mut self) -> io::Result<()> {
        self.ids.sending(clock::realtime);
        let sent = self.socket.send(&self.packet).map(drop);
        match &sent {
            Ok(()) => {
                self.ids.sent(self.seq);
                self.unstamped += u64::from(self.muted);
            }
            Err(_) => self.ids.failed(),
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
        let parsed = self.format.parse(packet, &self.packet, last);
        let beside = &received.beside;
        Some(parsed.decoded(|seq, reflector, corrupt| reply(seq, reflector, beside, corrupt)))
    }

    fn read_queue(
        &mut self,
        last: u64,
        expected: usize,
        take: &mut dyn FnMut(QueueEvent),
    ) -> io::Result<bool> {
        let (format, ids) = (&self.format, &mut self.ids);
        self.socket
            .read_errors(&mut self.queue, expected, |beside, quote| {
                let event = match beside.error {
                    Some(QueuedError::Stamp { point, id }) => {
                        let Some(seq) = ids.seq(id, beside.software) else {
                            return;
                        };
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

    #[inline]
    fn wants_queue_read(&self) -> bool {
        self.ids.is_on_trial() && self.flags != Flags::NONE
    }

    #[inline]
    fn queue_is_read(&mut self, over: u64) -> io::Result<()> {
        self.ids.over(over);
        let mute = self.wants_queue_read();
        if std::mem::replace(&mut self.muted, mute) != mute {
            self.socket.set_stamping(self.flags_now())?;
        }
        Ok(())
    }

    fn unstamped(&self) -> u64 {
        self.unstamped
    }

    fn socket(&self) -> BorrowedFd<'_> {
        self.socket.descriptor()
    }

    fn facts(&self) -> RecordFacts {
        self.format.facts()
    }

    fn reflector_time(&self) -> ReflectorTime {
        self.format.reflector_time()
    }

    fn kept(&self) -> KeptFor {
        self.format.kept()
    }

    fn keep_alive(&mut self) -> io::Result<()> {
        let Some(packet) = self.format.keep_alive() else {
            return Ok(());
        };
        // It is none of the packets whose stamps are numbered.
        self.socket.set_stamping(self.flags.without_departures())?;
        let sent = self.socket.send(&packet);
        self.socket.set_stamping(self.flags_now())?;
        sent.map(drop)
    }

    fn resolved(&mut self) -> Vec<Vec<IpAddr>> {
        self.format.resolved()
    }

    fn warnings(&mut self) -> Vec<String> {
        self.format.warnings()
    }

    fn finish(&mut self, last: u64, patience: Nanos) -> FinalReport {
        // From here on nobody reads stamps, and unread ones would wake every wait.
        let _ = self.socket.set_stamping(Flags::NONE);
        let (socket, sent) = (&self.socket, &self.packet);
        self.format.finish(socket, sent, last, patience)
    }
}

/// Which stamp an entry of a connection's error queue holds, and of which byte.
pub(super) const fn stamp_of_byte(beside: &Ancillary) -> Option<(StampPoint, u32)> {
    match beside.error {
        Some(QueuedError::Stamp { point, id }) => Some((point, id)),
        Some(QueuedError::Acknowledged { id }) => Some((StampPoint::TAck, id)),
        _ => None,
    }
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
        r_tx: reflector.r_tx,
        r_dscp: reflector.r_dscp,
        reply_dscp: class.map(|(dscp, _)| dscp.code_point()),
        reply_ecn: class.map(|(_, ecn)| ecn),
        reply_ttl: beside.ttl,
        reflector_seq: reflector.reflector_seq,
        reflector_epoch: reflector.reflector_epoch,
        retransmits: None,
        server: reflector.server,
        corrupt,
    }
}
