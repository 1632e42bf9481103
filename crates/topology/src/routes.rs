//! The ways that flows take: shortest paths, spread over equal ones (RFC 2992) by the flow's number.

use crate::network::{Network, NodeId, PortId, other_end};
use std::collections::{BTreeMap, VecDeque};

const FAR: u32 = u32::MAX;
/// Choices among equal ways that are tried for a way by a named link.
const TRIES: u64 = 64;

/// Finds paths, and remembers distances: flows to one switch share them.
pub struct Routes<'a> {
    network: &'a Network,
    /// Of each node, the ports that lead to switches: a large switch has few of them.
    trunks: Vec<Vec<PortId>>,
    /// To the nearest of these switches, from each node.
    distances: BTreeMap<Vec<NodeId>, Vec<u32>>,
}

impl<'a> Routes<'a> {
    /// In this network.
    pub fn new(network: &'a Network) -> Self {
        let leads_on = |port: &PortId| !network.is_host(network.ports[*port as usize].to);
        let trunks = |ports: &Vec<PortId>| ports.iter().copied().filter(leads_on).collect();
        Self {
            network,
            trunks: network.of_node.iter().map(trunks).collect(),
            distances: BTreeMap::new(),
        }
    }

    /// The ports from one host to another, by way of the link `via` if that is named. Among equal
    /// ways `key` chooses. `None`: there is no way.
    pub fn path(
        &mut self,
        from: NodeId,
        to: NodeId,
        via: Option<&str>,
        key: u64,
    ) -> Option<Vec<PortId>> {
        let Some(via) = via else {
            return self.shortest(from, to, key);
        };
        let link = self.ports_of(via);
        // Of equal ways the one to the link and the one from it may cross: then others are tried.
        let keys = (0..TRIES).map(|salt| key ^ salt << 32);
        let ways = link.into_iter().filter_map(|port| {
            let mut tries = keys.clone();
            tries.find_map(|key| self.through(from, port, to, key))
        });
        ways.min_by_key(Vec::len)
    }

    fn ports_of(&self, link: &str) -> Vec<PortId> {
        let ports = self.network.ports.iter().zip(0..);
        let named = ports.filter(|(port, _)| port.link == link);
        named.map(|(_, id)| id).collect()
    }

    /// By way of this port.
    fn through(&mut self, from: NodeId, port: PortId, to: NodeId, key: u64) -> Option<Vec<PortId>> {
        let (near, far) = {
            let port = &self.network.ports[port as usize];
            (port.from, port.to)
        };
        let mut path = self.shortest_or_there(from, near, key)?;
        path.push(port);
        path.extend(self.shortest_or_there(far, to, key)?);
        // A way that visits a node twice is a loop.
        let mut seen: Vec<_> = path
            .iter()
            .map(|&port| self.network.ports[port as usize].from)
            .collect();
        seen.sort_unstable();
        let visits = seen.len();
        seen.dedup();
        (seen.len() == visits).then_some(path)
    }

    fn shortest_or_there(&mut self, from: NodeId, to: NodeId, key: u64) -> Option<Vec<PortId>> {
        if from == to {
            return Some(Vec::new());
        }
        self.shortest(from, to, key)
    }

    /// A host to itself goes by its switch.
    fn shortest(&mut self, from: NodeId, to: NodeId, key: u64) -> Option<Vec<PortId>> {
        let network = self.network;
        let goal = goal(network, to);
        if !self.distances.contains_key(&goal) {
            let distances = distances(network, &self.trunks, &goal);
            self.distances.insert(goal.clone(), distances);
        }
        let distance = &self.distances[&goal];
        let mut path = Vec::new();
        let mut at = from;
        while path.len() <= network.nodes.len() {
            let choices = self.next_hops(distance, at, to);
            let port = *choices.get(spread(key, path.len(), choices.len()))?;
            path.push(port);
            at = network.ports[port as usize].to;
            if at == to {
                return Some(path);
            }
        }
        None
    }

