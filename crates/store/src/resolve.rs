//! Which run a word on the command line means.

use crate::folder::{PARTIAL, in_order};
use crate::index::Index;
use crate::latest::LATEST;
use std::fs;
use std::path::{Path, PathBuf};

/// How many runs an error names.
const NAMED: usize = 5;

/// There is no such run.
#[derive(Debug, thiserror::Error)]
#[error("no run `{asked}`: it is neither a folder nor a run in {}. {known}", runs.display())]
pub struct ResolveError {
    asked: String,
    runs: PathBuf,
    known: String,
}

/// The folder that this means: a run's name in `runs` with or without `.partial`, `latest`, a path, or what runs of an
/// experiment are named by, of which it is the newest.
pub fn resolve_run(asked: &str, runs: &Path) -> Result<PathBuf, ResolveError> {
    let named = [
        runs.join(asked),
        runs.join(format!("{asked}{PARTIAL}")),
        PathBuf::from(asked),
    ];
    // Without its links: a run is known by the name of its folder.
    let mut found = named.iter().filter_map(|path| fs::canonicalize(path).ok());
    found
        .find(|path| path.is_dir())
        .or_else(|| newest(runs).filter(|_| asked == LATEST))
        .or_else(|| newest_of(asked, runs))
        .ok_or_else(|| ResolveError {
            asked: asked.to_owned(),
            runs: runs.to_owned(),
            known: known(asked, runs),
        })
}

/// The run that began last, where `latest` points nowhere.
fn newest(runs: &Path) -> Option<PathBuf> {
    let names = names(runs);
    Some(runs.join(names.last()?))
}

/// Of runs that are named by this and when they began, the one that began last.
fn newest_of(name: &str, runs: &Path) -> Option<PathBuf> {
    let begun = |folder: &String| -> Option<(String, u32)> {
        let stem = folder.strip_suffix(PARTIAL).unwrap_or(folder);
        let when = stem.strip_prefix(name)?.strip_prefix('-')?;
        let is_time = when.starts_with(|c: char| c.is_ascii_digit())
            && when
                .chars()
                .all(|c| c.is_ascii_digit() || "TZ-".contains(c));
        let (when, number) = in_order(when);
        is_time.then(|| (when.to_owned(), number))
    };
    let folders = names(runs).into_iter();
    let named = folders.filter_map(|folder| Some((begun(&folder)?, folder)));
    let (_, newest) = named.max()?;
    fs::canonicalize(runs.join(newest)).ok()
}

/// Every run's name, the oldest first.
fn names(runs: &Path) -> Vec<String> {
    let entries = Index::open(runs).and_then(|index| index.list());
    let entries = entries.unwrap_or_default().into_iter();
    entries.map(|entry| entry.folder).collect()
}

/// What may have been meant: runs with this in their names, else those that began last.
fn known(asked: &str, runs: &Path) -> String {
    let names = names(runs);
    let alike: Vec<String> = names
        .iter()
        .filter(|name| name.contains(asked))
        .cloned()
        .collect();
    let last = |names: &[String]| names[names.len().saturating_sub(NAMED)..].join(", ");
    match (names.is_empty(), alike.is_empty()) {
        (true, _) => "There is none yet".to_owned(),
        (false, false) => format!("Named alike: {}", last(&alike)),
        (false, true) => format!("The last are: {}", last(&names)),
    }
}
