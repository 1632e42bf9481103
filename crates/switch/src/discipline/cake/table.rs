//! Which queue a flow has: a hash into sets of eight, within which flows share a queue only when all eight are taken.

use delaylab_stats::random::SplitMix;

/// Queues of one set.
const WAYS: usize = 8;

/// Which flow has which queue.
#[derive(Debug, Clone)]
pub(super) struct Table {
    salt: u64,
    tags: Vec<Option<u32>>,
}

impl Table {
    /// Of so many queues, rounded up to whole sets.
    pub(super) fn new(queues: usize, salt: u64) -> Self {
        Self {
            salt,
            tags: vec![None; queues.max(1).next_multiple_of(WAYS)],
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.tags.len()
    }

    /// The flow's own queue, else an idle one of its set, else where it is hashed to.
    pub(super) fn queue(&mut self, flow: u32, is_idle: impl Fn(usize) -> bool) -> usize {
        let hash = SplitMix::new(self.salt ^ u64::from(flow)).below(self.tags.len());
        let begin = hash - hash % WAYS;
        let ways = || (0..WAYS).map(|way| begin + (hash + way) % WAYS);
        if let Some(own) = ways().find(|queue| self.tags[*queue] == Some(flow)) {
            return own;
        }
        let queue = ways().find(|queue| is_idle(*queue)).unwrap_or(hash);
        self.tags[queue] = Some(flow);
        queue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_share_a_queue_only_when_eight_are_taken() {
        // Of 8 × 128 queues, 300 flows would share about 40 by a plain hash.
        let mut table = Table::new(1_024, 7);
        let mut taken = vec![false; table.len()];
        let mut shared = 0;
        for flow in 0..300 {
            let queue = table.queue(flow, |queue| !taken[queue]);
            shared += u32::from(std::mem::replace(&mut taken[queue], true));
        }
        assert_eq!(shared, 0);
        let mut one = Table::new(8, 7);
        let mut queues: Vec<_> = (0..8).map(|flow| one.queue(flow, |_| false)).collect();
        queues.sort_unstable();
        let own = one.queue(7, |_| true);
        assert_eq!(own, one.queue(7, |_| true));
    }
}
