//! What queues at a port, which packet leaves next, and which are dropped or marked.

use crate::quantity::{Duration, Limit, Rate, Share, Size};
use schemars::JsonSchema;
use serde::Deserialize;

/// Which packet leaves a queue next, and which are dropped or marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Discipline {
    /// First in, first out, tail drop.
    Fifo,
    /// A queue a flow (a virtual channel in ATM), served in turn.
    #[serde(alias = "per-vc")]
    PerFlow,
    /// Strict priority by class.
    Priority,
    /// Weighted round robin.
    Wrr,
    /// Weighted fair queueing.
    Wfq,
    /// Deficit round robin.
    Drr,
    /// FIFO that sets the EFCI bit above a threshold.
    Efci,
    /// FIFO that tells sources their rate.
    ExplicitRate,
    /// Credit flow control (N23).
    Credit,
    /// Random early detection.
    Red,
    /// CoDel (RFC 8289).
    #[serde(rename = "codel")]
    CoDel,
    /// FQ-CoDel (RFC 8290).
    #[serde(rename = "fq-codel")]
    FqCoDel,
    /// PIE (RFC 8033).
    Pie,
    /// DualPI2, a queue for L4S and one for Classic traffic (RFC 9332).
    #[serde(rename = "dualpi2")]
    DualPi2,
    /// CAKE: shaper, classes, fair between hosts and flows, COBALT.
    Cake,
    /// The kernel's token bucket filter.
    KernelTbf,
    /// The kernel's hierarchical token bucket, with a class for each class queue.
    KernelHtb,
    /// The kernel's FQ-CoDel behind a token bucket, where the kernel has it.
    KernelFqCodel,
    /// The kernel's network emulator, where the kernel has it.
    KernelNetem,
}

impl Discipline {
    /// Every discipline, in the order of their declaration.
    pub const ALL: [Discipline; 19] = [
        Discipline::Fifo,
        Discipline::PerFlow,
        Discipline::Priority,
        Discipline::Wrr,
        Discipline::Wfq,
        Discipline::Drr,
        Discipline::Efci,
        Discipline::ExplicitRate,
        Discipline::Credit,
        Discipline::Red,
        Discipline::CoDel,
        Discipline::FqCoDel,
        Discipline::Pie,
        Discipline::DualPi2,
        Discipline::Cake,
        Discipline::KernelTbf,
        Discipline::KernelHtb,
        Discipline::KernelFqCodel,
        Discipline::KernelNetem,
    ];

    /// Is it a queue of the kernel, which only a testbed has?
    pub const fn is_of_the_kernel(self) -> bool {
        matches!(
            self,
            Self::KernelTbf | Self::KernelHtb | Self::KernelFqCodel | Self::KernelNetem
        )
    }
}

/// Whose buffer it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pool {
    /// Of each output port.
    Output,
    /// Of each input port.
    Input,
    /// Shared among all output ports.
    Shared,
}

/// Random early detection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Red {
    /// Average backlog from which packets are dropped or marked.
    pub min: Limit,
    /// Average backlog from which all are.
    pub max: Limit,
    /// Probability just below `max`.
    pub probability: Share,
}

/// CoDel's two parameters (RFC 8289).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CoDel {
    /// Acceptable standing sojourn time.
    pub target: Duration,
    /// Over which it is observed.
    pub interval: Duration,
}

/// What must hold more than one of the largest packets before fq-codel drops from a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NearEmpty {
    /// The flow's own queue: CoDel as RFC 8289 has it, in each queue of RFC 8290. Many flows of one packet each are left
    /// alone, whatever they add up to.
    #[default]
    Flow,
    /// All queues together, as in Linux: then a flow's only packet is dropped too.
    All,
}

/// A token bucket: how much may pass over a long time, and how much at once. With a ceiling there are two, and a packet
/// takes tokens from both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenBucket {
    /// Over a long time. Links still have their own rate, which is the higher one.
    pub rate: Rate,
    /// How many bytes may pass at once after a rest: at least the largest packet.
    pub burst: Size,
    /// Until the burst is used up: the higher rate of two, as of htb or of tbf's `peakrate`.
    pub ceil: Option<Rate>,
    /// How many bytes may pass at once at the ceiling. 1600 B by default.
    pub ceil_burst: Option<Size>,
    /// What is counted of a packet beyond its IP bytes. 14 B by default, as the kernel counts Ethernet frames.
    pub header: Option<Size>,
}

impl TokenBucket {
    /// Bytes that are counted of a packet beyond its IP bytes.
    pub fn counted(&self) -> u32 {
        const ETHERNET: u32 = 14;
        let given = self.header.map(|header| u32::try_from(header.0));
        given.map_or(ETHERNET, |header| header.unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_discipline_is_listed_once() {
        let schema = schemars::schema_for!(Discipline);
        let named = schema.get("oneOf").and_then(|all| all.as_array());
        assert_eq!(named.map(Vec::len), Some(Discipline::ALL.len()));
        for (at, discipline) in Discipline::ALL.into_iter().enumerate() {
            assert_eq!(discipline as usize, at);
        }
    }
}
