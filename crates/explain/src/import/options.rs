//! What whoever imports a file says of it.

use super::Format;
use delaylab_model::Nanos;

/// What a file cannot say itself.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Its format. `None`: the one that its content tells.
    pub format: Option<&'static Format>,
    /// Of a table: what its columns are, in their order (`time`, `rtt_ms`; `-` for one without
    /// meaning). Empty: the names in its first line say so.
    pub columns: Vec<String>,
    /// Of a table: what its delays count, in nanoseconds, where no column's name says so.
    pub unit: Option<Nanos>,
}

impl Options {
    /// Does it say what only a table needs?
    pub(super) fn of_a_table(&self) -> bool {
        !self.columns.is_empty() || self.unit.is_some()
    }
}

impl From<Option<&'static Format>> for Options {
    fn from(format: Option<&'static Format>) -> Self {
        Self {
            format,
            ..Self::default()
        }
    }
}
