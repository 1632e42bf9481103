//! What a path section becomes: which namespaces, what is in each, and where probes and loads go.
//!
//! | module | lays out |
//! |---|---|
//! | `switched` | one network: switches by hardware address |
//! | `routed` | routers that count hops, and several ways between them |
//! | [`kernel_queue`] | the kernel's queues at a port |
//! | `kernel_features` | what they need that not every kernel has |
//! | [`mod@refusals`] | what cannot be built |
//!
//! Nodes, links and flows are those that the simulation has too ([`mod@delaylab_topology::build`]), by the same names. An
//! interface is called as its link is.

mod kernel_features;
pub mod kernel_queue;
pub mod refusals;
mod routed;
mod switched;

pub use refusals::refusals;

use crate::soft_switch::device::{DeviceSettings, PortSettings};
use crate::soft_switch::frame::Mac;
use crate::step::Step;
use delaylab_model::dscp::Dscp;
use delaylab_model::path::{Discipline, Framing, NodeKind, Path, Switch, Topology};
use delaylab_model::quantity::Limit;
use delaylab_model::refusal::{Refusal, refuse};
use delaylab_model::series::KeptSeries;
use delaylab_model::trial::Trial;
use delaylab_switch::settings::BUFFER_OF_CELLS;
use delaylab_switch::{Counts, Settings};
use delaylab_topology::classes::{QUEUES, queue_of};
use delaylab_topology::framing::{CELL, in_cells, mtu, wire};
use delaylab_topology::network::{Kind, Network, NodeId, PortId};
use delaylab_topology::queues::switch_settings;
use delaylab_topology::time::picos;
use delaylab_topology::{Built, Ends};
use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

/// The kernel's names of interfaces have no more bytes.
const LONGEST_NAME: usize = 15;

/// Names that a namespace has already, or under which the kernel keeps the parameters of all interfaces.
const TAKEN: [&str; 4] = ["lo", switched::BRIDGE, "all", "default"];

/// The alias of the loopback interface in every namespace of a testbed: a name alone may be somebody else's.
pub const MARK: &str = "delaylab-testbed";

/// What is done inside a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inside {
    /// `ip` with these words.
    Ip(String),
    /// `tc` with these words.
    Tc(String),
    /// A table of rules for `nft`.
    Nft(String),
    /// A kernel parameter.
    Sysctl(&'static str, &'static str),
}

impl Inside {
    /// In the namespace of this full name.
    fn step(&self, place: String) -> Step {
        match self.clone() {
            Inside::Ip(words) => Step::IpIn(place, words),
            Inside::Tc(words) => Step::Tc(place, words),
            Inside::Nft(rules) => Step::Nft(place, rules),
            Inside::Sysctl(key, value) => Step::Sysctl(place, key.to_owned(), value),
        }
    }
}

/// One end of a veth pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// In which namespace.
    pub place: usize,
    /// What it is called there.
    pub interface: String,
    /// Its hardware address.
    pub mac: Mac,
}

/// A host, and how it is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Its namespace.
    pub place: usize,
    /// Its address.
    pub address: Ipv4Addr,
}

/// A soft switch, and the interfaces of its ports.
#[derive(Debug, Clone, PartialEq)]
pub struct SoftDevice {
    /// Its namespace.
    pub place: usize,
    /// Of each port.
    pub interfaces: Vec<String>,
    /// What it does.
    pub settings: DeviceSettings,
}

/// A port whose queue is the kernel's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelPort {
    /// Its namespace.
    pub place: usize,
    /// What it is called there.
    pub interface: String,
    /// What it is called in series: `s1→s2`.
    pub name: Arc<str>,
    /// Why it drops packets, where it does.
    pub why_dropped: &'static str,
}

/// Namespaces and what is in them: all but the soft switches.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Structure {
    /// The short names of the namespaces: those of their nodes.
    pub places: Vec<String>,
    /// Veth pairs.
    pub cables: Vec<[End; 2]>,
    /// Largest IP packet.
    pub mtu: u32,
    /// Hosts by their names.
    pub hosts: Vec<(String, Host)>,
    /// What is done then, in this order.
    pub inside: Vec<(usize, Inside)>,
}

/// A whole testbed.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    /// Its namespaces.
    pub structure: Structure,
    /// Its soft switches.
    pub devices: Vec<SoftDevice>,
    /// Ports with queues of the kernel.
    pub kernel_ports: Vec<KernelPort>,
    /// Of each probe, the hosts that it is between.
    pub probes: Vec<[usize; 2]>,
    /// Of each stream of each load.
    pub loads: Vec<Vec<[usize; 2]>>,
}

