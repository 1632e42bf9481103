//! How long a run will still take.

use delaylab_model::Nanos;
use delaylab_model::plan::Remaining;

/// Learns from trials that are over what one takes beyond its schedule: replies, set-up, tear-down.
#[derive(Debug, Clone, Copy, Default)]
pub struct TimeLeft {
    trials: i64,
    beyond_schedule: Nanos,
}

impl TimeLeft {
    /// A trial that should take `expected` by its schedule took `took`.
    pub fn learn(&mut self, expected: Nanos, took: Nanos) {
        self.trials += 1;
        self.beyond_schedule += (took - expected).max(0);
    }

    /// For all that is still to come.
    pub fn of(&self, remaining: Remaining) -> Nanos {
        let each = self.beyond_schedule.checked_div(self.trials).unwrap_or(0);
        let trials = i64::try_from(remaining.trials).unwrap_or(i64::MAX);
        remaining
            .expected
            .saturating_add(each.saturating_mul(trials))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_trials_took_beyond_their_schedule_is_expected_of_the_others() {
        let mut left = TimeLeft::default();
        let remaining = Remaining {
            trials: 4,
            expected: 1000,
        };
        assert_eq!(left.of(remaining), 1000);
        left.learn(100, 150);
        left.learn(0, 30);
        assert_eq!(left.of(remaining), 1000 + 4 * 40);
        left.learn(100, 50);
        assert_eq!(left.of(remaining), 1000 + 4 * 26);
    }
}
