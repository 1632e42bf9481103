//! The wall clock along the time of a panel, in which trials stand end to end: other trials ran in between.

use super::{Panel, RunData};
use delaylab_model::Nanos;
use std::collections::BTreeMap;

/// A trial of a panel on both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begin {
    /// When it begins, in the panel's time.
    pub t: Nanos,
    /// When that was: nanoseconds since 1970, UTC.
    pub utc: Nanos,
}

/// What to know of the times of a run whose clock moved; with a space before it.
pub const CLOCK_MOVED: &str = " Times continue from that of the clock when each trial began: after the host was suspended or its clock was set, they are \
     off by as much until the next trial.";

impl RunData {
    /// Was the host suspended, or its clock set, while it measured? Its trials say so, as not all of them have a panel.
    pub fn clock_moved(&self) -> bool {
        let mut counts = self.trials.iter().map(|trial| &trial.summary.counts);
        counts.any(|counts| counts.clock_step + counts.clock_suspend > 0)
    }

    /// When the trials of this panel were, in order; `None` where one ran on a simulated clock.
    pub fn wall_clock(&self, panel: &Panel) -> Option<Vec<Begin>> {
        let to_utc: BTreeMap<u32, Option<Nanos>> = (self.trials.iter())
            .map(|trial| (trial.stream.trial, trial.stream.to_utc))
            .collect();
        let begins = panel.sketch.begins().map(|(trial, t, shift)| {
            let to_utc = to_utc.get(&trial).copied().flatten()?;
            let utc = t.saturating_sub(shift).saturating_add(to_utc);
            Some(Begin { t, utc })
        });
        let begins: Option<Vec<Begin>> = begins.collect();
        begins.filter(|begins| !begins.is_empty())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::run::samples::waits;

    #[test]
    fn trials_stand_end_to_end_and_each_has_its_time() {
        let mut run = waits();
        assert_eq!(run.wall_clock(&run.panels[0]), None);
        for (trial, at) in run.trials.iter_mut().zip(1..) {
            trial.stream.to_utc = Some(at * 1_000_000_000_000);
        }
        for panel in &run.panels {
            let begins = run.wall_clock(panel).unwrap();
            assert_eq!(begins.len(), panel.trials);
            assert_eq!(begins[0].t, 0);
            let apart = |pair: &[Begin]| pair[1].utc - pair[0].utc >= pair[1].t - pair[0].t;
            assert!(begins.windows(2).all(apart));
        }
    }

    #[test]
    fn a_clock_that_moved_in_a_trial_without_a_panel_is_known() {
        let mut run = waits();
        assert!(!run.clock_moved());
        let trial = run.trials.last_mut().unwrap();
        trial.panel = None;
        trial.summary.counts.clock_suspend = 1;
        assert!(run.clock_moved());
    }
}
