//! A small table in memory, to be written as CSV or Parquet: what is worked out of a run, beside what it recorded.

use crate::run::{ExportError, write_batch};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use std::io::Write;
use std::sync::Arc;

/// Values of a column, one a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Words.
    Text(Vec<String>),
    /// Counts, and times in nanoseconds; `None` where there is none.
    Whole(Vec<Option<i64>>),
    /// Other numbers.
    Number(Vec<Option<f64>>),
}

/// Columns of the same length by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Frame {
    /// In order.
    pub columns: Vec<(String, Values)>,
}

impl Frame {
    /// Writes a line of heads and a line a row (RFC 4180).
    ///
    /// # Errors
    /// Where `out` does not take it.
    pub fn write_csv(&self, out: &mut dyn Write) -> Result<(), ExportError> {
        write_batch(&self.batch()?, out)
    }

    /// Writes a Parquet file.
    ///
    /// # Errors
    /// Where `out` does not take it.
    pub fn write_parquet(&self, out: impl Write + Send) -> Result<(), ExportError> {
        let batch = self.batch()?;
        let mut writer = ArrowWriter::try_new(out, batch.schema(), None)?;
        writer.write(&batch)?;
        writer.close()?;
        Ok(())
    }

    /// The same as an Arrow batch.
    ///
    /// # Errors
    /// Columns have different lengths.
    pub fn batch(&self) -> Result<RecordBatch, ExportError> {
        let column = |(name, values): &(String, Values)| {
            let array: ArrayRef = match values {
                Values::Text(texts) => Arc::new(StringArray::from_iter_values(texts)),
                Values::Whole(numbers) => Arc::new(Int64Array::from(numbers.clone())),
                Values::Number(numbers) => Arc::new(Float64Array::from(numbers.clone())),
            };
            // Nullable whatever its values: rows of several runs are put together only where their types agree.
            (name.clone(), array, true)
        };
        let columns: Vec<_> = self.columns.iter().map(column).collect();
        Ok(RecordBatch::try_from_iter_with_nullable(columns)?)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use bytes::Bytes;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    fn frame() -> Frame {
        Frame {
            columns: vec![
                (
                    "case".to_owned(),
                    Values::Text(vec!["FIFO, 1 MB".to_owned(), "CoDel".to_owned()]),
                ),
                ("p50_ns".to_owned(), Values::Whole(vec![Some(562), None])),
                (
                    "lost_share".to_owned(),
                    Values::Number(vec![Some(0.25), None]),
                ),
            ],
        }
    }

    #[test]
    fn csv_has_heads_quotes_and_nothing_for_null() {
        let mut out = Vec::new();
        frame().write_csv(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(
            text,
            "case,p50_ns,lost_share\n\"FIFO, 1 MB\",562,0.25\nCoDel,,\n"
        );
    }

    #[test]
    fn its_types_do_not_depend_on_its_values() {
        let mut whole = frame();
        for (_, values) in &mut whole.columns {
            if let Values::Whole(numbers) = values {
                *numbers = vec![Some(1); 2];
            }
        }
        assert_eq!(
            whole.batch().unwrap().schema(),
            frame().batch().unwrap().schema()
        );
    }

    #[test]
    fn parquet_is_read_back() {
        let mut out = Vec::new();
        frame().write_parquet(&mut out).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(out)).unwrap();
        let batches: Vec<_> = reader.build().unwrap().collect::<Result<_, _>>().unwrap();
        assert_eq!(batches, [frame().batch().unwrap()]);
    }
}
