//! The reflector: which packets are answered, and with what.
//!
//! A state machine: it is handed each packet with what the kernel told of it, and says what to
//! send. It opens no socket and reads no clock.
//!
//! | module | decides |
//! |---|---|
//! | [`policy`] | who is answered, how much, how long |
//! | `session`, `setup` | udp and tcp sessions: their packets; how they begin and end |
//! | `stamp`, `stamp_session`, `stamp_tlvs` | STAMP and TWAMP-Light |
//! | [`load`] | the sink of loads: sessions that are counted and not answered |
//! | `keys` | which keys are taken, and which of them a packet is made with |
//! | `limiter` | token buckets for each prefix and for all |
//! | `loops` | what keeps plain echo from going round |
//! | `tags` | which tags have come before |
//! | `follow_ups`, `slots`, `hash` | stamps not reported yet; sessions by token; a hash |
//! | [`counters`] | what became of the packets |
//!
//! It guarantees, whatever comes:
//!
//! - no reply is longer than its request;
//! - with a key, what was not made with it gets no reply of any kind;
//! - without one, only the addresses on the allow list are answered;
//! - nothing goes round between two reflectors without end, whatever their ports;
//! - memory is bounded: sessions, prefixes and stamps all have a limit.

pub mod counters;
mod follow_ups;
mod hash;
mod keys;
mod limiter;
pub mod load;
mod loops;
pub mod policy;
mod session;
mod setup;
mod slots;
mod stamp;
mod stamp_session;
mod stamp_tlvs;
mod tags;
#[cfg(test)]
mod tests;

pub use crate::prefix::{Prefix, PrefixError};
pub use counters::{DropReason, Status};
pub use keys::Keys;
pub use policy::{Access, DEFAULT_PORT, LOAD_PORT, Limits, Policy, Rate};

use crate::admission::{Admission, Full};
use counters::Counters;
use delaylab_model::Nanos;
use delaylab_wire::auth::{Key, Transport};
use delaylab_wire::control::{self, ClockFacts, Control};
use delaylab_wire::echo::Header;
use delaylab_wire::tcp::Frame;
use hash::Seed;
use keys::KeyRing;
use limiter::{Limiter, Standing};
use loops::LoopGuard;
use session::{Answered, Session};
use setup::Source;
use slots::Slots;
use stamp_session::StampSessions;
use std::net::{IpAddr, SocketAddr};
use tags::TagCache;

/// Both clocks, read together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// `CLOCK_MONOTONIC`.
    pub mono: Nanos,
    /// `CLOCK_REALTIME`.
    pub real: Nanos,
    /// How often the two have moved against each other so far, modulo 256: steps, leap seconds, suspends.
    pub clock_steps: u8,
}

/// Which service a datagram came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Port {
    /// Our udp echo, which is also RFC 862's where that is asked for.
    Echo,
    /// STAMP.
    Stamp,
}

/// What the kernel told of a packet. Times are `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// It reached the kernel; `None` where the kernel did not say.
    pub r_rx: Option<Nanos>,
    /// It was read.
    pub r_user: Nanos,
    /// Its TOS or traffic class byte.
    pub traffic_class: Option<u8>,
    /// Its TTL or hop limit.
    pub ttl: Option<u8>,
    /// Packets that the socket's full buffer had no room for, up to this one.
    pub overflowed: u32,
}

/// What to do with a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Send this back.
    Reply(Reply),
    /// All is done; there is nothing to send.
    Done,
    /// Send nothing. On a tcp connection: close it.
    Drop(DropReason),
}

/// A reply, written to the caller's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    /// Its length.
    pub len: usize,
    /// The TOS or traffic class byte to send it with; `None` is the socket's own.
    pub traffic_class: Option<u8>,
    /// Tell [`Reflector::transmitted`] this, and when the reply left.
    pub stamp: Option<ReplyRef>,
}

/// Names a reply whose departure the session wants to hear of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyRef {
    port: Port,
    token: u32,
    seq: u32,
}

/// Names a tcp session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SessionRef(u32);

/// What to do with the first packet of a tcp connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// Send so many bytes back; the connection is this session.
    Accepted(usize, SessionRef),
    /// Send so many bytes back, then close.
    Refused(usize),
    /// Close.
    Drop(DropReason),
}

/// The reflector.
#[derive(Debug)]
pub struct Reflector {
    policy: Policy,
    keys: KeyRing,
    /// When it began to serve; `None`: never mind.
    started: Option<Now>,
    random: Random,
    limiter: Limiter,
    /// Where plain packets are echoed.
    loops: Option<LoopGuard>,
    sessions: Slots<Session>,
    admission: Admission<u32>,
    /// How often sessions have begun or ended.
    changes: u64,
    /// Datagrams of data that came for the udp echo.
    datagrams: u64,
    stamp: StampSessions,
    /// Of STAMP packets that came and of the replies to them; `None` in open mode, which has no tags.
    tags: Option<TagCache>,
    counters: Counters,
}

