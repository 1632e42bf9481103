//! Runs any plan on any world, and records it: one trial after the other, or as many at once as the
//! world allows.
//!
//! | module | holds |
//! |---|---|
//! | `trial` | one trial, from its beginning to its rows on disk |
//! | `at_once` | several at once |
//! | `run_progress` | how a run goes on, reported to its plan and to observers |
//! | [`recorder`] | takes a trial's records to disk and to its summary |
//! | [`time_left`] | how long a run will still take |

mod at_once;
pub mod recorder;
mod run_progress;
pub mod time_left;
mod trial;

use delaylab_kernel::clock;
use delaylab_model::Nanos;
use delaylab_model::plan::{Factor, Plan, Planned, Remaining};
use delaylab_model::record::Record;
use delaylab_model::stop::Stop;
use delaylab_model::stream_report::StreamReport;
use delaylab_model::trial::RecordFacts;
use delaylab_model::world::{World, WorldError};
use delaylab_stats::frames::FrameTrial;
use delaylab_stats::summary::Summary;
use delaylab_store::error::StoreError;
use delaylab_store::trial_row::TrialRow;
use delaylab_store::writer::RunWriter;
use run_progress::RunProgress;
use std::io;
use trial::TrialRunner;

/// A trial that is over and recorded.
#[derive(Debug)]
pub struct Ended<'a> {
    /// What was to be done.
    pub planned: &'a Planned,
    /// Of each probe: what is recorded of the trial.
    pub rows: &'a [TrialRow],
    /// Of each probe.
    pub summaries: &'a [Summary],
    /// Of each stream of load, in worlds that say more of them than their series.
    pub streams: &'a [StreamReport],
}

impl Ended<'_> {
    /// Its levels.
    pub fn factors(&self) -> &[Factor] {
        &self.planned.factors
    }

    /// What the user should know before trusting the figures.
    pub fn warnings(&self) -> impl Iterator<Item = &str> {
        let facts = self.rows.iter().map(|row| &row.facts);
        let warnings = facts.flat_map(|facts| facts.flaws.iter().chain(&facts.warnings));
        warnings.map(String::as_str)
    }
}

/// What is still to come, and how long it will take where anybody can say.
pub type Left = Option<(Remaining, Option<Nanos>)>;

/// Is told how a run goes on. `done` counts trials.
pub trait Progress {
    /// A trial begins.
    fn begins(&mut self, planned: &Planned, done: usize, left: Left);
    /// A trial is recorded. Trials are told of in the order of the plan.
    fn ended(&mut self, ended: &Ended<'_>, done: usize, left: Left);
    /// A trial broke off; of each of its probes, what was recorded until then. Why is the run's error.
    fn broke_off(&mut self, _trial: u32, _summaries: &[Summary]) {}
    /// The run is over, one way or the other.
    fn over(&mut self) {}
}

/// Sees records of trials as they are recorded, on the threads that record them: nobody who measures waits
/// for it, but it is to be quick.
///
/// An error ends the trial.
pub trait Watch: Sync {
    /// Records of this probe are about to come.
    fn begins(&self, trial: u32, probe: u16, facts: &RecordFacts) -> io::Result<()>;
    /// Some packets have ended.
    fn records(&self, records: &[Record]) -> io::Result<()>;
    /// Nothing has come for a while: a good time to hand on what was kept back.
    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

/// The result of a trial, as its plan observes it.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialOutcome {
    /// Of each probe: what is recorded of the trial.
    pub rows: Vec<TrialRow>,
    /// Of each probe.
    pub summaries: Vec<Summary>,
    /// Of its streams of frames.
    pub frames: FrameTrial,
    /// Of its streams of load, in worlds that say more of them than their series.
    pub streams: Vec<StreamReport>,
}

/// What a stop, such as Ctrl-C, makes of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StopMeans {
    /// It is interrupted: the trial under way is not of it, and it can be resumed.
    #[default]
    Interrupted,
    /// It is over: what was recorded of the trial under way is the whole trial.
    Over,
}

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

/// A world, and where what it brings is recorded.
pub struct Laboratory<'a> {
    /// Carries trials out.
    pub world: &'a mut dyn World,
    /// Records them; `None`: what they bring is only seen.
    pub writer: Option<&'a RunWriter>,
    /// Trials that were recorded before, if the run is resumed.
    pub done: usize,
    /// Ends it early.
    pub stop: &'a Stop,
    /// What it is then. A trial without an end of its own is over in any case.
    pub stop_means: StopMeans,
    /// Sees records as they come, if there is an observer.
    pub watch: Option<&'a dyn Watch>,
}

impl<'a> Laboratory<'a> {
    /// Carries out what the plan asks for, until it asks for nothing more.
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

    fn runner(&self) -> TrialRunner<'a> {
        TrialRunner {
            writer: self.writer,
            stop: self.stop,
            stop_means: self.stop_means,
            watch: self.watch,
        }
    }

    fn every_trial(
        &mut self,
        run_progress: &mut RunProgress<'_, impl Plan<Observation = TrialOutcome> + ?Sized>,
    ) -> Result<Ending, LabError> {
        let others = 1..self.world.parallelism();
        let mut others: Vec<_> = others.map_while(|_| self.world.another()).collect();
        loop {
            let trials = run_progress.plan.next_trials();
            if trials.is_empty() {
                return Ok(Ending::Complete);
            }
            let runner = self.runner();
            let ending = if others.is_empty() {
                self.one_by_one(&trials, run_progress)?
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

    /// On this thread, which the caller has made ready for measuring.
    fn one_by_one(
        &mut self,
        trials: &[Planned],
        run_progress: &mut RunProgress<'_, impl Plan<Observation = TrialOutcome> + ?Sized>,
    ) -> Result<Ending, LabError> {
        for planned in trials {
            run_progress.begins(planned);
            let begun = clock::monotonic();
            let runner = self.runner();
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
