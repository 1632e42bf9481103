//! How a udp or tcp session is set up, asked for its last stamps and ended.
//!
//! Every control packet has 256 bytes, so that a reply is never longer than what it answers:
//!
//! ```text
//! 0 "delaylab"  8 version  9 kind  10 body …  240 tag (zeros in a set-up without a key)
//! ```
//!
//! Over udp: Hello → Challenge → Hello with its cookie → Accept or Refuse. The challenge needs no
//! state, so a source that cannot receive what it asks for takes up nothing. Over tcp the first
//! Hello is answered at once: the connection has proved the address.
//!
//! Load has a tcp connection for each stream that sets it up: LoadHello → Accept or Refuse, then Count →
//! Counted as often as the sender likes; it ends with the connection. These are sealed with the session's
//! own keys from Count on. A tcp stream's data has a connection of its own, which begins with Attach. Where the
//! other end is to send it, Fetch → Fetched or Refuse comes before that, and Begin behind Attach.
//!
//! What a packet says more than it did in an earlier program stands where that wrote zeros and read nothing, and
//! zeros mean that it was not said: programs of one version understand each other whatever their age.
//!
//! A token never begins as the magic does ([`is_control`] tells them apart by it), and as the
//! length of a tcp frame the magic would be 1.7 GB, so control packets may stand among data.

mod fetch;

pub use fetch::{Fetch, Fetched, Name};

use crate::auth::{Key, KeyPair, TAG, Transport};
use crate::echo::{FollowUp, Mode};
use crate::field::{at_least, get, get_i64, get_u16, get_u32, get_u64, put, room};
use crate::{EmitError, ParseError};
use delaylab_model::Nanos;

/// How every control packet begins.
pub const MAGIC: &[u8; 8] = b"delaylab";
/// The magic's first four bytes: no session has this token.
pub const RESERVED_TOKEN: u32 = u32::from_be_bytes(*b"dela");
/// The version of these formats.
pub const VERSION: u8 = 1;
/// Bytes of every control packet.
pub const SIZE: usize = 256;
/// Bytes of a cookie.
pub const COOKIE: usize = 16;
/// Follow-ups that one [`Collected`] holds.
pub const FOLLOW_UPS: usize = 16;
/// Bytes of text that a [`Refuse`] holds. Longer text is cut.
pub const TEXT: usize = 160;

const BODY: usize = 10;
const TAG_AT: usize = SIZE - TAG;

/// "I want to send load." From the sender, first on its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadHello {
    /// Random; every answer carries it.
    pub nonce: u64,
    /// What the load is sent by.
    pub transport: Transport,
    /// tcp: the sink is to have no more bytes under way than so many; 0 is no limit.
    pub window: u32,
}

/// "This is what has arrived."
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counted {
    /// Which session.
    pub token: u32,
    /// Packets; 0 for tcp.
    pub packets: u64,
    /// Bytes of payload.
    pub bytes: u64,
    /// Packets that came after one with a higher number.
    pub reordered: u64,
    /// Packets over the sink's limits, or that its buffer had no room for.
    pub refused: u64,
    /// Of these, those that the buffer had no room for. It has the packets of all sessions, so they may be others'.
    pub overflowed: u64,
    /// Packets that came again; they are counted nowhere else.
    pub copies: u64,
    /// tcp: for so long the sink's limits have held it back, in nanoseconds.
    pub held_back: u64,
    /// Packets of others that the sink's buffer has had since the session began; 0 also from sinks that do not say.
    pub of_others: u64,
    /// From the first packet that came, or the first byte, to the last, in nanoseconds; 0 also from sinks that do not say.
    pub span: u64,
    /// Of load that was fetched, as the kernel of its sender has it; zeros of all other, and from sinks that send
    /// none.
    pub sender: Sender,
}

