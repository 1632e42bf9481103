//! Finds the experiment that was named, and lays what was typed over it.

use crate::args::experiment::{ChoiceArgs, RUNS};
use crate::exit::Failed;
use crate::terminal;
use delaylab_lab::experiment::catalogue::{Entry, catalogue};
use delaylab_lab::experiment::{Choices, Diagnostics, Experiment, Resolved, Source};
use delaylab_model::experiment::WorldName;
use delaylab_model::plan::Level;
use delaylab_model::series::KeptSeries;
use delaylab_model::trial::Trial;
use delaylab_runner::run_folder::{self, shortest, whole};
use delaylab_runner::target::{self, AddressFamily};
use delaylab_runner::worlds;
use delaylab_store::resolve::resolve_run;
use delaylab_store::run::{OpenError, Run, State};
use std::hash::{BuildHasher, RandomState};
use std::path::Path;

/// The experiment of this name in the catalogue, or in this file.
pub fn experiment(named: &str) -> Result<Experiment, Failed> {
    let source = match Entry::find(named) {
        Some(entry) => entry.source(),
        None => file(named)?,
    };
    Experiment::read(source).map_err(wrong)
}

/// Which series a world keeps of a trial; `None` where it cannot honour the trial.
fn kept_series(world: WorldName, trial: &Trial) -> Option<Vec<KeptSeries>> {
    let refused = !worlds::refusals(world, trial).is_empty();
    (!refused).then(|| match world {
        WorldName::Live => trial.series_of_hosts(),
        WorldName::Testbed => delaylab_testbed::layout::kept_series(trial),
        WorldName::Sim => delaylab_sim::kept_series(trial),
    })
}

/// Every error of a file, as it is shown.
pub fn wrong(diagnostics: Diagnostics) -> Failed {
    Failed::usage(diagnostics.to_string())
}

fn file(named: &str) -> Result<Source, Failed> {
    if !Path::new(named).exists() && !named.contains(['/', '.']) {
        let names: Vec<_> = catalogue().iter().map(|entry| entry.name()).collect();
        return Err(Failed::usage(format!(
            "there is no experiment `{named}`: the catalogue has {}. A file is named with its path",
            names.join(", ")
        )));
    }
    let text = std::fs::read_to_string(named)
        .map_err(|error| Failed::environment(format!("cannot read {named}: {error}")))?;
    Ok(Source {
        name: named.to_owned(),
        text,
    })
}

/// What was typed, as the experiment takes it.
pub fn choices(args: &ChoiceArgs) -> Choices {
    // Who names a host means the one world that has it.
    let implied = args.target.as_ref().map(|_| WorldName::Live);
    Choices {
        world: args.world.as_deref().and_then(WorldName::named).or(implied),
        quick: args.quick,
        sets: args.sets.clone(),
        seed: args.seed,
        drawn_seed: RandomState::new().hash_one(std::process::id()),
        target: args.target.clone(),
        measured: args.measured.clone(),
        v6: args
            .target
            .as_deref()
            .is_some_and(|target| is_v6(target, AddressFamily::Any)),
    }
}

/// The trials of an experiment with these choices, in a world that there is.
pub fn resolve(experiment: &Experiment, choices: &Choices) -> Result<Resolved, Failed> {
    let world = experiment.world_of(choices);
    if world != WorldName::Live && choices.target.is_some() {
        return Err(Failed::usage(format!(
            "--target is for the world `live`: the world `{world}` builds its own path"
        )));
    }
    let resolved = in_world(experiment, choices).map_err(wrong)?;
    experiment
        .unknown_series(&resolved, &kept_series)
        .map_err(wrong)?;
    match &resolved.measured {
        None => Ok(resolved),
        Some(named) => with_measured(experiment, choices, &resolved, named),
    }
}

