//! The sink of loads: takes what it agreed to take, counts it, and answers none of it. `fetch`: it sends load, too, to
//! a prober that asked for it.
//!
//! It guarantees, whatever comes:
//!
//! - nothing is sent but answers to control packets, each as long as its request, and load over a tcp connection to
//!   the address that fetched it, within the limits;
//! - with a key, nobody's load is counted who has not shown that he has it (the first Count, or Attach, is
//!   sealed with the session's own key, so one that was heard before opens nothing);
//! - memory is bounded, as are sessions, durations and rates.

mod fetch;

pub use fetch::Sending;

use super::hash::Seed;
use super::keys::{KeyId, KeyRing, Keys};
use super::limiter::{Limiter, Standing};
use super::policy::{Access, Policy};
use super::slots::Slots;
use super::{Now, Random};
use crate::admission::{Admission, Full};
use crate::replay::LongWindow;
use delaylab_model::{Nanos, SECOND};
use delaylab_wire::ParseError;
use delaylab_wire::auth::{Key, KeyPair, Transport};
use delaylab_wire::control::{self, Accept, Control, Counted, LoadHello, Reason, Refuse};
use delaylab_wire::echo::Mode;
use delaylab_wire::load::Header;
use std::net::IpAddr;

/// A session of load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LoadRef(u32);

/// What to do with the first packet of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadOpening {
    /// Send so many bytes back; what follows are this session's control packets.
    Control(usize, LoadRef),
    /// What follows is this session's load, of which no more than so many bytes may be under way.
    Data(LoadRef, Option<u32>),
    /// This session's load is to be sent, once [`LoadSink::begins`] says so of the next control packet.
    Send(LoadRef, Sending),
    /// Send so many bytes back, then close.
    Refused(usize),
    /// Close.
    Close,
}

/// What to do once some bytes were taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// Take more.
    More,
    /// Its source has had what it may for now: look again after so long.
    Wait(Nanos),
    /// Close.
    Close,
}

/// How long a sender that is too fast is not read from.
const PAUSE: Nanos = SECOND / 100;

/// What of a session is remembered.
#[derive(Debug)]
struct Session {
    peer: IpAddr,
    transport: Transport,
    keys: Option<KeyPair>,
    key: Option<KeyId>,
    window: Option<u32>,
    /// Load is to go to the peer, like this.
    sends: Option<Sending>,
    /// The sender has shown that it has the session's keys.
    proven: bool,
    /// It has its one connection of data.
    attached: bool,
    /// Which of its packets have come.
    came: LongWindow,
    counts: Counted,
    /// What the sockets had had before the session.
    before: Vec<SocketCounts>,
    /// Where its datagrams come.
    socket: Option<usize>,
    /// Its datagrams, those that are counted as copies or refused too.
    datagrams: u64,
    /// When the first of what it counts came.
    first: Option<Nanos>,
    started: Nanos,
    last: Nanos,
}

/// What a socket has had.
#[derive(Debug, Clone, Copy, Default)]
struct SocketCounts {
    /// Datagrams that were read.
    read: u64,
    /// Datagrams that it had no room for.
    overflow: u64,
}

/// The sink.
#[derive(Debug)]
pub struct LoadSink {
    policy: Policy,
    keys: KeyRing,
    random: Random,
    limiter: Limiter,
    /// Of load that is sent: a line carries as much each way.
    sent: Limiter,
    sessions: Slots<Session>,
    admission: Admission<u32>,
    /// By the number of each.
    sockets: Vec<SocketCounts>,
}

impl LoadSink {
    /// One with nothing in it. `entropy` must be random and new at each start.
    pub fn new(policy: Policy, entropy: [u8; 32]) -> Self {
        let mut random = Random {
            secret: Key::from_entropy(&entropy),
            drawn: 0,
        };
        Self {
            keys: KeyRing::new(policy.keys()),
            limiter: Limiter::new(policy.limits, Seed(random.next())),
            sent: Limiter::new(policy.limits, Seed(random.next())),
            sessions: Slots::new(policy.max_sessions),
            admission: Admission::new(policy.session_limits()),
            sockets: Vec::new(),
            random,
            policy,
        }
    }

