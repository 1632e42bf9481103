//! What one packet met in one queue of its path, where the world can look inside.

use crate::Nanos;
use crate::table::TableRow;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// On which way a packet was.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the prober to the reflector.
    #[default]
    Forward,
    /// From the reflector to the prober.
    Return,
}

impl Direction {
    crate::named! {
        Forward "forward";
        Return "return";
    }
}

/// One packet in one queue of its path: its last cell or frame.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hop {
    /// During which trial of the run.
    pub trial: u32,
    /// Which probe of the trial.
    pub probe: u16,
    /// Which packet of the probe.
    pub seq: u64,
    /// On which way.
    pub direction: Direction,
    /// Which queue on this way, from 0.
    pub hop: u16,
    /// The port whose queue it is, as in `s1→s2`.
    pub port: Arc<str>,
    /// When it joined the queue, or came to the switch that then held it as it paused.
    pub t_enqueue: Nanos,
    /// When it left the queue for the link.
    pub t_dequeue: Nanos,
    /// What stood before it in the queue as it joined that: cells where the link has cells, bytes elsewhere.
    pub backlog: u64,
}

impl TableRow for Hop {
    type Key<'a> = (u64, Direction, u16);

    fn key(&self) -> Self::Key<'_> {
        (self.seq, self.direction, self.hop)
    }

    fn stream(&self) -> u16 {
        self.probe
    }
}