/// What the kernel of a tcp sender says of its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sender {
    /// Smoothed round-trip time, in microseconds; 0 is unknown.
    pub smoothed_rtt_us: u32,
    /// Congestion window, in bytes.
    pub congestion_window: u32,
    /// Segments that were sent again.
    pub retransmits: u32,
}

/// "I want a session." From the prober.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hello {
    /// Random; every answer carries it.
    pub nonce: u64,
    /// What the replies are to be.
    pub mode: Mode,
    /// Bytes of payload that the session's packets have; the largest where they differ.
    pub payload: u32,
    /// From the [`Challenge`]; zeros at first.
    pub cookie: [u8; COOKIE],
}

/// "Say that again, with this." Proves that the prober receives at its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Challenge {
    /// The Hello's.
    pub nonce: u64,
    /// To be sent back.
    pub cookie: [u8; COOKIE],
}

/// What a reflector says of its clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockFacts {
    /// The same for all that read the same `CLOCK_MONOTONIC` since the same boot, and for nobody
    /// else; 0 is unknown.
    pub id: u64,
    /// `CLOCK_REALTIME` is disciplined (`STA_UNSYNC` is clear).
    pub synchronised: bool,
    /// How wrong `CLOCK_REALTIME` may be, in nanoseconds (the kernel's maximum error).
    pub error_bound: u64,
}

/// "You have a session."
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accept {
    /// The Hello's.
    pub nonce: u64,
    /// The reflector's random part of the session's keys.
    pub salt: u64,
    /// Which session: how its data packets begin.
    pub token: u32,
    /// What its replies are.
    pub mode: Mode,
    /// The reflector's clocks.
    pub clock: ClockFacts,
    /// `CLOCK_REALTIME` − `CLOCK_MONOTONIC` of the reflector, in nanoseconds.
    pub realtime_offset: Nanos,
    /// The session ends after so many seconds.
    pub max_duration_s: u32,
    /// How often the reflector has seen its clocks move against each other, as in [`crate::echo::Stamps`].
    pub clock_steps: u8,
    /// The session is forgotten once nothing of it has come for this many milliseconds; 0 from a reflector that does not
    /// say.
    pub max_idle_ms: u32,
}

impl Accept {
    /// The keys of this session's data packets.
    pub fn keys(&self, secret: &Key, transport: Transport) -> KeyPair {
        KeyPair::session(secret, transport, self.nonce, self.salt, self.token)
    }
}

/// Why there is no session, as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The payload has no room for the session's tag or stamps.
    TooSmall,
    /// The payload is larger than the reflector takes.
    TooLarge,
    /// The reflector has as many sessions as it takes.
    TooManySessions,
    /// The reflector speaks another version of these formats.
    Version,
    /// The reflector does not send this load.
    NoLoad,
    /// A number that this program does not know.
    Other(u16),
}

impl Reason {
    const fn code(self) -> u16 {
        match self {
            Reason::TooSmall => 1,
            Reason::TooLarge => 2,
            Reason::TooManySessions => 3,
            Reason::Version => 4,
            Reason::NoLoad => 5,
            Reason::Other(code) => code,
        }
    }

    const fn from_code(code: u16) -> Self {
        match code {
            1 => Reason::TooSmall,
            2 => Reason::TooLarge,
            3 => Reason::TooManySessions,
            4 => Reason::Version,
            5 => Reason::NoLoad,
            other => Reason::Other(other),
        }
    }
}

/// "You have no session, and this is why."
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refuse {
    /// The Hello's.
    pub nonce: u64,
    /// Why, for programs.
    pub reason: Reason,
    /// Why and what to do, for people; at most [`TEXT`] bytes of UTF-8. It comes from outside:
    /// escape control characters before you print it.
    pub text: String,
}

/// "This is what you have not heard yet."
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collected {
    /// Which session.
    pub token: u32,
    /// Packets of the session that arrived, in all.
    pub received: u32,
    /// Stamps not reported so far, oldest first; at most [`FOLLOW_UPS`]. Ask again until none come.
    pub follow_ups: Vec<FollowUp>,
    /// What else it says. `None`: a reflector from before there was more to say.
    pub account: Option<Account>,
}

