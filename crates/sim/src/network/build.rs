//! An experiment's path section as a network, one function a topology, and where its flows go when it
//! does not say.

use super::{Kind, Line, Network, NodeId, Routes};
use crate::{in_time, picos, refuse};
use delaylab_model::load::{Direction, SECOND_DIRECTION};
use delaylab_model::path::{
    ACCESS, Framing, HostCosts, Line as LineSection, Link, Node, NodeKind, Path, Switch, Topology,
};
use delaylab_model::quantity::{Duration, Rate};
use delaylab_model::trial::Trial;
use delaylab_model::world::Refusal;
use std::collections::BTreeMap;

/// More flows than anyone means to simulate; a slip of the pen makes more.
const MOST_FLOWS: u64 = 1_000_000;
/// As many nodes as the flows above need.
const MOST_NODES: u64 = 4 * MOST_FLOWS;

/// Links of a way: cells count them in a byte.
const MOST_LINKS: usize = 255;

/// Where a flow goes, and the link that it must take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ends {
    /// The host that sends.
    pub from: NodeId,
    /// The host that receives.
    pub to: NodeId,
    /// A link on the way out.
    pub out: Option<String>,
    /// A link on the way back.
    pub back: Option<String>,
}

impl Ends {
    /// The other way round.
    fn turned(self) -> Self {
        Self {
            from: self.to,
            to: self.from,
            out: self.back,
            back: self.out,
        }
    }
}

/// A network, and the flows in it.
#[derive(Debug)]
pub struct Built {
    /// Nodes and links.
    pub network: Network,
    /// Of each probe.
    pub probes: Vec<Ends>,
    /// Of each stream of each load.
    pub loads: Vec<Vec<Ends>>,
    /// How packets are put on every link.
    pub framing: Framing,
    /// Largest IP packet.
    pub mtu: u32,
}

/// Builds what a trial asks for.
///
/// # Errors
/// Names the field that cannot be honoured.
pub fn build(trial: &Trial) -> Result<Built, Refusal> {
    let path = &trial.path;
    let flows = count_flows(trial)?;
    let framing = path.framing.unwrap_or(Framing::Ethernet);
    let mtu = mtu(path, framing)?;
    let site = Site::of(path, flows)?;
    few_ports(&site.network)?;
    known_lines(path, &site.network)?;
    known_routes(path, &site.network)?;
    let (probes, loads) = site.flows(trial)?;
    Ok(Built {
        network: site.network,
        probes,
        loads,
        framing,
        mtu,
    })
}

fn count_flows(trial: &Trial) -> Result<u64, Refusal> {
    let mut flows = trial.probes.len() as u64;
    if flows > u64::from(u16::MAX) {
        return refuse("probe", format!("{flows} probes: at most {}", u16::MAX));
    }
    for load in &trial.loads {
        flows += u64::from(load.streams);
        if flows > MOST_FLOWS {
            let field = format!("load.{}.streams", load.name);
            return refuse(
                field,
                format!("{flows} flows: a simulation has at most {MOST_FLOWS}"),
            );
        }
    }
    Ok(flows)
}

/// What links of this framing carry by default: RFC 894, RFC 2225 §7.3 (9180 behind LLC and SNAP).
fn mtu(path: &Path, framing: Framing) -> Result<u32, Refusal> {
    let usual = match framing {
        Framing::Aal5 => 9188,
        Framing::Aal5Llc => 9180,
        Framing::Ethernet | Framing::Ppp => 1500,
    };
    let mtu = path.mtu.map_or(usual, |mtu| mtu.0);
    match u32::try_from(mtu) {
        Ok(mtu) if (68..=65_000).contains(&mtu) => Ok(mtu),
        _ => refuse(
            "path.mtu",
            "an IP packet has 68 B (RFC 791) to 65000 B here",
        ),
    }
}

/// A network and what is known of where flows go in it.
struct Site {
    network: Network,
    usual: Usual,
}

/// Where the flow of this number goes when the experiment does not say.
enum Usual {
    /// Pairs of hosts, one a flow, over again when there are more flows.
    Pairs(Vec<[NodeId; 2]>),
    /// Only where the experiment says.
    Said,
}

