//! Queues of flows that know which of them is the longest: when the buffer is full, it gives way.
//!
//! A buffer that several queues share, and that refuses what arrives when it is full, is the property of the flow that fills it:
//! it has something to put into each place that becomes free, and a flow that sends less than its share finds none. So the
//! longest queue loses its last item to what arrives for another, and only what arrives for the longest is refused. Each queue
//! keeps its last item, whose turn is known. Which is the longest is measured in what the buffer is limited in: of packets, 15
//! small ones fill a buffer for 15, and a large one for another flow is longer than all of them in bytes.
//!
//! References: P. E. McKenney, "Stochastic fairness queueing", INFOCOM 1990 (buffer stealing); M. Shreedhar and G. Varghese,
//! "Efficient fair queueing using deficit round-robin", IEEE/ACM Trans. Networking 4(3), 1996, which drops so.
//!
//! Validation: a flow below its share loses nothing beside one that fills the buffer; the queue that gives way is the one that a
//! look at all of them finds, and conservation, under random traffic.

use super::list::Lists;
use super::longest::Longest;
use crate::growing;
use crate::item::{Backlog, Item, Length};

/// Queues by number, first in, first out, what each of them holds, and what all hold.
#[derive(Debug, Clone)]
pub(crate) struct Flows<T> {
    lists: Lists<T>,
    each: Vec<Backlog>,
    longest: Longest,
    /// How the longest is found.
    length: Length,
    held: Backlog,
}

impl<T> Default for Flows<T> {
    fn default() -> Self {
        Self {
            lists: Lists::default(),
            each: Vec::new(),
            longest: Longest::default(),
            length: Length::default(),
            held: Backlog::default(),
        }
    }
}

impl<T> Flows<T> {
    /// The first item of a queue.
    #[inline]
    pub(crate) fn first(&self, queue: usize) -> Option<&T> {
        self.lists.first(queue)
    }

    /// Is nothing in it?
    #[inline]
    pub(crate) fn is_empty(&self, queue: usize) -> bool {
        self.lists.is_empty(queue)
    }

    /// What all of them hold.
    #[inline]
    pub(crate) const fn backlog(&self) -> Backlog {
        self.held
    }
}

impl<T: Item> Flows<T> {
    /// Puts an item at the end of a queue. Was the queue empty?
    #[inline]
    pub(crate) fn push(&mut self, queue: usize, item: T) -> bool {
        let held = growing::at(&mut self.each, queue, Backlog::default());
        held.add(item.bytes());
        self.longest.note(queue, self.length.measure(*held));
        self.held.add(item.bytes());
        self.lists.push(queue, item)
    }

    /// Takes the first item of a queue.
    #[inline]
    pub(crate) fn pop(&mut self, queue: usize) -> Option<T> {
        let item = self.lists.pop(queue)?;
        self.left(queue, &item);
        Some(item)
    }

    /// Takes the last item of the longest queue, to make room for one of `bytes` in this queue. None: this queue would
    /// then be the longest itself, or the longest has one item only. Of one buffer the length is always the same one.
    pub(crate) fn give_way(&mut self, queue: usize, bytes: u32, length: Length) -> Option<T> {
        self.length = length;
        let mut own = self.each.get(queue).copied().unwrap_or_default();
        own.add(bytes);
        let all = self.each.iter().map(|&held| length.measure(held));
        let (longest, most) = self.longest.get(all);
        if longest == queue || most <= length.measure(own) {
            return None;
        }
        let item = self.lists.pop_last_of_several(longest)?;
        self.left(longest, &item);
        Some(item)
    }

    /// The item is no longer in this queue.
    #[inline]
    fn left(&mut self, queue: usize, item: &T) {
        let held = &mut self.each[queue];
        held.remove(item.bytes());
        self.longest.note(queue, self.length.measure(*held));
        self.held.remove(item.bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Thing;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    /// Queues as plain lists: what gives way is found by a look at all of them.
    fn give_way(
        queues: &mut [VecDeque<Thing>],
        queue: usize,
        bytes: u32,
        length: Length,
    ) -> Option<Thing> {
        let held = |queue: &VecDeque<Thing>| match length {
            Length::Bytes => queue.iter().map(|item| u64::from(item.bytes)).sum(),
            Length::Items => queue.len() as u64,
        };
        let own = held(&queues[queue])
            + match length {
                Length::Bytes => u64::from(bytes),
                Length::Items => 1,
            };
        let all = queues.iter().map(held).enumerate();
        let (longest, most) = all.max_by_key(|(_, bytes)| *bytes)?;
        let gives = longest != queue && most > own && queues[longest].len() > 1;
        gives.then(|| queues[longest].pop_back()).flatten()
    }

    proptest! {
        #[test]
        fn the_same_queue_gives_way_as_by_a_look_at_all(
            steps in prop::collection::vec((0_u8..6, 0_usize..40, 1_u32..5), 1..600), in_items: bool
        ) {
            let length = if in_items { Length::Items } else { Length::Bytes };
            let mut flows = Flows::default();
            let mut plain = vec![VecDeque::new(); 40];
            for (number, (step, queue, bytes)) in (0..).zip(steps) {
                match step {
                    0..=2 => {
                        let item = Thing::cell(queue as u32).number(number).bytes(bytes);
                        prop_assert_eq!(flows.push(queue, item), plain[queue].is_empty());
                        plain[queue].push_back(item);
                    }
                    3 => prop_assert_eq!(flows.pop(queue), plain[queue].pop_front()),
                    _ => prop_assert_eq!(flows.give_way(queue, bytes, length), give_way(&mut plain, queue, bytes, length)),
                }
            }
        }
    }
}
