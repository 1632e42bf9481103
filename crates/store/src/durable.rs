//! Files that are there whole or not at all, whenever the process or the machine stops.

use crate::disk::Disk;
use crate::error::StoreError;
use std::io::{self, ErrorKind, Write};
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
pub(crate) fn put_in_place(disk: &dyn Disk, path: &Path) -> Result<(), StoreError> {
    rename(disk, &unfinished(path), path)
}

/// Gives a file or a folder another name. The folders of both are to be synced after it.
pub(crate) fn rename(disk: &dyn Disk, from: &Path, to: &Path) -> Result<(), StoreError> {
    disk.rename(from, to).map_err(StoreError::at(to))
}

/// Puts a damaged file out of the way into this folder, as `damaged-records-7-1.parquet`, where it is there. The folders of both
/// are to be synced after it.
pub(crate) fn set_aside(
    disk: &dyn Disk,
    folder: &Path,
    file: &Path,
) -> Result<Option<PathBuf>, StoreError> {
    let [name, end] = [file.file_stem(), file.extension()]
        .map(|piece| piece.unwrap_or_default().to_string_lossy());
    let attempts = 1..;
    let mut names = attempts.map(|attempt| folder.join(format!("damaged-{name}-{attempt}.{end}")));
    let free = names.find(|path| !path.exists());
    match free.filter(|_| file.exists()) {
        None => Ok(None),
        Some(path) => {
            rename(disk, file, &path)?;
            Ok(Some(path))
        }
    }
}

/// Gives a whole and synced file a second name. False where the file system has no links.
pub(crate) fn link(disk: &dyn Disk, file: &Path, path: &Path) -> Result<bool, StoreError> {
    let temporary = unfinished(path);
    remove(disk, &temporary)?;
    if disk.hard_link(file, &temporary).is_err() {
        return Ok(false);
    }
    put_in_place(disk, path)?;
    // Two names of one file are not made one by renaming: where this was stopped before, it is still there.
    remove(disk, &temporary)?;
    Ok(true)
}

/// Writes a small file.
pub(crate) fn write(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let temporary = unfinished(path);
    let written = disk.create(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync()
    });
    if let Err(error) = written {
        let _ = disk.remove_file(&temporary); // what is left of it holds nothing of worth
        return Err(StoreError::at(path)(error));
    }
    put_in_place(disk, path)
}

/// Makes what was created, renamed or removed in a folder last.
pub(crate) fn sync_folder(disk: &dyn Disk, path: &Path) -> Result<(), StoreError> {
    disk.sync_dir(path).map_err(StoreError::at(path))
}

/// The folder that something is in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    parent.unwrap_or(Path::new("."))
}

/// Makes a folder and those above it, where they are missing, and makes them last.
pub(crate) fn create_folders(disk: &dyn Disk, path: &Path) -> Result<(), StoreError> {
    if !path.is_dir() {
        create_folders(disk, folder_of(path))?;
        create_folder(disk, path)?;
        return sync_folder(disk, folder_of(path));
    }
    // Made just now, by a process that was stopped before it could sync it? Where this user may not look into the
    // folder above, another made it.
    let _ = disk.sync_dir(folder_of(path));
    Ok(())
}

/// Makes a folder that may be there already.
pub(crate) fn create_folder(disk: &dyn Disk, path: &Path) -> Result<(), StoreError> {
    match disk.create_dir(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists || !path.is_dir() => {
            Err(StoreError::at(path)(error))
        }
        _ => Ok(()),
    }
}

/// Removes a file that may be gone already.
pub(crate) fn remove(disk: &dyn Disk, path: &Path) -> Result<(), StoreError> {
    gone(disk.remove_file(path), path)
}

/// Removes a folder, which may be gone already, and what is in it.
pub(crate) fn remove_folder(disk: &dyn Disk, path: &Path) -> Result<(), StoreError> {
    gone(disk.remove_dir_all(path), path)
}

fn gone(removed: io::Result<()>, path: &Path) -> Result<(), StoreError> {
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(StoreError::at(path)(error)),
        _ => Ok(()),
    }
}
