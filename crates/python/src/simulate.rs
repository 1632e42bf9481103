//! A simulation in this process, on threads of its own: Python goes on with its other threads, and Ctrl-C stops it.

use crate::error::{exception, fault, internal, usage};
use crate::resolved::Resolved;
use delaylab_lab::experiment::Source;
use delaylab_lab::run::{EndedTrial, Left, Progress};
use delaylab_model::experiment::WorldName;
use delaylab_model::stop::Stop;
use delaylab_runner::assignment::Assignment;
use delaylab_runner::error::RunnerError;
use delaylab_runner::options::RunOptions;
use delaylab_runner::run::{CarriedOut, ReadyRun};
use delaylab_runner::{resolve, run_folder};
use delaylab_store::whole_file;
use delaylab_view::benchmark;
use delaylab_view::run::stored;
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use serde_json::Value;
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// How often it looks whether Ctrl-C was pressed.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How far it is.
enum Event {
    /// It has this folder.
    Begun(PathBuf),
    /// The number of trials that are done, and of all.
    Done(usize, usize),
}

/// What is called in Python.
struct Callbacks {
    /// Where it records, once that is there.
    on_folder: Option<Py<PyAny>>,
    /// How many trials are done, of how many, after each.
    on_trial: Option<Py<PyAny>>,
}

/// Options of a simulation that this handle stops.
pub fn options(threads: Option<usize>, stop: &Stop, supplied: Vec<String>) -> RunOptions {
    RunOptions {
        threads: threads.and_then(NonZeroUsize::new),
        stop: stop.clone(),
        supplied,
        ..RunOptions::default()
    }
}

/// Carries out a simulation in a new folder of `output`: where it is, and what the user should know. `on_folder` is called
/// with where it is until it is finished, `on_trial` with how many trials are done, of how many.
///
/// Raises:
///     What these raise, and KeyboardInterrupt; what was recorded stays in that folder, unless all was.
#[pyfunction]
pub fn simulate(
    py: Python<'_>,
    resolved: &Resolved,
    output: PathBuf,
    threads: Option<usize>,
    on_folder: Py<PyAny>,
    on_trial: Option<Py<PyAny>>,
    supplied: Vec<String>,
) -> PyResult<(PathBuf, Vec<String>)> {
    let resolved = resolved.0.clone();
    if resolved.world != WorldName::Sim {
        let message = "only world `sim` runs in this process: the program carries out the others";
        return Err(usage(py, message));
    }
    let stop = Stop::default();
    let options = options(threads, &stop, supplied);
    let is_benchmark = resolved.procedure.is_some();
    let work = move |told: &mut Telling| {
        let ready = ReadyRun::create(resolved, &options, &output)?;
        told.send(Event::Begun(ready.folder().to_owned()));
        let Some(carried_out) = ready.run(told, None)? else {
            return Ok(None);
        };
        let finished = finish(carried_out)?;
        if is_benchmark {
            put_benchmark(&finished.0)?;
        }
        Ok(Some(finished))
    };
    let on_folder = Some(on_folder);
    let callbacks = Callbacks {
        on_folder,
        on_trial,
    };
    let finished = beside_python(py, &stop, &callbacks, work)?;
    finished.ok_or_else(|| stopped(py))
}

/// Its folder under its final name, and what the user should know.
pub fn finish(carried_out: CarriedOut) -> Result<(PathBuf, Vec<String>), RunnerError> {
    let (finished, _) = carried_out.finish()?;
    Ok((finished.folder, finished.warnings))
}

/// Writes what the run's procedure found into its folder, as the program does.
fn put_benchmark(folder: &Path) -> Result<(), RunnerError> {
    let run = run_folder::open(folder)?;
    let found = stored::benchmark(&run, resolve::of_run(&run).as_ref());
    let file = folder.join(benchmark::FILE);
    let written = found.map_or(Ok(()), |found| {
        whole_file::replace(&file, benchmark::markdown(&found).as_bytes())
    });
    written.map_err(|error| {
        RunnerError::environment(format!("cannot write {}: {error}", file.display()))
    })
}

