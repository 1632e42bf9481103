//! A finding of an experiment, with its check read.

use super::check::{Check, ParseError};
use delaylab_model::experiment::FindingSection;

/// A claim of an experiment, in words and as a check.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Its number: where it was claimed.
    pub id: String,
    /// The claim in words.
    pub says: String,
    /// The claim as a comparison of statistics.
    pub check: Check,
    /// The check as it is written.
    pub text: String,
    /// The numbers that its source gives, in words.
    pub printed: Option<String>,
}

impl Finding {
    /// Reads the check of a finding as it stands in an experiment file.
    ///
    /// # Errors
    /// What is wrong with the check, and where.
    pub fn read(section: &FindingSection) -> Result<Self, ParseError> {
        Ok(Self {
            id: section.id.clone(),
            says: section.says.clone(),
            check: Check::parse(&section.check)?,
            text: section.check.clone(),
            printed: section.printed.clone(),
        })
    }
}
