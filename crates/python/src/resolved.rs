//! An experiment with all choices applied.

use crate::error::{detached, exception};
use delaylab_lab::experiment::catalogue::{Entry, catalogue as entries};
use delaylab_lab::experiment::{Choices, Experiment, Source};
use delaylab_model::experiment::WorldName;
use delaylab_runner::error::RunnerError;
use delaylab_runner::resolve as find;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};

/// An experiment with all choices applied: it says which trials a run has.
#[pyclass(frozen, module = "delaylab._delaylab")]
pub struct Resolved(pub delaylab_lab::experiment::Resolved);

#[pymethods]
impl Resolved {
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn title(&self) -> &str {
        &self.0.title
    }

    #[getter]
    fn about(&self) -> &str {
        &self.0.about
    }

    #[getter]
    fn world(&self) -> &'static str {
        self.0.world.name()
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.0.seed
    }

    /// The experiment file, as resolved: it resolves to the same trials.
    #[getter]
    fn toml(&self) -> &str {
        &self.0.toml
    }

    /// How many trials it has; with a stop rule, at most; with a procedure, about.
    #[getter]
    fn trials(&self) -> usize {
        self.0.expected_trials()
    }

    /// Each factor and the labels of its levels.
    #[getter]
    fn factors(&self) -> Vec<(String, Vec<String>)> {
        let labels = |levels: &[delaylab_model::plan::Level]| {
            levels.iter().map(|level| level.label.clone()).collect()
        };
        let factors = self.0.factors.iter();
        factors
            .map(|(name, levels)| (name.clone(), labels(levels)))
            .collect()
    }

    /// How long all trials take one after the other, in nanoseconds of their own clock.
    #[getter]
    fn length_ns(&self) -> i64 {
        self.0.estimate().length
    }
}

/// The experiments of the catalogue: name and title of each.
#[pyfunction]
pub fn catalogue(py: Python<'_>) -> PyResult<Vec<(String, String)>> {
    let entries = entries().iter().map(|entry| {
        let experiment = Experiment::read(entry.source())?;
        Ok((entry.name().to_owned(), experiment.title().to_owned()))
    });
    let entries: Result<_, RunnerError> = entries.collect();
    entries.map_err(|error| exception(py, &error))
}

/// The text of the experiment in this file; `None` for one of the catalogue, which stays as it is.
#[pyfunction]
pub fn file_text(py: Python<'_>, named: &str) -> PyResult<Option<String>> {
    let read = match Entry::find(named) {
        Some(_) => Ok(None),
        None => find::file(named).map(|source| Some(source.text)),
    };
    read.map_err(|error| exception(py, &error))
}

/// The experiment of this name or in this file, or this text of one that `named` calls, with these choices. The run of its measured
/// part is looked for in the folders `runs`, where there are any.
#[pyfunction]
#[pyo3(signature = (named, text, world, quick, sets, seed, target, measured, runs))]
#[allow(clippy::too_many_arguments)] // as in Python, where each has its name
pub fn resolve(
    py: Python<'_>,
    named: &str,
    text: Option<String>,
    world: Option<&str>,
    quick: bool,
    sets: Vec<(String, String)>,
    seed: Option<u64>,
    target: Option<String>,
    measured: Option<String>,
    runs: Vec<PathBuf>,
) -> PyResult<Resolved> {
    let known = |world: &str| {
        let named = WorldName::named(world);
        named.ok_or_else(|| {
            let names = WorldName::ALL.map(WorldName::name).join(", ");
            RunnerError::usage(format!("there is no world `{world}`: {names}"))
        })
    };
    let resolved = || -> Result<_, RunnerError> {
        let experiment = match text {
            None => find::experiment(named)?,
            Some(text) => Experiment::read(Source {
                name: named.to_owned(),
                text,
            })?,
        };
        let choices = Choices {
            world: world.map(known).transpose()?,
            quick,
            sets,
            seed,
            drawn_seed: find::drawn_seed(),
            target,
            measured,
            ..Choices::default()
        };
        let runs: Vec<&Path> = runs.iter().map(PathBuf::as_path).collect();
        find::resolve(&experiment, &choices, &runs)
    };
    // Traces of a replay are read for it, and all of a measured run.
    detached(py, resolved)?
        .map(Resolved)
        .map_err(|error| exception(py, &error))
}
