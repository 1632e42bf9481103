//! What a run's tables hold: packets, noise, series and the like, of one trial or of all.

use super::batches::{Batches, End, Step};
use super::recent::Recent;
use super::{Run, State};
use crate::error::{StoreError, reason};
use crate::folder::Folder;
use crate::parquet_source::ParquetSource;
use crate::part::{self, NOISE_NS, NOISE_WHO};
use crate::regular;
use crate::table::{self, Row};
use crate::trial_file::RecordedTrial;
use crate::trial_row::TrialRow;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use arrow_schema::SchemaRef;
use delaylab_model::Nanos;
use delaylab_model::hop::Hop;
use delaylab_model::noise::{ClockReads, NoiseEvent};
use delaylab_model::plan::Unit;
use delaylab_model::record::Record;
use delaylab_model::series::{SeriesPoint, SeriesValue};
use delaylab_model::transfer::Transfer;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// What becomes of an unfinished run while it is looked at.
const ENDED: &str = "gone since the run was opened: the run has ended or was moved. Open it again";

/// What holds a table.
pub(super) enum TableFile {
    /// The table itself.
    Joined,
    /// What this recorded trial left.
    OfTrial(u32),
}

/// A file that cannot be read, and what is wrong with it.
pub(super) struct Unread {
    pub(super) path: PathBuf,
    pub(super) what: String,
}

impl From<Unread> for StoreError {
    fn from(unread: Unread) -> Self {
        Self::Table {
            path: unread.path,
            reason: unread.what,
        }
    }
}

/// Says what is wrong with a file. One that is not there is missing, whatever the library says of it.
pub(super) fn unread(path: PathBuf, what: String) -> Unread {
    let what = match regular::exists(&path) {
        true => what,
        false => "missing".to_owned(),
    };
    Unread { path, what }
}

/// What a recorded trial left.
pub(super) fn recorded(folder: &Folder, trial: u32) -> Result<RecordedTrial, Unread> {
    RecordedTrial::open(folder, trial)
        .map_err(|mismatch| unread(folder.file(&mismatch.file), mismatch.why))
}

/// The row groups of a run's table that may have rows of this trial.
fn of_table<R: Row>(
    folder: &Folder,
    recent: &Recent,
    known: &SchemaRef,
    trial: Option<u32>,
) -> Result<Vec<Step>, Unread> {
    let path = folder.table(R::TABLE);
    let open = || ParquetSource::open(&path, known);
    // It changes no more: it is opened once.
    match recent.source(&path, open) {
        Ok(source) => Ok(Step::row_groups(&path, &source, trial)),
        Err(_) if R::IS_OPTIONAL && !regular::exists(&path) => Ok(Vec::new()),
        Err(error) => Err(unread(path, error.to_string())),
    }
}

/// The same of what the trial `of` left of a table.
fn of_part(
    folder: &Folder,
    of: u32,
    table: &str,
    known: &SchemaRef,
    trial: Option<u32>,
) -> Result<Vec<Step>, Unread> {
    let recorded = recorded(folder, of)?;
    if let Some(short) = recorded.short(table) {
        return Ok(vec![Step::Short(0..short.rows, short)]);
    }
    let path = recorded.path(table);
    match recorded.own_file(table, known) {
        Ok(Some(source)) => Ok(Step::row_groups(&path, &Arc::new(source), trial)),
        Ok(None) => Ok(Vec::new()),
        Err(error) => Err(unread(path, reason(error))),
    }
}

