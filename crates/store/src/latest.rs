//! The link `latest` to the run that ended last.

use crate::disk::Disk;
use crate::temporary;
use std::path::Path;

/// What the link is called.
pub(crate) const LATEST: &str = "latest";

/// Points the link at a run, at once: it is never missing in between.
pub(crate) fn point(disk: &dyn Disk, runs: &Path, run: &Path) -> Result<(), String> {
    let Some(name) = run.file_name() else {
        return Ok(());
    };
    let temporary = runs.join(temporary::name(&format!(".{LATEST}")));
    let latest = runs.join(LATEST);
    let pointed = disk
        .symlink(Path::new(name), &temporary)
        .and_then(|()| disk.rename(&temporary, &latest));
    let failed = |error| format!("{}: {error}", latest.display());
    if let Err(error) = pointed {
        let _ = disk.remove_file(&temporary);
        return Err(failed(error));
    }
    disk.sync_dir(runs).map_err(failed)
}
