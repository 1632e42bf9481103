//! Records in, one by one; sweeps out.

use super::way::{Sample, of_samples};
use super::{Sweep, Way};
use delaylab_model::distinct::Distinct;
use delaylab_model::plan::{Factor, Level, Unit, levels_in_words};
use delaylab_model::record::Record;
use delaylab_model::trial::{RecordFacts, ReflectorClock};
use std::collections::{BTreeMap, BTreeSet};

/// Packets of a size that are kept; of more every second, every fourth and so on. Far more than a figure
/// of a size needs.
const KEEP: usize = 2048;
/// Fewer sizes are no sweep.
const LEAST_SIZES: usize = 3;

/// One probe of one trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// Its trial.
    pub trial: u32,
    /// Which probe of it.
    pub probe: u16,
    /// The probe's name.
    pub name: String,
    /// Each factor and its level.
    pub factors: Vec<Factor>,
    /// How to read its records.
    pub facts: RecordFacts,
    /// Digest of the trial's events, where it was simulated: trials that share it are one.
    pub trace_hash: Option<u64>,
}

/// What packets have in common: levels and probe.
#[derive(Debug, Clone, PartialEq)]
struct Key {
    factors: Vec<Factor>,
    probe: String,
}

/// Takes the records of a run and makes sweeps of them, in memory that hardly grows with their number.
#[derive(Debug, Default)]
pub struct Gatherer {
    members: BTreeMap<(u32, u16), (usize, RecordFacts)>,
    groups: Vec<Group>,
}

#[derive(Debug)]
struct Group {
    key: Key,
    clock: ReflectorClock,
    sizes: BTreeMap<u32, Kept>,
}

/// Of one size, spread evenly over time.
#[derive(Debug, Clone)]
struct Kept {
    stride: usize,
    seen: usize,
    samples: Vec<Sample>,
}

impl Gatherer {
    /// For these probes of these trials.
    pub fn new(members: impl IntoIterator<Item = Member>) -> Self {
        let mut gatherer = Self::default();
        let mut distinct = Distinct::new();
        for member in members {
            let key = Key {
                factors: member.factors,
                probe: member.name,
            };
            let known = gatherer.groups.iter().position(|group| group.key == key);
            let group = known.unwrap_or(gatherer.groups.len());
            let clock = member.facts.reflector_clock;
            match known {
                // Its clock may be known in one repeat and not in the next.
                Some(at) => gatherer.groups[at].clock = joined(gatherer.groups[at].clock, clock),
                None => gatherer.groups.push(Group {
                    key,
                    clock,
                    sizes: BTreeMap::new(),
                }),
            }
            let place = (member.trial, member.probe);
            if distinct.is_first(member.trace_hash, (group, member.probe)) {
                gatherer.members.insert(place, (group, member.facts));
            }
        }
        gatherer
    }

    /// Adds a record. One that was not answered, has no size or belongs to none of the probes says
    /// nothing.
    pub fn push(&mut self, record: &Record) {
        let member = self.members.get(&(record.trial, record.probe));
        let (Some((group, facts)), Some(size)) = (member, record.ip_size) else {
            return;
        };
        if let Some(sample) = Sample::from_record(record, facts) {
            let kept = self.groups[*group].sizes.entry(size).or_default();
            kept.push(sample);
        }
    }

    /// Every sweep that there is, in the order of their first trials. The same seed gives the same
    /// intervals.
    pub fn finish(self, seed: u64) -> Vec<Sweep> {
        let of_sizes = size_factors(&self.groups);
        let without = |key: &Key| Key {
            factors: (key.factors.iter())
                .filter(|(name, _)| !of_sizes.contains(name))
                .cloned()
                .collect(),
            probe: key.probe.clone(),
        };
        let groups = self.groups.into_iter().map(|mut group| {
            group.key = without(&group.key);
            group
        });
        let mut groups = merged(groups);
        if one_size_a_probe(&groups) {
            groups.iter_mut().for_each(|group| group.key.probe.clear());
            groups = merged(groups.into_iter());
        }
        let swept = groups
            .into_iter()
            .filter(|group| group.sizes.len() >= LEAST_SIZES);
        swept.filter_map(|group| group.finish(seed)).collect()
    }
}

