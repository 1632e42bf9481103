//! The row groups of a Parquet file, their columns encoded on several threads.
//!
//! A column gets its rows in the order and in the batches in which they came, whatever the number of threads: the file is
//! the same byte for byte.

use crate::content::Content;
use crate::each::each;
use arrow_array::RecordBatch;
use arrow_schema::{FieldRef, Fields, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, ArrowWriterOptions,
    compute_leaves,
};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::SchemaDescriptor;
use std::io::Write;
use std::num::NonZeroUsize;
use std::thread::available_parallelism;

/// Rows that wait for their columns to be encoded at most.
const WAITING: usize = 1 << 16;
/// Rows of which a thread for a column is worth it.
const WORTH_THREADS: usize = 1 << 13;
/// Threads at most: a column is done by one.
pub(crate) const MOST_THREADS: usize = 8;

/// Writes rows as row groups.
pub(crate) struct RowGroups<W: Write + Send> {
    file: SerializedFileWriter<W>,
    new_columns: ArrowRowGroupWriterFactory,
    fields: Fields,
    /// Rows of a row group at most.
    most: usize,
    /// Threads at most.
    threads: usize,
    /// Of the row group that is being written; none between two.
    columns: Vec<ArrowColumnWriter>,
    /// Rows of that row group, those that wait among them.
    rows: usize,
    waiting: Vec<RecordBatch>,
    waiting_rows: usize,
}

impl<W: Write + Send> RowGroups<W> {
    /// Columns of any type that is no list and no struct, encoded on so many threads at most.
    pub(crate) fn create(
        to: W,
        schema: &SchemaRef,
        properties: WriterProperties,
        threads: usize,
    ) -> Result<Self> {
        let most = properties.max_row_group_row_count().unwrap_or(usize::MAX);
        let options = ArrowWriterOptions::new()
            .with_properties(properties)
            .with_skip_arrow_metadata(true);
        let whole = ArrowWriter::try_new_with_options(to, schema.clone(), options)?;
        let (file, new_columns) = whole.into_serialized_writer()?;
        Ok(Self {
            file,
            new_columns,
            fields: schema.fields().clone(),
            most,
            threads: threads.clamp(1, MOST_THREADS),
            columns: Vec::new(),
            rows: 0,
            waiting: Vec::new(),
            waiting_rows: 0,
        })
    }

    /// The columns of the file.
    pub(crate) fn schema(&self) -> &SchemaDescriptor {
        self.file.schema_descr()
    }

    /// Rows of the row group that is being written.
    pub(crate) const fn in_progress(&self) -> usize {
        self.rows
    }

    fn has_columns_of(&self, batch: &RecordBatch) -> bool {
        let found = batch.schema_ref().fields();
        let is_same = |(one, other): (&FieldRef, &FieldRef)| {
            one.name() == other.name() && one.data_type() == other.data_type()
        };
        found.len() == self.fields.len() && found.iter().zip(&self.fields).all(is_same)
    }

