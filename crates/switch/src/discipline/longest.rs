//! Which of many queues is the longest, found without looking at all of them: a winner tree over their lengths (Knuth, The
//! Art of Computer Programming 3, 5.4.1).
//!
//! A queue's change takes a step for each doubling of their number. The tree is made when it is first asked, so a buffer
//! that never overflows has none.
//!
//! Validation: the same queue as a look at all of them finds, under random changes.

/// A length above a queue's number: of two, the larger wins, and of equally long queues the one with the larger number.
type Key = u128;

const QUEUE_BITS: u32 = 32;

const fn key(queue: usize, bytes: u64) -> Key {
    (bytes as Key) << QUEUE_BITS | queue as Key
}

/// The longest of the queues that it was told of.
#[derive(Debug, Clone, Default)]
pub(crate) struct Longest {
    /// The winner of `2i` and `2i + 1` is at `i`; leaves from half on. Empty until it is asked.
    nodes: Vec<Key>,
}

impl Longest {
    /// A queue now holds this number of bytes.
    #[inline]
    pub(crate) fn note(&mut self, queue: usize, bytes: u64) {
        if !self.nodes.is_empty() {
            self.set(queue, bytes);
        }
    }

    fn set(&mut self, queue: usize, bytes: u64) {
        let mut node = self.nodes.len() / 2 + queue;
        if node >= self.nodes.len() {
            return self.nodes.clear(); // made anew, with room for it, when it is next asked
        }
        let mut winner = key(queue, bytes);
        self.nodes[node] = winner;
        while node > 1 {
            winner = winner.max(self.nodes[node ^ 1]);
            node /= 2;
            self.nodes[node] = winner;
        }
    }

    /// The longest queue and its bytes, the last of several; `all` are those of every queue, in order.
    pub(crate) fn get(&mut self, all: impl ExactSizeIterator<Item = u64>) -> (usize, u64) {
        if self.nodes.is_empty() {
            self.fill(all);
        }
        let first = self.nodes[1];
        (
            (first & ((1 << QUEUE_BITS) - 1)) as usize,
            (first >> QUEUE_BITS) as u64,
        )
    }

    #[cold]
    fn fill(&mut self, all: impl ExactSizeIterator<Item = u64>) {
        let leaves = all.len().next_power_of_two().max(2);
        self.nodes.resize(2 * leaves, 0);
        for (queue, bytes) in all.enumerate() {
            self.nodes[leaves + queue] = key(queue, bytes);
        }
        for node in (1..leaves).rev() {
            self.nodes[node] = self.nodes[2 * node].max(self.nodes[2 * node + 1]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Queues become more, and lengths are few, so that many are equal.
        #[test]
        fn it_is_what_a_look_at_all_finds(changes in prop::collection::vec((0_usize..70, 0_u64..6, any::<bool>()), 1..400)) {
            let (mut longest, mut all) = (Longest::default(), Vec::new());
            for (queue, bytes, asked) in changes {
                if queue >= all.len() {
                    all.resize(queue + 1, 0_u64);
                }
                all[queue] = bytes;
                longest.note(queue, bytes);
                if asked {
                    let plain = all.iter().copied().enumerate().max_by_key(|(_, bytes)| *bytes);
                    let found = longest.get(all.iter().copied());
                    // Of nothing no queue is the longest.
                    prop_assert!(plain == Some(found) || found.1 == 0 && plain.is_some_and(|(_, bytes)| bytes == 0));
                }
            }
        }
    }
}
