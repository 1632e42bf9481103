//! Estimates how long a run will still take.

use delaylab_model::Nanos;
use delaylab_model::plan::Remaining;
use delaylab_model::world::Clock;

/// Estimates the time left from the trials that are over.
///
/// On a real clock it learns how much longer than its schedule a trial takes (replies, set-up, tear-down).
/// On a simulated clock it learns how much simulated time passes in a second, over all parallel trials.
#[derive(Debug, Clone, Copy)]
pub struct TimeLeft {
    clock: Clock,
    begun: Nanos,
    trials: i64,
    beyond_schedule: Nanos,
    /// Sum of the scheduled times of all trials that are over.
    expected: Nanos,
    /// When the last trial ended.
    latest: Nanos,
}

impl TimeLeft {
    /// Starts with no trial over, at the beginning of the run.
    pub fn new(clock: Clock, now: Nanos) -> Self {
        Self {
            clock,
            begun: now,
            trials: 0,
            beyond_schedule: 0,
            expected: 0,
            latest: now,
        }
    }

    /// Adds a trial that ended now. `expected`: its scheduled time; `took`: its real time, both nanoseconds.
    pub fn learn(&mut self, expected: Nanos, took: Nanos, now: Nanos) {
        self.trials += 1;
        self.beyond_schedule += (took - expected).max(0);
        self.expected = self.expected.saturating_add(expected);
        self.latest = now;
    }

    /// Real time for the remaining trials, nanoseconds; `None` before the first simulated trial has ended.
    pub fn estimate(&self, remaining: Remaining) -> Option<Nanos> {
        match self.clock {
            Clock::Real => Some(self.scheduled(remaining)),
            Clock::Simulated => self.at_this_pace(remaining),
        }
    }

    fn scheduled(&self, remaining: Remaining) -> Nanos {
        let each = self.beyond_schedule.checked_div(self.trials).unwrap_or(0);
        let trials = i64::try_from(remaining.trials).unwrap_or(i64::MAX);
        remaining
            .expected
            .saturating_add(each.saturating_mul(trials))
    }

    fn at_this_pace(&self, remaining: Remaining) -> Option<Nanos> {
        let share = remaining.expected as f64 / self.expected as f64;
        let left = (self.latest - self.begun) as f64 * share;
        left.is_finite().then_some(left as Nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REMAINING: Remaining = Remaining {
        trials: 4,
        expected: 1000,
    };

    #[test]
    fn what_trials_took_beyond_their_schedule_is_expected_of_the_others() {
        let mut left = TimeLeft::new(Clock::Real, 0);
        assert_eq!(left.estimate(REMAINING), Some(1000));
        left.learn(100, 150, 150);
        left.learn(0, 30, 180);
        assert_eq!(left.estimate(REMAINING), Some(1000 + 4 * 40));
        left.learn(100, 50, 230);
        assert_eq!(left.estimate(REMAINING), Some(1000 + 4 * 26));
    }

    #[test]
    fn simulated_time_goes_on_as_fast_as_it_did() {
        let mut left = TimeLeft::new(Clock::Simulated, 7);
        assert_eq!(left.estimate(REMAINING), None);
        left.learn(2000, 50, 107);
        assert_eq!(left.estimate(REMAINING), Some(50));
        // Another that ran beside it.
        left.learn(2000, 60, 107);
        assert_eq!(left.estimate(REMAINING), Some(25));
    }
}
