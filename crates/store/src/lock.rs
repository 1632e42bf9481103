//! The lock of a run's folder: one process at a time writes a run.

use crate::error::StoreError;
use crate::folder::EXPERIMENT;
use crate::regular;
use rustix::fs::fstatfs;
use std::fs::{File, TryLockError};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long to try: a look whether it is free holds it for a moment.
const PATIENCE: Duration = Duration::from_millis(100);
/// Pause between two tries.
const PAUSE: Duration = Duration::from_millis(5);

/// Held as long as this lives and its process does.
///
/// On NFS and Lustre the lock of a folder is known to its own machine alone, and that of a file to all. Elsewhere the first is
/// enough; on SMB no one could read a file that is locked. The file is the experiment, which is written once: the lock of one that
/// is replaced is that of nothing.
#[derive(Debug)]
pub(crate) struct Lock {
    _folder: File,
    _file: Option<File>,
}

impl Lock {
    /// Takes it.
    ///
    /// # Errors
    /// Another process has it.
    pub(crate) fn take(folder: &Path) -> Result<Self, StoreError> {
        let held = File::open(folder).map_err(StoreError::at(folder))?;
        match lock(&held) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(busy(folder)),
            Err(TryLockError::Error(error)) => return Err(StoreError::at(folder)(error)),
        }
        let file = match keeps_locks_of_folders_apart(&held) {
            true => of_file(folder)?,
            false => None,
        };
        Ok(Self {
            _folder: held,
            _file: file,
        })
    }

    /// Does no process hold it?
    pub(crate) fn is_free(folder: &Path) -> bool {
        let is_held = |file: File| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
        File::open(folder).is_ok_and(|folder| folder.try_lock_shared().is_ok())
            && !regular::open(&folder.join(EXPERIMENT)).is_ok_and(is_held)
    }
}

fn lock(file: &File) -> Result<(), TryLockError> {
    let until = Instant::now() + PATIENCE;
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if Instant::now() < until => sleep(PAUSE),
            done => return done,
        }
    }
}

fn busy(folder: &Path) -> StoreError {
    StoreError::Busy {
        path: folder.to_owned(),
    }
}

/// NFS_SUPER_MAGIC of statfs(2), and LL_SUPER_MAGIC of Lustre, whose folders have no `flock` of their own: the kernel of each machine
/// keeps their locks.
fn keeps_locks_of_folders_apart(folder: &File) -> bool {
    fstatfs(folder).is_ok_and(|system| matches!(system.f_type, 0x6969 | 0x0BD0_0BD0))
}

/// The lock of the file; `None` in a folder that is only read, and where files have no locks.
fn of_file(folder: &Path) -> Result<Option<File>, StoreError> {
    let file = regular::open_to_lock(&folder.join(EXPERIMENT)).ok();
    match file.as_ref().map(lock) {
        Some(Err(TryLockError::WouldBlock)) => Err(busy(folder)),
        _ => Ok(file),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn one_at_a_time_has_it_by_its_folder_and_by_a_file_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        assert!(Lock::is_free(path));
        File::create(path.join(EXPERIMENT)).unwrap();
        let taken = Lock::take(path).unwrap();
        assert!(!Lock::is_free(path));
        assert!(matches!(Lock::take(path), Err(StoreError::Busy { .. })));
        drop(taken);
        assert!(Lock::is_free(path));
        let taken = of_file(path).unwrap().unwrap();
        assert!(!Lock::is_free(path));
        assert!(matches!(of_file(path), Err(StoreError::Busy { .. })));
        drop(taken);
        assert!(Lock::is_free(path));
    }

    #[test]
    fn who_looks_whether_it_is_free_does_not_keep_others_from_it() {
        let folder = tempfile::tempdir().unwrap();
        let taken = || {
            let looking = File::open(folder.path()).unwrap();
            looking.try_lock_shared().unwrap();
            let looked = std::thread::spawn(move || {
                sleep(PATIENCE / 10);
                drop(looking);
            });
            let taken = Lock::take(folder.path()).is_ok();
            looked.join().unwrap();
            taken
        };
        // On a busy machine who looks may be kept from its CPU for as long as the other waits.
        assert!((0..5).any(|_| taken()));
    }
}
