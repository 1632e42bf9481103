//! What the lines of a way take of every packet, in worlds that build their path: how long links send it, how long it
//! travels, and how long it is in the switches between them.
//!
//! A link sends the whole of a frame before the next one begins; cells of a packet follow each other, so that only the
//! slowest link takes all of them and the others one.

use delaylab_model::PICOS_PER_NANO;
use delaylab_model::path::Discipline;
use delaylab_model::trial::Trial;
use delaylab_topology::framing::{framing_of, in_cells, wire};
use delaylab_topology::network::{Kind, PortId, other_end};
use delaylab_topology::{Built, Ends, Routes, build};
use std::collections::{BTreeMap, BTreeSet};

/// Flows are spread over equal ways by a hash (ECMP), which is not known of a load's flows: the ports of this many hashes are taken for
/// theirs. Of four equal ways a given one is missed once in a hundred times.
const ECMP_KEYS_TRIED: u64 = 16;

/// One link of a way.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Its name, the same both ways: `s1–s2`.
    pub name: String,
    /// Its rate, bit/s.
    pub rate: u64,
    /// How long every packet is in the switch that sends by it, waiting and sending apart, ns; 0 of a host.
    pub latency_ns: f64,
    /// How long it takes to send the packet, ns.
    pub sending_ns: f64,
    /// How long the packet then travels, ns.
    pub propagation_ns: f64,
}

/// The cells of a packet of this size behind the first wait so long for their slots, ns, where the trial paces them.
fn pacing_ns(trial: &Trial, ip_size: u32) -> f64 {
    let Some(shaper) = trial.path.shaper else {
        return 0.0;
    };
    let wire = wire(framing_of(&trial.path), ip_size);
    let bits = f64::from(wire.units.saturating_sub(1)) * f64::from(wire.bytes) * 8.0;
    bits * 1e9 / shaper.cbr.0.max(1) as f64
}

/// What is known of the path of a trial's packets without any packet; nothing where it cannot be built.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct KnownPath {
    /// The links that packets of the probe pass, there and back.
    pub(super) links: [Vec<Link>; 2],
    /// The port by which they leave their host.
    pub(super) first_port: Option<String>,
    /// The ports whose queues packets of each load go through, by the load's name.
    pub(super) ports_of_loads: BTreeMap<String, BTreeSet<String>>,
    /// The ports whose queues packets of other probes go through, there or back.
    pub(super) ports_of_others: BTreeSet<String>,
    /// The ports of both ways from which a shaper lets packets go.
    pub(super) shaped_ports: BTreeSet<String>,
    /// What the shaper before the path takes of a packet, ns.
    pub(super) pacing_ns: f64,
}

/// The links that packets of this probe and of this size pass on their way there; none where the path cannot be built.
pub fn links_there(trial: &Trial, probe: u16, ip_size: u32) -> Vec<Link> {
    let Ok(built) = build(trial) else {
        return Vec::new();
    };
    let ends = built.probes.get(usize::from(probe));
    ends.map_or_else(Vec::new, |ends| {
        let [there, _] = both_ways(&mut Routes::new(&built.network), ends);
        lines(&built, &there, ip_size, |port| port)
    })
}

/// The ports by which packets leave on their way there and on their way back; none where there is no way.
pub(super) fn both_ways(routes: &mut Routes<'_>, ends: &Ends) -> [Vec<PortId>; 2] {
    // The flow of a probe: it decides among equal ways.
    const FLOW: u64 = 0;
    let there = routes.path(ends.from, ends.to, ends.out.as_deref(), FLOW);
    let back = routes.path(ends.to, ends.from, ends.back.as_deref(), FLOW);
    [there, back].map(Option::unwrap_or_default)
}

/// Of packets of this probe and of this size, and of the loads.
pub(super) fn known_path(trial: &Trial, probe: u16, ip_size: u32) -> KnownPath {
    let pacing_ns = pacing_ns(trial, ip_size);
    let Ok(built) = build(trial) else {
        return KnownPath {
            pacing_ns,
            ..KnownPath::default()
        };
    };
    let mut routes = Routes::new(&built.network);
    let mut known = KnownPath {
        pacing_ns,
        ports_of_loads: ports_of_loads(trial, &built, &mut routes),
        ports_of_others: ports_of_others(probe, &built, &mut routes),
        ..KnownPath::default()
    };
    if let Some(ends) = built.probes.get(usize::from(probe)) {
        let [there, back] = both_ways(&mut routes, ends);
        known.first_port = there.first().map(|&port| built.network.port_name(port));
        let shaped = there.iter().chain(&back).copied();
        let shaped = shaped.filter(|&port| is_shaped(&built, port));
        let shaped = shaped.map(|port| built.network.port_name(port));
        let at_host = (known.first_port.clone()).filter(|_| trial.path.shaper.is_some());
        known.shaped_ports = shaped.chain(at_host).collect();
        known.links = [
            lines(&built, &there, ip_size, |port| port),
            lines(&built, &back, ip_size, other_end),
        ];
    }
    known
}

