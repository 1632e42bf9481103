//! Frames of a tester: a grid in picoseconds, read in nanoseconds.

use delaylab_model::{Nanos, PICOS_PER_NANO, Picos};

/// The grid and the next slot on it. Slot k is at start + k·interval exactly; only what is read of it
/// is rounded, so that no error adds up.
#[derive(Debug, Clone)]
pub struct Frames {
    start: Nanos,
    interval: Picos,
    after: Picos,
}

impl Frames {
    /// The first slot is `start`.
    pub const fn new(start: Nanos, interval: Picos) -> Self {
        Self {
            start,
            interval,
            after: 0,
        }
    }

    /// The next slot.
    pub fn due(&self) -> Nanos {
        let after = Nanos::try_from(self.after / PICOS_PER_NANO).unwrap_or(Nanos::MAX);
        self.start.saturating_add(after)
    }

    /// On to the one after it.
    pub const fn advance(&mut self) {
        self.after = self.after.saturating_add(self.interval);
    }
}
