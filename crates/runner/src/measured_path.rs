//! The path of a measured run, calibrated.

use crate::error::RunnerError;
use crate::resolve;
use crate::run_folder::{fail_if_damaged, shortest};
use delaylab_explain::calibrate::run_trials::RunTrials;
use delaylab_explain::calibrate::{Calibration, calibrate, model};
use delaylab_lab::experiment::Resolved;
use delaylab_store::run::Run;
use std::path::PathBuf;

/// A run that was calibrated.
pub struct MeasuredPath {
    /// Where it is.
    pub folder: PathBuf,
    /// Its folder, as short as it can be said.
    pub name: String,
    /// Its experiment.
    pub resolved: Resolved,
    /// Its trials.
    pub seen: RunTrials,
    /// What they show.
    pub found: Calibration,
}

impl MeasuredPath {
    /// Reads the run and calibrates it.
    ///
    /// # Errors
    /// It has no experiment of one path, or is not what was recorded.
    pub fn read(run: &Run) -> Result<Self, RunnerError> {
        let name = shortest(run.folder());
        let Some(resolved) = resolve::of_run(run) else {
            return Err(RunnerError::usage(format!(
                "{name} has no experiment that could be carried out again: a model needs its probes and loads"
            )));
        };
        let no_model = |why| RunnerError::unreachable(format!("no model of {name}: {why}"));
        model::of_one_path(&resolved).map_err(no_model)?;
        let seen = RunTrials::of_run(run, &resolved);
        fail_if_damaged(run)?;
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
    pub fn model(&self, kind: &str) -> Result<String, String> {
        self.model_of(&self.found, kind)
    }

    /// The model of the same run, had this been found.
    pub(crate) fn model_of(&self, found: &Calibration, kind: &str) -> Result<String, String> {
        let text = model::experiment(found, &self.resolved, &self.name, kind);
        text.map_err(|error| error.to_string())
    }
}
