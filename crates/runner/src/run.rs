//! A run from its folder to its end.

use crate::assignment::{self, Assignment};
use crate::environment;
use crate::error::RunnerError;
use crate::options::{LiveOptions, RunOptions};
use crate::run_folder::{self, PAGE};
use crate::worlds::OpenWorld;
use delaylab_lab::experiment::{FactorialPlan, Resolved, SequentialPlan};
use delaylab_lab::finding::{Judged, judge};
use delaylab_lab::procedure::ProcedurePlan;
use delaylab_lab::run::cut_short::{CutShort, Lacks};
use delaylab_lab::run::{Ending, Laboratory, Progress, StopMeans, TrialOutcome, Watch};
use delaylab_lab::stored::{Stored, figures, not_among};
use delaylab_live::condition::Options;
use delaylab_model::experiment::WorldName;
use delaylab_model::plan::{Plan, Planned};
use delaylab_model::probe::HostCondition;
use delaylab_model::shard::Shard;
use delaylab_model::stop::Stop;
use delaylab_store::disk::RealDisk;
use delaylab_store::error::StoreError;
use delaylab_store::writer::{Finished, NewRun, RunWriter};
use serde_json::json;
use std::collections::BTreeSet;
use std::convert::identity;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Why trials were cut short whose process did not end them.
const NOT_COMPLETED: &str = "its process could not complete the run: it was killed, or met an error such as a full disk. \
     Packets under way then, or later, are not in it";

type AnyPlan = Box<dyn Plan<Observation = TrialOutcome>>;

/// Where what trials bring is kept.
pub trait TrialStore {
    /// Writes it; `None`: it is not kept.
    fn writer(&self) -> Option<&RunWriter>;
}

impl TrialStore for RunWriter {
    fn writer(&self) -> Option<&RunWriter> {
        Some(self)
    }
}

/// None: what trials bring is seen by those who watch, and kept nowhere.
pub struct Unrecorded;

impl TrialStore for Unrecorded {
    fn writer(&self) -> Option<&RunWriter> {
        None
    }
}

/// A run that can be carried out: it has a world, a plan and, unless nothing is kept, a folder. No trial of it has begun yet.
pub struct ReadyRun<K = RunWriter> {
    prepared: Prepared,
    keep: K,
}

/// What [`ReadyRun`] is but for where it is recorded.
struct Prepared {
    resolved: Resolved,
    world: OpenWorld,
    plan: AnyPlan,
    /// Its trials with where they go, in the order of the design.
    planned: Vec<Planned>,
    /// How many trials are recorded already.
    done: usize,
    stop: Stop,
    stop_means: StopMeans,
    /// The share of the design's trials that these are; `None`: all.
    share: Option<Assignment>,
    /// The program that carries it out, as far as it is known.
    program: Option<PathBuf>,
    /// The words in which it was asked for.
    supplied: Vec<String>,
    /// Of a live run: what those who resume it need of how it was asked for.
    live: Option<LiveOptions>,
}

impl Prepared {
    /// Opens the world of this run, of which these trials are done and recorded in `folder`.
    fn new(
        resolved: Resolved,
        options: &RunOptions,
        done: &BTreeSet<u32>,
        folder: Option<&Path>,
    ) -> Result<Self, RunnerError> {
        if let Some(share) = &options.share {
            share.check(&resolved)?;
        }
        let world = OpenWorld::open(&resolved, options)?;
        let planned = world.aimed(&resolved, options)?;
        let planned = match &options.share {
            None => planned,
            Some(share) => share.select(planned)?,
        };
        let plan = next_plan(&resolved, &planned, world.at_once(), done, folder)?;
        let is_live = resolved.world == WorldName::Live;
        let live = is_live.then(|| options.live(resolved.target.is_some(), world.target()));
        Ok(Self {
            resolved,
            world,
            plan,
            planned,
            done: done.len(),
            stop: options.stop.clone(),
            stop_means: options.stop_means,
            share: options.share.clone(),
            program: options.program.clone(),
            supplied: options.supplied.clone(),
            live,
        })
    }
}

/// A run whose trials are all over.
pub struct CarriedOut<K = RunWriter> {
    resolved: Resolved,
    keep: K,
}

