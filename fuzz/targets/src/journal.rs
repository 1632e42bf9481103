//! The rows of a trial under way, and those of an interrupted one.

use crate::stored::{Stored, written};

/// Checks one input.
pub fn check(data: &[u8]) {
    let stored = Stored::sample("sample.partial");
    for name in ["trial-0.arrow", "trial-0.noise.arrow", "interrupted.arrow"] {
        stored.put(name, data);
    }
    stored.read();
}

/// Valid inputs: journals as they are written.
pub fn seeds() -> Vec<Vec<u8>> {
    let files = written(false).into_iter();
    let journals = files.filter(|(name, bytes)| name.ends_with(".arrow") && !bytes.is_empty());
    journals.map(|(_, bytes)| bytes).collect()
}
