//! How nodes are connected, by a name or one by one, and what is on the links.

use super::{HostCosts, Switch};
use crate::quantity::{Duration, Rate, Size};
use schemars::JsonSchema;
use serde::Deserialize;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Framing {
    /// ATM cells by AAL5, the IP packet as the SDU.
    Aal5,
    /// ATM cells by AAL5, behind an LLC/SNAP header of 8 bytes (RFC 2684).
    Aal5Llc,
    /// Ethernet with preamble, frame check sequence and gap.
    #[default]
    Ethernet,
    /// Point-to-point with a header of 2 bytes.
    Ppp,
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
