//! Rows with every column of their table, whether their file has it or not.

use arrow_array::{Array, ArrayRef, RecordBatch, new_null_array};
use arrow_schema::{ArrowError, DataType, SchemaRef};

/// Makes batches have every column of a table: those that have not been written yet have no noise, older versions wrote fewer
/// columns, and one without a value is not read.
pub(crate) struct AllColumns {
    schema: SchemaRef,
    /// Columns without a value, one of each type: all of that type share what it holds.
    empty: Vec<ArrayRef>,
}

impl AllColumns {
    pub(crate) const fn new(schema: SchemaRef) -> Self {
        let empty = Vec::new();
        Self { schema, empty }
    }

    pub(crate) const fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// These rows with all columns.
    pub(crate) fn complete(&mut self, rows: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        if *rows.schema_ref() == self.schema {
            return Ok(rows.clone());
        }
        let schema = self.schema.clone();
        let columns = schema.fields().iter().map(|field| {
            let column = rows.column_by_name(field.name()).cloned();
            column.unwrap_or_else(|| self.without_values(field.data_type(), rows.num_rows()))
        });
        RecordBatch::try_new(schema.clone(), columns.collect())
    }

    fn without_values(&mut self, of: &DataType, rows: usize) -> ArrayRef {
        let mut known = self.empty.iter();
        let known = known.find(|known| known.data_type() == of && known.len() >= rows);
        if let Some(known) = known {
            return known.slice(0, rows);
        }
        let new = new_null_array(of, rows);
        self.empty.retain(|known| known.data_type() != of);
        self.empty.push(new.clone());
        new
    }
}
