//! A switch: the queues at its ports, and what it does to packets in addition to queueing them.

use super::{
    Cake, CoDel, Credit, Crossbar, Discipline, DualPi2, Erica, FlowControl, NearEmpty,
    PacketDiscard, Pause, Pie, Pool, RateAlgorithm, Red, TokenBucket,
};
use crate::quantity::{Duration, Limit, Share, Size};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A switch, and the queues at its ports.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// Time through the switch, queueing apart.
    pub latency: Option<Duration>,
    /// Which packet is next.
    pub discipline: Option<Discipline>,
    /// How much a port (or the shared pool) holds.
    pub buffer: Option<Limit>,
    /// priority, wrr, wfq: how much of it each class queue gets. As much as there is by default.
    pub queue_buffer: Option<Limit>,
    /// Whose the buffer is.
    pub pool: Option<Pool>,
    /// From where on the discipline acts: EFCI marks, a port's share of the buffer is used up.
    pub threshold: Option<Limit>,
    /// Dynamic threshold of a shared pool: T = α(B − Q).
    pub alpha: Option<Share>,
    /// wrr, wfq: weight of each class or queue.
    #[serde(default)]
    pub weights: BTreeMap<String, u32>,
    /// drr, fq-codel, kernel-fq-codel: bytes a round.
    pub quantum: Option<Size>,
    /// kernel-tbf, kernel-htb: bytes that may leave at once.
    pub burst: Option<Size>,
    /// testbed's soft switch and sim: what a port's queue may send, and how much at once. What is beyond it waits.
    pub shaper: Option<TokenBucket>,
    /// testbed's soft switch and sim: what may come to a port's queue. What is beyond it is dropped.
    pub policer: Option<TokenBucket>,
    /// red.
    pub red: Option<Red>,
    /// codel, fq-codel and kernel-fq-codel.
    pub codel: Option<CoDel>,
    /// fq-codel: what must hold more than one packet for CoDel to drop. `flow` by default.
    pub near_empty: Option<NearEmpty>,
    /// pie.
    pub pie: Option<Pie>,
    /// dualpi2.
    pub dualpi2: Option<DualPi2>,
    /// cake.
    pub cake: Option<Cake>,
    /// credit.
    pub credit: Option<Credit>,
    /// explicit-rate: how rates are found.
    pub explicit_rate: Option<RateAlgorithm>,
    /// explicit-rate with erica: what it measures by.
    pub erica: Option<Erica>,
    /// ATM: buffers of input ports, and a crossbar from them to the output ports.
    pub crossbar: Option<Crossbar>,
    /// sim: it stops those who send to it before its buffers are full (PAUSE, priority flow control).
    pub flow_control: Option<FlowControl>,
    /// ATM: whether what is left of a packet is dropped with a cell of it.
    pub packet_discard: Option<PacketDiscard>,
    /// testbed: loss, duplication, reordering, corruption, flooding.
    pub impair: Option<Impair>,
    /// testbed and sim: a reset during the trial.
    pub reset: Option<Reset>,
    /// testbed and sim: pauses at regular intervals.
    pub pause: Option<Pause>,
}

/// What a testbed's soft switch does to packets in addition to queueing them. Nothing by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Impair {
    /// How many are lost.
    pub loss: Share,
    /// How many are forwarded twice.
    pub duplicate: Share,
    /// How many have a bit of their payload turned over.
    pub corrupt: Share,
    /// How many are held back by `reorder_by`, so that others overtake them.
    pub reorder: Share,
    /// For how long. 1 ms by default.
    pub reorder_by: Option<Duration>,
    /// How many leave by every port but the one that they came in by.
    pub flood: Share,
}

/// A reset of a switch (RFC 2544 §26.6): what waits in it is gone, and for a while nothing passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reset {
    /// When, from the start of the trial's first packet.
    pub at: Duration,
    /// How long it forwards nothing.
    pub lasts: Duration,
}
