//! The batches of a table, row group by row group: damage in one of them costs only that one.

use super::Run;
use super::recent::Recent;
use crate::error::reason;
use crate::journal::JournalReader;
use crate::parquet_source::{ParquetSource, only};
use crate::trial_file::ShortTable;
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_schema::ArrowError;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is read next.
#[derive(Debug)]
pub(super) enum Step {
    /// One row group of a Parquet file.
    RowGroup(PathBuf, Arc<ParquetSource>, usize),
    /// Some rows of one, counted from its first.
    RowsOfGroup(PathBuf, Arc<ParquetSource>, usize, Range<u64>),
    /// Some rows of a short table of a trial, counted from its first.
    Short(Range<u64>, ShortTable),
    /// Rows as they came.
    Journal(PathBuf, End),
}

/// Where a journal ends.
#[derive(Debug, Clone, Copy)]
pub(super) enum End {
    /// Behind a message that is whole.
    Known,
    /// Anywhere: it is being written, or was when its process was killed.
    Anywhere,
}

/// Batches as they are read.
pub(super) type Reader = Box<dyn Iterator<Item = Result<RecordBatch, String>> + Send>;

impl Step {
    /// A step for each row group that may have rows of this trial.
    pub(super) fn row_groups(
        path: &Path,
        source: &Arc<ParquetSource>,
        trial: Option<u32>,
    ) -> Vec<Step> {
        let groups = source.row_groups(trial).into_iter();
        let step = |group| Step::RowGroup(path.to_owned(), source.clone(), group);
        groups.map(step).collect()
    }

    /// What it has of these rows, counted from its first. Of a journal, all.
    pub(super) fn part(self, rows: Range<u64>) -> Step {
        match self {
            Step::RowGroup(path, source, group) => Step::RowsOfGroup(path, source, group, rows),
            Step::Short(_, table) => Step::Short(rows, table),
            journal => journal,
        }
    }

    /// How many rows it has.
    pub(super) fn rows(&self) -> u64 {
        match self {
            Step::RowGroup(_, source, group) => source.rows_of(*group),
            Step::RowsOfGroup(.., rows) | Step::Short(rows, _) => {
                rows.end.saturating_sub(rows.start)
            }
            Step::Journal(path, _) => JournalReader::open(path).map_or(0, |batches| {
                let whole = batches.map_while(Result::ok);
                whole.map(|batch| batch.num_rows() as u64).sum()
            }),
        }
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Step::RowGroup(path, ..) | Step::RowsOfGroup(path, ..) | Step::Journal(path, _) => path,
            Step::Short(_, table) => &table.path,
        }
    }

    /// Its batches, few and large.
    pub(super) fn large(&self, columns: Option<&[String]>) -> Result<Reader, String> {
        match self {
            Step::RowGroup(_, source, group) => readable(source.large_batches(*group, columns)),
            other => other.open(columns, None),
        }
    }

    /// Its batches; those of a whole row group from `recent`, where one is given.
    fn open(&self, columns: Option<&[String]>, recent: Option<&Recent>) -> Result<Reader, String> {
        if let (Step::RowGroup(path, source, group), Some(recent)) = (self, recent)
            && let Some(batches) = recent.group(path, source, *group, columns)
        {
            return Ok(Box::new(
                (0..batches.len()).map(move |at| batches[at].clone()),
            ));
        }
        match self {
            Step::RowGroup(_, source, group) => readable(source.batches(*group, columns)),
            Step::RowsOfGroup(_, source, group, rows) => {
                readable(source.batches_in(*group, columns, rows.clone()))
            }
            Step::Short(rows, table) => {
                let columns = columns.map(<[String]>::to_vec);
                let batches = table.read().map(|batches| slices(&batches, rows));
                readable(batches.map_err(reason).map(|batches| {
                    let batches = batches.into_iter();
                    batches.map(move |batch| only(&batch, columns.as_deref()))
                }))
            }
            Step::Journal(path, End::Known) => readable(JournalReader::open(path)),
            Step::Journal(path, End::Anywhere) => readable(
                JournalReader::open(path)
                    .map(|batches| batches.map_while(Result::ok).map(Ok::<_, ArrowError>)),
            ),
        }
    }
}

/// These rows of batches, counted from the first.
fn slices(batches: &[RecordBatch], rows: &Range<u64>) -> Vec<RecordBatch> {
    let mut first = 0;
    let mut slices = Vec::new();
    for batch in batches {
        let count = batch.num_rows() as u64;
        let (from, to) = (rows.start.max(first), rows.end.min(first + count));
        if from < to {
            slices.push(batch.slice((from - first) as usize, (to - from) as usize));
        }
        first += count;
    }
    slices
}

/// Errors are only to be read from here on.
fn readable<E1: ToString, E2: ToString>(
    batches: Result<impl Iterator<Item = Result<RecordBatch, E2>> + Send + 'static, E1>,
) -> Result<Reader, String> {
    match batches {
        Ok(batches) => Ok(Box::new(
            batches.map(|it| it.map_err(|error| error.to_string())),
        )),
        Err(error) => Err(error.to_string()),
    }
}

/// Batches of one table of a run. What cannot be read is left out and noted by the run.
pub struct Batches<'a> {
    run: &'a Run,
    trial: Option<u32>,
    columns: Option<Vec<String>>,
    steps: Box<dyn Iterator<Item = Step> + Send + 'a>,
    reader: Option<Reader>,
    path: PathBuf,
}

impl<'a> Batches<'a> {
    pub(super) fn new(
        run: &'a Run,
        steps: impl IntoIterator<Item = Step, IntoIter: Send + 'a>,
        trial: Option<u32>,
        columns: &[&str],
    ) -> Self {
        let trial_column = trial.map(|_| "trial");
        let wanted = columns.iter().copied().chain(trial_column);
        Self {
            run,
            trial,
            columns: (!columns.is_empty()).then(|| wanted.map(str::to_owned).collect()),
            steps: Box::new(steps.into_iter()),
            reader: None,
            path: PathBuf::new(),
        }
    }

    /// The file that the last batch came from.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn open_next(&mut self) -> Option<()> {
        let step = self.steps.next()?;
        self.path = step.path().to_owned();
        // A pass over all trials reads each row group once, and keeps none.
        let recent = self.trial.and_then(|_| self.run.recent());
        match step.open(self.columns.as_deref(), recent) {
            Ok(reader) => self.reader = Some(reader),
            Err(error) => self.run.note(&self.path, &error),
        }
        Some(())
    }
}

impl Iterator for Batches<'_> {
    type Item = RecordBatch;

    fn next(&mut self) -> Option<RecordBatch> {
        loop {
            match self.reader.as_mut().and_then(Iterator::next) {
                Some(Ok(batch)) => {
                    let batch = of_trial(batch, self.trial);
                    if batch.num_rows() > 0 {
                        return Some(batch);
                    }
                }
                Some(Err(error)) => {
                    self.run.note(&self.path, &error);
                    self.reader = None;
                }
                None => self.open_next()?,
            }
        }
    }
}

/// The rows of one trial: they are next to each other.
fn of_trial(batch: RecordBatch, trial: Option<u32>) -> RecordBatch {
    let column = batch.column_by_name("trial");
    let column = column.and_then(|column| column.as_primitive_opt::<UInt32Type>());
    let (Some(trial), Some(column)) = (trial, column) else {
        return batch;
    };
    let from = column.values().partition_point(|&other| other < trial);
    let to = column.values().partition_point(|&other| other <= trial);
    batch.slice(from, to - from)
}
