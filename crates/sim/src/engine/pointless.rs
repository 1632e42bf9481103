//! What has an effect that is hardly meant: loads that begin when all is over, a load faster than its own host's line.

use super::sections::DATAGRAM_HEADERS;
use delaylab_model::load::{Load, LoadKind};
use delaylab_model::quantity::Duration;
use delaylab_model::refusal::Refusal;
use delaylab_model::trial::Trial;
use delaylab_topology::framing::wire;
use delaylab_topology::network::NodeId;
use delaylab_topology::pointless::in_the_trial;
use delaylab_topology::{Built, build};
use delaylab_traffic::arrival::section::payload;
use std::collections::{BTreeMap, BTreeSet};

/// Loads of which the last stream begins when all is over.
pub(super) fn late_streams(trial: &Trial) -> Vec<Refusal> {
    let late = trial.loads.iter().filter_map(|load| {
        let ns = |time: Option<Duration>| time.map_or(0, |time| time.0);
        let before = i64::from(load.streams.saturating_sub(1));
        let last = ns(load.start).saturating_add(ns(load.longest_stagger()).saturating_mul(before));
        in_the_trial(trial, format!("load.{}.stagger", load.name), last).err()
    });
    late.collect()
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
    let payload = u32::try_from(payload(load)).ok()?;
    let ip = payload.checked_add(DATAGRAM_HEADERS)?;
    let bytes = f64::from(wire(built.framing, ip).total_bytes());
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