impl Site {
    fn of(path: &Path, flows: u64) -> Result<Self, Refusal> {
        let Some(topology) = path.topology else {
            return explicit(path);
        };
        if !path.node.is_empty() || !path.link.is_empty() {
            return refuse(
                "path.node",
                "a topology by name has its own nodes: give it or nodes and links",
            );
        }
        let builder = Builder::new(path)?;
        match topology {
            Topology::Loopback => refuse(
                "path.topology",
                "within one host there is nothing to simulate: `switch-loopback` has a path",
            ),
            Topology::SwitchLoopback => Ok(builder.switch_loopback()),
            Topology::TwoHosts => Ok(builder.two_hosts()),
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
            ),
            Topology::FatTree => builder.fat_tree(count("path.ports", path.ports, 4)?),
        }
    }

    /// Where each probe and each stream of each load goes.
    fn flows(&self, trial: &Trial) -> Result<(Vec<Ends>, Vec<Vec<Ends>>), Refusal> {
        let path = &trial.path;
        let mut routes = Routes::new(&self.network);
        let mut flow = 0..;
        let mut next = |said, class, route, field: &str| {
            let ends = self.ends(path, flow.next().unwrap_or(0), said, class, route, field)?;
            check(&mut routes, &self.network, &ends, field).map(|()| ends)
        };
        let mut probes = Vec::new();
        for probe in &trial.probes {
            let field = format!("probe.{}", probe.name);
            probes.push(next([&probe.from, &probe.to], probe.dscp, None, &field)?);
        }
        let mut loads = Vec::new();
        for load in &trial.loads {
            let field = format!("load.{}", load.name);
            let said = [&load.from, &load.to];
            if let Some(second) = load.second_direction() {
                return refuse(format!("{field}.{second}"), SECOND_DIRECTION);
            }
            let ends = (0..load.streams).map(|_| {
                let ends = next(said, load.class.0, load.route.as_ref(), &field)?;
                Ok(match load.direction {
                    Direction::Up => ends,
                    Direction::Down => ends.turned(),
                })
            });
            loads.push(ends.collect::<Result<Vec<_>, _>>()?);
        }
        Ok((probes, loads))
    }

    fn ends(
        &self,
        path: &Path,
        flow: usize,
        said: [&Option<String>; 2],
        class: delaylab_model::dscp::Dscp,
        route: Option<&String>,
        field: &str,
    ) -> Result<Ends, Refusal> {
        let usual = match &self.usual {
            Usual::Pairs(pairs) => Some(pairs[flow % pairs.len()]),
            Usual::Said => None,
        };
        let end = |which: usize, name: &str| match said[which] {
            Some(host) => self.host(host, &format!("{field}.{name}")),
            None => match usual {
                Some(pair) => Ok(pair[which]),
                None => refuse(
                    format!("{field}.{name}"),
                    "several hosts could be meant: name one of the nodes",
                ),
            },
        };
        let two_paths = path.topology == Some(Topology::TwoPaths);
        let out = route.or_else(|| class_route(path, class)).cloned();
        let ends = Ends {
            from: end(0, "from")?,
            to: end(1, "to")?,
            out: out.or_else(|| two_paths.then(|| "congested".to_owned())),
            back: two_paths.then(|| "return".to_owned()),
        };
        Ok(ends)
    }

    fn host(&self, name: &str, field: &str) -> Result<NodeId, Refusal> {
        let network = &self.network;
        match network.named(name) {
            Some(node) if network.is_host(node) => Ok(node),
            Some(_) => refuse(
                field,
                format!("`{name}` forwards and does not send: name a host"),
            ),
            None => {
                let hosts = network
                    .nodes
                    .iter()
                    .filter(|node| matches!(node.kind, Kind::Host(_)));
                let names: Vec<_> = hosts.map(|node| node.name.as_str()).take(8).collect();
                refuse(
                    field,
                    format!("there is no node `{name}`: there are {}", names.join(", ")),
                )
            }
        }
    }
}

/// Is there a way there and back, and not too long?
fn check(
    routes: &mut Routes<'_>,
    network: &Network,
    ends: &Ends,
    field: &str,
) -> Result<(), Refusal> {
    let name = |node: NodeId| &network.nodes[node as usize].name;
    let ways = [
        (ends.from, ends.to, &ends.out),
        (ends.to, ends.from, &ends.back),
    ];
    for (from, to, via) in ways {
        let (a, b) = (name(from), name(to));
        let Some(path) = routes.path(from, to, via.as_deref(), 0) else {
            let by = via
                .as_ref()
                .map_or(String::new(), |via| format!(" by way of `{via}`"));
            return refuse(field, format!("no links lead from `{a}` to `{b}`{by}"));
        };
        if path.len() > MOST_LINKS {
            let what = format!(
                "from `{a}` to `{b}` are {} links: at most {MOST_LINKS} links",
                path.len()
            );
            return refuse(field, what);
        }
    }
    Ok(())
}

/// Ports are counted in 16 bits.
fn few_ports(network: &Network) -> Result<(), Refusal> {
    for (node, ports) in network.nodes.iter().zip(&network.of_node) {
        if ports.len() > usize::from(u16::MAX) {
            let what = format!(
                "`{}` would have {} ports: at most {}",
                node.name,
                ports.len(),
                u16::MAX
            );
            return refuse("path", what);
        }
    }
    Ok(())
}

