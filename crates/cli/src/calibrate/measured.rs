//! The measured run, and what it shows of its path.

use crate::args::calibrate::OfArgs;
use crate::exit::{Exit, Failed};
use crate::experiment::choose;
use crate::terminal;
use delaylab_explain::calibrate::run_trials::RunTrials;
use delaylab_explain::calibrate::{Calibration, calibrate, model};
use delaylab_lab::experiment::Resolved;
use delaylab_runner::resolve;
use delaylab_runner::run_folder::{shortest, whole};
use std::path::PathBuf;

/// A run that was calibrated.
pub(super) struct Measured {
    /// Where it is.
    pub(super) folder: PathBuf,
    /// Its folder, as short as it can be said.
    pub(super) name: String,
    /// Its experiment.
    pub(super) resolved: Resolved,
    /// Its trials.
    pub(super) seen: RunTrials,
    /// What they show.
    pub(super) found: Calibration,
}

impl Measured {
    pub(super) fn read(of: &OfArgs) -> Result<Self, Failed> {
        let run = choose::run(&of.run, &of.runs)?;
        choose::say_not_complete(&run);
        let name = shortest(run.folder());
        let Some(resolved) = resolve::of_run(&run) else {
            return Err(Failed::usage(format!(
                "{name} has no experiment that could be carried out again: a model needs its probes and loads"
            )));
        };
        let no_model = |why| Failed::new(Exit::Unreachable, format!("no model of {name}: {why}"));
        model::of_one_path(&resolved).map_err(no_model)?;
        let seen = RunTrials::of_run(&run, &resolved);
        whole(&run)?;
        for problem in run.problems() {
            terminal::say(format!("warning: {problem}"));
        }
        let found = calibrate(&seen);
        Ok(Self {
            folder: run.folder().to_owned(),
            name,
            resolved,
            seen,
            found,
        })
    }

    /// Its model as an experiment, called by the run's name and `kind`; why there is none.
    pub(super) fn model(&self, kind: &str) -> Result<String, String> {
        self.model_of(&self.found, kind)
    }

    /// The model of the same run, had this been found.
    pub(super) fn model_of(&self, found: &Calibration, kind: &str) -> Result<String, String> {
        let text = model::experiment(found, &self.resolved, &self.name, kind);
        text.map_err(|error| error.to_string())
    }
}
