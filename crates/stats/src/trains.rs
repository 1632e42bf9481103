//! What ran beside the probes, process by process: each time that it was woken, and for how long it then
//! had a CPU.
//!
//! A thread that loses its CPU and could have gone on is still at the same work when it gets one back: a
//! process of normal priority is cut into pieces by whatever goes before it, the prober included, and
//! the pieces begin when the prober allows it. So pieces are joined to *activations*: from waking to waiting.
//! Where a record does not say whether a thread waited, pieces are joined whose gap is short beside both.
//!
//! Every process is looked at by itself, however many have its name ([`Owner`]). Only those that were too short-lived to
//! have an interval of their own are taken together, by name and unit: what is started again and again is a
//! new process each time.

use crate::regularity::{self, LEAST_GAPS, Regular};
use delaylab_model::Nanos;
use delaylab_model::noise::{NoiseEvent, NoiseKind, Process};
use std::collections::{BTreeMap, BTreeSet};

/// Pieces are one activation if the gap between them is at most this share of the shorter one, where nothing
/// says whether the thread waited in between.
const SHORT_GAP: f64 = 0.25;

/// Whose a run is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Owner {
    /// The [`family`] of its name.
    pub name: String,
    /// The process's number. `None` of interrupts, of sources that do not say, and of short-lived processes that
    /// are taken together.
    pub process: Option<u32>,
    /// When the process started, since the host did, where that was learned.
    pub started: Option<Nanos>,
    /// Its systemd unit or cgroup, where that was learned.
    pub unit: Option<String>,
}

impl Owner {
    /// Of something that has a name and no process.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    /// As one of those that are taken together.
    fn together(&self) -> Self {
        Self {
            process: None,
            started: None,
            ..self.clone()
        }
    }
}

/// A time at which it was woken, and for how long it then ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Activation {
    /// When it first had a CPU.
    pub start: Nanos,
    /// When it last left one.
    pub end: Nanos,
    /// How long it had one in between.
    pub ran: Nanos,
    /// Of which thread.
    pub thread: Option<u32>,
}

/// One event of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Piece {
    start: Nanos,
    length: Nanos,
    preempted: Option<bool>,
}

/// What was seen of the threads of an owner, by trial and thread.
type Threads = BTreeMap<(u32, Option<u32>), Vec<Piece>>;

/// Takes events, trial by trial or in any order.
#[derive(Debug, Clone, Default)]
pub struct TrainsBuilder {
    processes: BTreeMap<(u32, u32), Process>,
    pieces: BTreeMap<Owner, Threads>,
}

/// Everything that was seen running in the trials of a run.
#[derive(Debug, Clone, Default)]
pub struct Trains {
    processes: BTreeMap<(u32, u32), Process>,
    /// Too short-lived to stand alone.
    together: BTreeSet<Owner>,
    /// By trial, in the order of time.
    activations: BTreeMap<Owner, BTreeMap<u32, Vec<Activation>>>,
}

impl TrainsBuilder {
    /// Takes what was learned of the threads of a trial. Comes before the trial's events.
    pub fn know(&mut self, trial: u32, processes: &[Process]) {
        let each = processes.iter();
        self.processes
            .extend(each.map(|process| ((trial, process.thread), process.clone())));
    }

    /// Takes an event. Those without a name have no owner; what was stopped did not run.
    pub fn push(&mut self, event: &NoiseEvent) {
        let ran = event.kind != NoiseKind::Stopped;
        let Some(owner) = owner(&self.processes, event).filter(|_| ran) else {
            return;
        };
        let threads = self.pieces.entry(owner).or_default();
        let pieces = threads.entry((event.trial, event.pid)).or_default();
        pieces.push(Piece {
            start: event.start,
            length: event.length,
            preempted: event.preempted,
        });
    }

    /// Joins pieces to activations, and short-lived processes to one.
    pub fn finish(self) -> Trains {
        let mut trains = Trains {
            processes: self.processes,
            ..Trains::default()
        };
        let mut short_lived = BTreeMap::<Owner, Vec<Owner>>::new();
        for (owner, threads) in self.pieces {
            let mut by_trial = BTreeMap::<u32, Vec<Activation>>::new();
            for ((trial, thread), pieces) in threads {
                let activations = joined(thread, pieces);
                by_trial.entry(trial).or_default().extend(activations);
            }
            let count: usize = by_trial.values().map(Vec::len).sum();
            if owner.process.is_some() && count <= LEAST_GAPS {
                let together = short_lived.entry(owner.together()).or_default();
                together.push(owner.clone());
            }
            trains.activations.insert(owner, by_trial);
        }
        short_lived.retain(|_, owners| owners.len() > 1);
        for (together, owners) in short_lived {
            let mut all = trains.activations.remove(&together).unwrap_or_default();
            for owner in owners {
                for (trial, more) in trains.activations.remove(&owner).unwrap_or_default() {
                    all.entry(trial).or_default().extend(more);
                }
                trains.together.insert(owner);
            }
            trains.activations.insert(together, all);
        }
        for activations in trains
            .activations
            .values_mut()
            .flat_map(BTreeMap::values_mut)
        {
            activations.sort_unstable_by_key(|activation| activation.start);
        }
        trains
    }
}

