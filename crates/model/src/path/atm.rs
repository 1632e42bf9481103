//! What ATM switches alone have: credits, rates that they tell sources, and crossbars between input buffers and output ports.

use crate::quantity::{Duration, Share};
use schemars::JsonSchema;
use serde::Deserialize;

/// Credit flow control (N23), in cells a virtual channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Credit {
    /// Cells forwarded between two credits.
    pub n2: u32,
    /// Cells that cover the round trip.
    pub n3: u32,
}

/// How a switch finds the rate that it tells ABR sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RateAlgorithm {
    /// EPRCA with intelligent marking.
    #[default]
    Eprca,
    /// ERICA: a fair share of the measured load.
    Erica,
}

/// What becomes of the cells of an AAL5 packet that is not whole any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PacketDiscard {
    /// They go on.
    #[default]
    None,
    /// Once a cell is lost, so are those behind it (PPD).
    Partial,
    /// And a packet that begins when the buffer is nearly full is not begun (EPD).
    Early,
}

/// What ERICA measures by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Erica {
    /// Averaging interval. By default 1 ms, or 8 cell times for each channel of the port, whichever is longer.
    pub interval: Option<Duration>,
    /// Share of the capacity that it aims at. 95 % by default.
    pub utilisation: Option<Share>,
}

/// A crossbar between input buffers and output ports: in each cell time one cell at most leaves each input, and one at most
/// comes to each output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Crossbar {
    /// Which cells cross together.
    pub scheduler: Scheduler,
    /// pim, islip: rounds of requests, grants and acceptances in a cell time. 4 by default.
    pub iterations: Option<u32>,
}

/// How a crossbar matches inputs with outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// One queue an input: the cell at its head waits for its output, and all behind it wait for that cell.
    Fifo,
    /// Parallel iterative matching, at random, with a queue for each output at each input.
    Pim,
    /// iSLIP: the same with pointers that turn round in place of chance.
    Islip,
}
