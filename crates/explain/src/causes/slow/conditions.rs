//! The combinations of levels of a run, and what packets of each took.

use super::against::hold;
use super::{Baseline, Combination, OfCause, Queue, Raw, Slow, in_min_delay};
use crate::causes::combination::dropped;
use crate::causes::gather::{Gathered, GatheredStream, median};
use crate::causes::paused::WhyPaused;
use crate::causes::spent::Usual;
use crate::causes::totals::lost_share;
use delaylab_lab::experiment::Resolved;
use delaylab_model::distinct::Distinct;
use delaylab_model::load::Load;
use delaylab_model::plan::{Planned, levels_in_words};
use delaylab_model::trial::Dropped;
use delaylab_stats::anatomy::{Part, Stage, StageSet};
use delaylab_stats::attribution::LateCause;
use std::collections::{BTreeMap, BTreeSet};

/// A queue was full if packets met so much of the largest backlog on average, and it dropped because it was full.
const FULL: f64 = 0.5;

/// Of these records; the experiment says what the path and the load are.
pub(in crate::causes) fn find(
    gathered: &Gathered<'_>,
    resolved: Option<&Resolved>,
    baseline: Baseline<'_>,
) -> Slow {
    let planned = resolved.map_or(&[][..], |resolved| &resolved.planned);
    let planned: BTreeMap<u32, &Planned> = (planned.iter())
        .map(|planned| (planned.trial.id, planned))
        .collect();
    let mut alike = BTreeMap::<(String, &str), Vec<&GatheredStream<'_>>>::new();
    let mut distinct = Distinct::new();
    for stream in &gathered.streams {
        let key = (
            levels_in_words(&stream.row.factors, None),
            stream.row.probe_name.as_str(),
        );
        if distinct.is_first(stream.row.facts.trace_hash, key.clone()) {
            alike.entry(key).or_default().push(stream);
        }
    }
    let mut handshakes = BTreeMap::<String, f64>::new();
    for ((levels, _), streams) in &alike {
        if let Some(ns) = handshake(streams) {
            handshakes.insert(levels.clone(), ns);
        }
    }
    alike.retain(|_, streams| streams.iter().any(|stream| gathered.is_primary(stream)));
    let probes: BTreeSet<&str> = alike.keys().map(|(_, probe)| *probe).collect();
    let several = probes.len() > 1;
    // What a world says of the path of a trial stands in the row of one of its probes.
    let mut drops = BTreeMap::<u32, Vec<Dropped<'_>>>::new();
    for stream in &gathered.streams {
        let of_trial = drops.entry(stream.row.trial).or_default();
        let dropped = dropped(std::iter::once(stream.row));
        of_trial.extend(dropped.filter(|it| !it.is_configured()));
    }
    let conditions = alike.iter().filter_map(|((levels, _), streams)| {
        let handshake = handshakes.get(levels.as_str()).copied();
        condition(streams, &drops, &planned, several, handshake)
    });
    let mut conditions: Vec<Combination> = conditions.collect();
    hold(&mut conditions, baseline);
    conditions.sort_by(|a, b| {
        let rank = |one: &Combination| match (one.is_slow(), one.is_slow_by_its_path()) {
            (true, false) => 0,
            (true, true) => 1,
            (false, _) => 2,
        };
        rank(a)
            .cmp(&rank(b))
            .then(b.longer_ns().total_cmp(&a.longer_ns()))
    });
    Slow {
        conditions,
        baseline: baseline.kind(),
    }
}

