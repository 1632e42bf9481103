//! A file of a run that is not what was recorded.

use crate::regular::MAY_NOT_READ;

/// A file that does not hold what was recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {why}")]
pub struct Mismatch {
    /// Its path within the run.
    pub file: String,
    /// What is wrong with it.
    pub why: String,
}

impl Mismatch {
    /// May this user not read it? Then it is not known whether it is what was recorded.
    pub fn is_denied(&self) -> bool {
        self.why == MAY_NOT_READ
    }
}
