//! A trial as a simulation: everything that is checked before it, and everything at its beginning.

use super::{
    Channel, Connection, Engine, Far, Flow, Host, Load, Near, Node, Port, PortSeries, ProbeFlow,
    Serving, TcpProbe,
};
use crate::cpu::{Cpu, Daemon};
use crate::event_set::EventSet;
use crate::network::{Built, Ends, Kind, Network, NodeId, Routes, Wire, build, in_cells, wire};
use crate::nic::{Abr, Gate, Nic};
use crate::packet::{Arena, ChannelId};
use crate::slots::{Event, Slots};
use crate::trace::Trace;
use crate::transmitter::Transmitter;
use crate::{in_time, picos, refuse};
use delaylab_model::dscp::Dscp;
use delaylab_model::load::{Load as LoadSection, LoadKind};
use delaylab_model::path::{
    Credit, Discipline, Framing, HostCosts, PacketDiscard, Path, RateAlgorithm,
    Switch as SwitchSection,
};
use delaylab_model::probe::{HostCondition, Pacing, Probe};
use delaylab_model::quantity::{Duration, Limit};
use delaylab_model::record::Method;
use delaylab_model::trial::Trial;
use delaylab_model::world::Refusal;
use delaylab_model::{Nanos, PICOS_PER_NANO, Picos};
use delaylab_stats::random::SplitMix;
use delaylab_switch::buffer::{Bound, Owner};
use delaylab_switch::credit::{Downstream, Upstream};
use delaylab_switch::discard::Discard;
use delaylab_switch::explicit_rate::{Eprca, Erica, ExplicitRate};
use delaylab_switch::settings::Kind as Queueing;
use delaylab_switch::{Counts, Settings, Switch};
use delaylab_traffic::abr::{CELL_BITS, Destination, Parameters, Source};
use delaylab_traffic::arrival::on_off::Periods;
use delaylab_traffic::arrival::{Arrival, cbr, on_off, poisson, replay};
use delaylab_traffic::prober::{Config, Expected, Prober};
use delaylab_traffic::tcp;
use std::collections::VecDeque;
use std::sync::Arc;

/// IPv4 and UDP, or ICMP.
const DATAGRAM_HEADERS: u32 = 20 + 8;
/// IPv4 and TCP, and the timestamp option of RFC 7323 with its padding.
const TCP_HEADERS: u32 = 20 + 20;
const TIMESTAMP_OPTION: u32 = 12;
/// A load's packet when the experiment does not say.
const LOAD_PAYLOAD: u64 = 1024;
/// Ports and flows whose series are kept. More would be more than anyone looks at.
const MOST_SERIES: usize = 64;
/// Socket buffers when the experiment does not say.
const WINDOW_OF_1995: u64 = 64 << 10;
const WINDOW: u64 = 4 << 20;

/// Class queues from the first that is served on: what `[path.queue]` and `[path.switch.weights]` name.
pub const QUEUES: [&str; 4] = ["network-control", "expedited", "best-effort", "scavenger"];

/// Every field of the trial that cannot be simulated.
pub fn refusals(trial: &Trial) -> Vec<Refusal> {
    let built = match build(trial) {
        Ok(built) => built,
        Err(refusal) => return vec![refusal],
    };
    let checks = [
        of_the_path(trial),
        of_the_probes(trial, built.mtu),
        of_the_loads(trial, built.mtu),
        of_the_switches(trial, &built),
    ];
    checks.into_iter().filter_map(Result::err).collect()
}

