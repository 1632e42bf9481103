//! Control packets: sessions are set up, asked for their last stamps and ended.
//!
//! A udp Hello is answered with a challenge first, which holds no state: its cookie is an HMAC of
//! the source, the nonce and the time. Only who sends it back from there gets a session, so a
//! forged source gets none, and a Hello played back later is worth no more than a challenge.

use super::keys::KeyId;
use super::limiter::Standing;
use super::session::Session;
use super::{DropReason, Now, Reflector, Reply, SessionRef, Verdict, mirrored};
use crate::admission::Full;
use delaylab_model::{Nanos, SECOND};
use delaylab_wire::auth::{Key, KeyPair, SessionKeys, TAG, Transport};
use delaylab_wire::control::{
    self, Accept, Account, COOKIE, Challenge, Collected, Control, FOLLOW_UPS, Hello, Reason,
    Refuse, SIZE, VERSION,
};
use delaylab_wire::echo::{self, Mode};
use delaylab_wire::{ParseError, tcp};
use std::net::{IpAddr, SocketAddr};

/// A cookie is good in the period that it was made in and the one after.
const COOKIE_PERIOD: Nanos = 30 * SECOND;

/// Where a control packet comes from.
#[derive(Clone, Copy)]
pub(super) struct Source {
    pub from: SocketAddr,
    pub transport: Transport,
    pub traffic_class: Option<u8>,
    /// Of the socket that it came to, as in [`super::Arrival`].
    pub overflowed: u32,
}

/// What a control packet leads to.
enum Effect {
    /// Say this.
    Answer(Control),
    /// Say that there is this session now.
    Accepted(Accept),
    /// Nothing to say.
    Ended,
}

impl Reflector {
    /// Answers a control packet, and says which session a Hello has opened.
    pub(super) fn control_or_open(
        &mut self,
        now: Now,
        source: Source,
        packet: &[u8],
        reply: &mut [u8],
    ) -> Result<(Verdict, Option<SessionRef>), DropReason> {
        let (effect, key) = self.effect(now, source, packet)?;
        let standing = match &effect {
            Effect::Accepted(_) | Effect::Answer(Control::Collected(_)) => Standing::Established,
            _ => Standing::Stranger,
        };
        let (control, opened) = match effect {
            Effect::Ended => return Ok((Verdict::Done, None)),
            Effect::Answer(control) => (control, None),
            Effect::Accepted(accept) => (Control::Accept(accept), Some(SessionRef(accept.token))),
        };
        self.limiter
            .charge(now.mono, source.from.ip(), SIZE, standing)?;
        let len = control
            .emit(key.as_ref(), reply)
            .map_err(|_| DropReason::NoRoom)?;
        let reply = Reply {
            len,
            traffic_class: mirrored(source.traffic_class),
            stamp: None,
        };
        Ok((Verdict::Reply(reply), opened))
    }

    /// What a control packet leads to, and the keys for what is said of it.
    fn effect(
        &mut self,
        now: Now,
        source: Source,
        packet: &[u8],
    ) -> Result<(Effect, Option<Key>), DropReason> {
        let (parsed, key) = self.keys.parse(source.transport, packet);
        let reply = key.map(|key| key.control(source.transport).reply.clone());
        let secret = key.map(|key| (key.id, key.secret.clone()));
        let effect = self.effect_of(now, source, packet, parsed, secret)?;
        Ok((effect, reply))
    }

    fn effect_of(
        &mut self,
        now: Now,
        source: Source,
        packet: &[u8],
        parsed: Result<Control, ParseError>,
        secret: Option<(KeyId, Key)>,
    ) -> Result<Effect, DropReason> {
        match parsed {
            // A session of which its opener cannot be told would stay for nothing.
            Ok(Control::Hello(_)) if !self.limiter.has_room(now.mono, source.from.ip(), SIZE) => {
                Err(DropReason::RateLimited)
            }
            Ok(Control::Hello(hello)) => Ok(self.hello(now, source, &hello, secret)),
            Ok(Control::Collect { token, nonce }) => self.collect(now, source, token, nonce),
            Ok(Control::Bye { token }) => self.bye(source, token),
            Ok(_) => Err(DropReason::Malformed),
            // Only a Hello: two versions would refuse each other's refusals for ever.
            Err(ParseError::Version { theirs, .. }) if control::is_hello(packet) => {
                Ok(Effect::Answer(other_version(theirs, packet)))
            }
            Err(ParseError::WrongKey) => Err(DropReason::WrongKey),
            Err(ParseError::Truncated { .. }) => Err(DropReason::TooShort),
            Err(_) => Err(DropReason::Malformed),
        }
    }

