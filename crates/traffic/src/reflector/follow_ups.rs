//! When replies left: stamps that a later reply, or a Collect, will report.

use delaylab_wire::echo::FollowUp;
use std::collections::VecDeque;

/// Stamps kept for a session. Those of the replies before are dropped: whoever sends so far ahead
/// of the answers has lost them anyway.
const KEPT: usize = 64;

/// Stamps not reported so far, oldest first. Holds no memory before the first.
#[derive(Debug, Default)]
pub(super) struct FollowUps(VecDeque<FollowUp>);

impl FollowUps {
    /// A reply has left.
    pub fn push(&mut self, follow_up: FollowUp) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(follow_up);
    }

    /// The oldest, which is reported herewith.
    pub fn pop(&mut self) -> Option<FollowUp> {
        self.0.pop_front()
    }

    /// Up to `count` of the oldest, which are reported herewith.
    pub fn take(&mut self, count: usize) -> Vec<FollowUp> {
        self.0.drain(..count.min(self.0.len())).collect()
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
        let seqs: Vec<_> = ring.take(2).iter().map(|next| next.seq).collect();
        assert_eq!(seqs, [4, 5]);
        assert_eq!(ring.take(1000).len(), KEPT - 3);
        assert_eq!(ring.pop(), None);
    }
}
