//! What they send through: hosts, switches, ports and network cards.

use super::{HOSTS, Maker, SWITCHES, seed_for};
use crate::cpu::Cpu;
use crate::engine::crossbars::CellTimes;
use crate::engine::explicit::{Outlet, explicit_rates, promised};
use crate::engine::guarded::limits_of;
use crate::engine::{Far, Flow, MOST_SERIES, Near, Node, Port, PortSeries, Serving};
use crate::nic::{Abr, Gate, Nic};
use crate::packet::ChannelId;
use crate::trace::Trace;
use crate::transmitter::Transmitter;
use delaylab_model::Picos;
use delaylab_model::path::{Credit, Discipline, FlowControl, FlowControlKind, Pause};
use delaylab_model::refusal::Refusal;
use delaylab_switch::Switch;
use delaylab_switch::buffer::Owner;
use delaylab_switch::credit::Upstream;
use delaylab_switch::discard::Discard;
use delaylab_topology::classes::QUEUES;
use delaylab_topology::network::{self, Kind, NodeId};
use delaylab_topology::queues::switch_settings;
use delaylab_topology::time::picos;
use delaylab_traffic::abr::{Destination, Parameters, Source};
use std::collections::{BTreeSet, VecDeque};

impl Maker<'_> {
    pub(super) fn nodes(&mut self) -> Result<(), Refusal> {
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
                        pauses: section.pause.is_some(),
                        rates,
                        crossbar: (settings.crossbar).map(|_| Box::new(CellTimes::new(fastest))),
                        // What waits at the inputs of a crossbar leaves by events of its own.
                        shared: settings.memory.owner != Owner::Output
                            && settings.crossbar.is_none(),
                        switch,
                        fresh: None,
                        reset: section.reset.map(|reset| {
                            let at = picos(Some(reset.at));
                            (at, at + picos(Some(reset.lasts)))
                        }),
                        marks: settings.kind.marks(),
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
    pub(super) fn links(&self, channel: ChannelId) -> &[u32] {
        let channel = &self.channels[channel as usize];
        let first = channel.way as usize;
        &self.ways[first..first + usize::from(channel.links)]
    }

    /// What explicit rates of these ports are found by.
    pub(super) fn outlets(&self, ports: &[u32]) -> impl Iterator<Item = Outlet> {
        ports.iter().map(|&port| Outlet {
            port,
            rate: self.network.ports[port as usize].rate,
            channels: self.ways.iter().filter(|&&link| link == port).count() as u64,
        })
    }

    pub(super) fn ports(&mut self, serving: Serving) {
        self.cards();
        let ports = self.network.ports.iter();
        let switch_ports = ports
            .filter(|port| !self.network.is_host(port.from))
            .count();
        let credit = self.credit().is_some();
        let guarded = self.flow_control().is_some();
        let counted = self.counted_ports();
        let mut series = 0;
        let mut nic = 0;
        for (id, port) in (0..).zip(&self.network.ports) {
            let from_host = self.network.is_host(port.from);
            let to_host = self.network.is_host(port.to);
            let (near, plain, marks) = if from_host {
                nic += 1;
                let plain = self.nics[nic as usize - 1].is_plain();
                (Near::Nic(nic - 1), plain, false)
            } else {
                let switch = self.numbers[port.from as usize];
                let egress = u32::from(port.egress);
                let marks = self.switches[switch as usize].marks;
                let near = Near::Switch { switch, egress };
                (near, !self.is_shaped(port.from), marks)
            };
            let far = if to_host {
                Far::Host(self.numbers[port.to as usize])
            } else {
                Far::Switch
            };
            // Of a large network only what is between switches.
            let traced =
                !from_host && series < MOST_SERIES && (switch_ports <= MOST_SERIES || !to_host);
            series += usize::from(traced);
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
                        drops: Trace::of_count(),
                        marks: marks.then(Trace::of_count),
                    })
                }),
                sent: 0,
            });
        }
    }

    /// Hosts' ports at which a connection waits for what it has there to leave.
    pub(super) fn counted_ports(&self) -> BTreeSet<u32> {
        let connections = self.flows.iter().filter_map(Flow::connection);
        connections
            .filter(|connection| connection.sender.settings().host_queue.is_some())
            .map(|connection| self.channels[connection.data as usize].first)
            .collect()
    }

    fn pause(&self, node: NodeId) -> Option<Pause> {
        self.network.switch(node)?.pause
    }

    /// Do its queues wait for tokens too?
    fn is_shaped(&self, node: NodeId) -> bool {
        self.network.switch(node).is_some_and(|switch| {
            let cake = switch.discipline == Some(Discipline::Cake);
            let rate = switch.cake.and_then(|cake| cake.rate);
            switch.shaper.is_some() || (cake && rate.is_some())
        })
    }

    fn latency(&self, node: NodeId) -> Picos {
        let switch = self.network.switch(node);
        switch.map_or(0, |switch| picos(switch.latency))
    }

    /// Credit flow control, if the switches have it.
    pub(super) fn credit(&self) -> Option<Credit> {
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
                let nic = self.card(port, &channels);
                self.nics.push(nic);
            }
        }
    }

    fn card(&self, port: &network::Port, channels: &[ChannelId]) -> Nic {
        if let (Some(flow), false) = (self.flow_control(), self.network.is_host(port.to)) {
            return match flow.kind {
                FlowControlKind::Pause => Nic::with_pause(),
                FlowControlKind::Pfc => Nic::with_classes(QUEUES.len() as u8),
            };
        }
        let mut nic = Nic::default();
        for &channel in channels {
            if let Some(gate) = self.gate(channel, port.rate) {
                nic.add(channel, gate);
            }
        }
        nic
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
            destination: Destination::default(),
        })))
    }
}
