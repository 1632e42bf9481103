//! What a run saw, as calibration needs it.

use super::random_loss;
use delaylab_lab::experiment::Resolved;
use delaylab_model::Nanos;
use delaylab_model::distinct::Distinct;
use delaylab_model::method::Method;
use delaylab_model::path::Framing;
use delaylab_model::plan::{Factor, Planned, labels};
use delaylab_model::record::Record;
use delaylab_model::trial::{self, ProbeFacts, RecordFacts, ReflectorClock, Residence};
use delaylab_model::world::{Sink, World, WorldError};
use delaylab_store::run::Run;
use delaylab_topology::framing::framing_of;
use std::collections::BTreeMap;
use std::io;

/// A clock that is known this well is one clock: what is looked for is ten times as long and more.
const ONE_CLOCK: Nanos = 20_000;
/// A trial that lost this share of a stream, and so many, has overflowed a buffer.
const LOST_SHARE: f64 = 0.01;
const LOST_LEAST: usize = 20;
/// Packets that may be lost by accident in a trial without load.
const BY_ACCIDENT: f64 = 0.005;

/// All trials of a run.
#[derive(Debug, Clone, Default)]
pub struct RunTrials {
    /// How packets are put on links.
    pub framing: Framing,
    /// In their order.
    pub trials: Vec<Trial>,
}

/// One trial.
#[derive(Debug, Clone)]
pub struct Trial {
    /// Each factor and its level.
    pub factors: Vec<Factor>,
    /// Streams of load beside the probes, of whose packets nothing is known.
    pub loads: u32,
    /// It is not what its experiment meant.
    pub flawed: bool,
    /// It loses packets whether others wait or not.
    pub random_loss: bool,
    /// Its probes.
    pub streams: Vec<Stream>,
}

/// One probe in one trial.
#[derive(Debug, Clone)]
pub struct Stream {
    /// Its name.
    pub probe: String,
    /// How it asked.
    pub method: Method,
    /// How to read its records.
    pub facts: RecordFacts,
    /// So many packets at the start are left out of distributions.
    pub warmup: u64,
    /// In order of sequence.
    pub records: Vec<Record>,
}

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
            if !distinct.counts(row.facts.trace_hash, of) {
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
            trial.streams.push(Stream {
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

    /// Those that are what their experiment meant.
    pub fn usable(&self) -> impl Iterator<Item = &Trial> {
        self.trials.iter().filter(|trial| !trial.flawed)
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
            Stream {
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

    /// Nothing competes, and nothing is lost but by accident.
    pub fn is_unloaded(&self) -> bool {
        let accident =
            |stream: &Stream| stream.lost() as f64 <= stream.sent_count() as f64 * BY_ACCIDENT;
        self.loads == 0 && (self.random_loss || self.streams.iter().all(accident))
    }

    /// Its own packets overflow a buffer.
    pub fn overflows(&self) -> bool {
        let overflows = |stream: &Stream| {
            let least = stream.sent_count() as f64 * LOST_SHARE;
            stream.lost() >= LOST_LEAST && stream.lost() as f64 >= least
        };
        self.loads == 0 && !self.random_loss && self.streams.iter().any(overflows)
    }
}

impl Stream {
    /// How many of its packets this host sent.
    pub fn sent_count(&self) -> usize {
        let sent = self.records.iter().filter(|one| one.outcome.was_sent());
        sent.count()
    }

    /// How many of them were never answered.
    pub fn lost(&self) -> usize {
        let lost = self.records.iter().filter(|one| one.outcome.is_lost());
        lost.count()
    }

    /// Is it known when its packets reached the far end?
    pub fn one_way(&self) -> bool {
        self.method.is_one_way()
            || match self.facts.reflector_clock {
                ReflectorClock::Same => true,
                ReflectorClock::Bounded { error_ns } => error_ns <= ONE_CLOCK,
                ReflectorClock::None | ReflectorClock::Unrelated => false,
            }
    }

    /// From the request's arrival to the reply's departure.
    pub fn residence(&self, record: &Record) -> Option<Nanos> {
        match self.facts.residence {
            Residence::Unknown => Some(0),
            Residence::ToUser => Some(record.r_user? - record.r_rx?),
            Residence::ToDriver => Some(record.r_tx? - record.r_rx?),
        }
    }

    /// When a packet went to the driver. Of frames the call that sends them is all that is stamped; nothing queues
    /// behind it.
    pub fn sent(&self, record: &Record) -> Option<Nanos> {
        match self.method.is_one_way() {
            true => record.t_send,
            false => record.t_tx,
        }
    }

    /// What the network takes: there and back, for frames there.
    pub fn network(&self, record: &Record) -> Option<Nanos> {
        let all = record.t_rx? - self.sent(record)?;
        match self.method.is_one_way() {
            true => Some(all),
            false => Some(all - self.residence(record)?),
        }
    }
}
