//! How long before a packet is due the sender should be awake.
//!
//! A sleep ends late: by a few microseconds on a busy CPU, by a hundred and more on an idle one that
//! has to come out of a deep sleep or back from its hypervisor. The sender therefore sleeps to
//! shortly before the deadline and spins the rest; how shortly is learnt from the sleeps before.

use delaylab_model::{MICROSECOND, Nanos};

/// The least and the most that is spun.
const LEAST: Nanos = 30 * MICROSECOND;
const MOST: Nanos = 400 * MICROSECOND;
/// Of the lateness: how fast it is believed when it grows and when it shrinks.
const UP: Nanos = 4;
const DOWN: Nanos = 64;

/// The lateness of sleeps so far.
#[derive(Debug, Clone, Copy)]
pub struct Lead {
    lateness: Nanos,
}

impl Default for Lead {
    fn default() -> Self {
        Self { lateness: LEAST }
    }
}

impl Lead {
    /// A sleep that was to end at `wanted` ended at `ended`.
    pub fn slept(&mut self, wanted: Nanos, ended: Nanos) {
        // Beyond the most, the CPU was somebody else's: no lead would have helped.
        let late = (ended - wanted).clamp(0, MOST);
        let step = late - self.lateness;
        self.lateness += step / if step > 0 { UP } else { DOWN };
    }

    /// How long before the deadline to wake up.
    pub fn get(&self) -> Nanos {
        (self.lateness + self.lateness / 4 + 10 * MICROSECOND).clamp(LEAST, MOST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_covers_what_sleeps_are_late_by_and_no_more_than_its_bounds() {
        let mut lead = Lead::default();
        for _ in 0..100 {
            lead.slept(0, 120 * MICROSECOND);
        }
        assert!(lead.get() >= 120 * MICROSECOND, "{lead:?}");
        assert!(lead.get() <= 200 * MICROSECOND, "{lead:?}");
        for _ in 0..1000 {
            lead.slept(0, 3 * MICROSECOND);
        }
        assert_eq!(lead.get(), LEAST);
        lead.slept(0, 1_000 * MOST);
        assert!(lead.get() <= MOST);
    }
}
