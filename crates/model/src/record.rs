//! The record: one row for each packet of a probe, the same in every world.

use crate::icmp::IcmpReason;
use crate::method::Method;
use crate::stamp::StampPoint;
use crate::table::TableRow;
use crate::{MICROSECOND, MILLISECOND, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// How a packet ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Answered in time.
    Ok,
    /// Not answered before its time-out, nor in the grace after it.
    #[default]
    Lost,
    /// Answered after its time-out.
    Late,
    /// Answered with bytes that are not those sent.
    Corrupt,
    /// Refused on the way or at the target: `icmp` says why, `refused_by` by whom. It is lost as well: an error is not an answer.
    Refused,
    /// The send call failed here (`errno` says why).
    LocalError,
    /// Not sent: the sender gave the slot up. Or sent (it has `t_send`), and still under way when the probe was stopped.
    Skipped,
}

impl Outcome {
    crate::named! {
        Ok "ok";
        Lost "lost";
        Late "late";
        Corrupt "corrupt";
        Refused "refused";
        LocalError "local_error";
        Skipped "skipped";
    }

    /// Was the packet sent and never answered, with or without an error that says why?
    pub const fn is_lost(self) -> bool {
        matches!(self, Outcome::Lost | Outcome::Refused)
    }

    /// Did the packet leave this host, and is it known what came back?
    pub const fn was_sent(self) -> bool {
        !matches!(self, Outcome::LocalError | Outcome::Skipped)
    }
}

/// What happened to this host's clocks while the packet was under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClockEvent {
    /// Nothing.
    #[default]
    None,
    /// `CLOCK_REALTIME` was set: it jumped against `CLOCK_MONOTONIC`.
    Step,
    /// The host was suspended: `CLOCK_BOOTTIME` grew against `CLOCK_MONOTONIC`.
    Suspend,
    /// Reading the clock itself took long.
    SlowClockRead,
}

impl ClockEvent {
    crate::named! {
        None "none";
        Step "step";
        Suspend "suspend";
        SlowClockRead "slow_clock_read";
    }
}

/// What a server answered, whatever it means for who asked: any of them is an answer in time or late.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Answer {
    /// tcp-connect: something listens.
    Open,
    /// tcp-connect: the host is there, and nothing listens on the port (RST).
    Closed,
    /// http: the status code.
    Status(u16),
    /// dns: the response code (RFC 1035 §4.1.1, RFC 6891 §6.1.3).
    Code(u16),
    /// dns: the same of an answer that did not fit its datagram (TC): a part of it is missing.
    Truncated(u16),
}

impl Answer {
    /// Is it what was asked for: an open port, a page that is there or elsewhere, a name that exists?
    pub const fn is_good(self) -> bool {
        match self {
            Answer::Open => true,
            Answer::Closed => false,
            Answer::Status(status) => status < 400,
            Answer::Code(code) => code == 0,
            Answer::Truncated(_) => false,
        }
    }
}

/// Names of the response codes of name servers that have one (RFC 1035, RFC 2136, RFC 6891, RFC 7873).
const CODES: [(u16, &str); 8] = [
    (0, "NOERROR"),
    (1, "FORMERR"),
    (2, "SERVFAIL"),
    (3, "NXDOMAIN"),
    (4, "NOTIMP"),
    (5, "REFUSED"),
    (16, "BADVERS"),
    (23, "BADCOOKIE"),
];

/// Behind the code of an answer that was truncated.
const TRUNCATED: &str = "+TC";

/// As it is in files: `open`, `closed`, `404`, `NXDOMAIN`, `RCODE9`, `NOERROR+TC`.
impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Answer::Open => f.write_str("open"),
            Answer::Closed => f.write_str("closed"),
            Answer::Status(status) => write!(f, "{status}"),
            Answer::Code(code) => match CODES.iter().find(|(known, _)| *known == code) {
                Some((_, name)) => f.write_str(name),
                None => write!(f, "RCODE{code}"),
            },
            Answer::Truncated(code) => write!(f, "{}{TRUNCATED}", Answer::Code(code)),
        }
    }
}

/// What a text names no [`Answer`] for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no answer of a server")]
pub struct AnswerError(String);

impl FromStr for Answer {
    type Err = AnswerError;

    fn from_str(text: &str) -> Result<Self, AnswerError> {
        let code_of = |name: &str| match CODES.iter().find(|(_, known)| *known == name) {
            Some((code, _)) => Some(*code),
            None => name.strip_prefix("RCODE")?.parse().ok(),
        };
        let code = || match text.strip_suffix(TRUNCATED) {
            Some(name) => code_of(name).map(Answer::Truncated),
            None => code_of(text).map(Answer::Code),
        };
        match text {
            "open" => Ok(Answer::Open),
            "closed" => Ok(Answer::Closed),
            _ => (text.parse().ok().map(Answer::Status))
                .or_else(code)
                .ok_or_else(|| AnswerError(text.to_owned())),
        }
    }
}

