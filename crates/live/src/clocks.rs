//! This host's clocks, read and watched.

use delaylab_kernel::clock;
use delaylab_kernel::host_info::{self, Synchronisation};
use delaylab_model::Nanos;
use delaylab_model::record::ClockEvent;
use delaylab_traffic::prober::clock_watch::ClockWatch;
use delaylab_wire::control::ClockFacts;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// Brackets tried at the start; the narrowest decide.
const FIRST_BRACKETS: usize = 50;

/// Where `CLOCK_REALTIME` comes from: the kernel, and what is added to it. A step is had by it without stepping the
/// clock of a whole machine.
#[derive(Debug, Clone, Default)]
pub struct RealTime(Option<Arc<AtomicI64>>);

impl RealTime {
    /// The kernel's, to which `added` is added as it is at each reading.
    pub fn with(added: Arc<AtomicI64>) -> Self {
        Self(Some(added))
    }

    /// The kernel's, as it is.
    pub const fn of_kernel() -> Self {
        Self(None)
    }

    #[inline]
    fn now(&self) -> Nanos {
        self.seen(clock::realtime())
    }

    /// A time that the kernel read.
    #[inline]
    fn seen(&self, real: Nanos) -> Nanos {
        match &self.0 {
            None => real,
            Some(added) => real.wrapping_add(added.load(Ordering::Relaxed)),
        }
    }
}

/// A host's clocks as one of its programs sees them.
#[derive(Debug, Clone)]
pub struct HostClock {
    /// Its real time.
    pub real_time: RealTime,
    /// What it says of them.
    pub facts: ClockFacts,
}

impl HostClock {
    /// This host's, as its kernel has them now.
    pub fn of_kernel() -> Self {
        let state = Synchronisation::read().ok();
        Self {
            real_time: RealTime::of_kernel(),
            facts: ClockFacts {
                id: host_info::clock_id().unwrap_or(0),
                synchronised: state.is_some_and(|state| state.synchronised),
                error_bound: state.map_or(u64::MAX, |state| state.max_error.unsigned_abs()),
            },
        }
    }

    /// What it says of them now, and that it is not known where it does not say. What a test gives it does not change.
    pub fn facts_now(&self) -> ClockFacts {
        match (&self.real_time.0, Synchronisation::read()) {
            (None, Ok(state)) => ClockFacts {
                id: self.facts.id,
                synchronised: state.synchronised,
                error_bound: state.max_error.unsigned_abs(),
            },
            (None, Err(_)) => ClockFacts {
                synchronised: false,
                error_bound: u64::MAX,
                ..self.facts
            },
            (Some(_), _) => self.facts,
        }
    }

    /// Watches them from now on.
    pub fn watch(&self) -> Clocks {
        Clocks::new(self.real_time.clone())
    }
}

/// Reads the clocks and keeps what they say of each other.
#[derive(Debug)]
pub struct Clocks {
    real_time: RealTime,
    watch: ClockWatch,
}

impl Clocks {
    /// Narrows `REALTIME − MONOTONIC` down by a few dozen reads.
    pub fn new(real_time: RealTime) -> Self {
        let before = clock::monotonic();
        let real = real_time.now();
        let after = clock::monotonic();
        let mut watch = ClockWatch::new(before, real, after, clock::boottime() - after);
        for _ in 0..FIRST_BRACKETS {
            let before = clock::monotonic();
            let real = real_time.now();
            watch.bracket(before, real, clock::monotonic());
        }
        Self { real_time, watch }
    }

    /// Reads monotonic time after real time, `before` being the last read before: a bracket. In a suspend real time
    /// advances and monotonic time does not, which is no step.
    #[inline]
    pub fn now_bracketed(&mut self, before: Nanos) -> (Nanos, ClockEvent) {
        let real = self.real_time.now();
        let after = clock::monotonic();
        let event = match self.watch.bracket(before, real, after) {
            ClockEvent::Step => {
                let boot = clock::boottime();
                self.watch.step_or_suspend(boot - clock::monotonic())
            }
            event => event,
        };
        (after, event)
    }

    /// Takes a bracket behind a time that has just been read.
    #[inline]
    pub fn bracket_from(&mut self, before: Nanos) -> ClockEvent {
        self.now_bracketed(before).1
    }

    /// `REALTIME − MONOTONIC`.
    pub fn offset(&self) -> Nanos {
        self.watch.offset()
    }

    /// How often the two have moved against each other since [`Clocks::new`].
    pub fn steps(&self) -> u32 {
        self.watch.steps()
    }

    /// For how long the host was suspended since then.
    pub fn suspended(&self) -> Nanos {
        self.watch.suspended()
    }

    /// A kernel stamp, taken between these two times, as monotonic time.
    #[inline]
    pub fn to_monotonic(&self, real: Nanos, not_before: Nanos, not_after: Nanos) -> Nanos {
        self.real_to_monotonic(self.real_time.seen(real), not_before, not_after)
    }

    /// What this host's real time was at some moment between these two times, as monotonic time.
    #[inline]
    pub fn real_to_monotonic(&self, real: Nanos, not_before: Nanos, not_after: Nanos) -> Nanos {
        self.watch.to_monotonic(real, not_before, not_after)
    }
}