/// Every line that differs is there.
fn known_lines(path: &Path, network: &Network) -> Result<(), Refusal> {
    let known = |name: &str| name == ACCESS || network.ports.iter().any(|port| port.link == name);
    match path.line.keys().find(|name| !known(name)) {
        None => Ok(()),
        Some(name) => refuse(
            format!("path.line.{name}"),
            format!(
                "there is no link `{name}`: a host's link has the host's name, those of all are `{ACCESS}`"
            ),
        ),
    }
}

fn known_routes(path: &Path, network: &Network) -> Result<(), Refusal> {
    for (class, link) in &path.route {
        let field = format!("path.route.{class}");
        if class.parse::<delaylab_model::dscp::Dscp>().is_err() {
            return refuse(field, "is not a traffic class");
        }
        if !network.ports.iter().any(|port| port.link == *link) {
            return refuse(field, format!("there is no link `{link}`"));
        }
    }
    Ok(())
}

/// The way that this class takes.
fn class_route(path: &Path, class: delaylab_model::dscp::Dscp) -> Option<&String> {
    let entries = path.route.iter();
    let mut same = entries.filter(|(name, _)| name.parse() == Ok(class));
    same.next().map(|(_, route)| route)
}

fn count(field: &str, given: Option<u32>, usual: u64) -> Result<u64, Refusal> {
    match given.map_or(usual.max(1), u64::from) {
        0 => refuse(field, "none make no path: 1 or more"),
        many if many > MOST_FLOWS => refuse(field, format!("at most {MOST_FLOWS}")),
        count => Ok(count),
    }
}

fn line(rate: Option<Rate>, propagation: Option<Duration>, field: &str) -> Result<Line, Refusal> {
    let Some(Rate(rate)) = rate else {
        return refuse(
            format!("{field}.rate"),
            "links need a rate, like \"155.52Mbit/s\"",
        );
    };
    if rate == 0 {
        return refuse(
            format!("{field}.rate"),
            "nothing gets through a rate of zero",
        );
    }
    in_time(format!("{field}.propagation"), propagation)?;
    Ok(Line {
        rate,
        propagation: picos(propagation),
    })
}

/// The lines that differ, none of which is impossible.
fn lines(path: &Path) -> Result<BTreeMap<String, LineSection>, Refusal> {
    for (name, own) in &path.line {
        let field = format!("path.line.{name}");
        line(own.rate.or(path.rate), own.propagation, &field)?;
    }
    Ok(path.line.clone())
}

/// Nodes and links as they are listed.
fn explicit(path: &Path) -> Result<Site, Refusal> {
    if path.node.is_empty() {
        return refuse(
            "path.topology",
            "the simulation builds its path: give a topology, or nodes and links",
        );
    }
    if let Some(name) = path.line.keys().next() {
        return refuse(
            format!("path.line.{name}"),
            "is for a topology by name: give it to the link, in [[path.link]]",
        );
    }
    let mut network = Network::default();
    for node in &path.node {
        add_node(&mut network, path, node)?;
    }
    for link in &path.link {
        add_link(&mut network, path, link)?;
    }
    let hosts = (0..)
        .zip(&network.nodes)
        .filter(|(_, node)| matches!(node.kind, Kind::Host(_)));
    let hosts: Vec<NodeId> = hosts.map(|(id, _)| id).collect();
    let usual = match hosts[..] {
        [a, b] => Usual::Pairs(vec![[a, b]]),
        _ => Usual::Said,
    };
    Ok(Site { network, usual })
}

/// Namespaces, interfaces and files are called by it, and commands that are printed hold it.
fn check_name(field: &str, name: &str) -> Result<(), Refusal> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_plain = (1..=64).contains(&name.len()) && name.chars().all(plain);
    if is_plain && !name.starts_with(['-', '.']) {
        return Ok(());
    }
    refuse(
        field,
        format!(
            "`{name}` cannot be a name: use up to 64 letters, digits, `-`, `_` and `.`, a letter, a digit or `_` first"
        ),
    )
}

fn add_node(network: &mut Network, path: &Path, node: &Node) -> Result<(), Refusal> {
    check_name("path.node", &node.name)?;
    if network.named(&node.name).is_some() {
        return refuse("path.node", format!("two nodes are called `{}`", node.name));
    }
    let kind = match node.kind {
        NodeKind::Host => {
            let base = path.host.clone().unwrap_or_default();
            Kind::Host(node.host.clone().unwrap_or_default().over(&base))
        }
        NodeKind::Switch | NodeKind::Router => {
            let base = path.switch.clone().unwrap_or_default();
            Kind::Switch(Box::new(
                node.switch.clone().unwrap_or_default().over(&base),
            ))
        }
    };
    network.node(&node.name, kind);
    Ok(())
}