    /// From now on these keys are taken and no others: sessions with another one end.
    pub fn set_keys(&mut self, keys: Keys) {
        self.policy.access = Access::Keyed(keys);
        self.keys = KeyRing::new(self.policy.keys());
        self.sessions
            .retain(|session| session.key.is_some_and(|id| self.keys.has(&id)));
        self.admission.retain(|token| self.sessions.contains(token));
    }

    /// Would anything from this address be taken?
    pub fn admits(&self, address: IpAddr) -> bool {
        self.policy.admits(address)
    }

    /// The first control packet of a connection came. `full`: there is no place for it, so it opens no session.
    pub fn open(
        &mut self,
        now: Now,
        from: IpAddr,
        packet: &[u8],
        full: Option<Full>,
        reply: &mut [u8],
    ) -> LoadOpening {
        if !self.policy.admits(from) {
            return LoadOpening::Close;
        }
        // Nobody needs a key to be told that the versions differ, nor to have his token looked up; what
        // it opens is checked with the session's own key.
        match Control::parse(None, packet) {
            Ok(Control::Attach { token }) => self.attach(now, from, token, packet),
            Ok(Control::LoadHello(_)) | Err(ParseError::Version { .. })
                if control::is_hello(packet) =>
            {
                self.hello(now, from, packet, full, reply)
            }
            _ => LoadOpening::Close,
        }
    }

    fn hello(
        &mut self,
        now: Now,
        from: IpAddr,
        packet: &[u8],
        full: Option<Full>,
        reply: &mut [u8],
    ) -> LoadOpening {
        let (parsed, key) = self.keys.parse(Transport::Tcp, packet);
        let reply_key = key.map(|key| key.control(Transport::Tcp).reply.clone());
        let secret = key.map(|key| (key.id, key.secret.clone()));
        let answer = match parsed {
            Ok(Control::LoadHello(hello)) => match full {
                None => self.establish(now, from, &hello, secret),
                Some(full) => Err(super::setup::no_connection(hello.nonce, full, from)),
            },
            Err(ParseError::Version { theirs, .. }) => {
                Err(super::setup::other_version(theirs, packet))
            }
            _ => return LoadOpening::Close,
        };
        let (control, opened) = match answer {
            Ok(accept) => (Control::Accept(accept), Some(LoadRef(accept.token))),
            Err(refuse) => (refuse, None),
        };
        match (control.emit(reply_key.as_ref(), reply), opened) {
            (Ok(length), Some(session)) => LoadOpening::Control(length, session),
            (Ok(length), None) => LoadOpening::Refused(length),
            (Err(_), _) => LoadOpening::Close,
        }
    }

    fn establish(
        &mut self,
        now: Now,
        from: IpAddr,
        hello: &LoadHello,
        secret: Option<(KeyId, Key)>,
    ) -> Result<Accept, Control> {
        self.expire(now);
        let full = |text| {
            Control::Refuse(Refuse {
                nonce: hello.nonce,
                reason: Reason::TooManySessions,
                text,
            })
        };
        loop {
            match self.admission.make_room(now.mono, from) {
                Ok(None) => break,
                Ok(Some(token)) => self.sessions.remove(token),
                Err(why) => return Err(full(self.why_full(why, from))),
            }
        }
        let salt = self.random.next();
        let random = self.random.next() as u32;
        let session = Session {
            peer: from,
            transport: hello.transport,
            keys: None,
            key: None,
            window: (hello.window > 0).then_some(hello.window),
            sends: None,
            proven: false,
            attached: false,
            came: LongWindow::default(),
            counts: Counted::default(),
            before: self.sockets.clone(),
            socket: None,
            datagrams: 0,
            first: None,
            started: now.mono,
            last: now.mono,
        };
        let token = self.sessions.insert(random, session);
        let token = token.ok_or_else(|| full(self.why_full(Full::All, from)))?;
        self.admission.enter(now.mono, from, token);
        let accept = self
            .policy
            .accept(now, Mode::Plain, hello.nonce, (token, salt));
        if let Some(session) = self.sessions.get_mut(token) {
            session.key = secret.as_ref().map(|(id, _)| *id);
            session.keys = secret.map(|(_, key)| accept.keys(&key, hello.transport));
            session.counts.token = token;
        }
        Ok(accept)
    }

