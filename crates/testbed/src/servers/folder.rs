//! The folder with the configurations, pages and certificates of a testbed's servers.

use delaylab_kernel::owned_name;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// How many this process has named.
static NAMED: AtomicU32 = AtomicU32::new(0);
/// What its name has behind that of its process.
const PURPOSE: &str = "-servers-";

/// A folder of a name that says whose it is; it goes with this.
#[derive(Debug)]
pub(super) struct Folder(PathBuf);

impl Folder {
    /// One that is not there yet.
    pub(super) fn new() -> Self {
        let number = NAMED.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}{PURPOSE}{number}", owned_name::of_this_process());
        Self(std::env::temp_dir().join(name))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // One that was never made cannot be removed.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Removes the folders of processes that were killed, and says which.
///
/// # Errors
/// Names the folder that cannot be removed.
pub fn remove_left_over() -> io::Result<Vec<PathBuf>> {
    left_over_in(&std::env::temp_dir())
}

fn left_over_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut removed = Vec::new();
    for entry in fs::read_dir(folder)?.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.contains(PURPOSE) && owned_name::is_left_over(&name) {
            let path = entry.path();
            let said = |error: io::Error| {
                io::Error::new(
                    error.kind(),
                    format!("cannot remove {}: {error}", path.display()),
                )
            };
            fs::remove_dir_all(&path).map_err(said)?;
            removed.push(path);
        }
    }
    removed.sort();
    Ok(removed)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_folders_of_dead_processes_are_removed() {
        let all = std::env::temp_dir().join(format!("{}-folders", owned_name::of_this_process()));
        let (dead, alive) = (all.join("delaylab-4294967295-7-servers-0"), Folder::new());
        let alive = all.join(alive.path().file_name().unwrap());
        let others = all.join("delaylab-4294967295-7-0");
        for folder in [&dead, &alive, &others] {
            fs::create_dir_all(folder.join("web")).unwrap();
        }
        assert_eq!(left_over_in(&all).unwrap(), [dead]);
        assert!(alive.exists() && others.exists());
        fs::remove_dir_all(all).unwrap();
    }
}
