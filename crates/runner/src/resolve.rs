//! From an experiment to the trials of a run: finds it, lays what was chosen over it, and asks its world.
//!
//! | function | trials of | of which |
//! |---|---|---|
//! | [`resolve()`] | an experiment that is to be run | the target's family and the measured part are looked up |
//! | [`in_world`] | one whose target is resolved already, as that of `ping` | nothing is looked up |
//! | [`of_run`] | a run that is read | errors are among the run's problems |
//! | [`again`] | the text that a run recorded | errors are the caller's |

use crate::error::RunnerError;
use crate::options::LiveOptions;
use crate::target::is_v6;
use crate::{run_folder, worlds};
use delaylab_lab::experiment::catalogue::{Entry, catalogue};
use delaylab_lab::experiment::{Choices, Diagnostics, Experiment, Resolved, Source, closest};
use delaylab_model::experiment::WorldName;
use delaylab_model::family::Family;
use delaylab_model::plan::Level;
use delaylab_model::shell::quoted;
use delaylab_store::resolve::resolve_run;
use delaylab_store::run::Run;
use serde_json::Value;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;

/// The experiment of this name in the catalogue, or in this file.
pub fn experiment(named: &str) -> Result<Experiment, RunnerError> {
    let source = match Entry::find(named) {
        Some(entry) => entry.source(),
        None => file(named)?,
    };
    Ok(Experiment::read(source)?)
}

/// The experiment in this file.
///
/// # Errors
/// It cannot be read, or the name is one of the catalogue that is misspelt.
pub fn file(named: &str) -> Result<Source, RunnerError> {
    if !Path::new(named).exists() && !named.contains(['/', '.']) {
        let names: Vec<_> = catalogue().iter().map(|entry| entry.name()).collect();
        let which = match closest(named, names.iter().copied()) {
            Some(name) => format!("did you mean `{name}`? `delaylab list` has them all"),
            None => format!("the catalogue has {}", names.join(", ")),
        };
        return Err(RunnerError::usage(format!(
            "there is no experiment `{named}`: {which}. A file is named with its path"
        )));
    }
    let text = std::fs::read_to_string(named)
        .map_err(|error| RunnerError::environment(format!("cannot read {named}: {error}")))?;
    Ok(Source {
        name: named.to_owned(),
        text,
    })
}

/// The seed of a run for which none is chosen: another one each time.
pub fn drawn_seed() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

/// The trials of an experiment with these choices, in a world that there is.
///
/// # Errors
/// What is wrong with the experiment or the choices, or its measured part is not what was recorded. That is the run of its name in
/// the first of these folders that has one; without folders it is not looked for yet.
pub fn resolve(
    experiment: &Experiment,
    choices: &Choices,
    folders: &[&Path],
) -> Result<Resolved, RunnerError> {
    let world = experiment.world_of(choices);
    if world != WorldName::Live && choices.target.is_some() {
        return Err(RunnerError::usage(format!(
            "--target is for the world `live`: the world `{world}` builds its own path"
        )));
    }
    let mut choices = choices.clone();
    let resolved = by_family(experiment, &mut choices, |target| {
        is_v6(target, Family::Any)
    })?;
    experiment.unknown_series(&resolved, &worlds::kept_series)?;
    match &resolved.measured {
        Some(named) if !folders.is_empty() => {
            with_measured(experiment, &choices, &resolved, (named, folders))
        }
        _ => Ok(resolved),
    }
}

/// The trials with the headers of the family by which their target is reached, be it named by a choice or by the file. Its name
/// is looked up only where that matters to a size.
fn by_family(
    experiment: &Experiment,
    choices: &mut Choices,
    is_v6: impl Fn(&str) -> bool,
) -> Result<Resolved, Diagnostics> {
    let over_v4 = in_world(experiment, choices);
    if experiment.world_of(choices) != WorldName::Live {
        return over_v4;
    }
    let v6 = Choices {
        v6: true,
        ..choices.clone()
    };
    // A packet may fit over one of them alone.
    let is_otherwise = |over_v6: &Resolved| match &over_v4 {
        Ok(over_v4) => over_v4.planned != over_v6.planned,
        Err(_) => true,
    };
    match in_world(experiment, &v6) {
        Ok(over_v6) if is_otherwise(&over_v6) && over_v6.target.as_deref().is_some_and(is_v6) => {
            *choices = v6;
            Ok(over_v6)
        }
        _ => over_v4,
    }
}

