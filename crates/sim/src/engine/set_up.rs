//! A trial as a simulation: everything at its beginning.

use super::crossbars::CellTimes;
use super::explicit::{Outlet, explicit_rates, of_the_interval, of_the_least_rate, promised};
use super::frames::FrameStream;
use super::guarded::{controls_of, limits_of};
use super::refusals::refusals;
use super::sections::{DATAGRAM_HEADERS, TCP_HEADERS, TIMESTAMP_OPTION, WINDOW, arrivals};
use super::servers::{Server, sizes};
use super::shares::Shares;
use super::tcp_load::settings_of;
use super::{
    Asking, Barrier, Channel, Connection, Engine, Far, Flow, Load, MOST_SERIES, Near, Node, Port,
    PortSeries, ProbeFlow, Serves, Serving, TcpProbe, Transfers,
};
use crate::amounts::Amounts;
use crate::cpu::Cpu;
use crate::event_set::EventSet;
use crate::nic::{Abr, Gate, Nic};
use crate::packet::{Arena, ChannelId};
use crate::slots::{Event, Slots};
use crate::trace::Trace;
use crate::transmitter::Transmitter;
use delaylab_model::Picos;
use delaylab_model::dscp::Dscp;
use delaylab_model::frames::Frames;
use delaylab_model::load::{Load as LoadSection, LoadKind};
use delaylab_model::method::Method;
use delaylab_model::path::{Credit, Discipline, FlowControl, FlowControlKind, Pause};
use delaylab_model::probe::{Pacing, Probe};
use delaylab_model::quantity::Duration;
use delaylab_model::record::Answer;
use delaylab_model::request::Request;
use delaylab_model::trial::Trial;
use delaylab_model::world::{Refusal, refuse};
use delaylab_stats::random::SplitMix;
use delaylab_switch::Switch;
use delaylab_switch::buffer::Owner;
use delaylab_switch::credit::{Downstream, Upstream};
use delaylab_switch::discard::Discard;
use delaylab_topology::classes::{QUEUES, queue_of, remarked};
use delaylab_topology::framing::{Wire, in_cells, wire};
use delaylab_topology::network::{Kind, Network, NodeId};
use delaylab_topology::queues::switch_settings;
use delaylab_topology::time::picos;
use delaylab_topology::{Built, Ends, Routes, build};
use delaylab_traffic::abr::{Destination, Parameters, Source};
use delaylab_traffic::prober::{Config, Expected, Prober};
use delaylab_traffic::tcp;
use delaylab_traffic::tester::Ledger;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
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

impl<E: EventSet> Engine<E> {
    /// The trial at time zero.
    ///
    /// # Errors
    /// The first field that cannot be simulated.
    pub fn new(trial: &Trial, serving: Serving) -> Result<Self, Refusal> {
        if let Some(refusal) = refusals(trial).into_iter().next() {
            return Err(refusal);
        }
        let built = build(trial)?;
        let mut maker = Maker::new(trial, &built);
        maker.flows()?;
        maker.nodes()?;
        maker.ports(serving);
        Ok(maker.engine())
    }
}