/// The same with the folder of its measured part, wherever it will be read from.
///
/// # Errors
/// Where there is no such run, or nothing in it to show beside this one.
fn with_measured(
    experiment: &Experiment,
    choices: &Choices,
    resolved: &Resolved,
    named: &str,
) -> Result<Resolved, Failed> {
    let measured = run(named, Path::new(RUNS))
        .map_err(|failed| Failed::new(failed.exit, format!("measured.run: {}", failed.message)))?;
    if !resolved
        .figures
        .iter()
        .any(|figure| figure.measured.is_some())
    {
        let why = "no figure would show the measured part: write `measured = \"\"` in a [[figure]]";
        return Err(Failed::usage(why));
    }
    let streams = measured.trials().iter();
    let theirs: Vec<_> = streams.flat_map(|row| &row.factors).collect();
    let common = resolved.factors.iter().filter(|(name, levels)| {
        let is_known = |level: &Level| levels.iter().any(|known| known.is_same(level));
        theirs
            .iter()
            .any(|(other, level)| other == name && is_known(level))
    });
    if common.count() == 0 {
        let mut names: Vec<&str> = theirs.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        return Err(Failed::usage(format!(
            "measured.run: {named} has no factor level in common with this experiment: it varies {}",
            if names.is_empty() {
                "nothing".to_owned()
            } else {
                names.join(", ")
            }
        )));
    }
    let folder = measured.folder();
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let choices = Choices {
        measured: Some(folder.display().to_string()),
        ..choices.clone()
    };
    in_world(experiment, &choices).map_err(wrong)
}

/// The trials of an experiment with these choices, as far as its world can honour them.
pub fn in_world(experiment: &Experiment, choices: &Choices) -> Result<Resolved, Diagnostics> {
    let world = experiment.world_of(choices);
    experiment.resolve(choices, &|trial| worlds::refusals(world, trial))
}

/// A run's own experiment: it resolves to what it did before.
pub fn again(source: Source) -> Result<Resolved, Diagnostics> {
    let experiment = Experiment::read(source)?;
    let mut choices = Choices::default();
    let resolved = in_world(&experiment, &choices)?;
    let v6 = |target: &str| is_v6(target, AddressFamily::Any);
    if !resolved.target.as_deref().is_some_and(v6) {
        return Ok(resolved);
    }
    choices.v6 = true;
    in_world(&experiment, &choices)
}

/// The run of this name, or in this folder. Every file of it is held against its manifest, once.
///
/// # Errors
/// There is none, or it is not what was recorded.
pub fn run(named: &str, runs: &Path) -> Result<Run, Failed> {
    let folder = resolve_run(named, runs).map_err(|error| Failed::usage(error.to_string()))?;
    let run = run_folder::open(&folder)?;
    whole(&run)?;
    if !run.is_checked() && run.state() == State::Complete {
        terminal::say(format!(
            "warning: {} has no manifest.json, which older versions did not write: nothing says whether its files are what \
             was recorded",
            shortest(run.folder())
        ));
    }
    Ok(run)
}

/// The measured part of a run, if it is there, is whole, too.
///
/// # Errors
/// It is not what was recorded.
pub fn whole_measured_part(resolved: Option<&Resolved>) -> Result<(), Failed> {
    let measured = resolved.and_then(|resolved| resolved.measured.as_ref());
    match measured.map(|folder| Run::open(Path::new(folder))) {
        Some(Ok(run)) => Ok(whole(&run)?),
        Some(Err(error @ OpenError::Changed { .. })) => Err(Failed::environment(error.to_string())),
        // A part that is gone is among the problems of the page.
        Some(Err(_)) | None => Ok(()),
    }
}

/// The experiment of a run on disk, if it can be read; where it should be, the run's problems say so.
pub fn of_run(run: &Run) -> Option<Resolved> {
    let source = Source {
        name: "experiment.toml".to_owned(),
        text: run.experiment()?.to_owned(),
    };
    let read = again(source);
    if read.is_err() && !run.environment()["imported"].is_object() {
        let file = shortest(&run.folder().join("experiment.toml"));
        run.note_experiment(&format!("no experiment (`delaylab check {file}` says why)"));
    }
    read.ok()
}

/// Do probes to this target go over IPv6? A name that does not resolve is said later.
pub fn is_v6(target: &str, family: AddressFamily) -> bool {
    target::resolve(target, 0, family).is_ok_and(|address| address.is_ipv6())
}
