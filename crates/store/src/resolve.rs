//! Which run a word on the command line means.

use crate::folder::{PARTIAL, UNDATED, in_order};
use crate::index::Index;
use crate::killed::Killed;
use crate::latest::LATEST;
use crate::verify::is_run;
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
    let found = named.iter().filter_map(|path| fs::canonicalize(path).ok());
    let found: Vec<PathBuf> = found.filter(|path| path.is_dir()).collect();
    // A folder with nothing of a run in it may have the name of an experiment.
    let run = found.iter().find(|path| is_run(path)).cloned();
    run.or_else(|| newest(runs).filter(|_| asked == LATEST))
        .or_else(|| newest_of(asked, runs))
        .or_else(|| found.into_iter().next())
        .ok_or_else(|| ResolveError {
            asked: asked.to_owned(),
            runs: runs.to_owned(),
            known: known(asked, runs),
        })
}

/// The same of a run to resume: `latest` is the one that was interrupted last, where there is one.
pub fn resolve_interrupted(asked: &str, runs: &Path) -> Result<PathBuf, ResolveError> {
    let interrupted = match asked == LATEST {
        true => Killed::among(runs).interrupted.pop(),
        false => None,
    };
    match interrupted.and_then(|run| fs::canonicalize(run).ok()) {
        Some(run) => Ok(run),
        None => resolve_run(asked, runs),
    }
}

/// The run that ended last in this folder of runs; `None` where it is a run itself, or no run has ended in it.
pub fn latest_in(folder: &Path) -> Option<PathBuf> {
    let latest = fs::canonicalize(folder.join(LATEST)).ok()?;
    (!is_run(folder) && is_run(&latest)).then_some(latest)
}

/// The run that began last, where `latest` points nowhere.
fn newest(runs: &Path) -> Option<PathBuf> {
    let names = names(runs);
    Some(runs.join(names.last()?))
}

/// Of runs that are named by this and when they began, the one that began last.
fn newest_of(name: &str, runs: &Path) -> Option<PathBuf> {
    let names = names(runs);
    let named = names
        .iter()
        .filter_map(|folder| Some((begun(name, folder)?, folder)));
    fs::canonicalize(runs.join(named.max()?.1)).ok()
}

/// When the run in this folder began, and which of that second it is, if it is named by `name` and no more than that. One
/// whose beginning is not known comes before all others.
fn begun<'a>(name: &str, folder: &'a str) -> Option<(Option<&'a str>, u32)> {
    let (when, number) = in_order(folder.strip_prefix(name)?.strip_prefix('-')?);
    let is_stamp = || {
        let form = |c: char| if c.is_ascii_digit() { '0' } else { c };
        when.chars().map(form).eq("00000000T000000Z".chars())
    };
    match when {
        UNDATED => Some((None, number)),
        _ => is_stamp().then_some((Some(when), number)),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The number at the end of another name is no time, also where it is greater than every year.
    #[test]
    fn a_run_is_of_the_whole_name_before_its_time() {
        let of_web = [
            "web-undated",
            "web-20261121T134500Z",
            "web-20261122T134500Z",
            "web-20261122T134500Z-2.partial",
            "web-20261122T134500Z-11",
        ];
        let began: Vec<_> = of_web
            .iter()
            .filter_map(|folder| begun("web", folder))
            .collect();
        assert_eq!(began.len(), of_web.len());
        assert!(began.is_sorted(), "{began:?}");
        for other in [
            "web-3-20261121T134500Z",
            "web-2026-20261121T134500Z",
            "web-20261121-20261121T134500Z",
            "web-2",
            "web-20261121T134500Z-x",
            "website-20261121T134500Z",
        ] {
            assert_eq!(begun("web", other), None, "{other}");
        }
    }
}
