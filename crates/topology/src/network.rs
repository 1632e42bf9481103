//! Hosts and switches, and the links between them.
//!
//! A link is two *ports*, one at each end, each of which sends one way.

use delaylab_model::Picos;
use delaylab_model::path::{HostCosts, Switch};
use delaylab_model::refusal::{Refusal, refuse};

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

    /// The host of this name.
    ///
    /// # Errors
    /// There is none; names the field that says so.
    pub(crate) fn host(&self, name: &str, field: &str) -> Result<NodeId, Refusal> {
        match self.named(name) {
            Some(node) if self.is_host(node) => Ok(node),
            Some(_) => refuse(
                field,
                format!("`{name}` forwards and does not send: name a host"),
            ),
            None => {
                let names = self.hosts().map(|host| &*self.nodes[host as usize].name);
                let names: Vec<&str> = names.take(8).collect();
                refuse(
                    field,
                    format!("there is no node `{name}`: there are {}", names.join(", ")),
                )
            }
        }
    }

    /// The node of this name.
    pub fn named(&self, name: &str) -> Option<NodeId> {
        let at = self.nodes.iter().position(|node| node.name == name)?;
        NodeId::try_from(at).ok()
    }

    /// The settings of the switch that this queue is of, by its name as in `s1→s2`; `None` where it is a host's.
    pub fn switch_of(&self, queue: &str) -> Option<&Switch> {
        let (node, _) = queue.split_once('→')?;
        self.switch(self.named(node)?)
    }

    /// The settings of this switch; `None` of a host.
    pub fn switch(&self, node: NodeId) -> Option<&Switch> {
        match &self.nodes[node as usize].kind {
            Kind::Switch(section) => Some(section),
            Kind::Host(_) => None,
        }
    }

    /// Is it a host?
    pub fn is_host(&self, node: NodeId) -> bool {
        self.switch(node).is_none()
    }

    /// Every host.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = NodeId> {
        (0..self.nodes.len() as NodeId).filter(|&node| self.is_host(node))
    }

    /// Is there one way alone between any two of the nodes that links join to this one?
    pub fn is_without_loops(&self, node: NodeId) -> bool {
        let mut found = vec![node];
        let mut ports = 0;
        let mut at = 0;
        while let Some(&node) = found.get(at) {
            for &port in &self.of_node[node as usize] {
                let to = self.ports[port as usize].to;
                if !found.contains(&to) {
                    found.push(to);
                }
                ports += 1;
            }
            at += 1;
        }
        // Then there is one link fewer than nodes.
        ports / 2 < found.len()
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

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_model::quantity::Size;

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

    #[test]
    fn a_loop_is_one_of_the_nodes_that_it_is_joined_to() {
        let mut network = Network::default();
        let nodes = ["a", "b", "c", "d", "e"];
        let [a, b, c, d, e] =
            nodes.map(|name| network.node(name, Kind::Host(HostCosts::default())));
        let line = Line {
            rate: 1,
            propagation: 0,
        };
        for (from, to) in [(a, b), (b, c), (c, a), (d, e)] {
            network.link("one", from, to, line);
        }
        let without = [a, b, c, d, e].map(|node| network.is_without_loops(node));
        assert_eq!(without, [false, false, false, true, true]);
    }

    #[test]
    fn a_queue_has_the_settings_of_its_own_switch() {
        let mut network = Network::default();
        for (name, burst) in [("s1", None), ("s2", Some(Size(7)))] {
            let section = Switch {
                burst,
                ..Switch::default()
            };
            network.node(name, Kind::Switch(Box::new(section)));
        }
        network.node("b1", Kind::Host(HostCosts::default()));
        let burst = |queue| Some(network.switch_of(queue)?.burst);
        assert_eq!(burst("s1→s2"), Some(None));
        assert_eq!(burst("s2→b1 trunk2"), Some(Some(Size(7))));
        assert_eq!([burst("b1→s2"), burst("s3→s1"), burst("s1")], [None; 3]);
    }
}
