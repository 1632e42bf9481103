//! Request and response on one open TCP connection (source 004's TCPMon).
//!
//! Departure stamps are of a request's last byte; the kernel numbers them by byte offset. The far kernel acknowledges that byte,
//! which is a stamp as well ([`delaylab_model::record::Record::server`]).

use super::arrival::ReplyArrival;
use super::channel::{Channel, Decoded, FinalReport, KeptFor, QueueEvent, ReflectorTime};
use super::datagram::{Parsed, for_each_stamp, reply, stamp_of_byte};
use super::error::{ConnectionEnd, OpenError};
use super::least_payload::too_short;
use super::open::{self, Settings};
use super::session::{self, Next, PATIENCE_IN_ALL, Session, SetUp};
use super::udp::what_it_says;
use crate::connections::CONGESTION_CONTROL;
use delaylab_kernel::ancillary::Ancillary;
use delaylab_kernel::datagram::Blocking;
use delaylab_kernel::error_queue::ErrorQueue;
use delaylab_kernel::socket_options as options;
use delaylab_kernel::stamping::Flags;
use delaylab_kernel::stream::StreamSocket;
use delaylab_kernel::{clock, wait};
use delaylab_model::method::Method;
use delaylab_model::probe::StampRequest;
use delaylab_model::trial::RecordFacts;
use delaylab_model::{MICROSECOND, MILLISECOND, Nanos};
use delaylab_traffic::prober::sequence::{widen, widen_near};
use delaylab_traffic::prober::{self, FromServer};
use delaylab_wire::auth::Transport;
use delaylab_wire::control::{Collected, Control, SIZE};
use delaylab_wire::echo::{Mode, STAMPS_END, Stamps};
use delaylab_wire::tcp::{
    Decoder, Frame, FrameError, REQUEST_HEADER, Reply, Request, is_stamped, smallest_reply,
};
use socket2::Socket;
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// The reflector's last words are waited for this long.
const ENDING_FOR: Nanos = 200 * MILLISECOND;
/// How long a connection may take to open.
const CONNECT_FOR: Duration = Duration::from_secs(3);
/// How long a send call may wait for room.
const SEND_FOR: Duration = Duration::from_secs(5);
/// One read.
const READ: usize = 64 * 1024;
/// Stamps of one request, of whole segments or of several.
const STAMPS_OF_A_REQUEST: usize = 8;

/// A connection and what was agreed on it.
#[derive(Debug)]
pub struct TcpChannel {
    socket: StreamSocket,
    replies: Replies,
    request: Vec<u8>,
    decoder: Decoder,
    buffer: Vec<u8>,
    beside: Ancillary,
    /// When what has come of the reply that is being read came.
    arrival: ReplyArrival,
    /// Does a reply come in several segments? Then its first byte is read alone, for its stamp.
    in_segments: bool,
    queue: ErrorQueue,
    retransmits: u32,
    /// The shortest round trip that the kernel has seen.
    least_round_trip: Option<Nanos>,
    collected: Option<Collected>,
    /// Why nothing more can be read.
    garbled: Option<FrameError>,
    /// The nonce of our Collect.
    asked: u64,
}

/// How to read a reply.
#[derive(Debug)]
pub(super) struct Replies {
    session: Session,
    fill: Vec<u8>,
    len: u32,
}

impl Replies {
    /// Of no connection, for [`super::any_bytes`].
    pub(super) fn of_nobody(mode: Mode, len: usize) -> Self {
        let session = Session {
            mode,
            ..Session::plain(0)
        };
        Self {
            session,
            fill: vec![7; len],
            len: len as u32,
        }
    }

    fn stamped(&self) -> bool {
        is_stamped(
            self.session.mode,
            self.len as usize,
            self.session.keys.is_some(),
        )
    }

    pub(super) fn parse(&mut self, frame: &[u8], last: u64) -> Parsed {
        let Ok(header) = Reply::parse(frame) else {
            return Parsed::Rejected;
        };
        let Some(seq) = widen(last, header.seq, 32) else {
            return Parsed::Rejected;
        };
        if let Some(keys) = &mut self.session.keys
            && !keys.pair(seq).reply.is_sealed(frame)
        {
            return Parsed::Rejected;
        }
        let stamps = if self.stamped() {
            Stamps::parse(frame).ok()
        } else {
            None
        };
        let (reflector, follow_up) = what_it_says(&mut self.session, stamps, last);
        // Behind its header a reply repeats the request's bytes of the same places.
        let from = if self.stamped() {
            STAMPS_END
        } else {
            REQUEST_HEADER
        };
        let to = self.len as usize - self.session.tag();
        let repeats = to <= from || frame.get(from..to) == self.fill.get(from..to);
        let corrupt = header.len != self.len || !repeats;
        Parsed::Reply {
            seq,
            reflector,
            follow_up,
            corrupt,
        }
    }
}

