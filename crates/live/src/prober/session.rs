//! Setting up a session with `delaylab reflect`, over udp or tcp.

use super::channel::{KeptFor, ReflectorTime};
use super::error::OpenError;
use super::open::Settings;
use crate::clocks::HostClock;
use delaylab_kernel::{clock, random};
use delaylab_model::trial::{RecordFacts, ReflectorClock, Residence};
use delaylab_model::{MILLISECOND, Nanos, SECOND};
use delaylab_traffic::prober::epoch::Epoch;
use delaylab_wire::auth::{Key, KeyPair, SessionKeys, TAG, Transport};
use delaylab_wire::control::{Accept, COOKIE, ClockFacts, Collected, Control, Hello, SIZE};
use delaylab_wire::echo::Mode;
use std::io;

/// How long each Hello is waited for before the next one. Often at first, so that a path which loses
/// every third packet is still measured; long at last, so that a far one is.
pub const PATIENCE: [Nanos; 13] = {
    let mut patience = [100 * MILLISECOND; 13];
    patience[10] = 500 * MILLISECOND;
    patience[11] = 500 * MILLISECOND;
    patience[12] = SECOND;
    patience
};
/// All of it together.
pub const PATIENCE_IN_ALL: Nanos = {
    let (mut sum, mut at) = (0, 0);
    while at < PATIENCE.len() {
        sum += PATIENCE[at];
        at += 1;
    }
    sum
};

/// A Hello as it goes on the wire.
pub type Frame = [u8; SIZE];

/// What a session was agreed to be.
#[derive(Debug, Clone)]
pub struct Session {
    /// How data packets begin.
    pub token: u32,
    /// Keys of its data packets, if there is a key.
    pub keys: Option<SessionKeys>,
    /// Keys of its control packets, if there is a key.
    pub control: Option<KeyPair>,
    /// What replies carry.
    pub mode: Mode,
    /// How to read the reflector's stamps.
    pub facts: RecordFacts,
    /// How the reflector's stamps are read.
    pub reflector_time: ReflectorTime,
    /// The last count of steps that the reflector told.
    pub clock_steps: Option<u8>,
    /// How long the reflector keeps it.
    pub kept: KeptFor,
}

impl Session {
    /// With a reflector that knows nothing of sessions.
    pub fn plain(token: u32) -> Self {
        Self {
            token,
            keys: None,
            control: None,
            mode: Mode::Plain,
            facts: RecordFacts::default(),
            reflector_time: ReflectorTime::AsItCame,
            clock_steps: None,
            kept: KeptFor::default(),
        }
    }

    /// Does the reflector hold it? An RFC 862 server knows nothing of sessions.
    pub const fn is_held(&self) -> bool {
        self.kept.max_duration.is_some()
    }

    /// A control packet of it, as it goes on the wire.
    pub fn frame(&self, control: &Control) -> Frame {
        let mut frame = [0; SIZE];
        let key = self.control.as_ref().map(|keys| &keys.request);
        let _ = control.emit(key, &mut frame);
        frame
    }

    /// What the reflector seals its control packets with, if there is a key.
    pub fn reply_key(&self) -> Option<&Key> {
        self.control.as_ref().map(|keys| &keys.reply)
    }

    /// Bytes at the end of its data packets that seal them.
    pub const fn tag(&self) -> usize {
        match self.keys {
            Some(_) => TAG,
            None => 0,
        }
    }
}

/// What an answer to a Hello asks for.
#[derive(Debug)]
pub enum Next {
    /// Not an answer to it.
    Unrelated,
    /// Say it again: the next Hello has the cookie that was asked for.
    Again,
    /// Done.
    Agreed(Box<Session>),
    /// There is an RFC 862 echo server.
    PlainEcho,
    /// No, and why.
    Refused(String),
}

/// The prober's side of the set-up: sans-IO.
#[derive(Debug)]
pub struct SetUp {
    transport: Transport,
    secret: Option<Key>,
    control: Option<KeyPair>,
    clock: HostClock,
    hello: Hello,
}

impl SetUp {
    /// For a session of `mode` whose packets have `payload` bytes.
    pub fn new(
        transport: Transport,
        settings: &Settings<'_>,
        mode: Mode,
        payload: u32,
    ) -> Result<Self, OpenError> {
        let nonce = nonce().map_err(settings.failed("random numbers"))?;
        let secret = settings.key.cloned();
        Ok(Self {
            clock: settings.clock.clone(),
            transport,
            control: secret.as_ref().map(|key| KeyPair::control(key, transport)),
            secret,
            hello: Hello {
                nonce,
                mode,
                payload,
                cookie: [0; COOKIE],
            },
        })
    }

