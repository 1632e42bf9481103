//! When replies left: stamps that a later reply, or a Collect, will report.

use delaylab_wire::echo::FollowUp;
use std::collections::VecDeque;

/// Stamps kept for a session. Those of the replies before are dropped: whoever sends so far ahead
/// of the answers has lost them anyway.
const KEPT: usize = 64;

/// Stamps not reported so far, oldest first. Holds no memory before the first.
#[derive(Debug, Default)]
pub(super) struct FollowUps {
    waiting: VecDeque<FollowUp>,
    /// What the last Collect was told, and its nonce.
    told: (u64, Vec<FollowUp>),
}

impl FollowUps {
    /// A reply has left.
    pub fn push(&mut self, follow_up: FollowUp) {
        if self.waiting.len() == KEPT {
            self.waiting.pop_front();
        }
        self.waiting.push_back(follow_up);
    }

    /// The oldest, which is reported herewith.
    pub fn pop(&mut self) -> Option<FollowUp> {
        self.waiting.pop_front()
    }

    /// Up to `count` of the oldest, as the answer to the Collect with this nonce. Asked again with the same one, as no answer
    /// came, the same are the answer; without a nonce (0) nothing tells whether one came.
    pub fn collect(&mut self, nonce: u64, count: usize) -> Vec<FollowUp> {
        if nonce == 0 || self.told.0 != nonce {
            let count = count.min(self.waiting.len());
            self.told = (nonce, self.waiting.drain(..count).collect());
        }
        self.told.1.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_come_first_and_the_ring_is_bounded() {
        let mut ring = FollowUps::default();
        for seq in 0..KEPT as u32 + 3 {
            ring.push(FollowUp { seq, r_tx: 0 });
        }
        assert_eq!(ring.pop().map(|first| first.seq), Some(3));
        let told = ring.collect(7, 2);
        assert_eq!(told.iter().map(|next| next.seq).collect::<Vec<_>>(), [4, 5]);
        // The answer was lost.
        assert_eq!(ring.collect(7, 2), told);
        assert_eq!(ring.collect(0, 2).len(), 2);
        assert_eq!(ring.collect(0, 1000).len(), KEPT - 5);
        assert_eq!(ring.pop(), None);
        assert_eq!(ring.collect(0, 2), []);
    }
}
