//! A table of a run for other tools: CSV with a line of heads, times as integer nanoseconds, nothing where a value is null
//! (RFC 4180), or a Parquet file of the same columns and values.

use super::Run;
use super::export_error::ExportError;
use crate::folder::TRIALS;
use crate::table::{Row, every_table};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampNanosecondType, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, Schema, TimeUnit};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::PathBuf;

impl Run {
    /// The names of its tables that are there, in the order of the folder's description.
    pub fn tables(&self) -> Vec<&'static str> {
        let mut tables = Vec::new();
        if !self.trials.is_empty() {
            tables.push(TRIALS);
        }
        let others = every_table!(R => (R::TABLE, self.steps::<R>(None).next().is_some()));
        tables.extend(
            others
                .into_iter()
                .filter(|(_, any)| *any)
                .map(|(name, _)| name),
        );
        tables
    }

    /// The Parquet file of a table; `None` where the run is not finished or has no such table.
    pub fn table_file(&self, table: &str) -> Option<PathBuf> {
        let known = self.tables().contains(&table) && self.is_joined();
        known.then(|| self.folder.table(table))
    }

    /// Writes a table as CSV.
    ///
    /// # Errors
    /// There is no such table, it cannot be read, or `out` does not take it.
    pub fn write_csv(&self, table: &str, out: &mut dyn Write) -> Result<(), ExportError> {
        write_first(self.table(table, &[])?, usize::MAX, out)
    }

    /// Writes the same table as a Parquet file. The one in the run's folder has stamps as differences, and is there once the
    /// run is finished.
    ///
    /// # Errors
    /// There is no such table, it cannot be read, or `out` does not take it.
    pub fn write_parquet(&self, table: &str, out: impl Write + Send) -> Result<(), ExportError> {
        let batches = self.table(table, &[])?;
        let zstd = Compression::ZSTD(ZstdLevel::default());
        let properties = WriterProperties::builder().set_compression(zstd).build();
        let mut writer = ArrowWriter::try_new(out, batches.schema(), Some(properties))?;
        for batch in batches {
            writer.write(&batch?)?;
        }
        writer.close()?;
        Ok(())
    }
}

/// Writes rows as CSV under their heads.
///
/// # Errors
/// They hold what no table of ours does, or `out` does not take it.
pub fn write_batch(rows: &RecordBatch, out: &mut dyn Write) -> Result<(), ExportError> {
    let mut out = csv::Writer::from_writer(out);
    write_heads(rows.schema_ref(), &mut out)?;
    write_rows(rows, &mut out)?;
    Ok(out.flush()?)
}

/// Writes the first rows of a table as CSV under their heads, this number or all that there are: of the batches behind them
/// none is read.
///
/// # Errors
/// They cannot be read, or `out` does not take them.
pub fn write_first(
    mut table: impl RecordBatchReader,
    rows: usize,
    out: &mut dyn Write,
) -> Result<(), ExportError> {
    let mut out = csv::Writer::from_writer(out);
    write_heads(&table.schema(), &mut out)?;
    let mut left = rows;
    while left > 0
        && let Some(batch) = table.next().transpose()?
    {
        let taken = left.min(batch.num_rows());
        write_rows(&batch.slice(0, taken), &mut out)?;
        left -= taken;
    }
    Ok(out.flush()?)
}

type Csv<'a> = csv::Writer<&'a mut dyn Write>;

fn write_heads(schema: &Schema, out: &mut Csv<'_>) -> io::Result<()> {
    Ok(out.write_record(schema.fields().iter().map(|field| field.name()))?)
}

fn write_rows(rows: &RecordBatch, out: &mut Csv<'_>) -> Result<(), ExportError> {
    let columns: Vec<Cells<'_>> = rows
        .columns()
        .iter()
        .map(|column| cells(column))
        .collect::<Result<_, _>>()?;
    let mut text = String::new();
    for row in 0..rows.num_rows() {
        for (array, write) in rows.columns().iter().zip(&columns) {
            text.clear();
            if array.is_valid(row) {
                write(row, &mut text);
            }
            out.write_field(&text).map_err(io::Error::from)?;
        }
        out.write_record(None::<&[u8]>).map_err(io::Error::from)?;
    }
    Ok(())
}

/// Writes the cell of a row.
type Cells<'a> = Box<dyn Fn(usize, &mut String) + 'a>;

fn cells(array: &dyn Array) -> Result<Cells<'_>, ArrowError> {
    macro_rules! number {
        ($kind:ty) => {{
            let values = array.as_primitive::<$kind>();
            Box::new(move |row, text: &mut String| {
                let _ = write!(text, "{}", values.value(row)); // into a string: it cannot fail
            })
        }};
    }
    Ok(match array.data_type() {
        DataType::Int8 => number!(Int8Type),
        DataType::Int16 => number!(Int16Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int64 => number!(Int64Type),
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Float64 => number!(Float64Type),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => number!(TimestampNanosecondType),
        DataType::Boolean => {
            let values = array.as_boolean();
            Box::new(move |row, text| {
                text.push_str(if values.value(row) { "true" } else { "false" })
            })
        }
        DataType::Utf8 => {
            let values = array.as_string::<i32>();
            Box::new(move |row, text| text.push_str(values.value(row)))
        }
        // Without words all are null.
        DataType::Dictionary(..) if array.as_any_dictionary().values().is_empty() => {
            Box::new(|_, _| {})
        }
        DataType::Dictionary(..) => {
            let words = array.as_any_dictionary();
            let (keys, values) = (words.normalized_keys(), cells(words.values().as_ref())?);
            Box::new(move |row, text| values(keys[row], text))
        }
        other => return Err(ArrowError::NotYetImplemented(format!("{other} as text"))),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use arrow_array::{ArrayRef, Int64Array, RecordBatchIterator};
    use std::sync::Arc;

    /// A run whose parts are not joined has a batch for each trial.
    #[test]
    fn the_first_rows_may_be_of_several_batches() {
        let column = |from: i64| Arc::new(Int64Array::from_iter_values(from..from + 4)) as ArrayRef;
        let batch = |from| RecordBatch::try_from_iter([("seq", column(from))]).unwrap();
        let written = |rows: usize| {
            let batches = [batch(0), batch(4), batch(8)];
            let schema = batches[0].schema();
            let all = RecordBatchIterator::new(batches.into_iter().map(Ok), schema);
            let mut text = Vec::new();
            write_first(all, rows, &mut text).unwrap();
            String::from_utf8(text).unwrap()
        };
        let of =
            |rows: usize| (0..rows).fold("seq\n".to_owned(), |text, row| format!("{text}{row}\n"));
        for rows in [0, 3, 4, 10, 12] {
            assert_eq!(written(rows), of(rows));
        }
        assert_eq!(written(20), of(12));
    }
}
