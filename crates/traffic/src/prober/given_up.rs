//! Packets that were given up, so that a reply that comes all the same is known for what it is.

use std::collections::BTreeMap;

/// More runs are not remembered; of a packet before them a reply belongs to nothing.
const MOST_RUNS: usize = 1 << 16;

/// The newest packets that were given up, in runs: an outage of any length is one. The first of each and the one behind its
/// last.
#[derive(Debug, Default)]
pub(super) struct GivenUp(BTreeMap<u64, u64>);

impl GivenUp {
    pub(super) fn insert(&mut self, seq: u64) {
        let first = match self.run_of(seq) {
            Some((_, end)) if end > seq => return,
            Some((first, end)) if end == seq => first,
            _ => seq,
        };
        let end = self.0.remove(&(seq + 1)).unwrap_or(seq + 1);
        self.put(first, end);
    }

    /// Was it given up, and has no reply come since?
    pub(super) fn remove(&mut self, seq: u64) -> bool {
        let Some((first, end)) = self.run_of(seq).filter(|&(_, end)| end > seq) else {
            return false;
        };
        self.0.remove(&first);
        self.put(first, seq);
        self.put(seq + 1, end);
        true
    }

    /// The last run that begins at it or before.
    fn run_of(&self, seq: u64) -> Option<(u64, u64)> {
        let run = self.0.range(..=seq).next_back();
        run.map(|(&first, &end)| (first, end))
    }

    fn put(&mut self, first: u64, end: u64) {
        if first < end {
            self.0.insert(first, end);
        }
        if self.0.len() > MOST_RUNS {
            self.0.pop_first();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn an_outage_of_any_length_is_known_and_memory_is_bounded() {
        let mut given_up = GivenUp::default();
        let outage = 3 * MOST_RUNS as u64;
        (0..outage).for_each(|seq| given_up.insert(seq));
        assert_eq!(given_up.0.len(), 1);
        assert!((0..outage).all(|seq| given_up.remove(seq)));
        assert!(given_up.0.is_empty());
        (0..outage).for_each(|seq| given_up.insert(2 * seq));
        assert_eq!(given_up.0.len(), MOST_RUNS);
        assert!(!given_up.remove(0));
        let last = 2 * (outage - 1);
        assert!(given_up.remove(last) && !given_up.remove(last));
    }

    proptest! {
        /// Against the plain definition: a set of all of them.
        #[test]
        fn runs_are_the_set_that_they_stand_for(steps in proptest::collection::vec((any::<bool>(), 0_u64..20), 1..80)) {
            let (mut given_up, mut set) = (GivenUp::default(), BTreeSet::new());
            for (insert, seq) in steps {
                if insert {
                    given_up.insert(seq);
                    set.insert(seq);
                } else {
                    prop_assert_eq!(given_up.remove(seq), set.remove(&seq), "{} of {:?}", seq, given_up);
                }
            }
        }
    }
}