/// `None` also of a text that names no answer: later versions may have more.
fn known_answer<'de, D: Deserializer<'de>>(text: D) -> Result<Option<Answer>, D::Error> {
    let text = Option::<String>::deserialize(text)?;
    Ok(text.and_then(|text| text.parse().ok()))
}

/// A server's time as far as the stamps bound it: see [`Record::server`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// It took no less.
    pub least: Nanos,
    /// It took no more.
    pub most: Nanos,
}

/// From the stamp of an arrival to where TCP has it: some microseconds, on a host that is busy more.
const RECEIVE_STACK: Nanos = 5 * MICROSECOND;
/// Bounds closer than this are one value: stamps are no more exact.
const SHARP: Nanos = 50 * MICROSECOND;
/// Or closer than this part of what lies between the request and the reply,
const SHARP_PART: Nanos = 20;
/// but not by as much as an acknowledgement may wait: 40 ms at least in Linux.
const HELD_BACK: Nanos = 20 * MILLISECOND;

/// One packet of one probe. What a world cannot stamp is `None`, never zero.
///
/// `t_*` are `CLOCK_MONOTONIC` of the prober. `r_*` are the reflector's clock; where
/// [`crate::trial::ReflectorClock::Same`] holds they have been put on the prober's.
/// `*_hw` are the NIC's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Record {
    /// Which trial of the run.
    pub trial: u32,
    /// Which probe of the trial.
    pub probe: u16,
    /// Which packet of the probe, from 0.
    pub seq: u64,
    /// How it asked.
    pub method: Method,
    /// DSCP as sent, 0 to 63.
    pub dscp: u8,
    /// Bytes of the IP packet; `None` for tcp, whose segments are the kernel's choice.
    pub ip_size: Option<u32>,
    /// When the schedule wanted it sent.
    pub t_intended: Nanos,
    /// Servers: when the work for this request began, where a connection had to be made for it first.
    pub t_begin: Option<Nanos>,
    /// Servers: the name has been resolved, where it was for this request.
    pub t_resolved: Option<Nanos>,
    /// Servers: the TCP handshake made for this request is over.
    pub t_connected: Option<Nanos>,
    /// Servers: the TLS handshake made for this request is over.
    pub t_secured: Option<Nanos>,
    /// User space, just before the send call.
    pub t_send: Option<Nanos>,
    /// Kernel: entering the queueing discipline (TX_SCHED).
    pub t_sched: Option<Nanos>,
    /// Kernel: handed to the driver (TX_SOFTWARE). tcp: the request's last byte.
    pub t_tx: Option<Nanos>,
    /// The NIC put it on the wire.
    pub t_tx_hw: Option<Nanos>,
    /// Arrived in the reflector's kernel.
    pub r_rx: Option<Nanos>,
    /// Read by the reflector's process. A foreign STAMP reflector: its transmit timestamp.
    pub r_user: Option<Nanos>,
    /// The reply was handed to the reflector's driver.
    pub r_tx: Option<Nanos>,
    /// Kernel: the far kernel acknowledged the last byte of the request (TX_ACK), which any TCP does.
    pub t_ack: Option<Nanos>,
    /// Kernel: the first byte of a server's reply arrived.
    pub t_first: Option<Nanos>,
    /// Kernel: the reply arrived (RX_SOFTWARE). tcp: its last byte.
    pub t_rx: Option<Nanos>,
    /// The NIC took it from the wire.
    pub t_rx_hw: Option<Nanos>,
    /// User space: the reply was read.
    pub t_recv: Option<Nanos>,
    /// CPU on which the prober ran when it sent.
    pub cpu: Option<u16>,
    /// DSCP as the reflector saw it.
    pub r_dscp: Option<u8>,
    /// DSCP of the reply as read here.
    pub reply_dscp: Option<u8>,
    /// ECN bits of the reply as read here.
    pub reply_ecn: Option<u8>,
    /// TTL or hop limit of the reply as read here.
    pub reply_ttl: Option<u8>,
    /// The reflector's own count of this session's packets, from 0.
    pub reflector_seq: Option<u32>,
    /// Copies of the reply beyond the first.
    pub copies: u16,
    /// RFC 4737 §4.2.1: how many packets too late this reply came; 0 is in order.
    pub reorder_extent: u32,
    /// TCP segments retransmitted between this request and its reply.
    pub retransmits: Option<u32>,
    /// The shortest round trip that the kernel has seen on its connection so far (`tcpi_min_rtt`): the network takes no less.
    pub least_round_trip: Option<Nanos>,
    /// What a server answered.
    #[serde(deserialize_with = "known_answer")]
    pub answer: Option<Answer>,
    /// Bytes of a server's reply, heads included.
    pub reply_bytes: Option<u64>,
    /// dns: for how many seconds the answer may be kept, the least of its records (RFC 1035 §3.2.1).
    pub answer_ttl: Option<u32>,
    /// What the server says that it took itself: the longest duration in `Server-Timing` of a reply by HTTP/1.1.
    pub server_says: Option<Nanos>,
    /// Which of the probe's connections carried it, from 0.
    pub connection: Option<u32>,
    /// How it ended.
    pub outcome: Outcome,
    /// Who refused it, where someone did.
    pub refused_by: Option<IpAddr>,
    /// What the ICMP error says that refused it; `None` also where the refusal was no ICMP error.
    pub icmp: Option<IcmpReason>,
    /// Type of that error, of ICMP or ICMPv6 as the address of who refused it.
    pub icmp_type: Option<u8>,
    /// Code of that error.
    pub icmp_code: Option<u8>,
    /// What would have fit, in bytes of an IP packet: the MTU that "fragmentation needed" names, or that of the
    /// path as this host knows it where the packet was too long to be sent.
    pub path_mtu: Option<u32>,
    /// Error number of a local error.
    pub errno: Option<i32>,
    /// What happened to the clocks meanwhile.
    pub clock_event: ClockEvent,
}

