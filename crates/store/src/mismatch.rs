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
        self.why.ends_with(MAY_NOT_READ)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_not_be_read_is_denied_also_with_its_path_in_front() {
        let of = |why: String| Mismatch {
            file: "records.parquet".to_owned(),
            why,
        };
        assert!(of(MAY_NOT_READ.to_owned()).is_denied());
        assert!(of(format!("/runs/a/records.parquet: {MAY_NOT_READ}")).is_denied());
        assert!(!of("missing".to_owned()).is_denied());
    }
}
