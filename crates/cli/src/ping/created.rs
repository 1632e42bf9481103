//! The file of `-o`.

use crate::exit::Failed;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A new file. Where nothing was written into it, as where no packet could be sent, it goes again.
pub(super) struct CreatedFile {
    file: File,
    path: PathBuf,
}

impl CreatedFile {
    /// # Errors
    /// It is there already: results are never overwritten. Or it cannot be made.
    pub(super) fn new(path: &Path) -> Result<Self, Failed> {
        let file = File::create_new(path).map_err(|error| cannot_create(path, &error))?;
        let path = path.to_owned();
        Ok(Self { file, path })
    }
}

impl Write for CreatedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for CreatedFile {
    fn drop(&mut self) {
        if self.file.metadata().is_ok_and(|file| file.len() == 0) {
            // What cannot be removed is empty all the same.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn cannot_create(path: &Path, error: &io::Error) -> Failed {
    let remedy = match error.kind() {
        io::ErrorKind::AlreadyExists => {
            ". Nothing measured is overwritten: name another file, or move this one"
        }
        io::ErrorKind::NotFound => ". Make the directory first",
        _ => "",
    };
    Failed::environment(format!("cannot create {}: {error}{remedy}", path.display()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_nothing_was_written_into_goes_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.csv");
        drop(CreatedFile::new(&path).unwrap());
        assert!(!path.exists());
        let mut created = CreatedFile::new(&path).unwrap();
        created.write_all(b"seq").unwrap();
        drop(created);
        assert_eq!(fs::read(&path).unwrap(), b"seq");
        assert!(CreatedFile::new(&path).is_err());
    }
}
