//! How real time maps to monotonic time, and what happened to the clocks.
//!
//! Kernel stamps are `CLOCK_REALTIME`, the record is `CLOCK_MONOTONIC`. Their difference is constant
//! between steps (both are slewed alike), so bracketed reads narrow it down exactly; a bracket that
//! contradicts the ones before is a step. Nothing is ever interpolated.

use delaylab_model::record::ClockEvent;
use delaylab_model::{MICROSECOND, MILLISECOND, Nanos};

/// A bracket wider than this is a slow read of the clock (source 002, finding 5).
const SLOW: Nanos = 10 * MICROSECOND;
/// The two clocks round to nanoseconds apart; a contradiction below this is no step.
const TOLERANCE: Nanos = MICROSECOND;
/// `BOOTTIME − MONOTONIC` grows by at least this in a suspend.
const SUSPEND: Nanos = MILLISECOND;

/// What is known of `REALTIME − MONOTONIC`.
#[derive(Debug, Clone)]
pub struct ClockWatch {
    low: Nanos,
    high: Nanos,
    before_step: Option<Nanos>,
    boot_offset: Nanos,
    suspended: Nanos,
    steps: u32,
}

impl ClockWatch {
    /// From a first bracket `monotonic ≤ realtime ≤ monotonic` and `BOOTTIME − MONOTONIC`.
    pub const fn new(before: Nanos, real: Nanos, after: Nanos, boot_offset: Nanos) -> Self {
        Self {
            low: real - after,
            high: real - before,
            before_step: None,
            boot_offset,
            suspended: 0,
            steps: 0,
        }
    }

    /// Takes a bracket: real time was read between two reads of monotonic time.
    #[inline]
    pub fn bracket(&mut self, before: Nanos, real: Nanos, after: Nanos) -> ClockEvent {
        let (low, high) = (real - after, real - before);
        if low > self.high || high < self.low {
            return self.contradicted(low, high);
        }
        self.low = self.low.max(low);
        self.high = self.high.min(high);
        if after - before > SLOW {
            ClockEvent::SlowClockRead
        } else {
            ClockEvent::None
        }
    }

    fn contradicted(&mut self, low: Nanos, high: Nanos) -> ClockEvent {
        let small = low - self.high <= TOLERANCE && self.low - high <= TOLERANCE;
        if !small {
            self.before_step = Some(self.offset());
            self.steps = self.steps.wrapping_add(1);
        }
        (self.low, self.high) = (low, high);
        if small {
            ClockEvent::None
        } else {
            ClockEvent::Step
        }
    }

    /// What a bracket that contradicts the ones before shows, by `BOOTTIME − MONOTONIC` as it is now.
    pub fn step_or_suspend(&mut self, boot_offset: Nanos) -> ClockEvent {
        let grown = boot_offset - self.boot_offset;
        if grown < SUSPEND {
            return ClockEvent::Step;
        }
        self.boot_offset = boot_offset;
        self.suspended += grown;
        ClockEvent::Suspend
    }

    /// How often the two have moved against each other so far, by a step or a suspend.
    pub const fn steps(&self) -> u32 {
        self.steps
    }

    /// For how long the host was suspended so far.
    pub const fn suspended(&self) -> Nanos {
        self.suspended
    }

    /// `REALTIME − MONOTONIC`.
    #[inline]
    pub const fn offset(&self) -> Nanos {
        self.low + (self.high - self.low) / 2
    }

    /// A kernel stamp as monotonic time. It was taken between the two times given, which decides by
    /// which offset to convert it when the clock was stepped meanwhile.
    #[inline]
    pub fn to_monotonic(&self, real: Nanos, not_before: Nanos, not_after: Nanos) -> Nanos {
        let now = real - self.offset();
        let plausible = |t: Nanos| t >= not_before - TOLERANCE && t <= not_after + TOLERANCE;
        match self.before_step {
            Some(offset) if !plausible(now) && plausible(real - offset) => real - offset,
            _ => now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_step_is_seen_and_stamps_from_before_it_still_convert() {
        let mut watch = ClockWatch::new(0, 1_000_000, 40, 0);
        assert_eq!(watch.bracket(1000, 1_001_010, 1040), ClockEvent::None);
        let stamp_before = 1_000_000 + 5_000;
        assert_eq!(watch.bracket(10_000, 51_010_000, 10_040), ClockEvent::Step);
        assert_eq!(watch.steps(), 1);
        let converted = watch.to_monotonic(stamp_before, 4_000, 10_000);
        assert!((converted - 5_000).abs() <= 40, "{converted}");
        let stamp_after = 51_000_000 + 12_000;
        assert!((watch.to_monotonic(stamp_after, 11_000, 13_000) - 12_000).abs() <= 40);
    }

    #[test]
    fn a_slow_read_and_a_suspend_are_seen() {
        const LONG: Nanos = 5 * MILLISECOND;
        let mut watch = ClockWatch::new(0, 500, 30, 7);
        assert_eq!(
            watch.bracket(1_000, 1_500, 21_000),
            ClockEvent::SlowClockRead
        );
        // Real time advances in a suspend: by itself that is like a step.
        let real = 30_500 + LONG;
        assert_eq!(watch.bracket(30_000, real, 30_030), ClockEvent::Step);
        assert_eq!(watch.step_or_suspend(7 + LONG), ClockEvent::Suspend);
        assert_eq!((watch.steps(), watch.suspended()), (1, LONG));
        assert_eq!(watch.step_or_suspend(8 + LONG), ClockEvent::Step);
        assert_eq!(watch.suspended(), LONG);
    }

    proptest! {
        #[test]
        fn brackets_only_narrow_and_never_lose_the_truth(
            offset in -1_000_000_i64..1_000_000,
            reads in proptest::collection::vec((0_i64..100, 0_i64..100), 1..50),
        ) {
            let mut now = 0;
            let mut watch = ClockWatch::new(-100, offset, 100, 0);
            for (first, second) in reads {
                let event = watch.bracket(now, now + first + offset, now + first + second);
                prop_assert_eq!(event, ClockEvent::None);
                prop_assert!(watch.low <= offset && offset <= watch.high);
                now += 1_000;
            }
        }
    }
}
