//! The factorial design as a plan: all trials are known before the first one begins.

use super::estimate::estimate;
use delaylab_model::Nanos;
use delaylab_model::plan::{Plan, Planned, Remaining};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::marker::PhantomData;

/// Trials that wait for their turn, and those under way.
#[derive(Debug, Clone)]
pub(super) struct Turns {
    waiting: VecDeque<Planned>,
    /// How long each takes, by its number.
    under_way: BTreeMap<u32, Nanos>,
    at_once: usize,
}

impl Turns {
    /// None waits so far. At most `at_once` trials run at the same time.
    pub(super) fn new(at_once: usize) -> Self {
        Self {
            waiting: VecDeque::new(),
            under_way: BTreeMap::new(),
            at_once: at_once.max(1),
        }
    }

    pub(super) fn add(&mut self, planned: impl IntoIterator<Item = Planned>) {
        self.waiting.extend(planned);
    }

    /// Does none wait, and is none under way?
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.under_way.is_empty()
    }

    pub(super) fn next_trials(&mut self) -> Vec<Planned> {
        let free = self.at_once.saturating_sub(self.under_way.len());
        let next: Vec<_> = self.waiting.drain(..free.min(self.waiting.len())).collect();
        let begun = next.iter().map(|it| (it.trial.id, length(it)));
        self.under_way.extend(begun);
        next
    }

    pub(super) fn end(&mut self, planned: &Planned) {
        self.under_way.remove(&planned.trial.id);
    }

    /// With trials that come later.
    pub(super) fn remaining<'a>(&'a self, later: impl Iterator<Item = &'a Planned>) -> Remaining {
        let left = self.waiting.iter().chain(later).map(length);
        let left: Vec<Nanos> = left.chain(self.under_way.values().copied()).collect();
        Remaining {
            trials: left.len(),
            expected: left.into_iter().fold(0, Nanos::saturating_add),
        }
    }
}

fn length(planned: &Planned) -> Nanos {
    estimate(&planned.trial).length
}

/// Hands out trials in the planned order, whatever their results.
#[derive(Debug, Clone)]
pub struct FactorialPlan<Observation: ?Sized> {
    turns: Turns,
    observation: PhantomData<fn(&Observation)>,
}

impl<Observation: ?Sized> FactorialPlan<Observation> {
    /// `done`: numbers of recorded trials, which are left out. At most `at_once` trials run at the same time.
    pub fn new(planned: Vec<Planned>, done: &BTreeSet<u32>, at_once: usize) -> Self {
        let is_new = |planned: &Planned| !done.contains(&planned.trial.id);
        let mut turns = Turns::new(at_once);
        turns.add(planned.into_iter().filter(is_new));
        Self {
            turns,
            observation: PhantomData,
        }
    }
}

impl<Observation: ?Sized> Plan for FactorialPlan<Observation> {
    type Observation = Observation;

    fn next_trials(&mut self) -> Vec<Planned> {
        self.turns.next_trials()
    }

    fn observe(&mut self, planned: &Planned, _seen: &Observation) {
        self.turns.end(planned);
    }

    fn remaining(&self) -> Option<Remaining> {
        Some(self.turns.remaining(std::iter::empty()))
    }
}
