//! Files that are there whole or not at all, whenever the process or the machine stops.

use crate::error::StoreError;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// What a file is called until it is whole.
pub(crate) const UNFINISHED: &str = "unfinished";

/// The name of a file until it is whole.
pub(crate) fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(UNFINISHED);
    PathBuf::from(name)
}

/// Gives a whole and synced file its name. The folder is to be synced after it.
pub(crate) fn put_in_place(path: &Path) -> Result<(), StoreError> {
    fs::rename(unfinished(path), path).map_err(StoreError::at(path))
}

/// Gives a whole and synced file a second name. False where the file system has no links.
pub(crate) fn link(file: &Path, path: &Path) -> Result<bool, StoreError> {
    let temporary = unfinished(path);
    remove(&temporary)?;
    if fs::hard_link(file, &temporary).is_err() {
        return Ok(false);
    }
    put_in_place(path)?;
    // Two names of one file are not made one by renaming: where this was stopped before, it is still there.
    remove(&temporary)?;
    Ok(true)
}

/// Writes a small file.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let temporary = unfinished(path);
    let written = File::create(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    if let Err(error) = written {
        let _ = fs::remove_file(&temporary); // what is left of it holds nothing of worth
        return Err(StoreError::at(path)(error));
    }
    put_in_place(path)
}

/// Makes what was created, renamed or removed in a folder last.
pub(crate) fn sync_folder(path: &Path) -> Result<(), StoreError> {
    let synced = File::open(path).and_then(|folder| folder.sync_all());
    synced.map_err(StoreError::at(path))
}

/// Removes a file that may be gone already.
pub(crate) fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(StoreError::at(path)(error))
        }
        _ => Ok(()),
    }
}
