//! Active queue management: what `pie` of a switch sets. What is not given is as the RFC has it.

use crate::quantity::{Duration, Share};
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
