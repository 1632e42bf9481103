//! What to send: method, sizes, pacing, marks.

use crate::dscp::Dscp;
pub use crate::family::Family;
use crate::frames::{Frames, MOST_FRAME, MOST_FRAMES};
pub use crate::method::MAX_TCP_PAYLOAD;
use crate::method::Method;
use crate::refusal::Refusal;
use crate::request::Request;
use crate::{Nanos, PICOS_PER_NANO, Picos, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// When packets are due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pacing {
    /// Open loop on an absolute grid (RFC 3432): packet k is due at start + k·`interval_ns`,
    /// whatever happened to the ones before.
    Every {
        /// Start to start.
        interval_ns: Nanos,
    },
    /// Open loop with exponential gaps (RFC 2330 §11.1.1).
    Poisson {
        /// Mean gap, start to start.
        mean_ns: Nanos,
    },
    /// Open loop: `burst` packets back to back, then again after `interval_ns`, start to start.
    Burst {
        /// Packets in a burst.
        burst: u32,
        /// From the start of a burst to the start of the next.
        interval_ns: Nanos,
    },
    /// Closed loop: due `wait_ns` after the previous reply was read, or, after a loss,
    /// after its time-out. 0 is back to back.
    Wait {
        /// From the previous reply to the next packet.
        wait_ns: Nanos,
    },
    /// Frames only, open loop: first bit to first bit. In picoseconds, because load steps of 0.1 % at a
    /// line rate are finer than a nanosecond.
    Frames {
        /// Start to start.
        interval_ps: Picos,
    },
}

impl Pacing {
    /// From one packet to the next, on average; in a closed loop without the wait for the reply. `None` for
    /// frames, whose gaps are finer than a nanosecond.
    pub fn mean_gap(&self) -> Option<Nanos> {
        match *self {
            Pacing::Every { interval_ns } => Some(interval_ns),
            Pacing::Poisson { mean_ns } => Some(mean_ns),
            Pacing::Burst { burst, interval_ns } => Some(interval_ns / Nanos::from(burst.max(1))),
            Pacing::Wait { wait_ns } => Some(wait_ns),
            Pacing::Frames { .. } => None,
        }
    }
}

/// Don't-fragment, as `ping -M` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DontFragment {
    /// Fragment here where the path MTU asks for it (the kernel's default).
    #[default]
    Want,
    /// Set DF and refuse to send what does not fit the known path MTU.
    Do,
    /// Never set DF.
    Dont,
    /// Set DF but ignore the known path MTU.
    Probe,
}

/// What fills the payload behind the header.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fill {
    /// Zeros: compressible.
    Zeros,
    /// Random bytes from the run's seed: incompressible.
    #[default]
    Random,
    /// These bytes over and over.
    Pattern(Vec<u8>),
}

/// What a text names no [`Fill`] for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` fills nothing: write \"zeros\", \"random\", or pairs of hexadecimal digits like \"0xff00\""
)]
pub struct FillError(String);

impl Fill {
    /// These bytes, in pairs of hexadecimal digits; `None` where the text is none.
    pub fn hexadecimal(text: &str) -> Option<Self> {
        if text.is_empty() || !text.len().is_multiple_of(2) || !text.is_ascii() {
            return None;
        }
        let pairs = (0..text.len()).step_by(2);
        let digits = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let bytes = pairs.map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok());
        let bytes = bytes.collect::<Option<_>>().filter(|_| digits);
        bytes.map(Fill::Pattern)
    }
}

impl FromStr for Fill {
    type Err = FillError;

    fn from_str(text: &str) -> Result<Self, FillError> {
        let hexadecimal = || Fill::hexadecimal(text.strip_prefix("0x")?);
        match text {
            "zeros" => Ok(Fill::Zeros),
            "random" => Ok(Fill::Random),
            _ => hexadecimal().ok_or_else(|| FillError(text.to_owned())),
        }
    }
}

/// As it is read back.
impl fmt::Display for Fill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fill::Zeros => f.write_str("zeros"),
            Fill::Random => f.write_str("random"),
            Fill::Pattern(bytes) => {
                f.write_str("0x")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }
    }
}

/// How the prober waits for what comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WaitMode {
    /// Sleep in the kernel: what an application does.
    #[default]
    Block,
    /// Poll without sleeping: takes a whole CPU, leaves the wake-up out.
    Spin,
}

