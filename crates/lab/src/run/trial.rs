//! Runs one trial, from its beginning to its rows on disk.

use super::recorder::{Recorded, Recorder};
use super::{LabError, StopMeans, TrialOutcome, Watch};
use crate::pipeline;
use delaylab_kernel::clock;
use delaylab_model::Nanos;
use delaylab_model::plan::Planned;
use delaylab_model::probe::Probe;
use delaylab_model::stop::Stop;
use delaylab_model::trial::{ProbeFacts, ReflectorClock, Trial};
use delaylab_model::world::{Clock, Sink, TrialFacts, World};
use delaylab_stats::noise_join::{Join, UnwatchedByCpu};
use delaylab_stats::summary::Summary;
use delaylab_store::begun::{self, Ended};
use delaylab_store::error::StoreError;
use delaylab_store::trial_row::TrialRow;
use delaylab_store::writer::{RunWriter, TrialWriter};
use std::io;

/// Runs single trials: where to record them, and what stops them.
#[derive(Clone, Copy)]
pub(super) struct TrialRunner<'a> {
    pub(super) writer: Option<&'a RunWriter>,
    pub(super) stop: &'a Stop,
    pub(super) stop_means: StopMeans,
    pub(super) watch: Option<&'a dyn Watch>,
    /// May the run use more threads than there are worlds?
    pub(super) has_idle_thread: bool,
}

/// Why a trial broke off, and what it recorded.
pub(super) struct BrokenOff {
    pub(super) error: LabError,
    /// For each probe, the summary of the records until then; empty if recording could not begin or end.
    pub(super) summaries: Vec<Summary>,
}

impl<E: Into<LabError>> From<E> for BrokenOff {
    fn from(error: E) -> Self {
        Self {
            error: error.into(),
            summaries: Vec::new(),
        }
    }
}

impl TrialRunner<'_> {
    fn is_over_when_stopped(&self) -> bool {
        self.stop_means == StopMeans::Over
    }

    /// Prepares to record a trial that began so.
    fn recorder(&self, trial: &Trial, begun: &Begun) -> Result<Recorder<'_>, StoreError> {
        let threads = if self.has_idle_thread { usize::MAX } else { 1 };
        let writer = self.writer.map(|writer| match begun.clock {
            Clock::Real => writer.begin_trial(trial.id),
            Clock::Simulated => writer.begin_repeatable_trial(trial.id, threads),
        });
        let is_over = self.is_over_when_stopped();
        let counts = begun.clock == Clock::Real && (is_over || trial.is_endless());
        let recorder = Recorder::new(writer.transpose()?, trial, self.watch);
        let recorder = recorder.counting(counts.then(|| begun.to_note()));
        Ok(recorder.outlasting_storage(is_over))
    }

    /// Makes a trial part of the stored run. Why it could not be stored, where the run is over with it all the same.
    fn store(
        &self,
        trial: u32,
        not_stored: Option<io::Error>,
        writer: Option<TrialWriter>,
        rows: &[TrialRow],
    ) -> Result<Option<String>, LabError> {
        let stored = match (not_stored, writer) {
            (Some(error), _) => Err(LabError::Recording(error)),
            (None, Some(writer)) => finish(writer, rows).map_err(LabError::Store),
            (None, None) => Ok(()),
        };
        let is_recorded = |run: &RunWriter| run.recorded().is_ok_and(|all| all.contains(&trial));
        let is_over = self.is_over_when_stopped();
        match stored {
            Ok(()) => Ok(None),
            // It is part of the run: what it has twice is tidied when that ends.
            Err(_) if is_over && self.writer.is_some_and(is_recorded) => Ok(None),
            Err(error) if is_over => Ok(Some(error.to_string())),
            Err(error) => Err(error),
        }
    }

    /// Runs a trial and records it. `turn`: how many trials ran before. Returns `None` if the user asked
    /// to stop.
    pub(super) fn trial(
        &self,
        world: &mut dyn World,
        planned: &Planned,
        turn: usize,
    ) -> Result<Option<TrialOutcome>, BrokenOff> {
        if self.stop.is_asked() {
            return Ok(None);
        }
        let trial = &planned.trial;
        let begun = Begun::now(world.clock());
        let recorder = self.recorder(trial, &begun)?;
        let run = |sink: &mut dyn Sink| world.run(trial, sink);
        let (ran, recorder, recorded) = match begun.clock {
            // Who watches wants to see packets before there are thousands.
            Clock::Simulated if !self.has_idle_thread && self.watch.is_none() => {
                pipeline::run_on_one_thread(recorder, run)
            }
            clock => pipeline::run(clock, recorder, run),
        };
        let Recorded {
            mut writer,
            begun: noted,
            count,
            not_stored,
            mut summaries,
            mut frames,
        } = recorder.end();
        if let Err(error) = recorded {
            let error = LabError::Recording(error);
            return Err(BrokenOff { error, summaries });
        }
        let stopped = self.stop.is_asked();
        if stopped && self.stop_means == StopMeans::Interrupted && !trial.is_endless() {
            return Ok(None);
        }
        // An error may come from the stop itself (a session not set up): a resumable run has not failed, and what sent nothing
        // has no results.
        let is_of_stop = stopped && (!self.is_over_when_stopped() || sent_nothing(&summaries));
        let TrialFacts { probes, streams } = match ran {
            Ok(facts) => facts,
            Err(_) if is_of_stop => return Ok(None),
            Err(error) => {
                let error = LabError::World(error);
                return Err(BrokenOff { error, summaries });
            }
        };
        frames.flaws = probes
            .iter()
            .flat_map(|facts| facts.flaws.clone())
            .collect();
        frames.trace_hash = probes.iter().find_map(|facts| facts.trace_hash);
        withdraw_one_way(&mut summaries, &probes);
        let ended = clock::monotonic();
        if let (Some(noted), Some(writer), None) = (noted, &mut writer, &not_stored) {
            // Tables take the room of all records once more. Without the note what is recorded would count as cut short.
            let _ = writer.note_begun(&noted.ending(Ended {
                monotonic: ended,
                records: count,
                facts: probes.clone(),
            }));
        }
        let rows = begun.rows(planned, turn, probes, &summaries, ended);
        let not_stored = self.store(trial.id, not_stored, writer, &rows)?;
        Ok(Some(TrialOutcome {
            rows,
            summaries,
            frames,
            streams,
            not_stored,
        }))
    }
}

