//! Reading a run, finished or not, whatever has become of its files.
//!
//! A run whose files are not what was recorded is not opened. Where nothing says what was recorded, what cannot be read
//! is left out and named by [`Run::damage`]; the rest is read all the same, and what shows it refuses it then.

mod ahead;
mod batches;
mod export;
mod export_error;
mod recent;
mod table_reader;
pub mod tail;

use crate::error::StoreError;
use crate::folder::{
    ENVIRONMENT, EXPERIMENT, FINDINGS, FORMAT, Folder, MANIFEST, TRIALS, is_partial,
};
use crate::join;
use crate::manifest;
use crate::mismatch::Mismatch;
use crate::part::{self, NOISE_NS, NOISE_WHO};
pub use crate::regular::READ_AS_OWNER;
use crate::regular::{self, MAY_NOT_READ};
use crate::table::{self, Row, every_table};
use crate::trial_row::TrialRow;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use arrow_schema::SchemaRef;
pub use batches::Batches;
use batches::Step;
use delaylab_model::Nanos;
use delaylab_model::hop::Hop;
use delaylab_model::noise::{ClockReads, NoiseEvent};
use delaylab_model::plan::Unit;
use delaylab_model::record::Record;
use delaylab_model::series::{SeriesPoint, SeriesValue};
use delaylab_model::transfer::Transfer;
pub use export::write_batch;
pub use export_error::ExportError;
use recent::Recent;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;
pub use table_reader::TableReader;

/// Did the run come to its end?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Yes.
    Complete,
    /// It is being written, or was killed: `delaylab resume` goes on with it.
    Partial,
}

impl State {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            State::Complete => "complete",
            State::Partial => "partial",
        }
    }
}

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
    recent: Recent,
}

/// Something to know before trusting what is read.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Problem {
    text: String,
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
    /// One of its files is not what was recorded.
    #[error("{}: {mismatch}. {}", path.display(), remedy(path, mismatch))]
    Changed {
        /// The run.
        path: PathBuf,
        /// The file, and what is wrong with it.
        mismatch: Mismatch,
    },
}

fn remedy(run: &Path, mismatch: &Mismatch) -> String {
    if mismatch.is_denied() {
        return READ_AS_OWNER.to_owned();
    }
    let remedy = if is_partial(run) {
        "`delaylab resume` sets aside what has changed of a trial and repeats it"
    } else {
        "Restore the file from a copy, or measure again"
    };
    format!(
        "{remedy}. To read it as it is, move {MANIFEST} out of the run; `delaylab verify` looks at every file"
    )
}

/// A record and the noise that it met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Noised<'a> {
    /// The record.
    pub record: &'a Record,
    /// For how long noise held its CPU while it was under way; `None` where no source of noise ran.
    pub noise_ns: Option<Nanos>,
    /// Who held it longest.
    pub noise_who: Option<&'a str>,
}

/// The rows of a run, by trial and probe.
struct Rows<'a> {
    by_stream: BTreeMap<(u32, u16), &'a TrialRow>,
    /// Packets of no row.
    strangers: u64,
}

impl<'a> Rows<'a> {
    fn new(rows: &'a [TrialRow]) -> Self {
        let by_stream = rows.iter().map(|row| ((row.trial, row.probe), row));
        Self {
            by_stream: by_stream.collect(),
            strangers: 0,
        }
    }

    /// The row of this packet, if it has one in which it counts.
    fn counting(&mut self, record: &Record) -> Option<&'a TrialRow> {
        let row = self.by_stream.get(&(record.trial, record.probe)).copied();
        self.strangers += u64::from(row.is_none());
        row.filter(|row| row.counts(record.seq))
    }
}

/// A series of a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeriesName {
    /// Which trial of the run.
    pub trial: u32,
    /// What it is.
    pub series: Arc<str>,
    /// Of which port or flow.
    pub of: Arc<str>,
    /// What its values count.
    pub unit: Unit,
}

impl SeriesName {
    fn from_point(point: &SeriesPoint) -> Self {
        Self {
            trial: point.trial,
            series: point.series.clone(),
            of: point.of.clone(),
            unit: point.unit,
        }
    }

    fn is_of(&self, point: &SeriesPoint) -> bool {
        (self.trial, &self.series, &self.of) == (point.trial, &point.series, &point.of)
    }
}

