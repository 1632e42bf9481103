//! What clock reads cost, during the trial (source 002, finding 5).

use super::gaps;
use delaylab_kernel::clock;
use delaylab_model::Nanos;
use delaylab_model::noise::{ClockReads, NoiseEvent, NoiseKind};
use std::collections::BTreeMap;

/// Reads before and after the trial: about half a millisecond.
pub(super) const LONG: usize = 10_000;
/// Reads at each look during the trial: a few microseconds.
pub(super) const SHORT: usize = 64;

/// Counts of clock reads by what they cost.
#[derive(Debug, Default)]
pub(super) struct ClockCost {
    steps: Vec<Nanos>,
    /// By the least cost of the bin.
    bins: BTreeMap<Nanos, u64>,
}

impl ClockCost {
    /// Reads the clock so many times. Hands on each read that took longer than `slow`.
    pub(super) fn read(
        &mut self,
        trial: u32,
        reads: usize,
        slow: Nanos,
        mut found: impl FnMut(NoiseEvent),
    ) {
        self.steps.clear();
        self.steps.resize(reads, 0);
        let cpu = clock::current_cpu();
        let mut start = gaps::read(&mut self.steps);
        let cpu = cpu.filter(|_| cpu == clock::current_cpu());
        for &step in &self.steps {
            *self.bins.entry(ClockReads::bin(step).0).or_default() += 1;
            if step > slow {
                let kind = NoiseKind::SlowClockRead;
                found(gaps::event(kind, trial, cpu, start, step));
            }
            start += step;
        }
    }

    /// Ends the trial: its bins in order, and none are left.
    pub(super) fn take(&mut self, trial: u32) -> Vec<ClockReads> {
        ClockReads::rows(trial, std::mem::take(&mut self.bins))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bins_are_decimal() {
        for (cost, from, to) in [
            (0, 0, 1),
            (9, 9, 10),
            (10, 10, 20),
            (47, 40, 50),
            (99, 90, 100),
            (123_456, 100_000, 200_000),
            (-1, Nanos::MIN, 0),
            (Nanos::MAX, 9_000_000_000_000_000_000, Nanos::MAX),
        ] {
            assert_eq!(ClockReads::bin(cost), (from, to), "{cost}");
        }
    }

    #[test]
    fn every_read_is_in_a_bin_and_the_next_trial_starts_anew() {
        let mut cost = ClockCost::default();
        let mut slow = Vec::new();
        cost.read(7, 500, -1, |event| slow.push(event));
        cost.read(7, 300, Nanos::MAX, |_| unreachable!());
        let bins = cost.take(7);
        assert_eq!(bins.iter().map(|bin| bin.count).sum::<u64>(), 800);
        assert!(bins.windows(2).all(|two| two[0].to_ns <= two[1].from_ns));
        assert!(bins.iter().all(|bin| bin.trial == 7 && bin.count > 0));
        assert_eq!(slow.len(), 500);
        assert!(
            slow.windows(2)
                .all(|two| two[0].start + two[0].length == two[1].start)
        );
        assert_eq!(cost.take(8), []);
    }

    proptest! {
        #[test]
        fn a_cost_is_in_its_bin(cost in any::<Nanos>()) {
            let (from, to) = ClockReads::bin(cost);
            prop_assert!(from <= cost && (cost < to || cost == Nanos::MAX));
            prop_assert_eq!(ClockReads::bin(from), (from, to));
        }
    }
}
