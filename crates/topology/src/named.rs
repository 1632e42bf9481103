//! Topologies by name, one function each.

use crate::flows::{MOST_FLOWS, Site, Usual};
use crate::line::{differing, line, possible_lines};
use crate::network::{Kind, Line, Network, NodeId};
use delaylab_model::path::{ACCESS, HostCosts, Path, Switch, Topology};
use delaylab_model::refusal::{Refusal, refuse};

/// As many links as the most flows need.
const MOST_LINKS: u64 = 4 * MOST_FLOWS;

/// The network of this topology, with as many pairs of hosts as there are flows where their number is not given.
pub(crate) fn named(topology: Topology, path: &Path, flows: u64) -> Result<Site, Refusal> {
    if !path.node.is_empty() || !path.link.is_empty() {
        return refuse(
            "path.node",
            "a topology by name has its own nodes: give it or nodes and links",
        );
    }
    if topology == Topology::Loopback {
        return refuse(
            "path.topology",
            "a host that asks itself sends no packet: run it in the world live. `switch-loopback` has a path, in the world sim",
        );
    }
    known_counts(Some(topology), path)?;
    let builder = Builder::new(path)?;
    Ok(match topology {
        Topology::Loopback | Topology::SwitchLoopback => builder.switch_loopback(),
        Topology::TwoHosts => builder.two_hosts(),
        Topology::PairsOnATrunk => {
            builder.pairs_on_a_trunk(count("path.pairs", path.pairs, flows)?)
        }
        Topology::ManyToOne => builder.many_to_one(count("path.senders", path.senders, flows)?),
        Topology::Chain | Topology::Routed => builder.chain(
            count("path.hops", path.hops, 3)?,
            count("path.pairs", path.pairs, flows)?,
        ),
        Topology::TwoPaths => builder.two_paths(count("path.pairs", path.pairs, flows)?),
        Topology::LeafSpine => builder.leaf_spine(
            count("path.leaves", path.leaves, 4)?,
            count("path.spines", path.spines, 2)?,
            count("path.hosts", path.hosts, 4)?,
        )?,
        Topology::FatTree => builder.fat_tree(count("path.ports", path.ports, 4)?)?,
    })
}

/// A count of something that this topology, or a list of nodes and links, has not.
pub(crate) fn known_counts(topology: Option<Topology>, path: &Path) -> Result<(), Refusal> {
    use Topology::{Chain, FatTree, LeafSpine, ManyToOne, PairsOnATrunk, Routed, TwoPaths};
    type Count<'a> = (&'a str, Option<u32>, &'a [Topology], &'a str);
    let counts: [Count<'_>; 7] = [
        (
            "pairs",
            path.pairs,
            &[PairsOnATrunk, Chain, Routed, TwoPaths],
            "pairs-on-a-trunk, chain, routed and two-paths",
        ),
        ("senders", path.senders, &[ManyToOne], "many-to-one"),
        ("hops", path.hops, &[Chain, Routed], "chain and routed"),
        ("leaves", path.leaves, &[LeafSpine], "leaf-spine"),
        ("spines", path.spines, &[LeafSpine], "leaf-spine"),
        ("hosts", path.hosts, &[LeafSpine], "leaf-spine"),
        ("ports", path.ports, &[FatTree], "fat-tree"),
    ];
    let strange = |(_, given, of, _): &Count<'_>| {
        given.is_some() && !topology.is_some_and(|topology| of.contains(&topology))
    };
    match counts.into_iter().find(strange) {
        Some((name, .., of)) => refuse(
            format!("path.{name}"),
            format!("is of topology {of}, and would mean nothing here: leave it out"),
        ),
        None => Ok(()),
    }
}

fn count(field: &str, given: Option<u32>, usual: u64) -> Result<u64, Refusal> {
    match given.map_or(usual.max(1), u64::from) {
        0 => refuse(field, "none make no path: 1 or more"),
        many if many > MOST_FLOWS => refuse(field, format!("at most {MOST_FLOWS}")),
        count => Ok(count),
    }
}

/// Builds a topology by name.
struct Builder<'a> {
    network: Network,
    path: &'a Path,
    line: Line,
    host: HostCosts,
    switch: Switch,
}

impl<'a> Builder<'a> {
    fn new(path: &'a Path) -> Result<Self, Refusal> {
        let line = line(path.rate, path.propagation, "path")?;
        possible_lines(path)?;
        Ok(Self {
            network: Network::default(),
            path,
            line,
            host: path.host.clone().unwrap_or_default(),
            switch: path.switch.clone().unwrap_or_default(),
        })
    }

    fn host(&mut self, name: impl Into<String>) -> NodeId {
        self.network.node(name, Kind::Host(self.host.clone()))
    }

    fn switch(&mut self, name: impl Into<String>) -> NodeId {
        self.network
            .node(name, Kind::Switch(Box::new(self.switch.clone())))
    }

    /// A host at a switch. Its link has its name.
    fn host_at(&mut self, switch: NodeId, name: String) -> NodeId {
        let host = self.host(name.clone());
        let line = differing(self.path, &name, differing(self.path, ACCESS, self.line));
        self.network.link(name, host, switch, line);
        host
    }

    fn connect(&mut self, name: impl Into<String>, from: NodeId, to: NodeId) {
        let name = name.into();
        let line = differing(self.path, &name, self.line);
        self.network.link(name, from, to, line);
    }

    fn pairs(self, pairs: Vec<[NodeId; 2]>) -> Site {
        Site {
            network: self.network,
            usual: Usual::Pairs(pairs),
        }
    }

