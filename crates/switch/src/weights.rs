//! How much each flow or class queue counts beside the others.

use crate::item::Item;

/// What is weighed against each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Flows.
    Flow,
    /// Class queues.
    Queue,
}

/// The weight of each flow or class queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weights {
    by: By,
    of: Vec<u32>,
}

impl Weights {
    /// By number; one that is not given, or 0, counts as 1.
    pub const fn new(by: By, of: Vec<u32>) -> Self {
        Self { by, of }
    }

    /// What is weighed.
    pub const fn by(&self) -> By {
        self.by
    }

    /// The weight of a queue.
    #[inline]
    pub fn weight(&self, queue: usize) -> u32 {
        self.of.get(queue).map_or(1, |weight| (*weight).max(1))
    }

    /// Into which queue an item belongs.
    #[inline]
    pub fn queue<T: Item>(&self, item: &T) -> usize {
        match self.by {
            By::Flow => item.flow() as usize,
            By::Queue => usize::from(item.queue()),
        }
    }
}
