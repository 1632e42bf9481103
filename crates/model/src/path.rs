//! The path between the ends: where a live probe goes, what a testbed or a simulation builds.
//!
//! Every field is optional: what an experiment leaves out, the world that builds the path decides
//! and says.
//!
//! | module | holds |
//! |---|---|
//! | `topology` | how nodes are connected, and their links |
//! | `switch` | a switch and what it does to packets |
//! | `queueing` | disciplines, buffers and token buckets |
//! | `pause`, `flow_control` | when a switch, or who sends to it, waits |
//! | `abr`, `atm` | end systems and switches of ATM |
//! | [`server`] | a server of any make at a host |
//! | `built` | what is built of all that is written |

mod abr;
mod atm;
mod built;
mod flow_control;
mod pause;
mod queueing;
pub mod server;
mod switch;
mod topology;

pub use crate::aqm::{Cake, CakeTins, DualPi2, Isolation, Pie};
pub use crate::host::{ClockRead, Daemon, HostCosts, HostNoise, Tick, WakeUp, WakeUps};
use crate::quantity::{Duration, Rate, Size};
pub use abr::{Abr, AbrDecrease, AbrIdle, AbrMark, AbrParameters, AbrPreset, Shaper};
pub use atm::{Credit, Crossbar, Erica, PacketDiscard, RateAlgorithm, Scheduler};
pub use flow_control::{FlowControl, FlowControlKind};
pub use pause::Pause;
pub use queueing::{CoDel, Discipline, NearEmpty, Pool, Red, TokenBucket};
use schemars::JsonSchema;
use serde::Deserialize;
pub use server::{HostServer, Software};
use std::collections::BTreeMap;
pub use switch::{Impair, Reset, Switch};
pub use topology::{ACCESS, Framing, Line, Link, Node, NodeKind, Topology};

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
    /// testbed, sim: servers at hosts, for probes of method http, dns and tcp-connect.
    #[serde(default)]
    pub server: Vec<HostServer>,
}
