//! Opens the world of a run: the one place that knows which worlds there are.

use crate::error::RunnerError;
use crate::live_target::{LiveTarget, live};
use crate::options::RunOptions;
use delaylab_lab::experiment::Resolved;
use delaylab_model::experiment::WorldName;
use delaylab_model::plan::Planned;
use delaylab_model::refusal::Refusal;
use delaylab_model::series::KeptSeries;
use delaylab_model::stop::Stop;
use delaylab_model::trial::{Target, Trial};
use delaylab_model::world::{Clock, World};
use delaylab_sim::world::Simulated;
use delaylab_testbed::layout::lay_out;
use delaylab_testbed::rootless;
use delaylab_testbed::world::Testbed;
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::thread::available_parallelism;

/// A world that is ready to carry trials out, and what must live as long as it does.
pub(crate) struct OpenWorld {
    world: Box<dyn World>,
    /// Of the live world: where its probes go. Declared after `world`, and so dropped after it: a reflector of the run's own
    /// answers to the last.
    live: Option<LiveTarget>,
}

impl OpenWorld {
    /// Opens the world of this run. A live one resolves its target, or starts a reflector of its own; a testbed makes this process root
    /// of a user namespace of its own where it is not root already.
    ///
    /// # Errors
    /// The target cannot be resolved, no reflector can be started, or this host lacks a privilege.
    pub(crate) fn open(resolved: &Resolved, options: &RunOptions) -> Result<Self, RunnerError> {
        if resolved.world != WorldName::Sim {
            refuse_threads(options)?;
        }
        let (world, live): (Box<dyn World>, _) = match resolved.world {
            WorldName::Sim => {
                let simulated = Simulated::new(threads(options.threads), options.stop.clone());
                (Box::new(simulated), None)
            }
            WorldName::Testbed => {
                refuse_lacks(resolved)?;
                let mut live = live(None, options.stop.clone());
                live.program.clone_from(&options.program);
                (Box::new(Testbed::new(live)), None)
            }
            WorldName::Live => {
                let target = LiveTarget::find(resolved, options)?;
                (Box::new(target.world(options)), Some(target))
            }
        };
        Ok(Self { world, live })
    }

    /// Carries trials out.
    pub(crate) fn world(&mut self) -> &mut dyn World {
        &mut *self.world
    }

    /// Every trial, with where it goes.
    ///
    /// # Errors
    /// Where one cannot be sent, or would send to another host what that host may take for an attack.
    pub(crate) fn aimed(
        &self,
        resolved: &Resolved,
        options: &RunOptions,
    ) -> Result<Vec<Planned>, RunnerError> {
        match &self.live {
            Some(target) => target.aimed(resolved, options),
            None => Ok(resolved.planned.clone()),
        }
    }

    /// What the target of a live run is called.
    pub(crate) fn target_name(&self) -> Option<&str> {
        self.live.as_ref().map(|target| target.name.as_str())
    }

    /// The addresses to which live probes and load go.
    pub(crate) fn target(&self) -> Option<Target> {
        self.live.as_ref().and_then(LiveTarget::target)
    }

    /// How many trials a plan may hand out before it sees their results.
    pub(crate) fn at_once(&self) -> usize {
        match self.world.clock() {
            Clock::Real => 1,
            // However many threads there are, the same trials follow each other. One that ends early makes room for
            // the next.
            Clock::Simulated => usize::MAX,
        }
    }
}

/// What a world cannot honour of a trial.
pub fn refusals(world: WorldName, trial: &Trial) -> Vec<Refusal> {
    match world {
        WorldName::Live => live(None, Stop::default()).refusals(trial),
        WorldName::Testbed => Testbed::new(live(None, Stop::default())).refusals(trial),
        WorldName::Sim => delaylab_sim::refusals(trial),
    }
}

/// Which series a world keeps of a trial; `None` where it cannot honour the trial.
pub fn kept_series(world: WorldName, trial: &Trial) -> Option<Vec<KeptSeries>> {
    let refused = !refusals(world, trial).is_empty();
    (!refused).then(|| match world {
        WorldName::Live => trial.series_of_hosts(),
        WorldName::Testbed => delaylab_testbed::layout::kept_series(trial),
        WorldName::Sim => delaylab_sim::kept_series(trial),
    })
}

/// What a world can honour of a trial and may not be what was meant.
pub fn advice(world: WorldName, trial: &Trial) -> Vec<Refusal> {
    match world {
        WorldName::Live | WorldName::Testbed => Vec::new(),
        WorldName::Sim => delaylab_sim::advice(trial),
    }
}

/// What this host lacks that the world of these trials needs, as sentences that say what to do. It may make this process
/// root of a user namespace of its own: to be called last, and while there is one thread.
pub fn prepare_and_list_missing(resolved: &Resolved) -> Vec<String> {
    if resolved.world != WorldName::Testbed {
        return Vec::new();
    }
    let first = || {
        let first = resolved.planned.iter();
        first.filter(|planned| planned.repeat == 0)
    };
    let laid_out = first().filter_map(|planned| lay_out(&planned.trial).ok());
    let steps: Vec<_> = laid_out
        .flat_map(|layout| layout.structure.steps(""))
        .collect();
    let commands = delaylab_testbed::step::missing(&steps).into_iter();
    let commands = commands.map(|error| error.to_string());
    let became_root = rootless::become_root_if_needed();
    let refused: BTreeSet<_> = match became_root {
        // Which queues this kernel has could not be asked before.
        Ok(true) => first()
            .filter_map(|planned| lay_out(&planned.trial).err())
            .map(|refusal| refusal.to_string())
            .collect(),
        _ => BTreeSet::new(),
    };
    let trials = resolved.planned.iter().map(|planned| &planned.trial);
    let servers = trials.flat_map(|trial| &trial.path.server);
    let mut programs: Vec<_> = delaylab_testbed::servers::missing(servers)
        .into_iter()
        .map(|error| error.to_string())
        .collect();
    programs.sort();
    programs.dedup();
    commands
        .chain(programs)
        .chain(refused)
        .chain(became_root.err().map(|error| error.to_string()))
        .collect()
}

/// Says before there is a folder what would end the run at its first trial.
fn refuse_lacks(resolved: &Resolved) -> Result<(), RunnerError> {
    let lacks = prepare_and_list_missing(resolved);
    match lacks.is_empty() {
        true => Ok(()),
        false => Err(RunnerError::environment(lacks.join("\n"))),
    }
}

/// How many simulations at the same time: as many as asked for, or one for each CPU.
pub(crate) fn threads(asked: Option<NonZeroUsize>) -> usize {
    let all = || available_parallelism().map_or(1, NonZeroUsize::get);
    asked.map_or_else(all, NonZeroUsize::get)
}

fn refuse_threads(options: &RunOptions) -> Result<(), RunnerError> {
    match options.threads {
        None => Ok(()),
        Some(_) => Err(RunnerError::usage(
            "--threads is for the world `sim`: trials of other worlds run one after the other, so that none \
             disturbs another",
        )),
    }
}