fn sent_nothing(summaries: &[Summary]) -> bool {
    summaries.iter().all(|summary| summary.counts.sent == 0)
}

/// How long a way takes is not known of probes whose reflector has another clock.
pub(super) fn withdraw_one_way(summaries: &mut [Summary], facts: &[ProbeFacts]) {
    for (summary, facts) in summaries.iter_mut().zip(facts) {
        if facts.records.reflector_clock == ReflectorClock::Unrelated {
            summary.withdraw_one_way();
        }
    }
}

/// Joins noise to records, and makes the trial part of the stored run.
pub(super) fn finish(mut writer: TrialWriter, rows: &[TrialRow]) -> Result<(), StoreError> {
    let noise = writer.noise_so_far()?;
    let join = Join::new(&noise);
    let unwatched = rows.first().map_or(&[][..], |row| &row.facts.unwatched);
    let unwatched = UnwatchedByCpu::new(unwatched);
    let watched = rows.iter().any(|row| !row.facts.noise_sources.is_empty());
    writer.finish(rows, &|record| {
        let overlap = join.overlap(record);
        let known = watched && !unwatched.overlaps(record);
        (known.then_some(overlap.ns), overlap.who())
    })
}

/// When a trial began, and which clock its world has.
pub(super) struct Begun {
    pub(super) clock: Clock,
    pub(super) utc: Nanos,
    pub(super) monotonic: Nanos,
}

impl Begun {
    fn now(clock: Clock) -> Self {
        Self {
            clock,
            utc: clock::realtime(),
            monotonic: clock::monotonic(),
        }
    }

    /// As what ends the trial in place of this process has to know it.
    fn to_note(&self) -> begun::Begun {
        begun::Begun {
            utc: self.utc,
            monotonic: self.monotonic,
            probes: Vec::new(),
            ended: None,
        }
    }

    /// A row for each probe of the trial, which ended on a real clock at `ended`.
    pub(super) fn rows(
        &self,
        planned: &Planned,
        turn: usize,
        facts: Vec<ProbeFacts>,
        summaries: &[Summary],
        ended: Nanos,
    ) -> Vec<TrialRow> {
        let trial = &planned.trial;
        let duration = self.duration(&facts, ended);
        let valid = facts.iter().all(|facts| facts.flaws.is_empty());
        let probes = trial.probes.iter().zip(facts).zip(summaries).zip(0..);
        let row =
            |(((probe, mut facts), summary), index): (((&Probe, ProbeFacts), &Summary), _)| {
                let irregular = summary.irregular.sentences(&[probe.ecn]).into_iter();
                let named = |sentence| match &*trial.probes {
                    [_] => sentence,
                    _ => format!("{}: {sentence}", probe.name),
                };
                facts.warnings.extend(irregular.map(named));
                TrialRow {
                    trial: trial.id,
                    probe: index,
                    probe_name: probe.name.clone(),
                    method: probe.method,
                    repeat: planned.repeat,
                    position: self.position(trial.id, turn),
                    started_utc: (self.clock == Clock::Real).then_some(self.utc),
                    duration,
                    host: trial.host,
                    seed: trial.seed,
                    valid,
                    warmup: probe.warmup,
                    facts,
                    factors: planned.factors.clone(),
                    figures: summary.figures(),
                }
            };
        probes.map(row).collect()
    }

    fn duration(&self, facts: &[ProbeFacts], ended: Nanos) -> Nanos {
        match self.clock {
            Clock::Real => ended - self.monotonic,
            Clock::Simulated => {
                let simulated = facts.iter().filter_map(|facts| facts.simulated);
                simulated.max().unwrap_or(0)
            }
        }
    }

    /// Position of the trial in the run. For simulated trials, whose real order has no effect, it is their number.
    fn position(&self, id: u32, turn: usize) -> u32 {
        match self.clock {
            Clock::Real => u32::try_from(turn).unwrap_or(u32::MAX),
            Clock::Simulated => id,
        }
    }
}