fn of_the_path(trial: &Trial) -> Result<(), Refusal> {
    let path = &trial.path;
    if path.target.is_some() {
        return refuse(
            "path.target",
            "a simulation has no target: leave it out, or run the live world",
        );
    }
    let framing = path.framing.unwrap_or(Framing::Ethernet);
    if path.abr.is_some() && !in_cells(framing) {
        return refuse("path.abr", "ABR is for ATM: give `framing = \"aal5\"` too");
    }
    if let Some(shaper) = path.shaper {
        if shaper.cbr.0 == 0 {
            return refuse("path.shaper.cbr", "nothing gets through a rate of zero");
        }
        if path.abr.is_some() {
            return refuse("path.shaper", "a channel is CBR or ABR, not both");
        }
    }
    if let Some(abr) = &path.abr {
        let rate = path.rate.map_or(u64::MAX, |rate| rate.0);
        if let Err(wrong) = Parameters::read(&abr.0, rate) {
            return refuse(format!("path.abr.{}", wrong.field), wrong.reason);
        }
    }
    for (class, queue) in &path.queue {
        if class.parse::<Dscp>().is_err() {
            return refuse(format!("path.queue.{class}"), "is not a traffic class");
        }
        if !QUEUES.contains(&queue.as_str()) {
            let what = format!(
                "there is no queue `{queue}`: there are {}",
                QUEUES.join(", ")
            );
            return refuse(format!("path.queue.{class}"), what);
        }
    }
    Ok(())
}

fn of_the_probes(trial: &Trial, mtu: u32) -> Result<(), Refusal> {
    for probe in &trial.probes {
        let field = |name: &str| format!("probe.{}.{name}", probe.name);
        let size = probe.payload + DATAGRAM_HEADERS;
        if probe.method != Method::Tcp && size > mtu {
            let what = format!(
                "an IP packet of {size} B is over the MTU of {mtu} B, and the simulation has no fragments: raise path.mtu"
            );
            return refuse(field("payload"), what);
        }
        in_time(field("timeout"), Some(Duration(probe.timeout)))?;
        in_time(field("pacing"), Some(Duration(gap(probe.pacing))))?;
        // A count of slots, one after the other.
        let lasts = probe.expected_duration().unwrap_or(0);
        in_time(field("count"), Some(Duration(lasts)))?;
        if probe.interface.is_some() {
            return refuse(
                field("interface"),
                "simulated hosts have no interfaces by name: use `from`",
            );
        }
        if probe.ttl.is_some() {
            return refuse(field("ttl"), "nothing counts hops down in the simulation");
        }
    }
    Ok(())
}

/// The longest from one packet to the next.
const fn gap(pacing: Pacing) -> Nanos {
    match pacing {
        Pacing::Every { interval_ns } | Pacing::Burst { interval_ns, .. } => interval_ns,
        Pacing::Poisson { mean_ns } => mean_ns,
        Pacing::Wait { wait_ns } => wait_ns,
    }
}

fn of_the_loads(trial: &Trial, mtu: u32) -> Result<(), Refusal> {
    for load in &trial.loads {
        let field = |name: &str| format!("load.{}.{name}", load.name);
        in_time(field("start"), load.start)?;
        in_time(field("stagger"), load.stagger)?;
        in_time(field("on"), load.on)?;
        in_time(field("off"), load.off)?;
        let last = picos(load.stagger).saturating_mul(u64::from(load.streams));
        in_time(
            field("stagger"),
            Nanos::try_from(last / PICOS_PER_NANO).ok().map(Duration),
        )?;
        let payload = load.payload.map_or(LOAD_PAYLOAD, |size| size.0);
        if load.kind != LoadKind::Tcp && payload + u64::from(DATAGRAM_HEADERS) > u64::from(mtu) {
            return refuse(
                field("payload"),
                format!("does not fit into the MTU of {mtu} B"),
            );
        }
        match load.kind {
            LoadKind::Tcp => _ = settings_of(load, mtu)?,
            LoadKind::Replay => small_enough(load, mtu)?,
            _ => _ = arrivals(load, 0, 0)?,
        }
    }
    Ok(())
}

fn of_the_switches(trial: &Trial, built: &Built) -> Result<(), Refusal> {
    let path = &trial.path;
    for node in &built.network.nodes {
        match &node.kind {
            Kind::Switch(section) => of_a_switch(path, &node.name, section, built.framing)?,
            Kind::Host(costs) => of_a_host(costs)?,
        }
    }
    of_the_rates(path, &built.network)
}

