//! `delaylab run`.

use super::live::{self, LiveRun};
use super::progress::Told;
use super::{choose, conclude, environment};
use crate::args::experiment::{RunArgs, ShownArgs};
use crate::exit::{Exit, Failed};
use crate::key;
use delaylab_kernel::signals;
use delaylab_lab::experiment::{FactorialPlan, Resolved};
use delaylab_lab::run::{Ending, LabError, Laboratory};
use delaylab_live::world::LiveError;
use delaylab_model::plan::Planned;
use delaylab_model::probe::HostCondition;
use delaylab_store::writer::{NewRun, RunWriter};
use std::collections::BTreeSet;
use std::time::SystemTime;

/// Runs the command.
pub fn run(args: &RunArgs) -> Result<(), Failed> {
    let experiment = choose::experiment(&args.choice.experiment)?;
    let choices = choose::choices(&args.choice);
    let resolved = experiment
        .resolve(&choices, &live::refusals)
        .map_err(choose::wrong)?;
    live::refuse_other_worlds(&resolved)?;
    let key = key::read(args.key_file.as_deref())?.filter(|_| resolved.target.is_some());
    catch_stop()?;
    let live = LiveRun::new(&resolved, args.choice.port, key)?;
    let planned = live.aimed(&resolved, args.allow_load)?;
    let writer = create(args, &resolved, &live, &planned)?;
    let started = Started {
        resolved,
        live,
        planned,
        writer,
        done: BTreeSet::new(),
    };
    started.carry_out(&args.shown)
}

/// Ctrl-C ends the trial under way and leaves a run that can be resumed.
pub fn catch_stop() -> Result<(), Failed> {
    signals::catch_stop()
        .map_err(|error| Failed::environment(format!("cannot catch signals: {error}")))
}

fn create(
    args: &RunArgs,
    resolved: &Resolved,
    live: &LiveRun,
    planned: &[Planned],
) -> Result<RunWriter, Failed> {
    let in_use = |condition: &HostCondition| planned.iter().any(|p| p.trial.host == *condition);
    let conditions: Vec<_> = HostCondition::ALL.into_iter().filter(in_use).collect();
    let new = NewRun {
        name: &resolved.name,
        world: resolved.world.name(),
        started: SystemTime::now(),
        experiment: &resolved.toml,
        environment: &environment::document(&live.target_name, &conditions),
    };
    RunWriter::create(&args.shown.output, &new)
        .map_err(|error| Failed::environment(error.to_string()))
}

/// A run that has a folder and a world.
pub struct Started {
    /// What to do.
    pub resolved: Resolved,
    /// Where.
    pub live: LiveRun,
    /// Every trial, with where it goes.
    pub planned: Vec<Planned>,
    /// Records it.
    pub writer: RunWriter,
    /// Trials that are recorded already.
    pub done: BTreeSet<u32>,
}

impl Started {
    /// Every trial that is left, and the conclusion.
    pub fn carry_out(mut self, shown: &ShownArgs) -> Result<(), Failed> {
        let mut told = Told::new(shown);
        let mut plan = FactorialPlan::new(self.planned, &self.done, 1);
        let mut laboratory = Laboratory {
            world: &mut self.live.world,
            writer: &self.writer,
            done: self.done.len(),
            stops_asked: signals::stops_asked,
        };
        let ended = laboratory.carry_out(&mut plan, &mut told);
        let folder = self.writer.folder().display().to_string();
        let resume =
            format!("What was recorded is in {folder}; `delaylab resume {folder}` goes on");
        match ended {
            Ok(Ending::Complete) => conclude::run(&self.resolved, self.writer, shown),
            Ok(Ending::Interrupted) => {
                Err(Failed::new(Exit::Unreachable, format!("stopped. {resume}")))
            }
            Err(error) => {
                let failed = broke_off(error);
                Err(Failed::new(
                    failed.exit,
                    format!("{}\n{resume}", failed.message),
                ))
            }
        }
    }
}

fn broke_off(error: LabError<LiveError>) -> Failed {
    match error {
        LabError::World(LiveError::Probe(error)) => error.into(),
        other => Failed::environment(other.to_string()),
    }
}