impl Default for Kept {
    fn default() -> Self {
        Self {
            stride: 1,
            seen: 0,
            samples: Vec::new(),
        }
    }
}

impl Kept {
    fn push(&mut self, sample: Sample) {
        if self.seen.is_multiple_of(self.stride) {
            self.samples.push(sample);
        }
        self.seen += 1;
        if self.samples.len() > KEEP {
            let mut index = 0;
            self.samples.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.stride *= 2;
        }
    }
}

impl Group {
    /// `None` where no packet counts.
    fn finish(self, seed: u64) -> Option<Sweep> {
        let sizes = self.sizes.into_iter();
        let samples = sizes.map(|(size, kept)| (size, kept.samples)).collect();
        let ways: Vec<Way> = of_samples(&samples, self.clock, seed);
        (!ways.is_empty()).then_some(Sweep {
            factors: self.key.factors,
            probe: self.key.probe,
            ways,
        })
    }
}

/// The factors that are the size of the packets: each level in bytes, as far from the IP packet's size
/// as every other of the same probe and the same levels of factors that are not in bytes, whose headers may be longer.
fn size_factors(groups: &[Group]) -> BTreeSet<String> {
    let in_bytes = |level: &Level| level.value.filter(|_| level.unit == Some(Unit::Bytes));
    let mut away: BTreeMap<(&str, String), BTreeSet<i64>> = BTreeMap::new();
    let mut levels: BTreeMap<&str, BTreeSet<Option<u64>>> = BTreeMap::new();
    for group in groups {
        let Key { factors, probe } = &group.key;
        let others = factors
            .iter()
            .filter(|(_, level)| in_bytes(level).is_none());
        let others = levels_in_words(others, Some(probe));
        for (name, level) in factors {
            let bytes = in_bytes(level);
            levels
                .entry(name)
                .or_default()
                .insert(bytes.map(f64::to_bits));
            let headers = away.entry((name, others.clone())).or_default();
            if let Some(bytes) = bytes {
                let sizes = group.sizes.keys();
                headers.extend(sizes.map(|&size| i64::from(size) - bytes as i64));
            }
        }
    }
    let is_size = |name: &str| {
        let mut of_name = away.iter().filter(|((of, _), _)| *of == name);
        of_name.all(|(_, headers)| headers.len() <= 1)
    };
    let of_sizes = levels
        .into_iter()
        .filter(|(name, levels)| levels.len() > 1 && !levels.contains(&None) && is_size(name));
    of_sizes.map(|(name, _)| name.to_owned()).collect()
}

/// Has each probe of which something was answered one size, and another one than every other?
fn one_size_a_probe(groups: &[Group]) -> bool {
    let answered = groups.iter().filter(|group| !group.sizes.is_empty());
    let names: BTreeSet<&str> = answered.map(|group| group.key.probe.as_str()).collect();
    let sizes: BTreeSet<u32> = groups
        .iter()
        .flat_map(|group| group.sizes.keys().copied())
        .collect();
    groups.iter().all(|group| group.sizes.len() <= 1) && names.len() == sizes.len()
}

/// The clock of a reflector that stamps both of two sets of samples.
fn joined(one: ReflectorClock, other: ReflectorClock) -> ReflectorClock {
    match one.and(other) {
        // Stamps of another clock have an offset that those of this one lack.
        ReflectorClock::Unrelated if one != other => ReflectorClock::None,
        shared => shared,
    }
}

/// Those of equal keys as one.
fn merged(groups: impl Iterator<Item = Group>) -> Vec<Group> {
    let mut all: Vec<Group> = Vec::new();
    for group in groups {
        let Some(known) = all.iter_mut().find(|known| known.key == group.key) else {
            all.push(group);
            continue;
        };
        known.clock = joined(known.clock, group.clock);
        for (size, kept) in group.sizes {
            known
                .sizes
                .entry(size)
                .or_default()
                .samples
                .extend(kept.samples);
        }
    }
    all
}
