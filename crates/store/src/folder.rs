//! A run's folder: what its files are called.
//!
//! | file | holds |
//! |---|---|
//! | `experiment.toml`, `environment.json`, `findings.json` | what was asked, where it ran, what was found |
//! | `manifest.json` | length and digest of each file |
//! | `trials.parquet`, `records.parquet`, `noise.parquet`, `clock_reads.parquet` | the tables |
//! | `hops.parquet`, `series.parquet` and so on | tables of a world that sees into its path |
//! | `interrupted.arrow`, `interrupted.noise.arrow`, `interrupted.clock_reads.arrow` | rows of trials that were interrupted |
//! | `trial-7.arrow`, `trial-7.noise.arrow`, `trial-7.clock_reads.arrow` | while trial 7 runs: its rows so far |
//! | `trial-7.begun.json` | the same, of a trial that counts whenever it ends: how it began |
//! | `parts/trial-7.tables` | until the run is finished: the rows of trial 7, but for its long tables: see [`trial_file`](crate::trial_file) |
//! | `parts/records-7.parquet` and so on | until the run is finished: a long table of trial 7 |
//! | `parts/interrupted-7-1.arrow` and so on | until the run is finished: rows of trial 7's first attempt |
//!
//! `findings.json` is written when all parts are joined: where it is, the parts hold nothing more.

use crate::error::StoreError;
use crate::regular;
use crate::table::Row;
use delaylab_model::record::Record;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

/// The version of the format that is written.
///
/// | version | since then |
/// |---|---|
/// | 1 | `records.parquet` had each stamp as a time: it is still read |
/// | 2 | it has each as the time since the stamp before it |
/// | 3 | until the run is finished, the short tables of a trial are in one file. Finished it is as in format 2 |
pub(crate) const FORMAT: u64 = 3;
/// The first version whose unfinished runs are taken up.
pub(crate) const FIRST_TAKEN_UP: u64 = 2;

/// The experiment as it was resolved.
pub(crate) const EXPERIMENT: &str = "experiment.toml";
/// Where the run ran.
pub(crate) const ENVIRONMENT: &str = "environment.json";
/// What was found.
pub(crate) const FINDINGS: &str = "findings.json";
/// What each file of the run holds.
pub(crate) const MANIFEST: &str = "manifest.json";
/// What an unfinished run's folder ends in.
pub(crate) const PARTIAL: &str = ".partial";
/// What stands in a folder's name where a run's time would, if nothing says when it began.
pub(crate) const UNDATED: &str = "undated";
/// The table with a row for each trial and probe.
pub(crate) const TRIALS: &str = "trials";

/// What the name of a file with how a trial began ends in.
const BEGUN: &str = ".begun.json";

/// Is this the folder of a run that is not finished?
pub(crate) fn is_partial(folder: &Path) -> bool {
    let end = folder.extension().and_then(|end| end.to_str());
    end == PARTIAL.strip_prefix('.')
}

/// Did the run come to its end?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Yes.
    Complete,
    /// It is being written, or was killed: `delaylab resume` continues it.
    Partial,
}

impl State {
    /// By the folder's name.
    pub(crate) fn of_folder(folder: &Path) -> Self {
        match is_partial(folder) {
            true => State::Partial,
            false => State::Complete,
        }
    }

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            State::Complete => "complete",
            State::Partial => "partial",
        }
    }
}

/// The name of a run's folder as runs of one name are put in order: of those that began in the same second, all but the
/// first have a number at the end.
pub(crate) fn in_order(folder: &str) -> (&str, u32) {
    let name = folder.strip_suffix(PARTIAL).unwrap_or(folder);
    let numbered = name.rsplit_once('-');
    let numbered = numbered.and_then(|(first, number)| Some((first, number.parse().ok()?)));
    numbered.unwrap_or((name, 1))
}

