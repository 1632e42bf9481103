//! Memory for the packets that can be under way at once, had before the first of them is due.
//!
//! A queue that grows moves all that is in it, and its new pages fault one after the other: at 100,000 packets a second
//! and a long time-out that holds the sender up for milliseconds.

use super::{Slot, State, grace};
use delaylab_model::Nanos;
use delaylab_model::method::Method;
use delaylab_model::probe::Pacing;
use delaylab_model::record::Record;
use std::collections::VecDeque;

/// More memory than so much, in bytes, is not taken: see [`Waiting::bytes`].
pub const MOST_BYTES: u64 = 512 << 20;
/// Packets beyond those of the mean rate: gaps are not always the mean one.
const SPARE: u64 = 64;

/// How many packets can be under way at once: sent, and neither answered nor given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting(u64);

impl Waiting {
    /// By how fast, how many and for how long packets are sent, and how long each is waited for.
    pub fn at_most(
        pacing: &Pacing,
        count: Option<u64>,
        duration: Option<Nanos>,
        timeout: Nanos,
    ) -> Self {
        let at_once = match pacing {
            Pacing::Burst { burst, .. } => u64::from(*burst),
            // One at a time, but for those that are late.
            Pacing::Wait { .. } => return Self(SPARE.min(count.unwrap_or(SPARE))),
            _ => 1,
        };
        let Some(gap) = pacing.mean_gap().filter(|&gap| gap > 0) else {
            return Self(SPARE);
        };
        let patience = timeout.saturating_add(grace(timeout));
        let longest = duration.map_or(patience, |duration| duration.min(patience));
        let by_rate = longest.max(0).unsigned_abs() / gap.unsigned_abs();
        let all = by_rate.saturating_add(at_once).saturating_add(SPARE);
        Self(count.map_or(all, |count| count.min(all)))
    }

    /// So many.
    pub const fn packets(self) -> u64 {
        self.0
    }

    /// What they take, in bytes.
    pub const fn bytes(self) -> u64 {
        self.0.saturating_mul(size_of::<Slot>() as u64)
    }

    /// Is that more than is taken?
    pub const fn is_too_much(self) -> bool {
        self.bytes() > MOST_BYTES
    }

    /// Room for them, every page of which has been written to.
    pub fn room(self) -> Room {
        let most = MOST_BYTES / size_of::<Slot>() as u64;
        let blank = || Slot {
            record: Record::due(0, 0, 0, Method::Udp, 1),
            state: State::Released,
            sent_before: 1,
        };
        let mut slots = VecDeque::new();
        slots.resize_with(self.0.min(most) as usize, blank);
        slots.clear();
        Room(slots)
    }
}

/// Room for packets that are under way.
#[derive(Debug, Default)]
pub struct Room(pub(super) VecDeque<Slot>);

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_model::{MICROSECOND, SECOND};

    fn every(gap: Nanos, count: Option<u64>, duration: Option<Nanos>, timeout: Nanos) -> Waiting {
        let pacing = Pacing::Every { interval_ns: gap };
        Waiting::at_most(&pacing, count, duration, timeout)
    }

    #[test]
    fn no_more_wait_than_were_sent_within_time_out_and_grace() {
        let gap = 10 * MICROSECOND;
        assert_eq!(
            every(gap, None, None, SECOND).packets(),
            200_000 + 1 + SPARE
        );
        assert_eq!(every(gap, Some(100), None, SECOND).packets(), 100);
        let short = every(gap, None, Some(SECOND / 10), SECOND);
        assert_eq!(short.packets(), 10_000 + 1 + SPARE);
        let closed = Pacing::Wait { wait_ns: 0 };
        assert_eq!(
            Waiting::at_most(&closed, None, None, SECOND).packets(),
            SPARE
        );
        // 100,000 a second, each waited for 20 s.
        assert!(every(gap, None, None, 10 * SECOND).is_too_much());
        assert!(!every(gap, None, None, 5 * SECOND).is_too_much());
        assert!(every(1, None, None, Nanos::MAX).room().0.capacity() < 4 << 20);
    }

    #[test]
    fn the_queue_does_not_grow_once_it_has_its_room() {
        let waiting = every(MICROSECOND, Some(5000), None, SECOND);
        let Room(mut slots) = waiting.room();
        let room = slots.capacity();
        assert!(slots.is_empty() && room >= 5000);
        let one = Waiting(1).room().0.capacity();
        assert!(one >= 1);
        slots.extend((0..5000).map(|_| Slot {
            record: Record::due(0, 0, 0, Method::Udp, 1),
            state: State::Sent,
            sent_before: 0,
        }));
        assert_eq!(slots.capacity(), room);
    }
}