/// The series that a testbed keeps of this trial; none where it is refused. Of a host's own line, of a cable between a host and
/// a router, and of how busy a queue of the kernel is nothing is seen.
pub fn kept_series(trial: &Trial) -> Vec<KeptSeries> {
    let Ok(layout) = lay_out(trial) else {
        return Vec::new();
    };
    let of_devices = layout
        .devices
        .iter()
        .flat_map(|device| &device.settings.ports);
    let of_devices = of_devices.flat_map(|port| {
        ["backlog", "utilisation"].map(|series| KeptSeries {
            series,
            of: port.name.clone(),
        })
    });
    let of_the_kernel = layout.kernel_ports.iter().map(|port| KeptSeries {
        series: "backlog",
        of: port.name.clone(),
    });
    let of_queues = of_devices.chain(of_the_kernel);
    of_queues.chain(trial.series_of_hosts()).collect()
}

/// Lays a trial's path out.
///
/// # Errors
/// Names the field that cannot be honoured.
pub fn lay_out(trial: &Trial) -> Result<Layout, Refusal> {
    if let Some(refusal) = refusals(trial).into_iter().next() {
        return Err(refusal);
    }
    let built = refusals::build(trial)?;
    let builder = Builder::new(&trial.path, &built);
    if is_routed(&trial.path) {
        builder.routed(trial)
    } else {
        builder.switched()
    }
}

/// Do nodes between hosts route, and count hops?
pub fn is_routed(path: &Path) -> bool {
    let by_topology = matches!(path.topology, Some(Topology::Routed | Topology::TwoPaths));
    by_topology || path.node.iter().any(|node| node.kind == NodeKind::Router)
}

/// The kernel's queue at the ports of this switch, if it is one of the kernel's.
pub fn kernel_discipline(switch: &Switch) -> Option<Discipline> {
    switch.discipline.filter(|which| which.is_of_the_kernel())
}

impl Structure {
    /// The host of this name.
    pub(crate) fn host(&self, name: &str) -> Option<&Host> {
        let mut hosts = self.hosts.iter();
        hosts.find(|(known, _)| known == name).map(|(_, host)| host)
    }

    /// Every command that builds it, with this before each namespace's short name.
    pub fn steps(&self, id: &str) -> Vec<Step> {
        let full = |place: usize| format!("{id}-{}", self.places[place]);
        let mut steps = Vec::new();
        for place in 0..self.places.len() {
            steps.push(Step::Ip(format!("netns add {}", full(place))));
            let mark = format!("link set lo alias {MARK}");
            steps.push(Step::IpIn(full(place), mark));
        }
        // No packet that nobody asked for.
        for place in 0..self.places.len() {
            for key in ["all", "default"] {
                let key = format!("net.ipv6.conf.{key}.disable_ipv6");
                steps.push(Step::Sysctl(full(place), key, "1"));
            }
        }
        // Interfaces copy kernel parameters when they are made, and what is written to `all` and `default` then is not theirs.
        let is_parameter = |(_, inside): &&(usize, Inside)| matches!(inside, Inside::Sysctl(..));
        let (parameters, others): (Vec<_>, Vec<_>) = self.inside.iter().partition(is_parameter);
        let step = |(place, inside): &(usize, Inside)| inside.step(full(*place));
        steps.extend(parameters.into_iter().map(step));
        let mtu = self.mtu;
        for [a, b] in &self.cables {
            let end = |end: &End| {
                let (name, mac) = (&end.interface, write_mac(end.mac));
                format!("name {name} mtu {mtu} address {mac}")
            };
            let other = full(b.place);
            let words = format!(
                "link add {} type veth peer {} netns {other}",
                end(a),
                end(b)
            );
            steps.push(Step::IpIn(full(a.place), words));
        }
        for end in self.cables.iter().flatten() {
            steps.push(Step::WholeFrames(full(end.place), end.interface.clone()));
            let up = format!("link set dev {} up", end.interface);
            steps.push(Step::IpIn(full(end.place), up));
        }
        for (_, host) in &self.hosts {
            steps.push(Step::IpIn(full(host.place), "link set lo up".to_owned()));
        }
        steps.extend(others.into_iter().map(step));
        steps
    }

