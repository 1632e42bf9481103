//! A plan that repeats each combination of levels until the interval of a statistic is narrow enough.

use super::plan::Turns;
use super::stop::Precision;
use crate::trial_outcome::TrialOutcome;
use delaylab_model::distinct::Distinct;
use delaylab_model::plan::{Plan, Planned, Remaining, labels, levels_in_words};
use delaylab_stats::summary::{Figure, Summary};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The results of a trial that the stop rule needs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures {
    /// Digest of the trial's events if it was simulated.
    pub trace_hash: Option<u64>,
    /// Summary figures, one list for each probe of the trial.
    pub of_probes: Vec<Vec<Figure>>,
}

/// Plans in rounds. A round is one repeat of every combination whose interval is still too wide.
///
/// The next round is chosen only after the previous one ends. So the trials do not depend on how many
/// run at once, or on whether the run was resumed.
#[derive(Debug, Clone)]
pub struct SequentialPlan {
    stop: Precision,
    /// All trials of later rounds, next round first.
    rounds: VecDeque<Vec<Planned>>,
    /// The current round.
    turns: Turns,
    /// Results of recorded trials of later rounds.
    done: BTreeMap<u32, Figures>,
    /// The statistic in each repeat so far, by combination and index of the probe.
    seen: BTreeMap<(Vec<String>, usize), Vec<f64>>,
    /// Identical simulations of a combination count as one repeat.
    distinct: Distinct<Vec<String>>,
    /// The combinations of levels of which there were any.
    copied: BTreeSet<Vec<String>>,
    /// Every combination of levels, in words, and its probes that are meant.
    combinations: BTreeMap<Vec<String>, (String, Vec<usize>)>,
}

impl SequentialPlan {
    /// `planned`: the trials of the maximum number of repeats. `done`: results of recorded trials by number;
    /// these trials are not handed out again. At most `at_once` trials run at the same time.
    pub fn new(
        planned: Vec<Planned>,
        stop: Precision,
        done: BTreeMap<u32, Figures>,
        at_once: usize,
    ) -> Self {
        let mut rounds = BTreeMap::<u32, Vec<Planned>>::new();
        let mut combinations = BTreeMap::new();
        for planned in planned {
            combinations
                .entry(labels(&planned.factors))
                .or_insert_with(|| {
                    (
                        levels_in_words(&planned.factors, None),
                        stop.probes(&planned.trial),
                    )
                });
            rounds.entry(planned.repeat).or_default().push(planned);
        }
        let mut plan = Self {
            stop,
            rounds: rounds.into_values().collect(),
            turns: Turns::new(at_once),
            done,
            seen: BTreeMap::new(),
            distinct: Distinct::new(),
            copied: BTreeSet::new(),
            combinations,
        };
        plan.begin_round();
        plan
    }

    fn learn(&mut self, planned: &Planned, figures: &Figures) {
        let combination = labels(&planned.factors);
        if !self
            .distinct
            .is_first(figures.trace_hash, combination.clone())
        {
            self.copied.insert(combination);
            return;
        }
        let probes = planned.trial.probes.iter().zip(&figures.of_probes);
        for (index, (probe, figures)) in probes.enumerate() {
            if let Some(value) = self.stop.value(&probe.name, figures) {
                let key = (combination.clone(), index);
                self.seen.entry(key).or_default().push(value);
            }
        }
    }

    /// Is the interval of any probe of this combination still too wide? True if there is no result yet.
    fn is_open(&self, planned: &Planned) -> bool {
        let combination = labels(&planned.factors);
        let probes = 0..planned.trial.probes.len();
        let mut seen = probes.filter_map(|index| self.seen.get(&(combination.clone(), index)));
        let first = seen.next();
        first.is_none_or(|first| !self.stop.is_reached(first))
            || seen.any(|values| !self.stop.is_reached(values))
    }

    /// What is missing from the precision asked for, after all that was learned; `None` where nothing is. A sentence. Of what repeats
    /// itself exactly no repeat would tell more.
    pub fn missed(&self) -> Option<String> {
        let mut values = Vec::new();
        for (combination, (words, probes)) in &self.combinations {
            for &probe in probes {
                let seen = self.seen.get(&(combination.clone(), probe));
                let seen = seen.cloned().unwrap_or_default();
                let is_exact = seen.len() == 1 && self.copied.contains(combination);
                if !is_exact {
                    values.push((words.clone(), seen));
                }
            }
        }
        self.stop.missed(&values, self.combinations.len())
    }

    /// Begins the next round of which any trial is left. A trial is wanted by what the rounds before gave: what is recorded
    /// of later rounds says nothing yet, or one of an early round that is to be repeated would not be.
    fn begin_round(&mut self) {
        while self.turns.is_empty() {
            let Some(round) = self.rounds.pop_front() else {
                return;
            };
            let is_done = |planned: &Planned| self.done.contains_key(&planned.trial.id);
            let (recorded, new): (Vec<_>, Vec<_>) = round.into_iter().partition(is_done);
            let wanted = new.into_iter().filter(|planned| self.is_open(planned));
            let wanted: Vec<_> = wanted.collect();
            self.turns.add(wanted);
            for planned in recorded {
                if let Some(figures) = self.done.remove(&planned.trial.id) {
                    self.learn(&planned, &figures);
                }
            }
        }
    }
}

impl Plan for SequentialPlan {
    type Observation = TrialOutcome;

    fn next_trials(&mut self) -> Vec<Planned> {
        self.begin_round();
        self.turns.next_trials()
    }

    fn observe(&mut self, planned: &Planned, seen: &TrialOutcome) {
        self.turns.end(planned);
        let figures = Figures {
            trace_hash: seen.rows.first().and_then(|row| row.facts.trace_hash),
            of_probes: seen.summaries.iter().map(Summary::figures).collect(),
        };
        self.learn(planned, &figures);
    }

    /// An upper bound: combinations may need fewer rounds.
    fn remaining(&self) -> Option<Remaining> {
        let later = self.rounds.iter().flatten();
        let later = later.filter(|p| !self.done.contains_key(&p.trial.id) && self.is_open(p));
        Some(self.turns.remaining(later))
    }
}