    /// The ports of `at` that are on a shortest way to `to`.
    fn next_hops(&self, distance: &[u32], at: NodeId, to: NodeId) -> Vec<PortId> {
        let far = |port: PortId| self.network.ports[port as usize].to;
        let back = self.network.of_node[to as usize].iter();
        let last: Vec<_> = back
            .filter(|&&port| far(port) == at)
            .map(|&port| other_end(port))
            .collect();
        if !last.is_empty() {
            return last;
        }
        let trunks = &self.trunks[at as usize];
        let steps = |port: &PortId| distance[far(*port) as usize];
        let nearest = trunks.iter().map(steps).min().unwrap_or(FAR);
        let on_the_way = |port: &PortId| steps(port) == nearest && nearest != FAR;
        trunks.iter().copied().filter(on_the_way).collect()
    }
}

/// Where a way to this node is nearly there: at the switches of a host.
fn goal(network: &Network, to: NodeId) -> Vec<NodeId> {
    match network.is_host(to) {
        true => neighbours(network, to),
        false => vec![to],
    }
}

/// The switches that a host is connected to.
fn neighbours(network: &Network, host: NodeId) -> Vec<NodeId> {
    let ports = &network.of_node[host as usize];
    let mut far: Vec<_> = ports
        .iter()
        .map(|&port| network.ports[port as usize].to)
        .collect();
    far.sort_unstable();
    far.dedup();
    far
}

/// Steps to the nearest of `goal`, from each node. Hosts do not forward.
fn distances(network: &Network, trunks: &[Vec<PortId>], goal: &[NodeId]) -> Vec<u32> {
    let mut distance = vec![FAR; network.nodes.len()];
    let mut reached: VecDeque<_> = goal.iter().copied().collect();
    for &node in goal {
        distance[node as usize] = 0;
    }
    while let Some(node) = reached.pop_front() {
        for &port in &trunks[node as usize] {
            let next = network.ports[port as usize].to as usize;
            if distance[next] == FAR {
                distance[next] = distance[node as usize] + 1;
                reached.push_back(next as NodeId);
            }
        }
    }
    distance
}

/// Which of `choices` equal ways a flow takes at a hop.
fn spread(key: u64, hop: usize, choices: usize) -> usize {
    if choices <= 1 {
        return 0;
    }
    let mixed = delaylab_stats::random::SplitMix::new(key ^ (hop as u64) << 56).next();
    ((u128::from(mixed) * choices as u128) >> 64) as usize
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test that fails may panic
mod tests {
    use super::*;
    use crate::network::{Kind, Line};
    use delaylab_model::path::HostCosts;

    /// Two hosts, each at a switch of its own, and two switches between those.
    fn diamond() -> Network {
        let mut network = Network::default();
        let host = Kind::Host(HostCosts::default());
        let switch = Kind::Switch(Box::default());
        let [a, b] = ["a", "b"].map(|name| network.node(name, host.clone()));
        let [s, t, u, v] = ["s", "t", "u", "v"].map(|name| network.node(name, switch.clone()));
        let line = Line {
            rate: 1,
            propagation: 0,
        };
        for (name, from, to) in [
            ("as", a, s),
            ("st", s, t),
            ("su", s, u),
            ("tv", t, v),
            ("uv", u, v),
            ("vb", v, b),
        ] {
            network.link(name, from, to, line);
        }
        network
    }

    fn links(network: &Network, path: &[PortId]) -> Vec<String> {
        path.iter()
            .map(|&port| network.ports[port as usize].link.clone())
            .collect()
    }

    #[test]
    fn equal_ways_share_the_flows() {
        let network = diamond();
        let mut routes = Routes::new(&network);
        let by_t = (0..1000)
            .filter(|&key| links(&network, &routes.path(0, 1, None, key).unwrap())[1] == "st")
            .count();
        assert!((400..600).contains(&by_t), "{by_t}");
    }

    #[test]
    fn a_named_link_is_taken() {
        let network = diamond();
        let mut routes = Routes::new(&network);
        for key in 0..20 {
            let path = routes.path(0, 1, Some("uv"), key).unwrap();
            assert_eq!(links(&network, &path), ["as", "su", "uv", "vb"]);
        }
        assert_eq!(routes.path(0, 1, Some("no such link"), 0), None);
    }

    #[test]
    fn a_host_reaches_itself_by_its_switch() {
        let network = diamond();
        let path = Routes::new(&network).path(0, 0, None, 0).unwrap();
        assert_eq!(links(&network, &path), ["as", "as"]);
    }

    #[test]
    fn an_island_is_not_reached() {
        let mut network = diamond();
        let island = network.node("island", Kind::Host(HostCosts::default()));
        assert_eq!(Routes::new(&network).path(0, island, None, 0), None);
    }
}
