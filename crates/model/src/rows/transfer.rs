//! Finite transfers of loads: how long each took.

use crate::Nanos;
use crate::table::TableRow;
use std::sync::Arc;

/// One transfer of a load of kind `transfers`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Transfer {
    /// During which trial of the run.
    pub trial: u32,
    /// Of which stream of which load.
    pub of: Arc<str>,
    /// Which of the stream's transfers, from 0.
    pub number: u64,
    /// Payload.
    pub bytes: u64,
    /// When the sending application had it to send.
    pub start: Nanos,
    /// When the receiving application had read its last byte; `None`: not before the trial ended.
    pub end: Option<Nanos>,
}

impl Transfer {
    /// Flow completion time; `None`: it was not completed.
    pub fn completion_time(&self) -> Option<Nanos> {
        self.end.map(|end| end - self.start)
    }
}

impl TableRow for Transfer {
    /// All at once, when the trial has ended.
    const WINDOW: usize = usize::MAX / 2;
    type Key<'a> = (&'a str, u64);

    fn key(&self) -> Self::Key<'_> {
        (&self.of, self.number)
    }
}
