//! Which trials of a comparison repeat each other, and which are of one repeat.
//!
//! Measurements are independent of each other. Simulations that were given the same random numbers are not: they differ by
//! their levels alone, and all that chance did to one of them it did to the others. Together they are one repeat: they are
//! drawn and left out together, on both sides of a comparison, so that what they have in common neither makes the interval of
//! all of them too short nor that of their difference too long (common random numbers; the jackknife of groups).

use std::collections::{BTreeMap, BTreeSet};

/// Trials by their index.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Design {
    strata: Vec<usize>,
    /// The repeat of each trial.
    repeats: Vec<usize>,
    /// The connected part of the design that each trial is in: trials of one stratum or of one repeat are in the same.
    parts: Vec<usize>,
    /// The number of repeats.
    count: usize,
}

impl Design {
    /// Of trials of which those with equal `strata` repeat each other, and of which those with equal `seeds` have the same random
    /// numbers; `None`: nothing that another one has.
    pub fn new(strata: Vec<usize>, seeds: &[Option<u64>]) -> Self {
        let mut known = BTreeMap::new();
        let mut count = 0;
        let repeats = (0..strata.len()).map(|trial| {
            let next = count;
            let repeat = match seeds.get(trial).copied().flatten() {
                Some(seed) => *known.entry(seed).or_insert(next),
                None => next,
            };
            count = count.max(repeat + 1);
            repeat
        });
        let repeats: Vec<usize> = repeats.collect();
        Self {
            parts: parts(&strata, &repeats),
            count,
            strata,
            repeats,
        }
    }

    /// The number of trials.
    pub(super) fn trials(&self) -> usize {
        self.strata.len()
    }

    /// The number of repeats.
    pub(super) const fn count(&self) -> usize {
        self.count
    }

    pub(super) fn stratum(&self, trial: usize) -> usize {
        self.strata[trial]
    }

    pub(super) fn repeat(&self, trial: usize) -> usize {
        self.repeats[trial]
    }

    pub(super) fn part(&self, trial: usize) -> usize {
        self.parts[trial]
    }

    /// The repeats that these trials are of.
    pub fn repeats_of<'a>(&self, trials: impl IntoIterator<Item = &'a usize>) -> BTreeSet<usize> {
        trials
            .into_iter()
            .map(|&trial| self.repeats[trial])
            .collect()
    }

    /// Of how many of these trials each repeat is: 1 where all are independent.
    pub fn trials_a_repeat(&self, trials: &BTreeSet<usize>) -> f64 {
        let repeats = self.repeats_of(trials).len();
        (trials.len() as f64 / repeats.max(1) as f64).max(1.0)
    }

    /// Are any two of these trials of one repeat?
    pub(super) fn shares_repeats(&self, trials: &BTreeSet<usize>) -> bool {
        self.repeats_of(trials).len() < trials.len()
    }

    /// Are any two trials of one repeat?
    pub(super) fn has_shared_repeats(&self) -> bool {
        self.count < self.strata.len()
    }

    /// How many repeats there are of these trials, beyond the first of each.
    pub(super) fn further_repeats<'a>(&self, trials: impl Iterator<Item = &'a usize>) -> usize {
        let each = trials.map(|&trial| (self.repeats[trial], self.parts[trial]));
        let each: BTreeMap<usize, usize> = each.collect();
        let parts: BTreeSet<&usize> = each.values().collect();
        each.len() - parts.len()
    }
}

/// How many trials of each stratum have values, in all and in each repeat.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct WithValues {
    of_strata: BTreeMap<usize, usize>,
    /// For each repeat, by the stratum.
    of_repeats: Vec<BTreeMap<usize, usize>>,
}

impl WithValues {
    /// Of the trials that have blocks.
    pub(super) fn new(design: &Design, blocks: &[usize]) -> Self {
        let mut found = Self {
            of_strata: BTreeMap::new(),
            of_repeats: vec![BTreeMap::new(); design.count],
        };
        let trials = blocks.iter().enumerate().filter(|(_, blocks)| **blocks > 0);
        for (trial, _) in trials {
            let stratum = design.strata[trial];
            *found.of_strata.entry(stratum).or_default() += 1;
            let of_repeat = &mut found.of_repeats[design.repeats[trial]];
            *of_repeat.entry(stratum).or_default() += 1;
        }
        found
    }

    /// The trials of a stratum, and how many are left without those of a repeat; `None` where it has none of them.
    pub(super) fn left_without(&self, stratum: usize, repeat: usize) -> Option<(usize, usize)> {
        let own = self.of_repeats[repeat].get(&stratum)?;
        let all = self.of_strata.get(&stratum)?;
        Some((*all, all - own))
    }

    /// Repeats with a trial that others repeat.
    pub(super) fn can_be_left_out(&self) -> Vec<usize> {
        let is_repeated = |(stratum, own): (&usize, &usize)| self.of_strata[stratum] > *own;
        let repeats = self.of_repeats.iter().enumerate();
        let repeats = repeats.filter(|(_, strata)| strata.iter().any(is_repeated));
        repeats.map(|(repeat, _)| repeat).collect()
    }
}

/// Trials that are independent of each other.
impl From<Vec<usize>> for Design {
    fn from(strata: Vec<usize>) -> Self {
        Self::new(strata, &[])
    }
}

/// For each trial the number of its part: the least of the strata that its own is connected with.
fn parts(strata: &[usize], repeats: &[usize]) -> Vec<usize> {
    let mut parts = strata.to_vec();
    let mut of_repeat = BTreeMap::<usize, BTreeSet<usize>>::new();
    for (&repeat, &stratum) in repeats.iter().zip(strata) {
        of_repeat.entry(repeat).or_default().insert(stratum);
    }
    for together in of_repeat.values().filter(|strata| strata.len() > 1) {
        let of_strata = strata.iter().zip(&parts);
        let joined = of_strata.filter(|(stratum, _)| together.contains(stratum));
        let joined: BTreeSet<usize> = joined.map(|(_, &part)| part).collect();
        let Some(&first) = joined.first() else {
            continue;
        };
        for part in parts.iter_mut().filter(|part| joined.contains(part)) {
            *part = first;
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_of_one_seed_are_one_repeat() {
        let seeds = [Some(7), Some(7), Some(8), Some(8), None, None];
        let design = Design::new(vec![0, 1, 0, 1, 2, 2], &seeds);
        let repeats: Vec<usize> = (0..6).map(|trial| design.repeat(trial)).collect();
        assert_eq!((repeats, design.count()), (vec![0, 0, 1, 1, 2, 3], 4));
        let parts: Vec<usize> = (0..6).map(|trial| design.part(trial)).collect();
        assert_eq!(parts, [0, 0, 0, 0, 2, 2]);
        assert_eq!(design.further_repeats([0, 1, 2, 3].iter()), 1);
        assert_eq!(design.further_repeats([0, 2, 4, 5].iter()), 2);
        assert!(design.shares_repeats(&BTreeSet::from([0, 1])));
        assert!(!design.shares_repeats(&BTreeSet::from([0, 3, 4])));
        assert_eq!(design.trials_a_repeat(&BTreeSet::from([0, 1, 2, 3])), 2.0);
    }

    #[test]
    fn trials_without_a_seed_are_connected_by_their_strata_alone() {
        let design = Design::from(vec![3, 5, 3, 5]);
        let parts: Vec<usize> = (0..4).map(|trial| design.part(trial)).collect();
        assert_eq!((parts, design.count()), (vec![3, 5, 3, 5], 4));
        assert_eq!(design.further_repeats([0, 1, 2, 3].iter()), 2);
    }
}
