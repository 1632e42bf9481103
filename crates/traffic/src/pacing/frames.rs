//! Frames of a tester: a grid in picoseconds, read in nanoseconds.

use delaylab_model::{Nanos, PICOS_PER_NANO, Picos};

/// Slot `number`: at `start` + `number`·`interval` exactly. Only what is read of it is rounded, so that no
/// error adds up.
pub fn slot(start: Nanos, interval: Picos, number: u64) -> Nanos {
    let after = interval.saturating_mul(number) / PICOS_PER_NANO;
    start.saturating_add(Nanos::try_from(after).unwrap_or(Nanos::MAX))
}

/// The grid and the next slot on it.
#[derive(Debug, Clone)]
pub struct Frames {
    start: Nanos,
    interval: Picos,
    next: u64,
}

impl Frames {
    /// The first slot is `start`.
    pub const fn new(start: Nanos, interval: Picos) -> Self {
        Self {
            start,
            interval,
            next: 0,
        }
    }

    /// The next slot.
    pub fn due(&self) -> Nanos {
        slot(self.start, self.interval, self.next)
    }

    /// On to the one after it.
    pub const fn advance(&mut self) {
        self.next += 1;
    }
}
