//! A trial as a simulation: everything at its beginning.

mod flows;
mod nodes;
mod probes;

use super::explicit::{of_the_interval, of_the_least_rate};
use super::guarded::controls_of;
use super::servers::Server;
use super::shares::Shares;
use super::{Barrier, Channel, Engine, Flow, Node, Port, Serving};
use crate::amounts::Amounts;
use crate::cpu::Cpu;
use crate::event_set::EventSet;
use crate::nic::Nic;
use crate::packet::{Arena, ChannelId};
use crate::slots::{Event, Slots};
use delaylab_model::dscp::Dscp;
use delaylab_model::refusal::{Refusal, refuse};
use delaylab_model::trial::Trial;
use delaylab_stats::random::SplitMix;
use delaylab_switch::credit::Downstream;
use delaylab_topology::classes::{queue_of, remarked};
use delaylab_topology::framing::{Wire, in_cells, wire};
use delaylab_topology::network::{Kind, Network, NodeId};
use delaylab_topology::{Built, Ends, Routes, build};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A stream of random numbers of its own for each thing that needs one.
fn seed_for(trial: &Trial, purpose: u64, index: u64) -> u64 {
    SplitMix::new(trial.seed ^ purpose.rotate_left(48) ^ index.rotate_left(20)).next()
}

const SWITCHES: u64 = 1;
const LOADS: u64 = 2;
const PROBES: u64 = 3;
const HOSTS: u64 = 4;
const TICKS: u64 = 5;

/// The trial at time zero.
///
/// # Errors
/// The first field that cannot be simulated, of those that show only here.
pub(super) fn engine<E: EventSet>(trial: &Trial, serving: Serving) -> Result<Engine<E>, Refusal> {
    let built = build(trial)?;
    let mut maker = Maker::new(trial, &built);
    maker.flows()?;
    maker.nodes()?;
    maker.ports(serving);
    Ok(maker.engine())
}

/// What depends on how many channels go through a port. `under`: the place of a switch's section in the file, by its name.
///
/// # Errors
/// The first field that cannot be simulated.
pub(super) fn of_the_channels(
    trial: &Trial,
    built: &Built,
    under: impl Fn(&str) -> String,
) -> Result<(), Refusal> {
    let mut maker = Maker::new(trial, built);
    maker.flows()?;
    let least = trial.path.abr.and_then(|abr| abr.0.mcr);
    for (node, ports) in built.network.nodes.iter().zip(&built.network.of_node) {
        for outlet in maker.outlets(ports) {
            let name = built.network.port_name(outlet.port);
            of_the_least_rate(least, &name, outlet)?;
            if let Kind::Switch(section) = &node.kind {
                of_the_interval(section, &under(&node.name), &name, outlet)?;
            }
        }
    }
    Ok(())
}

/// Puts a simulation together.
struct Maker<'a> {
    trial: &'a Trial,
    network: &'a Network,
    built: &'a Built,
    routes: Routes<'a>,
    /// Of each node: its number among the hosts, or among the switches.
    numbers: Vec<u32>,
    channels: Vec<Channel>,
    /// Of each channel: where it comes from, and where it goes.
    ends: Vec<[u32; 2]>,
    ways: Vec<u32>,
    flows: Vec<Flow>,
    names: Vec<Arc<str>>,
    first_load: u32,
    /// How many of the flows are connections that take each other's place.
    spare: usize,
    goodputs: Vec<Option<Amounts>>,
    barriers: Vec<Option<Barrier>>,
    shares: Vec<Shares>,
    hosts: Vec<Cpu>,
    switches: Vec<Node>,
    ports: Vec<Port>,
    nics: Vec<Nic>,
}

impl<'a> Maker<'a> {
    fn new(trial: &'a Trial, built: &'a Built) -> Self {
        let network = &built.network;
        let mut counts = [0, 0];
        let number = |node| {
            let count = &mut counts[usize::from(network.is_host(node))];
            *count += 1;
            *count - 1
        };
        Self {
            trial,
            network,
            built,
            routes: Routes::new(network),
            numbers: (0..network.nodes.len() as NodeId).map(number).collect(),
            channels: Vec::new(),
            ends: Vec::new(),
            ways: Vec::new(),
            flows: Vec::new(),
            names: Vec::new(),
            first_load: 0,
            spare: 0,
            goodputs: Vec::new(),
            barriers: Vec::new(),
            shares: Vec::new(),
            hosts: Vec::new(),
            switches: Vec::new(),
            ports: Vec::new(),
            nics: Vec::new(),
        }
    }

    fn number(&self, node: NodeId) -> u32 {
        self.numbers[node as usize]
    }

