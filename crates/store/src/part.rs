//! What one trial adds to the tables: its journals, sorted.

use crate::digest::FileFacts;
use crate::disk::SharedDisk;
use crate::error::{StoreError, arrow};
use crate::folder::TRIALS;
use crate::journal::Journal;
use crate::parquet_file::ParquetFile;
use crate::sorter::Sorter;
use crate::table::{self, Row};
use crate::trial_file::{NewTable, NewTrial};
use crate::trial_row::{self, TrialRow};
use crate::unanswered::KeptUnanswered;
use arrow_array::builder::{Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use delaylab_model::Nanos;
use delaylab_model::record::Record;
use std::path::Path;
use std::sync::Arc;

/// For how long noise held a record's CPU while it was under way, where a source of noise ran, and
/// who held it longest.
pub type NoiseOf<'a> = dyn Fn(&Record) -> (Option<Nanos>, Option<&'a str>) + 'a;

/// The column with what [`NoiseOf`] says first.
pub(crate) const NOISE_NS: &str = "noise_ns";
/// The column with what it says second.
pub(crate) const NOISE_WHO: &str = "noise_who";

/// The schema of `records.parquet`: a record's fields, and the noise that it met.
fn records_schema() -> SchemaRef {
    let own = table::schema::<Record>();
    let noise = [
        Arc::new(Field::new(NOISE_NS, DataType::Int64, true)),
        Arc::new(Field::new(NOISE_WHO, DataType::Utf8, true)),
    ];
    let fields = own.fields().iter().cloned().chain(noise);
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// The schema of a table as files have it.
pub(crate) fn schema<R: Row>() -> SchemaRef {
    match R::TABLE {
        Record::TABLE => records_schema(),
        _ => table::schema::<R>(),
    }
}

/// A trial's part of the records, which is being written.
pub(crate) struct RecordsPart {
    own: SchemaRef,
    all: SchemaRef,
    table: NewTable,
}

impl RecordsPart {
    /// `count`: how many there will be.
    pub(crate) fn create(trial: &NewTrial, count: u64) -> Result<Self, StoreError> {
        let all = records_schema();
        Ok(Self {
            table: trial.begin(Record::TABLE, &all, count)?,
            own: table::schema::<Record>(),
            all,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        self.table.path()
    }

    /// The next of them in the order of the file.
    pub(crate) fn write(
        &mut self,
        rows: &[Record],
        noise_of: &NoiseOf<'_>,
    ) -> Result<(), StoreError> {
        let batch = || {
            let mut columns = table::batch(&self.own, rows)?.columns().to_vec();
            columns.extend(noise_columns(rows, noise_of));
            RecordBatch::try_new(self.all.clone(), columns)
        };
        let batch = batch().map_err(arrow(self.path()))?;
        self.table.write(&batch)
    }

    pub(crate) fn finish(self, trial: &mut NewTrial) -> Result<(), StoreError> {
        trial.end(self.table)
    }
}

/// Writes a trial's part of the records. `unanswered` sees all of them.
pub(crate) fn write_records(
    trial: &mut NewTrial,
    journal: &mut Journal<Record>,
    unanswered: &mut KeptUnanswered<'_>,
    noise_of: &NoiseOf<'_>,
) -> Result<(), StoreError> {
    let mut part = RecordsPart::create(trial, journal.rows())?;
    sorted(journal, |rows| {
        unanswered.see(rows);
        part.write(rows, noise_of)
    })?;
    part.finish(trial)
}

fn noise_columns(rows: &[Record], noise_of: &NoiseOf<'_>) -> [ArrayRef; 2] {
    let mut ns = Int64Builder::with_capacity(rows.len());
    let mut who = StringBuilder::new();
    for row in rows {
        let noise = noise_of(row);
        ns.append_option(noise.0);
        who.append_option(noise.1);
    }
    [Arc::new(ns.finish()), Arc::new(who.finish())]
}

/// Writes a trial's part of another table, where it has any.
pub(crate) fn write<R: Row>(
    trial: &mut NewTrial,
    journal: &mut Journal<R>,
) -> Result<(), StoreError> {
    if journal.is_empty() {
        return Ok(());
    }
    let schema = table::schema::<R>();
    let mut part = trial.begin(R::TABLE, &schema, journal.rows())?;
    sorted(journal, |rows: &[R]| {
        part.write(&table::batch(&schema, rows).map_err(arrow(part.path()))?)
    })?;
    trial.end(part)
}

/// The same of rows in any order, which are all.
pub(crate) fn write_rows<R: Row>(trial: &mut NewTrial, rows: &[R]) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    let schema = table::schema::<R>();
    let mut rows = rows.to_vec();
    rows.sort_by(|one, other| (one.stream(), one.key()).cmp(&(other.stream(), other.key())));
    let mut part = trial.begin(R::TABLE, &schema, rows.len() as u64)?;
    part.write(&table::batch(&schema, &rows).map_err(arrow(part.path()))?)?;
    trial.end(part)
}

/// Hands over the rows of a journal, one stream after the other, each in order.
fn sorted<R: Row>(
    journal: &mut Journal<R>,
    mut emit: impl FnMut(&[R]) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut found = 0;
    let mut sorter = Sorter::new();
    let mut emit = |rows: &[R]| {
        found += rows.len() as u64;
        emit(rows)
    };
    for stream in journal.streams().clone() {
        journal.each_batch(|rows| {
            let own = rows.drain(..).filter(|row| row.stream() == stream);
            sorter.push(own, &mut emit)
        })?;
        sorter.finish(&mut emit)?;
    }
    has_all(journal, found)
}

/// An error where not all rows of a journal were found.
fn has_all<R: Row>(journal: &Journal<R>, found: u64) -> Result<(), StoreError> {
    if found == journal.rows() {
        return Ok(());
    }
    Err(StoreError::Table {
        path: journal.path().to_owned(),
        reason: format!("holds {found} rows of {} that were written", journal.rows()),
    })
}

/// Writes the rows of one trial, after what its parts hold, and makes it part of the run.
pub(crate) fn write_trial(mut trial: NewTrial, rows: &[TrialRow]) -> Result<(), StoreError> {
    let batch = trial_row::batch(rows).map_err(arrow(Path::new(TRIALS)))?;
    trial.add(TRIALS, &batch)?;
    trial.put_in_place()
}

/// Writes the rows of all trials.
pub(crate) fn write_trials(
    disk: &SharedDisk,
    path: &Path,
    rows: &[TrialRow],
) -> Result<FileFacts, StoreError> {
    let batch = trial_row::batch(rows).map_err(arrow(path))?;
    ParquetFile::create(disk, path, &batch.schema())?.write_all(&batch)
}
