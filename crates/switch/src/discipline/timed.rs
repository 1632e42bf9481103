//! Items in the order in which they came, with the time of each, and how much they are together.

use crate::item::{Backlog, Item};
use delaylab_model::Picos;
use std::collections::VecDeque;

/// The first has waited longest.
#[derive(Debug, Clone)]
pub(super) struct Timed<T> {
    items: VecDeque<(Picos, T)>,
    held: Backlog,
}

impl<T> Timed<T> {
    pub(super) const fn new() -> Self {
        Self {
            items: VecDeque::new(),
            held: Backlog { items: 0, bytes: 0 },
        }
    }

    pub(super) const fn held(&self) -> Backlog {
        self.held
    }

    pub(super) fn first(&self) -> Option<&T> {
        self.items.front().map(|(_, item)| item)
    }

    /// How long the first item has waited.
    pub(super) fn delay(&self, now: Picos) -> Picos {
        let first = self.items.front();
        first.map_or(0, |(arrived, _)| now.saturating_sub(*arrived))
    }
}

impl<T: Item> Timed<T> {
    #[inline]
    pub(super) fn push(&mut self, now: Picos, item: T) {
        self.held.add(item.bytes());
        self.items.push_back((now, item));
    }

    /// The first item, and when it arrived.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<(Picos, T)> {
        let (arrived, item) = self.items.pop_front()?;
        self.held.remove(item.bytes());
        Some((arrived, item))
    }
}