/// How long the handshakes of these streams took on average, ns; `None` of other streams.
fn handshake(streams: &[&GatheredStream<'_>]) -> Option<f64> {
    let mut usual = Usual::default();
    let made = streams
        .iter()
        .filter(|stream| stream.row.method.is_handshake());
    made.for_each(|stream| usual.merge(&stream.usual));
    let parts = usual.anatomy.means();
    let connect = |part: &&Part| part.stages == StageSet::only(Stage::Connect);
    parts.iter().find(connect).map(|part| part.ns)
}

/// Network and server apart where acknowledgements do not tell: handshakes at the same time, which the far kernel answers at
/// once, show what the network takes.
fn told_by_handshakes(parts: Vec<Part>, handshake: Option<f64>) -> Vec<Part> {
    let Some(handshake) = handshake else {
        return parts;
    };
    let apart = parts.into_iter().flat_map(|part| {
        if part.stages != StageSet::NETWORK_AND_SERVER {
            return vec![part];
        }
        let network = handshake.min(part.ns);
        vec![
            Part {
                stages: StageSet::BOTH_WAYS,
                ns: network,
            },
            Part {
                stages: StageSet::only(Stage::Server),
                ns: part.ns - network,
            },
        ]
    });
    apart.collect()
}

fn condition(
    streams: &[&GatheredStream<'_>],
    drops: &BTreeMap<u32, Vec<Dropped<'_>>>,
    planned: &BTreeMap<u32, &Planned>,
    several: bool,
    handshake: Option<f64>,
) -> Option<Combination> {
    let row = streams.first()?.row;
    let rows: Vec<_> = streams.iter().map(|stream| stream.row).collect();
    let mut usual = Usual::default();
    streams.iter().for_each(|one| usual.merge(&one.usual));
    let trial = planned.get(&row.trial).map(|planned| &planned.trial);
    let known = usual.known(trial, row.probe);
    let parts = told_by_handshakes(usual.anatomy.means(), handshake);
    let median_ns = median(streams.iter().copied())?;
    let loads = trial.map_or(&[][..], |trial| &trial.loads);
    let loads: Vec<Load> = loads
        .iter()
        .filter(|load| load.streams > 0)
        .cloned()
        .collect();
    let spent = usual.spent(&parts, &known);
    let is_known = known.links.iter().any(|way| !way.is_empty());
    let label = levels_in_words(&row.factors, several.then_some(&row.probe_name));
    let rates = known.links.iter().flatten();
    let responses = streams.iter().flat_map(|stream| &stream.response);
    let answered = responses.clone().filter(|ns| ns.is_finite());
    let (sum, answered) = answered.fold((0.0, 0_u64), |(sum, count), ns| (sum + ns, count + 1));
    Some(Combination {
        factors: row.factors.clone(),
        probe: row.probe_name.clone(),
        label,
        host: row.host,
        loads: (loads.iter())
            .map(|load| (load.name.clone(), load.streams))
            .collect(),
        packets: responses.count() as u64,
        answered,
        loss_share: lost_share(&rows),
        sent_again: usual.sent_again(),
        late: late_by_cause(streams),
        median_ns,
        usual_ns: parts.iter().map(|part| part.ns).sum(),
        mean_ns: sum / answered.max(1) as f64,
        min_delay_ns: is_known.then(|| in_min_delay(&spent)),
        spent,
        queues: of_queues(&usual, why_dropped(streams, drops)),
        paused: paused(streams),
        rates: rates.map(|link| (link.name.clone(), link.rate)).collect(),
        paced_at: (trial.and_then(|trial| trial.path.shaper)).map(|shaper| shaper.cbr.0),
        raw: Raw {
            loads,
            stages: parts,
            usual,
            known,
        },
        ..Combination::default()
    })
}

/// What late packets were late by: most excess delay first.
fn late_by_cause(streams: &[&GatheredStream<'_>]) -> Vec<OfCause> {
    let mut late = BTreeMap::<&LateCause, OfCause>::new();
    let each = streams.iter().flat_map(|stream| &stream.excess_by_cause);
    for (what, (packets, excess_ns)) in each {
        let all = late.entry(what).or_insert_with(|| OfCause {
            what: what.clone(),
            packets: 0,
            excess_ns: 0.0,
        });
        all.packets += packets;
        all.excess_ns += excess_ns;
    }
    let mut late: Vec<OfCause> = late.into_values().collect();
    late.sort_by(|a, b| b.excess_ns.total_cmp(&a.excess_ns));
    late
}

/// Why packets were dropped in each queue of these trials, each reason once.
fn why_dropped(
    streams: &[&GatheredStream<'_>],
    drops: &BTreeMap<u32, Vec<Dropped<'_>>>,
) -> BTreeMap<String, Vec<String>> {
    let mut queues = BTreeMap::<String, Vec<String>>::new();
    let of_trials = streams.iter().filter_map(|one| drops.get(&one.row.trial));
    for dropped in of_trials.flatten() {
        let why = queues.entry(dropped.port.to_owned()).or_default();
        if !why.iter().any(|known| known == dropped.why) {
            why.push(dropped.why.to_owned());
        }
    }
    queues
}

/// The first reason of each port; repeats have the same.
fn paused(streams: &[&GatheredStream<'_>]) -> BTreeMap<String, WhyPaused> {
    let mut paused = BTreeMap::new();
    for (port, why) in streams.iter().flat_map(|stream| &stream.paused) {
        let known = paused.entry(port.to_string());
        known.or_insert_with(|| why.clone());
    }
    paused
}

fn of_queues(usual: &Usual, mut dropped: BTreeMap<String, Vec<String>>) -> BTreeMap<String, Queue> {
    let queues = usual.queues().into_iter().map(|(port, met)| {
        let dropped = dropped.remove(&port).unwrap_or_default();
        let backlog = met.backlog / met.packets.max(1) as f64;
        let had_no_room = |why: &String| [Dropped::FULL, Dropped::KERNEL].contains(&why.as_str());
        let queue = Queue {
            backlog,
            most_backlog: met.most_backlog,
            is_full: backlog >= FULL * met.most_backlog as f64 && dropped.iter().any(had_no_room),
            is_estimate: usual.is_estimate(&port),
            dropped,
        };
        (port, queue)
    });
    queues.collect()
}