/// Connects and sets a session up.
pub fn open(settings: &Settings<'_>) -> Result<TcpChannel, OpenError> {
    let probe = settings.probe();
    let with_key = settings.key.is_some();
    let reply_len = probe.reply_payload.unwrap_or(probe.payload);
    check_sizes(probe.payload, reply_len, with_key)?;
    if probe.ecn != 0 {
        let reason = "TCP uses the ECN bits itself: leave them out, or use --method udp";
        return Err(OpenError::setting("ecn", reason));
    }
    let socket = connect(settings)?;
    let stamped = is_stamped(Mode::Stamped, reply_len as usize, with_key);
    let wanted = probe.stamps != StampRequest::None;
    let mode = if stamped && wanted {
        Mode::Stamped
    } else {
        Mode::Plain
    };
    let decoder = Decoder::new(reply_len.max(SIZE as u32));
    let fill = settings.filled(probe.payload as usize);
    let mut channel = TcpChannel {
        socket,
        request: fill.clone(),
        replies: Replies {
            session: Session::plain(0),
            fill,
            len: reply_len,
        },
        decoder,
        buffer: vec![0; READ],
        beside: Ancillary::default(),
        arrival: ReplyArrival::default(),
        in_segments: false,
        queue: ErrorQueue::new(),
        retransmits: 0,
        least_round_trip: None,
        collected: None,
        garbled: None,
        asked: 0,
    };
    channel.replies.session = channel.agree(settings, mode)?;
    // Shows the reflector that we have the key: the first request may come late.
    if with_key {
        let _ = channel.collect(0, PATIENCE_IN_ALL);
    }
    channel
        .socket
        .set_stamping(Flags::requests(probe.stamps))
        .map_err(settings.failed("timestamps"))?;
    let info = channel.socket.info().ok();
    channel.in_segments = info.is_none_or(|info| reply_len > info.send_mss);
    Ok(channel)
}

fn check_sizes(request: u32, reply: u32, with_key: bool) -> Result<(), OpenError> {
    let setting = |field, reason| Err(OpenError::Setting { field, reason });
    if let Some(reason) = too_short(Method::Tcp, request, with_key) {
        return setting("payload", reason);
    }
    let tag = if with_key { " and its 16-byte tag" } else { "" };
    let least_reply = smallest_reply(with_key);
    if (reply as usize) < least_reply {
        let reason = format!(
            "a tcp reply needs at least {least_reply} B for its header{tag}, not {reply} B"
        );
        return setting("reply_payload", reason);
    }
    if reply > request {
        let reason = format!(
            "a reply of {reply} B is longer than its request of {request} B: a reflector never \
             sends more than it gets. Use a larger -s"
        );
        return setting("reply_payload", reason);
    }
    Ok(())
}

fn connect(settings: &Settings<'_>) -> Result<StreamSocket, OpenError> {
    let v6 = settings.target.is_ipv6();
    let socket = open::tcp_socket(settings.probe(), settings.target)
        .map_err(|unset| unset.into_error(settings))?;
    // While it connects the error queue tells who refuses; later, a passing error would end the connection.
    let errors = |wanted| options::receive_errors(&socket, v6, wanted);
    errors(true).map_err(settings.failed("receive errors"))?;
    socket
        .connect_timeout(&settings.target.into(), CONNECT_FOR)
        .map_err(|source| cannot_connect(settings, &socket, source))?;
    errors(false).map_err(settings.failed("receive errors"))?;
    socket
        .set_write_timeout(Some(SEND_FOR))
        .map_err(settings.failed("time-out"))?;
    let socket = StreamSocket::new(TcpStream::from(socket));
    let socket = socket.map_err(settings.failed("TCP_NODELAY"))?;
    // A kernel without this algorithm keeps its own.
    let _ = socket.set_congestion_control(CONGESTION_CONTROL);
    Ok(socket)
}

fn cannot_connect(settings: &Settings<'_>, socket: &Socket, source: io::Error) -> OpenError {
    let (method, target) = (settings.probe().method, settings.target);
    match source.kind() {
        io::ErrorKind::TimedOut => OpenError::NoAnswer {
            method,
            target,
            waited_s: CONNECT_FOR.as_secs() as Nanos,
            with_key: settings.key.is_some(),
        },
        _ => open::no_exchange(settings, socket, source),
    }
}

