//! `delaylab run`.

use super::conclude::Concluded;
use super::progress::Told;
use super::worlds::{Asked, Place};
use super::{choose, conclude, environment};
use crate::args::experiment::{RunArgs, ShownArgs};
use crate::exit::{Exit, Failed};
use crate::key;
use crate::tui::{self, Tui};
use delaylab_kernel::signals;
use delaylab_lab::experiment::sequential::Figures;
use delaylab_lab::experiment::{Choices, Experiment, FactorialPlan, Resolved, SequentialPlan};
use delaylab_lab::procedure::ProcedurePlan;
use delaylab_lab::run::{Ending, TrialOutcome};
use delaylab_model::experiment::WorldName;
use delaylab_model::plan::{Plan, Planned};
use delaylab_model::probe::HostCondition;
use delaylab_store::run::Run;
use delaylab_store::writer::{NewRun, RunWriter};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::SystemTime;

/// Runs the command.
pub fn run(args: &RunArgs) -> Result<(), Failed> {
    if args.tui {
        tui::check()?;
    }
    let experiment = choose::experiment(&args.choice.experiment)?;
    let choices = choose::choices(&args.choice);
    let resolved = choose::resolve(&experiment, &choices)?;
    let asked = Asked {
        port: args.choice.port,
        key: key::read(args.key_file.as_deref())?,
        allow_load: args.allow_load,
        load: args.load.clone(),
        threads: args.threads,
    };
    let started = start(resolved, &asked, &args.shown)?;
    let told = started.told(&args.shown, args.tui)?;
    started.carry_out(told, &args.shown)?.show(&args.shown)
}

/// Runs an experiment that is not named on the command line.
pub fn run_experiment(
    experiment: &Experiment,
    choices: &Choices,
    asked: &Asked,
    shown: &ShownArgs,
) -> Result<(), Failed> {
    record(choose::resolve(experiment, choices)?, asked, shown)?.show(shown)
}

/// Runs what is only a step of another command: nothing is judged, shown or reported. The run's folder.
pub fn step(resolved: Resolved, asked: &Asked, shown: &ShownArgs) -> Result<PathBuf, Failed> {
    let mut started = start(resolved, asked, shown)?;
    started.every_trial(&mut Told::of_a_step(shown))?;
    let finished = started.writer.finish(&json!([]));
    let finished = finished.map_err(|error| Failed::environment(error.to_string()))?;
    Ok(finished.folder)
}

/// Carries it out and judges it, without printing what came of it.
pub fn record(resolved: Resolved, asked: &Asked, shown: &ShownArgs) -> Result<Concluded, Failed> {
    start(resolved, asked, shown)?.carry_out(Told::new(shown), shown)
}

fn start(resolved: Resolved, asked: &Asked, shown: &ShownArgs) -> Result<Started, Failed> {
    catch_stop()?;
    let place = Place::new(&resolved, asked)?;
    let planned = place.aimed(&resolved, asked)?;
    if resolved.procedure.is_some() {
        // What is wrong with it is said before there is a folder.
        let plan = ProcedurePlan::new(&resolved, &planned, None);
        plan.map_err(|error| Failed::usage(error.to_string()))?;
    }
    let writer = create(shown, &resolved, &place, &planned)?;
    Ok(Started {
        resolved,
        place,
        planned,
        writer,
        done: BTreeSet::new(),
    })
}

/// Ctrl-C ends the trial under way and leaves a run that can be resumed.
pub fn catch_stop() -> Result<(), Failed> {
    signals::catch_stop()
        .map_err(|error| Failed::environment(format!("cannot catch signals: {error}")))
}

fn create(
    shown: &ShownArgs,
    resolved: &Resolved,
    place: &Place,
    planned: &[Planned],
) -> Result<RunWriter, Failed> {
    let new = NewRun {
        name: &resolved.name,
        world: resolved.world.name(),
        started: Some(SystemTime::now()),
        experiment: &resolved.toml,
        environment: &environment::document(place.target_name(), &conditions(resolved, planned)),
    };
    RunWriter::create(&shown.output, &new).map_err(|error| Failed::environment(error.to_string()))
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

/// A run that has a folder and a world.
pub struct Started {
    /// What to do.
    pub resolved: Resolved,
    /// Where.
    pub place: Place,
    /// Every trial, with where it goes.
    pub planned: Vec<Planned>,
    /// Records it.
    pub writer: RunWriter,
    /// Trials that are recorded already.
    pub done: BTreeSet<u32>,
}

impl Started {
    /// Who is told how it goes: people, by a live view if they want it, or programs.
    ///
    /// # Errors
    /// Where the live view cannot have the terminal.
    pub fn told(&self, shown: &ShownArgs, live: bool) -> Result<Told, Failed> {
        if live {
            Tui::open(format!("delaylab run {}", self.resolved.name)).map(Told::live)
        } else {
            Ok(Told::new(shown))
        }
    }

    /// Every trial that is left, and the conclusion.
    pub fn carry_out(mut self, mut told: Told, shown: &ShownArgs) -> Result<Concluded, Failed> {
        self.every_trial(&mut told)?;
        conclude::run(&self.resolved, self.writer, !shown.no_report)
    }

    fn every_trial(&mut self, told: &mut Told) -> Result<(), Failed> {
        let mut plan = self.plan()?;
        let done = self.done.len();
        let ended = self.place.carry_out(&self.writer, done, &mut *plan, told);
        let folder = self.writer.folder().display().to_string();
        let resume =
            format!("What was recorded is in {folder}; `delaylab resume {folder}` goes on");
        match ended {
            Ok(Ending::Complete) => Ok(()),
            Ok(Ending::Interrupted) => {
                Err(Failed::new(Exit::Unreachable, format!("stopped. {resume}")))
            }
            Err(failed) => Err(Failed::new(
                failed.exit,
                format!("{}\n{resume}", failed.message),
            )),
        }
    }

    fn plan(&self) -> Result<Box<dyn Plan<Observation = TrialOutcome>>, Failed> {
        let (planned, at_once) = (self.planned.clone(), self.place.at_once());
        if self.resolved.procedure.is_some() {
            let run = self.recorded()?;
            let plan = ProcedurePlan::new(&self.resolved, &self.planned, run);
            return match plan {
                Ok(plan) => Ok(Box::new(plan)),
                Err(error) => Err(Failed::usage(error.to_string())),
            };
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
    fn recorded(&self) -> Result<Option<Run>, Failed> {
        if self.done.is_empty() {
            return Ok(None);
        }
        let run = Run::open(self.writer.folder());
        run.map(Some)
            .map_err(|error| Failed::environment(error.to_string()))
    }

    /// What came of the trials that are recorded already.
    fn seen(&self) -> Result<BTreeMap<u32, Figures>, Failed> {
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
