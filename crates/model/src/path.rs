//! The path between the ends: where a live probe goes, what a testbed or a simulation builds.
//!
//! Every field is optional: what an experiment leaves out, the world that builds the path decides
//! and says.

mod atm;
mod flow_control;

pub use crate::aqm::{Cake, CakeTins, DualPi2, Isolation, Pie};
pub use crate::host::{ClockRead, Daemon, HostCosts, HostNoise, Tick, WakeUp, WakeUps};
use crate::quantity::{Duration, Limit, Rate, Share, Size};
use crate::{PICOS_PER_NANO, Picos};
pub use atm::{Crossbar, Erica, Scheduler};
pub use flow_control::{FlowControl, FlowControlKind};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// How nodes are connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Topology {
    /// Within one host.
    Loopback,
    /// One host and a switch that sends everything back: no second host.
    SwitchLoopback,
    /// Two hosts and what is between them.
    TwoHosts,
    /// One pair of hosts a flow, two switches, one trunk.
    PairsOnATrunk,
    /// Several ingress ports, one egress port.
    ManyToOne,
    /// Several switches in a row.
    Chain,
    /// Two hosts with routers between them.
    Routed,
    /// A congested and a control path between the same ends.
    TwoPaths,
    /// Every leaf switch connected to every spine switch.
    LeafSpine,
    /// A fat tree of switches with equal port counts.
    FatTree,
}

/// How packets are put on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Framing {
    /// ATM cells by AAL5, the IP packet as the SDU.
    Aal5,
    /// ATM cells by AAL5, behind an LLC/SNAP header of 8 bytes (RFC 2684).
    Aal5Llc,
    /// Ethernet with preamble, frame check sequence and gap.
    Ethernet,
    /// Point-to-point with a header of 2 bytes.
    Ppp,
}

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
    /// Is it a queue of the kernel, which only a testbed has?
    pub const fn is_of_the_kernel(self) -> bool {
        matches!(
            self,
            Self::KernelTbf | Self::KernelHtb | Self::KernelFqCodel | Self::KernelNetem
        )
    }
}

/// What a testbed's soft switch does to packets beside queueing them. Nothing by default.
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

/// Pauses of a switch at regular intervals, as of a radio that sleeps or a port that is told to wait: what
/// arrives meanwhile goes on when the pause ends. Each interval ends with one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pause {
    /// From the end of one to the end of the next, counted from the start of the trial.
    pub every: Duration,
    /// How long each lasts.
    pub lasts: Duration,
}

impl Pause {
    /// When something goes on that arrives then, both since the start of the trial.
    pub fn goes_on(&self, at: Picos) -> Picos {
        let [every, lasts] =
            [self.every, self.lasts].map(|time| time.0.max(0).cast_unsigned() * PICOS_PER_NANO);
        if every == 0 {
            return at;
        }
        let left = every - at % every;
        if left <= lasts { at + left } else { at }
    }

    /// Why no switch can do this.
    pub fn problem(&self) -> Option<&'static str> {
        let fits = self.lasts.0 > 0 && self.lasts.0 < self.every.0;
        (!fits).then_some(
            "a pause is longer than nothing and shorter than the time from one to the next",
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
    /// drr, fq-codel: bytes a round.
    pub quantum: Option<Size>,
    /// kernel-tbf, kernel-htb: bytes that may leave at once.
    pub burst: Option<Size>,
    /// testbed's soft switch and sim: what a port's queue may send, and how much at once. What is beyond it waits.
    pub shaper: Option<TokenBucket>,
    /// testbed's soft switch and sim: what may come to a port's queue. What is beyond it is dropped.
    pub policer: Option<TokenBucket>,
    /// red.
    pub red: Option<Red>,
    /// codel and fq-codel.
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

impl Switch {
    /// What it says itself, and for the rest what `base` says.
    #[must_use]
    pub fn over(&self, base: &Self) -> Self {
        let own = self.clone();
        let weights = if own.weights.is_empty() {
            base.weights.clone()
        } else {
            own.weights
        };
        Self {
            latency: own.latency.or(base.latency),
            discipline: own.discipline.or(base.discipline),
            buffer: own.buffer.or(base.buffer),
            queue_buffer: own.queue_buffer.or(base.queue_buffer),
            pool: own.pool.or(base.pool),
            threshold: own.threshold.or(base.threshold),
            alpha: own.alpha.or(base.alpha),
            weights,
            quantum: own.quantum.or(base.quantum),
            burst: own.burst.or(base.burst),
            shaper: own.shaper.or(base.shaper),
            policer: own.policer.or(base.policer),
            red: own.red.or(base.red),
            codel: own.codel.or(base.codel),
            near_empty: own.near_empty.or(base.near_empty),
            pie: own.pie.or(base.pie),
            dualpi2: own.dualpi2.or(base.dualpi2),
            cake: own.cake.or(base.cake),
            credit: own.credit.or(base.credit),
            explicit_rate: own.explicit_rate.or(base.explicit_rate),
            erica: own.erica.or(base.erica),
            crossbar: own.crossbar.or(base.crossbar),
            flow_control: own.flow_control.or_else(|| base.flow_control.clone()),
            packet_discard: own.packet_discard.or(base.packet_discard),
            impair: own.impair.or(base.impair),
            reset: own.reset.or(base.reset),
            pause: own.pause.or(base.pause),
        }
    }
}

/// What paces packets before the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shaper {
    /// A constant bit rate service: one cell (or frame) a slot of this rate, framing included.
    pub cbr: Rate,
}

/// Where an ABR switch marks a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AbrMark {
    /// On its arrival.
    Arrival,
    /// On its departure.
    Departure,
}