/// What became of a session's packets in the reflector's host, and of that host's clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    /// That of the Collect that this answers.
    pub nonce: u64,
    /// Packets that were counted as received and not answered: more than the reflector's limits allow.
    pub refused: u32,
    /// Packets that the socket's full buffer had no room for since the session began, of all sessions on it.
    pub overflowed: u32,
    /// `CLOCK_REALTIME` − `CLOCK_MONOTONIC` of the reflector now, in nanoseconds.
    pub realtime_offset: Nanos,
    /// As in [`Accept`], now.
    pub clock_steps: u8,
    /// Packets of others came meanwhile: what overflowed may be theirs. False also from reflectors that do not say.
    pub of_several: bool,
}

/// Any control packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Control {
    /// Prober: I want a session.
    Hello(Hello),
    /// Reflector: say that again, with this.
    Challenge(Challenge),
    /// Reflector: you have a session.
    Accept(Accept),
    /// Reflector: you have none.
    Refuse(Refuse),
    /// Prober: what have I not heard yet?
    Collect {
        /// Which session.
        token: u32,
        /// Random; the answer carries it. What is asked again with the same one, because no answer came, is answered
        /// again. 0 from a prober from before there was one.
        nonce: u64,
    },
    /// Reflector: this.
    Collected(Collected),
    /// Prober: I need the session no more. Not answered.
    Bye {
        /// Which session.
        token: u32,
    },
    /// Sender: I want to send load.
    LoadHello(LoadHello),
    /// Sender, first on a connection of its own: what follows is this session's load.
    Attach {
        /// Which session.
        token: u32,
    },
    /// Sender: what has arrived?
    Count {
        /// Which session.
        token: u32,
    },
    /// Sink: this. `bytes` of load that was fetched are those that have been acknowledged.
    Counted(Counted),
    /// Prober: send me load, like this.
    Fetch(Fetch),
    /// Sender: it is ready.
    Fetched(Fetched),
    /// Prober, on the connection of the data: send now.
    Begin {
        /// Which session.
        token: u32,
    },
}

/// Does this packet begin as control packets do?
pub fn is_control(packet: &[u8]) -> bool {
    packet.starts_with(MAGIC)
}

/// Is it the first packet of a sender, of whatever version? The kind is at the same place in each.
pub fn is_hello(packet: &[u8]) -> bool {
    is_control(packet) && matches!(packet.get(9), Some(1 | 8))
}

/// Is this reply our own control packet, unchanged? Then there is an RFC 862 echo server, which
/// knows nothing of sessions.
pub fn is_echo_of(sent: &[u8], reply: &[u8]) -> bool {
    is_control(sent) && sent == reply
}

impl Control {
    /// Writes the packet, sealed if there is a key, and says how long it is: [`SIZE`].
    pub fn emit(&self, key: Option<&Key>, buffer: &mut [u8]) -> Result<usize, EmitError> {
        room(buffer, SIZE)?;
        let packet = &mut buffer[..SIZE];
        packet.fill(0);
        put(packet, 0, *MAGIC);
        put(packet, 8, [VERSION, self.kind()]);
        self.emit_body(&mut packet[BODY..TAG_AT]);
        if let Some(key) = key {
            key.seal(packet);
        }
        Ok(SIZE)
    }

    /// Reads a packet of exactly [`SIZE`] bytes, which must be sealed if there is a key. The seal
    /// is looked at before anything else that is not of every version.
    pub fn parse(key: Option<&Key>, packet: &[u8]) -> Result<Self, ParseError> {
        at_least(packet, SIZE)?;
        if packet.len() > SIZE || !is_control(packet) {
            return Err(ParseError::NotOurs);
        }
        if key.is_some_and(|key| !key.is_sealed(packet)) {
            return Err(ParseError::WrongKey);
        }
        let [version, kind] = get(packet, 8)?;
        if version != VERSION {
            return Err(ParseError::Version {
                theirs: version,
                ours: VERSION,
            });
        }
        Self::parse_body(kind, &packet[BODY..TAG_AT])
    }

