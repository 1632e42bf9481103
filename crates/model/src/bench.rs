//! `[design.procedure]`: the device benchmark whose procedure looks for the next trial.

use crate::quantity::{Duration, Rate, Share, Size};
use schemars::JsonSchema;
use serde::Deserialize;

/// Who overloads a receiving port (RFC 8239 §3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BufferingWay {
    /// One stream fills the port and a second adds the excess.
    Port,
    /// The same at every receiving port at once.
    Pairs,
    /// Every stream has an equal part.
    #[default]
    ManyToOne,
}

/// A procedure and how it searches. What is left out is as its RFC asks.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcedureSection {
    /// Which: `delaylab bench list` has them.
    pub name: String,
    /// Frame sizes, with the frame check sequence. Those of RFC 2544 §9.1 by default.
    #[serde(default)]
    pub sizes: Vec<Size>,
    /// Of the receiving port, where it is not the path's.
    pub egress_rate: Option<Rate>,
    /// A trial at one rate. 60 s by default (RFC 2544 §24).
    pub trial: Option<Duration>,
    /// A trial that measures latency. 120 s by default (RFC 2544 §26.2).
    pub latency: Option<Duration>,
    /// How often it is repeated. 20 times by default.
    pub latency_repeats: Option<u32>,
    /// The longest burst. 2 s by default (RFC 2544 §26.4).
    pub burst: Option<Duration>,
    /// How often the longest one without loss is looked for. 50 times by default.
    pub burst_repeats: Option<u32>,
    /// Overload before a recovery. 60 s by default (RFC 2544 §26.5).
    pub overload: Option<Duration>,
    /// How often what is left is repeated. 10 times by default.
    pub repeats: Option<u32>,
    /// Without a frame, before a trial ends: for frames on their way. 2 s by default (RFC 2544 §23).
    pub drain: Option<Duration>,
    /// For the device, before each trial. 5 s by default (RFC 2544 §23).
    pub settle: Option<Duration>,
    /// Two loads this close are one. 0.1 % by default.
    pub resolution: Option<Share>,
    /// From one load to the next lower one. 10 % by default (RFC 2544 §26.3).
    pub step: Option<Share>,
    /// The highest load. 99.98 % by default (RFC 8239 §2.2).
    pub top: Option<Share>,
    /// How near a rate must come to what was asked for. 1 % by default.
    pub rate_tolerance: Option<Share>,
    /// Load beyond what is forwarded. 1 % by default (RFC 8239 §3.2).
    pub excess: Option<Share>,
    /// How often the loss of a burst is verified before it counts. By default once in `buffer-time`, and not at all in the
    /// other procedures that send bursts.
    pub confirm: Option<u32>,
    /// Who overloads whom. `many-to-one` by default.
    pub way: Option<BufferingWay>,
    /// Frames of a microburst together with TCP. 100 by default.
    pub microburst: Option<u64>,
}