/// When an ABR source decreases its rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AbrDecrease {
    /// On a backward RM cell.
    PerRm,
    /// After each cell sent.
    PerCell,
}

/// What an idle ABR source loses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AbrIdle {
    /// Use it or lose it, after TOF·Nrm/ACR.
    Tof,
    /// Back to the initial rate after ADTF (TM 4.0).
    Adtf,
    /// Nothing.
    None,
}

/// A named set of ABR parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum AbrPreset {
    /// Table 1 of seed 003.
    #[serde(rename = "eprca-1995")]
    Eprca1995,
    /// ATM Forum Traffic Management 4.0.
    #[serde(rename = "tm-4.0")]
    Tm40,
}

/// ABR end systems: a preset, and what differs from it. A preset's name alone will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abr(pub AbrParameters);

/// ABR parameters as seed 003 and TM 4.0 name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // the parameters' names are the standard's
pub struct AbrParameters {
    pub preset: AbrPreset,
    pub pcr: Option<Rate>,
    pub icr: Option<Rate>,
    pub mcr: Option<Rate>,
    pub air: Option<Rate>,
    /// A divisor.
    pub rdf: Option<u32>,
    /// Cells.
    pub nrm: Option<u32>,
    /// Cells.
    pub mrm: Option<u32>,
    pub trm: Option<Duration>,
    /// Cells a second.
    pub tcr: Option<u32>,
    pub tof: Option<u32>,
    pub tdff: Option<Share>,
    /// Forward RM cells outstanding.
    pub xrm: Option<u32>,
    pub xdf: Option<Share>,
    pub adtf: Option<Duration>,
    pub mark: Option<AbrMark>,
    pub decrease: Option<AbrDecrease>,
    pub idle: Option<AbrIdle>,
}

/// What a node of an explicit topology is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NodeKind {
    /// Sends and receives.
    Host,
    /// Forwards frames or cells.
    Switch,
    /// Forwards packets.
    Router,
}

/// A node of an explicit topology.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Its name in links, probes and loads.
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
    /// What differs from `[path.switch]`.
    pub switch: Option<Switch>,
    /// What differs from `[path.host]`.
    pub host: Option<HostCosts>,
}

/// A link of an explicit topology, the same in both directions.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Its name in paths and series.
    pub name: String,
    /// One end.
    pub from: String,
    /// The other.
    pub to: String,
    /// What differs from the path's.
    pub rate: Option<Rate>,
    /// What differs from the path's.
    pub propagation: Option<Duration>,
    /// What differs from the path's.
    pub framing: Option<Framing>,
    /// What differs from the path's.
    pub mtu: Option<Size>,
}

/// What differs of a line from the path's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// What differs from the path's.
    pub rate: Option<Rate>,
    /// One way. What differs from the path's.
    pub propagation: Option<Duration>,
}

/// The name in `[path.line]` of the links between hosts and what they are connected to.
pub const ACCESS: &str = "access";

