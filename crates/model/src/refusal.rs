//! What of an experiment cannot be honoured.

use std::borrow::Cow;

/// A field that cannot be honoured, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {}", self.why())]
pub struct Refusal {
    /// The field's dotted path, as the user would write it.
    pub field: String,
    /// Why it cannot be honoured.
    pub reason: String,
    /// What to write instead, where the reason does not say it.
    pub remedy: Option<String>,
}

impl Refusal {
    /// Of this field, for this reason.
    pub fn new(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            reason: reason.into(),
            remedy: None,
        }
    }

    /// With what to write instead.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// The reason, and what to write instead.
    pub fn why(&self) -> Cow<'_, str> {
        match &self.remedy {
            Some(remedy) => Cow::Owned(format!("{}: {remedy}", self.reason)),
            None => Cow::Borrowed(&self.reason),
        }
    }

    /// The same field, which is in this section.
    #[must_use]
    pub fn within(self, section: &str) -> Self {
        Self {
            field: format!("{section}.{}", self.field),
            ..self
        }
    }
}

/// This field cannot be honoured, and why.
///
/// # Errors
/// Always.
pub fn refuse<T>(field: impl Into<String>, reason: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::new(field, reason))
}
