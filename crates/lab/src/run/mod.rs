//! Runs any plan on any world, one trial after the other, and records it.
//!
//! | module | holds |
//! |---|---|
//! | [`recorder`] | takes a trial's records to disk and to its summary |
//! | [`time_left`] | how long a run will still take |

pub mod recorder;
pub mod time_left;

use crate::experiment::estimate;
use crate::pipeline;
use delaylab_kernel::clock;
use delaylab_model::Nanos;
use delaylab_model::plan::{Factor, Plan, Planned, Remaining};
use delaylab_model::trial::ProbeFacts;
use delaylab_model::world::World;
use delaylab_stats::noise_join::Join;
use delaylab_stats::summary::Summary;
use delaylab_store::error::StoreError;
use delaylab_store::trial_row::TrialRow;
use delaylab_store::writer::RunWriter;
use recorder::Recorder;
use std::io;
use time_left::TimeLeft;

/// A trial that is over and recorded.
#[derive(Debug)]
pub struct Ended<'a> {
    /// What was to be done.
    pub planned: &'a Planned,
    /// Of each probe: what is recorded of the trial.
    pub rows: &'a [TrialRow],
    /// Of each probe.
    pub summaries: &'a [Summary],
}

impl Ended<'_> {
    /// Its levels.
    pub fn factors(&self) -> &[Factor] {
        &self.planned.factors
    }

    /// What the user should know before trusting the figures.
    pub fn warnings(&self) -> impl Iterator<Item = &str> {
        let warnings = self.rows.iter().flat_map(|row| &row.facts.warnings);
        warnings.map(String::as_str)
    }
}

/// Is told how a run goes on. `done` counts trials; what remains comes with the time it will take.
pub trait Progress {
    /// A trial begins.
    fn begins(&mut self, planned: &Planned, done: usize, remaining: Option<(Remaining, Nanos)>);
    /// A trial is recorded.
    fn ended(&mut self, ended: &Ended<'_>, done: usize, remaining: Option<(Remaining, Nanos)>);
    /// The run is over, one way or the other.
    fn over(&mut self) {}
}

/// Of each probe of a trial: what is recorded of it, and its summary.
type Outcome = (Vec<TrialRow>, Vec<Summary>);

/// How a run came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Every trial is recorded.
    Complete,
    /// The user asked to stop. What was recorded of the last trial is kept apart.
    Interrupted,
}

/// Why a run broke off. What was recorded stays, and the run can be resumed.
#[derive(Debug, thiserror::Error)]
pub enum LabError<E> {
    /// A trial could not be carried out.
    #[error("{0}")]
    World(E),
    /// The run cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A trial's records cannot be written.
    #[error("{0}")]
    Recording(io::Error),
}

/// A world, and where what it brings is recorded.
pub struct Laboratory<'a, W> {
    /// Carries trials out.
    pub world: &'a mut W,
    /// Records them.
    pub writer: &'a RunWriter,
    /// Trials that were recorded before, if the run is resumed.
    pub done: usize,
    /// How often the user has asked to stop so far.
    pub stops_asked: fn() -> u32,
}

impl<W: World> Laboratory<'_, W> {
    /// Carries out what the plan asks for, until it asks for nothing more.
    pub fn carry_out(
        &mut self,
        plan: &mut impl Plan<Observation = [Summary]>,
        progress: &mut dyn Progress,
    ) -> Result<Ending, LabError<W::Error>> {
        let ending = self.every_trial(plan, progress);
        progress.over();
        ending
    }

    fn every_trial(
        &mut self,
        plan: &mut impl Plan<Observation = [Summary]>,
        progress: &mut dyn Progress,
    ) -> Result<Ending, LabError<W::Error>> {
        let mut time_left = TimeLeft::default();
        loop {
            let trials = plan.next_trials();
            if trials.is_empty() {
                return Ok(Ending::Complete);
            }
            for planned in trials {
                let left = |time_left: &TimeLeft, remaining: Option<Remaining>| {
                    remaining.map(|remaining| (remaining, time_left.of(remaining)))
                };
                progress.begins(&planned, self.done, left(&time_left, plan.remaining()));
                let begun = clock::monotonic();
                let Some((rows, summaries)) = self.trial(&planned)? else {
                    return Ok(Ending::Interrupted);
                };
                let expected = estimate(&planned.trial).length;
                time_left.learn(expected, clock::monotonic() - begun);
                self.done += 1;
                plan.observe(&planned, &summaries);
                let ended = Ended {
                    planned: &planned,
                    rows: &rows,
                    summaries: &summaries,
                };
                progress.ended(&ended, self.done, left(&time_left, plan.remaining()));
            }
        }
    }

    /// `None`: the user asked to stop.
    fn trial(&mut self, planned: &Planned) -> Result<Option<Outcome>, LabError<W::Error>> {
        if (self.stops_asked)() > 0 {
            return Ok(None);
        }
        let trial = &planned.trial;
        let started = (clock::realtime(), clock::monotonic());
        let recorder = Recorder::new(self.writer.begin_trial(trial.id)?, trial);
        let (ran, recorder, recorded) = pipeline::run(recorder, |sink| self.world.run(trial, sink));
        recorded.map_err(LabError::Recording)?;
        let facts = ran.map_err(LabError::World)?;
        if (self.stops_asked)() > 0 {
            return Ok(None);
        }
        let (mut writer, summaries) = recorder.end();
        let rows = self.rows(planned, started, facts, &summaries);
        let noise = writer.noise_so_far()?;
        let join = Join::new(&noise);
        let watched = rows.iter().any(|row| !row.facts.noise_sources.is_empty());
        writer.finish(&rows, &|record| {
            let overlap = join.of(record);
            (watched.then_some(overlap.ns), overlap.who())
        })?;
        Ok(Some((rows, summaries)))
    }

    fn rows(
        &self,
        planned: &Planned,
        (started_utc, started): (Nanos, Nanos),
        facts: Vec<ProbeFacts>,
        summaries: &[Summary],
    ) -> Vec<TrialRow> {
        let trial = &planned.trial;
        let duration = clock::monotonic() - started;
        let probes = trial.probes.iter().zip(facts).zip(summaries).zip(0..);
        let row = |(((probe, facts), summary), index): (((&_, _), &Summary), _)| {
            let probe: &delaylab_model::probe::Probe = probe;
            TrialRow {
                trial: trial.id,
                probe: index,
                probe_name: probe.name.clone(),
                method: probe.method,
                repeat: planned.repeat,
                position: u32::try_from(self.done).unwrap_or(u32::MAX),
                started_utc,
                duration,
                host: trial.host,
                seed: trial.seed,
                valid: true,
                warmup: probe.warmup,
                facts,
                factors: planned.factors.clone(),
                figures: summary.figures(),
            }
        };
        probes.map(row).collect()
    }
}