    const fn kind(&self) -> u8 {
        match self {
            Control::Hello(_) => 1,
            Control::Challenge(_) => 2,
            Control::Accept(_) => 3,
            Control::Refuse(_) => 4,
            Control::Collect { .. } => 5,
            Control::Collected(_) => 6,
            Control::Bye { .. } => 7,
            Control::LoadHello(_) => 8,
            Control::Attach { .. } => 9,
            Control::Count { .. } => 10,
            Control::Counted(_) => 11,
            Control::Fetch(_) => 12,
            Control::Fetched(_) => 13,
            Control::Begin { .. } => 14,
        }
    }

    fn emit_body(&self, body: &mut [u8]) {
        match self {
            Control::Hello(hello) => hello.emit(body),
            Control::Challenge(challenge) => challenge.emit(body),
            Control::Accept(accept) => accept.emit(body),
            Control::Refuse(refuse) => refuse.emit(body),
            Control::Collected(collected) => collected.emit(body),
            Control::LoadHello(hello) => hello.emit(body),
            Control::Counted(counted) => counted.emit(body),
            Control::Fetch(fetch) => fetch.emit(body),
            Control::Fetched(fetched) => fetched.emit(body),
            Control::Collect { token, nonce } => {
                put(body, 0, token.to_be_bytes());
                put(body, 4, nonce.to_be_bytes());
            }
            Control::Bye { token }
            | Control::Attach { token }
            | Control::Count { token }
            | Control::Begin { token } => put(body, 0, token.to_be_bytes()),
        }
    }

    fn parse_body(kind: u8, body: &[u8]) -> Result<Self, ParseError> {
        match kind {
            1 => Hello::parse(body).map(Control::Hello),
            2 => Challenge::parse(body).map(Control::Challenge),
            3 => Accept::parse(body).map(Control::Accept),
            4 => Refuse::parse(body).map(Control::Refuse),
            5 => Ok(Control::Collect {
                token: get_u32(body, 0)?,
                nonce: get_u64(body, 4)?,
            }),
            6 => Collected::parse(body).map(Control::Collected),
            7 => get_u32(body, 0).map(|token| Control::Bye { token }),
            8 => LoadHello::parse(body).map(Control::LoadHello),
            9 => get_u32(body, 0).map(|token| Control::Attach { token }),
            10 => get_u32(body, 0).map(|token| Control::Count { token }),
            11 => Counted::parse(body).map(Control::Counted),
            12 => Fetch::parse(body).map(Control::Fetch),
            13 => Fetched::parse(body).map(Control::Fetched),
            14 => get_u32(body, 0).map(|token| Control::Begin { token }),
            _ => Err(ParseError::Value("kind")),
        }
    }
}

const fn mode_code(mode: Mode) -> u8 {
    match mode {
        Mode::Plain => 0,
        Mode::Stamped => 1,
    }
}

const fn mode_from_code(code: u8) -> Result<Mode, ParseError> {
    match code {
        0 => Ok(Mode::Plain),
        1 => Ok(Mode::Stamped),
        _ => Err(ParseError::Value("mode")),
    }
}

/// `0 nonce  8 mode  9 payload  13 cookie`
impl Hello {
    fn emit(&self, body: &mut [u8]) {
        put(body, 0, self.nonce.to_be_bytes());
        put(body, 8, [mode_code(self.mode)]);
        put(body, 9, self.payload.to_be_bytes());
        put(body, 13, self.cookie);
    }

    fn parse(body: &[u8]) -> Result<Self, ParseError> {
        let [mode] = get(body, 8)?;
        Ok(Self {
            nonce: get_u64(body, 0)?,
            mode: mode_from_code(mode)?,
            payload: get_u32(body, 9)?,
            cookie: get(body, 13)?,
        })
    }
}