fn of_a_switch(
    path: &Path,
    name: &str,
    section: &SwitchSection,
    framing: Framing,
) -> Result<(), Refusal> {
    let own = path
        .node
        .iter()
        .any(|node| node.name == name && node.switch.is_some());
    let under = if own {
        format!("path.node.{name}.switch")
    } else {
        "path.switch".to_owned()
    };
    let field = |name: &str| format!("{under}.{name}");
    in_time(field("latency"), section.latency)?;
    if let Err(refusal) = switch_settings(section, path, framing) {
        let below = refusal
            .field
            .strip_prefix("path.switch")
            .unwrap_or_default();
        return refuse(format!("{under}{below}"), refusal.reason);
    }
    let discipline = section.discipline;
    if matches!(
        discipline,
        Some(Discipline::Efci | Discipline::ExplicitRate)
    ) && path.abr.is_none()
    {
        return refuse(
            field("discipline"),
            "marks rates for ABR sources: give `path.abr`, as in `path.abr = \"eprca-1995\"`",
        );
    }
    let common = path.switch.as_ref().and_then(|switch| switch.discipline);
    if (discipline == Some(Discipline::Credit)) != (common == Some(Discipline::Credit)) {
        return refuse(
            field("discipline"),
            "credit is between all neighbours or none: give it, and `credit`, under [path.switch]",
        );
    }
    if discipline == Some(Discipline::Credit) {
        return of_credit(path, section, &under);
    }
    Ok(())
}

/// What goes with credit flow control.
fn of_credit(path: &Path, section: &SwitchSection, under: &str) -> Result<(), Refusal> {
    let common = path.switch.as_ref().and_then(|switch| switch.credit);
    if section.credit != common {
        return refuse(
            format!("{under}.credit"),
            "the same for all switches: give it under [path.switch]",
        );
    }
    if !matches!(section.buffer, None | Some(Limit::Unlimited)) {
        let why = "credit bounds what is held to n2 + n3 cells a channel: leave the buffer out";
        return refuse(format!("{under}.buffer"), why);
    }
    if path.shaper.is_some() || path.abr.is_some() {
        let field = if path.abr.is_some() {
            "path.abr"
        } else {
            "path.shaper"
        };
        return refuse(field, "a channel with credit has no other contract");
    }
    Ok(())
}

/// A CPU must have time for more than its daemons.
fn of_a_host(costs: &HostCosts) -> Result<(), Refusal> {
    in_time("path.host.per_packet", costs.per_packet)?;
    in_time("path.host.per_byte", costs.per_byte)?;
    if let Some(wake_up) = costs.wake_up {
        in_time("path.host.wake_up.after", Some(wake_up.after))?;
        in_time("path.host.wake_up.cost", Some(wake_up.cost))?;
    }
    let mut share = 0.0;
    for daemon in &costs.daemon {
        in_time("path.host.daemon.every", Some(daemon.every))?;
        in_time("path.host.daemon.busy", Some(daemon.busy))?;
        share += daemon.busy.0 as f64 / daemon.every.0 as f64;
    }
    if share.is_nan() || share >= 1.0 {
        return refuse(
            "path.host.daemon",
            "daemons that are busy all the time leave none for packets",
        );
    }
    Ok(())
}

/// ABR sources fit the links that they are at.
fn of_the_rates(path: &Path, network: &Network) -> Result<(), Refusal> {
    let Some(abr) = &path.abr else {
        return Ok(());
    };
    for port in network
        .ports
        .iter()
        .filter(|port| network.is_host(port.from))
    {
        if let Err(wrong) = Parameters::read(&abr.0, port.rate) {
            return refuse(format!("path.abr.{}", wrong.field), wrong.reason);
        }
    }
    Ok(())
}

fn switch_settings(
    section: &SwitchSection,
    path: &Path,
    framing: Framing,
) -> Result<Settings, Refusal> {
    let counts = if in_cells(framing) {
        Counts::Cells
    } else {
        Counts::Packets
    };
    let settings = match Settings::read(section, counts, &QUEUES) {
        Ok(settings) => settings,
        Err(wrong) => return refuse(format!("path.switch.{}", wrong.field), wrong.reason),
    };
    let discard = section.packet_discard.unwrap_or_default();
    if discard != PacketDiscard::None && counts == Counts::Packets {
        return refuse(
            "path.switch.packet_discard",
            "is about cells: give `framing = \"aal5\"` too",
        );
    }
    let discard = packet_discard(discard, &settings);
    let settings = settings.with_discard(discard);
    let Some(abr) = &path.abr else {
        return Ok(settings);
    };
    let rate = path.rate.map_or(u64::MAX, |rate| rate.0);
    match Parameters::read(&abr.0, rate) {
        Ok(parameters) => Ok(settings.with_mark(parameters.mark)),
        Err(wrong) => refuse(format!("path.abr.{}", wrong.field), wrong.reason),
    }
}

