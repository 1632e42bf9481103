//! Bursts of packets back to back, each burst on an absolute grid.

use super::grid::Grid;
use delaylab_model::Nanos;

/// The grid of bursts and the place in the current one.
#[derive(Debug, Clone)]
pub struct Burst {
    grid: Grid,
    size: u32,
    used: u32,
}

impl Burst {
    /// The first burst is at `start`. A size of 0 counts as 1.
    pub fn new(start: Nanos, size: u32, interval: Nanos) -> Self {
        Self {
            grid: Grid::new(start, interval),
            size: size.max(1),
            used: 0,
        }
    }

    /// Every packet of a burst is due when the burst is.
    pub const fn due(&self) -> Nanos {
        self.grid.due()
    }

    /// On to the next packet.
    pub const fn advance(&mut self) {
        self.used += 1;
        if self.used == self.size {
            self.used = 0;
            self.grid.advance();
        }
    }
}
