//! The worlds of a run: the one place that knows which there are.

use super::live::{self, LiveRun};
use super::progress::Told;
use crate::args::load::LoadServerArgs;
use crate::exit::Failed;
use delaylab_kernel::signals;
use delaylab_lab::experiment::Resolved;
use delaylab_lab::run::{Ending, LabError, Laboratory, TrialOutcome, Watch};
use delaylab_live::world::LiveError;
use delaylab_model::experiment::WorldName;
use delaylab_model::plan::{Plan, Planned};
use delaylab_model::trial::Trial;
use delaylab_model::world::{Refusal, World};
use delaylab_sim::world::Simulated;
use delaylab_store::writer::RunWriter;
use delaylab_testbed::rootless;
use delaylab_testbed::world::{Testbed, TestbedError};
use delaylab_wire::auth::Key;
use std::num::NonZeroUsize;
use std::thread::available_parallelism;

/// What was asked of a world on the command line.
#[derive(Default)]
pub struct Asked {
    /// live: port of the target's reflector.
    pub port: Option<u16>,
    /// live: key shared with it.
    pub key: Option<Key>,
    /// live: whoever started the run said that the load was wanted.
    pub allow_load: bool,
    /// live: who takes load.
    pub load: LoadServerArgs,
    /// sim: trials at once.
    pub threads: Option<NonZeroUsize>,
}

/// A world that is ready to carry trials out.
pub enum Place {
    /// This host and a real path.
    Live(Box<LiveRun>),
    /// Namespaces on this machine.
    Testbed(Box<Testbed>),
    /// Discrete events.
    Sim(Simulated),
}

/// What a world cannot honour of a trial.
pub fn refusals(world: WorldName, trial: &Trial) -> Vec<Refusal> {
    match world {
        WorldName::Live => live::refusals(trial),
        WorldName::Testbed => testbed().refusals(trial),
        WorldName::Sim => delaylab_sim::refusals(trial),
    }
}

/// What a world can honour of a trial and may not be what was meant.
pub fn advice(world: WorldName, trial: &Trial) -> Vec<Refusal> {
    match world {
        WorldName::Live | WorldName::Testbed => Vec::new(),
        WorldName::Sim => delaylab_sim::advice(trial),
    }
}

impl Place {
    /// The world of this run. A live one resolves its target, or starts a reflector of its own.
    pub fn new(resolved: &Resolved, asked: &Asked) -> Result<Self, Failed> {
        match resolved.world {
            WorldName::Sim => Ok(Place::Sim(simulated(asked))),
            WorldName::Testbed => {
                refuse_threads(asked)?;
                let allowed = rootless::become_root_if_needed();
                allowed.map_err(|error| Failed::environment(error.to_string()))?;
                Ok(Place::Testbed(Box::new(testbed())))
            }
            WorldName::Live => {
                refuse_threads(asked)?;
                let live = LiveRun::new(resolved, asked)?;
                Ok(Place::Live(Box::new(live)))
            }
        }
    }

    /// Every trial, with where it goes.
    pub fn aimed(&self, resolved: &Resolved, asked: &Asked) -> Result<Vec<Planned>, Failed> {
        match self {
            Place::Live(live) => live.aimed(resolved, asked.allow_load),
            Place::Testbed(_) | Place::Sim(_) => Ok(resolved.planned.clone()),
        }
    }

    /// Where live probes go.
    pub fn target_name(&self) -> Option<&str> {
        match self {
            Place::Live(live) => Some(&live.target_name),
            Place::Testbed(_) | Place::Sim(_) => None,
        }
    }

    /// How many trials a plan may hand out before it sees what came of them.
    pub fn at_once(&self) -> usize {
        match self {
            Place::Live(_) | Place::Testbed(_) => 1,
            // A trial that ends early makes room for the next.
            Place::Sim(_) => usize::MAX,
        }
    }

    /// Carries a plan out. `done` trials are recorded already.
    pub fn carry_out(
        &mut self,
        writer: &RunWriter,
        done: usize,
        plan: &mut dyn Plan<Observation = TrialOutcome>,
        told: &mut Told,
    ) -> Result<Ending, Failed> {
        match self {
            Place::Live(live) => {
                carry_out(&mut live.world, writer, done, plan, told).map_err(live_broke_off)
            }
            Place::Testbed(world) => {
                carry_out(&mut **world, writer, done, plan, told).map_err(testbed_broke_off)
            }
            Place::Sim(world) => carry_out(world, writer, done, plan, told)
                .map_err(|error| Failed::environment(error.to_string())),
        }
    }
}

fn testbed() -> Testbed {
    Testbed::new(live::world(None))
}

fn simulated(asked: &Asked) -> Simulated {
    Simulated::new(threads(asked.threads), signals::stops_asked)
}

/// How many simulations at once: as many as asked for, or one a CPU.
pub fn threads(asked: Option<NonZeroUsize>) -> usize {
    let all = || available_parallelism().map_or(1, NonZeroUsize::get);
    asked.map_or_else(all, NonZeroUsize::get)
}

fn refuse_threads(asked: &Asked) -> Result<(), Failed> {
    match asked.threads {
        None => Ok(()),
        Some(_) => Err(Failed::usage(
            "--threads is for the world `sim`: trials of other worlds run one after the other, so that none \
             disturbs another",
        )),
    }
}

fn carry_out<W: World + Send>(
    world: &mut W,
    writer: &RunWriter,
    done: usize,
    plan: &mut dyn Plan<Observation = TrialOutcome>,
    told: &mut Told,
) -> Result<Ending, LabError<W::Error>>
where
    W::Error: Send,
{
    let watcher = told.watcher();
    let mut laboratory = Laboratory {
        world,
        writer,
        done,
        stops_asked: signals::stops_asked,
        watch: watcher.as_ref().map(|watcher| watcher as &dyn Watch),
    };
    laboratory.carry_out(plan, told)
}

fn live_broke_off(error: LabError<LiveError>) -> Failed {
    match error {
        LabError::World(error) => error.into(),
        other => Failed::environment(other.to_string()),
    }
}

fn testbed_broke_off(error: LabError<TestbedError>) -> Failed {
    match error {
        LabError::World(TestbedError::Live(error)) => live_broke_off(LabError::World(error)),
        other => Failed::environment(other.to_string()),
    }
}