/// ERICA's averaging interval, and the share of the capacity that it aims at (Jain et al. 1996).
const ERICA_INTERVAL: Picos = 1_000_000 * PICOS_PER_NANO;
const ERICA_UTILISATION: f64 = 0.95;

/// What stands beside each queue of a switch that tells sources their rate, port by port. EPRCA calls a
/// queue very long at twice its threshold.
fn explicit_rates(
    settings: &Settings,
    algorithm: RateAlgorithm,
    capacities: impl Iterator<Item = u64>,
) -> Vec<ExplicitRate> {
    let Queueing::ExplicitRate { threshold } = settings.kind else {
        return Vec::new();
    };
    let very = Bound {
        items: threshold.items.saturating_mul(2),
        bytes: threshold.bytes.saturating_mul(2),
    };
    let one = |rate: u64| match algorithm {
        RateAlgorithm::Eprca => ExplicitRate::Eprca(Eprca::new(threshold, very)),
        RateAlgorithm::Erica => {
            let cells = rate as f64 / CELL_BITS;
            ExplicitRate::Erica(Erica::new(cells, ERICA_UTILISATION, ERICA_INTERVAL))
        }
    };
    capacities.map(one).collect()
}

/// Early packet discard begins at four fifths of the buffer (Romanow and Floyd 1995 leave it open).
fn packet_discard(how: PacketDiscard, settings: &Settings) -> Discard {
    let most = |bound: u64| match bound {
        u64::MAX => u64::MAX,
        bound => bound - bound / 5,
    };
    match how {
        PacketDiscard::None => Discard::Cells,
        PacketDiscard::Partial => Discard::Partial,
        PacketDiscard::Early => Discard::Early {
            from: Bound {
                items: most(settings.memory.size.items),
                bytes: most(settings.memory.size.bytes),
            },
        },
    }
}

/// What an end system of this load does.
fn settings_of(load: &LoadSection, mtu: u32) -> Result<tcp::Settings, Refusal> {
    let field = |name: &str| format!("load.{}.{name}", load.name);
    let window = |usual: u64| load.window.map_or(usual, |window| window.0);
    let segment = mtu - TCP_HEADERS;
    let stamped = segment - TIMESTAMP_OPTION;
    let modern = |congestion| tcp::Settings {
        congestion,
        ecn: congestion == tcp::Congestion::Dctcp,
        ..tcp::Settings::modern(stamped, window(WINDOW))
    };
    let mut settings = match load.congestion_control.as_deref() {
        Some("reno-1995") => tcp::Settings::of_1995(segment, window(WINDOW_OF_1995)),
        Some("reno") => modern(tcp::Congestion::Reno),
        Some("newreno") => modern(tcp::Congestion::NewReno),
        Some("cubic") | None => modern(tcp::Congestion::Cubic),
        Some("dctcp") => modern(tcp::Congestion::Dctcp),
        Some("ns-3") => {
            let settings = tcp::Settings::ns3(mtu);
            tcp::Settings {
                window: window(settings.window),
                ..settings
            }
        }
        Some(other) => {
            let what =
                format!("there is no `{other}` here: reno-1995, reno, newreno, cubic, dctcp, ns-3");
            return refuse(field("congestion_control"), what);
        }
    };
    if settings.window < u64::from(settings.mss.min(64)) {
        return refuse(field("window"), "is smaller than any segment");
    }
    if let Some(size) = load.payload {
        let buffer = settings.window;
        settings.application = tcp::Application::Writes {
            size: size.0,
            buffer,
        };
    }
    if load.rate.is_some() {
        return refuse(
            field("rate"),
            "tcp sends as much as it gets through: leave the rate out",
        );
    }
    Ok(settings)
}