/// Carries out the trials with these numbers of an experiment that was resolved, and leaves them in an unfinished run in
/// `output`, which is there: where it is. `on_trial` is called with how many trials are done, of how many.
///
/// Raises:
///     What it raises, and KeyboardInterrupt.
#[pyfunction]
pub fn carry_out_share(
    py: Python<'_>,
    toml: String,
    trials: BTreeSet<u32>,
    output: PathBuf,
    threads: Option<usize>,
    on_trial: Py<PyAny>,
) -> PyResult<PathBuf> {
    let stop = Stop::default();
    let mut options = options(threads, &stop, Vec::new());
    options.share = Some(Assignment::Trials(trials));
    let work = move |told: &mut Telling| {
        let source = Source {
            name: "experiment.toml".to_owned(),
            text: toml,
        };
        let resolved = resolve::again(source, &Value::Null)?;
        let ready = ReadyRun::create(resolved, &options, &output)?;
        let carried_out = ready.run(told, None)?;
        Ok(carried_out.map(|carried_out| carried_out.folder().to_owned()))
    };
    let callbacks = Callbacks {
        on_folder: None,
        on_trial: Some(on_trial),
    };
    beside_python(py, &stop, &callbacks, work)?.ok_or_else(|| stopped(py))
}

/// Without an exception nothing stops it.
fn stopped(py: Python<'_>) -> PyErr {
    fault(py, "the simulation was stopped, and nothing asked for it")
}

/// Tells how far it is.
struct Telling(Sender<Event>);

impl Telling {
    /// Without a receiver the simulation is being stopped.
    fn send(&self, event: Event) {
        let _ = self.0.send(event);
    }
}

impl Progress for Telling {
    fn ended(&mut self, _: &EndedTrial<'_>, done: usize, left: Left) {
        let left = left.map_or(0, |(remaining, _)| remaining.trials);
        self.send(Event::Done(done, done + left));
    }
}

/// Works on another thread; this one answers to Python meanwhile.
fn beside_python<T: Send + 'static>(
    py: Python<'_>,
    stop: &Stop,
    callbacks: &Callbacks,
    work: impl FnOnce(&mut Telling) -> Result<T, RunnerError> + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = channel();
    let worker = std::thread::spawn(move || work(&mut Telling(sender)));
    let raised = follow(py, stop, callbacks, &Mutex::new(receiver));
    let worked = py.detach(|| worker.join());
    raised?;
    match worked {
        Ok(worked) => worked.map_err(|error| exception(py, &error)),
        Err(_) => Err(internal(py)),
    }
}

/// Until the work is done. What is raised stops it, and trials that end meanwhile call nothing.
fn follow(
    py: Python<'_>,
    stop: &Stop,
    callbacks: &Callbacks,
    events: &Mutex<Receiver<Event>>,
) -> PyResult<()> {
    let mut raised = Ok(());
    loop {
        let event = py.detach(|| match events.lock() {
            Ok(events) => events.recv_timeout(LOOK_EVERY),
            Err(_) => Err(RecvTimeoutError::Disconnected),
        });
        let heard = match event {
            Ok(Event::Begun(folder)) => call(py, callbacks.on_folder.as_ref(), (folder,)),
            Ok(Event::Done(..)) if raised.is_err() => Ok(()),
            Ok(Event::Done(done, of)) => call(py, callbacks.on_trial.as_ref(), (done, of)),
            Err(RecvTimeoutError::Timeout) => Ok(()),
            Err(RecvTimeoutError::Disconnected) => return raised,
        };
        let interrupted = heard.and_then(|()| py.check_signals());
        if raised.is_ok() && interrupted.is_err() {
            stop.ask();
            raised = interrupted;
        }
    }
}

/// Calls what is there to be called.
fn call<'py>(
    py: Python<'py>,
    called: Option<&Py<PyAny>>,
    with: impl PyCallArgs<'py>,
) -> PyResult<()> {
    called.map_or(Ok(()), |called| called.call1(py, with).map(drop))
}