/// The path of the probes and loads.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Path {
    /// live: host name or address of the reflector. Without it the run starts a reflector here.
    pub target: Option<String>,
    /// testbed, sim: how nodes are connected.
    pub topology: Option<Topology>,
    /// Pairs of hosts: pairs-on-a-trunk, chain, routed, two-paths. One a flow by default.
    pub pairs: Option<u32>,
    /// Ingress ports: many-to-one.
    pub senders: Option<u32>,
    /// Switches or routers in a row: chain, routed.
    pub hops: Option<u32>,
    /// Leaf switches: leaf-spine.
    pub leaves: Option<u32>,
    /// Spine switches: leaf-spine.
    pub spines: Option<u32>,
    /// Hosts at a leaf: leaf-spine.
    pub hosts: Option<u32>,
    /// Ports of each switch: fat-tree.
    pub ports: Option<u32>,
    /// How packets are put on links.
    pub framing: Option<Framing>,
    /// Of every link.
    pub rate: Option<Rate>,
    /// Of every link, one way.
    pub propagation: Option<Duration>,
    /// Links of a topology by name that differ: a link's name (a host's link has its name), or `access` for the links
    /// of all hosts.
    #[serde(default)]
    pub line: BTreeMap<String, Line>,
    /// Largest IP packet.
    pub mtu: Option<Size>,
    /// Before the path.
    pub shaper: Option<Shaper>,
    /// ABR end systems.
    pub abr: Option<Abr>,
    /// Which way a class takes.
    #[serde(default)]
    pub route: BTreeMap<String, String>,
    /// Into which queue a class is put.
    #[serde(default)]
    pub queue: BTreeMap<String, String>,
    /// testbed, sim: which class a class becomes at the last router before a probe's destination.
    #[serde(default)]
    pub remark: BTreeMap<String, String>,
    /// Every switch.
    pub switch: Option<Switch>,
    /// Every simulated host.
    pub host: Option<HostCosts>,
    /// Nodes, where no topology by name will do.
    #[serde(default)]
    pub node: Vec<Node>,
    /// Links between them.
    #[serde(default)]
    pub link: Vec<Link>,
}

impl Path {
    /// The rate of the link at this node, in bit/s: its own, or the path's.
    pub fn rate_at(&self, node: Option<&str>) -> Option<u64> {
        let own = self.link.iter().find(|link| {
            let ends = [link.from.as_str(), link.to.as_str()];
            node.is_some_and(|node| ends.contains(&node))
        });
        let named = [node.unwrap_or_default(), ACCESS].into_iter();
        let mut lines = named.filter_map(|name| self.line.get(name)?.rate);
        let rate = own.and_then(|link| link.rate).or(lines.next());
        let rate = rate.or(self.rate);
        rate.map(|Rate(rate)| rate)
    }

    /// The fields in use that say how to build a path. A world that has its path already honours
    /// none of them.
    pub fn to_be_built(&self) -> Vec<&'static str> {
        let fields = [
            ("topology", self.topology.is_some()),
            ("pairs", self.pairs.is_some()),
            ("senders", self.senders.is_some()),
            ("hops", self.hops.is_some()),
            ("leaves", self.leaves.is_some()),
            ("spines", self.spines.is_some()),
            ("hosts", self.hosts.is_some()),
            ("ports", self.ports.is_some()),
            ("framing", self.framing.is_some()),
            ("rate", self.rate.is_some()),
            ("propagation", self.propagation.is_some()),
            ("line", !self.line.is_empty()),
            ("mtu", self.mtu.is_some()),
            ("shaper", self.shaper.is_some()),
            ("abr", self.abr.is_some()),
            ("route", !self.route.is_empty()),
            ("queue", !self.queue.is_empty()),
            ("remark", !self.remark.is_empty()),
            ("switch", self.switch.is_some()),
            ("host", self.host.is_some()),
            ("node", !self.node.is_empty()),
            ("link", !self.link.is_empty()),
        ];
        let used = fields.into_iter().filter(|(_, used)| *used);
        used.map(|(name, _)| name).collect()
    }
}

impl<'de> Deserialize<'de> for Abr {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AbrVisitor)
    }
}

struct AbrVisitor;

impl<'de> Visitor<'de> for AbrVisitor {
    type Value = Abr;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a preset's name, like \"eprca-1995\", or a table with `preset`")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<Abr, E> {
        let map = [("preset", name)].into_iter();
        AbrParameters::deserialize(de::value::MapDeserializer::new(map)).map(Abr)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Abr, A::Error> {
        AbrParameters::deserialize(de::value::MapAccessDeserializer::new(map)).map(Abr)
    }
}

impl JsonSchema for Abr {
    fn schema_name() -> Cow<'static, str> {
        "Abr".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A preset's name, or a preset and what differs from it.",
            "anyOf": [
                generator.subschema_for::<AbrPreset>(),
                generator.subschema_for::<AbrParameters>(),
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_arrives_in_a_pause_goes_on_when_it_ends() {
        let pause = |every, lasts| Pause {
            every: Duration(every),
            lasts: Duration(lasts),
        };
        let each = pause(100, 3);
        assert_eq!(each.problem(), None);
        for (at, goes_on) in [
            (0, 0),
            (96, 96),
            (97, 100),
            (99, 100),
            (100, 100),
            (298, 300),
        ] {
            assert_eq!(each.goes_on(at * PICOS_PER_NANO), goes_on * PICOS_PER_NANO);
        }
        for wrong in [pause(0, 0), pause(5, 5), pause(-1, 3), pause(3, 0)] {
            assert!(wrong.problem().is_some());
            let _ = wrong.goes_on(12_345);
        }
    }
}
