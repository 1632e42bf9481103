//! A table of a run as a stream of Arrow batches that stands on its own, for libraries of data frames.

use super::Run;
use super::ahead::{Ahead, Steps};
use super::batches::Reader;
use super::export_error::ExportError;
use super::reading::Unread;
use crate::all_columns::AllColumns;
use crate::error::StoreError;
use crate::folder::TRIALS;
use crate::part;
use crate::table::{Row, every_table};
use crate::trial_row;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use std::path::PathBuf;
use std::sync::Arc;
use std::{iter, mem};

/// Batches of a table, with stamps as times. What cannot be read is an error: code that computes with a table does not
/// look at a run's problems.
pub struct TableReader {
    all: AllColumns,
    /// What was read already.
    first: Option<RecordBatch>,
    columns: Option<Vec<String>>,
    /// The rest of the row group that was begun.
    reader: Reader,
    path: PathBuf,
    /// What follows, until reading begins.
    steps: Steps,
    ahead: Option<Ahead>,
}

impl Run {
    /// A table, or these columns of it in this order; all of them where none is named.
    ///
    /// # Errors
    /// The run has no such table or column, or it cannot be read.
    pub fn table(&self, table: &str, columns: &[String]) -> Result<TableReader, ExportError> {
        if table == TRIALS {
            let batch = trial_row::typed_batch(self.trials())?;
            return TableReader::of_batch(batch, columns);
        }
        every_table!(R => if R::TABLE == table {
            let steps = Box::new(self.every_step::<R>(None));
            return TableReader::of_steps(steps, part::schema::<R>(), columns);
        });
        Err(ExportError::NoTable(table.to_owned()))
    }
}

impl TableReader {
    /// Of a table in memory.
    ///
    /// # Errors
    /// It has no such column.
    pub fn of_batch(batch: RecordBatch, columns: &[String]) -> Result<Self, ExportError> {
        let batch = batch.project(&places(&batch.schema(), columns)?)?;
        Ok(Self {
            all: AllColumns::new(batch.schema()),
            first: Some(batch),
            columns: None,
            reader: Box::new(iter::empty()),
            path: PathBuf::new(),
            steps: Box::new(iter::empty()),
            ahead: None,
        })
    }

    fn of_steps(steps: Steps, schema: SchemaRef, columns: &[String]) -> Result<Self, ExportError> {
        let schema = schema.project(&places(&schema, columns)?)?;
        let mut reader = Self {
            all: AllColumns::new(Arc::new(schema)),
            first: None,
            columns: (!columns.is_empty()).then(|| columns.to_vec()),
            reader: Box::new(iter::empty()),
            path: PathBuf::new(),
            steps,
            ahead: None,
        };
        reader.read_first()?;
        Ok(reader)
    }

    /// Reads up to the first rows: what is wrong with the first file is said at once.
    fn read_first(&mut self) -> Result<(), ExportError> {
        while self.first.is_none() {
            let Some(step) = self.steps.next() else {
                break;
            };
            let step = step.map_err(|unread| ExportError::Read(unread.into()))?;
            self.path = step.path().to_owned();
            let batches = step.large(self.columns.as_deref());
            self.reader = batches.map_err(|why| self.failed(why))?;
            self.first = self.read().transpose()?;
        }
        Ok(())
    }

    /// The next batch that has rows, of those that were begun.
    fn read(&mut self) -> Option<Result<RecordBatch, ArrowError>> {
        loop {
            match self.reader.next()? {
                Ok(batch) if batch.num_rows() == 0 => {}
                Ok(batch) => return Some(self.all.complete(&batch)),
                Err(why) => return Some(Err(self.failed(why))),
            }
        }
    }

    /// The next batch, of the next row group where this one is over.
    fn read_on(&mut self) -> Option<Result<RecordBatch, ArrowError>> {
        if self.ahead.is_none() {
            // With the second batch: who looks at the first alone starts no thread.
            let steps = mem::replace(&mut self.steps, Box::new(iter::empty()));
            self.ahead = Some(Ahead::start(steps, self.columns.as_deref()));
        }
        loop {
            if let Some(batch) = self.read() {
                return Some(batch);
            }
            match self.ahead.as_mut()?.next()? {
                Ok(batches) => self.reader = Box::new(batches.into_iter().map(Ok)),
                Err(Unread { path, what }) => {
                    self.path = path;
                    return Some(Err(self.failed(what)));
                }
            }
        }
    }

    fn failed(&self, reason: String) -> ArrowError {
        let path = self.path.clone();
        ArrowError::ExternalError(Box::new(StoreError::Table { path, reason }))
    }
}

/// Where these columns are in a table, in the order in which they are asked for; all where none is.
fn places(schema: &SchemaRef, columns: &[String]) -> Result<Vec<usize>, ExportError> {
    if columns.is_empty() {
        return Ok((0..schema.fields().len()).collect());
    }
    let place = |name: &String| {
        schema.index_of(name).map_err(|_| {
            let names = schema.fields().iter().map(|field| field.name().as_str());
            ExportError::NoColumn {
                column: name.clone(),
                known: names.collect::<Vec<_>>().join(", "),
            }
        })
    };
    columns.iter().map(place).collect()
}

impl Iterator for TableReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.first.take() {
            Some(first) => Some(Ok(first)),
            None => self.read_on(),
        }
    }
}

impl RecordBatchReader for TableReader {
    fn schema(&self) -> SchemaRef {
        self.all.schema().clone()
    }
}