/// Which stamps to ask the kernel for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StampRequest {
    /// User space only: two clock reads a packet.
    None,
    /// Kernel software stamps too.
    #[default]
    Software,
    /// NIC stamps too. Switching these on changes the NIC for everyone; undone on exit.
    Hardware,
}

/// A stream of packets to one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// Its name in the experiment and the report.
    pub name: String,
    /// How it asks.
    pub method: Method,
    /// Bytes of payload: behind the ICMP or UDP header, or of a TCP request.
    pub payload: u32,
    /// tcp: bytes of the reply, at most `payload`; `None` is as many as the request.
    pub reply_payload: Option<u32>,
    /// Traffic class on the way out.
    pub dscp: Dscp,
    /// ECN bits on the way out, 0 to 3 (RFC 3168).
    pub ecn: u8,
    /// TTL or hop limit on the way out; `None` is the kernel's default.
    pub ttl: Option<u8>,
    /// Whether routers may fragment.
    pub dont_fragment: DontFragment,
    /// What fills the payload.
    pub fill: Fill,
    /// When packets are due.
    pub pacing: Pacing,
    /// Packets at the start that summaries and findings leave out. Their records are kept.
    pub warmup: u64,
    /// Stop after this many packets.
    pub count: Option<u64>,
    /// Stop once this long after the start no more are due.
    pub duration: Option<Nanos>,
    /// An answer later than this after its packet was sent is late.
    pub timeout: Nanos,
    /// How to wait.
    pub wait_mode: WaitMode,
    /// Which stamps to ask for.
    pub stamps: StampRequest,
    /// Leave by this interface.
    pub interface: Option<String>,
    /// Sending node, in worlds that build their path.
    pub from: Option<String>,
    /// Receiving node, in worlds that build their path.
    pub to: Option<String>,
    /// frame: what its frames are.
    pub frames: Option<Frames>,
    /// What a server is asked, where the method asks one.
    pub request: Option<Request>,
}

/// Does the packet of this number count in figures, where the first `warmup` are there to warm the stream up?
pub const fn is_warm(seq: u64, warmup: u64) -> bool {
    seq >= warmup
}

impl Probe {
    /// `ping`'s defaults: 56 bytes of payload, one a second, until told to stop.
    pub fn new(name: impl Into<String>, method: Method) -> Self {
        Self {
            name: name.into(),
            method,
            payload: method.payload(false),
            reply_payload: None,
            dscp: Dscp::default(),
            ecn: 0,
            ttl: None,
            dont_fragment: DontFragment::default(),
            fill: Fill::default(),
            pacing: Pacing::Every {
                interval_ns: SECOND,
            },
            warmup: 0,
            count: None,
            duration: None,
            timeout: SECOND,
            wait_mode: WaitMode::default(),
            stamps: StampRequest::default(),
            interface: None,
            from: None,
            to: None,
            frames: None,
            request: None,
        }
    }

    /// Does the packet of this number count in figures? See [`is_warm`].
    pub const fn counts(&self, seq: u64) -> bool {
        is_warm(seq, self.warmup)
    }

    /// How long it takes if no reply is waited for; `None` until told to stop.
    ///
    /// In a closed loop this is the least: replies take time too.
    pub fn expected_duration(&self) -> Option<Nanos> {
        if let Pacing::Frames { interval_ps } = self.pacing {
            return self.frames_last(interval_ps);
        }
        let gap = self.pacing.mean_gap()?;
        let count = |count: u64| i64::try_from(count).unwrap_or(Nanos::MAX);
        let by_count = self.count.map(|n| count(n).saturating_mul(gap));
        [by_count, self.duration].into_iter().flatten().min()
    }

    /// How many packets it sends; `None` where only the path knows, as in a closed loop.
    pub fn expected_packets(&self) -> Option<f64> {
        let by_count = self.count.map(|count| count as f64);
        let gap = match self.pacing {
            Pacing::Wait { .. } => None,
            Pacing::Frames { interval_ps } => Some(interval_ps as f64 / PICOS_PER_NANO as f64),
            open => open.mean_gap().map(|gap| gap as f64),
        };
        let by_time = (self.duration.zip(gap))
            .filter(|(_, gap)| *gap > 0.0)
            .map(|(duration, gap)| duration as f64 / gap);
        [by_count, by_time]
            .into_iter()
            .flatten()
            .min_by(f64::total_cmp)
    }