impl TableRow for Record {
    const IS_OPTIONAL: bool = false;
    type Key<'a> = u64;

    fn key(&self) -> Self::Key<'_> {
        self.seq
    }

    fn stream(&self) -> u16 {
        self.probe
    }
}

impl Record {
    /// A packet that is due and of which nothing else is known.
    pub fn due(trial: u32, probe: u16, seq: u64, method: Method, t_intended: Nanos) -> Self {
        Self {
            trial,
            probe,
            seq,
            method,
            t_intended,
            ..Self::default()
        }
    }

    /// What the user waits: `t_recv − t_intended`. Nothing is hidden by a late sender.
    pub fn response(&self) -> Option<Nanos> {
        Some(self.t_recv? - self.t_intended)
    }

    /// What ping prints: `t_recv − t_send`.
    pub fn round_trip(&self) -> Option<Nanos> {
        Some(self.t_recv? - self.t_send?)
    }

    /// How long the server took, from the request's last byte there to the reply's first, between bounds.
    ///
    /// The far kernel's acknowledgement comes back by the same way as the reply, so `t_first − t_ack` is the server's time
    /// where it is sent at once. It may be sent late (a delayed acknowledgement, RFC 9293 §3.8.6.3) or with the
    /// reply, and then the server had longer: at most all but the shortest round trip of the connection. `None`
    /// without the stamps of the request and the reply.
    pub fn server(&self) -> Option<Bounds> {
        let (t_tx, t_first) = (self.t_tx?, self.t_first?);
        let between = t_first.saturating_sub(t_tx).max(0);
        let after = |t_ack: Nanos| t_first.saturating_sub(t_ack).clamp(0, between);
        let least = self.t_ack.map_or(0, after);
        // A round trip that is longer than all of this exchange was held up, and is no bound of it.
        let network = self.least_network();
        let most = match network > between.saturating_add(SHARP) {
            true => between,
            false => between.saturating_sub(network),
        };
        Some(Bounds {
            least,
            most: most.max(least),
        })
    }

    /// What the network takes at least. The kernel's round trip begins where a segment is made, before this host's own queue,
    /// and ends where TCP has it; the stamps lie within.
    fn least_network(&self) -> Nanos {
        let own = self.t_send.zip(self.t_tx);
        let own = own.map_or(0, |(t_send, t_tx)| t_tx.saturating_sub(t_send).max(0));
        let least = self.least_round_trip.unwrap_or(0);
        least
            .saturating_sub(own)
            .saturating_sub(RECEIVE_STACK)
            .max(0)
    }

    /// The same where its bounds are one value as far as stamps can tell.
    pub fn server_told(&self) -> Option<Nanos> {
        self.t_ack?;
        let bounds = self.server()?;
        let between = self.t_first?.saturating_sub(self.t_tx?);
        let sharp = match bounds.least {
            // The acknowledgement came with the reply: it tells nothing.
            0 => SHARP,
            _ => SHARP.max((between / SHARP_PART).min(HELD_BACK)),
        };
        (bounds.most - bounds.least <= sharp).then_some(bounds.least)
    }

    /// The stamp of this point.
    pub const fn stamp(&self, point: StampPoint) -> Option<Nanos> {
        match point {
            StampPoint::TSched => self.t_sched,
            StampPoint::TTx => self.t_tx,
            StampPoint::TTxHw => self.t_tx_hw,
            StampPoint::RRx => self.r_rx,
            StampPoint::RUser => self.r_user,
            StampPoint::RTx => self.r_tx,
            StampPoint::TAck => self.t_ack,
            StampPoint::TFirst => self.t_first,
            StampPoint::TRx => self.t_rx,
            StampPoint::TRxHw => self.t_rx_hw,
        }
    }

    /// Was it sent, and not waited for to its end? Then it is neither answered nor lost.
    pub const fn is_under_way(&self) -> bool {
        matches!(self.outcome, Outcome::Skipped) && self.t_send.is_some()
    }

    /// Was it sent, and waited for to its end?
    pub const fn ended(&self) -> bool {
        self.t_send.is_some() && !self.is_under_way()
    }

    /// Was it answered, in time or late, with the bytes that were sent?
    pub const fn answered(&self) -> bool {
        matches!(self.outcome, Outcome::Ok | Outcome::Late)
    }
}

#[cfg(test)]
mod tests;
