//! What processes that were killed left among runs.

use crate::begun;
use crate::folder::{Folder, PARTIAL, UNDATED, in_order};
use crate::lock::Lock;
use crate::shard;
use serde_json::Value;
use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A run has its name this long after it began, however slow the disk.
const BEGINS_WITHIN: Duration = Duration::from_secs(60);
/// Digits that end the name of a folder that is not a run yet (`temporary`).
const DIGITS: usize = 16;

/// What processes that were killed left among runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Killed {
    /// Runs that were interrupted, the one that began last at the end; [`remedy`] says what to do with each. Shards whose trials
    /// are all recorded wait to be merged, and are none of them.
    pub interrupted: Vec<PathBuf>,
    /// Hidden folders of runs that were killed before they had a name: nothing is recorded in them.
    pub nameless: Vec<PathBuf>,
    /// Files of other tools that were being read as runs: they are to be read again.
    pub imports: Vec<PathBuf>,
}

/// What there is to do with a run that was interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// Its trials that are left can be carried out.
    Continue,
    /// It counts with what is recorded of it, as a ping does: a complete run can be made of that.
    EndAsItStands,
    /// It is a ping of which nothing is recorded: it cannot be resumed.
    Remove,
}

/// What there is to do with the run in this folder, which was interrupted.
pub fn remedy(partial: &Path) -> Remedy {
    let folder = Folder(partial.to_owned());
    let environment = folder.environment();
    remedy_in(&folder, &environment)
}

/// The same, where it ran in this environment.
pub(crate) fn remedy_in(folder: &Folder, environment: &Value) -> Remedy {
    match begun::is_enough(folder, environment) {
        Ok(true) => Remedy::EndAsItStands,
        Ok(false) if begun::is_kept(environment) => Remedy::Remove,
        // What resumes it says what cannot be read.
        Ok(false) | Err(_) => Remedy::Continue,
    }
}

impl Killed {
    /// The list that this folder belongs to, by its name and its environment, if its process was killed. A shard whose trials
    /// are all recorded waits to be merged.
    fn list_of(&mut self, entry: &DirEntry, path: &Path) -> Option<&mut Vec<PathBuf>> {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') {
            return (is_temporary(&name) && is_old(entry)).then_some(&mut self.nameless);
        }
        let folder = Folder(path.to_owned());
        let environment = name.ends_with(PARTIAL).then(|| folder.environment())?;
        let waits = shard::is_whole(&folder, &environment).unwrap_or(false);
        match environment["imported"].is_object() {
            _ if waits => None,
            true => Some(&mut self.imports),
            false => Some(&mut self.interrupted),
        }
    }

    /// What they left in this folder. What a process still writes is left out.
    pub fn among(runs: &Path) -> Self {
        let entries = fs::read_dir(runs).into_iter().flatten().flatten();
        let mut found = Self::default();
        for entry in entries {
            let path = entry.path();
            let is_folder = || entry.file_type().is_ok_and(|kind| kind.is_dir());
            if let Some(left) = found.list_of(&entry, &path)
                && is_folder()
                && Lock::is_free(&path)
            {
                left.push(path);
            }
        }
        found.interrupted.sort_by_key(|path| begun(path));
        found.nameless.sort();
        found.imports.sort();
        found
    }
}

fn is_temporary(name: &str) -> bool {
    let digits = name.rsplit_once('-').map(|(_, digits)| digits);
    digits.is_some_and(|digits| {
        digits.len() == DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}

fn is_old(entry: &DirEntry) -> bool {
    let changed = entry.metadata().and_then(|facts| facts.modified());
    let age = changed.ok().and_then(|changed| changed.elapsed().ok());
    age.is_some_and(|age| age > BEGINS_WITHIN)
}

/// When a run began, as its name has it, and which of those that began in that second it is. One whose beginning is not
/// known comes before all others.
fn begun(folder: &Path) -> (Option<String>, u32) {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let (stem, number) = in_order(&name);
    let when = stem.rsplit_once('-').map_or(stem, |(_, when)| when);
    ((when != UNDATED).then(|| when.to_owned()), number)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::folder::ENVIRONMENT;
    use std::fs::File;

    #[test]
    fn what_a_killed_process_left_is_found() {
        let runs = tempfile::tempdir().unwrap();
        let make = |name: &str, environment: &str| {
            let folder = runs.path().join(name);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join(ENVIRONMENT), environment).unwrap();
            folder
        };
        let late = make("a-20260103T000000Z.partial", "{}");
        let second = make("b-20260102T000000Z-2.partial", "{}");
        let first = make("b-20260102T000000Z.partial", "{}");
        make("b-20260101T000000Z", "{}");
        let shard = |number: u32, environment: &str| {
            let name = format!("s-shard-{number}-of-3-20260104T000000Z.partial");
            make(&name, environment)
        };
        shard(1, "{\"shard\": \"1/3\"}");
        shard(2, "{\"shard\": \"2/3\", \"shard_trials\": 0}");
        let killed_shard = shard(3, "{\"shard\": \"3/3\", \"shard_trials\": 1}");
        let undated = make("p-undated.partial", "{}");
        let import = make("i-undated.partial", "{\"imported\": {}}");
        let busy = make("c-20260105T000000Z.partial", "{}");
        let _held = Lock::take(&busy).unwrap();
        let old = make(".c-0123456789abcdef", "{}");
        let long_ago = std::time::SystemTime::now() - 2 * BEGINS_WITHIN;
        File::open(&old).unwrap().set_modified(long_ago).unwrap();
        make(".c-fedcba9876543210", "{}");
        let other = make(".cache", "{}");
        File::open(&other).unwrap().set_modified(long_ago).unwrap();
        let found = Killed::among(runs.path());
        let interrupted = [undated, first, second, late, killed_shard];
        assert_eq!(found.interrupted, interrupted);
        assert_eq!(found.imports, [import]);
        assert_eq!(found.nameless, [old]);
        assert_eq!(Killed::among(&runs.path().join("none")), Killed::default());
    }
}
