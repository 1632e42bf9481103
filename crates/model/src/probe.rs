//! What to send: method, sizes, pacing, marks.

use crate::dscp::Dscp;
use crate::record::Method;
use crate::{Nanos, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// Closed loop (seed 002): due `wait_ns` after the previous reply was read, or, after a loss,
    /// after its time-out. 0 is back to back.
    Wait {
        /// From the previous reply to the next packet.
        wait_ns: Nanos,
    },
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

/// Which IP version to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// As the name resolves.
    #[default]
    Any,
    /// IPv4 only.
    V4,
    /// IPv6 only.
    V6,
}

/// The largest tcp request: one megabyte is beyond any interactive exchange.
pub const MAX_TCP_PAYLOAD: u32 = 1 << 20;

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
}

impl Probe {
    /// `ping`'s defaults: 56 bytes of payload, one a second, until told to stop.
    pub fn new(name: impl Into<String>, method: Method) -> Self {
        Self {
            name: name.into(),
            method,
            payload: 56,
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
        }
    }

    /// How long it takes if no reply is waited for; `None` until told to stop.
    ///
    /// In a closed loop this is the least: replies take time too.
    pub fn expected_duration(&self) -> Option<Nanos> {
        let gap = match self.pacing {
            Pacing::Every { interval_ns } => interval_ns,
            Pacing::Poisson { mean_ns } => mean_ns,
            Pacing::Burst { burst, interval_ns } => interval_ns / Nanos::from(burst.max(1)),
            Pacing::Wait { wait_ns } => wait_ns,
        };
        let count = |count: u64| i64::try_from(count).unwrap_or(Nanos::MAX);
        let by_count = self.count.map(|n| count(n).saturating_mul(gap));
        [by_count, self.duration].into_iter().flatten().min()
    }
}

/// The state of the measuring host (seeds 000 and 002: "minimum load" and "normal load").
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
    /// Every condition.
    pub const ALL: [HostCondition; 3] = [
        HostCondition::Normal,
        HostCondition::Quiet,
        HostCondition::Stressed,
    ];

    /// The name in flags and files.
    pub const fn name(self) -> &'static str {
        match self {
            HostCondition::Normal => "normal",
            HostCondition::Quiet => "quiet",
            HostCondition::Stressed => "stressed",
        }
    }
}
