//! What had the CPU of the prober's host while packets that were not late waited for it: a part of what every packet of a
//! condition takes, and no cause of late ones.

use super::gather::{Gathered, GatheredStream};
use super::late_bounds::response;
use super::rhythm::SendTimes;
use super::roles::{Role, Roles};
use super::slow::{Combination, HadCpu, MIN_SLOWING_SHARE, Slow};
use delaylab_model::noise::NoiseKind;
use delaylab_model::plan::{Factor, levels_in_words};
use delaylab_stats::anatomy::Place;
use delaylab_stats::noise_join::Join;
use delaylab_stats::occupied::{CpuWaits, Occupied};
use delaylab_stats::trains::Trains;
use delaylab_store::run::Run;
use std::collections::BTreeMap;

/// What has the CPU for less of the response than this is one of the others. Chosen by hand.
const MIN_NAMED_SHARE: f64 = 0.05;
/// Packets of a stream that are looked at, at most; of more packets, this number, picked evenly.
const MAX_PACKETS: usize = 100_000;

/// What is known of processes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Processes<'a> {
    pub(super) trains: &'a Trains,
    pub(super) roles: &'a Roles,
    pub(super) sending: &'a SendTimes,
}

/// Finds it for each condition of which that host takes enough to make it slow.
pub(super) fn find(run: &Run, gathered: &Gathered<'_>, processes: Processes<'_>, slow: &mut Slow) {
    if gathered.sources.is_empty() || gathered.imported {
        return;
    }
    let key = |levels: &[Factor], probe: &str| (levels_in_words(levels, None), probe.to_owned());
    let conditions = slow.conditions.iter().enumerate();
    let by_key: BTreeMap<_, usize> = conditions
        .filter(|(_, condition)| waits_for_host(condition))
        .map(|(at, condition)| (key(&condition.factors, &condition.probe), at))
        .collect();
    let mut by_trial = BTreeMap::<u32, BTreeMap<u16, (usize, &GatheredStream<'_>)>>::new();
    for stream in &gathered.streams {
        let row = stream.row;
        if let Some(&at) = by_key.get(&key(&row.factors, &row.probe_name)) {
            let probes = by_trial.entry(row.trial).or_default();
            probes.insert(row.probe, (at, stream));
        }
    }
    let mut found = BTreeMap::<usize, Occupied>::new();
    for (trial, probes) in by_trial {
        for (at, occupied) in of_trial(run, trial, &probes, processes.trains) {
            found.entry(at).or_default().merge(occupied);
        }
    }
    for (at, occupied) in found {
        slow.conditions[at].had_cpu = named(occupied, processes);
    }
}

/// Does the prober's host take enough of it?
fn waits_for_host(condition: &Combination) -> bool {
    let here = condition.spent.iter();
    let here = here.filter(|spent| spent.component.place() == Place::Prober);
    here.map(|spent| spent.ns).sum::<f64>() >= MIN_SLOWING_SHARE * condition.usual_ns
}

/// Of each stream of a trial: of which condition it is, and what had the CPU.
fn of_trial(
    run: &Run,
    trial: u32,
    probes: &BTreeMap<u16, (usize, &GatheredStream<'_>)>,
    trains: &Trains,
) -> Vec<(usize, Occupied)> {
    let noise = run.noise(Some(trial));
    if noise.is_empty() {
        return Vec::new();
    }
    let join = Join::new(&noise);
    let mut waits = BTreeMap::<u16, (usize, CpuWaits)>::new();
    run.scan(Some(trial), |row, record| {
        let Some((_, stream)) = probes.get(&row.probe) else {
            return;
        };
        if response(record).is_none_or(|response| response > stream.bound) {
            return;
        }
        let (packets, waits) = waits.entry(row.probe).or_insert_with(|| {
            let over_tcp = row.method.is_stream();
            (0, CpuWaits::new(row.facts.records, over_tcp))
        });
        if packets.is_multiple_of(stream.due.len().div_ceil(MAX_PACKETS)) {
            waits.push(record);
        }
        *packets += 1;
    });
    let each = waits.into_iter();
    each.map(|(probe, (_, waits))| (probes[&probe].0, waits.occupied(&join, trains)))
        .collect()
}

/// Without what the probe's own packets wake, which is part of the measurement, and without what the run asks for; what has little of the time is one of the others.
fn named(occupied: Occupied, processes: Processes<'_>) -> Vec<HadCpu> {
    let Processes {
        trains,
        roles,
        sending,
    } = processes;
    let (mut named, mut others) = (Vec::new(), 0.0);
    for (who, kind, share) in occupied.shares() {
        let role = roles.role(&who.name, trains.process(&who));
        let measures = matches!(role, Role::Prober | Role::Reflector);
        if kind == NoiseKind::SlowClockRead || measures || role.is_run_load() {
            continue;
        }
        if share < MIN_NAMED_SHARE {
            others += share;
        } else if sending.drives(&who, trains).is_none() {
            named.push(HadCpu {
                who: Some((who, kind)),
                role,
                share,
            });
        }
    }
    named.extend((others > 0.0).then_some(HadCpu {
        who: None,
        role: Role::Other,
        share: others,
    }));
    named
}