    /// The Hello to send now.
    pub fn hello(&self) -> Frame {
        let mut frame = [0; SIZE];
        let key = self.control.as_ref().map(|keys| &keys.request);
        Control::Hello(self.hello)
            .emit(key, &mut frame)
            .map_or([0; SIZE], |_| frame)
    }

    /// Takes a packet that came.
    pub fn answer(&mut self, sent: &Frame, packet: &[u8]) -> Next {
        if delaylab_wire::control::is_echo_of(sent, packet) {
            return Next::PlainEcho;
        }
        let key = self.control.as_ref().map(|keys| &keys.reply);
        match Control::parse(key, packet) {
            Ok(Control::Challenge(c)) if c.nonce == self.hello.nonce => {
                self.hello.cookie = c.cookie;
                Next::Again
            }
            Ok(Control::Accept(accept)) if accept.nonce == self.hello.nonce => {
                Next::Agreed(Box::new(self.agreed(&accept)))
            }
            Ok(Control::Refuse(refuse)) if refuse.nonce == self.hello.nonce => {
                Next::Refused(printable(&refuse.text))
            }
            _ => Next::Unrelated,
        }
    }

    fn agreed(&self, accept: &Accept) -> Session {
        let stamped = accept.mode == Mode::Stamped;
        let (reflector_clock, reflector_time) = if stamped {
            self.relation(accept)
        } else {
            (ReflectorClock::None, ReflectorTime::AsItCame)
        };
        let facts = RecordFacts {
            reflector_clock,
            residence: if stamped {
                Residence::ToDriver
            } else {
                Residence::Unknown
            },
        };
        Session {
            token: accept.token,
            keys: self
                .secret
                .as_ref()
                .map(|secret| SessionKeys::new(accept.keys(secret, self.transport))),
            control: self.control.clone(),
            mode: accept.mode,
            facts,
            reflector_time,
            clock_steps: None,
            kept: KeptFor {
                max_duration: Some(Nanos::from(accept.max_duration_s) * SECOND),
                max_idle: (accept.max_idle_ms > 0)
                    .then(|| Nanos::from(accept.max_idle_ms) * MILLISECOND),
            },
        }
    }

    /// How the reflector's clock relates to ours, and by what its stamps are read.
    fn relation(&self, accept: &Accept) -> (ReflectorClock, ReflectorTime) {
        let (ours, theirs) = (&self.clock.facts, &accept.clock);
        if theirs.id != 0 && theirs.id == ours.id {
            return (ReflectorClock::Same, ReflectorTime::AsItCame);
        }
        let relation = bounded(ours, theirs.synchronised.then_some(theirs.error_bound));
        let epoch = Epoch {
            ours: self.clock.watch().offset(),
            theirs: accept.realtime_offset,
            steps: accept.clock_steps,
        };
        match (relation, epoch.shift()) {
            (ReflectorClock::Bounded { .. }, Some(_)) => (relation, ReflectorTime::Agreed(epoch)),
            _ => (ReflectorClock::Unrelated, ReflectorTime::AsItCame),
        }
    }
}

/// A number that nobody can guess.
pub fn nonce() -> io::Result<u64> {
    let bytes = random::bytes()?;
    Ok(u64::from_ne_bytes(
        bytes.first_chunk().copied().unwrap_or_default(),
    ))
}

/// Does it answer one of these Collects? A reflector from before there were nonces repeats none.
pub fn answers(collected: &Collected, token: u32, nonces: &[u64]) -> bool {
    let same = collected
        .account
        .is_none_or(|account| nonces.contains(&account.nonce));
    collected.token == token && same
}

/// Two synchronised clocks are apart by no more than both errors.
pub fn bounded(ours: &ClockFacts, reflector_error: Option<u64>) -> ReflectorClock {
    let ours = ours.synchronised.then_some(ours.error_bound);
    let known = |error: Option<u64>| Nanos::try_from(error?).ok();
    match (known(reflector_error), known(ours)) {
        (Some(theirs), Some(ours)) => ReflectorClock::Bounded {
            error_ns: theirs.saturating_add(ours),
        },
        _ => ReflectorClock::Unrelated,
    }
}

/// Text from outside, safe to print on a terminal.
pub(crate) fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

/// No answer has come since this time of the monotonic clock: in all tries, or until the user asked to stop.
pub fn no_answer(settings: &Settings<'_>, since: Nanos) -> OpenError {
    OpenError::NoAnswer {
        method: settings.probe().method,
        target: settings.target,
        waited_s: (clock::monotonic() - since + SECOND / 2) / SECOND,
        with_key: settings.key.is_some(),
    }
}