    /// Does the far kernel acknowledge what it asks, by itself?
    pub fn is_acknowledged(&self) -> bool {
        match &self.request {
            Some(request) => request.is_asked_on_stream(),
            None => self.method.is_stream(),
        }
    }

    /// frame: how many there are, by count or duration, whichever ends first.
    pub fn frames_due(&self) -> u64 {
        let by_duration = match (self.pacing, self.duration) {
            (Pacing::Frames { interval_ps }, Some(duration)) => {
                let picos = duration
                    .max(0)
                    .cast_unsigned()
                    .saturating_mul(PICOS_PER_NANO);
                Some(picos.div_ceil(interval_ps.max(1)))
            }
            _ => None,
        };
        let ends = [self.count, by_duration].into_iter().flatten();
        ends.min().unwrap_or(0)
    }

    /// frame: the field that makes no stream of frames, and why; in every world.
    pub fn refuse_frames(&self) -> Option<Refusal> {
        let frames = self.frames?;
        let size = |why| {
            Refusal::new(
                "frame_size",
                format!("{} B cannot be sent: {why}", frames.size),
            )
        };
        let least = frames.least_size();
        if frames.size < least {
            let why = "a signature needs its place behind the headers";
            return Some(size(why).remedy(format!("at least {least} B")));
        }
        if frames.size > MOST_FRAME {
            return Some(
                size("the largest frame is smaller").remedy(format!("at most {MOST_FRAME} B")),
            );
        }
        match self.frames_due() {
            0 => {
                Some(Refusal::new("count", "how many frames?").remedy("give `count` or `duration`"))
            }
            due if due > MOST_FRAMES => {
                let what = format!("{due} frames are too many to keep account of");
                Some(
                    Refusal::new("count", what).remedy(format!("at most {MOST_FRAMES} in a trial")),
                )
            }
            _ => None,
        }
    }

    fn frames_last(&self, interval: Picos) -> Option<Nanos> {
        let by_count = self.count.map(|count| {
            let picos = u128::from(count) * u128::from(interval);
            Nanos::try_from(picos / u128::from(PICOS_PER_NANO)).unwrap_or(Nanos::MAX)
        });
        let length = [by_count, self.duration].into_iter().flatten().min()?;
        let start = self.frames.map_or(0, |frames| frames.start);
        Some(length.saturating_add(start))
    }
}

/// The state of the measuring host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HostCondition {
    /// Nothing done.
    #[default]
    Normal,
    /// As undisturbed as this host allows.
    Quiet,
    /// A built-in, bounded load for the length of the trial.
    Stressed,
}

impl HostCondition {
    crate::named! {
        Normal "normal";
        Quiet "quiet";
        Stressed "stressed";
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// How many packets a closed loop sends, its round trips decide as much as its pauses.
    #[test]
    fn packets_of_a_closed_loop_are_not_known_by_its_duration() {
        let paced = |pacing: Pacing, count: Option<u64>| {
            let mut probe = Probe::new("echo", Method::Icmp);
            (probe.pacing, probe.count, probe.duration) = (pacing, count, Some(10 * SECOND));
            probe.expected_packets()
        };
        let interval_ns = SECOND / 100;
        let wait_ns = interval_ns;
        assert_eq!(paced(Pacing::Every { interval_ns }, None), Some(1000.0));
        assert_eq!(paced(Pacing::Wait { wait_ns }, None), None);
        assert_eq!(paced(Pacing::Wait { wait_ns: 0 }, None), None);
        assert_eq!(paced(Pacing::Wait { wait_ns }, Some(20)), Some(20.0));
        let interval_ps = 2_500;
        assert_eq!(paced(Pacing::Frames { interval_ps }, None), Some(4e9));
    }

    #[test]
    fn a_fill_is_read_back_as_it_is_written() {
        for fill in [Fill::Zeros, Fill::Random, Fill::Pattern(vec![255, 0])] {
            assert_eq!(fill.to_string().parse::<Fill>().unwrap(), fill);
        }
        for wrong in ["", "0x", "0xf", "xy", "0x+f", "0xé0", "ff00"] {
            assert!(wrong.parse::<Fill>().is_err(), "{wrong}");
        }
    }
}
