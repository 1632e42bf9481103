//! Packets that were given up as lost, so that a reply that comes all the same is known for what it is.

use std::collections::BTreeSet;

/// More are not remembered; of a packet before them a reply belongs to nothing.
const MOST: usize = 1 << 16;

/// The newest packets that were given up.
#[derive(Debug, Default)]
pub(super) struct GivenUp(BTreeSet<u64>);

impl GivenUp {
    pub(super) fn insert(&mut self, seq: u64) {
        self.0.insert(seq);
        if self.0.len() > MOST {
            self.0.pop_first();
        }
    }

    /// Was it given up, and has no reply come since?
    pub(super) fn remove(&mut self, seq: u64) -> bool {
        self.0.remove(&seq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_answered_once_and_memory_is_bounded() {
        let mut given_up = GivenUp::default();
        for seq in 0..2 * MOST as u64 {
            given_up.insert(seq);
        }
        assert_eq!(given_up.0.len(), MOST);
        assert!(!given_up.remove(0));
        let last = 2 * MOST as u64 - 1;
        assert!(given_up.remove(last) && !given_up.remove(last));
    }
}
