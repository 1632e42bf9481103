//! First in, first out; and the same with a mark above a threshold (EFCI).
//!
//! What does not fit was refused before it came here (tail drop, see [`crate::buffer`]). With a
//! threshold it sets the congestion mark of items while the queue, the item itself included, exceeds
//! it: as the item arrives, or as it departs, which tells the source sooner. An item that refuses the
//! mark, as an RM cell does, passes unmarked.
//!
//! References: ATM Forum, Traffic Management 4.0 (1996), EFCI marking; ITU-T I.371.
//!
//! Validation: order and conservation under random traffic; marks by hand at both places.

use super::queue::Queue;
use crate::buffer::Bound;
use crate::item::{Backlog, Dropped, Item};
use delaylab_model::Picos;
use delaylab_model::path::AbrMark;
use std::collections::VecDeque;

/// When items are marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// While more than this is queued.
    pub above: Bound,
    /// And where.
    pub at: AbrMark,
}

/// One queue.
#[derive(Debug, Clone)]
pub struct Fifo<T> {
    items: VecDeque<T>,
    held: Backlog,
    /// Above which items are marked on arrival, and on departure.
    arrival: Bound,
    departure: Bound,
}

impl<T> Fifo<T> {
    /// An empty one.
    pub fn new(mark: Option<Mark>) -> Self {
        let above = |at: AbrMark| match mark {
            Some(mark) if mark.at == at => mark.above,
            _ => Bound::UNLIMITED,
        };
        Self {
            items: VecDeque::new(),
            held: Backlog::default(),
            arrival: above(AbrMark::Arrival),
            departure: above(AbrMark::Departure),
        }
    }
}

impl<T: Item> Queue<T> for Fifo<T> {
    #[inline]
    fn enqueue(&mut self, _: Picos, mut item: T, _: &mut Vec<Dropped<T>>) {
        self.held.add(item.bytes());
        if self.arrival.exceeded(self.held) {
            item.mark();
        }
        self.items.push_back(item);
    }

    #[inline]
    fn dequeue(&mut self, _: Picos, _: &mut Vec<Dropped<T>>) -> Option<T> {
        let mut item = self.items.pop_front()?;
        if self.departure.exceeded(self.held) {
            item.mark();
        }
        self.held.remove(item.bytes());
        Some(item)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.held
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Thing, put, take};

    fn marks(at: AbrMark) -> Vec<bool> {
        let above = Bound::items(2);
        let mut queue = Fifo::new(Some(Mark { above, at }));
        (0..4).for_each(|_| put(&mut queue, 0, Thing::cell(0).ecn()));
        let out = std::iter::from_fn(|| take(&mut queue, 0));
        out.map(|cell| cell.marked).collect()
    }

    #[test]
    fn cells_are_marked_while_more_than_the_threshold_is_queued() {
        // With the third and the fourth there were three and four.
        assert_eq!(marks(AbrMark::Arrival), [false, false, true, true]);
        // With the first and the second there were four and three.
        assert_eq!(marks(AbrMark::Departure), [true, true, false, false]);
    }

    #[test]
    fn rm_cells_pass_unmarked() {
        let above = Bound::items(1);
        let at = AbrMark::Arrival;
        let mut queue = Fifo::new(Some(Mark { above, at }));
        (0..3).for_each(|_| put(&mut queue, 0, Thing::cell(0)));
        assert!(std::iter::from_fn(|| take(&mut queue, 0)).all(|cell| !cell.marked));
    }
}
