//! The state of the measuring host (seeds 000 and 002: "minimum load" and "normal load").
//!
//! [`Applied`] puts the host into a condition and out of it again. Its thread is the one that
//! measures.
//!
//! | module | holds |
//! |---|---|
//! | `quiet` | as undisturbed as this host allows |
//! | `stressed` | a built-in, bounded load |
//! | [`undo`], [`guardian`] | what outlives a crash, and the process that undoes it |
//! | `helper`, `helper_task` | how this program starts itself as a helper, and what it then does |
//! | `burden` | what the load's processes do |

mod burden;
pub mod guardian;
mod helper;
mod helper_task;
mod quiet;
mod stressed;
pub mod undo;

pub use helper_task::run_helper_if_asked;
pub use stressed::{Daemon, Load};

use delaylab_model::probe::{HostCondition, WaitMode};
use delaylab_model::trial::Trial;
use serde::Serialize;
use std::io;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// How to apply a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// quiet: the CPU to measure on. `None` is the last one allowed: interrupts favour the first.
    pub cpu: Option<usize>,
    /// The prober spins. A spinning `SCHED_FIFO` thread is throttled 50 ms in each second, so
    /// quiet leaves `SCHED_FIFO` out.
    pub spins: bool,
    /// quiet: may use `SCHED_FIFO`. A blocking thread can be *slower* with it: see the doctor.
    pub fifo: bool,
    /// quiet: may make a cpuset of its own.
    pub cpuset: bool,
    /// quiet: the program that would be given privileges that are missing.
    pub program: Option<PathBuf>,
    /// stressed: the load.
    pub load: Load,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cpu: None,
            spins: false,
            fifo: true,
            cpuset: true,
            program: None,
            load: Load::default(),
        }
    }
}

impl Options {
    /// How a trial of this program has its condition applied.
    pub fn of_trial(trial: &Trial, program: Option<&Path>) -> Self {
        let mut probes = trial.probes.iter();
        Self {
            spins: probes.any(|probe| probe.wait_mode == WaitMode::Spin),
            program: program.map(Path::to_owned),
            ..Self::default()
        }
    }
}

/// One thing that a condition does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    /// What, in the user's words.
    pub name: &'static str,
    /// Whether it holds.
    pub state: State,
}

/// Whether a step holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "state", content = "detail")]
pub enum State {
    /// It does; how.
    Held(String),
    /// It does not in full, and why.
    Partly(String),
    /// It does not, and why.
    NotHeld(String),
}

/// Why a condition could not be applied at all.
#[derive(Debug, Error)]
pub enum ApplyError {
    /// The calling thread's own state could not be read, so it could not be restored either.
    #[error("cannot read how this thread is scheduled: {0}")]
    Thread(io::Error),
    /// A process of the load could not be started.
    #[error("cannot start the load's `{kind}` process: {source}")]
    Load {
        /// Which one.
        kind: &'static str,
        /// Why.
        source: io::Error,
    },
}

/// A condition that holds until this is dropped, or until the process dies by any means.
///
/// It belongs to the thread that made it, the one that measures: priority, CPU and timer slack are
/// that thread's, and the load's processes end with it.
#[derive(Debug)]
pub struct Applied {
    held: Held,
    steps: Vec<Step>,
    _of_this_thread: PhantomData<*const ()>,
}

#[derive(Debug)]
enum Held {
    Normal,
    Quiet(quiet::Quiet),
    Stressed(stressed::Stressed),
}

impl Applied {
    /// Puts the host into a condition, as far as it goes. [`Applied::describe`] says how far.
    ///
    /// # Errors
    /// See [`ApplyError`]. A step of `quiet` that this host does not allow is not an error.
    pub fn new(condition: HostCondition, options: &Options) -> Result<Self, ApplyError> {
        let (held, steps) = match condition {
            HostCondition::Normal => (Held::Normal, Vec::new()),
            HostCondition::Quiet => {
                let (quiet, steps) = quiet::Quiet::apply(options)?;
                (Held::Quiet(quiet), steps)
            }
            HostCondition::Stressed => {
                let (stressed, steps) = stressed::Stressed::start(&options.load)?;
                (Held::Stressed(stressed), steps)
            }
        };
        Ok(Self {
            held,
            steps,
            _of_this_thread: PhantomData,
        })
    }

    /// Each step of the condition: whether it holds, and why not.
    pub fn describe(&self) -> &[Step] {
        &self.steps
    }

    /// Does everything that was started still run? `false` means that the trial outlasted the
    /// load's bound, or that somebody ended a part of it: its figures are not of one condition.
    pub fn still_holds(&mut self) -> bool {
        match &mut self.held {
            Held::Normal => true,
            Held::Quiet(quiet) => quiet.still_holds(),
            Held::Stressed(stressed) => stressed.still_holds(),
        }
    }

    /// Process ids of the helpers that were started.
    pub fn helpers(&self) -> Vec<u32> {
        match &self.held {
            Held::Normal => Vec::new(),
            Held::Quiet(quiet) => quiet.helpers(),
            Held::Stressed(stressed) => stressed.helpers(),
        }
    }
}