fn add_link(network: &mut Network, path: &Path, link: &Link) -> Result<(), Refusal> {
    check_name("path.link", &link.name)?;
    let field = format!("path.link.{}", link.name);
    if link
        .framing
        .is_some_and(|framing| Some(framing) != path.framing)
    {
        return refuse(
            format!("{field}.framing"),
            "the simulation has one framing for all links: give it under [path]",
        );
    }
    if link.mtu.is_some_and(|mtu| Some(mtu) != path.mtu) {
        return refuse(
            format!("{field}.mtu"),
            "the simulation has one MTU for all links: give it under [path]",
        );
    }
    let end = |name: &str| match network.named(name) {
        Some(node) => Ok(node),
        None => refuse(field.clone(), format!("there is no node `{name}`")),
    };
    let (from, to) = (end(&link.from)?, end(&link.to)?);
    if from == to {
        return refuse(field, "a link has two ends");
    }
    let line = line(
        link.rate.or(path.rate),
        link.propagation.or(path.propagation),
        &field,
    )?;
    network.link(&link.name, from, to, line);
    Ok(())
}

/// Builds a topology by name.
struct Builder {
    network: Network,
    line: Line,
    /// Links that differ, by name, and `access`.
    lines: BTreeMap<String, LineSection>,
    host: HostCosts,
    switch: Switch,
}

impl Builder {
    fn new(path: &Path) -> Result<Self, Refusal> {
        Ok(Self {
            network: Network::default(),
            line: line(path.rate, path.propagation, "path")?,
            lines: lines(path)?,
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
        let line = self.differs(&name, self.differs(ACCESS, self.line));
        self.network.link(name, host, switch, line);
        host
    }

    fn connect(&mut self, name: impl Into<String>, from: NodeId, to: NodeId) {
        let name = name.into();
        let line = self.differs(&name, self.line);
        self.network.link(name, from, to, line);
    }

    /// This line with what `[path.line]` says of it.
    fn differs(&self, name: &str, line: Line) -> Line {
        let own = self.lines.get(name).copied().unwrap_or_default();
        let propagation = own.propagation.map(|time| picos(Some(time)));
        Line {
            rate: own.rate.map_or(line.rate, |rate| rate.0),
            propagation: propagation.unwrap_or(line.propagation),
        }
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

    fn pairs_on_a_trunk(mut self, pairs: u64) -> Result<Site, Refusal> {
        let [left, right] = ["s1", "s2"].map(|name| self.switch(name));
        self.connect("trunk", left, right);
        let pairs = self.host_pairs(left, right, pairs);
        Ok(self.pairs(pairs))
    }

    fn many_to_one(mut self, senders: u64) -> Result<Site, Refusal> {
        let switch = self.switch("s1");
        let receiver = self.host_at(switch, "b1".to_owned());
        let pairs = (1..=senders).map(|i| [self.host_at(switch, format!("a{i}")), receiver]);
        let pairs = pairs.collect();
        Ok(self.pairs(pairs))
    }

    /// Beside the pairs at its ends, a host c1, c2 … at each switch for traffic that crosses.
    fn chain(mut self, hops: u64, pairs: u64) -> Result<Site, Refusal> {
        let switches: Vec<_> = (1..=hops).map(|i| self.switch(format!("s{i}"))).collect();
        for (pair, i) in switches.windows(2).zip(1..) {
            self.connect(format!("trunk{i}"), pair[0], pair[1]);
        }
        let (first, last) = (switches[0], switches[switches.len() - 1]);
        let pairs = self.host_pairs(first, last, pairs);
        for (&switch, i) in switches.iter().zip(1..) {
            self.host_at(switch, format!("c{i}"));
        }
        Ok(self.pairs(pairs))
    }

    /// A congested and a control link between the same switches, and a third for what comes back.
    fn two_paths(mut self, pairs: u64) -> Result<Site, Refusal> {
        let [near, far] = ["s1", "s2"].map(|name| self.switch(name));
        for name in ["congested", "control", "return"] {
            self.connect(name, near, far);
        }
        let pairs = self.host_pairs(near, far, pairs);
        Ok(self.pairs(pairs))
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
            _ => refuse("path.hosts", "one host has nobody to talk to"),
        }
    }
}

fn few(field: &str, nodes: u64) -> Result<(), Refusal> {
    if nodes > MOST_NODES {
        return refuse(field, format!("{nodes} links: at most {MOST_NODES}"));
    }
    Ok(())
}