impl Run {
    /// Opens a run's folder; a link to one is followed. Every file is read once and held against the manifest.
    ///
    /// # Errors
    /// It cannot be looked into, is no run, or one of its files is not what was recorded.
    pub fn open(folder: &Path) -> Result<Self, OpenError> {
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
            state: if is_partial(&path) {
                State::Partial
            } else {
                State::Complete
            },
            folder: Folder(path),
            experiment: None,
            environment: Value::Null,
            findings: None,
            trials: Vec::new(),
            is_checked: false,
            problems: Mutex::default(),
            recent: Recent::default(),
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
        let listed = manifest::of_run(&self.folder).map_err(changed)?;
        let wrong = match (self.state, &listed) {
            (State::Complete, None) => Vec::new(),
            (State::Complete, Some(listed)) => manifest::of_complete(&self.folder, listed),
            (State::Partial, listed) => manifest::of_partial(&self.folder, listed.as_ref()),
        };
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
        let any = (files.iter()).any(|name| regular::exists(&self.folder.file(name)));
        let not = || OpenError::NotARun {
            path: self.folder.0.clone(),
        };
        any.then_some(()).ok_or_else(not)
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
        for path in self.parquet_files(TRIALS, None) {
            match join::trial_rows(&path) {
                Ok(found) => rows.extend(found),
                Err(_) if !regular::exists(&path) => self.note(&path, "missing"),
                Err(StoreError::Table { reason, .. }) => self.note(&path, &reason),
                Err(error) => self.note(&path, &error.to_string()),
            }
        }
        rows.sort_by_key(|row| (row.trial, row.probe));
        rows
    }

    /// May this user not read one of its files?
    pub fn is_denied(&self) -> bool {
        self.damages()
            .iter()
            .any(|text| text.ends_with(MAY_NOT_READ))
    }

    /// Opens every table once, so that what is damaged is known before anything is read.
    fn check_tables(&self) {
        every_table!(R => self.steps::<R>(None).for_each(drop));
    }

    /// Holds the packets against the trials' own counts, where both can be read. What another tool measured may have
    /// counts alone.
    fn check_counts(&self) {
        let is_ours = !self.environment["imported"].is_object();
        let is_known = self.environment["run"]["format"].as_u64() >= Some(FORMAT);
        if self.state == State::Partial || !is_ours || !is_known || self.damage().is_some() {
            return;
        }
        let probed = self.trials.iter().filter(|row| !row.method.is_one_way());
        let figures = probed.flat_map(|row| &row.figures);
        let sent = figures.filter(|(name, _)| name == "sent");
        let sent: f64 = sent.filter_map(|(_, count)| *count).sum();
        let records = self.record_count();
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
        self.is_joined().then_some(&self.recent)
    }

    /// The files that hold a table, or one trial of it: the table itself, or its parts of the recorded trials.
    fn parquet_files(&self, table: &str, trial: Option<u32>) -> Vec<PathBuf> {
        if self.is_joined() {
            return vec![self.folder.table(table)];
        }
        if let Some(trial) = trial {
            // Without looking through thousands of others.
            let is_recorded = self.folder.part(TRIALS, trial).exists();
            return is_recorded
                .then(|| self.folder.part(table, trial))
                .into_iter()
                .collect();
        }
        let recorded = self.folder.parts_of(TRIALS);
        let recorded =
            recorded.map_err(|error| self.note(&self.folder.parts(), &error.to_string()));
        let trials = recorded.unwrap_or_default().into_keys();
        trials.map(|trial| self.folder.part(table, trial)).collect()
    }

    /// Where the run is.
    pub fn folder(&self) -> &Path {
        &self.folder.0
    }

    /// Did it come to its end?
    pub fn state(&self) -> State {
        self.state
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
        problems
            .iter()
            .map(|problem| problem.text.clone())
            .collect()
    }

    /// What is missing or cannot be read, which file first: the rest is not the run. `None` as far as it was read.
    pub fn damage(&self) -> Option<String> {
        let problems = self.lock_problems();
        let damage = problems.iter().find(|problem| problem.is_damage);
        damage.map(|problem| problem.text.clone())
    }

    /// All of [`Self::damage`].
    pub(crate) fn damages(&self) -> Vec<String> {
        let problems = self.lock_problems();
        let damages = problems.iter().filter(|problem| problem.is_damage);
        damages.map(|problem| problem.text.clone()).collect()
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
        let text = format!("{}: {what}", self.name_of(path));
        let problem = Problem { text, is_damage };
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

    /// How many records it holds, without those of interrupted trials.
    pub fn record_count(&self) -> u64 {
        self.steps::<Record>(None).map(|step| step.rows()).sum()
    }

    /// Records of one trial, or of all in their order, with these columns (none named: all), as Arrow
    /// batches. A pass over all trials is faster than one for each. The column `trial` is always
    /// there if a trial is asked for.
    pub fn records(&self, trial: Option<u32>, columns: &[&str]) -> Batches<'_> {
        self.batches::<Record>(trial, columns)
    }