/// The ports by which packets of this probe leave on their way there, and not on their way back. None where the path cannot be built.
pub(super) fn ports_there_alone(trial: &Trial, probe: u16) -> BTreeSet<String> {
    let Ok(built) = build(trial) else {
        return BTreeSet::new();
    };
    let mut routes = Routes::new(&built.network);
    let Some(ends) = built.probes.get(usize::from(probe)) else {
        return BTreeSet::new();
    };
    let [there, back] = both_ways(&mut routes, ends);
    let alone = there.iter().filter(|port| !back.contains(*port));
    alone.map(|&port| built.network.port_name(port)).collect()
}

/// Does what is sent from this port wait for tokens rather than for its line?
fn is_shaped(built: &Built, port: PortId) -> bool {
    let from = built.network.ports[port as usize].from;
    match &built.network.nodes[from as usize].kind {
        Kind::Switch(section) => {
            let cake = section.discipline == Some(Discipline::Cake);
            let rate = section.cake.and_then(|cake| cake.rate);
            section.shaper.is_some() || (cake && rate.is_some())
        }
        Kind::Host(_) => false,
    }
}

fn ports_of_loads(
    trial: &Trial,
    built: &Built,
    routes: &mut Routes<'_>,
) -> BTreeMap<String, BTreeSet<String>> {
    let mut of_each = BTreeMap::<String, BTreeSet<String>>::new();
    for (load, streams) in trial.loads.iter().zip(&built.loads) {
        let ports = of_each.entry(load.name.clone()).or_default();
        for (ends, key) in streams
            .iter()
            .flat_map(|ends| (0..ECMP_KEYS_TRIED).map(move |key| (ends, key)))
        {
            let way = routes.path(ends.from, ends.to, ends.out.as_deref(), key);
            let way = way.unwrap_or_default();
            ports.extend(way.into_iter().map(|port| built.network.port_name(port)));
        }
    }
    of_each
}

fn ports_of_others(probe: u16, built: &Built, routes: &mut Routes<'_>) -> BTreeSet<String> {
    let others = (0..).zip(&built.probes);
    let others = others.filter(|(index, _)| *index != probe);
    let ways = others.flat_map(|(_, ends)| both_ways(routes, ends));
    let ports: BTreeSet<PortId> = ways.flatten().collect();
    let names = ports.into_iter().map(|port| built.network.port_name(port));
    names.collect()
}

/// `as_named` is the port that a link is called by: both ways have the names of the way there.
fn lines(
    built: &Built,
    ports: &[PortId],
    ip_size: u32,
    as_named: fn(PortId) -> PortId,
) -> Vec<Link> {
    let wire = wire(built.framing, ip_size);
    let ns =
        |units: u32, rate: u64| f64::from(units) * f64::from(wire.bytes) * 8e9 / rate.max(1) as f64;
    let of_port = |&id: &PortId| {
        let port = &built.network.ports[id as usize];
        let units = if in_cells(built.framing) {
            1
        } else {
            wire.units
        };
        let latency = match &built.network.nodes[port.from as usize].kind {
            Kind::Switch(section) => section.latency.map_or(0, |latency| latency.0),
            Kind::Host(_) => 0,
        };
        Link {
            name: built.network.port_name(as_named(id)).replace('→', "–"),
            rate: port.rate,
            latency_ns: latency as f64,
            sending_ns: ns(units, port.rate),
            propagation_ns: port.propagation as f64 / PICOS_PER_NANO as f64,
        }
    };
    let mut lines: Vec<Link> = ports.iter().map(of_port).collect();
    let slowest = lines.iter_mut().min_by_key(|line| line.rate);
    if let Some(line) = slowest {
        line.sending_ns = ns(wire.units, line.rate);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_model::method::Method;
    use delaylab_model::path::{Line, Path, Switch, Topology};
    use delaylab_model::probe::{HostCondition, Probe};
    use delaylab_model::quantity::{Duration, Rate};

    /// Frames of 1518 bytes take 1.2304 ms on the trunk, and 12.304 µs on the other links.
    #[test]
    fn a_line_and_a_switch_have_what_differs_of_them() {
        let trunk = Line {
            rate: Some(Rate(10_000_000)),
            propagation: Some(Duration(1_000_000)),
        };
        let switch = Switch {
            latency: Some(Duration(5_000)),
            ..Switch::default()
        };
        let trial = Trial {
            id: 0,
            target: None,
            probes: vec![Probe::new("frames", Method::Udp)],
            loads: Vec::new(),
            path: Path {
                topology: Some(Topology::Chain),
                hops: Some(2),
                rate: Some(Rate(1_000_000_000)),
                line: [("trunk1".to_owned(), trunk)].into(),
                switch: Some(switch),
                ..Path::default()
            },
            host: HostCondition::Normal,
            seed: 1,
        };
        let links = links_there(&trial, 0, 1500);
        let of = |what: fn(&Link) -> f64| links.iter().map(what).collect::<Vec<_>>();
        assert_eq!(
            of(|link| link.sending_ns),
            [12_304.0, 1_230_400.0, 12_304.0]
        );
        assert_eq!(of(|link| link.propagation_ns), [0.0, 1_000_000.0, 0.0]);
        assert_eq!(of(|link| link.latency_ns), [0.0, 5_000.0, 5_000.0]);
        let there = ports_there_alone(&trial, 0);
        assert!(
            there.contains("s1→s2") && !there.contains("s2→s1"),
            "{there:?}"
        );
    }
}
