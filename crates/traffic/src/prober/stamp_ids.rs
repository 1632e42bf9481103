//! Which packet a departure stamp is of.
//!
//! The kernel numbers the packets of a socket from 0 (`OPT_ID`). A send call that failed before the
//! packet was made has used no number, one that failed behind that has; so the numbers run in step
//! with ours but for a shift that grows with each failure of the first kind. The numbers are never
//! restarted: stamps of packets still queued could not be told from new ones.

use super::sequence::widen_near;
use std::collections::VecDeque;

/// Shifts remembered: stamps of packets before them are long read.
const RUNS: usize = 256;

/// A run of packets whose numbers go in step.
#[derive(Debug, Clone, Copy)]
struct Run {
    id: u64,
    seq: u64,
}

/// The numbers used so far.
#[derive(Debug, Default)]
pub struct StampIds {
    runs: VecDeque<Run>,
    next_id: u64,
}

impl StampIds {
    /// The next number went to this packet.
    #[inline]
    pub fn used(&mut self, seq: u64) {
        let in_step = |run: &Run| run.seq + (self.next_id - run.id) == seq;
        if !self.runs.back().is_some_and(in_step) {
            if self.runs.len() == RUNS {
                self.runs.pop_front();
            }
            self.runs.push_back(Run {
                id: self.next_id,
                seq,
            });
        }
        self.next_id += 1;
    }

    /// The packet that this number went to.
    #[inline]
    pub fn seq(&self, id: u32) -> Option<u64> {
        let id = widen_near(self.next_id, id);
        let run = self.runs.iter().rev().find(|run| run.id <= id)?;
        (id < self.next_id).then(|| run.seq + (id - run.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever send calls fail, every number still finds its packet.
        #[test]
        fn numbers_find_their_packets(uses in proptest::collection::vec(any::<bool>(), 1..200)) {
            let mut ids = StampIds::default();
            let mut packets = Vec::new();
            for (seq, used) in (0_u64..).zip(uses) {
                if used {
                    ids.used(seq);
                    packets.push(seq);
                }
            }
            for (id, &seq) in packets.iter().enumerate() {
                prop_assert_eq!(ids.seq(id as u32), Some(seq));
            }
            prop_assert_eq!(ids.seq(packets.len() as u32), None);
        }
    }
}
