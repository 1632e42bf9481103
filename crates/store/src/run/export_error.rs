//! Why a table of a run cannot be handed to other tools.

use crate::error::StoreError;
use arrow_schema::ArrowError;
use parquet::errors::ParquetError;
use std::io;

/// Why a table was not written to its end.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// A run has no table of that name.
    #[error("a run has no table `{0}`")]
    NoTable(String),
    /// A table has no column of that name.
    #[error("the table has no column `{column}`: it has {known}")]
    NoColumn {
        /// As asked for.
        column: String,
        /// Those that it has.
        known: String,
    },
    /// What takes the text or the bytes fails.
    #[error(transparent)]
    Output(#[from] io::Error),
    /// A file of the table cannot be read.
    #[error(transparent)]
    Read(StoreError),
    /// It holds what no table of ours does.
    #[error("the table cannot be written: {0}")]
    Table(#[source] ArrowError),
    /// It cannot be made a Parquet file.
    #[error("the table cannot be written: {0}")]
    Parquet(#[from] ParquetError),
}

impl From<ArrowError> for ExportError {
    /// Readers of Arrow have one type of errors, and what cannot be read is within it.
    fn from(error: ArrowError) -> Self {
        match error {
            ArrowError::ExternalError(inner) => match inner.downcast() {
                Ok(unread) => Self::Read(*unread),
                Err(inner) => Self::Table(ArrowError::ExternalError(inner)),
            },
            error => Self::Table(error),
        }
    }
}
