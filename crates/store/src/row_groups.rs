//! The row groups of a Parquet file, their columns encoded on several threads.
//!
//! A column gets its rows in the order and in the batches in which they came, whatever the number of threads: the file is
//! the same byte for byte.

use arrow_array::RecordBatch;
use arrow_schema::{FieldRef, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, ArrowWriterOptions,
    compute_leaves,
};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use std::io::Write;
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, available_parallelism};

/// Rows that wait for their columns to be encoded at most.
const WAITING: usize = 1 << 16;
/// Rows of which a thread for a column is worth it.
const WORTH_THREADS: usize = 1 << 13;
/// Threads at most: a column is done by one.
const THREADS: usize = 8;

/// Writes rows as row groups.
pub(crate) struct RowGroups<W: Write + Send> {
    file: SerializedFileWriter<W>,
    new_columns: ArrowRowGroupWriterFactory,
    fields: Vec<FieldRef>,
    /// Rows of a row group at most.
    most: usize,
    /// Of the row group that is being written; none between two.
    columns: Vec<ArrowColumnWriter>,
    /// Rows of that row group, those that wait among them.
    rows: usize,
    waiting: Vec<RecordBatch>,
    waiting_rows: usize,
}

impl<W: Write + Send> RowGroups<W> {
    /// Columns of any type that is no list and no struct.
    pub(crate) fn create(to: W, schema: &SchemaRef, properties: WriterProperties) -> Result<Self> {
        let most = properties.max_row_group_row_count().unwrap_or(usize::MAX);
        let options = ArrowWriterOptions::new()
            .with_properties(properties)
            .with_skip_arrow_metadata(true);
        let whole = ArrowWriter::try_new_with_options(to, schema.clone(), options)?;
        let (file, new_columns) = whole.into_serialized_writer()?;
        Ok(Self {
            file,
            new_columns,
            fields: schema.fields().iter().cloned().collect(),
            most,
            columns: Vec::new(),
            rows: 0,
            waiting: Vec::new(),
            waiting_rows: 0,
        })
    }

    /// Rows of the row group that is being written.
    pub(crate) const fn in_progress(&self) -> usize {
        self.rows
    }

    /// Adds rows, where a row group is full to the next one.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let mut from = 0;
        while from < batch.num_rows() {
            let fit = (batch.num_rows() - from).min(self.most - self.rows);
            self.waiting.push(batch.slice(from, fit));
            self.waiting_rows += fit;
            self.rows += fit;
            from += fit;
            if self.rows == self.most {
                self.end_group()?;
            } else if self.waiting_rows >= WAITING {
                self.encode()?;
            }
        }
        Ok(())
    }

    fn encode(&mut self) -> Result<()> {
        if self.columns.is_empty() {
            let group = self.file.flushed_row_groups().len();
            self.columns = self.new_columns.create_column_writers(group)?;
        }
        let batches = std::mem::take(&mut self.waiting);
        let threads = threads_for(std::mem::take(&mut self.waiting_rows));
        let columns = self.columns.iter_mut().zip(&self.fields).enumerate();
        each(threads, columns, |(at, (column, field))| {
            for batch in &batches {
                for leaf in compute_leaves(field, batch.column(at))? {
                    column.write(&leaf)?;
                }
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Ends the row group: rows from now on are in another one.
    pub(crate) fn end_group(&mut self) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        self.encode()?;
        let threads = threads_for(std::mem::take(&mut self.rows));
        let columns = std::mem::take(&mut self.columns).into_iter();
        let chunks: Vec<ArrowColumnChunk> = each(threads, columns, ArrowColumnWriter::close)?;
        let mut group = self.file.next_row_group()?;
        for chunk in chunks {
            chunk.append_to_row_group(&mut group)?;
        }
        group.close()?;
        Ok(())
    }

    /// Ends the row group and writes the footer.
    pub(crate) fn finish(&mut self) -> Result<ParquetMetaData> {
        self.end_group()?;
        self.file.finish()
    }

    /// What it is written to.
    pub(crate) fn inner_mut(&mut self) -> &mut W {
        self.file.inner_mut()
    }
}

fn threads_for(rows: usize) -> usize {
    if rows < WORTH_THREADS {
        return 1;
    }
    available_parallelism()
        .map_or(1, NonZeroUsize::get)
        .min(THREADS)
}

/// What this work gives for each item, in their order. A thread that is done takes the next item.
fn each<I: Send, R: Send>(
    threads: usize,
    items: impl ExactSizeIterator<Item = I> + Send,
    work: impl Fn(I) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    if threads == 1 {
        return items.map(work).collect();
    }
    let left = Mutex::new(items.enumerate());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let some = || -> Result<Vec<(usize, R)>> {
        let mut done = Vec::new();
        while let Some((at, item)) = next() {
            done.push((at, work(item)?));
        }
        Ok(done)
    };
    let mut all = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(some)).collect();
        let mut all = some()?;
        for other in others {
            let panicked = |_| ParquetError::General("a thread that encodes failed".to_owned());
            all.extend(other.join().map_err(panicked)??);
        }
        Ok::<_, ParquetError>(all)
    })?;
    all.sort_by_key(|(at, _)| *at);
    Ok(all.into_iter().map(|(_, result)| result).collect())
}