    fn hello(
        &mut self,
        now: Now,
        source: Source,
        hello: &Hello,
        secret: Option<(KeyId, Key)>,
    ) -> Effect {
        if source.transport == Transport::Udp && !self.is_our_cookie(now, source.from, hello) {
            let cookie = self.cookie(now, source.from, hello.nonce);
            let nonce = hello.nonce;
            return Effect::Answer(Control::Challenge(Challenge { nonce, cookie }));
        }
        match self.establish(now, source, hello, secret) {
            Ok(accept) => Effect::Accepted(accept),
            Err((reason, text)) => Effect::Answer(Control::Refuse(Refuse {
                nonce: hello.nonce,
                reason,
                text,
            })),
        }
    }

    fn is_our_cookie(&self, now: Now, from: SocketAddr, hello: &Hello) -> bool {
        // A first Hello has none, and need not be reckoned with.
        if hello.cookie == [0; COOKIE] {
            return false;
        }
        let secret = &self.random.secret;
        let period = now.mono / COOKIE_PERIOD;
        [period, period - 1].into_iter().any(|period| {
            let bound_to = cookie_text(from, hello.nonce, period);
            secret.verify(&[b"cookie", &bound_to], &hello.cookie)
        })
    }

    fn cookie(&self, now: Now, from: SocketAddr, nonce: u64) -> [u8; COOKIE] {
        let bound_to = cookie_text(from, nonce, now.mono / COOKIE_PERIOD);
        self.random.secret.tag(&[b"cookie", &bound_to])
    }

    /// A new session, or the one that this Hello has opened before, if its Accept was lost.
    fn establish(
        &mut self,
        now: Now,
        source: Source,
        hello: &Hello,
        secret: Option<(KeyId, Key)>,
    ) -> Result<Accept, (Reason, String)> {
        self.expire(now);
        self.check_payload(source.transport, hello)?;
        let opened = match self.opened_before(source, hello) {
            Some(opened) => opened,
            None => self.open(now, source, hello, secret)?,
        };
        Ok(self.policy.accept(now, hello.mode, hello.nonce, opened))
    }

    fn opened_before(&self, source: Source, hello: &Hello) -> Option<(u32, u64)> {
        let same = |session: &Session| {
            session.belongs_to(source.from, source.transport)
                && session.nonce == hello.nonce
                && session.mode == hello.mode
        };
        let found = self.sessions.iter().find(|(_, session)| same(session));
        found.map(|(token, session)| (token, session.salt))
    }

    fn open(
        &mut self,
        now: Now,
        source: Source,
        hello: &Hello,
        secret: Option<(KeyId, Key)>,
    ) -> Result<(u32, u64), (Reason, String)> {
        self.make_room_for(now, source.from.ip())?;
        let salt = self.random.next();
        let random = self.random.next() as u32;
        let mut session = Session::new(now, source.from, source.transport, hello, salt);
        session.overflowed_before = source.overflowed;
        session.datagrams_before = self.datagrams;
        let token = self.sessions.insert(random, session).ok_or_else(|| {
            (
                Reason::TooManySessions,
                self.why_full(Full::All, source.from.ip()),
            )
        })?;
        self.admission.enter(now.mono, source.from.ip(), token);
        self.changes += 1;
        self.bind_keys(token, hello.nonce, salt, secret);
        Ok((token, salt))
    }

    fn bind_keys(&mut self, token: u32, nonce: u64, salt: u64, secret: Option<(KeyId, Key)>) {
        if let Some(session) = self.sessions.get_mut(token) {
            let transport = session.transport;
            session.key = secret.as_ref().map(|(id, _)| *id);
            let pair =
                secret.map(|(_, secret)| KeyPair::session(&secret, transport, nonce, salt, token));
            session.keys = pair.map(SessionKeys::new);
        }
    }

    /// Ends sessions that have proven nothing, where others have to give way to the new one.
    fn make_room_for(&mut self, now: Now, address: IpAddr) -> Result<(), (Reason, String)> {
        loop {
            match self.admission.make_room(now.mono, address) {
                Ok(None) => return Ok(()),
                Ok(Some(token)) => self.end(token),
                Err(full) => return Err((Reason::TooManySessions, self.why_full(full, address))),
            }
        }
    }

    fn why_full(&self, full: Full, address: IpAddr) -> String {
        let limits = self.policy.session_limits().places;
        match full {
            Full::Address => format!(
                "{address} has {} sessions already: end one, or wait",
                limits.address
            ),
            Full::Network => format!(
                "the network of {address} has {} sessions already: end one, or wait",
                limits.network
            ),
            Full::All => format!(
                "all {} sessions of this reflector are taken: try again later",
                limits.all
            ),
        }
    }

