//! This host's clocks, read and watched.

use delaylab_kernel::clock;
use delaylab_model::record::ClockEvent;
use delaylab_model::{MILLISECOND, Nanos};
use delaylab_traffic::prober::clock_watch::ClockWatch;

/// A suspend takes long: looking for one this often is enough.
const BOOT_CHECK: Nanos = 100 * MILLISECOND;
/// Brackets tried at the start; the narrowest decide.
const FIRST_BRACKETS: usize = 50;

/// Reads the clocks and keeps what they say of each other.
#[derive(Debug)]
pub struct Clocks {
    watch: ClockWatch,
    next_boot_check: Nanos,
}

impl Clocks {
    /// Narrows `REALTIME − MONOTONIC` down by a few dozen reads.
    pub fn new() -> Self {
        let before = clock::monotonic();
        let real = clock::realtime();
        let after = clock::monotonic();
        let mut watch = ClockWatch::new(before, real, after, clock::boottime() - after);
        for _ in 0..FIRST_BRACKETS {
            let before = clock::monotonic();
            let real = clock::realtime();
            watch.bracket(before, real, clock::monotonic());
        }
        Self {
            watch,
            next_boot_check: after,
        }
    }

    /// Reads monotonic time after real time, `before` being the last read before: a bracket.
    #[inline]
    pub fn now_bracketed(&mut self, before: Nanos) -> (Nanos, ClockEvent) {
        let real = clock::realtime();
        let after = clock::monotonic();
        (after, self.watch.bracket(before, real, after))
    }

    /// Takes a bracket behind a time that has just been read.
    #[inline]
    pub fn bracket_from(&mut self, before: Nanos) -> ClockEvent {
        self.now_bracketed(before).1
    }

    /// Looks for a suspend now and then.
    pub fn look_for_suspend(&mut self, now: Nanos) -> ClockEvent {
        if now < self.next_boot_check {
            return ClockEvent::None;
        }
        self.next_boot_check = now + BOOT_CHECK;
        let boot = clock::boottime();
        self.watch.boot_offset(boot - clock::monotonic())
    }

    /// `REALTIME − MONOTONIC`.
    pub fn offset(&self) -> Nanos {
        self.watch.offset()
    }

    /// A kernel stamp, taken between these two times, as monotonic time.
    #[inline]
    pub fn to_monotonic(&self, real: Nanos, not_before: Nanos, not_after: Nanos) -> Nanos {
        self.watch.to_monotonic(real, not_before, not_after)
    }
}