/// When a load's packets leave.
fn arrivals(load: &LoadSection, start: Picos, seed: u64) -> Result<Arrival, Refusal> {
    let field = |name: &str| format!("load.{}.{name}", load.name);
    let payload = load.payload.map_or(LOAD_PAYLOAD, |size| size.0) as u32;
    // The offered load is that of IP packets.
    let bytes = payload + DATAGRAM_HEADERS;
    let rate = || match load.rate {
        Some(rate) if rate.0 > 0 => Ok(rate.0),
        Some(_) => refuse(field("rate"), "a load of nothing: set `streams` to 0"),
        None => refuse(field("rate"), "how much? Like \"10Mbit/s\""),
    };
    let period = |given: Option<Duration>, name: &str| match picos(given) {
        0 => refuse(field(name), "how long? Like \"10ms\""),
        period => Ok(period),
    };
    Ok(match load.kind {
        LoadKind::Cbr => Arrival::Cbr(cbr::Cbr::new(start, bytes, rate()?)),
        LoadKind::Poisson => Arrival::Poisson(poisson::Poisson::new(start, bytes, rate()?, seed)),
        LoadKind::OnOff => {
            let (on, off) = (period(load.on, "on")?, period(load.off, "off")?);
            let periods = Periods::Exponential { on, off };
            Arrival::OnOff(on_off::OnOff::new(start, bytes, rate()?, periods, seed))
        }
        LoadKind::Replay => Arrival::Replay(replay_of(load, start)?),
        LoadKind::Tcp => return refuse(field("kind"), "tcp has no times of its own"),
    })
}

/// Does every packet of the file fit?
fn small_enough(load: &LoadSection, mtu: u32) -> Result<(), Refusal> {
    let mut packets = replay_of(load, 0)?.zip(1..);
    match packets.find(|(packet, _)| packet.bytes > mtu) {
        Some((packet, number)) => refuse(
            format!("load.{}.file", load.name),
            format!(
                "its packet {number} of {} B is over the MTU of {mtu} B",
                packet.bytes
            ),
        ),
        None => Ok(()),
    }
}

fn replay_of(load: &LoadSection, start: Picos) -> Result<replay::Replay, Refusal> {
    let field = format!("load.{}.file", load.name);
    let Some(file) = &load.file else {
        return refuse(field, "which file has the times and sizes?");
    };
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => return refuse(field, format!("cannot read {file}: {error}")),
    };
    match replay::Replay::parse(&text, start) {
        Ok(replay) => Ok(replay),
        Err(error) => refuse(field, format!("{file}: {error}")),
    }
}

/// The class queue that a class has by itself (RFC 4594), or by the path's word.
fn queue_of(path: &Path, class: Dscp) -> u8 {
    let entries = path.queue.iter();
    let mut said = entries.filter(|(name, _)| name.parse() == Ok(class));
    if let Some((_, queue)) = said.next() {
        return QUEUES.iter().position(|name| name == queue).unwrap_or(2) as u8;
    }
    match class.code_point() {
        48..=63 => 0,
        40..=47 => 1,
        1 | 8 => 3,
        _ => 2,
    }
}

/// A stream of random numbers of its own for each thing that needs one.
fn seed_for(trial: &Trial, purpose: u64, index: u64) -> u64 {
    SplitMix::new(trial.seed ^ purpose.rotate_left(48) ^ index.rotate_left(20)).next()
}

const SWITCHES: u64 = 1;
const LOADS: u64 = 2;
const PROBES: u64 = 3;
const DAEMONS: u64 = 4;
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

