//! A run whose trials come from other processes.

use crate::error::{detached, exception, usage};
use crate::resolved::Resolved;
use crate::simulate::{self, options};
use delaylab_lab::run::Progress;
use delaylab_model::stop::Stop;
use delaylab_runner::error::RunnerError;
use delaylab_runner::shard;
use delaylab_store::adopt::Donor;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A run that is put together of what other processes recorded.
#[pyclass(frozen, module = "delaylab._delaylab")]
pub struct Gathered(Mutex<Option<shard::GatheredRun>>);

impl Gathered {
    fn inner(&self) -> MutexGuard<'_, Option<shard::GatheredRun>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut shard::GatheredRun) -> Result<T, RunnerError> + Send,
    ) -> PyResult<T> {
        let worked = detached(py, || self.inner().as_mut().map(work))?;
        match worked {
            Some(worked) => worked.map_err(|error| exception(py, &error)),
            None => Err(usage(py, "this run is finished")),
        }
    }
}

#[pymethods]
impl Gathered {
    /// Makes its folder in `output`.
    #[new]
    fn new(
        py: Python<'_>,
        resolved: &Resolved,
        output: PathBuf,
        supplied: Vec<String>,
    ) -> PyResult<Self> {
        let resolved = resolved.0.clone();
        let made = detached(py, || {
            shard::GatheredRun::create(resolved, supplied, &output)
        })?;
        let made = made.map_err(|error| exception(py, &error))?;
        Ok(Self(Mutex::new(Some(made))))
    }

    /// Where it is until it is finished.
    #[getter]
    fn folder(&self, py: Python<'_>) -> PyResult<PathBuf> {
        self.with(py, |run| Ok(run.folder().to_owned()))
    }

    /// The numbers of the trials that may be carried out now, apart from each other. None: there are no more.
    fn next_round(&self, py: Python<'_>) -> PyResult<Vec<u32>> {
        self.with(py, |run| run.next_round())
    }

    /// Takes the trials of an unfinished run over: how many it had. They are no longer there then.
    fn take(&self, py: Python<'_>, folder: PathBuf) -> PyResult<usize> {
        self.with(py, |run| run.move_from(Donor::open(&folder)?))
    }

    /// Lets go of its folder, which `delaylab resume` may then take up.
    fn close(&self) {
        self.inner().take();
    }

    /// Joins its tables, judges its findings and gives the run its name: where it is, and what the user should know.
    fn finish(&self, py: Python<'_>) -> PyResult<(PathBuf, Vec<String>)> {
        let finished = detached(py, || {
            let run = self.inner().take();
            run.map(finish)
        })?;
        match finished {
            Some(finished) => finished.map_err(|error| exception(py, &error)),
            None => Err(usage(py, "this run is finished")),
        }
    }
}

fn finish(run: shard::GatheredRun) -> Result<(PathBuf, Vec<String>), RunnerError> {
    let folder = run.folder().to_owned();
    let ready = run.into_ready(&options(None, &Stop::default(), Vec::new()))?;
    match ready.run(&mut Silent, None)? {
        Some(carried_out) => simulate::finish(carried_out),
        None => Err(stopped(&folder)),
    }
}

fn stopped(folder: &Path) -> RunnerError {
    RunnerError::environment(format!("{} was stopped", folder.display()))
}

/// Every trial is there: nothing goes on.
struct Silent;

impl Progress for Silent {}
