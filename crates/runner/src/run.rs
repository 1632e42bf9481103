//! A run from its folder to its end.

use crate::environment;
use crate::error::RunnerError;
use crate::stored::{self, whole};
use crate::worlds::{OpenWorld, Options};
use delaylab_lab::experiment::sequential::Figures;
use delaylab_lab::experiment::{FactorialPlan, Resolved, SequentialPlan};
use delaylab_lab::finding::{Judged, judge};
use delaylab_lab::procedure::ProcedurePlan;
use delaylab_lab::run::{Ending, Laboratory, Progress, TrialOutcome, Watch};
use delaylab_lab::stored::Stored;
use delaylab_model::experiment::WorldName;
use delaylab_model::plan::{Plan, Planned};
use delaylab_model::probe::HostCondition;
use delaylab_model::stop::Stop;
use delaylab_store::run::Run;
use delaylab_store::writer::{NewRun, RunWriter};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A run that has a folder and a world.
pub struct Started {
    resolved: Resolved,
    world: OpenWorld,
    /// Every trial, with where it goes.
    planned: Vec<Planned>,
    writer: RunWriter,
    /// Trials that are recorded already.
    done: BTreeSet<u32>,
    stop: Stop,
}

/// A run whose trials are all recorded.
pub struct Finished {
    /// Its folder, under its final name.
    pub folder: PathBuf,
    /// Its findings.
    pub judged: Vec<Judged>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

impl Started {
    /// Opens the world of an experiment and makes the run's folder in `runs`.
    ///
    /// # Errors
    /// The world cannot be opened, may not send what the experiment asks for, or nothing can be written.
    pub fn create(resolved: Resolved, options: &Options, runs: &Path) -> Result<Self, RunnerError> {
        let world = OpenWorld::open(&resolved, options)?;
        let planned = world.aimed(&resolved, options)?;
        if resolved.procedure.is_some() {
            // What is wrong with it is said before there is a folder.
            procedure_plan(&resolved, &planned, None)?;
        }
        let conditions = conditions(&resolved, &planned);
        let supplied = options.supplied.clone();
        let new = NewRun {
            name: &resolved.name,
            world: resolved.world.name(),
            started: Some(SystemTime::now()),
            experiment: &resolved.toml,
            environment: &environment::document(supplied, world.target_name(), &conditions),
        };
        let writer = RunWriter::create(runs, &new)?;
        Ok(Self {
            resolved,
            world,
            planned,
            writer,
            done: BTreeSet::new(),
            stop: options.stop.clone(),
        })
    }

    /// Takes up an interrupted run, of which these trials are recorded. `resolved` is its own experiment.
    ///
    /// # Errors
    /// The world cannot be opened.
    pub fn resume(
        resolved: Resolved,
        options: &Options,
        writer: RunWriter,
        done: BTreeSet<u32>,
    ) -> Result<Self, RunnerError> {
        let world = OpenWorld::open(&resolved, options)?;
        let planned = world.aimed(&resolved, options)?;
        Ok(Self {
            resolved,
            world,
            planned,
            writer,
            done,
            stop: options.stop.clone(),
        })
    }

    /// What it carries out.
    pub fn resolved(&self) -> &Resolved {
        &self.resolved
    }

    /// Where it is recorded.
    pub fn folder(&self) -> &Path {
        self.writer.folder()
    }

    /// Carries out every trial that is left. `progress` follows how it goes on, and `watch` sees records as they come.
    ///
    /// # Errors
    /// A trial could not be carried out or recorded. What was recorded stays, and the run can be resumed.
    pub fn run(
        &mut self,
        progress: &mut dyn Progress,
        watch: Option<&dyn Watch>,
    ) -> Result<Ending, RunnerError> {
        let mut plan = self.plan()?;
        let mut laboratory = Laboratory {
            world: &mut *self.world.world,
            writer: &self.writer,
            done: self.done.len(),
            stop: &self.stop,
            watch,
        };
        Ok(laboratory.carry_out(&mut *plan, progress)?)
    }

    /// Judges the findings, joins the tables and gives the run its final name.
    ///
    /// # Errors
    /// What was recorded cannot be read, or the rest cannot be written.
    pub fn finish(self) -> Result<Finished, RunnerError> {
        let partial = stored::open(self.writer.folder())?;
        let judged = judge(
            &self.resolved.findings,
            &Stored::new(&partial),
            self.resolved.seed,
        );
        whole(&partial)?;
        drop(partial);
        self.conclude(judged)
    }

    /// The same without findings, for a run that is only a step of something else.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish_unjudged(self) -> Result<Finished, RunnerError> {
        self.conclude(Vec::new())
    }

    fn conclude(self, judged: Vec<Judged>) -> Result<Finished, RunnerError> {
        let findings: Value = json!(judged);
        let finished = self.writer.finish(&findings)?;
        Ok(Finished {
            folder: finished.folder,
            judged,
            warnings: finished.warnings,
        })
    }

    fn plan(&self) -> Result<Box<dyn Plan<Observation = TrialOutcome>>, RunnerError> {
        let (planned, at_once) = (self.planned.clone(), self.world.at_once());
        if self.resolved.procedure.is_some() {
            let run = self.recorded()?;
            let plan = procedure_plan(&self.resolved, &self.planned, run)?;
            return Ok(Box::new(plan));
        }
        Ok(match &self.resolved.stop {
            None => Box::new(FactorialPlan::new(planned, &self.done, at_once)),
            Some(stop) => {
                let seen = self.seen()?;
                Box::new(SequentialPlan::new(planned, stop.clone(), seen, at_once))
            }
        })
    }

    /// What is recorded already, if anything is.
    fn recorded(&self) -> Result<Option<Run>, RunnerError> {
        if self.done.is_empty() {
            return Ok(None);
        }
        stored::open(self.writer.folder()).map(Some)
    }

    /// The figures of the trials that are recorded already.
    fn seen(&self) -> Result<BTreeMap<u32, Figures>, RunnerError> {
        let mut seen = BTreeMap::<u32, Figures>::new();
        let run = self.recorded()?;
        for row in run.iter().flat_map(Run::trials) {
            let seen = seen.entry(row.trial).or_default();
            seen.trace_hash = row.facts.trace_hash;
            seen.of_probes.push(row.figures.clone());
        }
        Ok(seen)
    }
}

fn procedure_plan(
    resolved: &Resolved,
    planned: &[Planned],
    run: Option<Run>,
) -> Result<ProcedurePlan, RunnerError> {
    let plan = ProcedurePlan::new(resolved, planned, run);
    plan.map_err(|error| RunnerError::usage(error.to_string()))
}

/// The conditions that this host is put into.
fn conditions(resolved: &Resolved, planned: &[Planned]) -> Vec<HostCondition> {
    let in_use = |condition: &HostCondition| planned.iter().any(|p| p.trial.host == *condition);
    match resolved.world {
        WorldName::Live | WorldName::Testbed => {
            HostCondition::ALL.into_iter().filter(in_use).collect()
        }
        WorldName::Sim => Vec::new(),
    }
}
