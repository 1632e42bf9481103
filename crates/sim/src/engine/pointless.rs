//! What would have no effect at all, and what has one that is hardly meant: a load that begins when all is over, a buffer into
//! which no packet fits, a load faster than its own host's line.

use super::sections::{DATAGRAM_HEADERS, TCP_HEADERS};
use delaylab_model::Nanos;
use delaylab_model::load::{Load, LoadKind};
use delaylab_model::path::Switch as SwitchSection;
use delaylab_model::quantity::{Duration, Limit};
use delaylab_model::refusal::{Refusal, refuse};
use delaylab_model::trial::Trial;
use delaylab_model::units::format_duration;
use delaylab_topology::framing::wire;
use delaylab_topology::network::NodeId;
use delaylab_topology::{Built, build};
use delaylab_traffic::arrival::section::PAYLOAD;
use std::collections::{BTreeMap, BTreeSet};

/// When the last probe sends its last packet; `None` where one of them has no end of its own, and of a tester's frames: how
/// long those are sent its procedure says.
fn end(trial: &Trial) -> Option<Nanos> {
    let ends = trial.probes.iter().map(|probe| match probe.frames {
        Some(_) => None,
        None => probe.expected_duration(),
    });
    ends.collect::<Option<Vec<_>>>()?.into_iter().max()
}

/// Refuses what begins after the last packet of the probes.
fn in_the_trial(trial: &Trial, field: impl Into<String>, at: Nanos) -> Result<(), Refusal> {
    match end(trial).filter(|&end| at > 0 && at >= end) {
        Some(end) => refuse(
            field,
            format!(
                "comes after the last packet of the probes, at {}: nothing would be seen of it",
                format_duration(end)
            ),
        ),
        None => Ok(()),
    }
}

/// A load that begins when all is over.
pub(super) fn of_a_late_load(trial: &Trial, load: &Load) -> Result<(), Refusal> {
    let start = load.start.map_or(0, |start| start.0);
    in_the_trial(trial, format!("load.{}.start", load.name), start)
}

/// Loads of which the last stream begins when all is over.
pub(super) fn late_streams(trial: &Trial) -> Vec<Refusal> {
    let late = trial.loads.iter().filter_map(|load| {
        let ns = |time: Option<Duration>| time.map_or(0, |time| time.0);
        let before = i64::from(load.streams.saturating_sub(1));
        let last = ns(load.start).saturating_add(ns(load.stagger).saturating_mul(before));
        in_the_trial(trial, format!("load.{}.stagger", load.name), last).err()
    });
    late.collect()
}

/// A switch that is reset when all is over, or whose queues have room for no packet at all.
pub(super) fn of_a_useless_switch(
    trial: &Trial,
    section: &SwitchSection,
    under: &str,
) -> Result<(), Refusal> {
    let field = |name: &str| format!("{under}.{name}");
    if let Some(reset) = section.reset {
        in_the_trial(trial, field("reset"), reset.at.0)?;
    }
    let Some(smallest) = smallest_packet(trial) else {
        return Ok(());
    };
    let in_bytes = |limit: Option<Limit>| match limit {
        Some(Limit::Bytes(bytes)) => Some(bytes),
        _ => None,
    };
    let rooms = [
        ("buffer", in_bytes(section.buffer)),
        ("queue_buffer", in_bytes(section.queue_buffer)),
        ("threshold", in_bytes(section.threshold)),
    ];
    for (name, room) in rooms {
        if let Some(room) = room.filter(|&room| room < smallest) {
            return refuse(field(name), nothing_passes(smallest, room));
        }
    }
    Ok(())
}

fn nothing_passes(smallest: u64, room: u64) -> String {
    format!("no packet passes: the smallest has {smallest} B, and this is {room} B")
}

/// Token buckets too small for any packet: a policer like that loses all, which may be meant.
pub(super) fn small_bursts(trial: &Trial, section: &SwitchSection, under: &str) -> Vec<Refusal> {
    let buckets = [("shaper", section.shaper), ("policer", section.policer)];
    let smallest = smallest_packet(trial).unwrap_or(0);
    let small = buckets.into_iter().filter_map(|(name, bucket)| {
        let burst = bucket?.burst.0;
        (burst < smallest).then(|| {
            let field = format!("{under}.{name}.burst");
            Refusal::new(field, nothing_passes(smallest, burst))
        })
    });
    small.collect()
}