    fn why_full(&self, full: Full, from: IpAddr) -> String {
        let limits = self.policy.session_limits().places;
        match full {
            Full::Address => format!("{from} has {} streams of load here already", limits.address),
            Full::Network => format!(
                "the network of {from} has {} streams of load here already",
                limits.network
            ),
            Full::All => format!("all {} streams of load are taken", limits.all),
        }
    }

    fn attach(&mut self, now: Now, from: IpAddr, token: u32, packet: &[u8]) -> LoadOpening {
        let session = self.sessions.get_mut(token).filter(|session| {
            session.is_alive(now, &self.policy)
                && session.peer == from
                && session.transport == Transport::Tcp
                && !session.attached
                && session.has_sealed(packet)
        });
        let Some(session) = session else {
            return LoadOpening::Close;
        };
        session.attached = true;
        session.proven = true;
        self.admission.proven(token);
        match &session.sends {
            Some(sending) => LoadOpening::Send(LoadRef(token), sending.clone()),
            None => LoadOpening::Data(LoadRef(token), session.window),
        }
    }

    /// Another control packet came on the connection that opened the session. Says how long the answer
    /// is; `None`: close.
    pub fn control(
        &mut self,
        now: Now,
        session: LoadRef,
        packet: &[u8],
        reply: &mut [u8],
    ) -> Option<usize> {
        let LoadRef(token) = session;
        let session = self.sessions.get_mut(token)?;
        let asked = Control::parse(session.key(), packet).ok()?;
        if asked != (Control::Count { token }) || !session.is_alive(now, &self.policy) {
            return None;
        }
        session.proven = true;
        self.admission.proven(token);
        session.last = now.mono;
        let counted = session.counted(&self.sockets);
        let key = session.keys.as_ref().map(|pair| &pair.reply);
        Control::Counted(counted).emit(key, reply).ok()
    }

    /// A datagram of this length came to the socket of this number, which begins so.
    pub fn datagram(&mut self, now: Now, socket: usize, from: IpAddr, head: &[u8], length: usize) {
        self.socket(socket).read += 1;
        let Ok(header) = Header::parse(head) else {
            return;
        };
        let session = self.sessions.get_mut(header.token).filter(|session| {
            session.proven
                && session.transport == Transport::Udp
                && session.peer == from
                && session.is_alive(now, &self.policy)
        });
        let Some(session) = session else { return };
        session.last = now.mono;
        session.socket = Some(socket);
        session.datagrams += 1;
        let charged = self
            .limiter
            .charge(now.mono, from, length, Standing::Established);
        // One that is too old to tell is rather late than a copy.
        if session.came.note(header.seq) == Some(true) {
            session.counts.copies += 1;
        } else if charged.is_err() {
            session.counts.refused += 1;
        } else {
            session.counts.packets += 1;
            session.count(now, length);
            session.counts.reordered += u64::from(session.came.is_behind(header.seq));
        }
    }

    /// `length` bytes of a session's data came; 0: its connection was waited for.
    pub fn bytes(&mut self, now: Now, session: LoadRef, length: usize) -> Taken {
        let session = self.sessions.get_mut(session.0);
        let Some(session) = session.filter(|session| session.is_alive(now, &self.policy)) else {
            return Taken::Close;
        };
        if length > 0 {
            session.last = now.mono;
            session.count(now, length);
        }
        // They are here already: who is over the limit waits, and TCP tells the sender.
        session.paced(self.limiter.owe(now.mono, session.peer, length))
    }

    /// Is this session still to be served?
    pub fn is_alive(&mut self, now: Now, session: LoadRef) -> bool {
        let session = self.sessions.get_mut(session.0);
        session.is_some_and(|session| session.is_alive(now, &self.policy))
    }

    /// The socket of this number has dropped this number of packets more.
    pub fn overflowed(&mut self, socket: usize, packets: u64) {
        self.socket(socket).overflow += packets;
    }

