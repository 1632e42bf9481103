//! Files beside those of the record, such as pages and figures: whole or not written, also where the disk is full.

use crate::temporary;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// What takes the bytes of a file.
pub type Out<'a> = &'a mut (dyn Write + Send);

/// Writes a file whole or not at all. An older one stays until then and gives way, and so does a link of this name.
///
/// # Errors
/// It cannot be written. What is there is what was there.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut unfinished = Unfinished::create(path)?;
    unfinished.file.write_all(bytes)?;
    unfinished.put(path)
}

/// A file beside the one that it is to be. Dropped, it goes.
struct Unfinished {
    path: PathBuf,
    file: File,
}

impl Unfinished {
    fn create(path: &Path) -> io::Result<Self> {
        let path = path.with_file_name(temporary::name(".unfinished"));
        let file = File::create_new(&path)?;
        Ok(Self { path, file })
    }

    /// Puts it in place of what has this name.
    fn put(&self, path: &Path) -> io::Result<()> {
        keep_permissions(path, &self.file)?;
        // Some file systems find out only now that there is no room.
        self.file.sync_data()?;
        fs::rename(&self.path, path)
    }

    /// Writes into what has this name.
    fn copy_to(&self, path: &Path) -> io::Result<()> {
        let mut whole = File::open(&self.path)?;
        io::copy(&mut whole, &mut File::create(path)?)?;
        Ok(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path); // what is left of it holds nothing of worth
    }
}

/// Who may read an older file may read this one.
fn keep_permissions(path: &Path, file: &File) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(older) if older.is_file() => file.set_permissions(older.permissions()),
        _ => Ok(()),
    }
}

/// Writes what a user named: a file whole or not at all, also through a link; a pipe or a device as it is.
///
/// # Errors
/// It cannot be written.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_with(path, |out| out.write_all(bytes))
}

/// The same of what is made as it is written: it may be longer than the memory.
///
/// # Errors
/// It cannot be made or written.
pub fn write_with<E: From<io::Error>>(
    path: &Path,
    make: impl FnOnce(Out<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let place = match fs::canonicalize(path) {
        Ok(real) if real.is_file() && !is_of_the_system(path) => real,
        Err(_) if !path.is_symlink() => path.to_owned(),
        _ => return buffered(File::create(path)?, make),
    };
    let unfinished = match Unfinished::create(&place) {
        // This user may write the file, but create none in its folder.
        Err(error) if is_about_the_folder(&error) => return buffered(File::create(path)?, make),
        created => created?,
    };
    buffered(&unfinished.file, make)?;
    match unfinished.put(&place) {
        // It may be the one file of its folder that a container sees.
        Err(error) if is_about_the_folder(&error) => Ok(unfinished.copy_to(path)?),
        put => Ok(put?),
    }
}

fn buffered<E: From<io::Error>>(
    file: impl Write + Send,
    make: impl FnOnce(Out<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut out = BufWriter::new(file);
    make(&mut out)?;
    Ok(out.flush()?)
}

/// Names such as `/dev/stdout`: others have the file open, and go on with it.
fn is_of_the_system(path: &Path) -> bool {
    path.starts_with("/dev") || path.starts_with("/proc")
}

fn is_about_the_folder(error: &io::Error) -> bool {
    use io::ErrorKind::{PermissionDenied, ResourceBusy};
    matches!(error.kind(), PermissionDenied | ResourceBusy)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn an_older_file_gives_way_and_keeps_who_may_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.html");
        write(&path, b"first").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        write(&path, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(names(folder.path()), ["page.html"]);
    }

    #[test]
    fn a_file_that_cannot_be_written_leaves_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("taken");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("kept"), "kept").unwrap();
        assert!(replace(&path, b"page").is_err());
        assert_eq!(names(folder.path()), ["taken"]);
        assert_eq!(names(&path), ["kept"]);
    }

    #[test]
    fn what_is_made_as_it_is_written_is_on_disk_before_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.csv");
        write(&path, b"older").unwrap();
        let row = [b'0'; 1_000];
        let made = write_with(&path, |out| -> io::Result<()> {
            (0..1_000).try_for_each(|_| out.write_all(&row))?;
            let sizes = fs::read_dir(folder.path()).unwrap();
            let sizes = sizes.map(|entry| entry.unwrap().metadata().unwrap().len());
            assert!(sizes.sum::<u64>() > 900_000);
            Err(io::ErrorKind::InvalidData.into())
        });
        assert_eq!(made.unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(fs::read(&path).unwrap(), b"older");
        assert_eq!(names(folder.path()), ["table.csv"]);
        write_with(&path, |out| out.write_all(&row)).unwrap();
        assert_eq!(fs::read(&path).unwrap(), row);
    }

    #[test]
    fn a_named_link_is_written_through_and_one_in_a_run_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link] = ["file", "link"].map(|name| folder.path().join(name));
        fs::write(&file, "older").unwrap();
        symlink("file", &link).unwrap();
        write(&link, b"newer").unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"newer");
        replace(&link, b"page").unwrap();
        assert!(!link.is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"newer");
    }

    #[test]
    fn a_device_stays_one() {
        write(Path::new("/dev/null"), b"nothing").unwrap();
        let kind = fs::metadata("/dev/null").unwrap().file_type();
        assert!(kind.is_char_device());
    }
}
