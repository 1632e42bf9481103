//! What was read last, for the next trial: of a run of many short trials, most are in the row group of the one
//! before, and to read it anew for each takes the square of their number.

use crate::parquet_source::ParquetSource;
use arrow_array::RecordBatch;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Rows of a row group that is kept at most. A longer one has few trials: see `TRIAL_ROW_GROUP`.
const KEPT_ROWS: u64 = 1 << 17;

/// The batches of a row group, and what of it could not be read.
pub(super) type Decoded = Arc<Vec<Result<RecordBatch, String>>>;

/// The tables of a run that has its end, as they were read last. Such tables change no more.
#[derive(Debug, Default)]
pub(super) struct Recent {
    tables: Mutex<HashMap<PathBuf, Table>>,
}

#[derive(Debug, Default)]
struct Table {
    source: Option<Arc<ParquetSource>>,
    group: Option<Group>,
}

#[derive(Debug)]
struct Group {
    number: usize,
    columns: Option<Vec<String>>,
    batches: Decoded,
}

impl Recent {
    fn tables(&self) -> MutexGuard<'_, HashMap<PathBuf, Table>> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The file, opened once.
    pub(super) fn source<E>(
        &self,
        path: &Path,
        open: impl FnOnce() -> Result<ParquetSource, E>,
    ) -> Result<Arc<ParquetSource>, E> {
        let known = self
            .tables()
            .get(path)
            .and_then(|table| table.source.clone());
        if let Some(source) = known {
            return Ok(source);
        }
        let source = Arc::new(open()?);
        let mut tables = self.tables();
        tables.entry(path.to_owned()).or_default().source = Some(source.clone());
        Ok(source)
    }

    /// These columns of a row group, read once for as long as no other is asked for. `None` where it is too
    /// long to keep.
    pub(super) fn group(
        &self,
        path: &Path,
        source: &ParquetSource,
        number: usize,
        columns: Option<&[String]>,
    ) -> Option<Decoded> {
        if source.rows_of(number) > KEPT_ROWS {
            return None;
        }
        let is_it = |group: &Group| group.number == number && group.columns.as_deref() == columns;
        let known = self.tables().get(path).and_then(|table| {
            let group = table.group.as_ref().filter(|group| is_it(group))?;
            Some(group.batches.clone())
        });
        if known.is_some() {
            return known;
        }
        let batches = match source.batches(number, columns) {
            Ok(batches) => batches
                .map(|it| it.map_err(|error| error.to_string()))
                .collect(),
            Err(error) => vec![Err(error.to_string())],
        };
        let batches: Decoded = Arc::new(batches);
        self.tables().entry(path.to_owned()).or_default().group = Some(Group {
            number,
            columns: columns.map(<[String]>::to_vec),
            batches: batches.clone(),
        });
        Some(batches)
    }
}