impl TcpChannel {
    fn agree(&mut self, settings: &Settings<'_>, mode: Mode) -> Result<Session, OpenError> {
        let target = settings.target;
        let mut set_up = SetUp::new(Transport::Tcp, settings, mode, settings.probe().payload)?;
        let hello = set_up.hello();
        self.send_all(&hello)
            .map_err(|source| open::cannot_reach(settings, source))?;
        // One request: tcp itself repeats what is lost.
        let since = clock::monotonic();
        let deadline = since + PATIENCE_IN_ALL;
        while clock::monotonic() < deadline
            && let Ok(wait::Woken::Ready) =
                wait::until_readable(self.socket.as_fd(), Some(deadline))
        {
            if self.receive(Blocking::No).is_err() {
                return Err(OpenError::Closed {
                    target,
                    with_key: settings.key.is_some(),
                });
            }
            while let Ok(Some(Frame::Control(frame))) = self.decoder.next_frame() {
                match set_up.answer(&hello, frame) {
                    Next::Agreed(session) => return Ok(*session),
                    Next::Refused(text) => return Err(OpenError::Refused { target, text }),
                    _ => {}
                }
            }
        }
        Err(session::no_answer(settings, since))
    }

    /// Asks for what the reflector has to tell, and waits for it.
    fn collect(&mut self, last: u64, patience: Nanos) -> Option<Collected> {
        let nonce = session::nonce().ok()?;
        self.asked = nonce;
        let session = &self.replies.session;
        let token = session.token;
        let ask = session.frame(&Control::Collect { token, nonce });
        let deadline = clock::monotonic() + patience;
        self.send_all(&ask).ok()?;
        while self.collected.is_none()
            && clock::monotonic() < deadline
            && let Ok(wait::Woken::Ready) =
                wait::until_readable(self.socket.as_fd(), Some(deadline))
        {
            // Stamps of the request just sent make the socket readable too.
            let _ = self.read_queue(last, STAMPS_OF_A_REQUEST, &mut |_| {});
            match self.receive(Blocking::No) {
                Ok(()) => while self.decode(last).is_some() {},
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => break,
            }
        }
        self.collected.take()
    }

    fn send_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.socket.send(bytes) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Part of a request is out: the stream cannot be taken up again.
                Err(error) => return Err(ConnectionEnd::from_error(&error, SEND_FOR).into_error()),
            }
        }
        Ok(())
    }

    /// An error once frames are lost.
    fn readable(&self) -> io::Result<()> {
        match &self.garbled {
            None => Ok(()),
            Some(error) => Err(ConnectionEnd::Garbled(error.to_string()).into_error()),
        }
    }

    /// What the kernel says of the connection, each time a reply is whole: segments that were sent again since the last one.
    fn retransmitted(&mut self) -> Option<u32> {
        let info = self.socket.info().ok()?;
        let least = info.least_rtt_us;
        self.least_round_trip = least.map(|rtt| Nanos::from(rtt) * MICROSECOND);
        let since = info.total_retransmits.wrapping_sub(self.retransmits);
        self.retransmits = info.total_retransmits;
        Some(since)
    }

    /// Adds what the kernel says of a reply that is whole.
    fn complete(&mut self, mut reply: prober::Reply) -> prober::Reply {
        // The kernel's stamp is of the last byte read: frames before it have none.
        let arrival = match self.decoder.is_empty() {
            true => self.arrival,
            false => ReplyArrival::default(),
        };
        (reply.t_rx, reply.t_rx_hw) = (arrival.whole(), arrival.whole_hw());
        reply.retransmits = self.retransmitted();
        reply.server = Some(Box::new(FromServer {
            t_first: arrival.first(),
            least_round_trip: self.least_round_trip,
            ..FromServer::default()
        }));
        if !self.decoder.is_empty() {
            // Of the next one a part is here, and which stamp is its first byte's is not known.
            self.arrival.restart();
            self.arrival.went_on(&self.beside);
        }
        reply
    }
}

/// The request whose last byte has this number. Other bytes are stamped where a send call took a part of one, or where
/// a kernel before 6.2, which has no `OPT_ID_TCP`, counted from elsewhere.
fn request_ending_at(id: u32, last: u64, size: u64) -> Option<u64> {
    let byte = widen_near((last + 1) * size - 1, id);
    (byte as u32 == id && byte % size == size - 1).then_some(byte / size)
}

