//! Setting up a session with `delaylab reflect`, over udp or tcp.

use super::error::OpenError;
use super::open::Settings;
use delaylab_kernel::{clock, host_info};
use delaylab_model::trial::{RecordFacts, ReflectorClock, Residence};
use delaylab_model::{MILLISECOND, Nanos, SECOND};
use delaylab_wire::auth::{Key, KeyPair, Transport};
use delaylab_wire::control::{Accept, COOKIE, Control, Hello, SIZE};
use delaylab_wire::echo::Mode;

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
    pub keys: Option<KeyPair>,
    /// Keys of its control packets, if there is a key.
    pub control: Option<KeyPair>,
    /// What replies carry.
    pub mode: Mode,
    /// How to read the reflector's stamps.
    pub facts: RecordFacts,
    /// The reflector's `REALTIME − MONOTONIC`.
    pub realtime_offset: Nanos,
    /// The reflector ends it after so long.
    pub max_duration: Option<Nanos>,
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
            realtime_offset: 0,
            max_duration: None,
        }
    }

    /// See [`super::channel::Channel::reflector_shift`].
    #[inline]
    pub fn shift(&self, realtime_offset: Nanos) -> Nanos {
        match self.facts.reflector_clock {
            ReflectorClock::Bounded { .. } => self.realtime_offset - realtime_offset,
            _ => 0,
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
    hello: Hello,
}

impl SetUp {
    /// For a session of `mode` whose packets have `payload` bytes.
    pub fn new(transport: Transport, settings: &Settings<'_>, mode: Mode, payload: u32) -> Self {
        let nonce = settings.run.seed ^ (clock::realtime() as u64).rotate_left(32);
        let secret = settings.key.cloned();
        Self {
            transport,
            control: secret.as_ref().map(|key| KeyPair::control(key, transport)),
            secret,
            hello: Hello {
                nonce,
                mode,
                payload,
                cookie: [0; COOKIE],
            },
        }
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
        let facts = RecordFacts {
            reflector_clock: if stamped {
                relation(accept)
            } else {
                ReflectorClock::None
            },
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
                .map(|secret| accept.keys(secret, self.transport)),
            control: self.control.clone(),
            mode: accept.mode,
            facts,
            realtime_offset: accept.realtime_offset,
            max_duration: Some(Nanos::from(accept.max_duration_s) * SECOND),
        }
    }
}

/// How the reflector's clock relates to ours.
fn relation(accept: &Accept) -> ReflectorClock {
    if accept.clock.id != 0 && Some(accept.clock.id) == host_info::clock_id() {
        return ReflectorClock::Same;
    }
    let reflector = accept
        .clock
        .synchronised
        .then_some(accept.clock.error_bound);
    bounded(reflector)
}

/// Two synchronised clocks are apart by no more than both errors.
pub fn bounded(reflector_error: Option<u64>) -> ReflectorClock {
    let ours = host_info::Synchronisation::read();
    match (
        reflector_error.and_then(|error| Nanos::try_from(error).ok()),
        ours,
    ) {
        (Some(theirs), Ok(ours)) if ours.synchronised => ReflectorClock::Bounded {
            error_ns: theirs.saturating_add(ours.max_error),
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