/// What depends on how many channels go through a port, each switch's place in the file beside it.
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

    fn flows(&mut self) -> Result<(), Refusal> {
        let trial = self.trial;
        for (probe, ends) in trial.probes.iter().zip(&self.built.probes) {
            self.probe(probe, ends)?;
            self.names.push(probe.name.as_str().into());
        }
        for index in 0..trial.probes.len() {
            self.connections_of(index);
        }
        let first_load = self.flows.len();
        self.names.resize(first_load, "probe".into());
        self.first_load = first_load as u32;
        for (load, streams) in trial.loads.iter().zip(&self.built.loads) {
            let together = load.kind == LoadKind::Transfers && load.barrier.unwrap_or(true);
            let is_tcp = matches!(load.kind, LoadKind::Tcp | LoadKind::Transfers);
            let streams_of_it = streams.len() as u32;
            self.barriers
                .push((together && streams_of_it > 0).then_some(Barrier {
                    first: self.flows.len() as u32,
                    streams: streams_of_it,
                    waits_for: streams_of_it,
                }));
            let goodput = is_tcp && streams_of_it > 0;
            self.goodputs.push(goodput.then(Amounts::default));
            for (stream, ends) in streams.iter().enumerate() {
                self.load(load, stream as u64, ends)?;
                self.names.push(match streams.len() {
                    1 => load.name.as_str().into(),
                    _ => format!("{} {}", load.name, stream + 1).into(),
                });
            }
            self.shares
                .push(Shares::new(&load.name, streams.len() as u32));
        }
        Ok(())
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

    /// A stream of a tester's frames.
    fn frames(&mut self, probe: &Probe, frames: Frames, ends: &Ends) -> Result<(), Refusal> {
        let index = self.flows.len() as u16;
        let [channel, _] = self.channels(ends, probe.dscp, 0)?;
        let Pacing::Frames { interval_ps } = probe.pacing else {
            return refuse(
                "probe",
                "frames are paced by `load`, a share of the line rate",
            );
        };
        self.flows.push(Flow::Frames(Box::new(FrameStream {
            channel,
            ip_size: frames.ip_size(),
            start: picos(Some(Duration(frames.start))),
            interval: interval_ps,
            count: probe.frames_due(),
            drain: picos(Some(Duration(probe.timeout))),
            ledger: Ledger::new(self.trial.id, index, probe),
            done: false,
        })));
        Ok(())
    }

    fn probe(&mut self, probe: &Probe, ends: &Ends) -> Result<(), Refusal> {
        if let Some(frames) = probe.frames {
            return self.frames(probe, frames, ends);
        }
        let index = self.flows.len() as u16;
        let [out, back] = self.channels(ends, probe.dscp, probe.ecn)?;
        let server = self.number_of_server(probe);
        let serves = |reply| {
            Some(Serves {
                server: server?,
                reply,
                answer: match probe.method {
                    Method::Http => Answer::Status(200),
                    _ => Answer::Code(0),
                },
            })
        };
        let (request, reply) = match &probe.request {
            Some(asked) => sizes(asked),
            None => (probe.payload, probe.reply_payload.unwrap_or(probe.payload)),
        };
        let on_stream = probe
            .request
            .as_ref()
            .is_some_and(Request::is_asked_on_stream);
        let ip_size = match &probe.request {
            Some(_) => (!on_stream).then_some(request + DATAGRAM_HEADERS),
            None => probe.method.ip_size(false, request),
        };
        let loopback = ends.from == ends.to;
        let prober = Prober::new(Config {
            trial: self.trial.id,
            probe: index,
            method: probe.method,
            dscp: probe.dscp.code_point(),
            ip_size,
            pacing: probe.pacing,
            seed: seed_for(self.trial, PROBES, u64::from(index)),
            start: 0,
            count: probe.count,
            duration: probe.duration,
            timeout: probe.timeout,
            expected: Expected {
                departures: true,
                follow_ups: !loopback && server.is_none(),
                acks: on_stream,
            },
        });
        let asking = Asking {
            prober,
            host: self.number(ends.from),
            waiting: false,
            done: false,
        };
        self.flows.push(match ip_size {
            Some(ip_size) => Flow::Probe(Box::new(ProbeFlow {
                asking,
                out,
                back,
                ip_size,
                loopback,
                server: serves(reply + DATAGRAM_HEADERS),
            })),
            None => Flow::TcpProbe(Box::new(TcpProbe {
                asking,
                request: u64::from(request.max(1)),
                reply: u64::from(reply.max(1)),
                requests: 0,
                replies: 0,
                channels: [out, back],
                peer: self.number(ends.to),
                asked: 0,
                answered: 0,
                stamps: VecDeque::new(),
                server: serves(reply),
                acknowledged: 0,
                least_round_trip: None,
            })),
        });
        Ok(())
    }

    /// The number of the server that a probe asks.
    fn number_of_server(&self, probe: &Probe) -> Option<u32> {
        let path = &self.trial.path;
        let asked = path.server_of(probe)?;
        let mut servers = path.server.iter().zip(0..);
        let (_, number) = servers.find(|(server, _)| server.name == asked.name)?;
        Some(number)
    }

    /// The two connections of a probe over TCP.
    fn connections_of(&mut self, index: usize) {
        let next = self.flows.len() as u32;
        let Flow::TcpProbe(probe) = &mut self.flows[index] else {
            return;
        };
        (probe.requests, probe.replies) = (next, next + 1);
        let ([out, back], host, peer) = (probe.channels, probe.asking.host, probe.peer);
        let mss = self.built.mtu - TCP_HEADERS - TIMESTAMP_OPTION;
        let settings = tcp::Settings {
            application: tcp::Application::Requests,
            // A probe asks on an open connection.
            handshake: false,
            host_queue: None,
            ..tcp::Settings::modern(mss, WINDOW)
        };
        let ends = [(out, back, host, peer), (back, out, peer, host)];
        for (is_reply, (data, acks, from, to)) in [false, true].into_iter().zip(ends) {
            self.flows.push(Flow::Tcp(Box::new(Connection {
                sender: tcp::Sender::new(&settings, 0),
                receiver: tcp::Receiver::new(&settings),
                data,
                acks,
                from,
                to,
                headers: TCP_HEADERS + TIMESTAMP_OPTION,
                sending: false,
                queued: 0,
                throttled: false,
                starts: 0,
                probe: Some((index as u32, is_reply)),
                stream: None,
                cwnd: None,
                delivered: 0,
                goodput: None,
                transfers: None,
                srtt: None,
            })));
        }
    }

    fn load(&mut self, load: &LoadSection, stream: u64, ends: &Ends) -> Result<(), Refusal> {
        let start = picos(load.start) + stream * picos(load.stagger);
        let host = self.number(ends.from);
        if !matches!(load.kind, LoadKind::Tcp | LoadKind::Transfers) {
            let seed = seed_for(self.trial, LOADS, self.flows.len() as u64);
            let mut arrivals = arrivals(load, start, seed)?;
            let [channel, _] = self.channels(ends, load.class.0, 0)?;
            let next = arrivals.next();
            self.flows.push(Flow::Load(Box::new(Load {
                arrivals,
                host,
                channel,
                next,
                waiting: false,
                late: false,
            })));
            return Ok(());
        }
        let settings = self.out_of_step(settings_of(load, self.built.mtu)?);
        let [data, acks] = self.channels(ends, load.class.0, settings.ecn_bits())?;
        let option = if settings.timestamps {
            TIMESTAMP_OPTION
        } else {
            0
        };
        let series = self.flows.len() < MOST_SERIES;
        self.flows.push(Flow::Tcp(Box::new(Connection {
            sender: tcp::Sender::new(&settings, start),
            receiver: tcp::Receiver::new(&settings),
            data,
            acks,
            from: host,
            to: self.number(ends.to),
            headers: TCP_HEADERS + option,
            sending: false,
            queued: 0,
            throttled: false,
            starts: start,
            probe: None,
            stream: Some((self.shares.len() as u32, stream as u32)),
            cwnd: series.then(|| Trace::new(settings.initial_window)),
            delivered: 0,
            goodput: series.then(Amounts::default),
            transfers: self.transfers(load, start),
            srtt: None,
        })));
        Ok(())
    }

    /// What the streams of this load transfer, the first from `start` on.
    fn transfers(&self, load: &LoadSection, start: Picos) -> Option<Box<Transfers>> {
        let bytes = load.bytes.filter(|_| load.kind == LoadKind::Transfers)?.0;
        let number = self.barriers.len() as u32 - 1;
        let together = self.barriers.last().is_some_and(Option::is_some);
        Some(Box::new(Transfers {
            bytes,
            gap: picos(load.gap),
            left: load.rounds.map_or(u32::MAX, |rounds| rounds - 1),
            due: Some(start),
            begun: Vec::new(),
            ended: Vec::new(),
            barrier: together.then_some(number),
        }))
    }

    /// Hosts were not switched on together: where the ticks of coarse timers fall is drawn.
    fn out_of_step(&self, mut settings: tcp::Settings) -> tcp::Settings {
        if let tcp::Timer::Coarse { tick, phase, .. } = &mut settings.timer {
            let seed = seed_for(self.trial, TICKS, self.flows.len() as u64);
            *phase = (SplitMix::new(seed).uniform() * *tick as f64) as Picos;
        }
        settings
    }

    fn nodes(&mut self) -> Result<(), Refusal> {
        for (node, id) in self.network.nodes.iter().zip(0_u32..) {
            match &node.kind {
                Kind::Host(costs) => {
                    let seed = seed_for(self.trial, HOSTS, self.hosts.len() as u64);
                    self.hosts.push(Cpu::new(costs, self.trial.host, seed));
                }
                Kind::Switch(section) => {
                    let settings = switch_settings(section, &self.trial.path, self.built.framing)?;
                    let ports = self.network.of_node[id as usize].clone();
                    let rates = (ports.iter()).map(|&port| self.network.ports[port as usize].rate);
                    let fastest = rates.max().unwrap_or(0);
                    let seed = seed_for(self.trial, SWITCHES, u64::from(id));
                    let mut switch = Switch::new(&settings, ports.len(), seed);
                    for (input, limits) in limits_of(self.trial, self.built, id, &settings) {
                        switch.limit_input(input, limits);
                    }
                    for (flow, ends) in (0..).zip(&self.ends) {
                        switch.tell_hosts(flow, *ends);
                    }
                    let rates = explicit_rates(&settings, section, self.outlets(&ports));
                    self.switches.push(Node {
                        special: section.reset.is_some() || !rates.is_empty(),
                        rates,
                        crossbar: (settings.crossbar).map(|_| Box::new(CellTimes::new(fastest))),
                        // What waits at the inputs of a crossbar leaves by events of its own.
                        shared: settings.memory.owner != Owner::Output
                            && settings.crossbar.is_none(),
                        switch,
                        reset: section.reset.map(|reset| {
                            let at = picos(Some(reset.at));
                            (at, at + picos(Some(reset.lasts)))
                        }),
                        early: settings.discard != Discard::Cells && settings.crossbar.is_none(),
                        waiting: Vec::new(),
                        ports,
                    });
                }
            }
        }
        Ok(())
    }

    /// The ports by which a channel goes.
    fn links(&self, channel: ChannelId) -> &[u32] {
        let channel = &self.channels[channel as usize];
        let first = channel.way as usize;
        &self.ways[first..first + usize::from(channel.links)]
    }

    /// What explicit rates of these ports are found by.
    fn outlets(&self, ports: &[u32]) -> impl Iterator<Item = Outlet> {
        ports.iter().map(|&port| Outlet {
            port,
            rate: self.network.ports[port as usize].rate,
            channels: self.ways.iter().filter(|&&link| link == port).count() as u64,
        })
    }

    fn ports(&mut self, serving: Serving) {
        self.cards();
        let between = |port: &delaylab_topology::network::Port| !self.network.is_host(port.from);
        let switch_ports = self
            .network
            .ports
            .iter()
            .filter(|port| between(port))
            .count();
        let credit = self.credit().is_some();
        let guarded = self.flow_control().is_some();
        let counted = self.counted_ports();
        let mut series = 0;
        let mut nic = 0;
        for (id, port) in (0..).zip(&self.network.ports) {
            let from_host = self.network.is_host(port.from);
            let to_host = self.network.is_host(port.to);
            let near = if from_host {
                nic += 1;
                Near::Nic(nic - 1)
            } else {
                let switch = self.numbers[port.from as usize];
                Near::Switch {
                    switch,
                    egress: u32::from(port.egress),
                }
            };
            let number = self.numbers[port.to as usize];
            let far = if to_host {
                Far::Host(number)
            } else {
                Far::Switch
            };
            // Of a large network only what is between switches.
            let traced =
                !from_host && series < MOST_SERIES && (switch_ports <= MOST_SERIES || !to_host);
            series += usize::from(traced);
            let plain = match near {
                Near::Nic(nic) => self.nics[nic as usize].is_plain(),
                Near::Switch { .. } => !self.is_shaped(port.from),
            };
            self.ports.push(Port {
                line: Transmitter::new(port.rate),
                latency: port.propagation + self.latency(port.to),
                pause: self.pause(port.to),
                pipe: VecDeque::new(),
                near,
                far,
                ingress: port.ingress,
                credits: VecDeque::new(),
                is_listed: false,
                eager: serving == Serving::Eager
                    || !plain
                    || credit
                    || guarded
                    || counted.contains(&id),
                series: traced.then(|| {
                    Box::new(PortSeries {
                        backlog: Trace::new(0),
                        utilisation: Trace::new(0),
                    })
                }),
                sent: 0,
            });
        }
    }

    /// Hosts' ports at which a connection waits for what it has there to leave.
    fn counted_ports(&self) -> BTreeSet<u32> {
        let connections = self.flows.iter().filter_map(|flow| match flow {
            Flow::Tcp(connection) => Some(connection),
            _ => None,
        });
        connections
            .filter(|connection| connection.sender.settings().host_queue.is_some())
            .map(|connection| self.channels[connection.data as usize].first)
            .collect()
    }

    fn pause(&self, node: NodeId) -> Option<Pause> {
        match &self.network.nodes[node as usize].kind {
            Kind::Switch(switch) => switch.pause,
            Kind::Host(_) => None,
        }
    }

    /// Do its queues wait for tokens too?
    fn is_shaped(&self, node: NodeId) -> bool {
        match &self.network.nodes[node as usize].kind {
            Kind::Switch(switch) => {
                let cake = switch.discipline == Some(Discipline::Cake);
                let rate = switch.cake.and_then(|cake| cake.rate);
                switch.shaper.is_some() || (cake && rate.is_some())
            }
            Kind::Host(_) => false,
        }
    }

    fn latency(&self, node: NodeId) -> Picos {
        match &self.network.nodes[node as usize].kind {
            Kind::Host(_) => 0,
            Kind::Switch(switch) => picos(switch.latency),
        }
    }

    /// Credit flow control, if the switches have it.
    fn credit(&self) -> Option<Credit> {
        let path = self.trial.path.switch.as_ref()?;
        path.credit
            .filter(|_| path.discipline == Some(Discipline::Credit))
    }

    /// Flow control, if the switches have it.
    fn flow_control(&self) -> Option<&FlowControl> {
        self.trial.path.switch.as_ref()?.flow_control.as_ref()
    }

    /// A card at each port of a host, with a lane for each channel that has a contract.
    fn cards(&mut self) {
        let network = self.network;
        let mut by_port = vec![Vec::new(); network.ports.len()];
        for (channel, number) in self.channels.iter().zip(0..) {
            by_port[channel.first as usize].push(number);
        }
        for (port, channels) in network.ports.iter().zip(by_port) {
            if network.is_host(port.from) {
                if let (Some(flow), false) = (self.flow_control(), network.is_host(port.to)) {
                    self.nics.push(match flow.kind {
                        FlowControlKind::Pause => Nic::with_pause(),
                        FlowControlKind::Pfc => Nic::with_classes(QUEUES.len() as u8),
                    });
                    continue;
                }
                let mut nic = Nic::default();
                for channel in channels {
                    if let Some(gate) = self.gate(channel, port.rate) {
                        nic.add(channel, gate);
                    }
                }
                self.nics.push(nic);
            }
        }
    }

    /// The contract of a channel. Series are kept of those on the way out.
    fn gate(&self, channel: ChannelId, rate: u64) -> Option<Gate> {
        let path = &self.trial.path;
        if let Some(credit) = self.credit() {
            return Some(Gate::Credit(Upstream::new(credit)));
        }
        if let Some(shaper) = path.shaper {
            return Some(Gate::Cbr(Transmitter::new(shaper.cbr.0)));
        }
        let abr = path.abr?.0;
        let mut parameters = Parameters::read(&abr, rate).ok()?;
        if abr.mcr.is_none() {
            let links = self.links(channel).to_vec();
            let least = self.outlets(&links).map(promised).min();
            parameters = parameters.with_mcr_below(least.unwrap_or(rate));
        }
        let source = Source::new(&parameters);
        let series = channel.is_multiple_of(2) && (channel as usize) < 2 * MOST_SERIES;
        Some(Gate::Abr(Box::new(Abr {
            trace: series.then(|| Trace::new(source.acr().round() as u64)),
            source,
            destination: Destination::new(),
        })))
    }

    fn engine<E: EventSet>(self) -> Engine<E> {
        let controls = controls_of(self.trial, self.built);
        let slots = Slots::new(
            self.ports.len(),
            self.hosts.len(),
            self.flows.len(),
            self.switches.len(),
            controls.len(),
            self.trial.path.server.len(),
        );
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
            let at = self.switches[switch as usize].reset.map(|(at, _)| at);
            self.set(Event::Reset(switch), at);
        }
        for flow in 0..self.flows.len() as u32 {
            let at = match &self.flows[flow as usize] {
                Flow::Probe(_) | Flow::TcpProbe(_) => Some(0),
                Flow::Tcp(connection) => Some(connection.starts),
                Flow::Load(load) => load.next.map(|packet| packet.at),
                Flow::Frames(_) => self.first_frame(flow),
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
