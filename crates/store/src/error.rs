//! What can go wrong while a run is written, and what to do about it.

use crate::mismatch::Mismatch;
use crate::regular::{MAY_NOT_READ, READ_AS_OWNER};
use arrow_schema::ArrowError;
use parquet::errors::ParquetError;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Why a run cannot be written. What was recorded before stays on disk.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk or the user's quota is full.
    #[error("no room to write {}: {source}. Free space, or begin a run in another folder (`-o DIR`; of `ping`, `--save DIR`); what was recorded stays", path.display())]
    NoRoom {
        /// What was being written.
        path: PathBuf,
        /// As the system says it.
        source: io::Error,
    },
    /// This user may not write there, or nobody may.
    #[error("may not write {}: {source}. Begin a run in another folder (`-o DIR`; of `ping`, `--save DIR`), or let this user write there", path.display())]
    MayNotWrite {
        /// What was being written.
        path: PathBuf,
        /// As the system says it.
        source: io::Error,
    },
    /// Anything else that the system says.
    #[error("{}: {source}", path.display())]
    File {
        /// What was being worked on.
        path: PathBuf,
        /// As the system says it.
        source: io::Error,
    },
    /// The system cannot read a file of a recorded trial: whether it is what was recorded is not known.
    #[error("cannot read {}: {source}. {}", path.display(), unread_remedy(source))]
    Unread {
        /// The file.
        path: PathBuf,
        /// As the system says it.
        source: io::Error,
    },
    /// A table cannot be written or read back.
    #[error("{}: {reason}", path.display())]
    Table {
        /// The table's file.
        path: PathBuf,
        /// As the library says it.
        reason: String,
    },
    /// A file of an unfinished run is not what was recorded.
    #[error("{}: {mismatch}. {}", path.display(), remedy(mismatch))]
    Changed {
        /// The run.
        path: PathBuf,
        /// The file, and what is wrong with it.
        mismatch: Mismatch,
    },
    /// Another process has the run open for writing.
    #[error("{}: another process is writing this run", path.display())]
    Busy {
        /// The run.
        path: PathBuf,
    },
    /// The trial is recorded already.
    #[error("{}: trial {trial} is recorded already", path.display())]
    Recorded {
        /// The run.
        path: PathBuf,
        /// Its number.
        trial: u32,
    },
    /// The run's name would not be a folder's.
    #[error(
        "`{name}` cannot be a run's name: letters, digits, `-`, `_` and `.` only, and no `.` in front"
    )]
    Name {
        /// As given.
        name: String,
    },
}

fn remedy(mismatch: &Mismatch) -> &'static str {
    if mismatch.is_denied() {
        READ_AS_OWNER
    } else {
        "A trial of which a part has changed is repeated by `delaylab resume`; a text or a table is to be restored from a \
         copy, or the run begun anew"
    }
}

fn unread_remedy(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::PermissionDenied => READ_AS_OWNER,
        _ => {
            "Try again; if it stays so, move the file out of the run, and `delaylab resume` repeats its trial"
        }
    }
}

impl StoreError {
    /// Makes an error of what the system said about this path.
    pub(crate) fn at(path: &Path) -> impl Fn(io::Error) -> Self + '_ {
        |source| {
            let path = path.to_owned();
            match source.kind() {
                _ if source.to_string() == MAY_NOT_READ => Self::File { path, source },
                io::ErrorKind::StorageFull
                | io::ErrorKind::QuotaExceeded
                | io::ErrorKind::FileTooLarge => Self::NoRoom { path, source },
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    Self::MayNotWrite { path, source }
                }
                _ => Self::File { path, source },
            }
        }
    }

    /// Makes an error of a file of this run that is not what was recorded.
    pub(crate) fn changed(path: &Path) -> impl Fn(Mismatch) -> Self + '_ {
        |mismatch| Self::Changed {
            path: path.to_owned(),
            mismatch,
        }
    }

    /// Makes an error of what the Parquet writer said about this file.
    pub(crate) fn parquet(path: &Path) -> impl Fn(ParquetError) -> Self + '_ {
        |error| match io_error(error) {
            Ok(source) => Self::at(path)(source),
            Err(error) => Self::table(path)(error),
        }
    }

    /// Makes an error of what is wrong with a table in this file.
    pub(crate) fn table<E: std::error::Error>(path: &Path) -> impl Fn(E) -> Self + '_ {
        |error| Self::Table {
            path: path.to_owned(),
            reason: error.to_string(),
        }
    }
}

/// The system's error that a Parquet error carries.
fn io_error(error: ParquetError) -> Result<io::Error, ParquetError> {
    match error {
        ParquetError::External(inner) => inner
            .downcast()
            .map(|source| *source)
            .map_err(ParquetError::External),
        _ => Err(error),
    }
}

impl From<StoreError> for io::Error {
    fn from(error: StoreError) -> Self {
        let kind = match &error {
            StoreError::NoRoom { source, .. }
            | StoreError::MayNotWrite { source, .. }
            | StoreError::File { source, .. } => source.kind(),
            _ => io::ErrorKind::Other,
        };
        io::Error::new(kind, error)
    }
}

/// An error of a file without its name.
pub(crate) fn reason(error: StoreError) -> String {
    match error {
        StoreError::Table { reason, .. } => reason,
        error => error.to_string(),
    }
}

/// The libraries panic over some damage: that too is only an error.
pub(crate) fn guarded<T, E>(
    read: impl FnOnce() -> Result<T, E>,
    damaged: fn(String) -> E,
) -> Result<T, E> {
    let panicked = |_| Err(damaged("the file is damaged".to_owned()));
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(panicked)
}

/// Makes an error of what Arrow said about this file.
pub(crate) fn arrow(path: &Path) -> impl Fn(ArrowError) -> StoreError + '_ {
    |error| match error {
        ArrowError::IoError(_, source) => StoreError::at(path)(source),
        error => StoreError::table(path)(error),
    }
}
