//! Reading a run, finished or not, whatever has become of its files.
//!
//! A run whose files are not what was recorded is not opened. Where nothing says what was recorded, what cannot be read
//! is left out and named by [`Run::damage`]; the rest is read all the same, and what shows it refuses it then.

mod ahead;
mod batches;
mod export;
mod export_error;
mod reading;
mod recent;
mod table_reader;
pub mod tail;

use crate::begun;
use crate::error::reason;
pub use crate::folder::State;
use crate::folder::{
    ENVIRONMENT, EXPERIMENT, FINDINGS, FIRST_TAKEN_UP, FORMAT, Folder, MANIFEST, PARTIAL, TRIALS,
    is_partial,
};
use crate::join;
use crate::killed::{Remedy, remedy_in};
use crate::manifest;
use crate::mismatch::Mismatch;
use crate::regular;
pub use crate::regular::READ_AS_OWNER;
use crate::run_files;
use crate::shard;
use crate::table::{Row, every_table};
use crate::trial_row::TrialRow;
pub use batches::Batches;
use delaylab_model::record::Record;
pub use export::{write_batch, write_first};
pub use export_error::ExportError;
pub use reading::{Noised, SeriesName};
use reading::{TableFile, Unread};
use recent::Recent;
use serde_json::Value;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;
pub use table_reader::TableReader;

/// A run on disk.
#[derive(Debug)]
pub struct Run {
    folder: Folder,
    state: State,
    experiment: Option<String>,
    environment: Value,
    findings: Option<Value>,
    trials: Vec<TrialRow>,
    /// Did a manifest say what was recorded?
    is_checked: bool,
    problems: Mutex<Vec<Problem>>,
    recent: Arc<Recent>,
}

/// Something to know before trusting what is read.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Problem {
    what: Mismatch,
    /// Is something missing for it?
    is_damage: bool,
}

/// Why a folder cannot be opened as a run.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It cannot be looked into.
    #[error("{}: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// As the system says it.
        source: io::Error,
    },
    /// It holds nothing of a run.
    #[error("{}: not a run: it holds neither {EXPERIMENT} nor a table", path.display())]
    NotARun {
        /// The folder.
        path: PathBuf,
    },
    /// It was not finished, and is not there any more.
    #[error("there is no {}: a run that has ended has the name without `{PARTIAL}`", path.display())]
    Ended {
        /// The folder.
        path: PathBuf,
    },
    /// One of its files is not what was recorded.
    #[error("{}: {mismatch}. {}", path.display(), remedy(path, mismatch))]
    Changed {
        /// The run.
        path: PathBuf,
        /// The file, and what is wrong with it.
        mismatch: Mismatch,
    },
}

impl OpenError {
    /// May this process not read it? Then it is not known whether it is what was recorded.
    pub fn is_denied(&self) -> bool {
        match self {
            Self::Folder { source, .. } => source.kind() == io::ErrorKind::PermissionDenied,
            Self::NotARun { .. } | Self::Ended { .. } => false,
            Self::Changed { mismatch, .. } => mismatch.is_denied(),
        }
    }
}

fn remedy(run: &Path, mismatch: &Mismatch) -> String {
    if mismatch.is_denied() {
        return READ_AS_OWNER.to_owned();
    }
    // What a trial holds is in its own file.
    let of_trial = mismatch.file.starts_with("parts/");
    let remedy = match is_partial(run) {
        true if of_trial => {
            "`delaylab resume` sets aside what has changed of a trial and repeats it".to_owned()
        }
        true => "Restore the file from a copy, or begin the run anew".to_owned(),
        false => format!(
            "Restore the file from a copy, or measure again. To read it as it is, move {MANIFEST} out of the run"
        ),
    };
    format!("{remedy}; `delaylab verify` looks at every file")
}

impl Run {
    /// Opens a run's folder; a link to one is followed. Every file is read once and held against the manifest.
    ///
    /// # Errors
    /// It cannot be looked into, is no run, has ended meanwhile, or one of its files is not what was recorded.
    pub fn open(folder: &Path) -> Result<Self, OpenError> {
        let opened = Self::open_checked(folder);
        opened.map_err(|error| match is_partial(folder) && !folder.exists() {
            true => OpenError::Ended {
                path: folder.to_owned(),
            },
            false => error,
        })
    }

