//! The format that a file's name asks for.

use std::path::Path;

/// A format in which records are written to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One document at the end: [`crate::json`].
    Json,
    /// One line a packet: [`crate::stream`].
    Stream,
    /// One row a packet: [`crate::csv`].
    Csv,
}

/// A file name that asks for no format we write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the name of `{0}` does not say its format: end it in .json (one document), .ndjson or .jsonl (one line a packet) or .csv (one row a packet)"
)]
pub struct UnknownFormat(pub String);

/// The format that the extension of `path` asks for, whatever its case.
pub fn format_of(path: &Path) -> Result<Format, UnknownFormat> {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    match extension.to_ascii_lowercase().as_str() {
        "json" => Ok(Format::Json),
        "ndjson" | "jsonl" => Ok(Format::Stream),
        "csv" => Ok(Format::Csv),
        _ => Err(UnknownFormat(path.display().to_string())),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_extension_decides() {
        for (name, format) in [
            ("out.json", Format::Json),
            ("a/b.c/out.NDJSON", Format::Stream),
            ("out.jsonl", Format::Stream),
            ("out.csv", Format::Csv),
        ] {
            assert_eq!(format_of(Path::new(name)), Ok(format), "{name}");
        }
    }

    #[test]
    fn other_names_are_refused_with_the_choices() {
        for name in ["out.parquet", "out", ".json", ""] {
            let error = format_of(Path::new(name)).unwrap_err().to_string();
            assert!(error.contains(".ndjson"), "{error}");
            assert!(error.contains(&format!("`{name}`")), "{error}");
        }
    }
}