/// Numbers that nobody outside can guess, and the secret that cookies are made with.
#[derive(Debug)]
struct Random {
    secret: Key,
    drawn: u64,
}

impl Random {
    fn next(&mut self) -> u64 {
        self.drawn += 1;
        let tag = self.secret.tag(&[b"random", &self.drawn.to_be_bytes()]);
        u64::from_be_bytes(tag.first_chunk().copied().unwrap_or_default())
    }
}

impl Reflector {
    /// A reflector with nothing in it. `entropy` must be random and new at each start: cookies,
    /// tokens and session keys come from it.
    pub fn new(policy: Policy, entropy: [u8; 32]) -> Self {
        let secret = Key::from_entropy(&entropy);
        let mut random = Random { secret, drawn: 0 };
        Self {
            keys: KeyRing::new(policy.keys()),
            started: None,
            limiter: Limiter::new(policy.limits, Seed(random.next())),
            loops: policy
                .echoes_plain()
                .then(|| LoopGuard::new(Seed(random.next()))),
            sessions: Slots::new(policy.max_sessions),
            admission: Admission::new(policy.session_limits()),
            changes: 0,
            datagrams: 0,
            stamp: StampSessions::new(&policy, Seed(random.next())),
            tags: policy.key().map(|_| TagCache::default()),
            counters: Counters::default(),
            random,
            policy,
        }
    }

    /// Authenticated STAMP packets from before now are not answered: they may have been captured.
    pub fn start(&mut self, now: Now) {
        self.started = Some(now);
    }

    /// From now on these keys are taken and no others: sessions with another one end.
    pub fn set_keys(&mut self, keys: Keys) {
        self.policy.access = Access::Keyed(keys);
        self.keys = KeyRing::new(self.policy.keys());
        self.sessions
            .retain(|session| session.key.is_some_and(|id| self.keys.has(&id)));
        self.admission.retain(|token| self.sessions.contains(token));
        self.changes += 1;
    }

    /// From now on this is what it says of its clock.
    pub const fn set_clock(&mut self, clock: ClockFacts) {
        self.policy.clock = clock;
    }

    /// Would anything from this address be answered? For connections not accepted yet.
    pub fn admits(&self, address: IpAddr) -> bool {
        self.policy.admits(address)
    }

    /// Forgets what has been silent for too long or is over. New sessions do so too; call it
    /// before [`Reflector::status`].
    pub fn expire(&mut self, now: Now) {
        self.sessions
            .retain(|session| session.is_alive(now, &self.policy));
        let before = self.admission.len();
        self.admission.retain(|token| self.sessions.contains(token));
        self.changes += u64::from(self.admission.len() != before);
        self.stamp.expire(now, &self.policy);
    }

    /// What became of the packets so far.
    pub fn status(&self) -> Status {
        Status {
            sessions: self.sessions.len(),
            stamp_sessions: self.stamp.len(),
            replies: self.counters.replies,
            reply_bytes: self.counters.reply_bytes,
            duplicates: self.counters.duplicates,
            stateless: self.counters.stateless,
            drops: self.counters.drops(),
        }
    }

    /// A datagram came. `reply` must be as long as `packet`, or longer.
    pub fn datagram(
        &mut self,
        now: Now,
        from: SocketAddr,
        port: Port,
        arrival: &Arrival,
        packet: &[u8],
        reply: &mut [u8],
    ) -> Verdict {
        let is_control = port == Port::Echo && control::is_control(packet);
        let verdict = self
            .check(from.ip(), is_control, packet, reply)
            .and_then(|()| match port {
                Port::Echo => self.echo_datagram(now, from, arrival, packet, reply),
                Port::Stamp => self.stamp_datagram(now, from, arrival, packet, reply),
            });
        self.counted(verdict)
    }

    /// The first [`control::SIZE`] bytes of a tcp connection came.
    pub fn stream_hello(
        &mut self,
        now: Now,
        from: SocketAddr,
        packet: &[u8],
        reply: &mut [u8],
    ) -> Opening {
        let source = tcp_source(from, None);
        let result = self
            .check(from.ip(), true, packet, reply)
            .and_then(|()| self.control_or_open(now, source, packet, reply));
        let opened = result.ok().and_then(|(_, opened)| opened);
        match (self.counted(result.map(|(verdict, _)| verdict)), opened) {
            (Verdict::Reply(reply), Some(session)) => Opening::Accepted(reply.len, session),
            (Verdict::Reply(reply), None) => Opening::Refused(reply.len),
            (Verdict::Done, _) => Opening::Drop(DropReason::Malformed),
            (Verdict::Drop(reason), _) => Opening::Drop(reason),
        }
    }

