//! JSON that may be cut short.

use super::{Format, ImportError};
use serde::de::{DeserializeOwned, IgnoredAny};

/// Reads a document of this format.
pub fn read<T: DeserializeOwned>(bytes: &[u8], format: Format) -> Result<T, ImportError> {
    serde_json::from_slice(bytes).map_err(|error| {
        if error.is_eof() {
            ImportError::CutShortJson {
                format: Some(format),
                line: lines(bytes),
            }
        } else {
            ImportError::Json {
                format,
                line: error.line(),
                reason: error.to_string(),
            }
        }
    })
}

/// Of a file that no reader knows: an error where it is JSON that ends in the middle.
pub fn whole(bytes: &[u8]) -> Result<(), ImportError> {
    if !is(bytes) {
        return Ok(());
    }
    match serde_json::from_slice::<IgnoredAny>(bytes) {
        Err(error) if error.is_eof() => Err(ImportError::CutShortJson {
            format: None,
            line: lines(bytes),
        }),
        _ => Ok(()),
    }
}

/// Does it begin as a JSON object does?
pub fn is(bytes: &[u8]) -> bool {
    bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{')
}

/// How many there are; what follows the last line feed is one if there is anything.
fn lines(bytes: &[u8]) -> usize {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    bytes.split(|&byte| byte == b'\n').count()
}

/// Does it begin as a JSON object, and is this key in its first part?
pub fn has(bytes: &[u8], key: &str) -> bool {
    is(bytes) && super::text::head(bytes).contains(&format!("\"{key}\""))
}
