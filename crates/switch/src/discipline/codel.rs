//! CoDel: drops when items have stood in the queue for longer than a target over a whole interval, and
//! then ever more often, until they no longer do.
//!
//! Follows RFC 8289 section 5 line by line: `look` is its `dodequeue`, `next_drop` its `control_law`,
//! here floor(interval/√count) in exact integers. As in Linux, an item that can be marked is marked
//! instead of dropped, and leaves. MAXPACKET is the largest packet of the link, or the largest item seen if that is larger.
//!
//! References: RFC 8289, K. Nichols, V. Jacobson, A. McGregor and J. Iyengar (2018).
//!
//! Validation: drops spaced by interval/√count, against sums computed apart; none below the target, nor
//! before the interval has passed; the count taken up again after a short good spell; marks for drops.

#[cfg(test)]
mod tests;

use super::queue::Queue;
use super::timed::Timed;
use crate::item::{Backlog, Cause, Dropped, Item};
use delaylab_model::Picos;

/// How long a drop rate is remembered, in intervals.
const MEMORY: Picos = 16;

/// Its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// Acceptable standing sojourn time.
    pub target: Picos,
    /// Over which it is observed.
    pub interval: Picos,
    /// Bytes of the largest item (MAXPACKET): nothing is dropped while no more is held. 0: of the largest seen.
    pub largest: u32,
}

/// A queue that CoDel takes from.
pub(crate) trait Source<T> {
    /// The next item, and when it arrived.
    fn pop(&mut self) -> Option<(Picos, T)>;
    /// Is no more left than one of the largest items?
    fn nearly_empty(&self) -> bool;
}

/// What CoDel remembers of a queue.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Control {
    /// When the sojourn time, then above the target, will have been so for an interval.
    first_above: Option<Picos>,
    dropping: bool,
    drop_next: Picos,
    count: u64,
    last_count: u64,
}

impl Control {
    /// The next item to forward.
    #[inline]
    pub(crate) fn dequeue<T: Item>(
        &mut self,
        now: Picos,
        parameters: Parameters,
        source: &mut impl Source<T>,
        drops: &mut Vec<Dropped<T>>,
    ) -> Option<T> {
        let (item, stands) = self.look(now, parameters, source);
        if self.dropping {
            self.dropping = stands;
            self.go_on(now, parameters, item, source, drops)
        } else if stands {
            self.begin(now, parameters, item, source, drops)
        } else {
            item
        }
    }

    /// Takes an item. Has the queue stood for an interval?
    #[inline]
    fn look<T>(
        &mut self,
        now: Picos,
        parameters: Parameters,
        source: &mut impl Source<T>,
    ) -> (Option<T>, bool) {
        let Some((arrived, item)) = source.pop() else {
            self.first_above = None;
            return (None, false);
        };
        let short = now.saturating_sub(arrived) < parameters.target;
        (
            Some(item),
            self.stands(now, parameters, short || source.nearly_empty()),
        )
    }

    #[inline]
    fn stands(&mut self, now: Picos, parameters: Parameters, good: bool) -> bool {
        if good {
            self.first_above = None;
            return false;
        }
        let interval = parameters.interval;
        now >= *self.first_above.get_or_insert(now.saturating_add(interval))
    }

    /// While dropping: as many as are due.
    fn go_on<T: Item>(
        &mut self,
        now: Picos,
        parameters: Parameters,
        mut item: Option<T>,
        source: &mut impl Source<T>,
        drops: &mut Vec<Dropped<T>>,
    ) -> Option<T> {
        while self.dropping && now >= self.drop_next {
            self.count += 1;
            if let Some(marked) = mark_or_drop(item, drops) {
                self.drop_next = next_drop(self.drop_next, parameters.interval, self.count);
                return Some(marked);
            }
            (item, self.dropping) = self.look(now, parameters, source);
            if self.dropping {
                self.drop_next = next_drop(self.drop_next, parameters.interval, self.count);
            }
        }
        item
    }

    /// The first drop. If the last ones are not long ago, their rate is a good one to begin with.
    fn begin<T: Item>(
        &mut self,
        now: Picos,
        parameters: Parameters,
        item: Option<T>,
        source: &mut impl Source<T>,
        drops: &mut Vec<Dropped<T>>,
    ) -> Option<T> {
        let kept = mark_or_drop(item, drops);
        let item = kept.or_else(|| self.look(now, parameters, source).0);
        let since = self.count - self.last_count;
        let recent =
            now.saturating_sub(self.drop_next) < MEMORY.saturating_mul(parameters.interval);
        self.count = if since > 1 && recent { since } else { 1 };
        self.drop_next = next_drop(now, parameters.interval, self.count);
        self.last_count = self.count;
        self.dropping = true;
        item
    }
}

/// The item if it could be marked, else it is dropped.
fn mark_or_drop<T: Item>(item: Option<T>, drops: &mut Vec<Dropped<T>>) -> Option<T> {
    let mut item = item?;
    if item.ecn_capable() && item.mark() {
        return Some(item);
    }
    drops.push(Dropped::new(item, Cause::CoDel));
    None
}

/// from + interval/√count, rounded down.
pub(super) fn next_drop(from: Picos, interval: Picos, count: u64) -> Picos {
    let square = u128::from(interval) * u128::from(interval) / u128::from(count);
    from.saturating_add(square.isqrt() as Picos) // the root is not above `interval`
}

/// One queue under CoDel.
#[derive(Debug, Clone)]
pub struct CoDel<T> {
    parameters: Parameters,
    control: Control,
    stamped: Stamped<T>,
}

#[derive(Debug, Clone)]
struct Stamped<T> {
    items: Timed<T>,
    largest: u32,
}

impl<T: Item> Source<T> for Stamped<T> {
    #[inline]
    fn pop(&mut self) -> Option<(Picos, T)> {
        self.items.pop()
    }

    #[inline]
    fn nearly_empty(&self) -> bool {
        self.items.held().bytes <= u64::from(self.largest)
    }
}

impl<T> CoDel<T> {
    /// An empty queue.
    pub fn new(parameters: Parameters) -> Self {
        Self {
            parameters,
            control: Control::default(),
            stamped: Stamped {
                items: Timed::new(),
                largest: parameters.largest,
            },
        }
    }
}

impl<T: Item> Queue<T> for CoDel<T> {
    #[inline]
    fn enqueue(&mut self, now: Picos, item: T, _: &mut Vec<Dropped<T>>) {
        let stamped = &mut self.stamped;
        stamped.largest = stamped.largest.max(item.bytes());
        stamped.items.push(now, item);
    }

    #[inline]
    fn dequeue(&mut self, now: Picos, drops: &mut Vec<Dropped<T>>) -> Option<T> {
        let stamped = &mut self.stamped;
        self.control.dequeue(now, self.parameters, stamped, drops)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.stamped.items.held()
    }
}