    /// The first bytes of a tcp connection came for which there is no place. Says how long the refusal is; `None`: close.
    pub fn stream_without_place(
        &mut self,
        now: Now,
        from: SocketAddr,
        packet: &[u8],
        full: Full,
        reply: &mut [u8],
    ) -> Option<usize> {
        self.check(from.ip(), true, packet, reply).ok()?;
        let (parsed, key) = self.keys.parse(Transport::Tcp, packet);
        let Ok(Control::Hello(hello)) = parsed else {
            return None;
        };
        let charged = (self.limiter).charge(now.mono, from.ip(), packet.len(), Standing::Stranger);
        charged.ok()?;
        let key = key.map(|key| &key.control(Transport::Tcp).reply);
        let refusal = setup::no_connection(hello.nonce, full, from.ip());
        refusal.emit(key, reply).ok()
    }

    /// A frame came on a tcp connection that is this session's. `reply` must be as long as it, or
    /// longer.
    pub fn stream_frame(
        &mut self,
        now: Now,
        session: SessionRef,
        arrival: &Arrival,
        frame: Frame<'_>,
        reply: &mut [u8],
    ) -> Verdict {
        let verdict = self.answer_frame(now, session, arrival, frame, reply);
        self.counted(verdict)
    }

    /// Is this tcp session still to be answered: neither idle for too long nor over?
    pub fn is_stream_alive(&mut self, now: Now, session: SessionRef) -> bool {
        let session = self.sessions.get_mut(session.0);
        session.is_some_and(|session| session.is_alive(now, &self.policy))
    }

    /// A tcp connection is closed.
    pub fn stream_closed(&mut self, session: SessionRef) {
        self.end(session.0);
    }

    fn end(&mut self, token: u32) {
        self.sessions.remove(token);
        self.admission.leave(token);
        self.changes += 1;
    }

    /// Another number whenever [`Reflector::udp_tokens`] may have changed.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// The tokens of all udp sessions: their packets go before those of strangers.
    pub fn udp_tokens(&self) -> Vec<u32> {
        let udp = |(token, session): (u32, &Session)| {
            (session.transport == Transport::Udp).then_some(token)
        };
        self.sessions.iter().filter_map(udp).collect()
    }

    /// A reply left at `r_tx`, of `CLOCK_MONOTONIC`.
    pub fn transmitted(&mut self, reply: ReplyRef, r_tx: Nanos) {
        let (token, seq) = (reply.token, reply.seq);
        match reply.port {
            Port::Echo => {
                if let Some(session) = self.sessions.get_mut(token) {
                    session.transmitted(seq, r_tx);
                }
            }
            Port::Stamp => {
                if let Some(session) = self.stamp.get_mut(token) {
                    session.transmitted(seq, r_tx);
                }
            }
        }
    }

    fn check(
        &self,
        source: IpAddr,
        is_control: bool,
        packet: &[u8],
        reply: &[u8],
    ) -> Result<(), DropReason> {
        if !self.policy.admits(source) {
            return Err(DropReason::NotAllowed);
        }
        // Control packets have a size of their own, which says nothing of the session's.
        if !is_control && packet.len() > self.policy.max_payload as usize {
            return Err(DropReason::TooLong);
        }
        if reply.len() < packet.len() {
            return Err(DropReason::NoRoom);
        }
        Ok(())
    }

    fn counted(&mut self, verdict: Result<Verdict, DropReason>) -> Verdict {
        let verdict = verdict.unwrap_or_else(Verdict::Drop);
        match verdict {
            Verdict::Reply(reply) => self.counters.reply(reply.len),
            Verdict::Drop(reason) => self.counters.drop(reason),
            Verdict::Done => {}
        }
        verdict
    }

    fn echo_datagram(
        &mut self,
        now: Now,
        from: SocketAddr,
        arrival: &Arrival,
        packet: &[u8],
        reply: &mut [u8],
    ) -> Result<Verdict, DropReason> {
        if control::is_control(packet) {
            let source = Source {
                from,
                transport: Transport::Udp,
                traffic_class: arrival.traffic_class,
                overflowed: arrival.overflowed,
            };
            let (verdict, _) = self.control_or_open(now, source, packet, reply)?;
            return Ok(verdict);
        }
        let Some((header, session)) = session_of(&mut self.sessions, from, packet) else {
            // Of strangers, who have a socket of their own.
            return self.plain_echo(now, from, arrival, packet, reply);
        };
        self.datagrams += 1;
        session.datagrams += 1;
        if !session.is_alive(now, &self.policy) {
            return Err(DropReason::UnknownSession);
        }
        let smallest = session.smallest_datagram();
        let duplicate = session.take(now, packet, header.seq, smallest)?;
        self.counters.duplicates += u64::from(duplicate);
        if session.prove() {
            self.admission.proven(header.token);
        }
        let charged = self
            .limiter
            .charge(now.mono, from.ip(), packet.len(), Standing::Established);
        session.note_charge(charged)?;
        let answered = session.answer(arrival, header, packet, reply);
        Ok(reply_of(answered, header.token))
    }

