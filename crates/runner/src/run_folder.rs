//! Runs on disk: read whole, or refused by name.

use crate::error::RunnerError;
use delaylab_lab::experiment::Resolved;
use delaylab_model::shell::quoted;
use delaylab_store::resolve::{latest_in, resolve_run};
use delaylab_store::run::{OpenError, READ_AS_OWNER, Run, State};
use std::path::Path;

/// The page of a run, in its folder.
pub const PAGE: &str = "report.html";

/// The run in this folder.
///
/// # Errors
/// There is none, or it is not what was recorded.
pub fn open(folder: &Path) -> Result<Run, RunnerError> {
    Run::open(folder).map_err(|error| match error {
        OpenError::NotARun { .. } => RunnerError::usage(error),
        _ => RunnerError::environment(error),
    })
}

/// The run of this name in `runs`, or in this folder; of a folder of runs the one that ended last. That opens it; what its tables
/// hold is not read yet: see [`fail_if_damaged`].
///
/// # Errors
/// There is none, or it is not what was recorded.
pub fn named(named: &str, runs: &Path) -> Result<Run, RunnerError> {
    let folder = resolve_run(named, runs).map_err(RunnerError::usage)?;
    let run = open(&latest_in(&folder).unwrap_or(folder))?;
    fail_if_damaged(&run)?;
    Ok(run)
}

/// Fails where the measured part of a run is there and not what was recorded.
///
/// # Errors
/// It is not what was recorded.
pub fn fail_if_measured_part_damaged(resolved: Option<&Resolved>) -> Result<(), RunnerError> {
    let measured = resolved.and_then(|resolved| resolved.measured.as_ref());
    match measured.map(|folder| Run::open(Path::new(folder))) {
        Some(Ok(run)) => fail_if_damaged(&run),
        Some(Err(error @ OpenError::Changed { .. })) => Err(RunnerError::environment(error)),
        // A part that is gone is among the problems of the page.
        Some(Err(_)) | None => Ok(()),
    }
}

/// Fails where anything that was read of this run so far could not be read: that may be any of its packets, and what is left of
/// them has other figures. Call it after the last read, as tables are held against the manifest while they are read.
///
/// # Errors
/// Something could not be read.
pub fn fail_if_damaged(run: &Run) -> Result<(), RunnerError> {
    let Some(damage) = run.damage() else {
        return Ok(());
    };
    let folder = shortest(run.folder());
    let remedy = if run.is_denied() {
        READ_AS_OWNER.to_owned()
    } else if run.state() == State::Partial && !run.folder().exists() {
        format!("There is no {folder}: a run that has ended has the name without `.partial`")
    } else {
        format!(
            "Restore the file from a copy, or measure again; `delaylab verify {}` looks at every file",
            quoted(&folder)
        )
    };
    Err(RunnerError::environment(format!(
        "{folder} cannot be read: {damage}. {remedy}"
    )))
}

/// A folder without this directory's own path in front.
pub fn shortest(folder: &Path) -> String {
    let here = std::env::current_dir().ok();
    let below = here.and_then(|here| folder.strip_prefix(here).ok().map(Path::to_owned));
    let shown = below.as_deref().unwrap_or(folder).display().to_string();
    // The folder that one stands in.
    if shown.is_empty() {
        ".".to_owned()
    } else {
        shown
    }
}