/// Bytes of the smallest IP packet that a probe or a load sends; `None` where that is not known.
fn smallest_packet(trial: &Trial) -> Option<u64> {
    let probes = trial.probes.iter().map(|probe| match probe.frames {
        Some(_) => None,
        None => (probe.method.ip_size(false, probe.payload)).or(Some(TCP_HEADERS)),
    });
    let loads = trial.loads.iter().filter(|load| load.streams > 0);
    let loads = loads.map(|load| match load.kind {
        LoadKind::Tcp | LoadKind::Transfers | LoadKind::Replay => Some(TCP_HEADERS),
        _ => u32::try_from(load.payload.map_or(PAYLOAD, |size| size.0))
            .ok()
            .map(|payload| payload.saturating_add(DATAGRAM_HEADERS)),
    });
    let sizes: Option<Vec<u32>> = probes.chain(loads).collect();
    sizes?.into_iter().min().map(u64::from)
}

/// By how much a load may be slower than planned without a word, as on real hosts.
const TOLERANCE: f64 = 0.01;

/// What a host's loads without congestion control put on its line.
struct Offered<'a> {
    host: &'a str,
    /// Bit/s on the wire, and what the host's lines carry.
    rate: f64,
    line: f64,
    loads: BTreeSet<&'a str>,
}

/// Hosts whose loads are faster than their lines: the queue there, which has no limit, grows as long as the loads last, and so
/// does the memory that the simulation takes.
fn overloaded_hosts<'a>(trial: &'a Trial, built: &'a Built) -> Vec<Offered<'a>> {
    let network = &built.network;
    let mut hosts: BTreeMap<NodeId, Offered<'_>> = BTreeMap::new();
    for (load, streams) in trial.loads.iter().zip(&built.loads) {
        let Some(rate) = rate_on_the_wire(load, built) else {
            continue;
        };
        for ends in streams {
            let ports = &network.of_node[ends.from as usize];
            let lines = ports
                .iter()
                .map(|&port| network.ports[port as usize].rate as f64);
            let offered = hosts.entry(ends.from).or_insert_with(|| Offered {
                host: &network.nodes[ends.from as usize].name,
                rate: 0.0,
                line: lines.sum(),
                loads: BTreeSet::new(),
            });
            offered.rate += rate;
            offered.loads.insert(&load.name);
        }
    }
    let hosts = hosts.into_values();
    hosts
        .filter(|offered| offered.rate > offered.line)
        .collect()
}

/// What a stream of the load takes of a line, in bit/s, over time; `None` of one that goes no faster than it can, and of a replay.
fn rate_on_the_wire(load: &Load, built: &Built) -> Option<f64> {
    let busy = match load.kind {
        LoadKind::Cbr | LoadKind::Poisson => 1.0,
        LoadKind::OnOff => {
            let [on, off] = [load.on?, load.off?].map(|time| time.0 as f64);
            on / (on + off)
        }
        LoadKind::Tcp | LoadKind::Transfers | LoadKind::Replay => return None,
    };
    let payload = u32::try_from(load.payload.map_or(PAYLOAD, |size| size.0)).ok()?;
    let ip = payload.checked_add(DATAGRAM_HEADERS)?;
    let wire = wire(built.framing, ip);
    let bytes = f64::from(wire.units) * f64::from(wire.bytes);
    Some(load.rate?.0 as f64 * busy * bytes / f64::from(ip))
}

fn more_than_carried(offered: &Offered<'_>) -> String {
    let Offered {
        host, rate, line, ..
    } = offered;
    format!(
        "with framing, the loads of host {host} are {:.4} Mbit/s, and its line carries {} Mbit/s",
        rate / 1e6,
        line / 1e6
    )
}

/// Loads that are faster than the lines of their hosts.
pub(super) fn faster_than_its_line(trial: &Trial, built: &Built) -> Vec<Refusal> {
    let too_fast = overloaded_hosts(trial, built).into_iter().flat_map(|offered| {
        let what = more_than_carried(&offered);
        let reason = format!(
            "{what}: the rest waits in the host without limit, and takes memory as long as the load lasts"
        );
        let loads = offered.loads.into_iter();
        loads.map(move |load| Refusal::new(format!("load.{load}.rate"), reason.clone()))
    });
    too_fast.collect()
}

/// Loads that are not sent as planned, as sentences. It may be meant: a load that keeps its host's line busy.
pub fn held_loads(trial: &Trial) -> Vec<String> {
    let Ok(built) = build(trial) else {
        return Vec::new();
    };
    let hosts = overloaded_hosts(trial, &built).into_iter();
    let much = hosts.filter(|offered| offered.rate > offered.line * (1.0 + TOLERANCE));
    let sentence = |offered: Offered<'_>| {
        let loads: Vec<_> = offered
            .loads
            .iter()
            .map(|load| format!("`{load}`"))
            .collect();
        let (loads, what) = (loads.join(", "), more_than_carried(&offered));
        format!("less of load {loads} was sent than planned: {what}")
    };
    much.map(sentence).collect()
}
