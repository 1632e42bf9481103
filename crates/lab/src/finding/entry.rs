//! A finding of an experiment, with its parsed check.

use super::check::{Check, ParseError};
use delaylab_model::experiment::FindingSection;

/// A claim of an experiment, in words and as a check.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Number of the finding, which names the source of the claim.
    pub id: String,
    /// The claim in words.
    pub says: String,
    /// The claim as a comparison of statistics.
    pub check: Check,
    /// The check as written.
    pub text: String,
    /// The numbers in the source of the claim, as text.
    pub printed: Option<String>,
}

impl Finding {
    /// Parses the check of a `[[finding]]` section.
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
