//! The line of a tester's port: it carries one frame after the other.
//!
//! A sender in software that was kept from its CPU has several frames due at once. Handed over together they would
//! wait for one another before the line, and at its full rate for the rest of the trial: what the sender lost would be
//! measured as delay of the device. So a frame is handed over when the line has carried the one before it, as a port in
//! hardware does (RFC 2544 §20 knows no load above the line's rate).

use delaylab_model::{MICROSECOND, Nanos, PICOS_PER_NANO, Picos};

/// A frame that comes later by no more than this does not move what follows: a sender in software cannot promise more, and
/// each slip of a line that is full lowers its rate.
const JITTER: Nanos = 250 * MICROSECOND;

/// Times are nanoseconds from the trial's start.
#[derive(Debug, Clone, Copy, Default)]
pub struct Line {
    /// From when it carries the next frame, in picoseconds, so that no error adds up.
    free: Picos,
}

impl Line {
    /// When a frame that is due at `slot` is handed over.
    pub fn at(&self, slot: Nanos) -> Nanos {
        let free = self.free / PICOS_PER_NANO;
        slot.max(Nanos::try_from(free).unwrap_or(Nanos::MAX))
    }

    /// A frame that was due at `slot` was handed over at `now`, and takes the line for `length`.
    pub fn carries(&mut self, slot: Nanos, now: Nanos, length: Picos) {
        let picos = |time: Nanos| {
            u64::try_from(time)
                .unwrap_or(0)
                .saturating_mul(PICOS_PER_NANO)
        };
        let begins = self.free.max(picos(slot)).max(picos(now - JITTER));
        self.free = begins.saturating_add(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_model::MILLISECOND;

    /// A frame of 512 bytes on a line of 10 Mbit/s.
    const LENGTH: Picos = 425_600_000;

    /// Frames due each `interval` picoseconds; the sender sleeps from `stall.0` to `stall.1`. When each was due and handed over.
    fn sent(interval: Picos, frames: u64, stall: (Nanos, Nanos)) -> Vec<(Nanos, Nanos)> {
        let mut line = Line::default();
        let one = |number: u64| {
            let slot = super::super::frames::slot(0, interval, number);
            let mut now = line.at(slot);
            if (stall.0..stall.1).contains(&now) {
                now = stall.1;
            }
            line.carries(slot, now, LENGTH);
            (slot, now)
        };
        (0..frames).map(one).collect()
    }

    #[test]
    fn a_full_line_without_a_stall_keeps_its_grid() {
        for (slot, now) in sent(LENGTH, 100_000, (0, 0)) {
            assert_eq!(slot, now);
        }
    }

    #[test]
    fn what_a_stall_held_up_leaves_one_by_one() {
        let frames = sent(LENGTH, 1000, (37 * MILLISECOND, 40 * MILLISECOND));
        let least = |pair: &[(Nanos, Nanos)]| pair[1].1 - pair[0].1 >= 425_599;
        let held = frames
            .iter()
            .position(|(slot, now)| slot != now)
            .expect("the stall");
        // The first after the stall makes up for what no thread can promise, and no more.
        assert!(frames[held + 1].1 - frames[held].1 >= 425_600 - JITTER);
        assert!(frames[held + 1..].windows(2).all(least));
        // A line that is full never makes it up.
        let (slot, now) = frames[999];
        assert!(now - slot > 2 * MILLISECOND, "{}", now - slot);
    }

    #[test]
    fn a_line_with_room_makes_it_up() {
        let frames = sent(2 * LENGTH, 1000, (37 * MILLISECOND, 40 * MILLISECOND));
        let (slot, now) = frames[999];
        assert_eq!(slot, now);
        let held = frames.iter().filter(|(slot, now)| slot != now).count();
        assert!((4..12).contains(&held), "{held}");
    }

    #[test]
    fn small_slips_do_not_lower_the_rate() {
        let mut line = Line::default();
        for number in 0..100_000 {
            let slot = super::super::frames::slot(0, LENGTH, number);
            let now = line.at(slot);
            assert_eq!(now, slot);
            line.carries(slot, now + 200_000, LENGTH);
        }
    }
}