/// A run's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Where the run ran; null where that cannot be read.
    pub(crate) fn environment(&self) -> Value {
        let text = regular::text(&self.file(ENVIRONMENT)).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// The folder of the parts.
    pub(crate) fn parts(&self) -> PathBuf {
        self.0.join("parts")
    }

    /// A table of the finished run.
    pub(crate) fn table(&self, table: &str) -> PathBuf {
        self.0.join(format!("{table}.parquet"))
    }

    /// What a recorded trial left, but for long tables.
    pub(crate) fn trial_file(&self, trial: u32) -> PathBuf {
        self.parts().join(format!("trial-{trial}.tables"))
    }

    /// Is this trial recorded?
    pub(crate) fn is_recorded(&self, trial: u32) -> bool {
        self.trial_file(trial).exists() || self.part(TRIALS, trial).exists()
    }

    /// The trials that are recorded.
    pub(crate) fn recorded_trials(&self) -> io::Result<BTreeSet<u32>> {
        let trial = |name: &str| {
            let newer = name
                .strip_prefix("trial-")
                .and_then(|name| name.strip_suffix(".tables"));
            let older = || name.strip_prefix("trials-")?.strip_suffix(".parquet");
            newer.or_else(older)?.parse().ok()
        };
        Ok(numbered(&self.parts(), trial)?.into_keys().collect())
    }

    /// A long table of a trial, or, where an older version recorded it, any.
    pub(crate) fn part(&self, table: &str, trial: u32) -> PathBuf {
        self.parts().join(format!("{table}-{trial}.parquet"))
    }

    /// What each part of a trial holds, where an older version recorded it.
    pub(crate) fn part_manifest(&self, trial: u32) -> PathBuf {
        self.parts().join(format!("manifest-{trial}.json"))
    }

    /// A running trial's rows.
    pub(crate) fn journal<R: Row>(&self, trial: u32) -> PathBuf {
        self.0.join(format!("trial-{trial}{}", journal_end::<R>()))
    }

    /// How a running trial began.
    pub(crate) fn begun(&self, trial: u32) -> PathBuf {
        self.0.join(format!("trial-{trial}{BEGUN}"))
    }

    /// The trials of which it is known how they began.
    pub(crate) fn begun_trials(&self) -> io::Result<BTreeSet<u32>> {
        let trial = |name: &str| {
            let number = name.strip_prefix("trial-")?;
            number.strip_suffix(BEGUN)?.parse().ok()
        };
        Ok(numbered(&self.0, trial)?.into_keys().collect())
    }

    /// Rows of interrupted trials in a finished run.
    pub(crate) fn interrupted<R: Row>(&self) -> PathBuf {
        self.0.join(format!("interrupted{}", journal_end::<R>()))
    }

    /// Rows of one interrupted trial, from the first attempt (1) on.
    pub(crate) fn interrupted_part<R: Row>(&self, trial: u32, attempt: u32) -> PathBuf {
        let name = format!("interrupted-{trial}-{attempt}{}", journal_end::<R>());
        self.parts().join(name)
    }

    /// Every file that a long table of a trial has, by trial.
    pub(crate) fn parts_of(&self, table: &str) -> Result<BTreeMap<u32, PathBuf>, StoreError> {
        let trial = |name: &str| {
            let number = name.strip_prefix(table)?.strip_prefix('-')?;
            number.strip_suffix(".parquet")?.parse().ok()
        };
        let parts = self.parts();
        numbered(&parts, trial).map_err(StoreError::at(&parts))
    }

    /// Every running trial's rows, by trial.
    pub(crate) fn journals<R: Row>(&self) -> io::Result<BTreeMap<u32, PathBuf>> {
        let end = journal_end::<R>();
        let trial = |name: &str| {
            let number = name.strip_prefix("trial-")?;
            number.strip_suffix(&end)?.parse().ok()
        };
        numbered(&self.0, trial)
    }

    /// The rows of every interrupted trial, by trial and attempt.
    pub(crate) fn interrupted_parts<R: Row>(&self) -> io::Result<BTreeMap<(u32, u32), PathBuf>> {
        let end = journal_end::<R>();
        let attempt = |name: &str| {
            let numbers = name.strip_prefix("interrupted-")?;
            let (trial, attempt) = numbers.strip_suffix(&end)?.split_once('-')?;
            Some((trial.parse().ok()?, attempt.parse().ok()?))
        };
        numbered(&self.parts(), attempt)
    }
}

/// What the name of a file with rows as they came ends in.
fn journal_end<R: Row>() -> String {
    match R::TABLE {
        Record::TABLE => ".arrow".to_owned(),
        table => format!(".{table}.arrow"),
    }
}

/// The files whose names hold a number, by it. A folder that is not there has none.
fn numbered<K: Ord>(
    folder: &Path,
    number: impl Fn(&str) -> Option<K>,
) -> io::Result<BTreeMap<K, PathBuf>> {
    let entries = match regular::check_folder(folder).and_then(|()| std::fs::read_dir(folder)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(error),
    };
    let mut found = BTreeMap::new();
    for entry in entries {
        let entry = entry?;
        if let Some(key) = entry.file_name().to_str().and_then(&number) {
            found.insert(key, entry.path());
        }
    }
    Ok(found)
}
