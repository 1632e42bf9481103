//! The folder with the configurations, pages and certificates of a testbed's servers.

use super::ServerError;
use delaylab_kernel::owned_name;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
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
    /// An empty one.
    pub(super) fn new() -> Result<Self, ServerError> {
        let number = NAMED.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}{PURPOSE}{number}", owned_name::of_this_process());
        Self::make(std::env::temp_dir().join(name))
    }

    /// Its name can be guessed: a folder that is there already, or a link, may be another user's, and would give that user
    /// the keys and the configurations of servers that root starts.
    fn make(path: PathBuf) -> Result<Self, ServerError> {
        let failed = |folder: &Path, source| ServerError::Folder {
            folder: folder.to_owned(),
            source,
        };
        fs::create_dir(&path).map_err(|source| failed(&path, source))?;
        let folder = Self(path);
        let shared = share(&folder.0);
        shared.map_err(|source| failed(&folder.0, source))?;
        Ok(folder)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

/// Lets every user read a file, or look into a folder, whatever the umask of this process: servers work as other users.
pub(super) fn share(path: &Path) -> io::Result<()> {
    let mode = if path.is_dir() { 0o755 } else { 0o644 };
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is found by `remove_left_over`.
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
    fn a_folder_of_another_user_is_not_taken() {
        let all = std::env::temp_dir().join(format!("{}-taken", owned_name::of_this_process()));
        let (folder, link) = (all.join("folder"), all.join("link"));
        fs::create_dir_all(&folder).unwrap();
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        for path in [&folder, &link] {
            let refused = Folder::make(path.clone()).map(drop).unwrap_err();
            assert!(refused.to_string().contains("exists"), "{refused}");
            // And it is not removed, either.
            assert!(path.exists());
        }
        fs::remove_dir_all(all).unwrap();
    }

    #[test]
    fn only_folders_of_dead_processes_are_removed() {
        let all = std::env::temp_dir().join(format!("{}-folders", owned_name::of_this_process()));
        let (dead, alive) = (
            all.join("delaylab-4294967295-7-servers-0"),
            Folder::new().unwrap(),
        );
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