    /// RFC 862, for clients that know nothing of sessions.
    fn plain_echo(
        &mut self,
        now: Now,
        from: SocketAddr,
        arrival: &Arrival,
        packet: &[u8],
        reply: &mut [u8],
    ) -> Result<Verdict, DropReason> {
        let loops = self.loops.as_mut().ok_or(DropReason::UnknownSession)?;
        self.policy.check_source_port(from)?;
        // A STAMP reflector would answer each answer anew.
        if delaylab_wire::stamp::is_reply(packet) {
            return Err(DropReason::Loop);
        }
        loops.check(now.mono, from, packet)?;
        self.limiter
            .charge(now.mono, from.ip(), packet.len(), Standing::Stranger)?;
        reply[..packet.len()].copy_from_slice(packet);
        Ok(Verdict::Reply(Reply {
            len: packet.len(),
            traffic_class: mirrored(arrival.traffic_class),
            stamp: None,
        }))
    }

    fn answer_frame(
        &mut self,
        now: Now,
        session: SessionRef,
        arrival: &Arrival,
        frame: Frame<'_>,
        reply: &mut [u8],
    ) -> Result<Verdict, DropReason> {
        let SessionRef(token) = session;
        let session = self.sessions.get_mut(token);
        let alive = session.filter(|session| session.is_alive(now, &self.policy));
        let session = alive.ok_or(DropReason::UnknownSession)?;
        let from = session.peer;
        let frame = match frame {
            Frame::Data(frame) => frame,
            Frame::Control(packet) => {
                let source = tcp_source(from, arrival.traffic_class);
                return self.control_between_frames(now, token, source, packet, reply);
            }
        };
        if frame.len() > self.policy.max_payload as usize {
            return Err(DropReason::TooLong);
        }
        if reply.len() < frame.len() {
            return Err(DropReason::NoRoom);
        }
        let request = session.take_request(now, frame)?;
        if session.prove() {
            self.admission.proven(token);
        }
        let charged = self
            .limiter
            .charge(now.mono, from.ip(), frame.len(), Standing::Established);
        session.note_charge(charged)?;
        let answered = session.answer_request(arrival, request, frame, reply);
        Ok(reply_of(answered, token))
    }

    /// A connection is one session: a Hello in its midst opens no other.
    fn control_between_frames(
        &mut self,
        now: Now,
        token: u32,
        source: Source,
        packet: &[u8],
        reply: &mut [u8],
    ) -> Result<Verdict, DropReason> {
        match self.control_or_open(now, source, packet, reply)? {
            (_, Some(SessionRef(other))) if other != token => {
                self.end(other);
                Err(DropReason::Malformed)
            }
            (verdict, _) => Ok(verdict),
        }
    }
}

fn tcp_source(from: SocketAddr, traffic_class: Option<u8>) -> Source {
    Source {
        from,
        transport: Transport::Tcp,
        traffic_class,
        overflowed: 0,
    }
}

/// The udp session that this packet says it is of, if it comes from that session's peer.
fn session_of<'a>(
    sessions: &'a mut Slots<Session>,
    from: SocketAddr,
    packet: &[u8],
) -> Option<(Header, &'a mut Session)> {
    let header = Header::parse(packet).ok()?;
    let session = sessions.get_mut(header.token)?;
    session
        .belongs_to(from, Transport::Udp)
        .then_some((header, session))
}

fn reply_of(answered: Answered, token: u32) -> Verdict {
    Verdict::Reply(Reply {
        len: answered.len,
        traffic_class: answered.traffic_class,
        stamp: answered.stamp_seq.map(|seq| ReplyRef {
            port: Port::Echo,
            token,
            seq,
        }),
    })
}

/// The traffic class of a reply: the request's DSCP, so that both ways are of one class, and its
/// ECN. A mark of congestion on the way here (CE, 3) becomes ECT(0), so that the way back can be
/// marked for itself (RFC 3168).
fn mirrored(traffic_class: Option<u8>) -> Option<u8> {
    traffic_class.map(|class| if class & 3 == 3 { class & !1 } else { class })
}