/// Whose an event is, as far as the processes are known.
fn owner(processes: &BTreeMap<(u32, u32), Process>, event: &NoiseEvent) -> Option<Owner> {
    let name = family(event.who.as_deref()?);
    let known = event
        .pid
        .and_then(|thread| processes.get(&(event.trial, thread)));
    Some(Owner {
        name,
        process: known.map(|process| process.pid).or(event.pid),
        started: known.map(|process| process.started),
        unit: known.and_then(|process| process.unit.clone()),
    })
}

/// What threads of one kind share of their names: `kworker/0:1` and `kworker/1:3` are `kworker/*:*`.
/// Numbers behind a letter stay: `python3`.
pub fn family(name: &str) -> String {
    let mut family = String::with_capacity(name.len());
    let mut in_number = false;
    for c in name.chars() {
        let before = family.chars().last();
        let begins = c.is_ascii_digit() && before.is_some_and(|before| !before.is_alphanumeric());
        if !(in_number && c.is_ascii_digit()) {
            in_number = begins && before != Some('*');
            family.push(if in_number { '*' } else { c });
        }
    }
    family
}

/// The pieces of one thread as activations, in the order of time.
fn joined(thread: Option<u32>, mut pieces: Vec<Piece>) -> Vec<Activation> {
    pieces.sort_unstable();
    let mut joined: Vec<Activation> = Vec::new();
    let mut before: Option<Piece> = None;
    for piece in pieces {
        let end = piece.start.saturating_add(piece.length);
        match joined.last_mut() {
            Some(last) if before.is_some_and(|before| goes_on(before, piece)) => {
                last.end = end;
                last.ran += piece.length;
            }
            _ => joined.push(Activation {
                start: piece.start,
                end,
                ran: piece.length,
                thread,
            }),
        }
        before = Some(piece);
    }
    joined
}

/// Is this piece the same work as the one before?
fn goes_on(before: Piece, piece: Piece) -> bool {
    before.preempted.unwrap_or_else(|| {
        let gap = piece.start - before.start.saturating_add(before.length);
        gap as f64 <= SHORT_GAP * before.length.min(piece.length) as f64
    })
}

impl Trains {
    /// Was nothing seen running?
    pub fn is_empty(&self) -> bool {
        self.activations.is_empty()
    }

    /// Whose an event is. `None` for one without a name.
    pub fn owner(&self, event: &NoiseEvent) -> Option<Owner> {
        let owner = owner(&self.processes, event)?;
        Some(match self.together.contains(&owner) {
            true => owner.together(),
            false => owner,
        })
    }

    /// What was learned of an owner's process.
    pub fn process(&self, owner: &Owner) -> Option<&Process> {
        let is = |process: &&Process| {
            Some(process.pid) == owner.process && Some(process.started) == owner.started
        };
        self.processes.values().find(is)
    }

    /// How many processes are taken together as this one.
    pub fn together(&self, owner: &Owner) -> usize {
        let alike = self.together.iter();
        alike.filter(|other| other.together() == *owner).count()
    }

    /// How many processes have this name.
    pub fn of_name(&self, name: &str) -> usize {
        let owners = self.activations.keys();
        owners.filter(|owner| owner.name == name).count()
    }

    /// When it was woken, by trial.
    pub fn activations(&self, owner: &Owner) -> impl Iterator<Item = (u32, &[Activation])> {
        let trials = self.activations.get(owner).into_iter().flatten();
        trials.map(|(&trial, activations)| (trial, activations.as_slice()))
    }

    /// The activation that an event is of.
    pub fn activation(&self, owner: &Owner, event: &NoiseEvent) -> Option<Activation> {
        let activations = self.activations.get(owner)?.get(&event.trial)?;
        let begun = activations.partition_point(|activation| activation.start <= event.start);
        // Other threads of the process run at the same time.
        let mut before = activations[..begun].iter().rev();
        let last = before.find(|activation| activation.thread == event.pid)?;
        (last.end >= event.start).then_some(*last)
    }

    /// Does it run at regular intervals? Activations count that are at least half as long as those in which it
    /// spends most of its time: shorter ones are something else that it does.
    pub fn regular(&self, owner: &Owner) -> Option<Regular> {
        let trials = self.activations.get(owner)?;
        let mut lengths: Vec<Nanos> = trials.values().flatten().map(|each| each.ran).collect();
        lengths.sort_unstable();
        let mut left: Nanos = lengths.iter().sum::<Nanos>() / 2;
        let longer = lengths.into_iter().rev().find(|&length| {
            left -= length;
            left <= 0
        });
        self.regular_from(owner, longer? / 2)
    }

    /// The same of its activations of this length or longer.
    pub fn regular_from(&self, owner: &Owner, least: Nanos) -> Option<Regular> {
        let starts = self.activations(owner).map(|(_, activations)| {
            let long = activations.iter().filter(|each| each.ran >= least);
            long.map(|each| each.start).collect()
        });
        regularity::find_period(&starts.collect::<Vec<Vec<Nanos>>>())
    }

    /// Everything that runs at regular intervals: its name, and its period in ns.
    pub fn known(&self) -> Vec<(&str, f64)> {
        let owners = self.activations.keys();
        let known =
            owners.filter_map(|owner| Some((owner.name.as_str(), self.regular(owner)?.period_ns)));
        known.collect()
    }
}

#[cfg(test)]
mod tests;