/// `0 nonce  8 transport  9 window`
impl LoadHello {
    fn emit(&self, body: &mut [u8]) {
        put(body, 0, self.nonce.to_be_bytes());
        put(body, 8, [u8::from(self.transport == Transport::Tcp)]);
        put(body, 9, self.window.to_be_bytes());
    }

    fn parse(body: &[u8]) -> Result<Self, ParseError> {
        let [transport] = get(body, 8)?;
        Ok(Self {
            nonce: get_u64(body, 0)?,
            transport: match transport {
                0 => Transport::Udp,
                1 => Transport::Tcp,
                _ => return Err(ParseError::Value("transport")),
            },
            window: get_u32(body, 9)?,
        })
    }
}

/// `0 token  4 packets  12 bytes  20 reordered  28 refused  36 smoothed rtt  40 congestion window  44 retransmits
/// 48 overflowed  56 copies  64 held back  72 of others  80 span`
impl Counted {
    fn emit(&self, body: &mut [u8]) {
        put(body, 0, self.token.to_be_bytes());
        put(body, 4, self.packets.to_be_bytes());
        put(body, 12, self.bytes.to_be_bytes());
        put(body, 20, self.reordered.to_be_bytes());
        put(body, 28, self.refused.to_be_bytes());
        put(body, 36, self.sender.smoothed_rtt_us.to_be_bytes());
        put(body, 40, self.sender.congestion_window.to_be_bytes());
        put(body, 44, self.sender.retransmits.to_be_bytes());
        put(body, 48, self.overflowed.to_be_bytes());
        put(body, 56, self.copies.to_be_bytes());
        put(body, 64, self.held_back.to_be_bytes());
        put(body, 72, self.of_others.to_be_bytes());
        put(body, 80, self.span.to_be_bytes());
    }

    fn parse(body: &[u8]) -> Result<Self, ParseError> {
        Ok(Self {
            token: get_u32(body, 0)?,
            packets: get_u64(body, 4)?,
            bytes: get_u64(body, 12)?,
            reordered: get_u64(body, 20)?,
            refused: get_u64(body, 28)?,
            overflowed: get_u64(body, 48)?,
            copies: get_u64(body, 56)?,
            held_back: get_u64(body, 64)?,
            of_others: get_u64(body, 72)?,
            span: get_u64(body, 80)?,
            sender: Sender {
                smoothed_rtt_us: get_u32(body, 36)?,
                congestion_window: get_u32(body, 40)?,
                retransmits: get_u32(body, 44)?,
            },
        })
    }
}

/// `0 nonce  8 cookie`
impl Challenge {
    fn emit(&self, body: &mut [u8]) {
        put(body, 0, self.nonce.to_be_bytes());
        put(body, 8, self.cookie);
    }

    fn parse(body: &[u8]) -> Result<Self, ParseError> {
        Ok(Self {
            nonce: get_u64(body, 0)?,
            cookie: get(body, 8)?,
        })
    }
}

/// `0 nonce  8 salt  16 token  20 mode  21 synchronised  22 clock id  30 realtime offset
/// 38 error bound  46 duration  50 clock steps  51 idle`
impl Accept {
    fn emit(&self, body: &mut [u8]) {
        put(body, 0, self.nonce.to_be_bytes());
        put(body, 8, self.salt.to_be_bytes());
        put(body, 16, self.token.to_be_bytes());
        let synchronised = u8::from(self.clock.synchronised);
        put(body, 20, [mode_code(self.mode), synchronised]);
        put(body, 22, self.clock.id.to_be_bytes());
        put(body, 30, self.realtime_offset.to_be_bytes());
        put(body, 38, self.clock.error_bound.to_be_bytes());
        put(body, 46, self.max_duration_s.to_be_bytes());
        put(body, 50, [self.clock_steps]);
        put(body, 51, self.max_idle_ms.to_be_bytes());
    }

