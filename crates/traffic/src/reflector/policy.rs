//! What a reflector allows.

use super::keys::Keys;
use super::{DropReason, Now};
use crate::admission::{self, Share};
use crate::prefix::{Prefix, is_loopback};
use delaylab_model::method::Responder;
use delaylab_model::{MILLISECOND, Nanos, SECOND};
use delaylab_wire::auth::Key;
use delaylab_wire::control::{Accept, ClockFacts};
use delaylab_wire::echo::Mode;
use std::net::{IpAddr, SocketAddr};

/// Where udp echo and tcp are served unless told otherwise. (STAMP has its own, 862.)
pub const DEFAULT_PORT: u16 = Responder::Echo.usual_port();
/// Where load is taken unless told otherwise: not where probes are answered, so that they do not wait for
/// it in one socket's buffer.
pub const LOAD_PORT: u16 = 8863;

/// A session does not give way to another one of its address before so long: who opens many at once is
/// told that they are too many.
const SESSION_GRACE: Nanos = SECOND;

/// Who is answered.
#[derive(Debug, Clone)]
pub enum Access {
    /// Those who have one of these keys, wherever they are; nobody else gets a reply of any kind.
    Keyed(Keys),
    /// Everybody at these addresses; with an empty list, this host alone.
    Open {
        /// Whose packets are looked at.
        allow: Vec<Prefix>,
    },
}

/// How much one source, or all of them, may have answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Packets a second.
    pub packets: u64,
    /// Bytes of payload a second.
    pub bytes: u64,
    /// How long a silence saves up for: the bucket's depth, as a time.
    pub burst: Nanos,
}

/// The token buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For each prefix.
    pub each: Rate,
    /// For all together.
    pub total: Rate,
    /// Which IPv4 addresses share a bucket: those with as many leading bits in common.
    pub prefix_v4: u8,
    /// The same for IPv6.
    pub prefix_v6: u8,
    /// Prefixes remembered at once. While all of them are busy, no further one is answered.
    pub prefixes: usize,
    /// Loopback is limited too.
    pub loopback: bool,
}

impl Default for Limits {
    /// 100,000 packets and 125 MB a second for a /24 or /48, twice that in all, bursts of a second.
    fn default() -> Self {
        let each = Rate {
            packets: 100_000,
            bytes: 125_000_000,
            burst: SECOND,
        };
        let total = Rate {
            packets: 200_000,
            bytes: 250_000_000,
            burst: SECOND,
        };
        Self {
            each,
            total,
            prefix_v4: 24,
            prefix_v6: 48,
            prefixes: 4096,
            loopback: false,
        }
    }
}

/// What a reflector allows. [`Policy::new`] has the defaults.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Who is answered.
    pub access: Access,
    /// In open mode, echo what is no packet of ours, as RFC 862 does. Off.
    pub plain_echo: bool,
    /// Let STAMP senders choose the DSCP of their replies (RFC 8972 §4.4). On.
    pub class_of_service: bool,
    /// Send load to those who ask for it over tcp, not only take it. On.
    pub sends_load: bool,
    /// What the reflector says of its clocks. Unknown.
    pub clock: ClockFacts,
    /// With a key, answer STAMP senders whatever their clocks say. What was captured may then be answered again
    /// after a restart. Off.
    pub stamp_any_clock: bool,
    /// The ports that this and other reflectors listen on. Packets from them get no reply that
    /// could be answered again. [`DEFAULT_PORT`] and STAMP's 862 are always among them.
    pub own_ports: Vec<u16>,
    /// udp and tcp sessions at once, and as many STAMP sessions. 1024.
    pub max_sessions: usize,
    /// udp and tcp sessions at once with one address. 64.
    pub max_sessions_per_address: usize,
    /// udp and tcp sessions at once with one network, a /24 or a /48 of IPv6, where no key is needed. 256.
    pub max_sessions_per_network: usize,
    /// With a key, a session shows within so long after its Hello that it has it, by a packet made with the
    /// session's own key; else it is forgotten. A Hello alone may have been overheard. 10 s.
    pub prove_within: Nanos,
    /// A session of which nothing comes for so long is forgotten. 10 minutes.
    pub max_idle: Nanos,
    /// A udp or tcp session ends after so long; STAMP knows no sessions that could. 24 hours.
    pub max_duration: Nanos,
    /// A tcp connection is closed whose peer takes nothing of a reply for so long: longer than a queue or an outage that a
    /// prober waits out. 15 s.
    pub takes_within: Nanos,
    /// The largest payload that is answered, in bytes. 65,535.
    pub max_payload: u32,
    /// The token buckets.
    pub limits: Limits,
}

