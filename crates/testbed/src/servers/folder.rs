//! The folder with the configurations, pages and certificates of a testbed's servers.

use super::ServerError;
use delaylab_kernel::{owned_name, privilege};
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
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

/// The folders of processes that were killed: gone or not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RemovedFolders {
    /// They are gone.
    pub removed: Vec<PathBuf>,
    /// This user may not remove them: they are another user's.
    pub kept: Vec<PathBuf>,
    /// Why others could not be removed.
    pub failed: Vec<String>,
}

impl RemovedFolders {
    fn remove(&mut self, folder: PathBuf) {
        if is_of_another_user(&folder) {
            self.kept.push(folder);
            return;
        }
        match fs::remove_dir_all(&folder) {
            Ok(()) => self.removed.push(folder),
            Err(error) => {
                let why = format!("cannot remove {}: {error}", folder.display());
                self.failed.push(why);
            }
        }
    }
}

/// Removes the folders of processes that were killed.
///
/// # Errors
/// It cannot be looked for them.
pub fn remove_left_over() -> io::Result<RemovedFolders> {
    left_over_in(&std::env::temp_dir())
}

fn left_over_in(folder: &Path) -> io::Result<RemovedFolders> {
    let mut folders = RemovedFolders::default();
    for entry in fs::read_dir(folder)?.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !name.contains(PURPOSE) || !owned_name::is_left_over(&name) {
            continue;
        }
        folders.remove(entry.path());
    }
    folders.removed.sort();
    folders.kept.sort();
    Ok(folders)
}

/// Root has no others.
fn is_of_another_user(path: &Path) -> bool {
    let owner_of = |path: &Path| fs::symlink_metadata(path).map(|found| found.uid()).ok();
    // What the kernel shows of a process is its user's.
    let own = fs::metadata("/proc/self").map(|found| found.uid()).ok();
    !privilege::is_root() && owner_of(path) != own
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
        // What cannot be removed keeps nothing else.
        let no_folders =
            ["0", "9"].map(|start| all.join(format!("delaylab-4294967295-{start}-servers-0")));
        for file in &no_folders {
            fs::write(file, "").unwrap();
        }
        let folders = left_over_in(&all).unwrap();
        assert_eq!(folders.removed, [dead]);
        assert_eq!(folders.failed.len(), 2, "{folders:?}");
        let names = |file: &PathBuf| {
            folders
                .failed
                .iter()
                .any(|why| why.contains(&*file.to_string_lossy()))
        };
        assert!(no_folders.iter().all(names), "{folders:?}");
        assert!(alive.exists() && others.exists());
        fs::remove_dir_all(all).unwrap();
    }
}
