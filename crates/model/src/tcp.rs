//! What the end systems of a simulated TCP load do: `[load.tcp]`.

use crate::quantity::{Duration, Limit, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

/// When a segment is taken for lost because no ACK came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RetransmissionTimer {
    /// RFC 6298: max(1 s, SRTT + 4·RTTVAR).
    #[serde(rename = "rfc6298")]
    Rfc6298,
    /// Linux: SRTT + max(200 ms, 4·RTTVAR).
    Linux,
    /// 4.4BSD: ticks of 500 ms, and of 200 ms for delayed ACKs.
    Coarse,
}

/// When a receiver acknowledges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DelayedAcks {
    /// Every segment at once.
    None,
    /// Every second segment, or after 200 ms (RFC 1122).
    #[serde(rename = "rfc1122")]
    Rfc1122,
    /// At once at the start and after a silence; then with more than one full segment, or after 40 ms,
    /// longer where segments come seldom.
    Linux,
}

/// What ends slow start before something is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HyStart {
    /// Nothing.
    None,
    /// HyStart++ (RFC 9406): the window grows by a quarter once the round-trip time has grown, and slow start ends five
    /// round trips later.
    #[serde(rename = "rfc9406")]
    Rfc9406,
    /// The older HyStart of Linux: at once, by the round-trip time or by a train of ACKs; with CUBIC alone.
    Linux,
}

/// How fast CUBIC's Reno-friendly window grows beyond the last maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RenoFriendly {
    /// One segment a round trip, as Reno (RFC 9438 §4.3).
    #[serde(rename = "rfc9438")]
    Rfc9438,
    /// Linux: 0.53 segments a round trip, as below it; before the first loss, and after a time-out, 5 % of the window at
    /// least; and a loss cuts to whole segments.
    Linux,
}

/// By name, or as a switch.
#[derive(Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "not known: say \"rfc9406\" (or true), \"linux\", or \"none\" (or false)"
)]
enum NameOrSwitch {
    /// True: `rfc9406`; false: `none`.
    Switch(bool),
    Name(HyStart),
}

fn name_or_switch<'de, D: Deserializer<'de>>(from: D) -> Result<Option<HyStart>, D::Error> {
    Ok(Some(match NameOrSwitch::deserialize(from)? {
        NameOrSwitch::Switch(true) => HyStart::Rfc9406,
        NameOrSwitch::Switch(false) => HyStart::None,
        NameOrSwitch::Name(name) => name,
    }))
}

/// Features of the TCP at both ends of a load. What is not given is as the congestion control's preset
/// has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TcpOptions {
    /// Selective acknowledgements (RFC 2018, RFC 2883) and loss recovery by them (RFC 6675).
    pub sack: Option<bool>,
    /// Proportional rate reduction (RFC 9937). Needs `sack`.
    pub prr: Option<bool>,
    /// RACK-TLP: loss detection by time, and tail loss probes (RFC 8985). Needs `sack`.
    pub rack_tlp: Option<bool>,
    /// What ends slow start before something is lost: HyStart++ (`rfc9406`, or true), the older HyStart of Linux
    /// (`linux`: CUBIC's alone), or nothing (`none`, or false).
    #[serde(default, deserialize_with = "name_or_switch")]
    #[schemars(with = "Option<NameOrSwitch>")]
    pub hystart: Option<HyStart>,
    /// How fast CUBIC's Reno-friendly window grows beyond the last maximum: by one segment a round trip (`rfc9438`), or by
    /// 0.53 as in Linux (`linux`).
    pub reno_friendly: Option<RenoFriendly>,
    /// SYN, SYN-ACK and ACK before data (RFC 9293).
    pub handshake: Option<bool>,
    /// Segments may be marked instead of dropped (RFC 3168).
    pub ecn: Option<bool>,
    /// A mark cuts the window by less than a loss (RFC 8511). Needs `ecn`.
    pub abe: Option<bool>,
    /// Segments leave at a rate, not as ACKs come.
    pub pacing: Option<bool>,
    /// Retransmission timer.
    pub retransmission_timer: Option<RetransmissionTimer>,
    /// Least retransmission time-out; with `linux`, the least that is added to SRTT.
    pub min_rto: Option<Duration>,
    /// Delayed ACKs.
    pub delayed_acks: Option<DelayedAcks>,
    /// Maximum segment size: bytes of data and TCP options in a segment. By default, and at most, the MTU less 40 (RFC 6691).
    pub mss: Option<Size>,
    /// Bytes of the first congestion window.
    pub initial_window: Option<Size>,
    /// Bytes that the sender may have unacknowledged; `window` limits them too.
    pub send_buffer: Option<Size>,
    /// Most bytes of a connection that wait for their host's line, or `unlimited`; the rest waits in the
    /// socket (TCP small queues). Two segments may, or what the connection sends in a millisecond.
    pub host_queue: Option<Limit>,
}