impl Policy {
    /// The defaults.
    pub fn new(access: Access) -> Self {
        Self {
            access,
            plain_echo: false,
            class_of_service: true,
            sends_load: true,
            clock: ClockFacts {
                id: 0,
                synchronised: false,
                error_bound: 0,
            },
            stamp_any_clock: false,
            own_ports: Vec::new(),
            max_sessions: 1024,
            max_sessions_per_address: 64,
            max_sessions_per_network: 256,
            prove_within: 10 * SECOND,
            max_idle: 600 * SECOND,
            max_duration: 24 * 3600 * SECOND,
            takes_within: 15 * SECOND,
            max_payload: 65_535,
            limits: Limits::default(),
        }
    }

    /// The answer to a Hello with this nonce, about its session.
    pub(super) fn accept(
        &self,
        now: Now,
        mode: Mode,
        nonce: u64,
        (token, salt): (u32, u64),
    ) -> Accept {
        let in_units = |time: Nanos, unit| u32::try_from(time / unit).unwrap_or(u32::MAX);
        Accept {
            nonce,
            salt,
            token,
            mode,
            clock: self.clock,
            realtime_offset: now.real - now.mono,
            max_duration_s: in_units(self.max_duration, SECOND),
            clock_steps: now.clock_steps,
            max_idle_ms: in_units(self.max_idle, MILLISECOND),
        }
    }

    /// Is a session neither idle for too long nor over? One that still owes a proof of its key is not kept for long.
    pub(super) fn keeps(&self, now: Now, started: Nanos, last: Nanos, owes_proof: bool) -> bool {
        let lasts = now.mono - started;
        !(owes_proof && lasts > self.prove_within)
            && now.mono - last <= self.max_idle
            && lasts <= self.max_duration
    }

    /// The keys, if one is needed.
    pub(super) fn keys(&self) -> Option<&Keys> {
        match &self.access {
            Access::Keyed(keys) => Some(keys),
            Access::Open { .. } => None,
        }
    }

    /// The first key, if one is needed.
    pub(super) fn key(&self) -> Option<&Key> {
        self.keys().and_then(Keys::first)
    }

    /// Is a key needed?
    pub fn is_keyed(&self) -> bool {
        self.key().is_some()
    }

    /// Is what is no packet of ours echoed?
    pub(super) fn echoes_plain(&self) -> bool {
        self.plain_echo && !self.is_keyed()
    }

    /// How many sessions there may be. Those that have the key share all of them.
    pub(super) fn session_limits(&self) -> admission::Limits {
        let most = self.max_sessions;
        let network = self
            .max_sessions_per_network
            .max(self.max_sessions_per_address);
        let unproven = Share {
            all: most,
            network: network.min(most),
            address: self.max_sessions_per_address,
        };
        admission::Limits {
            places: Share {
                network: match self.is_keyed() {
                    true => most,
                    false => unproven.network,
                },
                ..unproven
            },
            unproven,
            prove_within: self.prove_within,
            grace: SESSION_GRACE,
        }
    }

    /// Is a packet from this address looked at?
    pub(super) fn admits(&self, address: IpAddr) -> bool {
        match &self.access {
            Access::Keyed(_) => true,
            Access::Open { allow } if allow.is_empty() => is_loopback(address),
            Access::Open { allow } => allow.iter().any(|prefix| prefix.contains(address)),
        }
    }

    /// Would a reply to this port perhaps be answered, and that answer again, without end? Ports
    /// below 1024 hold the small servers that do: 7 echo, 13 daytime, 17 quote, 19 chargen,
    /// 37 time, 862 STAMP. No client of an echo sends from there, nor from our own port.
    ///
    /// Reflectors may also be on ports that nobody else knows. Between those a loop is broken by what
    /// comes: a STAMP reply is no request ([`delaylab_wire::stamp::is_reply`]), and the same plain
    /// packet is not echoed without end (`loops`).
    pub(super) fn check_source_port(&self, from: SocketAddr) -> Result<(), DropReason> {
        let port = from.port();
        if port < 1024
            || [DEFAULT_PORT, LOAD_PORT].contains(&port)
            || self.own_ports.contains(&port)
        {
            return Err(DropReason::SourcePort);
        }
        Ok(())
    }
}
