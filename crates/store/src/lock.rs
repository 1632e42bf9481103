//! The lock of a run's folder: one process at a time writes a run.

use crate::error::StoreError;
use crate::folder::ENVIRONMENT;
use crate::regular;
use std::fs::{File, TryLockError};
use std::path::Path;

/// Held as long as this lives and its process does.
///
/// On NFS the lock of a folder is known to its own machine alone, and that of a file to all; elsewhere the two are one.
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
        let busy = || StoreError::Busy {
            path: folder.to_owned(),
        };
        let held = File::open(folder).map_err(StoreError::at(folder))?;
        match held.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(busy()),
            Err(TryLockError::Error(error)) => return Err(StoreError::at(folder)(error)),
        }
        // In a folder that is only read, and on NFS without locks, the first is all there is.
        let file = regular::open_to_lock(&folder.join(ENVIRONMENT)).ok();
        match file.as_ref().map(File::try_lock) {
            Some(Err(TryLockError::WouldBlock)) => Err(busy()),
            _ => Ok(Self {
                _folder: held,
                _file: file,
            }),
        }
    }

    /// Does no process hold it?
    pub(crate) fn is_free(folder: &Path) -> bool {
        let is_held = |file: File| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
        File::open(folder).is_ok_and(|folder| folder.try_lock_shared().is_ok())
            && !regular::open(&folder.join(ENVIRONMENT)).is_ok_and(is_held)
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
        let file = File::create(path.join(ENVIRONMENT)).unwrap();
        for held in [File::open(path).unwrap(), file] {
            held.lock().unwrap();
            assert!(!Lock::is_free(path));
            assert!(matches!(Lock::take(path), Err(StoreError::Busy { .. })));
        }
        let taken = Lock::take(path).unwrap();
        assert!(!Lock::is_free(path));
        drop(taken);
        assert!(Lock::is_free(path));
    }
}