impl ReadyRun {
    /// Opens the world of an experiment and makes the run's folder in `runs`.
    ///
    /// A testbed makes this process root of a user namespace of its own where it is not root already: call it while the
    /// process has one thread.
    ///
    /// # Errors
    /// The world cannot be opened, may not send what the experiment asks for, or nothing can be written.
    pub fn create(
        resolved: Resolved,
        options: &RunOptions,
        runs: &Path,
    ) -> Result<Self, RunnerError> {
        // What is wrong with the plan is said before there is a folder.
        ReadyRun::unrecorded(resolved, options)?.recorded_in(runs)
    }

    /// Takes up an interrupted run, of which these trials are recorded: `resolved` is its own experiment, `any_left` says whether trials
    /// of it are left, as [`any_left`] has it. [`Interrupted`](crate::interrupted::Interrupted) has what must come before.
    ///
    /// # Errors
    /// The world cannot be opened, may not send what the experiment asks for, or what is recorded cannot be read.
    pub(crate) fn resume(
        resolved: Resolved,
        options: &RunOptions,
        writer: RunWriter,
        done: &BTreeSet<u32>,
        any_left: bool,
    ) -> Result<Self, RunnerError> {
        let ready = ReadyRun::continue_from(resolved, options, writer, done)?;
        let prepared = &ready.prepared;
        // Where none is left, nothing is measured any more that depends on this host.
        if any_left {
            let program = options.program.as_deref();
            let conditions = conditions(&prepared.resolved, &prepared.planned, program);
            let supplied = options.supplied.clone();
            let how = environment::of_resume(supplied, &conditions);
            ready
                .keep
                .note_resumed(SystemTime::now(), done.len(), how)?;
        }
        Ok(ready)
    }

    /// A run of which these trials were recorded by this process or by others for it.
    ///
    /// # Errors
    /// Those of [`ReadyRun::resume`].
    pub(crate) fn continue_from(
        resolved: Resolved,
        options: &RunOptions,
        writer: RunWriter,
        done: &BTreeSet<u32>,
    ) -> Result<Self, RunnerError> {
        Ok(Self {
            prepared: Prepared::new(resolved, options, done, Some(writer.folder()))?,
            keep: writer,
        })
    }

    /// Where it is recorded.
    pub fn folder(&self) -> &Path {
        self.keep.folder()
    }
}

impl ReadyRun<Unrecorded> {
    /// Opens the world of an experiment whose trials are only watched: there is no folder. For a testbed, see
    /// [`ReadyRun::create`].
    ///
    /// # Errors
    /// The world cannot be opened, or may not send what the experiment asks for.
    pub fn unrecorded(resolved: Resolved, options: &RunOptions) -> Result<Self, RunnerError> {
        Ok(Self {
            prepared: Prepared::new(resolved, options, &BTreeSet::new(), None)?,
            keep: Unrecorded,
        })
    }

    /// Makes the run's folder in `runs`: what trials bring is kept there.
    ///
    /// # Errors
    /// Nothing can be written.
    pub fn recorded_in(self, runs: &Path) -> Result<ReadyRun, RunnerError> {
        let Prepared {
            resolved,
            planned,
            program,
            supplied,
            live,
            world,
            share,
            ..
        } = &self.prepared;
        let shard = self.shard();
        let conditions = conditions(resolved, planned, program.as_deref());
        let new = NewRun {
            name: &assignment::run_name(&resolved.name, shard),
            world: resolved.world.name(),
            started: Some(SystemTime::now()),
            experiment: &resolved.toml,
            environment: &environment::document(
                supplied.clone(),
                world.target_name(),
                live.as_ref(),
                shard.map(|shard| (shard, planned.len())),
                &conditions,
            ),
        };
        let keep = match share {
            // Who handed these trials out takes them over at once, or hands them out again. Where the folder is gone, they are
            // not waited for.
            Some(Assignment::Trials(_)) => RunWriter::create_in(RealDisk::scratch(), runs, &new),
            _ => RunWriter::create(runs, &new),
        };
        Ok(ReadyRun {
            keep: keep?,
            prepared: self.prepared,
        })
    }
}

impl<K: TrialStore> ReadyRun<K> {
    /// What it carries out.
    pub fn resolved(&self) -> &Resolved {
        &self.prepared.resolved
    }

    /// Which shard of the design it is, if it is one.
    pub fn shard(&self) -> Option<Shard> {
        self.prepared.share.as_ref().and_then(Assignment::shard)
    }