    /// Hosts a1, a2 … at one switch and b1, b2 … at the other.
    fn host_pairs(&mut self, left: NodeId, right: NodeId, many: u64) -> Vec<[NodeId; 2]> {
        let mut pair = |i| {
            [
                self.host_at(left, format!("a{i}")),
                self.host_at(right, format!("b{i}")),
            ]
        };
        (1..=many).map(&mut pair).collect()
    }

    fn switch_loopback(mut self) -> Site {
        let switch = self.switch("s1");
        let host = self.host_at(switch, "a1".to_owned());
        self.pairs(vec![[host, host]])
    }

    fn two_hosts(mut self) -> Site {
        let switch = self.switch("s1");
        let pairs = self.host_pairs(switch, switch, 1);
        self.pairs(pairs)
    }

    fn pairs_on_a_trunk(mut self, pairs: u64) -> Site {
        let [left, right] = ["s1", "s2"].map(|name| self.switch(name));
        self.connect("trunk", left, right);
        let pairs = self.host_pairs(left, right, pairs);
        self.pairs(pairs)
    }

    fn many_to_one(mut self, senders: u64) -> Site {
        let switch = self.switch("s1");
        let receiver = self.host_at(switch, "b1".to_owned());
        let pairs = (1..=senders).map(|i| [self.host_at(switch, format!("a{i}")), receiver]);
        let pairs = pairs.collect();
        self.pairs(pairs)
    }

    /// Beside the pairs at its ends, a host c1, c2 … at each switch for traffic that crosses.
    fn chain(mut self, hops: u64, pairs: u64) -> Site {
        let switches: Vec<_> = (1..=hops).map(|i| self.switch(format!("s{i}"))).collect();
        for (pair, i) in switches.windows(2).zip(1..) {
            self.connect(format!("trunk{i}"), pair[0], pair[1]);
        }
        let (first, last) = (switches[0], switches[switches.len() - 1]);
        let pairs = self.host_pairs(first, last, pairs);
        for (&switch, i) in switches.iter().zip(1..) {
            self.host_at(switch, format!("c{i}"));
        }
        self.pairs(pairs)
    }

    /// A congested and a control link between the same switches, and a third for what comes back.
    fn two_paths(mut self, pairs: u64) -> Site {
        let [near, far] = ["s1", "s2"].map(|name| self.switch(name));
        for name in ["congested", "control", "return"] {
            self.connect(name, near, far);
        }
        let pairs = self.host_pairs(near, far, pairs);
        self.pairs(pairs)
    }

    fn leaf_spine(mut self, leaves: u64, spines: u64, hosts: u64) -> Result<Site, Refusal> {
        few(
            "path.leaves",
            leaves.saturating_mul(spines.saturating_add(hosts)),
        )?;
        let leaves: Vec<_> = (1..=leaves)
            .map(|i| self.switch(format!("leaf{i}")))
            .collect();
        for spine in 1..=spines {
            let node = self.switch(format!("spine{spine}"));
            for (&leaf, i) in leaves.iter().zip(1..) {
                self.connect(format!("leaf{i}-spine{spine}"), leaf, node);
            }
        }
        self.hosts_of(&leaves, hosts)
    }

    /// Al-Fares, Loukissas and Vahdat 2008: k pods of k/2 edge and k/2 aggregation switches.
    fn fat_tree(mut self, ports: u64) -> Result<Site, Refusal> {
        if ports < 2 || ports % 2 == 1 {
            return refuse(
                "path.ports",
                "a fat tree has switches with an even number of ports",
            );
        }
        few("path.ports", ports.saturating_pow(3))?;
        let half = ports / 2;
        let cores: Vec<_> = (1..=half * half)
            .map(|i| self.switch(format!("core{i}")))
            .collect();
        let mut edges = Vec::new();
        for pod in 1..=ports {
            let aggregations: Vec<_> = (1..=half)
                .map(|i| self.switch(format!("pod{pod}-aggregation{i}")))
                .collect();
            for (&node, group) in aggregations.iter().zip(cores.chunks(half as usize)) {
                for &core in group {
                    let name = format!("{}-{}", self.name(node), self.name(core));
                    self.connect(name, node, core);
                }
            }
            for i in 1..=half {
                let edge = self.switch(format!("pod{pod}-edge{i}"));
                for &node in &aggregations {
                    let name = format!("{}-{}", self.name(edge), self.name(node));
                    self.connect(name, edge, node);
                }
                edges.push(edge);
            }
        }
        self.hosts_of(&edges, half)
    }

    fn name(&self, node: NodeId) -> &str {
        &self.network.nodes[node as usize].name
    }

    /// Hosts h1, h2 … at these switches. Flows go to the last of all from the others, one switch after
    /// the other: many to one, as in an incast.
    fn hosts_of(mut self, switches: &[NodeId], hosts: u64) -> Result<Site, Refusal> {
        let mut number = 0;
        let mut rows = vec![Vec::new(); hosts as usize];
        for &switch in switches {
            for row in &mut rows {
                number += 1;
                row.push(self.host_at(switch, format!("h{number}")));
            }
        }
        let mut all = rows.concat();
        match all.pop() {
            Some(last) if !all.is_empty() => {
                Ok(self.pairs(all.into_iter().map(|host| [host, last]).collect()))
            }
            _ => refuse("path.hosts", "one host has no other to talk to"),
        }
    }
}

fn few(field: &str, links: u64) -> Result<(), Refusal> {
    if links > MOST_LINKS {
        return refuse(field, format!("{links} links: at most {MOST_LINKS}"));
    }
    Ok(())
}