/// A record and the noise that it met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Noised<'a> {
    /// The record.
    pub record: &'a Record,
    /// For how long noise held its CPU while it was under way; `None` where no source of noise ran, or what
    /// it saw was lost.
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
    /// How many trials it has.
    pub fn trial_count(&self) -> usize {
        let trials: BTreeSet<u32> = self.trials().iter().map(|row| row.trial).collect();
        trials.len()
    }

    /// How many records it holds, without those of interrupted trials.
    pub fn record_count(&self) -> u64 {
        self.steps::<Record>(None).map(|step| step.rows()).sum()
    }

    /// How many its recorded trials hold: without those of trials that are being recorded, which would have to be read.
    pub(crate) fn recorded_count(&self) -> u64 {
        self.recorded_steps().map(|step| step.rows()).sum()
    }

    /// Those of packets, without trials that are being recorded.
    fn recorded_steps(&self) -> impl Iterator<Item = Step> + Send + '_ {
        let steps = self.steps::<Record>(None);
        steps.filter(|step| !matches!(step, Step::Journal(..)))
    }

    /// Records of one trial, or of all in their order, with these columns (none named: all), as Arrow
    /// batches. A pass over all trials is faster than one for each. The column `trial` is always
    /// there if a trial is asked for.
    pub fn records(&self, trial: Option<u32>, columns: &[&str]) -> Batches<'_> {
        self.batches::<Record>(trial, columns)
    }

    pub(super) fn batches<R: Row>(&self, trial: Option<u32>, columns: &[&str]) -> Batches<'_> {
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
        let steps = self.recorded_steps().scan(0, move |first, step| {
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

    pub(super) fn for_each<R: Row>(&self, trial: Option<u32>, mut take: impl FnMut(&R)) {
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

    /// The row groups, short tables and journals that may have rows of this trial, in the order of the trials. A file is opened when
    /// its turn comes: a run under way may have more of them than a process may hold open. What is wrong with one is noted.
    pub(super) fn steps<R: Row>(
        &self,
        trial: Option<u32>,
    ) -> impl Iterator<Item = Step> + Send + use<'_, R> {
        let steps = self.every_step::<R>(trial);
        steps.filter_map(|step| match step {
            Ok(step) => Some(step),
            Err(unread) => {
                self.note(&unread.path, &unread.what);
                None
            }
        })
    }

    /// The same with what cannot be read, in its place. They need no run any more.
    pub(super) fn every_step<R: Row>(
        &self,
        trial: Option<u32>,
    ) -> impl Iterator<Item = Result<Step, Unread>> + Send + use<R> {
        let known = part::schema::<R>();
        let (folder, recent) = (self.folder.clone(), self.recent.clone());
        let files = self.files(trial);
        let journals = match self.is_joined() {
            true => Vec::new(),
            false => self.journal_steps::<R>(trial),
        };
        let row_groups = files.into_iter().flat_map(move |file| {
            let steps = file.and_then(|file| match file {
                TableFile::Joined => of_table::<R>(&folder, &recent, &known, trial),
                TableFile::OfTrial(of) => of_part(&folder, of, R::TABLE, &known, trial),
            });
            match steps {
                Ok(steps) => steps.into_iter().map(Ok).collect(),
                Err(unread) => vec![Err(unread)],
            }
        });
        row_groups.chain(journals.into_iter().map(Ok))
    }

    /// Trials that are being recorded.
    fn journal_steps<R: Row>(&self, trial: Option<u32>) -> Vec<Step> {
        let journals = self.folder.journals::<R>().unwrap_or_default();
        let running = journals.into_iter().filter(|(running, _)| {
            trial.is_none_or(|trial| trial == *running) && !self.folder.is_recorded(*running)
        });
        let end = self.end_of_journals();
        running.map(|(_, path)| Step::Journal(path, end)).collect()
    }

    fn end_of_journals(&self) -> End {
        match self.state() {
            State::Partial => End::Anywhere,
            State::Complete => End::Known,
        }
    }

    fn interrupted_steps(&self) -> Vec<Step> {
        let joined = self.folder.interrupted::<Record>();
        if regular::exists(&joined) {
            return vec![Step::Journal(joined, self.end_of_journals())];
        }
        let parts = self.folder.interrupted_parts::<Record>();
        let parts = parts.unwrap_or_default().into_values();
        let end = self.end_of_journals();
        parts.map(|path| Step::Journal(path, end)).collect()
    }

    /// What holds a table, or one trial of it.
    pub(super) fn files(&self, trial: Option<u32>) -> Vec<Result<TableFile, Unread>> {
        if self.is_joined() {
            return vec![Ok(TableFile::Joined)];
        }
        match self.recorded_trials(trial) {
            Ok(trials) => trials
                .into_iter()
                .map(|trial| Ok(TableFile::OfTrial(trial)))
                .collect(),
            Err(error) => vec![Err(Unread {
                path: self.folder.parts(),
                what: error.to_string(),
            })],
        }
    }

    /// The trials that are recorded, or this one if it is. Those that were there when the run was opened are there, unless
    /// it has ended since.
    fn recorded_trials(&self, trial: Option<u32>) -> io::Result<BTreeSet<u32>> {
        let recorded: BTreeSet<u32> = match trial {
            // Without looking through thousands of others.
            Some(trial) => {
                let is_recorded = self.folder.is_recorded(trial);
                is_recorded.then_some(trial).into_iter().collect()
            }
            None => self.folder.recorded_trials()?,
        };
        let mut known = self.trials.iter().map(|row| row.trial);
        let is_lost =
            |known: u32| trial.is_none_or(|trial| trial == known) && !recorded.contains(&known);
        match known.any(is_lost) || !self.folder.0.exists() {
            true => Err(io::Error::other(ENDED)),
            false => Ok(recorded),
        }
    }
}