    fn check_payload(&self, transport: Transport, hello: &Hello) -> Result<(), (Reason, String)> {
        let authenticated = self.keys.is_needed();
        let smallest = match transport {
            Transport::Udp => echo::smallest(hello.mode, authenticated),
            Transport::Tcp => tcp::smallest_request(authenticated),
        };
        let (payload, largest) = (hello.payload, self.policy.max_payload);
        if (payload as usize) < smallest {
            let what = missing_room(transport, hello.mode, authenticated);
            let text =
                format!("payload of {payload} B has no room for {what}: use at least {smallest}B");
            return Err((Reason::TooSmall, text));
        }
        if payload > largest {
            let text = format!(
                "payload of {payload} B is more than this reflector takes: use at most {largest}B"
            );
            return Err((Reason::TooLarge, text));
        }
        Ok(())
    }

    fn collect(
        &mut self,
        now: Now,
        source: Source,
        token: u32,
        nonce: u64,
    ) -> Result<Effect, DropReason> {
        let datagrams = self.datagrams;
        let session = self.session(now, source, token)?;
        let first = session.prove();
        session.heard(now);
        let collected = Collected {
            token,
            received: session.received,
            follow_ups: session.follow_ups.collect(nonce, FOLLOW_UPS),
            account: Some(Account {
                nonce,
                refused: session.refused,
                overflowed: source.overflowed.wrapping_sub(session.overflowed_before),
                realtime_offset: now.real - now.mono,
                clock_steps: now.clock_steps,
                of_several: datagrams - session.datagrams_before > session.datagrams,
            }),
        };
        if first {
            self.admission.proven(token);
        }
        Ok(Effect::Answer(Control::Collected(collected)))
    }

    fn session(
        &mut self,
        now: Now,
        source: Source,
        token: u32,
    ) -> Result<&mut Session, DropReason> {
        self.sessions
            .get_mut(token)
            .filter(|session| session.belongs_to(source.from, source.transport))
            .filter(|session| session.is_alive(now, &self.policy))
            .ok_or(DropReason::UnknownSession)
    }

    fn bye(&mut self, source: Source, token: u32) -> Result<Effect, DropReason> {
        let session = self.sessions.get_mut(token);
        if session.is_some_and(|session| session.belongs_to(source.from, source.transport)) {
            self.end(token);
            return Ok(Effect::Ended);
        }
        Err(DropReason::UnknownSession)
    }
}

/// There is no place for a connection of this address.
pub(super) fn no_connection(nonce: u64, full: Full, from: IpAddr) -> Control {
    let whose = match full {
        Full::Address => format!("{from} has as many connections here as it may"),
        Full::Network => format!("the network of {from} has as many connections here as it may"),
        Full::All => "all connections of this reflector are taken".to_owned(),
    };
    Control::Refuse(Refuse {
        nonce,
        reason: Reason::TooManySessions,
        text: format!("{whose}: try again later"),
    })
}

/// What a cookie is made of, each part at its place.
fn cookie_text(from: SocketAddr, nonce: u64, period: Nanos) -> [u8; 34] {
    let address = match from.ip() {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
        IpAddr::V6(v6) => v6.octets(),
    };
    let mut text = [0; 34];
    text[..16].copy_from_slice(&address);
    text[16..18].copy_from_slice(&from.port().to_be_bytes());
    text[18..26].copy_from_slice(&nonce.to_be_bytes());
    text[26..].copy_from_slice(&period.to_be_bytes());
    text
}

fn missing_room(transport: Transport, mode: Mode, authenticated: bool) -> String {
    match (transport, mode, authenticated) {
        (Transport::Udp, Mode::Stamped, true) => {
            format!("the stamps and the {TAG}-byte tag of an authenticated stamped session")
        }
        (Transport::Udp, Mode::Stamped, false) => "the stamps of a stamped session".to_owned(),
        (_, _, true) => format!("the {TAG}-byte tag of an authenticated session"),
        (_, _, false) => "the header of a session".to_owned(),
    }
}

/// The nonce is where every version has it: behind magic, version and kind.
pub(super) fn other_version(theirs: u8, packet: &[u8]) -> Control {
    let nonce = packet.get(10..).and_then(<[u8]>::first_chunk);
    Control::Refuse(Refuse {
        nonce: u64::from_be_bytes(nonce.copied().unwrap_or_default()),
        reason: Reason::Version,
        text: format!("this reflector speaks version {VERSION} of the set-up, not {theirs}"),
    })
}