/// The trials with the folder of their measured part, wherever they will be read from.
///
/// # Errors
/// Where there is no such run, or nothing in it to show next to this one.
fn with_measured(
    experiment: &Experiment,
    choices: &Choices,
    resolved: &Resolved,
    (named, folders): (&str, &[&Path]),
) -> Result<Resolved, RunnerError> {
    let has_it = |folder: &&&Path| resolve_run(named, folder).is_ok();
    let place = folders.iter().find(has_it).or(folders.first());
    let measured = run_folder::named(named, place.copied().unwrap_or(Path::new("")));
    let measured = measured.map_err(|error| {
        RunnerError::new(error.kind, format!("measured.run: {}", error.message))
    })?;
    if !resolved
        .figures
        .iter()
        .any(|figure| figure.measured.is_some())
    {
        let why = "no figure would show the measured part: write `measured = \"\"` in a [[figure]]";
        return Err(RunnerError::usage(why));
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
        return Err(RunnerError::usage(format!(
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
    Ok(in_world(experiment, &choices)?)
}

/// The trials of an experiment with these choices, as far as its world can honour them.
pub fn in_world(experiment: &Experiment, choices: &Choices) -> Result<Resolved, Diagnostics> {
    let world = experiment.world_of(choices);
    experiment.resolve(choices, &|trial| worlds::refusals(world, trial))
}

/// A run's own experiment: it resolves to what it did before, less findings that this version no longer reads.
///
/// `environment` is that of the run: its target is asked for an address of the family that it was reached by only where
/// that is not written there.
pub fn again(source: Source, environment: &Value) -> Result<Resolved, Diagnostics> {
    resolve_again(&Experiment::read_recorded(source)?, environment)
}

fn resolve_again(experiment: &Experiment, environment: &Value) -> Result<Resolved, Diagnostics> {
    let begun = LiveOptions::of_run(environment).unwrap_or_default();
    by_family(experiment, &mut Choices::default(), |target| {
        begun.is_v6(target)
    })
}

/// The experiment of a run on disk, if it can be read; where it should be, the run's problems say so.
pub fn of_run(run: &Run) -> Option<Resolved> {
    let source = Source {
        name: "experiment.toml".to_owned(),
        text: run.experiment()?.to_owned(),
    };
    let read = Experiment::read_recorded(source)
        .and_then(|experiment| resolve_again(&experiment.only_read(), run.environment()));
    if read.is_err() && !run.is_imported() {
        let file = run_folder::shortest(&run.folder().join("experiment.toml"));
        let file = quoted(&file);
        run.note_experiment(&format!("no experiment (`delaylab check {file}` says why)"));
    }
    read.ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn packets_have_the_size_that_is_asked_for_over_either_family() {
        let payload = |size: &str, target: &str, chosen: Option<&str>| {
            let text = format!(
                "name = \"sizes\"\n[path]\ntarget = \"{target}\"\n[[probe]]\nname = \"echo\"\nmethod = \"icmp\"\n\
                 {size}\ncount = 1\n"
            );
            let name = "sizes.toml".to_owned();
            let experiment = Experiment::read(Source { name, text }).unwrap();
            let choices = Choices {
                target: chosen.map(str::to_owned),
                ..Choices::default()
            };
            let resolved = resolve(&experiment, &choices, &[Path::new("runs")]);
            resolved.map(|resolved| resolved.planned[0].trial.probes[0].payload)
        };
        let (v4, v6) = ("192.0.2.1", "2001:db8::1");
        // Of IPv4 28 bytes are headers, of IPv6 48.
        let size = "ip_size = \"100B\"";
        assert_eq!(payload(size, v4, None).unwrap(), 72);
        assert_eq!(payload(size, v6, None).unwrap(), 52);
        assert_eq!(payload(size, v4, Some(v6)).unwrap(), 52);
        // IPv6's length leaves its header out.
        let large = "payload = \"65520B\"";
        assert_eq!(payload(large, v6, None).unwrap(), 65520);
        assert_eq!(payload(large, v4, Some(v6)).unwrap(), 65520);
        assert!(payload(large, v4, None).is_err());
    }
}