    fn open_checked(folder: &Path) -> Result<Self, OpenError> {
        let mut run = Self::find(folder)?;
        run.is_checked = run.check_files()?;
        run.read();
        Ok(run)
    }

    /// The same whatever its files hold. What is read of it may not be what was recorded.
    ///
    /// # Errors
    /// It cannot be looked into, or is no run.
    pub fn open_as_it_is(folder: &Path) -> Result<Self, OpenError> {
        let mut run = Self::find(folder)?;
        run.read();
        Ok(run)
    }

    /// The same with no look at the tables of a run that is not complete: it may have thousands of parts.
    pub(crate) fn open_for_list(folder: &Path) -> Result<Self, OpenError> {
        let mut run = Self::find(folder)?;
        match run.state {
            State::Complete => run.read(),
            State::Partial => run.read_small_files(),
        }
        Ok(run)
    }

    /// The same run once more, as it was opened.
    ///
    /// # Errors
    /// It cannot be looked into any more.
    pub fn again(&self) -> Result<Self, OpenError> {
        let mut run = Self::open_as_it_is(&self.folder.0)?;
        run.is_checked = self.is_checked;
        Ok(run)
    }

    fn find(folder: &Path) -> Result<Self, OpenError> {
        let path = fs::canonicalize(folder).map_err(|source| OpenError::Folder {
            path: folder.to_owned(),
            source,
        })?;
        let run = Self {
            state: State::of_folder(&path),
            folder: Folder(path),
            experiment: None,
            environment: Value::Null,
            findings: None,
            trials: Vec::new(),
            is_checked: false,
            problems: Mutex::default(),
            recent: Arc::default(),
        };
        run.check_that_it_is_one()?;
        Ok(run)
    }

    /// Did a manifest say what was recorded? Older versions wrote none.
    fn check_files(&self) -> Result<bool, OpenError> {
        let changed = |mismatch| OpenError::Changed {
            path: self.folder.0.clone(),
            mismatch,
        };
        let (listed, wrong) = run_files::checked(&self.folder, self.state);
        match wrong.into_iter().next() {
            Some(mismatch) => Err(changed(mismatch)),
            None => Ok(listed.is_some()),
        }
    }

    fn read(&mut self) {
        self.read_small_files();
        self.check_tables();
        self.check_counts();
    }

    /// When a trial of the run in this folder last began or was recorded, or the run ended. Packets that
    /// are added to a trial under way do not count. `None` where there is no such folder.
    pub fn last_changed(folder: &Path) -> Option<SystemTime> {
        let folder = Folder(folder.to_owned());
        let changed = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
        let names = manifest::read_by_name(&folder).into_iter();
        let files = names.filter_map(|name| changed(&folder.file(&name)));
        let last = changed(&folder.0).max(changed(&folder.parts()));
        files.map(Some).fold(last, Option::max)
    }

    fn check_that_it_is_one(&self) -> Result<(), OpenError> {
        let files = [EXPERIMENT, ENVIRONMENT, "trials.parquet", "records.parquet"];
        let path = self.folder.0.clone();
        if (files.iter()).any(|name| regular::exists(&self.folder.file(name))) {
            return Ok(());
        }
        match fs::symlink_metadata(self.folder.file(EXPERIMENT)) {
            // What is in it is not known.
            Err(source) if source.kind() == io::ErrorKind::PermissionDenied => {
                Err(OpenError::Folder { path, source })
            }
            _ => Err(OpenError::NotARun { path }),
        }
    }

    fn read_small_files(&mut self) {
        self.experiment = self.text(EXPERIMENT);
        self.environment = self.json(ENVIRONMENT).unwrap_or_default();
        if self.environment["run"]["format"].as_u64() > Some(FORMAT) {
            let later = "written by a later version, which this one may misread";
            self.add(&self.folder.file(ENVIRONMENT), later, false);
        }
        if self.is_joined() {
            self.findings = self.json(FINDINGS);
        }
        self.trials = self.read_trials();
    }

