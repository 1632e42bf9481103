//! The factorial design as a plan: all trials are known before the first one begins.

use super::estimate::estimate;
use delaylab_model::Nanos;
use delaylab_model::plan::{Plan, Planned, Remaining};
use std::collections::VecDeque;
use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;

/// Hands out trials in the planned order, whatever their results.
#[derive(Debug, Clone)]
pub struct FactorialPlan<Observation: ?Sized> {
    waiting: VecDeque<Planned>,
    under_way: BTreeMap<u32, Nanos>,
    at_once: usize,
    observation: PhantomData<fn(&Observation)>,
}

impl<Observation: ?Sized> FactorialPlan<Observation> {
    /// `done`: numbers of recorded trials, which are left out. At most `at_once` trials run at the same time.
    pub fn new(planned: Vec<Planned>, done: &BTreeSet<u32>, at_once: usize) -> Self {
        Self {
            waiting: planned
                .into_iter()
                .filter(|planned| !done.contains(&planned.trial.id))
                .collect(),
            under_way: BTreeMap::new(),
            at_once: at_once.max(1),
            observation: PhantomData,
        }
    }
}

impl<Observation: ?Sized> Plan for FactorialPlan<Observation> {
    type Observation = Observation;

    fn next_trials(&mut self) -> Vec<Planned> {
        let free = self.at_once.saturating_sub(self.under_way.len());
        let next: Vec<_> = self.waiting.drain(..free.min(self.waiting.len())).collect();
        self.under_way.extend(
            next.iter()
                .map(|planned| (planned.trial.id, length(planned))),
        );
        next
    }

    fn observe(&mut self, planned: &Planned, _seen: &Observation) {
        self.under_way.remove(&planned.trial.id);
    }

    fn remaining(&self) -> Option<Remaining> {
        let left = self.under_way.values().copied();
        let left = self.waiting.iter().map(length).chain(left);
        Some(Remaining {
            trials: self.waiting.len() + self.under_way.len(),
            expected: left.fold(0, Nanos::saturating_add),
        })
    }
}

fn length(planned: &Planned) -> Nanos {
    estimate(&planned.trial).length
}
