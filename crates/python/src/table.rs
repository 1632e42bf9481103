//! A table as an Arrow stream: polars, pandas, DuckDB and pyarrow take it without a copy.

use crate::error::{self, detached};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use delaylab_store::run::{ExportError, Run, TableReader, write_first};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::sync::Arc;

/// Where the rows are.
enum Source {
    /// In a run on disk.
    Stored {
        run: Arc<Run>,
        table: String,
        columns: Vec<String>,
    },
    /// In memory.
    Batch(RecordBatch),
}

/// A table of a run. Each stream of it reads it anew.
#[pyclass(frozen, module = "delaylab._delaylab")]
pub struct Table(Source);

impl Table {
    /// Of a run on disk; all columns where none is named.
    pub fn stored(run: Arc<Run>, table: String, columns: Vec<String>) -> Self {
        Self(Source::Stored {
            run,
            table,
            columns,
        })
    }

    /// Of a batch.
    pub fn of_batch(batch: RecordBatch) -> Self {
        Self(Source::Batch(batch))
    }

    fn open(&self, py: Python<'_>) -> PyResult<TableReader> {
        match &self.0 {
            Source::Stored { columns, .. } => self.open_with(py, columns),
            Source::Batch(_) => self.open_with(py, &[]),
        }
    }

    /// With these columns alone; all of its table where none is named.
    fn open_with(&self, py: Python<'_>, columns: &[String]) -> PyResult<TableReader> {
        let opened = detached(py, || match &self.0 {
            Source::Stored { run, table, .. } => run.table(table, columns),
            Source::Batch(batch) => TableReader::of_batch(batch.clone(), columns),
        })?;
        opened.map_err(|error| error::table(py, &error))
    }
}

#[pymethods]
impl Table {
    /// The stream of the Arrow PyCapsule interface. What schema is asked for is not looked at, as that allows.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let stream = FFI_ArrowArrayStream::new(Box::new(self.open(py)?));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The names of its columns.
    #[getter]
    fn columns(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let schema = self.open(py)?.schema();
        let fields = schema.fields().iter();
        Ok(fields.map(|field| field.name().clone()).collect())
    }

    /// How many rows it has. One column is read for that.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let mut columns = self.columns(py)?;
        columns.truncate(1);
        let mut reader = self.open_with(py, &columns)?;
        let rows = detached(py, || {
            reader.try_fold(0, |rows, batch| batch.map(|batch| rows + batch.num_rows()))
        })?;
        rows.map_err(|error| error::table(py, &error.into()))
    }

    /// Its first rows as CSV.
    fn head(&self, py: Python<'_>, rows: usize) -> PyResult<String> {
        let reader = self.open(py)?;
        let text = detached(py, || {
            let mut text = Vec::new();
            write_first(reader, rows, &mut text)?;
            Ok::<_, ExportError>(String::from_utf8_lossy(&text).into_owned())
        })?;
        text.map_err(|error| error::table(py, &error))
    }
}
