//! The trials of a run, read from disk or carried out by a world, of which each is asked how it loses packets.

use super::random_loss;
use super::run_trials::{ProbeStream, RunTrials, Trial};
use delaylab_lab::experiment::Resolved;
use delaylab_model::distinct::Distinct;
use delaylab_model::path::Framing;
use delaylab_model::plan::{Planned, labels};
use delaylab_model::record::Record;
use delaylab_model::trial::{self, ProbeFacts, RecordFacts};
use delaylab_model::world::{Sink, World, WorldError};
use delaylab_store::run::Run;
use delaylab_topology::framing::framing_of;
use std::collections::BTreeMap;
use std::io;

impl RunTrials {
    /// Reads a run. `resolved` is its experiment.
    pub fn of_run(run: &Run, resolved: &Resolved) -> Self {
        let planned = resolved.planned.iter();
        let loads: BTreeMap<u32, u32> = planned
            .map(|planned| &planned.trial)
            .map(|trial| (trial.id, loads(trial)))
            .collect();
        let mut records = BTreeMap::<(u32, u16), Vec<Record>>::new();
        run.for_each_record(None, |record| {
            let key = (record.trial, record.probe);
            records.entry(key).or_default().push(*record);
        });
        let mut trials = BTreeMap::<u32, Trial>::new();
        let mut distinct = Distinct::new();
        for row in run.trials() {
            // A copy of a simulation is no second measurement of its combination of levels.
            let of = (labels(&row.factors), row.probe);
            if !distinct.is_first(row.facts.trace_hash, of) {
                continue;
            }
            let mut own = records.remove(&(row.trial, row.probe)).unwrap_or_default();
            own.sort_unstable_by_key(|record| record.seq);
            let trial = trials.entry(row.trial).or_insert_with(|| Trial {
                factors: row.factors.clone(),
                loads: loads.get(&row.trial).copied().unwrap_or(0),
                flawed: false,
                random_loss: false,
                streams: Vec::new(),
            });
            trial.flawed |= !row.valid;
            trial.streams.push(ProbeStream {
                probe: row.probe_name.clone(),
                method: row.method,
                facts: row.facts.records,
                warmup: row.warmup,
                records: own,
            });
        }
        Self::from_trials(framing(resolved), trials.into_values().collect())
    }

    /// These trials, of which each is asked how it loses packets.
    pub fn from_trials(framing: Framing, mut trials: Vec<Trial>) -> Self {
        random_loss::mark(&mut trials, framing);
        Self { framing, trials }
    }

    /// Carries out the trials of an experiment and records nothing.
    ///
    /// # Errors
    /// The world's.
    pub fn of_world(world: &mut dyn World, resolved: &Resolved) -> Result<Self, WorldError> {
        let trials = resolved.planned.iter().map(|planned| {
            let mut kept = Kept(vec![Vec::new(); planned.trial.probes.len()]);
            let facts = world.run(&planned.trial, &mut kept)?;
            Ok(Trial::of_world(planned, &facts.probes, kept))
        });
        let trials = trials.collect::<Result<_, _>>()?;
        Ok(Self::from_trials(framing(resolved), trials))
    }
}

fn framing(resolved: &Resolved) -> Framing {
    let first = resolved.planned.first();
    first.map_or_else(Framing::default, |planned| framing_of(&planned.trial.path))
}

fn loads(trial: &trial::Trial) -> u32 {
    trial.loads.iter().map(|load| load.streams).sum()
}

/// The records of each probe.
struct Kept(Vec<Vec<Record>>);

impl Sink for Kept {
    fn begin(&mut self, _: u16, _: &RecordFacts) -> io::Result<()> {
        Ok(())
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        if let Some(own) = self.0.get_mut(usize::from(record.probe)) {
            own.push(*record);
        }
        Ok(())
    }
}

impl Trial {
    fn of_world(planned: &Planned, facts: &[ProbeFacts], Kept(records): Kept) -> Self {
        let probes = planned.trial.probes.iter().zip(facts).zip(records);
        let streams = probes.map(|((probe, facts), mut records)| {
            records.sort_unstable_by_key(|record| record.seq);
            ProbeStream {
                probe: probe.name.clone(),
                method: probe.method,
                facts: facts.records,
                warmup: probe.warmup,
                records,
            }
        });
        Self {
            factors: planned.factors.clone(),
            loads: loads(&planned.trial),
            flawed: facts.iter().any(|facts| !facts.flaws.is_empty()),
            random_loss: false,
            streams: streams.collect(),
        }
    }
}
