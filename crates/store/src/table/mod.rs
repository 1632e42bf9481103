//! The tables of a run: rows to Arrow batches and back.
//!
//! A table is the list of its row's fields; [`cell`] knows what becomes of each type. Columns have
//! the names of the fields. A row group or batch that lacks a column leaves its cells blank, so a
//! reader may ask for some of them only.

pub(crate) mod cell;
mod rows;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use cell::{Cell, CellError};
use delaylab_model::table::TableRow;
use std::sync::Arc;

/// A column of a table whose rows are `R`.
pub struct Column<R: 'static> {
    pub(crate) field: fn() -> Field,
    pub(crate) array: fn(&[R]) -> ArrayRef,
    pub(crate) read: fn(&dyn Array, &mut [R]) -> Result<(), CellError>,
}

/// A row of a table, as it is on disk.
pub trait Row: TableRow {
    /// The table's name, and that of its file.
    const TABLE: &'static str;
    /// Its columns, in the order of the files.
    const COLUMNS: &'static [Column<Self>];
}

/// A column that does not hold what its table says.
#[derive(Debug, thiserror::Error)]
#[error("column `{column}` {reason}")]
pub struct BadColumn {
    column: String,
    reason: CellError,
}

/// The schema of a table.
pub(crate) fn schema<R: Row>() -> SchemaRef {
    let fields = R::COLUMNS.iter().map(|column| (column.field)());
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// Rows as a batch of this schema, which is [`schema`]'s.
pub(crate) fn batch<R: Row>(schema: &SchemaRef, rows: &[R]) -> Result<RecordBatch, ArrowError> {
    let arrays = R::COLUMNS.iter().map(|column| (column.array)(rows));
    RecordBatch::try_new(schema.clone(), arrays.collect())
}

/// Puts the rows of a batch in place of those in `rows`. Columns that it lacks stay blank.
pub(crate) fn read_into<R: Row>(batch: &RecordBatch, rows: &mut Vec<R>) -> Result<(), BadColumn> {
    rows.clear();
    rows.resize(batch.num_rows(), R::default());
    for column in R::COLUMNS {
        let name = (column.field)();
        let Some(array) = batch.column_by_name(name.name()) else {
            continue;
        };
        (column.read)(array, rows).map_err(|reason| BadColumn {
            column: name.name().clone(),
            reason,
        })?;
    }
    Ok(())
}

/// One [`Column`] for each of these fields.
macro_rules! columns {
    ($row:ty: $($field:ident)*) => {
        &[$($crate::table::Column {
            field: || $crate::table::field_of(stringify!($field), |row: &$row| &row.$field),
            array: |rows| $crate::table::cell::Cell::array(rows.iter().map(|row| &row.$field)),
            read: |array, rows| {
                $crate::table::cell::Cell::each(array, |at, cell| rows[at].$field = cell)
            },
        }),*]
    };
}
pub(crate) use columns;

/// Says the same of the rows of every table but that of the trials.
macro_rules! every_table {
    ($row:ident => $say:expr) => {
        delaylab_model::with_tables!((crate::table::said_of_each) { $row => $say })
    };
}

macro_rules! said_of_each {
    ({ $row:ident => $say:expr } $($(#[$doc:meta])* $table:ident $field:ident: $type:ty { $($column:ident)* },)+) => {
        [
            {
                type $row = delaylab_model::record::Record;
                $say
            },
            $({
                type $row = $type;
                $say
            },)+
        ]
    };
}
pub(crate) use {every_table, said_of_each};

/// The Arrow field of the field that `_get` gets.
pub(crate) fn field_of<R, C: Cell>(name: &str, _get: fn(&R) -> &C) -> Field {
    Field::new(name, C::data_type(), C::NULLABLE)
}

#[cfg(test)]
mod tests;
