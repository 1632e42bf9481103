//! What was seen, within bounds: where there is more than there is room for, the longest is kept.

use delaylab_model::Nanos;
use delaylab_model::noise::{NoiseEvent, NoiseKind};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Events of one trial, up to a number.
#[derive(Debug)]
pub(super) struct Events {
    /// The least worth keeping is on top.
    kept: BinaryHeap<Reverse<Kept>>,
    most: usize,
    left_out: LeftOut,
    /// Threads of events since they were last asked for.
    threads: BTreeSet<u32>,
}

/// Events that there was no room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LeftOut {
    /// How many.
    pub count: u64,
    /// The longest of them: all that are longer were kept.
    pub longest: Nanos,
}

impl Events {
    pub(super) fn new(most: usize) -> Self {
        Self {
            kept: BinaryHeap::new(),
            most,
            left_out: LeftOut::default(),
            threads: BTreeSet::new(),
        }
    }

    /// Keeps it where there is room, or where a shorter one can go.
    pub(super) fn push(&mut self, event: NoiseEvent) {
        self.threads.extend(event.pid);
        if self.kept.len() < self.most {
            self.kept.push(Reverse(Kept(event)));
            return;
        }
        // Most are shorter than all that are kept: they cost a comparison, on a host that is busy enough.
        let event = Kept(event);
        let least = match self.kept.peek_mut() {
            Some(mut least) if least.0 < event => std::mem::replace(&mut *least, Reverse(event)).0,
            _ => event,
        };
        self.left_out.count += 1;
        self.left_out.longest = self.left_out.longest.max(least.0.length);
    }

    /// Takes those of another source.
    pub(super) fn merge(&mut self, others: Events) {
        let (events, left_out) = others.sorted();
        events.into_iter().for_each(|event| self.push(event));
        self.left_out.count += left_out.count;
        self.left_out.longest = self.left_out.longest.max(left_out.longest);
    }

    /// The threads of the events since this was last called.
    pub(super) fn take_threads(&mut self) -> BTreeSet<u32> {
        std::mem::take(&mut self.threads)
    }

    /// By start, and what there was no room for.
    pub(super) fn sorted(self) -> (Vec<NoiseEvent>, LeftOut) {
        let kept = self.kept.into_iter();
        let mut events: Vec<NoiseEvent> = kept.map(|Reverse(Kept(event))| event).collect();
        events.sort_by_key(|event| (event.start, event.length));
        (events, self.left_out)
    }
}

/// Ordered by what is lost without it.
#[derive(Debug)]
struct Kept(NoiseEvent);

impl Kept {
    /// Stops are few, and each says why nothing was answered.
    fn worth(&self) -> (bool, Nanos) {
        (self.0.kind == NoiseKind::Stopped, self.0.length)
    }
}

impl Ord for Kept {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.worth().cmp(&other.worth())
    }
}

impl PartialOrd for Kept {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Kept {
    fn eq(&self, other: &Self) -> bool {
        self.worth() == other.worth()
    }
}

impl Eq for Kept {}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(start: Nanos, length: Nanos, kind: NoiseKind) -> NoiseEvent {
        NoiseEvent {
            start,
            length,
            kind,
            ..NoiseEvent::default()
        }
    }

    fn events(most: usize, lengths: &[Nanos]) -> Events {
        let mut events = Events::new(most);
        for (&length, start) in lengths.iter().zip(0..) {
            events.push(event(start, length, NoiseKind::Scheduled));
        }
        events
    }

    fn lengths(events: Events) -> (Vec<Nanos>, LeftOut) {
        let (kept, left_out) = events.sorted();
        (kept.iter().map(|event| event.length).collect(), left_out)
    }

    #[test]
    fn the_longest_are_kept_whenever_they_come() {
        let left_out = |count, longest| LeftOut { count, longest };
        assert_eq!(lengths(events(2, &[5, 6])), (vec![5, 6], left_out(0, 0)));
        let full = lengths(events(2, &[5, 6, 900, 7]));
        assert_eq!(full, (vec![900, 7], left_out(2, 6)));
        assert_eq!(lengths(events(0, &[5])), (Vec::new(), left_out(1, 5)));
        let mut both = events(2, &[5, 6, 7]);
        both.merge(events(2, &[1000, 1, 2]));
        assert_eq!(lengths(both), (vec![1000, 7], left_out(4, 6)));
    }

    #[test]
    fn a_stop_is_kept() {
        let mut full = events(1, &[900]);
        full.push(event(5, 1, NoiseKind::Stopped));
        full.push(event(6, 2000, NoiseKind::Scheduled));
        assert_eq!(lengths(full).0, [1]);
    }
}
