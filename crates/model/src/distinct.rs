//! Trials that are the same simulation count once.
//!
//! A simulation in which nothing is random, or whose levels change nothing that happens, gives the same bits again. A
//! second copy tells nothing that the first did not: who pools trials, or counts them as independent values, asks here
//! which of them count.

use std::collections::{BTreeMap, BTreeSet};

/// Says of what is pooled together which of it counts: of all that share a trace hash the first.
///
/// `of` is what of a trial is meant, where several things of it are pooled: its probes, its series.
#[derive(Debug, Clone, Default)]
pub struct Distinct<K> {
    seen: BTreeSet<(u64, K)>,
}

impl<K: Ord> Distinct<K> {
    /// Of which nothing has been pooled yet.
    pub const fn new() -> Self {
        Self {
            seen: BTreeSet::new(),
        }
    }

    /// Does it count? What has no trace hash always does: no two measurements are the same.
    pub fn is_first(&mut self, trace_hash: Option<u64>, of: K) -> bool {
        trace_hash.is_none_or(|hash| self.seen.insert((hash, of)))
    }
}

/// For each trial the first one that is the same simulation, which may be itself.
pub fn originals(trials: impl IntoIterator<Item = (u32, Option<u64>)>) -> BTreeMap<u32, u32> {
    let trials: BTreeMap<u32, Option<u64>> = trials.into_iter().collect();
    let mut first = BTreeMap::new();
    let original = |(trial, hash): (u32, Option<u64>)| {
        let original = hash.map_or(trial, |hash| *first.entry(hash).or_insert(trial));
        (trial, original)
    };
    trials.into_iter().map(original).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_same_counts() {
        let mut distinct = Distinct::new();
        let counts: Vec<bool> = [
            (Some(7), "echo"),
            (Some(7), "be"),
            (Some(7), "echo"),
            (Some(8), "echo"),
            (None, "echo"),
            (None, "echo"),
        ]
        .map(|(hash, of)| distinct.is_first(hash, of))
        .to_vec();
        assert_eq!(counts, [true, true, false, true, true, true]);
    }

    #[test]
    fn copies_are_known_by_their_originals() {
        let trials = [
            (3, Some(1)),
            (0, None),
            (2, Some(1)),
            (5, Some(1)),
            (4, None),
        ];
        let found = originals(trials);
        assert_eq!(
            found,
            BTreeMap::from([(0, 0), (2, 2), (3, 2), (4, 4), (5, 2)])
        );
    }
}