    /// Every command that makes the queues of these ports anew, with nothing in them.
    pub fn fresh_queues(&self, id: &str, ports: &[KernelPort]) -> Vec<Step> {
        let full = |place: usize| format!("{id}-{}", self.places[place]);
        let remove = |port: &KernelPort| {
            Step::Tc(
                full(port.place),
                format!("qdisc del dev {} root", port.interface),
            )
        };
        let is_queue = |(_, inside): &&(usize, Inside)| matches!(inside, Inside::Tc(_));
        let queues = self.inside.iter().filter(is_queue);
        let make = queues.map(|(place, inside)| inside.step(full(*place)));
        ports.iter().map(remove).chain(make).collect()
    }

    /// The end of the first cable at this host.
    pub fn end_of(&self, host: &Host) -> Option<&End> {
        self.cables
            .iter()
            .flatten()
            .find(|end| end.place == host.place)
    }

    /// The commands that take it down again: everything in a namespace goes with it.
    pub fn undo(&self, id: &str) -> Vec<Step> {
        let del = |place: &String| Step::Ip(format!("netns del {id}-{place}"));
        self.places.iter().rev().map(del).collect()
    }
}

fn write_mac(mac: Mac) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

/// What the two kinds of layout have in common.
struct Builder<'a> {
    path: &'a Path,
    built: &'a Built,
    network: &'a Network,
    structure: Structure,
    devices: Vec<SoftDevice>,
    kernel_ports: Vec<KernelPort>,
    /// Of each node of the network, its place.
    place_of: Vec<usize>,
    /// Of each host of the network, its number.
    host_of: HashMap<NodeId, usize>,
    ends: u32,
}

impl<'a> Builder<'a> {
    /// A place for each node.
    fn new(path: &'a Path, built: &'a Built) -> Self {
        let network = &built.network;
        let names = network.nodes.iter().map(|node| node.name.clone());
        Self {
            path,
            built,
            network,
            structure: Structure {
                places: names.collect(),
                mtu: built.mtu,
                ..Structure::default()
            },
            devices: Vec::new(),
            kernel_ports: Vec::new(),
            place_of: (0..network.nodes.len()).collect(),
            host_of: HashMap::new(),
            ends: 0,
        }
    }