    fn batches<R: Row>(&self, trial: Option<u32>, columns: &[&str]) -> Batches<'_> {
        Batches::new(self, self.steps::<R>(trial), trial, columns)
    }

    /// Hands over every record of one trial, or of all in their order.
    pub fn for_each_record(&self, trial: Option<u32>, mut take: impl FnMut(&Record)) {
        let columns = table::schema::<Record>();
        let columns: Vec<&str> = columns.fields().iter().map(|f| f.name().as_str()).collect();
        self.each_batch(self.records(trial, &columns), |_, rows| {
            rows.iter().for_each(&mut take);
        });
    }

    /// The same of these rows of the table only, and with these columns only: others are blank. Rows are
    /// counted in the order of all records; of trials that are being recorded, there is none.
    pub fn for_each_record_in(
        &self,
        rows: Range<u64>,
        columns: &[&str],
        mut take: impl FnMut(&Record),
    ) {
        let recorded = self.steps::<Record>(None);
        let recorded = recorded.filter(|step| !matches!(step, Step::Journal(_)));
        let steps = recorded.scan(0, move |first, step| {
            let count = step.rows();
            let from = rows.start.max(*first);
            let to = rows.end.min(*first + count);
            let part = (from < to).then(|| step.part(from - *first..to - *first));
            let is_wanted = *first < rows.end;
            *first += count;
            is_wanted.then_some(part)
        });
        let steps = steps.flatten();
        let batches = Batches::new(self, steps, None, columns);
        self.each_batch(batches, |_, rows| rows.iter().for_each(&mut take));
    }

    /// The same, with the noise that each met.
    pub fn for_each_noised(&self, trial: Option<u32>, mut take: impl FnMut(Noised<'_>)) {
        self.each_batch(self.records(trial, &[]), |batch, rows| {
            let column = |name| batch.column_by_name(name);
            let ns = column(NOISE_NS).and_then(|column| column.as_primitive_opt::<Int64Type>());
            let who = column(NOISE_WHO).and_then(|column| column.as_string_opt::<i32>());
            for (at, record) in rows.iter().enumerate() {
                take(Noised {
                    record,
                    noise_ns: ns.filter(|ns| ns.is_valid(at)).map(|ns| ns.value(at)),
                    noise_who: who.filter(|who| who.is_valid(at)).map(|who| who.value(at)),
                });
            }
        });
    }

    /// Hands over every packet that counts, of one trial or of all in their order, with the row of its trial and probe:
    /// without those that warm a stream up. How many packets are of trials that are under way or were interrupted, and so of
    /// no row.
    pub fn scan(&self, trial: Option<u32>, mut take: impl FnMut(&TrialRow, &Record)) -> u64 {
        let mut rows = Rows::new(&self.trials);
        self.for_each_record(trial, |record| {
            if let Some(row) = rows.counting(record) {
                take(row, record);
            }
        });
        rows.strangers
    }

    /// The same, with the noise that each met: two columns more are read.
    pub fn scan_noised(
        &self,
        trial: Option<u32>,
        mut take: impl FnMut(&TrialRow, Noised<'_>),
    ) -> u64 {
        let mut rows = Rows::new(&self.trials);
        self.for_each_noised(trial, |noised| {
            if let Some(row) = rows.counting(noised.record) {
                take(row, noised);
            }
        });
        rows.strangers
    }

    /// Hands over the records of interrupted trials.
    pub fn for_each_interrupted(&self, take: impl FnMut(&Record)) {
        let batches = Batches::new(self, self.interrupted_steps(), None, &[]);
        let mut take = take;
        self.each_batch(batches, |_, rows| rows.iter().for_each(&mut take));
    }

    /// What disturbed the host during one trial, or during all.
    pub fn noise(&self, trial: Option<u32>) -> Vec<NoiseEvent> {
        self.all(trial)
    }

    /// Hands over every event of [`Self::noise`], one by one.
    pub fn for_each_noise(&self, trial: Option<u32>, take: impl FnMut(&NoiseEvent)) {
        self.for_each(trial, take);
    }

    /// What clock reads cost during one trial, or during all.
    pub fn clock_reads(&self, trial: Option<u32>) -> Vec<ClockReads> {
        self.all(trial)
    }

    /// What packets of one trial, or of all, met in the queues of their path: by probe, packet and way.
    /// Empty where the world does not see into its path.
    pub fn hops(&self, trial: Option<u32>) -> Vec<Hop> {
        self.all(trial)
    }

    /// Hands over every packet of [`Self::hops`], one by one.
    pub fn for_each_hop(&self, trial: Option<u32>, take: impl FnMut(&Hop)) {
        self.for_each(trial, take);
    }

    /// The series of one trial, or of all: by name, by what they are of, and in time.
    pub fn series(&self, trial: Option<u32>) -> Vec<SeriesPoint> {
        self.all(trial)
    }

    /// Hands over every point of the series of one trial, or of all in their order.
    pub fn for_each_series_point(&self, trial: Option<u32>, take: impl FnMut(&SeriesPoint)) {
        self.for_each(trial, take);
    }

    /// For how long the series of one trial, or of all, had which values. Empty where the world does not keep it.
    pub fn series_values(&self, trial: Option<u32>) -> Vec<SeriesValue> {
        self.all(trial)
    }

    /// The finite transfers of loads in one trial, or in all: by stream, and in their order. Empty where there were none.
    pub fn transfers(&self, trial: Option<u32>) -> Vec<Transfer> {
        self.all(trial)
    }

    /// Every series of every trial, without its points, in their order.
    pub fn series_names(&self) -> Vec<SeriesName> {
        let columns = ["trial", "series", "of", "unit"];
        let mut names: Vec<SeriesName> = Vec::new();
        self.each_batch(
            self.batches::<SeriesPoint>(None, &columns),
            |_, rows: &[SeriesPoint]| {
                for row in rows {
                    if !names.last().is_some_and(|last| last.is_of(row)) {
                        names.push(SeriesName::from_point(row));
                    }
                }
            },
        );
        names
    }

    /// The rows of any table beside the trials, of one trial or of all in their order. Empty where there are none.
    pub fn all<R: Row>(&self, trial: Option<u32>) -> Vec<R> {
        let mut all = Vec::new();
        self.for_each(trial, |row: &R| all.push(row.clone()));
        all
    }

    fn for_each<R: Row>(&self, trial: Option<u32>, mut take: impl FnMut(&R)) {
        self.each_batch(self.batches::<R>(trial, &[]), |_, rows| {
            rows.iter().for_each(&mut take);
        });
    }

    fn each_batch<R: Row>(
        &self,
        mut batches: Batches<'_>,
        mut take: impl FnMut(&RecordBatch, &[R]),
    ) {
        let mut rows = Vec::new();
        while let Some(batch) = batches.next() {
            match table::read_into(&batch, &mut rows) {
                Ok(()) => take(&batch, &rows),
                Err(error) => self.note(batches.path(), &error.to_string()),
            }
        }
    }

    /// The row groups and journals that may have rows of this trial, in the order of the trials. A file is opened when
    /// its turn comes: a run under way may have more of them than a process may hold open.
    fn steps<R: Row>(&self, trial: Option<u32>) -> impl Iterator<Item = Step> + Send + use<'_, R> {
        let known = part::schema::<R>();
        let files = self.parquet_files(R::TABLE, trial);
        let journals = match self.is_joined() {
            true => Vec::new(),
            false => self.journal_steps::<R>(trial),
        };
        let row_groups = files
            .into_iter()
            .flat_map(move |path| self.row_groups::<R>(&path, &known, trial));
        row_groups.chain(journals)
    }

    /// Those of one file; what is wrong with it is noted.
    fn row_groups<R: Row>(&self, path: &Path, known: &SchemaRef, trial: Option<u32>) -> Vec<Step> {
        let what = match Step::row_groups(path, known, trial, self.recent()) {
            Ok(steps) => return steps,
            Err(_) if !regular::exists(path) && R::IS_OPTIONAL => return Vec::new(),
            Err(_) if !regular::exists(path) => "missing".to_owned(),
            Err(error) => error.to_string(),
        };
        self.note(path, &what);
        Vec::new()
    }

    /// Trials that are being recorded.
    fn journal_steps<R: Row>(&self, trial: Option<u32>) -> Vec<Step> {
        let journals = self.folder.journals::<R>().unwrap_or_default();
        let running = journals.into_iter().filter(|(running, _)| {
            trial.is_none_or(|trial| trial == *running)
                && !self.folder.part(TRIALS, *running).exists()
        });
        running.map(|(_, path)| Step::Journal(path)).collect()
    }

    fn interrupted_steps(&self) -> Vec<Step> {
        let joined = self.folder.interrupted::<Record>();
        if regular::exists(&joined) {
            return vec![Step::Journal(joined)];
        }
        let parts = self.folder.interrupted_parts::<Record>();
        let parts = parts.unwrap_or_default().into_values();
        parts.map(Step::Journal).collect()
    }
}

fn missing_or(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "missing".to_owned(),
        _ => error.to_string(),
    }
}