    /// Its trials with where they go, in the order of the design.
    pub fn planned(&self) -> &[Planned] {
        &self.prepared.planned
    }

    /// Carries out every trial that is left. `progress` follows the trials, and `watch` sees records as they come.
    /// `None`: the run was stopped, and can be resumed.
    ///
    /// # Errors
    /// A trial could not be carried out or recorded. What was recorded stays, and the run can be resumed.
    pub fn run(
        self,
        progress: &mut dyn Progress,
        watch: Option<&dyn Watch>,
    ) -> Result<Option<CarriedOut<K>>, RunnerError> {
        let Self { mut prepared, keep } = self;
        let mut laboratory = Laboratory {
            world: prepared.world.world(),
            writer: keep.writer(),
            done: prepared.done,
            stop: &prepared.stop,
            stop_means: prepared.stop_means,
            watch,
        };
        let ending = laboratory.carry_out(&mut *prepared.plan, progress)?;
        let carried_out = CarriedOut {
            resolved: prepared.resolved,
            keep,
        };
        Ok((ending == Ending::Complete).then_some(carried_out))
    }
}

impl CarriedOut {
    /// What was carried out.
    pub fn resolved(&self) -> &Resolved {
        &self.resolved
    }

    /// Ends a run that was interrupted: the trials in which it was become part of it with what is recorded of them, and no other trial
    /// is carried out.
    ///
    /// # Errors
    /// What is recorded cannot be read, or the trials cannot be made part of the run.
    pub(crate) fn end_interrupted(
        resolved: Resolved,
        writer: RunWriter,
    ) -> Result<Self, RunnerError> {
        let carried_out = Self {
            resolved,
            keep: writer,
        };
        let trials = carried_out.trials_cut_short()?;
        carried_out.end_trials(trials, |_| Lacks::Packets(NOT_COMPLETED))?;
        Ok(carried_out)
    }

    /// Trials of which not all could be stored.
    ///
    /// # Errors
    /// What is stored cannot be read.
    pub fn trials_cut_short(&self) -> Result<Vec<CutShort<'_>>, RunnerError> {
        let trials = self.keep.cut_short()?;
        let planned = self.resolved.planned.iter();
        let planned = planned.filter(|planned| trials.contains(&planned.trial.id));
        let opened = planned.map(|planned| CutShort::open(&self.keep, planned));
        Ok(opened.collect::<Result<_, StoreError>>()?)
    }

    /// Makes them part of the run with what is stored of them. What each lacks is said by `lacks`.
    ///
    /// # Errors
    /// They cannot be written. Those before stay.
    pub fn end_trials<'l>(
        &self,
        trials: Vec<CutShort<'_>>,
        lacks: impl Fn(&CutShort<'_>) -> Lacks<'l>,
    ) -> Result<(), RunnerError> {
        let recorded = self.keep.recorded()?;
        let (done, last) = (recorded.len(), trials.len().saturating_sub(1));
        let stored = recorded.into_iter().chain(self.keep.cut_short()?);
        let missing = not_among(&self.resolved, stored);
        let mut ended = trials.into_iter().enumerate().map(|(at, trial)| {
            let missing = missing.as_deref().filter(|_| at == last);
            let lacks = lacks(&trial);
            trial.end(done + at, lacks, missing)
        });
        Ok(ended.try_for_each(identity)?)
    }

    /// Where it is recorded.
    pub fn folder(&self) -> &Path {
        self.keep.folder()
    }

    /// Judges the findings, joins the tables and gives the run its final name. Returns the findings, too.
    ///
    /// # Errors
    /// What was recorded cannot be read, or the rest cannot be written.
    pub fn finish(self) -> Result<(Finished, Vec<Judged>), RunnerError> {
        let mut judged = self.judged()?;
        judged.extend_from_slice(&self.resolved.unread);
        let finished = self.keep.finish(&json!(judged))?;
        // One of before shows a part of it, and can be made again.
        let _ = fs::remove_file(finished.folder.join(PAGE));
        Ok((finished, judged))
    }

    /// What is measured is read for findings alone: where its tables are joined, each part is held against what was recorded.
    fn judged(&self) -> Result<Vec<Judged>, RunnerError> {
        let Resolved { findings, seed, .. } = &self.resolved;
        if findings.is_empty() {
            return Ok(Vec::new());
        }
        let partial = run_folder::open(self.keep.folder())?;
        let judged = judge(findings, &Stored::new(&partial), *seed);
        run_folder::fail_if_damaged(&partial)?;
        Ok(judged)
    }

    /// The same without findings, for a run that is only a step of something else.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish_unjudged(self) -> Result<Finished, RunnerError> {
        Ok(self.keep.finish(&json!([]))?)
    }
}