    fn text(&self, name: &str) -> Option<String> {
        let text = regular::text(&self.folder.file(name));
        text.map_err(|error| self.note(&self.folder.file(name), &missing_or(&error)))
            .ok()
    }

    fn json(&self, name: &str) -> Option<Value> {
        let value = serde_json::from_str(&self.text(name)?);
        value
            .map_err(|error| self.note(&self.folder.file(name), &error.to_string()))
            .ok()
    }

    fn read_trials(&self) -> Vec<TrialRow> {
        let mut rows = Vec::new();
        for file in self.files(None) {
            let read = file.and_then(|file| self.rows_of_trials(&file));
            match read {
                Ok(found) => rows.extend(found),
                Err(unread) => self.note(&unread.path, &unread.what),
            }
        }
        rows.sort_by_key(|row| (row.trial, row.probe));
        rows
    }

    fn rows_of_trials(&self, file: &TableFile) -> Result<Vec<TrialRow>, Unread> {
        let (path, read) = match file {
            TableFile::Joined => {
                let path = self.folder.table(TRIALS);
                let read = join::trial_rows(&path);
                (path, read)
            }
            TableFile::OfTrial(trial) => {
                let recorded = reading::recorded(&self.folder, *trial)?;
                (recorded.path(TRIALS), join::trial_rows_of(&recorded))
            }
        };
        read.map_err(|error| reading::unread(path, reason(error)))
    }

    /// Did another tool measure it? Then there may be figures of packets without the packets.
    pub fn is_imported(&self) -> bool {
        self.environment["imported"].is_object()
    }

    /// May this user not read one of its files?
    pub fn is_denied(&self) -> bool {
        self.mismatches().iter().any(Mismatch::is_denied)
    }

    /// Opens every table once, so that what is damaged is known before anything is read.
    fn check_tables(&self) {
        every_table!(R => self.steps::<R>(None).for_each(drop));
    }

    /// How many packets the trials' own counts have.
    fn sent_by_trials(&self) -> f64 {
        let probed = self.trials.iter().filter(|row| !row.method.is_one_way());
        let figures = probed.flat_map(|row| &row.figures);
        let sent = figures.filter(|(name, _)| name == "sent");
        sent.filter_map(|(_, count)| *count).sum()
    }

    /// Holds the packets against the trials' own counts, where both can be read. What another tool measured may have
    /// counts alone.
    fn check_counts(&self) {
        let is_known = self.environment["run"]["format"].as_u64() >= Some(FIRST_TAKEN_UP);
        if self.state == State::Partial
            || self.is_imported()
            || !is_known
            || self.damage().is_some()
        {
            return;
        }
        let (sent, records) = (self.sent_by_trials(), self.record_count());
        let say = |table: &str, what: &str| self.note(&self.folder.table(table), what);
        if (records as f64) < sent {
            let what = format!(
                "holds {records} packets, and {TRIALS}.parquet counts {sent} that were sent"
            );
            say(Record::TABLE, &what);
        }
        if self.trials.is_empty() && records > 0 {
            say(
                TRIALS,
                &format!("has no trial, and there are {records} packets"),
            );
        }
    }

    /// Are the parts joined? A run that was killed just before its end is partial all the same.
    fn is_joined(&self) -> bool {
        self.state == State::Complete || regular::exists(&self.folder.file(FINDINGS))
    }

    /// What was read last of tables that change no more.
    fn recent(&self) -> Option<&Recent> {
        self.is_joined().then_some(&*self.recent)
    }

    /// Where the run is.
    pub fn folder(&self) -> &Path {
        &self.folder.0
    }

    /// Did it come to its end?
    pub fn state(&self) -> State {
        self.state
    }

    /// Is it a shard whose trials are all recorded? It waits to be merged.
    pub fn is_whole_shard(&self) -> bool {
        self.state == State::Partial
            && shard::is_whole(&self.folder, &self.environment).unwrap_or(false)
    }

