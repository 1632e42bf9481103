//! The link `latest` to the run that ended last.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// What the link is called.
pub(crate) const LATEST: &str = "latest";

/// Points the link at a run, at once: it is never missing in between.
pub(crate) fn point(runs: &Path, run: &Path) -> Result<(), String> {
    let Some(name) = run.file_name() else {
        return Ok(());
    };
    let temporary = runs.join(format!(".{LATEST}-{}", std::process::id()));
    let _ = fs::remove_file(&temporary); // left by a process that had this number
    symlink(name, &temporary)
        .and_then(|()| fs::rename(&temporary, runs.join(LATEST)))
        .map_err(|error| {
            let _ = fs::remove_file(&temporary);
            format!("{}: {error}", runs.join(LATEST).display())
        })
}
