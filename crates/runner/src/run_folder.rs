//! Runs on disk: read whole, or refused by name.

use crate::error::RunnerError;
use delaylab_store::run::Run;
use std::path::Path;

/// The run in this folder.
///
/// # Errors
/// There is none, or it is not what was recorded.
pub fn open(folder: &Path) -> Result<Run, RunnerError> {
    Run::open(folder).map_err(|error| RunnerError::environment(error.to_string()))
}

/// Nothing, as far as the run was read. What could not be read may be any of its packets, and what is left of them has
/// other figures.
///
/// # Errors
/// Something could not be read.
pub fn whole(run: &Run) -> Result<(), RunnerError> {
    let Some(damage) = run.damage() else {
        return Ok(());
    };
    let folder = shortest(run.folder());
    Err(RunnerError::environment(format!(
        "{folder} cannot be read: {damage}. Restore the file from a copy, or measure again; `delaylab verify {folder}` \
         looks at every file"
    )))
}

/// A folder without this directory's own path in front.
pub fn shortest(folder: &Path) -> String {
    let here = std::env::current_dir().ok();
    let below = here.and_then(|here| folder.strip_prefix(here).ok().map(Path::to_owned));
    below.as_deref().unwrap_or(folder).display().to_string()
}
