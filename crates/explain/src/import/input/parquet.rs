//! A Parquet file as the text of its table, so that it is read as any other one. Times become seconds since 1970,
//! what is null an empty cell; columns of other kinds than numbers, times, words and truths are left out.

use super::Pieces;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, RecordBatch};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use bytes::Bytes;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use std::fmt::{Display, Write as _};
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The table of a whole Parquet file, as lines of cells with commas between them. Its footer is at its end: it has to be in memory.
///
/// # Errors
/// What is wrong with it.
pub fn table_text(file: Vec<u8>) -> Result<impl Read, String> {
    let (names, mut batches) = guarded(|| {
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let file =
            ParquetRecordBatchReaderBuilder::try_new_with_options(Bytes::from(file), options)?;
        let fields = file.schema().fields().iter();
        let names = fields.filter(|field| cell_of(field.data_type()).is_some());
        let names: Vec<String> = names.map(|field| quoted(field.name())).collect();
        Ok((names, file.build()?))
    })
    .map_err(|error| error.to_string())?;
    let mut heading = names.join(",") + "\n";
    Ok(Pieces::new(move || {
        let mut lines = std::mem::take(&mut heading);
        while lines.is_empty() {
            let next = guarded(|| batches.next().transpose());
            match next.map_err(io::Error::other)? {
                Some(batch) => write_lines(&batch, &mut lines),
                None => break,
            }
        }
        Ok(lines.into_bytes())
    }))
}

/// The library may panic at a broken file.
fn guarded<T>(read: impl FnOnce() -> Result<T, ArrowError>) -> Result<T, ArrowError> {
    let broken = |_| {
        let reason = "the file is broken";
        Err(ArrowError::ParquetError(reason.to_owned()))
    };
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(broken)
}

fn write_lines(batch: &RecordBatch, out: &mut String) {
    let columns = batch.columns().iter();
    let columns: Vec<(&ArrayRef, WriteCell)> = columns
        .filter_map(|column| Some((column, cell_of(column.data_type())?)))
        .collect();
    for row in 0..batch.num_rows() {
        for (place, (column, write)) in columns.iter().enumerate() {
            if place > 0 {
                out.push(',');
            }
            if column.is_valid(row) {
                write(column.as_ref(), row, out);
            }
        }
        out.push('\n');
    }
}

/// Writes the value of a row that has one.
type WriteCell = fn(&dyn Array, usize, &mut String);

/// How values of a type are written.
fn cell_of(data_type: &DataType) -> Option<WriteCell> {
    Some(match data_type {
        DataType::Boolean => |column, row, out| put(out, column.as_boolean().value(row)),
        DataType::Int8 => number::<Int8Type>,
        DataType::Int16 => number::<Int16Type>,
        DataType::Int32 => number::<Int32Type>,
        DataType::Int64 => number::<Int64Type>,
        DataType::UInt8 => number::<UInt8Type>,
        DataType::UInt16 => number::<UInt16Type>,
        DataType::UInt32 => number::<UInt32Type>,
        DataType::UInt64 => number::<UInt64Type>,
        DataType::Float32 => number::<Float32Type>,
        DataType::Float64 => number::<Float64Type>,
        DataType::Timestamp(unit, _) => match unit {
            TimeUnit::Second => return None,
            TimeUnit::Millisecond => seconds::<TimestampMillisecondType, 3>,
            TimeUnit::Microsecond => seconds::<TimestampMicrosecondType, 6>,
            TimeUnit::Nanosecond => seconds::<TimestampNanosecondType, 9>,
        },
        DataType::Utf8 => |column, row, out| {
            out.push_str(&quoted(column.as_string::<i32>().value(row)));
        },
        _ => return None,
    })
}

fn number<T: ArrowPrimitiveType>(column: &dyn Array, row: usize, out: &mut String)
where
    T::Native: Display,
{
    put(out, primitive::<T>(column).value(row));
}

/// A time that counts 10^-`DIGITS` seconds since 1970.
fn seconds<T: ArrowPrimitiveType<Native = i64>, const DIGITS: usize>(
    column: &dyn Array,
    row: usize,
    out: &mut String,
) {
    let value = primitive::<T>(column).value(row);
    let scale = 10_u64.pow(DIGITS as u32);
    let (whole, rest) = (value.unsigned_abs() / scale, value.unsigned_abs() % scale);
    let sign = if value < 0 { "-" } else { "" };
    put(out, format_args!("{sign}{whole}.{rest:0DIGITS$}"));
}

fn primitive<T: ArrowPrimitiveType>(column: &dyn Array) -> &PrimitiveArray<T> {
    column.as_primitive::<T>()
}

fn put(out: &mut String, value: impl Display) {
    // Strings take whatever is written to them.
    let _ = write!(out, "{value}");
}

/// A word as one cell and one line.
fn quoted(word: &str) -> String {
    let plain = word.replace(['"', '\n', '\r'], "'");
    if plain.contains(',') {
        format!("\"{plain}\"")
    } else {
        plain
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use arrow_array::{Float64Array, Int64Array, StringArray, TimestampMicrosecondArray};
    use parquet::arrow::ArrowWriter;
    use std::sync::Arc;

    fn file() -> Vec<u8> {
        let times = TimestampMicrosecondArray::from(vec![1_795_437_125_500_000, -1]);
        let batch = RecordBatch::try_from_iter([
            ("sent", Arc::new(times) as ArrayRef),
            (
                "host, name",
                Arc::new(StringArray::from(vec!["a", "b,\"c"])),
            ),
            (
                "rtt_ms",
                Arc::new(Float64Array::from(vec![Some(12.25), None])),
            ),
            ("seq", Arc::new(Int64Array::from(vec![1, 2]))),
        ]);
        let batch = batch.unwrap();
        let mut file = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        file
    }

    #[test]
    fn a_table_is_its_text() {
        let mut text = String::new();
        let mut table = table_text(file()).unwrap();
        table.read_to_string(&mut text).unwrap();
        assert_eq!(
            text,
            "sent,\"host, name\",rtt_ms,seq\n1795437125.500000,a,12.25,1\n-0.000001,\"b,'c\",,2\n"
        );
    }

    #[test]
    fn a_file_cut_anywhere_is_an_error_and_no_panic() {
        let whole = file();
        for end in 4..whole.len() {
            assert!(table_text(whole[..end].to_vec()).is_err(), "{end}");
        }
    }
}
