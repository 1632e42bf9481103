//! Runs any plan on any world and records the results: one trial after the other, or as many at once
//! as the world allows.
//!
//! | module | holds |
//! |---|---|
//! | `trial` | runs one trial, from its beginning to its rows on disk |
//! | [`cut_short`] | ends trials that count with what is recorded of them |
//! | `at_once` | runs several trials at once |
//! | `run_progress` | reports the progress of a run to its plan and to an observer |
//! | [`recorder`] | writes a trial's records to disk and summarises them |
//! | [`time_left`] | estimates how long a run will still take |

mod at_once;
pub mod cut_short;
pub mod recorder;
mod run_progress;
pub mod time_left;
mod trial;

pub use crate::trial_outcome::TrialOutcome;
use delaylab_kernel::clock;
use delaylab_model::Nanos;
use delaylab_model::plan::{Factor, Plan, Planned, Remaining};
use delaylab_model::record::Record;
use delaylab_model::stop::Stop;
use delaylab_model::stream_report::StreamReport;
use delaylab_model::trial::RecordFacts;
use delaylab_model::world::{World, WorldError};
use delaylab_stats::summary::Summary;
use delaylab_store::error::StoreError;
use delaylab_store::trial_row::TrialRow;
use delaylab_store::writer::RunWriter;
use run_progress::RunProgress;
use std::io;
use trial::TrialRunner;

/// A trial that is over and recorded.
#[derive(Debug)]
pub struct EndedTrial<'a> {
    /// The trial as planned.
    pub planned: &'a Planned,
    /// For each probe: the stored row of the trial.
    pub rows: &'a [TrialRow],
    /// One summary for each probe.
    pub summaries: &'a [Summary],
    /// Reports on the load streams, from worlds that make more than their series.
    pub streams: &'a [StreamReport],
    /// Why not all of it could be stored, if so.
    pub not_stored: Option<&'a str>,
}

impl EndedTrial<'_> {
    /// The factors of the trial with their levels.
    pub fn factors(&self) -> &[Factor] {
        &self.planned.factors
    }

    /// Flaws and warnings of all probes: what the user should know before trusting the results.
    pub fn warnings(&self) -> impl Iterator<Item = &str> {
        let facts = self.rows.iter().map(|row| &row.facts);
        let warnings = facts.flat_map(|facts| facts.flaws.iter().chain(&facts.warnings));
        warnings.map(String::as_str)
    }
}

/// The remaining trials, and the estimated time for them in nanoseconds; `None` for what is unknown.
pub type Left = Option<(Remaining, Option<Nanos>)>;

/// Observes the progress of a run. `done`: number of recorded trials.
pub trait Progress {
    /// A trial begins.
    fn begins(&mut self, _planned: &Planned, _done: usize, _left: Left) {}
    /// A trial is recorded. Trials are reported in the order of the plan.
    fn ended(&mut self, _ended: &EndedTrial<'_>, _done: usize, _left: Left) {}
    /// A trial broke off. `summaries`: for each probe, what was recorded until then. The run returns the error.
    fn broke_off(&mut self, _trial: u32, _summaries: &[Summary]) {}
    /// The run is over, with or without an error.
    fn over(&mut self) {}
}

/// Observes records as they are recorded, on the recording threads. Measuring does not wait for it unless
/// it is so slow that the channel of [`pipeline`](crate::pipeline) fills up.
///
/// An error ends the trial.
pub trait Watch: Sync {
    /// Records of this probe follow.
    fn begins(&self, trial: u32, probe: u16, facts: &RecordFacts) -> io::Result<()>;
    /// Receives a batch of finished records.
    fn records(&self, records: &[Record]) -> io::Result<()>;
    /// Hands on buffered output, because nothing more waits for now.
    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
    /// From here on, records are no longer stored.
    fn not_stored(&self, _error: &io::Error) {}
}

/// What a stop, such as Ctrl-C, means for a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StopMeans {
    /// The run is interrupted: the current trial does not count, and the run can be resumed.
    #[default]
    Interrupted,
    /// The run is complete: the current trial counts with the records that it has. So it does where its records can no longer
    /// be stored: it is measured to its end, and what is stored can be made part of the run ([`cut_short`]).
    Over,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Every trial is recorded.
    Complete,
    /// The user asked to stop. The records of the last trial are kept separately.
    Interrupted,
}

