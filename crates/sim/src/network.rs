//! Hosts and switches, the links between them, and the ways that flows take.
//!
//! A link is two *ports*, one at each end, each of which sends one way. `build.rs` makes a network of
//! an experiment's path section, one function a topology.

mod build;
mod routes;

pub use build::{Built, Ends, build};
pub use routes::Routes;

use delaylab_model::Picos;
use delaylab_model::path::{Framing, HostCosts, Switch};

/// A node's number.
pub type NodeId = u32;
/// A port's number.
pub type PortId = u32;

/// Something at the end of links.
#[derive(Debug, Clone)]
pub struct Node {
    /// Its name in probes, loads and series.
    pub name: String,
    /// What it is.
    pub kind: Kind,
}

/// What a node is.
#[derive(Debug, Clone)]
pub enum Kind {
    /// Sends and receives, at a cost.
    Host(HostCosts),
    /// Forwards.
    Switch(Box<Switch>),
}

/// The sending end of a link in one direction.
#[derive(Debug, Clone)]
pub struct Port {
    /// The node that it is of.
    pub from: NodeId,
    /// The node at the other end.
    pub to: NodeId,
    /// The name of the link, as probes, loads and routes call it.
    pub link: String,
    /// Bits a second.
    pub rate: u64,
    /// One way.
    pub propagation: Picos,
    /// Its number among the ports of its node.
    pub egress: u16,
    /// The number, at the far node, of the port that leads back.
    pub ingress: u16,
}

/// The port at the other end of the same link: they are made in pairs.
pub const fn other_end(port: PortId) -> PortId {
    port ^ 1
}

/// What a link is like.
#[derive(Debug, Clone, Copy)]
pub struct Line {
    /// Bits a second.
    pub rate: u64,
    /// One way.
    pub propagation: Picos,
}

/// Nodes and the ports between them.
#[derive(Debug, Clone, Default)]
pub struct Network {
    /// Every node.
    pub nodes: Vec<Node>,
    /// Every port.
    pub ports: Vec<Port>,
    /// Of each node, the ports that send from it.
    pub of_node: Vec<Vec<PortId>>,
}

impl Network {
    /// Adds a node.
    pub fn node(&mut self, name: impl Into<String>, kind: Kind) -> NodeId {
        let id = self.nodes.len() as NodeId;
        let name = name.into();
        self.nodes.push(Node { name, kind });
        self.of_node.push(Vec::new());
        id
    }

    /// Adds a link, the same in both directions.
    pub fn link(&mut self, name: impl Into<String>, from: NodeId, to: NodeId, line: Line) {
        let name = name.into();
        let numbers = [from, to].map(|node| self.of_node[node as usize].len() as u16);
        for (end, (near, far)) in [(from, to), (to, from)].into_iter().enumerate() {
            let id = self.ports.len() as PortId;
            self.of_node[near as usize].push(id);
            self.ports.push(Port {
                from: near,
                to: far,
                link: name.clone(),
                rate: line.rate,
                propagation: line.propagation,
                egress: numbers[end],
                ingress: numbers[1 - end],
            });
        }
    }

    /// The node of this name.
    pub fn named(&self, name: &str) -> Option<NodeId> {
        let at = self.nodes.iter().position(|node| node.name == name)?;
        NodeId::try_from(at).ok()
    }

    /// Is it a host?
    pub fn is_host(&self, node: NodeId) -> bool {
        matches!(self.nodes[node as usize].kind, Kind::Host(_))
    }

    /// What a port is called in series and warnings: the nodes that it leads from and to, and where
    /// several links do, by which.
    pub fn port_name(&self, port: PortId) -> String {
        let Port { from, to, .. } = self.ports[port as usize];
        let name = |node: NodeId| self.nodes[node as usize].name.as_str();
        let ends = format!("{}→{}", name(from), name(to));
        let beside = self.of_node[from as usize].iter();
        let links = beside.filter(|&&port| self.ports[port as usize].to == to);
        match links.count() {
            1 => ends,
            _ => format!("{ends} {}", self.ports[port as usize].link),
        }
    }
}

/// Bytes on the wire of an IP packet, and how many units it is sent in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wire {
    /// Cells, or one frame.
    pub units: u32,
    /// Bytes of each.
    pub bytes: u32,
}

/// An ATM cell.
pub const CELL: u32 = 53;
/// What of it is payload.
pub const CELL_PAYLOAD: u32 = 48;
/// The AAL5 trailer (ITU-T I.363.5).
const AAL5_TRAILER: u32 = 8;
/// LLC and SNAP before an IP packet (RFC 2684 §5).
const LLC_SNAP: u32 = 8;
/// Ethernet header and frame check sequence; a frame has 64 bytes at least (IEEE 802.3 §3.2.7).
const ETHERNET: u32 = 14 + 4;
const LEAST_FRAME: u32 = 64;
/// Preamble, start of frame, gap.
const ETHERNET_GAP: u32 = 7 + 1 + 12;
/// The header of ns-3's point-to-point links.
const PPP: u32 = 2;

/// An IP packet of this size on a link of this framing.
pub fn wire(framing: Framing, ip_size: u32) -> Wire {
    let cells = |sdu: u32| Wire {
        units: (sdu + AAL5_TRAILER).div_ceil(CELL_PAYLOAD),
        bytes: CELL,
    };
    let frame = |bytes| Wire { units: 1, bytes };
    match framing {
        Framing::Aal5 => cells(ip_size),
        Framing::Aal5Llc => cells(ip_size + LLC_SNAP),
        Framing::Ethernet => frame((ip_size + ETHERNET).max(LEAST_FRAME) + ETHERNET_GAP),
        Framing::Ppp => frame(ip_size + PPP),
    }
}

/// Is it sent in cells?
pub const fn in_cells(framing: Framing) -> bool {
    matches!(framing, Framing::Aal5 | Framing::Aal5Llc)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_the_seeds_sizes() {
        // atm.md: UDP payload to cells, with or without LLC/SNAP.
        let sizes = [64, 128, 256, 512, 1024, 2048];
        for framing in [Framing::Aal5, Framing::Aal5Llc] {
            let cells = sizes.map(|payload| wire(framing, payload + 28).units);
            assert_eq!(cells, [3, 4, 7, 12, 23, 44], "{framing:?}");
        }
        assert_eq!(wire(Framing::Aal5, 9188).units, 192);
        assert_eq!(wire(Framing::Aal5Llc, 9180).units, 192);
    }

    #[test]
    fn frames_have_their_overhead() {
        assert_eq!(wire(Framing::Ppp, 1052).bytes, 1054);
        assert_eq!(wire(Framing::Ethernet, 1500).bytes, 1538);
        assert_eq!(wire(Framing::Ethernet, 28).bytes, 84);
    }

    #[test]
    fn a_link_is_two_ports_that_know_each_other() {
        let mut network = Network::default();
        let host =
            |network: &mut Network, name| network.node(name, Kind::Host(HostCosts::default()));
        let (a, b, c) = (
            host(&mut network, "a"),
            host(&mut network, "b"),
            host(&mut network, "c"),
        );
        let line = Line {
            rate: 1,
            propagation: 0,
        };
        network.link("one", a, b, line);
        network.link("two", c, b, line);
        let two = &network.ports[2];
        assert_eq!((two.from, two.to, two.egress, two.ingress), (c, b, 0, 1));
        assert_eq!(network.port_name(2), "c→b");
    }
}