impl Channel for TcpChannel {
    fn prepare(&mut self, seq: u64) {
        let len = self.request.len() as u32;
        let header = Request {
            len,
            seq: seq as u32,
            reply_len: self.replies.len,
        };
        // `check_sizes` has seen to it that the header fits.
        let _ = header.emit(&mut self.request);
        if let Some(keys) = &mut self.replies.session.keys {
            keys.pair(seq).request.seal(&mut self.request);
        }
    }

    fn transmit(&mut self) -> io::Result<()> {
        self.readable()?;
        self.send_all(&self.request)
    }

    fn receive(&mut self, blocking: Blocking) -> io::Result<()> {
        self.readable()?;
        let begins = self.decoder.is_empty();
        let most = if begins && self.in_segments { 1 } else { READ };
        let received = self.socket.receive(&mut self.buffer[..most], blocking);
        let (length, beside) = received.map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => error,
            _ => ConnectionEnd::from_error(&error, SEND_FOR).into_error(),
        })?;
        if length == 0 {
            return Err(ConnectionEnd::Closed.into_error());
        }
        self.beside = beside;
        match begins {
            true => self.arrival.began(&beside),
            false => self.arrival.went_on(&beside),
        }
        self.decoder.push(&self.buffer[..length]);
        Ok(())
    }

    fn decode(&mut self, last: u64) -> Option<Decoded> {
        let parsed = match self.decoder.next_frame() {
            Ok(Some(Frame::Data(frame))) => self.replies.parse(frame, last),
            Ok(Some(Frame::Control(frame))) => {
                let session = &self.replies.session;
                if let Ok(Control::Collected(collected)) =
                    Control::parse(session.reply_key(), frame)
                    && session::answers(&collected, session.token, &[self.asked])
                {
                    self.collected = Some(collected);
                }
                Parsed::Ignored
            }
            Ok(None) => return None,
            Err(error) => {
                // The frames are lost for good: the next call on this connection says so.
                if self.garbled.replace(error).is_some() {
                    return None;
                }
                Parsed::Rejected
            }
        };
        let whole = |seq, reflector, corrupt| {
            let reply = reply(seq, reflector, &self.beside, corrupt);
            self.complete(reply)
        };
        Some(parsed.decoded(whole))
    }

    fn read_queue(
        &mut self,
        last: u64,
        expected: usize,
        take: &mut dyn FnMut(QueueEvent),
    ) -> io::Result<bool> {
        let size = self.request.len() as u64;
        self.queue.read(self.socket.as_fd(), expected, |beside, _| {
            let Some((point, id)) = stamp_of_byte(beside) else {
                return;
            };
            if let Some(seq) = request_ending_at(id, last, size) {
                for_each_stamp(beside, point, |point, at| {
                    take(QueueEvent::Stamp { seq, point, at });
                });
            }
        })
    }

    fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn facts(&self) -> RecordFacts {
        if self.replies.stamped() {
            self.replies.session.facts
        } else {
            RecordFacts::default()
        }
    }

    // Nothing keeps it alive: of what stands between requests the bytes are numbered as those of requests are.
    fn kept(&self) -> KeptFor {
        self.replies.session.kept
    }

    fn reflector_time(&self) -> ReflectorTime {
        self.replies.session.reflector_time
    }

    fn finish(&mut self, last: u64, patience: Nanos) -> FinalReport {
        if !self.replies.stamped() {
            return FinalReport::default();
        }
        let collected = self.collect(last, patience.max(ENDING_FOR));
        let session = &self.replies.session;
        let token = session.token;
        let _ = self.send_all(&session.frame(&Control::Bye { token }));
        FinalReport {
            answered: Some(collected.is_some()),
            ..FinalReport::from_collected(collected.as_slice(), last, session.clock_steps)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Each send call's last byte is stamped: of those, the one that ends a request is the request's.
        #[test]
        fn only_its_last_bytes_stamp_is_a_requests(
            seq in 0_u64..1 << 40,
            later in 0_u64..1_000,
            size in 20_u64..2_000,
            part in 1_u64..2_000,
        ) {
            let stamped = |bytes: u64| request_ending_at((seq * size + bytes - 1) as u32, seq + later, size);
            prop_assert_eq!(stamped(size), Some(seq));
            // Less than the whole of it.
            prop_assert_eq!(stamped(1 + part % (size - 1)), None);
        }
    }

    #[test]
    fn a_number_before_the_first_byte_is_no_requests() {
        assert_eq!(request_ending_at(u32::MAX, 0, 100), None);
    }
}