    fn host_nodes(&self) -> impl Iterator<Item = NodeId> + use<'a> {
        let network = self.network;
        (0..network.nodes.len() as NodeId).filter(|&node| network.is_host(node))
    }

    fn add_host(&mut self, node: NodeId, address: Ipv4Addr) {
        let place = self.place_of[node as usize];
        self.host_of.insert(node, self.structure.hosts.len());
        let name = self.network.nodes[node as usize].name.clone();
        let host = Host { place, address };
        self.structure.hosts.push((name, host));
        // What one connection learned is not for the next: trials are alike.
        self.inside(place, Inside::Sysctl("net.ipv4.tcp_no_metrics_save", "1"));
    }

    fn inside(&mut self, place: usize, inside: Inside) {
        self.structure.inside.push((place, inside));
    }

    fn ip(&mut self, place: usize, words: String) {
        self.inside(place, Inside::Ip(words));
    }

    /// Has a place know this address from the start: no packet waits for an answer to who has it.
    fn know(&mut self, place: usize, address: Ipv4Addr, mac: Mac, interface: &str) {
        let mac = write_mac(mac);
        let words = format!("neigh add {address} lladdr {mac} dev {interface} nud permanent");
        self.ip(place, words);
    }

    /// What the interfaces of a port's link are called: each of its two ports has the same. By its number where its own
    /// name is none of an interface, is taken, or could be another link's number.
    fn interface(&self, port: PortId) -> String {
        let link = &self.network.ports[port as usize].link;
        let is_long = link.len() > LONGEST_NAME;
        let is_number = (link.strip_prefix("link")).is_some_and(|rest| rest.parse::<u32>().is_ok());
        if is_long
            || is_number
            || TAKEN.contains(&link.as_str())
            || link.contains(|c: char| c.is_whitespace() || c == '/')
        {
            format!("link{}", port / 2)
        } else {
            link.clone()
        }
    }

    fn end(&mut self, place: usize, interface: &str) -> End {
        self.ends += 1;
        let [_, a, b, c] = self.ends.to_be_bytes();
        End {
            place,
            interface: interface.to_owned(),
            // Locally administered.
            mac: [0x02, 0x64, 0x6c, a, b, c],
        }
    }

    fn cable(&mut self, from: usize, to: usize, interface: &str) {
        let ends = [self.end(from, interface), self.end(to, interface)];
        self.structure.cables.push(ends);
    }

    /// Queues of the kernel at an interface, for what leaves by this port.
    fn kernel_queue(
        &mut self,
        discipline: Discipline,
        section: &Switch,
        port: PortId,
        place: usize,
        interface: &str,
    ) -> Result<(), Refusal> {
        let (rate, mtu) = (self.network.ports[port as usize].rate, self.built.mtu);
        let words = kernel_queue::commands(discipline, section, self.path, interface, rate, mtu)?;
        for words in words {
            self.inside(place, Inside::Tc(words));
        }
        self.kernel_ports.push(KernelPort {
            place,
            interface: interface.to_owned(),
            name: self.network.port_name(port).into(),
            why_dropped: kernel_queue::why_dropped(discipline, section),
        });
        Ok(())
    }

    fn switch_section(&self, node: NodeId) -> Switch {
        match &self.network.nodes[node as usize].kind {
            Kind::Switch(section) => (**section).clone(),
            Kind::Host(_) => Switch::default(),
        }
    }

    fn port_settings(&self, port: PortId, host: bool) -> PortSettings {
        let settings = &self.network.ports[port as usize];
        PortSettings {
            name: self.network.port_name(port).into(),
            rate: settings.rate,
            propagation: settings.propagation,
            host,
        }
    }

    /// A soft switch with these ports, without the addresses that it knows.
    fn device(
        &self,
        section: &Switch,
        ports: Vec<PortSettings>,
    ) -> Result<DeviceSettings, Refusal> {
        let framing = self.built.framing;
        let queues = queues(section, self.path, framing)?;
        let code_points = std::array::from_fn(|code| code as u8);
        Ok(DeviceSettings {
            ports,
            table: HashMap::new(),
            floods: false,
            queues,
            queue_of: code_points
                .map(|code| queue_of(self.path, Dscp::new(code).unwrap_or_default())),
            framing,
            latency: picos(section.latency),
            impair: section.impair.unwrap_or_default(),
            reset: section.reset,
            pause: section.pause,
        })
    }

    fn layout(self) -> Layout {
        let pair = |ends: &Ends| [self.host_of[&ends.from], self.host_of[&ends.to]];
        Layout {
            probes: self.built.probes.iter().map(pair).collect(),
            loads: (self.built.loads.iter())
                .map(|streams| streams.iter().map(pair).collect())
                .collect(),
            structure: self.structure,
            devices: self.devices,
            kernel_ports: self.kernel_ports,
        }
    }
}

/// The queues of a soft switch. Frames are forwarded whole, also where cells are charged: a frame has the bytes of its cells then.
fn queues(section: &Switch, path: &Path, framing: Framing) -> Result<Settings, Refusal> {
    if !in_cells(framing) {
        return switch_settings(section, path, framing);
    }
    for (name, bucket) in [("shaper", section.shaper), ("policer", section.policer)] {
        if bucket.is_some_and(|bucket| bucket.header.is_some()) {
            let why = "cells are counted whole: leave `header` out";
            return refuse(format!("path.switch.{name}"), why);
        }
    }
    if section.discipline == Some(Discipline::Cake) {
        let why =
            "cake counts the bytes of packets, and here cells are charged: leave `framing` out";
        return refuse("path.switch.discipline", why);
    }
    let settings = Settings::read(&in_bytes(section), Counts::Packets, &QUEUES);
    let settings = settings.map_err(|refusal| refusal.within("path.switch"))?;
    let largest = mtu(path)?;
    let framed = wire(framing, largest).total_bytes();
    let mut settings = settings.with_largest(largest, framed, section);
    settings.memory.longest_gives_way = false;
    Ok(settings)
}

/// Limits in cells as bytes of cells, and the buffer that links of cells have by default.
fn in_bytes(section: &Switch) -> Switch {
    let bytes = |limit: Limit| match limit {
        Limit::Cells(cells) => Limit::Bytes(cells.saturating_mul(u64::from(CELL))),
        other => other,
    };
    let mut section = section.clone();
    section.buffer = Some(bytes(section.buffer.unwrap_or(BUFFER_OF_CELLS)));
    section.queue_buffer = section.queue_buffer.map(bytes);
    section.threshold = section.threshold.map(bytes);
    if let Some(red) = &mut section.red {
        (red.min, red.max) = (bytes(red.min), bytes(red.max));
    }
    section
}

#[cfg(test)]
mod tests;