/// Puts a simulation together.
struct Maker<'a> {
    trial: &'a Trial,
    network: &'a Network,
    built: &'a Built,
    routes: Routes<'a>,
    /// Of each node: its number among the hosts, or among the switches.
    numbers: Vec<u32>,
    channels: Vec<Channel>,
    ways: Vec<u32>,
    flows: Vec<Flow>,
    names: Vec<Arc<str>>,
    first_load: u32,
    hosts: Vec<Host>,
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
            ways: Vec::new(),
            flows: Vec::new(),
            names: Vec::new(),
            first_load: 0,
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
            for (stream, ends) in streams.iter().enumerate() {
                self.load(load, stream as u64, ends)?;
                self.names.push(match streams.len() {
                    1 => load.name.as_str().into(),
                    _ => format!("{} {}", load.name, stream + 1).into(),
                });
            }
        }
        Ok(())
    }

    /// A channel there and one back.
    fn channels(&mut self, ends: &Ends, class: Dscp, ect: bool) -> Result<[ChannelId; 2], Refusal> {
        let ids = [0, 1].map(|way| self.channels.len() as ChannelId + way);
        let ways = [
            (ends.from, ends.to, &ends.out),
            (ends.to, ends.from, &ends.back),
        ];
        let key = self.trial.seed ^ u64::from(ids[0]);
        for (at, (from, to, via)) in ways.into_iter().enumerate() {
            let Some(path) = self.routes.path(from, to, via.as_deref(), key) else {
                return refuse("path", "no links lead from one end to the other");
            };
            self.channels.push(Channel {
                first: path[0],
                links: path.len() as u8,
                way: self.ways.len() as u32,
                reverse: ids[1 - at],
                flow: self.flows.len() as u32,
                queue: queue_of(&self.trial.path, class),
                dscp: class.code_point(),
                ect,
            });
            self.ways.extend(path);
        }
        Ok(ids)
    }

    fn probe(&mut self, probe: &Probe, ends: &Ends) -> Result<(), Refusal> {
        let index = self.flows.len() as u16;
        let [out, back] = self.channels(ends, probe.dscp, probe.ecn > 0)?;
        let ip_size = (probe.method != Method::Tcp).then_some(probe.payload + DATAGRAM_HEADERS);
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
                follow_ups: !loopback,
            },
        });
        let host = self.number(ends.from);
        self.flows.push(match ip_size {
            Some(ip_size) => Flow::Probe(Box::new(ProbeFlow {
                prober,
                host,
                out,
                back,
                ip_size,
                loopback,
                waiting: false,
                done: false,
            })),
            None => Flow::TcpProbe(Box::new(TcpProbe {
                prober,
                host,
                request: u64::from(probe.payload.max(1)),
                reply: u64::from(probe.reply_payload.unwrap_or(probe.payload).max(1)),
                requests: 0,
                replies: 0,
                channels: [out, back],
                peer: self.number(ends.to),
                asked: 0,
                answered: 0,
                waiting: false,
                done: false,
                stamps: VecDeque::new(),
            })),
        });
        Ok(())
    }

    /// The two connections of a probe over TCP.
    fn connections_of(&mut self, index: usize) {
        let next = self.flows.len() as u32;
        let Flow::TcpProbe(probe) = &mut self.flows[index] else {
            return;
        };
        (probe.requests, probe.replies) = (next, next + 1);
        let ([out, back], host, peer) = (probe.channels, probe.host, probe.peer);
        let mss = self.built.mtu - TCP_HEADERS - TIMESTAMP_OPTION;
        let settings = tcp::Settings {
            application: tcp::Application::Requests,
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
                starts: 0,
                probe: Some((index as u32, is_reply)),
                cwnd: None,
            })));
        }
    }

    fn load(&mut self, load: &LoadSection, stream: u64, ends: &Ends) -> Result<(), Refusal> {
        let start = picos(load.start) + stream * picos(load.stagger);
        let host = self.number(ends.from);
        if load.kind != LoadKind::Tcp {
            let seed = seed_for(self.trial, LOADS, self.flows.len() as u64);
            let mut arrivals = arrivals(load, start, seed)?;
            let [channel, _] = self.channels(ends, load.class.0, false)?;
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
        let [data, acks] = self.channels(ends, load.class.0, settings.ecn)?;
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
            starts: start,
            probe: None,
            cwnd: series.then(|| Trace::new(settings.initial_window)),
        })));
        Ok(())
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
                    let daemons = self.daemons(costs);
                    self.hosts.push(Host {
                        cpu: Cpu::new(costs, daemons),
                    });
                }
                Kind::Switch(section) => {
                    let settings = switch_settings(section, &self.trial.path, self.built.framing)?;
                    let ports = self.network.of_node[id as usize].clone();
                    let seed = seed_for(self.trial, SWITCHES, u64::from(id));
                    self.switches.push(Node {
                        rates: explicit_rates(
                            &settings,
                            section.explicit_rate.unwrap_or_default(),
                            ports
                                .iter()
                                .map(|&port| self.network.ports[port as usize].rate),
                        ),
                        shared: settings.memory.owner != Owner::Output,
                        switch: Switch::new(&settings, ports.len(), seed),
                        early: settings.discard != Discard::Cells,
                        waiting: Vec::new(),
                        ports,
                    });
                }
            }
        }
        Ok(())
    }

    /// A quiet host has none; a normal and a stressed one are busy with what the experiment gives them.
    /// Where they are in their intervals at the start is drawn.
    fn daemons(&self, costs: &HostCosts) -> Vec<Daemon> {
        if self.trial.host == HostCondition::Quiet {
            return Vec::new();
        }
        let mut random = SplitMix::new(seed_for(self.trial, DAEMONS, self.hosts.len() as u64));
        let daemon = |daemon: &delaylab_model::path::Daemon| {
            let every = picos(Some(daemon.every)).max(1);
            Daemon {
                name: daemon.name.clone(),
                every,
                busy: picos(Some(daemon.busy)),
                next: (random.uniform() * every as f64) as Picos,
            }
        };
        costs.daemon.iter().map(daemon).collect()
    }

    fn ports(&mut self, serving: Serving) {
        self.cards();
        let between = |port: &crate::network::Port| !self.network.is_host(port.from);
        let switch_ports = self
            .network
            .ports
            .iter()
            .filter(|port| between(port))
            .count();
        let credit = self.credit().is_some();
        let mut series = 0;
        let mut nic = 0;
        for port in &self.network.ports {
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
                Near::Switch { .. } => true,
            };
            self.ports.push(Port {
                line: Transmitter::new(port.rate),
                latency: port.propagation + self.latency(port.to),
                pipe: VecDeque::new(),
                near,
                far,
                ingress: port.ingress,
                credits: VecDeque::new(),
                is_listed: false,
                eager: serving == Serving::Eager || !plain || credit,
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

    /// A card at each port of a host, with a lane for each channel that has a contract.
    fn cards(&mut self) {
        let network = self.network;
        let mut by_port = vec![Vec::new(); network.ports.len()];
        for (channel, number) in self.channels.iter().zip(0..) {
            by_port[channel.first as usize].push(number);
        }
        for (port, channels) in network.ports.iter().zip(by_port) {
            if network.is_host(port.from) {
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
        let parameters = Parameters::read(&path.abr?.0, rate).ok()?;
        let source = Source::new(&parameters);
        let series = channel.is_multiple_of(2) && (channel as usize) < 2 * MOST_SERIES;
        Some(Gate::Abr(Box::new(Abr {
            trace: series.then(|| Trace::new(source.acr().round() as u64)),
            source,
            destination: Destination::new(),
        })))
    }

    fn engine<E: EventSet>(self) -> Engine<E> {
        let slots = Slots::new(self.ports.len(), self.hosts.len(), self.flows.len());
        let probes_left = self.trial.probes.len();
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
            channels: self.channels,
            ways: self.ways,
            packets: Arena::default(),
            flows: self.flows,
            drops: Vec::new(),
            in_cells: in_cells(framing),
            has_abr: self.trial.path.abr.is_some(),
            forwarded: forwarded.unwrap_or_default(),
            framing,
            probes_left,
            digest: 0,
            counts: super::Counts::default(),
            records: Vec::new(),
            hops: Vec::new(),
            measuring,
            noise: Vec::new(),
            first_load: self.first_load,
            lost_load: 0,
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
            let next = self.hosts[host as usize].cpu.next_daemon();
            self.set(Event::Daemon(host), next);
        }
        for flow in 0..self.flows.len() as u32 {
            let at = match &self.flows[flow as usize] {
                Flow::Probe(_) | Flow::TcpProbe(_) => Some(0),
                Flow::Tcp(connection) => Some(connection.starts),
                Flow::Load(load) => load.next.map(|packet| packet.at),
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
