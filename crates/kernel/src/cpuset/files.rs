//! The files of a cgroup hierarchy: the kernel's, or in tests those of one that plays it.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What is asked of them.
pub(super) trait Files {
    fn read(&self, path: &Path) -> io::Result<String>;
    /// One write call; what it says is the kernel's answer. It makes no file.
    fn write(&self, path: &Path, text: &str) -> io::Result<()>;
    fn create_dir(&self, path: &Path) -> io::Result<()>;
    fn remove_dir(&self, path: &Path) -> io::Result<()>;
    fn exists(&self, path: &Path) -> bool;
    /// The directories in a directory; none where it cannot be read.
    fn children(&self, path: &Path) -> Vec<PathBuf>;
}

/// This host's.
pub(super) struct Host;

impl Files for Host {
    fn read(&self, path: &Path) -> io::Result<String> {
        fs::read_to_string(path)
    }

    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        let mut file = fs::OpenOptions::new().write(true).open(path)?;
        file.write_all(text.as_bytes())
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    fn children(&self, path: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        paths.filter(|path| path.is_dir()).collect()
    }
}
