//! Many queues in one store: memory follows what is queued, not how many queues there are.
//!
//! A queue is a linked list through one vector of nodes, so that an idle flow costs 8 bytes and nothing
//! is allocated once the store has been as full as it gets.

/// No node.
const NONE: u32 = u32::MAX;

#[derive(Debug, Clone)]
struct Node<T> {
    /// None: the node is free.
    item: Option<T>,
    next: u32,
    /// Of the first of a list it means nothing.
    before: u32,
}

/// Its first and its last node.
#[derive(Debug, Clone, Copy)]
struct Ends {
    first: u32,
    last: u32,
}

const EMPTY: Ends = Ends {
    first: NONE,
    last: NONE,
};

/// Queues by number, first in, first out.
#[derive(Debug, Clone)]
pub(crate) struct Lists<T> {
    nodes: Vec<Node<T>>,
    free: u32,
    ends: Vec<Ends>,
}

impl<T> Default for Lists<T> {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            free: NONE,
            ends: Vec::new(),
        }
    }
}

impl<T> Lists<T> {
    /// Puts an item at the end of a list. Was the list empty?
    #[inline]
    pub(crate) fn push(&mut self, list: usize, item: T) -> bool {
        let node = self.node(item);
        if list >= self.ends.len() {
            self.open(list);
        }
        let ends = &mut self.ends[list];
        let last = std::mem::replace(&mut ends.last, node);
        if last == NONE {
            ends.first = node;
            return true;
        }
        self.nodes[last as usize].next = node;
        self.nodes[node as usize].before = last;
        false
    }

    /// Takes the first item of a list.
    #[inline]
    pub(crate) fn pop(&mut self, list: usize) -> Option<T> {
        let ends = self.ends.get_mut(list)?;
        let first = ends.first;
        let node = self.nodes.get_mut(first as usize)?;
        ends.first = std::mem::replace(&mut node.next, self.free);
        if ends.first == NONE {
            ends.last = NONE;
        }
        self.free = first;
        node.item.take()
    }

    /// Takes the last item of a list, unless it is the only one.
    pub(crate) fn pop_last_of_several(&mut self, list: usize) -> Option<T> {
        let ends = self.ends.get_mut(list)?;
        if ends.first == ends.last {
            return None;
        }
        let last = ends.last;
        let node = self.nodes.get_mut(last as usize)?;
        node.next = self.free;
        let (item, before) = (node.item.take(), node.before);
        ends.last = before;
        self.free = last;
        if let Some(before) = self.nodes.get_mut(before as usize) {
            before.next = NONE;
        }
        item
    }

    /// The first item of a list.
    #[inline]
    pub(crate) fn first(&self, list: usize) -> Option<&T> {
        let ends = self.ends.get(list)?;
        self.nodes.get(ends.first as usize)?.item.as_ref()
    }

    /// Is nothing in it?
    #[inline]
    pub(crate) fn is_empty(&self, list: usize) -> bool {
        self.ends.get(list).is_none_or(|ends| ends.first == NONE)
    }

    /// A node for the item.
    #[inline]
    fn node(&mut self, item: T) -> u32 {
        let free = self.free;
        if let Some(node) = self.nodes.get_mut(free as usize) {
            self.free = std::mem::replace(&mut node.next, NONE);
            node.item = Some(item);
            return free;
        }
        self.grow(item)
    }

    #[cold]
    fn open(&mut self, list: usize) {
        self.ends.resize(list + 1, EMPTY);
    }

    #[cold]
    fn grow(&mut self, item: T) -> u32 {
        let at = self.nodes.len() as u32;
        self.nodes.push(Node {
            item: Some(item),
            next: NONE,
            before: NONE,
        });
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn they_are_queues_and_reuse_what_is_free(
            steps in prop::collection::vec((0_usize..5, 0_u8..5), 1..300)
        ) {
            let mut lists = Lists::default();
            let mut model = vec![VecDeque::new(); 5];
            let mut most = 0;
            for (number, (list, step)) in steps.into_iter().enumerate() {
                prop_assert_eq!(lists.is_empty(list), model[list].is_empty());
                if step > 2 {
                    let was_empty = lists.push(list, number);
                    prop_assert_eq!(was_empty, model[list].is_empty());
                    model[list].push_back(number);
                } else if step == 2 {
                    let several = model[list].len() > 1;
                    let last = several.then(|| model[list].pop_back()).flatten();
                    prop_assert_eq!(lists.pop_last_of_several(list), last);
                } else {
                    prop_assert_eq!(lists.first(list), model[list].front());
                    prop_assert_eq!(lists.pop(list), model[list].pop_front());
                }
                most = most.max(model.iter().map(VecDeque::len).sum());
                prop_assert_eq!(lists.nodes.len(), most);
            }
        }
    }
}