    /// A channel there and one back.
    fn channels(&mut self, ends: &Ends, class: Dscp, ecn: u8) -> Result<[ChannelId; 2], Refusal> {
        let ids = [0, 1].map(|way| self.channels.len() as ChannelId + way);
        // What comes back has the class that arrived.
        let arrived = remarked(&self.trial.path, class);
        let ways = [
            (ends.from, ends.to, &ends.out, class),
            (ends.to, ends.from, &ends.back, arrived),
        ];
        let key = self.trial.seed ^ u64::from(ids[0]);
        for (at, (from, to, via, class)) in ways.into_iter().enumerate() {
            let Some(path) = self.routes.path(from, to, via.as_deref(), key) else {
                return refuse("path", "no links lead from one end to the other");
            };
            self.ends.push([from, to].map(|node| self.number(node)));
            self.channels.push(Channel {
                joined: false,
                first: path[0],
                links: path.len() as u8,
                way: self.ways.len() as u32,
                reverse: ids[1 - at],
                flow: self.flows.len() as u32,
                queue: queue_of(&self.trial.path, class),
                dscp: class.code_point(),
                ecn,
            });
            self.ways.extend(path);
        }
        Ok(ids)
    }

    fn engine<E: EventSet>(self) -> Engine<E> {
        let controls = controls_of(self.trial, self.built);
        let slots = Slots {
            ports: self.ports.len() as u32,
            hosts: self.hosts.len() as u32,
            flows: self.flows.len() as u32,
            switches: self.switches.len() as u32,
            controls: controls.len() as u32,
            servers: self.trial.path.server.len() as u32,
        };
        let probes_left = self.trial.probes.len();
        let counts_queues = !self.counted_ports().is_empty();
        let framing = self.built.framing;
        let forwarded = self
            .credit()
            .map(|credit| vec![Downstream::new(credit); self.ways.len()]);
        let measuring = self
            .built
            .probes
            .first()
            .map_or(0, |ends| self.number(ends.from));
        let ports = 0..self.ports.len() as u32;
        let port_names = ports
            .map(|port| self.network.port_name(port).into())
            .collect();
        let mut engine = Engine {
            now: 0,
            events: E::new(slots.count()),
            slots,
            ports: self.ports,
            switches: self.switches,
            nics: self.nics,
            hosts: self.hosts,
            servers: self.trial.path.server.iter().map(Server::new).collect(),
            channels: self.channels,
            ways: self.ways,
            packets: Arena::default(),
            flows: self.flows,
            drops: Vec::new(),
            in_cells: in_cells(framing),
            has_abr: self.trial.path.abr.is_some(),
            counts_queues,
            tells_back: forwarded.is_some() || !controls.is_empty(),
            controls,
            forwarded: forwarded.unwrap_or_default(),
            framing,
            probes_left,
            probes_sending: probes_left,
            only_waits: false,
            last_frame: 0,
            digest: 0,
            digest_of_records: 0,
            counts: super::Counts::default(),
            records: Vec::new(),
            hops: Vec::new(),
            measuring,
            noise: Vec::new(),
            clock_reads: BTreeMap::new(),
            first_load: self.first_load,
            lost_load: 0,
            goodputs: self.goodputs,
            barriers: self.barriers,
            load_names: (self.trial.loads.iter())
                .map(|load| load.name.as_str().into())
                .collect(),
            shares: self.shares,
            port_names,
            flow_names: self.names,
        };
        engine.begin_all();
        engine
    }
}

impl<E: EventSet> Engine<E> {
    fn begin_all(&mut self) {
        for host in 0..self.hosts.len() as u32 {
            let next = self.hosts[host as usize].next_daemon();
            self.set(Event::Daemon(host), next);
        }
        for switch in 0..self.switches.len() as u32 {
            let node = &mut self.switches[switch as usize];
            let at = node.reset.map(|(at, _)| at);
            node.fresh = at.map(|_| Box::new(node.switch.clone()));
            self.set(Event::Reset(switch), at);
        }
        for flow in 0..self.flows.len() as u32 {
            let at = match &self.flows[flow as usize] {
                Flow::Probe(_) | Flow::TcpProbe(_) | Flow::Fresh(_) => Some(0),
                Flow::Tcp(connection) => Some(connection.starts),
                Flow::Load(load) => load.next.map(|packet| packet.at),
                Flow::Frames(stream) => Some(stream.next()),
            };
            self.set(Event::Application(flow), at);
        }
    }

    /// Bytes and units of an IP packet on every link.
    #[inline]
    pub(super) fn wire(&self, ip_size: u32) -> Wire {
        wire(self.framing, ip_size)
    }
}