    fn socket(&mut self, number: usize) -> &mut SocketCounts {
        if self.sockets.len() <= number {
            self.sockets.resize_with(number + 1, SocketCounts::default);
        }
        &mut self.sockets[number]
    }

    /// The connection that opened it is closed.
    pub fn closed(&mut self, session: LoadRef) {
        self.sessions.remove(session.0);
        self.admission.leave(session.0);
    }

    fn expire(&mut self, now: Now) {
        self.sessions
            .retain(|session| session.is_alive(now, &self.policy));
        self.admission.retain(|token| self.sessions.contains(token));
    }
}

impl Session {
    fn is_alive(&self, now: Now, policy: &Policy) -> bool {
        let owes_proof = self.keys.is_some() && !self.proven;
        policy.keeps(now, self.started, self.last, owes_proof)
    }

    /// This number of bytes came.
    fn count(&mut self, now: Now, length: usize) {
        let first = *self.first.get_or_insert(now.mono);
        self.counts.bytes += length as u64;
        self.counts.span = (now.mono - first).max(0).cast_unsigned();
    }

    /// What it counts for its prober. All sessions have the socket; what it had no room for may have been this session's.
    fn counted(&self, sockets: &[SocketCounts]) -> Counted {
        let mut counted = self.counts;
        if self.transport == Transport::Udp {
            let had = self.socket_had(sockets);
            counted.overflowed = had.overflow;
            counted.refused += had.overflow;
            counted.of_others = had.read.saturating_sub(self.datagrams);
        }
        counted
    }

    /// What its socket has had since it began; all sockets, where none of its datagrams came.
    fn socket_had(&self, sockets: &[SocketCounts]) -> SocketCounts {
        let mut had = SocketCounts::default();
        for (number, socket) in sockets.iter().enumerate() {
            if self.socket.is_none_or(|own| own == number) {
                let before = self.before.get(number).copied().unwrap_or_default();
                had.read += socket.read - before.read;
                had.overflow += socket.overflow - before.overflow;
            }
        }
        had
    }

    /// What its connection of data is to do, as the limits have it.
    const fn paced(&mut self, within_limits: bool) -> Taken {
        if within_limits {
            return Taken::More;
        }
        self.counts.held_back += PAUSE as u64;
        Taken::Wait(PAUSE)
    }

    fn has_sealed(&self, packet: &[u8]) -> bool {
        self.key().is_none_or(|key| key.is_sealed(packet))
    }

    /// With which its peer's packets are sealed.
    fn key(&self) -> Option<&Key> {
        self.keys.as_ref().map(|pair| &pair.request)
    }
}