    fn parse(body: &[u8]) -> Result<Self, ParseError> {
        let [mode, synchronised] = get(body, 20)?;
        let [clock_steps] = get(body, 50)?;
        let clock = ClockFacts {
            id: get_u64(body, 22)?,
            synchronised: synchronised != 0,
            error_bound: get_u64(body, 38)?,
        };
        Ok(Self {
            nonce: get_u64(body, 0)?,
            salt: get_u64(body, 8)?,
            token: get_u32(body, 16)?,
            mode: mode_from_code(mode)?,
            clock,
            realtime_offset: get_i64(body, 30)?,
            max_duration_s: get_u32(body, 46)?,
            clock_steps,
            max_idle_ms: get_u32(body, 51)?,
        })
    }
}

/// `0 nonce  8 reason  10 length of text  12 text`
impl Refuse {
    fn emit(&self, body: &mut [u8]) {
        let text = cut(&self.text, TEXT).as_bytes();
        put(body, 0, self.nonce.to_be_bytes());
        put(body, 8, self.reason.code().to_be_bytes());
        put(body, 10, (text.len() as u16).to_be_bytes());
        body[12..12 + text.len()].copy_from_slice(text);
    }

    fn parse(body: &[u8]) -> Result<Self, ParseError> {
        let len = usize::from(get_u16(body, 10)?);
        if len > TEXT {
            return Err(ParseError::Value("text length"));
        }
        let text = body.get(12..12 + len).unwrap_or_default();
        Ok(Self {
            nonce: get_u64(body, 0)?,
            reason: Reason::from_code(get_u16(body, 8)?),
            text: String::from_utf8(text.to_vec()).map_err(|_| ParseError::Value("text"))?,
        })
    }
}

/// The first `len` bytes of `text`, or a few fewer, so that no character is cut in two.
fn cut(text: &str, len: usize) -> &str {
    &text[..text.floor_char_boundary(len)]
}

/// `0 token  4 received  8 how many  9 (seq u32, r_tx i64) …  201 account`
impl Collected {
    fn emit(&self, body: &mut [u8]) {
        let follow_ups = &self.follow_ups[..self.follow_ups.len().min(FOLLOW_UPS)];
        put(body, 0, self.token.to_be_bytes());
        put(body, 4, self.received.to_be_bytes());
        put(body, 8, [follow_ups.len() as u8]);
        for (index, follow_up) in follow_ups.iter().enumerate() {
            put(body, 9 + 12 * index, follow_up.seq.to_be_bytes());
            put(body, 13 + 12 * index, follow_up.r_tx.to_be_bytes());
        }
        if let Some(account) = &self.account {
            account.emit(&mut body[ACCOUNT_AT..]);
        }
    }

    fn parse(body: &[u8]) -> Result<Self, ParseError> {
        let [count] = get(body, 8)?;
        if usize::from(count) > FOLLOW_UPS {
            return Err(ParseError::Value("count of follow-ups"));
        }
        let follow_up = |index: usize| {
            Ok(FollowUp {
                seq: get_u32(body, 9 + 12 * index)?,
                r_tx: get_i64(body, 13 + 12 * index)?,
            })
        };
        Ok(Self {
            token: get_u32(body, 0)?,
            received: get_u32(body, 4)?,
            follow_ups: (0..usize::from(count))
                .map(follow_up)
                .collect::<Result<_, _>>()?,
            account: Account::parse(body.get(ACCOUNT_AT..).unwrap_or_default())?,
        })
    }
}

/// Behind the last follow-up that there is room for.
const ACCOUNT_AT: usize = 9 + 12 * FOLLOW_UPS;

