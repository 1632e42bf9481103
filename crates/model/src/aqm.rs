//! Active queue management: what `pie`, `dualpi2` and `cake` of a switch set. What is not given is as the RFC has it.

use crate::quantity::{Duration, Rate, Share, Size};
use schemars::JsonSchema;
use serde::Deserialize;

/// PIE's parameters (RFC 8033).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pie {
    /// Queueing delay that it aims at. 15 ms by default.
    pub target: Option<Duration>,
    /// Between two updates of the drop probability. 15 ms by default.
    pub update: Option<Duration>,
    /// How long a burst passes unhurt after a rest. 150 ms by default.
    pub burst: Option<Duration>,
    /// Up to this drop probability packets capable of ECN are marked instead of dropped. 10 % by default.
    pub mark_up_to: Option<Share>,
}

/// DualPI2's parameters (RFC 9332).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DualPi2 {
    /// Queueing delay of Classic packets that it aims at. 15 ms by default.
    pub target: Option<Duration>,
    /// Between two updates of the probability. 16 ms by default; where `target` or `largest_rtt` is given, the
    /// less of `target` and a third of `largest_rtt`.
    pub update: Option<Duration>,
    /// Largest round trip for which it is stable; its gains follow. 100 ms by default.
    pub largest_rtt: Option<Duration>,
    /// k: L4S packets are marked with k times the root of the Classic probability. 2 by default.
    pub coupling: Option<u32>,
    /// Queueing delay from which L4S packets are marked. 800 µs by default.
    pub mark_from: Option<Duration>,
    /// And from which all are: with the same delay a step, else a ramp between them. 1.2 ms by default.
    pub mark_all_from: Option<Duration>,
    /// What Classic packets get of the line while L4S packets wait too. 10 % by default.
    pub classic_share: Option<Share>,
}

/// The classes of cake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CakeTins {
    /// One for all.
    BestEffort,
    /// Bulk, best effort, video and voice, by DSCP.
    #[default]
    DiffServ4,
}

/// Between whom cake is fair before it is between flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// No other.
    Flows,
    /// Sources.
    DualSource,
    /// Destinations.
    DualDestination,
    /// A flow's source or its destination, whichever has more flows.
    #[default]
    Triple,
}

/// CAKE's parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cake {
    /// What its shaper lets through. Without it: as much as the link takes.
    pub rate: Option<Rate>,
    /// Bytes that the shaper counts of a packet beyond IP. 14 B by default, as the kernel counts Ethernet frames.
    pub overhead: Option<Size>,
    /// The least that it counts of a packet.
    pub mpu: Option<Size>,
    /// Its classes. `diffserv4` by default.
    pub tins: Option<CakeTins>,
    /// Between whom it is fair. `triple` by default.
    pub isolation: Option<Isolation>,
    /// A usual round trip: COBALT's interval, and its target is a twentieth. 100 ms by default.
    pub rtt: Option<Duration>,
}
