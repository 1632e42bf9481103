//! A timer that only looks at its clock now and then: 4.4BSD's slow and fast time-outs.

use delaylab_model::Picos;

/// Ticks at `phase`, `phase + length`, and so on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ticks {
    length: Picos,
    /// From the tick numbered 0 to time 0.
    lead: Picos,
}

impl Ticks {
    pub(crate) fn new(length: Picos, phase: Picos) -> Self {
        let length = length.max(1);
        Self {
            length,
            lead: length - phase % length,
        }
    }

    pub(crate) const fn length(&self) -> Picos {
        self.length
    }

    /// How many there were until `now`, and at it.
    pub(crate) const fn until(&self, now: Picos) -> u64 {
        now.saturating_add(self.lead) / self.length
    }

    /// When the `count`-th after `now` is: a timer of `count` ticks runs that long, not longer.
    pub(crate) const fn after(&self, now: Picos, count: u64) -> Picos {
        let number = self.until(now).saturating_add(count);
        number.saturating_mul(self.length).saturating_sub(self.lead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_of_n_ticks_runs_between_n_minus_one_and_n_of_them() {
        let ticks = Ticks::new(500, 100);
        assert_eq!(ticks.after(0, 1), 100);
        assert_eq!(ticks.after(99, 1), 100);
        assert_eq!(ticks.after(100, 1), 600);
        assert_eq!(ticks.after(599, 2), 1100);
        assert_eq!(ticks.until(1099) - ticks.until(100), 1);
        assert_eq!(Ticks::new(500, 0).after(0, 1), 500);
    }
}
