//! Closed loop (source 002): the next packet is due a wait after the previous reply was read.

use super::Due;
use delaylab_model::Nanos;

/// The wait, and when it ends.
#[derive(Debug, Clone)]
pub struct Closed {
    wait: Nanos,
    due: Due,
}

impl Closed {
    /// The first packet is due at `start`.
    pub const fn new(start: Nanos, wait: Nanos) -> Self {
        Self {
            wait,
            due: Due::At(start),
        }
    }

    /// When the next packet is due.
    pub const fn due(&self) -> Due {
        self.due
    }

    /// A packet is under way.
    pub const fn advance(&mut self) {
        self.due = Due::AfterReply;
    }

    /// It was answered, or given up, at `end`.
    pub fn settled(&mut self, end: Nanos) {
        if self.due == Due::AfterReply {
            self.due = Due::At(end.saturating_add(self.wait));
        }
    }
}
