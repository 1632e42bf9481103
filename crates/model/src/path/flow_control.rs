//! Flow control between neighbours: PAUSE (IEEE 802.3 Annex 31B) and priority flow control (IEEE 802.1Qbb).

use crate::quantity::{Duration, Size};
use schemars::JsonSchema;
use serde::Deserialize;

/// What a pause stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FlowControlKind {
    /// PAUSE (IEEE 802.3 Annex 31B): all that the port sends.
    Pause,
    /// Priority flow control (IEEE 802.1Qbb): each class queue by itself.
    Pfc,
}

/// A switch that stops those who send to it before its buffer is full. Each input port has a buffer for each priority, and
/// what comes once it holds more than `xoff` goes into the headroom.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowControl {
    /// What a pause stops.
    pub kind: FlowControlKind,
    /// pfc: class queues that lose nothing, like `["best-effort"]`. All by default.
    #[serde(default)]
    pub priorities: Vec<String>,
    /// What an input port may hold of a priority (pause: of all) before it asks for a pause.
    pub xoff: Size,
    /// And how little it holds when it ends the pause. By default two of the largest frames below `xoff`.
    pub xon: Option<Size>,
    /// Room for what comes after `xoff` was passed. By default what each link needs to lose nothing.
    pub headroom: Option<Size>,
    /// How long a pause lasts that is not asked for again, in times of 512 bits. 65,535 by default.
    pub quanta: Option<u16>,
    /// From when a frame that asks for a pause has come to when nothing more is begun. By default the most that IEEE 802.3
    /// Annex 31B allows at the link's rate.
    pub response: Option<Duration>,
}
