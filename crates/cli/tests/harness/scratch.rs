//! A directory of the test's own.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

static NEXT: AtomicU32 = AtomicU32::new(0);

/// Removed with all that is in it when dropped.
pub struct Scratch(PathBuf);

impl Scratch {
    /// Empty.
    pub fn new() -> Self {
        let name = format!(
            "dlab-t-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        // A test of this number that was killed may have left it.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// The path of a file in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The folder of the only run in this directory.
    pub fn only_run(&self, runs: &str) -> PathBuf {
        let entries = fs::read_dir(self.path(runs))
            .into_iter()
            .flatten()
            .flatten();
        let paths = entries.map(|entry| entry.path());
        let mut runs: Vec<_> = paths
            .filter(|path| path.is_dir() && !path.is_symlink())
            .collect();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs.remove(0)
    }

    /// Is there a run in `runs` that has begun and not ended?
    pub fn has_partial_run(&self) -> bool {
        self.partial_run().is_some()
    }

    /// That run.
    pub fn partial_run(&self) -> Option<PathBuf> {
        let entries = fs::read_dir(self.path("runs")).into_iter().flatten();
        let mut paths = entries.flatten().map(|entry| entry.path());
        paths.find(|path| path.extension().is_some_and(|ending| ending == "partial"))
    }

    /// How many trials of that run are recorded.
    pub fn parts(&self) -> usize {
        let run = self.partial_run().unwrap_or_default();
        fs::read_dir(run.join("parts")).map_or(0, Iterator::count)
    }

    /// Writes a file and returns its path.
    pub fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
