//! Files of other tools, read as what they seem to be and as every format: each gives an error or records whose
//! figures can be taken.

use crate::tree;
use delaylab_explain::import::{Format, check as judge, read};

/// Checks one input.
pub fn check(data: &[u8]) {
    for hint in Format::all().map(Some).chain([None]) {
        match read(data, hint) {
            Ok(imported) => {
                for record in imported
                    .streams
                    .iter()
                    .flat_map(|stream| stream.records.iter())
                {
                    let _ = (record.round_trip(), record.response());
                }
                for found in judge(&imported) {
                    assert!(!found.sentence.is_empty());
                }
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

/// Valid inputs: what the other tools wrote.
pub fn seeds() -> Vec<Vec<u8>> {
    tree::files("crates/explain/tests/data/import")
}