/// `0 is there  1 refused  5 overflowed  9 nonce  17 realtime offset  25 clock steps  26 of several`
impl Account {
    fn emit(&self, body: &mut [u8]) {
        put(body, 0, [1]);
        put(body, 1, self.refused.to_be_bytes());
        put(body, 5, self.overflowed.to_be_bytes());
        put(body, 9, self.nonce.to_be_bytes());
        put(body, 17, self.realtime_offset.to_be_bytes());
        put(body, 25, [self.clock_steps, u8::from(self.of_several)]);
    }

    fn parse(body: &[u8]) -> Result<Option<Self>, ParseError> {
        let [is_there] = get(body, 0)?;
        if is_there == 0 {
            return Ok(None);
        }
        let [clock_steps, of_several] = get(body, 25)?;
        Ok(Some(Self {
            refused: get_u32(body, 1)?,
            overflowed: get_u32(body, 5)?,
            nonce: get_u64(body, 9)?,
            realtime_offset: get_i64(body, 17)?,
            clock_steps,
            of_several: of_several != 0,
        }))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn key(secret: &[u8; 16]) -> Key {
        Key::new(secret).unwrap()
    }

    fn accept() -> Accept {
        Accept {
            nonce: 1,
            salt: 2,
            token: 3,
            mode: Mode::Stamped,
            clock: ClockFacts {
                id: 4,
                synchronised: true,
                error_bound: 5,
            },
            realtime_offset: -6,
            max_duration_s: 7,
            clock_steps: 8,
            max_idle_ms: 9,
        }
    }

    fn every_kind() -> Vec<Control> {
        let cookie = [9; COOKIE];
        let follow_ups = (0..FOLLOW_UPS as u32)
            .map(|seq| FollowUp {
                seq,
                r_tx: -i64::from(seq),
            })
            .collect();
        vec![
            Control::Hello(Hello {
                nonce: u64::MAX,
                mode: Mode::Plain,
                payload: 12,
                cookie,
            }),
            Control::Challenge(Challenge { nonce: 1, cookie }),
            Control::Accept(accept()),
            Control::Refuse(Refuse {
                nonce: 8,
                reason: Reason::TooSmall,
                text: "é".repeat(TEXT / 2),
            }),
            Control::Collect {
                token: 77,
                nonce: 76,
            },
            Control::Collected(Collected {
                token: 78,
                received: 79,
                follow_ups,
                account: Some(Account {
                    nonce: 75,
                    refused: 74,
                    overflowed: 73,
                    realtime_offset: -72,
                    clock_steps: 71,
                    of_several: true,
                }),
            }),
            Control::Bye { token: 80 },
            Control::LoadHello(LoadHello {
                nonce: 9,
                transport: Transport::Tcp,
                window: 65_536,
            }),
            Control::Attach { token: 81 },
            Control::Count { token: 82 },
            Control::Counted(Counted {
                token: 83,
                packets: u64::MAX,
                bytes: 1,
                reordered: 2,
                refused: 3,
                overflowed: 2,
                copies: 6,
                held_back: 7,
                of_others: 8,
                span: 9,
                sender: Sender {
                    smoothed_rtt_us: 4,
                    congestion_window: u32::MAX,
                    retransmits: 5,
                },
            }),
            Control::Fetch(Fetch {
                token: 89,
                rate: u64::MAX,
                traffic_class: 0xb8,
                congestion_control: Name::new("cubic"),
            }),
            Control::Fetched(Fetched {
                token: 97,
                congestion_control: None,
            }),
            Control::Begin { token: 101 },
        ]
    }

    #[test]
    fn every_kind_comes_back_with_and_without_a_key() {
        let secret = key(b"sixteen bytes ok");
        for control in every_kind() {
            for key in [None, Some(&secret)] {
                let mut packet = [0xff; 300];
                assert_eq!(control.emit(key, &mut packet), Ok(SIZE));
                assert!(is_control(&packet));
                let parsed = Control::parse(key, &packet[..SIZE]);
                assert_eq!(parsed.as_ref(), Ok(&control));
            }
        }
    }

    /// What an earlier program writes is zeros from where its fields ended.
    #[test]
    fn what_an_earlier_program_does_not_say_is_not_there() {
        let packet = |control: Control, from: usize| {
            let mut packet = [0; SIZE];
            control.emit(None, &mut packet).unwrap();
            packet[BODY + from..].fill(0);
            Control::parse(None, &packet).unwrap()
        };
        let [collect, collected] = every_kind()
            .into_iter()
            .filter(|control| [5, 6].contains(&control.kind()))
            .collect::<Vec<_>>()
            .try_into()
            .unwrap();
        let nonce = 0;
        assert_eq!(packet(collect, 4), Control::Collect { token: 77, nonce });
        let Control::Collected(collected) = packet(collected, 201) else {
            panic!("not a Collected");
        };
        assert_eq!(collected.follow_ups.len(), FOLLOW_UPS);
        assert_eq!(collected.account, None);
        let Control::Accept(accepted) = packet(Control::Accept(accept()), 50) else {
            panic!("not an Accept");
        };
        assert_eq!((accepted.clock_steps, accepted.max_idle_ms), (0, 0));
    }

    #[test]
    fn a_wrong_key_opens_nothing() {
        for control in every_kind() {
            let mut packet = [0; SIZE];
            control
                .emit(Some(&key(b"sixteen bytes ok")), &mut packet)
                .unwrap();
            let wrong = key(b"sixteen bytes no");
            assert_eq!(
                Control::parse(Some(&wrong), &packet),
                Err(ParseError::WrongKey)
            );
        }
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        let refuse = Control::Refuse(Refuse {
            nonce: 0,
            reason: Reason::Other(900),
            text: format!("x{}", "é".repeat(TEXT)),
        });
        let mut packet = [0; SIZE];
        refuse.emit(None, &mut packet).unwrap();
        let Ok(Control::Refuse(parsed)) = Control::parse(None, &packet) else {
            panic!("not a Refuse");
        };
        assert_eq!(parsed.text.len(), TEXT - 1);
        assert_eq!(parsed.reason, Reason::Other(900));
    }

    #[test]
    fn another_version_says_so() {
        let mut packet = [0; SIZE];
        Control::Bye { token: 1 }.emit(None, &mut packet).unwrap();
        packet[8] = 2;
        let other = ParseError::Version { theirs: 2, ours: 1 };
        assert_eq!(Control::parse(None, &packet), Err(other));
        packet[8] = VERSION;
        packet[9] = 200;
        assert_eq!(
            Control::parse(None, &packet),
            Err(ParseError::Value("kind"))
        );
    }

    #[test]
    fn an_echo_server_is_told_by_its_echo() {
        let mut packet = [0; SIZE];
        Control::Bye { token: 1 }.emit(None, &mut packet).unwrap();
        assert!(is_echo_of(&packet, &packet));
        assert!(!is_echo_of(&packet, &packet[..SIZE - 1]));
        assert!(!is_echo_of(b"hello", b"hello"));
    }

    #[test]
    fn session_keys_are_the_same_at_both_ends() {
        let secret = key(b"sixteen bytes ok");
        let one = accept().keys(&secret, Transport::Udp);
        let other = KeyPair::session(&secret, Transport::Udp, 1, 2, 3);
        assert_eq!(one.reply.tag(&[b"x"]), other.reply.tag(&[b"x"]));
    }

    proptest! {
        #[test]
        fn any_bytes_parse_or_fail(kind: u8, body in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut packet = [MAGIC.as_slice(), &[VERSION, kind], &body].concat();
            let _ = Control::parse(None, &packet);
            packet.resize(SIZE, 0);
            if let Ok(control) = Control::parse(None, &packet) {
                let mut again = [0; SIZE];
                control.emit(None, &mut again).unwrap();
                prop_assert_eq!(Control::parse(None, &again), Ok(control));
            }
        }
    }
}