#[cfg(test)]
pub(super) mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_wire::control::SIZE;
    use proptest::prelude::*;

    const NOW: Now = Now {
        mono: 0,
        real: 0,
        clock_steps: 0,
    };

    pub(super) fn at(mono: Nanos) -> Now {
        Now {
            mono,
            real: mono,
            clock_steps: 0,
        }
    }

    pub(super) fn here() -> IpAddr {
        "127.0.0.1".parse().unwrap()
    }

    pub(super) fn key() -> Key {
        Key::new(b"sixteen bytes ok").unwrap()
    }

    pub(super) fn sink(access: Access) -> LoadSink {
        LoadSink::new(Policy::new(access), [5; 32])
    }

    pub(super) fn packet(control: Control, key: Option<&Key>) -> [u8; SIZE] {
        let mut packet = [0; SIZE];
        control.emit(key, &mut packet).unwrap();
        packet
    }

    fn hello(transport: Transport) -> Control {
        Control::LoadHello(LoadHello {
            nonce: 3,
            transport,
            window: 9000,
        })
    }

    pub(super) fn open(
        sink: &mut LoadSink,
        control: Control,
        secret: Option<&Key>,
    ) -> (LoadRef, Accept) {
        let keys = secret.map(|key| KeyPair::control(key, Transport::Tcp));
        let request = keys.as_ref().map(|pair| &pair.request);
        let mut reply = [0; SIZE];
        let opening = sink.open(NOW, here(), &packet(control, request), None, &mut reply);
        let LoadOpening::Control(SIZE, session) = opening else {
            panic!("{opening:?}");
        };
        let key = keys.as_ref().map(|pair| &pair.reply);
        match Control::parse(key, &reply).unwrap() {
            Control::Accept(accept) => (session, accept),
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn count(
        sink: &mut LoadSink,
        session: LoadRef,
        token: u32,
        keys: Option<&KeyPair>,
    ) -> Option<Counted> {
        let asked = packet(Control::Count { token }, keys.map(|pair| &pair.request));
        let mut reply = [0; SIZE];
        sink.control(NOW, session, &asked, &mut reply)?;
        match Control::parse(keys.map(|pair| &pair.reply), &reply) {
            Ok(Control::Counted(counted)) => Some(counted),
            other => panic!("{other:?}"),
        }
    }

    fn head(token: u32, seq: u64) -> [u8; 16] {
        let mut head = [0; 16];
        Header { token, seq }.emit(&mut head).unwrap();
        head
    }

    fn open_to_this_host() -> Access {
        Access::Open { allow: Vec::new() }
    }

    #[test]
    fn what_arrives_is_counted() {
        let mut sink = sink(open_to_this_host());
        let (session, accept) = open(&mut sink, hello(Transport::Udp), None);
        let token = accept.token;
        sink.datagram(NOW, 0, here(), &head(token, 0), 100);
        assert_eq!(count(&mut sink, session, token, None).unwrap().packets, 0);
        // The path copies 0, 4 and 2.
        for seq in [0, 0, 1, 4, 4, 2, 2] {
            sink.datagram(NOW, 0, here(), &head(token, seq), 100);
        }
        sink.datagram(NOW, 0, "127.0.0.2".parse().unwrap(), &head(token, 5), 100);
        sink.datagram(NOW, 0, here(), &head(token ^ 0x8000_0000, 5), 100);
        sink.datagram(NOW, 0, here(), b"short", 5);
        sink.overflowed(0, 7);
        let expected = Counted {
            token,
            packets: 4,
            bytes: 400,
            reordered: 1,
            refused: 7,
            overflowed: 7,
            copies: 3,
            of_others: 4,
            ..Counted::default()
        };
        assert_eq!(count(&mut sink, session, token, None), Some(expected));
        sink.closed(session);
        assert_eq!(count(&mut sink, session, token, None), None);
    }

    #[test]
    fn how_long_it_came_is_told() {
        let mut sink = sink(open_to_this_host());
        let (session, accept) = open(&mut sink, hello(Transport::Udp), None);
        let token = accept.token;
        count(&mut sink, session, token, None).unwrap();
        for (seq, seconds) in [(0, 1), (1, 7)] {
            sink.datagram(at(seconds * SECOND), 0, here(), &head(token, seq), 100);
        }
        // A copy that comes later is none of its bytes.
        sink.datagram(at(9 * SECOND), 0, here(), &head(token, 1), 100);
        let counted = count(&mut sink, session, token, None).unwrap();
        assert_eq!(counted.span, 6 * SECOND as u64);
    }

    /// Two sessions at one socket, and one at another.
    #[test]
    fn what_others_send_is_told() {
        let mut sink = sink(open_to_this_host());
        let mut begin = || {
            let (session, accept) = open(&mut sink, hello(Transport::Udp), None);
            count(&mut sink, session, accept.token, None).unwrap();
            (session, accept.token)
        };
        let [one, two, elsewhere] = [begin(), begin(), begin()];
        for seq in 0..9 {
            sink.datagram(NOW, 0, here(), &head(one.1, seq), 100);
        }
        sink.overflowed(0, 5);
        let mut told = |(session, token)| {
            let counted = count(&mut sink, session, token, None).unwrap();
            (counted.overflowed, counted.of_others)
        };
        assert_eq!(told(one), (5, 0));
        // None of its packets has come: it may be any socket.
        assert_eq!(told(elsewhere), (5, 9));
        sink.datagram(NOW, 0, here(), &head(two.1, 0), 100);
        sink.datagram(NOW, 1, here(), &head(elsewhere.1, 0), 100);
        let mut told = |(session, token)| {
            let counted = count(&mut sink, session, token, None).unwrap();
            (counted.overflowed, counted.of_others)
        };
        assert_eq!(
            [told(one), told(two), told(elsewhere)],
            [(5, 1), (5, 9), (0, 0)]
        );
    }

    #[test]
    fn a_connection_of_data_is_taken_once() {
        let mut sink = sink(Access::Keyed(key().into()));
        let (session, accept) = open(&mut sink, hello(Transport::Tcp), Some(&key()));
        let (token, keys) = (accept.token, accept.keys(&key(), Transport::Tcp));
        let mut reply = [0; SIZE];
        let unsealed = packet(Control::Attach { token }, None);
        let sealed = packet(Control::Attach { token }, Some(&keys.request));
        let mut attach = |bytes: &[u8]| sink.open(NOW, here(), bytes, None, &mut reply);
        assert_eq!(attach(&unsealed), LoadOpening::Close);
        assert_eq!(attach(&sealed), LoadOpening::Data(session, Some(9000)));
        assert_eq!(attach(&sealed), LoadOpening::Close);
        assert_eq!(sink.bytes(NOW, session, 12_345), Taken::More);
        // Packets of other streams.
        sink.overflowed(0, 7);
        let expected = Counted {
            token,
            bytes: 12_345,
            ..Counted::default()
        };
        let counted = count(&mut sink, session, token, Some(&keys));
        assert_eq!(counted, Some(expected));
        // Nothing comes of its data, and nothing is asked.
        let silent = |time| sink.bytes(at(time), session, 0);
        let times = [300, 600, 601].map(|seconds| seconds * SECOND);
        assert_eq!(times.map(silent), [Taken::More, Taken::More, Taken::Close]);
    }

    #[test]
    fn sessions_end_with_their_key() {
        let other = || Key::new(b"another sixteen!").unwrap();
        let both = Keys::new(vec![("old".into(), key()), ("new".into(), other())]).unwrap();
        let mut sink = sink(Access::Keyed(both));
        let (one, _) = open(&mut sink, hello(Transport::Udp), Some(&key()));
        let (two, _) = open(&mut sink, hello(Transport::Udp), Some(&other()));
        sink.set_keys(other().into());
        assert!(!sink.is_alive(NOW, one) && sink.is_alive(NOW, two));
    }

    #[test]
    fn a_hello_heard_before_counts_nothing() {
        let mut sink = sink(Access::Keyed(key().into()));
        let (session, accept) = open(&mut sink, hello(Transport::Udp), Some(&key()));
        let token = accept.token;
        // Who plays it back sees the token, and has no key of the session.
        assert_eq!(count_refused(&mut sink, session, token), None);
        sink.datagram(NOW, 0, here(), &head(token, 0), 100);
        let keys = accept.keys(&key(), Transport::Udp);
        assert_eq!(
            count(&mut sink, session, token, Some(&keys))
                .unwrap()
                .packets,
            0
        );
    }

    fn count_refused(sink: &mut LoadSink, session: LoadRef, token: u32) -> Option<usize> {
        let asked = packet(Control::Count { token }, None);
        sink.control(NOW, session, &asked, &mut [0; SIZE])
    }

    #[test]
    fn without_the_key_nothing_is_said() {
        let mut sink = sink(Access::Keyed(key().into()));
        let mut reply = [0; SIZE];
        for key in [None, Some(&Key::new(b"another sixteen!").unwrap())] {
            let keys = key.map(|key| KeyPair::control(key, Transport::Tcp));
            let asked = packet(
                hello(Transport::Tcp),
                keys.as_ref().map(|pair| &pair.request),
            );
            let opening = sink.open(NOW, here(), &asked, None, &mut reply);
            assert_eq!(opening, LoadOpening::Close);
        }
        let mut open = super::tests::sink(open_to_this_host());
        let stranger = "192.0.2.1".parse().unwrap();
        let asked = packet(hello(Transport::Tcp), None);
        assert_eq!(
            open.open(NOW, stranger, &asked, None, &mut reply),
            LoadOpening::Close
        );
    }

    #[test]
    fn sessions_and_durations_are_limited() {
        let mut policy = Policy::new(open_to_this_host());
        policy.max_sessions = 1;
        policy.max_duration = 10 * SECOND;
        let mut sink = LoadSink::new(policy, [5; 32]);
        let (session, _) = open(&mut sink, hello(Transport::Tcp), None);
        let mut reply = [0; SIZE];
        let asked = packet(hello(Transport::Tcp), None);
        let opening = sink.open(NOW, here(), &asked, None, &mut reply);
        assert_eq!(opening, LoadOpening::Refused(SIZE));
        assert!(matches!(
            Control::parse(None, &reply),
            Ok(Control::Refuse(_))
        ));
        assert!(sink.is_alive(at(10 * SECOND), session));
        assert_eq!(sink.bytes(at(11 * SECOND), session, 1), Taken::Close);
        let opening = sink.open(at(11 * SECOND), here(), &asked, None, &mut reply);
        assert!(matches!(opening, LoadOpening::Control(..)));
    }

    #[test]
    fn without_a_place_a_session_is_refused_and_its_data_is_not() {
        let mut sink = sink(Access::Keyed(key().into()));
        let mut reply = [0; SIZE];
        let pair = KeyPair::control(&key(), Transport::Tcp);
        let asked = packet(hello(Transport::Tcp), Some(&pair.request));
        let opening = sink.open(NOW, here(), &asked, Some(Full::All), &mut reply);
        assert_eq!(opening, LoadOpening::Refused(SIZE));
        let refused = Control::parse(Some(&pair.reply), &reply).unwrap();
        let is_full = |refuse: &Refuse| refuse.reason == Reason::TooManySessions;
        assert!(matches!(refused, Control::Refuse(refuse) if is_full(&refuse)));
        // Without the key nothing is said.
        let asked = packet(hello(Transport::Tcp), None);
        let opening = sink.open(NOW, here(), &asked, Some(Full::All), &mut reply);
        assert_eq!(opening, LoadOpening::Close);
        let (session, accept) = open(&mut sink, hello(Transport::Tcp), Some(&key()));
        let keys = accept.keys(&key(), Transport::Tcp);
        let token = accept.token;
        let attach = packet(Control::Attach { token }, Some(&keys.request));
        let opening = sink.open(NOW, here(), &attach, Some(Full::All), &mut reply);
        assert_eq!(opening, LoadOpening::Data(session, Some(9000)));
    }

    #[test]
    fn rates_are_limited() {
        let mut policy = Policy::new(open_to_this_host());
        policy.limits.loopback = true;
        policy.limits.each.packets = 3;
        let mut sink = LoadSink::new(policy, [5; 32]);
        let (session, accept) = open(&mut sink, hello(Transport::Udp), None);
        count(&mut sink, session, accept.token, None).unwrap();
        for seq in 0..5 {
            sink.datagram(NOW, 0, here(), &head(accept.token, seq), 100);
        }
        let counted = count(&mut sink, session, accept.token, None).unwrap();
        assert_eq!((counted.packets, counted.refused), (3, 2));
        let (tcp, accept) = open(&mut sink, hello(Transport::Tcp), None);
        for length in [1, 0] {
            assert_eq!(sink.bytes(NOW, tcp, length), Taken::Wait(PAUSE));
        }
        let counted = count(&mut sink, tcp, accept.token, None).unwrap();
        assert_eq!(counted.held_back, 2 * PAUSE as u64);
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken(
            first in proptest::collection::vec(any::<u8>(), 0..300), kind: u8,
            second in proptest::collection::vec(any::<u8>(), 0..300),
        ) {
            let mut sink = sink(open_to_this_host());
            let mut reply = [0; SIZE];
            let mut packet = [b"delaylab".as_slice(), &[1, kind], &first].concat();
            packet.resize(SIZE, 0);
            for bytes in [&first, &packet] {
                if let LoadOpening::Control(length, session) =
                    sink.open(NOW, here(), bytes, None, &mut reply)
                {
                    prop_assert!(length <= bytes.len());
                    sink.control(NOW, session, &second, &mut reply);
                    sink.control(NOW, session, bytes, &mut reply);
                }
                sink.datagram(NOW, 0, here(), bytes, bytes.len());
            }
        }
    }
}