/// Is any trial of an interrupted run left, of which these are recorded? A stop rule may have been reached, or a procedure be
/// at its end.
///
/// # Errors
/// What is recorded cannot be read.
pub(crate) fn any_left(
    resolved: &Resolved,
    options: &RunOptions,
    done: &BTreeSet<u32>,
    folder: &Path,
) -> Result<bool, RunnerError> {
    let planned = resolved.planned.clone();
    let planned = match &options.share {
        None => planned,
        Some(share) => share.select(planned)?,
    };
    let mut plan = next_plan(resolved, &planned, usize::MAX, done, Some(folder))?;
    Ok(!plan.next_trials().is_empty())
}

/// Which trials come next, when these are done and recorded in `folder`; `None`: nothing is recorded. At most `at_once` are under
/// way at the same time. What is recorded is read only where it decides which come next.
pub(crate) fn next_plan(
    resolved: &Resolved,
    planned: &[Planned],
    at_once: usize,
    done: &BTreeSet<u32>,
    folder: Option<&Path>,
) -> Result<AnyPlan, RunnerError> {
    let looks_back = resolved.procedure.is_some() || resolved.stop.is_some();
    let folder = folder.filter(|_| looks_back && !done.is_empty());
    let recorded = folder.map(run_folder::open).transpose()?;
    if let Some(procedure) = &resolved.procedure {
        let plan = ProcedurePlan::new(procedure, planned, recorded);
        let plan = plan.map_err(RunnerError::usage)?;
        return Ok(Box::new(plan));
    }
    let planned = planned.to_vec();
    Ok(match &resolved.stop {
        None => Box::new(FactorialPlan::new(planned, done, at_once)),
        Some(rule) => {
            let figures = recorded.as_ref().map(figures).unwrap_or_default();
            Box::new(SequentialPlan::new(planned, rule.clone(), figures, at_once))
        }
    })
}

/// The conditions that this host is put into, and how: where the probers of some trials spin and those of others do not, as for those
/// that spin, of which fewer steps of a condition hold.
fn conditions(
    resolved: &Resolved,
    planned: &[Planned],
    program: Option<&Path>,
) -> Vec<(HostCondition, Options)> {
    if resolved.world == WorldName::Sim {
        return Vec::new();
    }
    let options = |condition| {
        let trials = planned.iter().map(|planned| &planned.trial);
        let in_it = trials.filter(|trial| trial.host == condition);
        let each = in_it.map(|trial| Options::of_trial(trial, program));
        each.max_by_key(|options| options.spins)
    };
    let each = HostCondition::ALL.into_iter();
    each.filter_map(|condition| Some((condition, options(condition)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_lab::experiment::{Choices, Experiment, Source};
    use delaylab_model::probe::WaitMode;

    #[test]
    fn a_condition_is_that_of_trials_whose_prober_spins() {
        let text = r#"
            name = "waits"
            [host]
            condition = "quiet"
            [[probe]]
            name = "echo"
            method = "udp"
            count = 1
            [sweep.wait]
            set = "probe.echo.wait_mode"
            to = ["block", "spin"]
        "#;
        let source = Source {
            name: "waits.toml".to_owned(),
            text: text.to_owned(),
        };
        let experiment = Experiment::read(source).unwrap();
        let resolved = crate::resolve::in_world(&experiment, &Choices::default()).unwrap();
        let found = conditions(&resolved, &resolved.planned, None);
        let [(HostCondition::Quiet, options)] = &found[..] else {
            panic!("{found:?}");
        };
        assert!(options.spins);
        let is_blocking = |planned: &&Planned| planned.trial.probes[0].wait_mode == WaitMode::Block;
        let blocking: Vec<Planned> = resolved
            .planned
            .iter()
            .filter(is_blocking)
            .cloned()
            .collect();
        assert!(!blocking.is_empty() && !conditions(&resolved, &blocking, None)[0].1.spins);
    }
}
