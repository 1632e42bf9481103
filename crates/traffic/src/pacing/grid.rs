//! An absolute grid (RFC 3432): packet k is due at start + k·interval.

use delaylab_model::Nanos;

/// The grid and the next slot on it.
#[derive(Debug, Clone)]
pub struct Grid {
    next: Nanos,
    interval: Nanos,
}

impl Grid {
    /// The first slot is `start`.
    pub const fn new(start: Nanos, interval: Nanos) -> Self {
        Self {
            next: start,
            interval,
        }
    }

    /// The next slot.
    pub const fn due(&self) -> Nanos {
        self.next
    }

    /// On to the one after it.
    pub const fn advance(&mut self) {
        self.next = self.next.saturating_add(self.interval);
    }
}