    /// What there is to do with it, if it is not complete.
    pub fn remedy(&self) -> Option<Remedy> {
        let is_partial = self.state == State::Partial;
        is_partial.then(|| remedy_in(&self.folder, &self.environment))
    }

    /// Does it count with what is recorded of it, as a ping does? Where its process ended too early, `delaylab resume` ends it.
    pub fn counts_as_it_stands(&self) -> bool {
        self.remedy() == Some(Remedy::EndAsItStands)
    }

    /// Is it what was recorded of it, whenever its process ended, as a ping is?
    pub fn is_as_it_stands(&self) -> bool {
        begun::is_kept(&self.environment)
    }

    /// Is it to be what was recorded of it, and nothing is? It cannot be resumed.
    pub fn lacks_everything(&self) -> bool {
        self.remedy() == Some(Remedy::Remove)
    }

    /// The experiment's name.
    pub fn name(&self) -> Option<&str> {
        self.environment["run"]["name"].as_str()
    }

    /// The world that carried it out.
    pub fn world(&self) -> Option<&str> {
        self.environment["run"]["world"].as_str()
    }

    /// When it began, as in `2026-11-21T13:45:00Z`.
    pub fn started_utc(&self) -> Option<&str> {
        self.environment["run"]["started_utc"].as_str()
    }

    /// The experiment file, as resolved.
    pub fn experiment(&self) -> Option<&str> {
        self.experiment.as_deref()
    }

    /// Where it ran; null if that cannot be read.
    pub fn environment(&self) -> &Value {
        &self.environment
    }

    /// What was found; `None` before its end.
    pub fn findings(&self) -> Option<&Value> {
        self.findings.as_ref()
    }

    /// A row for each recorded trial and probe, in their order.
    pub fn trials(&self) -> &[TrialRow] {
        &self.trials
    }

    /// Did a manifest say what was recorded, and is it what was read? False of runs of older versions, which wrote none.
    pub const fn is_checked(&self) -> bool {
        self.is_checked
    }

    /// What to know before trusting it, file by file. Grows while damaged tables are read.
    pub fn problems(&self) -> Vec<String> {
        let problems = self.lock_problems();
        let texts = problems.iter().map(|problem| problem.what.to_string());
        texts.collect()
    }

    /// What is missing or cannot be read, which file first: the rest is not the run. `None` as far as it was read.
    pub fn damage(&self) -> Option<String> {
        let problems = self.lock_problems();
        let damage = problems.iter().find(|problem| problem.is_damage);
        damage.map(|problem| problem.what.to_string())
    }

    /// The same, all of it, with the file of each.
    pub(crate) fn mismatches(&self) -> Vec<Mismatch> {
        let problems = self.lock_problems();
        let damages = problems.iter().filter(|problem| problem.is_damage);
        damages.map(|problem| problem.what.clone()).collect()
    }

    /// Reads every row of every table, so that all that cannot be read is known.
    pub(crate) fn read_everything(&self) {
        every_table!(R => self.for_each::<R>(None, |_| {}));
        self.for_each_interrupted(|_| {});
    }

    /// Adds what its reader says of the experiment, which is only text here.
    pub fn note_experiment(&self, what: &str) {
        self.add(&self.folder.file(EXPERIMENT), what, false);
    }

    fn lock_problems(&self) -> std::sync::MutexGuard<'_, Vec<Problem>> {
        self.problems.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something cannot be read.
    fn note(&self, path: &Path, what: &str) {
        self.add(path, what, true);
    }

    fn add(&self, path: &Path, what: &str, is_damage: bool) {
        let what = Mismatch {
            file: self.name_of(path),
            why: what.to_owned(),
        };
        let problem = Problem { what, is_damage };
        let mut problems = self.lock_problems();
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    }

    /// Within the folder of the run.
    fn name_of(&self, path: &Path) -> String {
        let name = path.strip_prefix(&self.folder.0).unwrap_or(path);
        name.display().to_string()
    }
}

fn missing_or(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "missing".to_owned(),
        _ => error.to_string(),
    }
}
