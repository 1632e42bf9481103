//! Why a file could not be read, as sentences for whoever has it.

use super::Format;
use std::fmt;
use thiserror::Error;

/// Why a file gives no records.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ImportError {
    /// No byte in it, or only blanks.
    #[error("the file is empty")]
    Empty,
    /// No reader knows it.
    #[error("{}the file is of no format that can be read; known are:\n{}", near(*nearest), Known)]
    Unrecognised {
        /// The format whose words it has most of.
        nearest: Option<&'static Format>,
    },
    /// The system does not give it.
    #[error("reading fails: {reason}")]
    Read {
        /// In the system's words.
        reason: String,
    },
    /// It was packed, and cannot be unpacked.
    #[error("the file begins as {packing} does and cannot be unpacked: {reason}")]
    Packed {
        /// By what.
        packing: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A table does not say what only its reader can know.
    #[error("{0}")]
    Table(String),
    /// No packet, and lines without a meaning.
    #[error(
        "the file looks like {format} and gives no packet; line {line} was not understood: {text}\nExpected: {}. `{}` gives a file that can be read; if it is of another program, `--format` says which",
        format.looks, format.command
    )]
    NotUnderstood {
        /// What it looks like.
        format: &'static Format,
        /// The first line that was not understood.
        line: usize,
        /// The line.
        text: String,
    },
    /// It ends in the middle, and nothing before can be kept.
    #[error("the file was cut short: it ends in line {line}, in the middle of its JSON; {}", again(*format))]
    CutShortJson {
        /// Of which format, where that can still be told.
        format: Option<&'static Format>,
        /// The last line.
        line: usize,
    },
    /// It is JSON, and not of the expected form.
    #[error("line {line} is not what {format} writes: {reason}")]
    Json {
        /// The expected format.
        format: &'static Format,
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
    /// A capture in which nothing asks and is answered.
    #[error(
        "none of the {frames} packets of the capture belongs to a request and its answer by ICMP echo, UDP or TCP{}",
        reasons(warnings)
    )]
    NoExchange {
        /// Packets of any kind.
        frames: usize,
        /// What they are instead.
        warnings: Vec<String>,
    },
    /// The peer itself failed and wrote why.
    #[error("{format} did not measure: {reason}")]
    PeerFailed {
        /// Which peer.
        format: &'static Format,
        /// In its words.
        reason: String,
    },
    /// Neither a packet nor a figure.
    #[error("the file looks like {format} and holds no packet and no summary; expected: {}. `{}` gives a file that can be read", format.looks, format.command)]
    Nothing {
        /// What it looks like.
        format: &'static Format,
    },
}

fn reasons(warnings: &[String]) -> String {
    warnings
        .iter()
        .map(|warning| format!("\n{warning}"))
        .collect()
}

fn again(format: Option<&'static Format>) -> String {
    match format {
        Some(format) => format!("write it again with `{}`", format.command),
        None => "write it again".to_owned(),
    }
}

/// What a file comes nearest to, and what it would have to look like.
fn near(format: Option<&'static Format>) -> String {
    format.map_or_else(String::new, |format| {
        format!(
            "it is nearest to {}, which has {}; ",
            format.name, format.looks
        )
    })
}

/// Every format with the command that gives it, a line each.
struct Known;

impl fmt::Display for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = Format::all().count();
        for (index, format) in Format::all().enumerate() {
            let end = if index + 1 < count { "\n" } else { "" };
            write!(f, "  {:<19} {}{end}", format.name, format.command)?;
        }
        Ok(())
    }
}
