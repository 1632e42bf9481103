//! Why a file could not be read, as sentences for whoever has it.

use super::{Format, READERS};
use std::fmt;
use thiserror::Error;

/// Why a file gives no records.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ImportError {
    /// No byte in it, or only blanks.
    #[error("the file is empty")]
    Empty,
    /// No reader knows it.
    #[error("the file is of no format that can be read; known are:\n{}", Known)]
    Unrecognised,
    /// It ends in the middle, and nothing before can be kept.
    #[error("the file was cut short: it ends in line {line}, in the middle of its JSON; {}", again(*format))]
    CutShortJson {
        /// Of which format, where that can still be told.
        format: Option<Format>,
        /// The last line.
        line: usize,
    },
    /// It is JSON, and not of the expected form.
    #[error("line {line} is not what {format} writes: {reason}")]
    Json {
        /// The expected format.
        format: Format,
        /// Where.
        line: usize,
        /// What the JSON reader says.
        reason: String,
    },
    /// The capture's header is cut short or broken.
    #[error("the capture cannot be read: {reason}")]
    Capture {
        /// What is wrong with it.
        reason: String,
    },
    /// The peer itself failed and wrote why.
    #[error("{format} did not measure: {reason}")]
    PeerFailed {
        /// Which peer.
        format: Format,
        /// In its words.
        reason: String,
    },
    /// Neither a packet nor a figure.
    #[error("the file looks like {format} and holds no packet and no summary; `{}` gives one that does", format.command())]
    Nothing {
        /// What it looks like.
        format: Format,
    },
}

fn again(format: Option<Format>) -> String {
    match format {
        Some(format) => format!("write it again with `{}`", format.command()),
        None => "write it again".to_owned(),
    }
}

/// Every format with the command that gives it, a line each.
struct Known;

impl fmt::Display for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, reader) in READERS.iter().enumerate() {
            let end = if index + 1 < READERS.len() { "\n" } else { "" };
            write!(f, "  {:<13} {}{end}", reader.name, reader.command)?;
        }
        Ok(())
    }
}