    /// Adds rows, where a row group is full to the next one.
    ///
    /// # Errors
    /// They cannot be written, or have other columns than the file, which would come under the wrong names.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        if !self.has_columns_of(batch) {
            let why = "the rows have other columns than the file";
            return Err(ParquetError::General(why.to_owned()));
        }
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
        let rows = std::mem::take(&mut self.waiting_rows);
        let threads = self.threads_for(rows);
        let columns = self.columns.iter_mut().zip(&self.fields).enumerate();
        each(threads, columns, |(at, (column, field))| {
            for batch in &batches {
                for leaf in compute_leaves(field, batch.column(at))? {
                    column.write(&leaf)?;
                }
            }
            Ok::<_, ParquetError>(())
        })?;
        Ok(())
    }

    /// Adds a row group of another file as it is. The one that was being written ends before it.
    ///
    /// # Errors
    /// It cannot be read or written, or has other columns than the file.
    pub(crate) fn append(&mut self, from: &Content, group: &RowGroupMetaData) -> Result<()> {
        self.end_group()?;
        let mut to = self.file.next_row_group()?;
        for column in group.columns() {
            let encoded = ColumnCloseResult {
                bytes_written: u64::try_from(column.compressed_size()).unwrap_or(0),
                rows_written: u64::try_from(group.num_rows()).unwrap_or(0),
                metadata: column.clone(),
                bloom_filter: None,
                column_index: None,
                offset_index: None,
            };
            to.append_column(from, encoded)?;
        }
        to.close()?;
        Ok(())
    }

    /// Ends the row group: rows from now on are in another one.
    pub(crate) fn end_group(&mut self) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        self.encode()?;
        let rows = std::mem::take(&mut self.rows);
        let threads = self.threads_for(rows);
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

    fn threads_for(&self, rows: usize) -> usize {
        if rows < WORTH_THREADS || self.threads == 1 {
            return 1;
        }
        let cpus = available_parallelism().map_or(1, NonZeroUsize::get);
        cpus.min(self.threads)
    }

    /// What it is written to.
    pub(crate) fn inner_mut(&mut self) -> &mut W {
        self.file.inner_mut()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use arrow_array::{Int64Array, StringArray};
    use arrow_schema::{DataType, Field, Schema};
    use std::sync::Arc;

    fn schema() -> SchemaRef {
        let numbers = Field::new("numbers", DataType::Int64, false);
        let words = Field::new("words", DataType::Utf8, true);
        Arc::new(Schema::new(vec![numbers, words]))
    }

    /// `rows` rows, numbered from `from`.
    fn batch(from: i64, rows: i64) -> RecordBatch {
        let numbers: Int64Array = (from..from + rows).map(|k| k * k % 1_009).collect();
        let word = |k: i64| (k % 7 > 0).then(|| format!("word {}", k % 31));
        let words: StringArray = (from..from + rows).map(word).collect();
        RecordBatch::try_new(schema(), vec![Arc::new(numbers), Arc::new(words)]).unwrap()
    }

    fn batches(sizes: &[i64]) -> Vec<RecordBatch> {
        let mut from = 0;
        let next = |&rows: &i64| {
            from += rows;
            batch(from - rows, rows)
        };
        sizes.iter().map(next).collect()
    }

    fn properties(most: usize) -> WriterProperties {
        WriterProperties::builder()
            .set_max_row_group_row_count(Some(most))
            .build()
    }

    /// As the library itself writes it, on one thread.
    fn expected(batches: &[RecordBatch], most: usize) -> Vec<u8> {
        let options = ArrowWriterOptions::new()
            .with_properties(properties(most))
            .with_skip_arrow_metadata(true);
        let mut file = Vec::new();
        let mut writer = ArrowWriter::try_new_with_options(&mut file, schema(), options).unwrap();
        for batch in batches {
            writer.write(batch).unwrap();
        }
        writer.finish().unwrap();
        drop(writer);
        file
    }

    #[test]
    fn the_bytes_are_those_of_one_thread() {
        for sizes in [
            &[0][..],
            &[1],
            &[10, 0, 3, 500],
            &[40_000, 1, 40_000, 7_000],
            &[100_000, 30_000, 5],
            &[1_000; 150],
        ] {
            let batches = batches(sizes);
            for (most, threads) in [(1_000, 8), (65_537, 1), (1 << 20, 3)] {
                let mut file = Vec::new();
                let mut groups =
                    RowGroups::create(&mut file, &schema(), properties(most), threads).unwrap();
                for batch in &batches {
                    groups.write(batch).unwrap();
                }
                groups.finish().unwrap();
                drop(groups);
                assert_eq!(file, expected(&batches, most), "{sizes:?}, {most}");
            }
        }
    }

    #[test]
    fn rows_of_other_columns_are_refused() {
        let mut groups = RowGroups::create(Vec::new(), &schema(), properties(9), 1).unwrap();
        let rows = batch(0, 3);
        assert!(groups.write(&rows.project(&[0]).unwrap()).is_err());
        assert!(groups.write(&rows.project(&[1, 0]).unwrap()).is_err());
        groups.write(&rows).unwrap();
    }
}
