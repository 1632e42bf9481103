//! The model of a measured path, simulated.

use crate::error::RunnerError;
use crate::measured_path::MeasuredPath;
use crate::options::RunOptions;
use crate::run_folder::{self, shortest};
use crate::{resolve, worlds};
use delaylab_explain::calibrate::overlay::{self, Group};
use delaylab_explain::calibrate::prediction::AGAIN;
use delaylab_explain::calibrate::run_trials::RunTrials;
use delaylab_lab::experiment::{Choices, Experiment, Resolved, Source};
use delaylab_model::stop::Stop;
use delaylab_sim::world::Simulated;
use delaylab_stats::random::SplitMix;
use std::path::{Path, PathBuf};
use std::{panic, thread};

/// The run of a model.
pub struct ModelRun {
    /// Where it is.
    pub folder: PathBuf,
    /// Its folder, as short as it can be said.
    pub name: String,
    /// What its packets show, with the noise of the measured hosts added.
    pub groups: Vec<Group>,
}

impl ModelRun {
    /// Of the run in this folder, in which the model of `measured` was carried out as `resolved`.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(
        folder: PathBuf,
        resolved: &Resolved,
        measured: &MeasuredPath,
    ) -> Result<Self, RunnerError> {
        let run = run_folder::open(&folder)?;
        let seen = RunTrials::of_run(&run, resolved);
        Ok(Self {
            name: shortest(&folder),
            folder,
            groups: with_noise(&seen, measured, measured.resolved.seed),
        })
    }
}

/// The trials of a model with these changes, and with this seed instead of the measured run's.
///
/// # Errors
/// What is wrong with the changes.
pub fn resolved(
    model: &str,
    sets: &[(String, String)],
    seed: Option<u64>,
) -> Result<Resolved, RunnerError> {
    let source = Source {
        name: "model.toml".to_owned(),
        text: model.to_owned(),
    };
    let experiment = Experiment::read(source)?;
    let choices = Choices {
        sets: sets.to_vec(),
        seed,
        ..Choices::default()
    };
    // A model has no measured part: one that is set is looked for, and then refused.
    resolve::resolve(&experiment, &choices, &[Path::new(".")])
}

/// More simulations of the model with these changes, each with other packets and with another path that the
/// calibration's intervals allow. Nothing is recorded of them.
///
/// # Errors
/// What is wrong with the changes, or that they were stopped.
pub fn again(
    measured: &MeasuredPath,
    sets: &[(String, String)],
    options: &RunOptions,
) -> Result<Vec<Vec<Group>>, RunnerError> {
    let experiments = drawn(measured, sets)?;
    let each = experiments.len().div_ceil(worlds::threads(options.threads));
    let stop = &options.stop;
    thread::scope(|scope| {
        let parts = experiments.chunks(each);
        let parts: Vec<_> = parts
            .map(|part| scope.spawn(move || each_of(part, measured, stop)))
            .collect();
        let joined = parts.into_iter().map(|part| part.join());
        let groups: Result<Vec<_>, RunnerError> = joined
            .map(|part| part.unwrap_or_else(|panic| panic::resume_unwind(panic)))
            .collect();
        Ok(groups?.concat())
    })
}

/// The model with these changes, drawn several times from the calibration's intervals.
fn drawn(measured: &MeasuredPath, sets: &[(String, String)]) -> Result<Vec<Resolved>, RunnerError> {
    let mut random = SplitMix::new(measured.resolved.seed);
    let mut one = || {
        let found = measured.found.drawn(&mut random);
        let model = measured.model_of(&found, "again");
        let model = model.map_err(RunnerError::unreachable)?;
        // A seed has 63 bits.
        resolved(&model, sets, Some(random.next() >> 1))
    };
    (0..AGAIN).map(|_| one()).collect()
}

fn each_of(
    part: &[Resolved],
    measured: &MeasuredPath,
    stop: &Stop,
) -> Result<Vec<Vec<Group>>, RunnerError> {
    let part = part.iter();
    part.map(|one| simulated(measured, one, stop)).collect()
}

fn simulated(
    measured: &MeasuredPath,
    resolved: &Resolved,
    stop: &Stop,
) -> Result<Vec<Group>, RunnerError> {
    let mut world = Simulated::new(1, stop.clone());
    let seen = RunTrials::of_world(&mut world, resolved).map_err(RunnerError::environment)?;
    if stop.is_asked() {
        return Err(RunnerError::unreachable("stopped"));
    }
    Ok(with_noise(&seen, measured, resolved.seed))
}

/// What simulated trials show, with the noise of the measured hosts added.
fn with_noise(seen: &RunTrials, measured: &MeasuredPath, seed: u64) -> Vec<Group> {
    let mut groups = overlay::groups(seen);
    overlay::add_noise(&mut groups, &measured.found.hosts.noise, seed);
    groups
}
