//! Reports the progress of a run to its plan and to an observer.

use super::time_left::TimeLeft;
use super::trial::BrokenOff;
use super::{EndedTrial, LabError, Progress, TrialOutcome};
use crate::experiment::estimate;
use delaylab_kernel::clock;
use delaylab_model::Nanos;
use delaylab_model::plan::{Plan, Planned, Remaining};
use delaylab_model::world::Clock;

/// A plan that is being carried out, and its observer.
pub(super) struct RunProgress<'a, P: ?Sized> {
    pub(super) plan: &'a mut P,
    pub(super) progress: &'a mut dyn Progress,
    /// Number of recorded trials.
    pub(super) done: usize,
    time_left: TimeLeft,
}

impl<'a, P: Plan<Observation = TrialOutcome> + ?Sized> RunProgress<'a, P> {
    pub(super) fn new(
        plan: &'a mut P,
        progress: &'a mut dyn Progress,
        done: usize,
        clock: Clock,
    ) -> Self {
        Self {
            plan,
            progress,
            done,
            time_left: TimeLeft::new(clock, clock::monotonic()),
        }
    }

    pub(super) fn begins(&mut self, planned: &Planned) {
        let left = self.left();
        self.progress.begins(planned, self.done, left);
    }

    /// Records the real time of a trial, for the estimate of the time left.
    pub(super) fn took(&mut self, planned: &Planned, took: Nanos) {
        let expected = estimate(&planned.trial).length;
        self.time_left.learn(expected, took, clock::monotonic());
    }

    pub(super) fn ended(&mut self, planned: &Planned, outcome: &TrialOutcome) {
        self.done += 1;
        self.plan.observe(planned, outcome);
        let left = self.left();
        let ended = EndedTrial {
            planned,
            rows: &outcome.rows,
            summaries: &outcome.summaries,
            streams: &outcome.streams,
            not_stored: outcome.not_stored.as_deref(),
        };
        self.progress.ended(&ended, self.done, left);
    }

    /// Reports the summaries of a trial that broke off; returns its error.
    pub(super) fn broke_off(&mut self, planned: &Planned, broken_off: BrokenOff) -> LabError {
        let BrokenOff { error, summaries } = broken_off;
        self.progress.broke_off(planned.trial.id, &summaries);
        error
    }

    fn left(&self) -> Option<(Remaining, Option<Nanos>)> {
        let remaining = self.plan.remaining()?;
        Some((remaining, self.time_left.estimate(remaining)))
    }
}
