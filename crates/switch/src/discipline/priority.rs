//! Strict priority by class queue: 0 before 1 before 2. Never interrupts what is being transmitted.
//!
//! References: A. Cobham, "Priority assignment in waiting line problems", J. ORSA 2(1), 1954, whose
//! waiting times the simulator is checked against.
//!
//! Validation: order within a queue and conservation under random traffic; nothing leaves while
//! something of a lower number waits.

use super::queue::Queue;
use crate::item::{Backlog, Dropped, Item};
use delaylab_model::Picos;
use std::collections::VecDeque;

/// The queues, the first one first.
#[derive(Debug, Clone)]
pub struct Priority<T> {
    queues: Vec<VecDeque<T>>,
    held: Backlog,
}

impl<T> Default for Priority<T> {
    fn default() -> Self {
        Self {
            queues: Vec::new(),
            held: Backlog::default(),
        }
    }
}

impl<T> Priority<T> {
    fn queue(&mut self, number: u8) -> &mut VecDeque<T> {
        let number = usize::from(number);
        if number >= self.queues.len() {
            self.queues.resize_with(number + 1, VecDeque::new);
        }
        &mut self.queues[number]
    }
}

impl<T: Item> Priority<T> {
    /// What is next of the queues that are not stopped.
    pub(super) fn dequeue_but(&mut self, stopped: impl Fn(usize) -> bool) -> Option<T> {
        let queues = self.queues.iter_mut().enumerate();
        let mut open = queues.filter(|(number, _)| !stopped(*number));
        let item = open.find_map(|(_, queue)| queue.pop_front())?;
        self.held.remove(item.bytes());
        Some(item)
    }
}

impl<T: Item> Queue<T> for Priority<T> {
    #[inline]
    fn enqueue(&mut self, _: Picos, item: T, _: &mut Vec<Dropped<T>>) {
        self.held.add(item.bytes());
        self.queue(item.queue()).push_back(item);
    }

    #[inline]
    fn dequeue(&mut self, _: Picos, _: &mut Vec<Dropped<T>>) -> Option<T> {
        let item = self.queues.iter_mut().find_map(VecDeque::pop_front)?;
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
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_passes_a_lower_number(
            steps in prop::collection::vec((0_u8..4, any::<bool>()), 1..200)
        ) {
            let mut queue = Priority::default();
            let mut waiting = [0; 4];
            for (class, arrives) in steps {
                if arrives {
                    put(&mut queue, 0, Thing::cell(0).queue(class));
                    waiting[usize::from(class)] += 1;
                } else if let Some(item) = take(&mut queue, 0) {
                    let first = waiting.iter().position(|count| *count > 0);
                    prop_assert_eq!(Some(usize::from(item.queue)), first);
                    waiting[usize::from(item.queue)] -= 1;
                }
            }
        }
    }
}
