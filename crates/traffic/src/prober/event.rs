//! What a prober is told and what it answers.

use super::loss_direction::Counted;
use delaylab_model::Nanos;
use delaylab_model::icmp::IcmpReason;
use delaylab_model::method::Method;
use delaylab_model::probe::Pacing;
use delaylab_model::record::Answer;
use std::net::IpAddr;

/// What does not change during a trial.
#[derive(Debug, Clone)]
pub struct Config {
    /// Written into each record.
    pub trial: u32,
    /// Written into each record.
    pub probe: u16,
    /// Written into each record.
    pub method: Method,
    /// Written into each record.
    pub dscp: u8,
    /// Written into each record.
    pub ip_size: Option<u32>,
    /// Where packets go, where ICMP errors may come from there.
    pub target: Option<IpAddr>,
    /// When packets are due.
    pub pacing: Pacing,
    /// Seeds the pacing.
    pub seed: u64,
    /// The first slot, `CLOCK_MONOTONIC`.
    pub start: Nanos,
    /// Stop after this many packets.
    pub count: Option<u64>,
    /// Stop once a packet would be due this long after the start.
    pub duration: Option<Nanos>,
    /// A reply read later than this after its packet was sent is late.
    pub timeout: Nanos,
    /// Which stamps make a record whole.
    pub expected: Expected,
}

/// The stamps that come separately from the reply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Expected {
    /// `t_sched` and `t_tx`.
    pub departures: bool,
    /// `r_tx`, which a later reply reports.
    pub follow_ups: bool,
    /// `t_ack`.
    pub acks: bool,
}

/// What to do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A packet is due: send it, then call [`super::Prober::sent`] or [`super::Prober::send_failed`].
    Send {
        /// Its number.
        seq: u64,
        /// When it was due.
        t_intended: Nanos,
    },
    /// Nothing is due: wait for a packet, at most until the earlier of the two.
    Wait {
        /// When the next packet is due, where that is known.
        due: Option<Nanos>,
        /// When a time-out ends.
        deadline: Option<Nanos>,
    },
    /// Every packet has been sent and has ended.
    Done,
}

/// An error that came instead of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    /// Who sent it; `None`: this host says so without an ICMP error.
    pub by: Option<IpAddr>,
    /// Type and code of the ICMP error.
    pub icmp: Option<[u8; 2]>,
    /// What the kernel says besides: of one that says "too big", the MTU.
    pub info: u32,
    /// Error number.
    pub errno: i32,
}

impl Refused {
    /// What the ICMP error means. Its numbers are those of the protocol of who sent it.
    pub fn reason(&self) -> Option<IcmpReason> {
        let [kind, code] = self.icmp?;
        let v6 = self.by.is_some_and(|by| by.is_ipv6());
        Some(IcmpReason::from_code(kind, code, v6))
    }

    /// Does the target itself say that nothing listens on its port? Then the packet came there.
    pub fn is_of_closed_port(&self, target: IpAddr) -> bool {
        self.by == Some(target) && self.reason() == Some(IcmpReason::PortUnreachable)
    }

    /// What would have fit; `None` where that is not why, or where the router does not say.
    pub fn path_mtu(&self) -> Option<u32> {
        let too_big = match self.reason() {
            Some(reason) => reason == IcmpReason::TooBig,
            None => self.errno == MESSAGE_TOO_LONG,
        };
        Some(self.info).filter(|&mtu| too_big && mtu > 0)
    }
}

/// EMSGSIZE of Linux: a packet that must not be fragmented is longer than the MTU of its path.
pub const MESSAGE_TOO_LONG: i32 = 90;

/// What is known of a server's reply beside what every reply has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs)] // named after the record's columns, which document them
pub struct FromServer {
    pub t_resolved: Option<Nanos>,
    pub t_connected: Option<Nanos>,
    pub t_secured: Option<Nanos>,
    /// When the request itself was sent, where work on it began before.
    pub t_send: Option<Nanos>,
    pub t_first: Option<Nanos>,
    pub least_round_trip: Option<Nanos>,
    pub answer: Option<Answer>,
    pub reply_bytes: Option<u64>,
    pub answer_ttl: Option<u32>,
    pub server_says: Option<Nanos>,
    pub connection: Option<u32>,
}

/// A reply, as it was read.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs)] // named after the record's columns, which document them
pub struct Reply {
    pub seq: u64,
    pub t_recv: Nanos,
    pub t_rx: Option<Nanos>,
    pub t_rx_hw: Option<Nanos>,
    pub r_rx: Option<Nanos>,
    pub r_user: Option<Nanos>,
    /// Where it is known already: a later reply that tells it may come first.
    pub r_tx: Option<Nanos>,
    pub r_dscp: Option<u8>,
    pub reply_dscp: Option<u8>,
    pub reply_ecn: Option<u8>,
    pub reply_ttl: Option<u8>,
    pub reflector_seq: Option<u32>,
    /// How often the reflector had begun to count again.
    pub reflector_epoch: u32,
    pub retransmits: Option<u32>,
    /// What is known of a server's reply.
    pub server: Option<Box<FromServer>>,
    /// The bytes are not those that were sent.
    pub corrupt: bool,
}

impl Reply {
    /// The reflector's count, if it tells one.
    pub(super) fn counted(&self) -> Option<Counted> {
        let epoch = self.reflector_epoch;
        let count = self.reflector_seq?;
        Some(Counted { epoch, count })
    }
}