/// Why a run broke off. Recorded trials stay, and the run can be resumed.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A trial could not be carried out.
    #[error(transparent)]
    World(#[from] WorldError),
    /// The run cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A trial's records cannot be written.
    #[error("{0}")]
    Recording(io::Error),
}

/// A world, and where to record its trials.
pub struct Laboratory<'a> {
    /// Carries trials out.
    pub world: &'a mut dyn World,
    /// Stores the trials; `None`: they are only observed.
    pub writer: Option<&'a RunWriter>,
    /// Number of recorded trials; more than 0 at the beginning if the run is resumed.
    pub done: usize,
    /// Ends the run early.
    pub stop: &'a Stop,
    /// What a stop means. A trial that never ends by itself counts in any case.
    pub stop_means: StopMeans,
    /// Observes records as they come.
    pub watch: Option<&'a dyn Watch>,
}

impl<'a> Laboratory<'a> {
    /// Carries out the trials of the plan until it has no more.
    pub fn carry_out(
        &mut self,
        plan: &mut (impl Plan<Observation = TrialOutcome> + ?Sized),
        progress: &mut dyn Progress,
    ) -> Result<Ending, LabError> {
        let mut run_progress = RunProgress::new(plan, progress, self.done, self.world.clock());
        let ending = self.every_trial(&mut run_progress);
        run_progress.progress.over();
        self.done = run_progress.done;
        ending
    }

    fn runner(&self, at_once: usize) -> TrialRunner<'a> {
        TrialRunner {
            writer: self.writer,
            stop: self.stop,
            stop_means: self.stop_means,
            watch: self.watch,
            has_idle_thread: self.world.parallelism() > at_once,
        }
    }

    fn every_trial(
        &mut self,
        run_progress: &mut RunProgress<'_, impl Plan<Observation = TrialOutcome> + ?Sized>,
    ) -> Result<Ending, LabError> {
        let mut others = Vec::new();
        loop {
            let trials = run_progress.plan.next_trials();
            if trials.is_empty() {
                return Ok(Ending::Complete);
            }
            let at_once = self.world.parallelism().min(trials.len());
            let more = others.len() + 1..at_once;
            others.extend(more.map_while(|_| self.world.another()));
            let runner = self.runner(at_once);
            let ending = if others.is_empty() {
                self.one_by_one(runner, &trials, run_progress)?
            } else {
                let mut worlds: Vec<&mut dyn World> = Vec::new();
                worlds.push(&mut *self.world);
                for other in &mut others {
                    worlds.push(&mut **other);
                }
                at_once::carry_out(runner, worlds, &trials, run_progress)?
            };
            if ending == Ending::Interrupted {
                return Ok(match self.stop_means {
                    StopMeans::Interrupted => Ending::Interrupted,
                    StopMeans::Over => Ending::Complete,
                });
            }
        }
    }

    /// Runs the trials on this thread, which the caller has prepared for measuring.
    fn one_by_one(
        &mut self,
        runner: TrialRunner<'a>,
        trials: &[Planned],
        run_progress: &mut RunProgress<'_, impl Plan<Observation = TrialOutcome> + ?Sized>,
    ) -> Result<Ending, LabError> {
        for planned in trials {
            run_progress.begins(planned);
            let begun = clock::monotonic();
            let ran = runner.trial(&mut *self.world, planned, run_progress.done);
            let ran = ran.map_err(|broken_off| run_progress.broke_off(planned, broken_off));
            let Some(outcome) = ran? else {
                return Ok(Ending::Interrupted);
            };
            run_progress.took(planned, clock::monotonic() - begun);
            run_progress.ended(planned, &outcome);
        }
        Ok(Ending::Complete)
    }
}
