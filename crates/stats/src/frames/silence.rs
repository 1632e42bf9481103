//! The longest time without an arrival, of arrivals that are told in nearly any order.

use delaylab_model::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How far out of their order arrivals may be told.
const WINDOW: usize = 1 << 16;

/// A time without an arrival: a reset shows as one (RFC 2544 §26.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silence {
    /// The last arrival before it.
    pub from: Nanos,
    /// The first behind it.
    pub to: Nanos,
}

impl Silence {
    /// How long it was.
    pub const fn length(&self) -> Nanos {
        self.to.saturating_sub(self.from)
    }
}

/// Puts arrivals in order through a window; exact unless one is told more than 65 536 behind a later
/// one.
#[derive(Debug, Clone, Default)]
pub(super) struct Silences {
    waiting: BinaryHeap<Reverse<Nanos>>,
    last: Option<Nanos>,
    longest: Option<Silence>,
}

impl Silences {
    pub(super) fn push(&mut self, arrival: Nanos) {
        self.waiting.push(Reverse(arrival));
        if self.waiting.len() > WINDOW
            && let Some(Reverse(first)) = self.waiting.pop()
        {
            self.settle(first);
        }
    }

    fn settle(&mut self, arrival: Nanos) {
        if let Some(from) = self.last.filter(|&last| last <= arrival) {
            let silence = Silence { from, to: arrival };
            if self.longest.is_none_or(|l| silence.length() > l.length()) {
                self.longest = Some(silence);
            }
        }
        self.last = Some(self.last.map_or(arrival, |last| last.max(arrival)));
    }

    pub(super) fn longest(&self) -> Option<Silence> {
        let mut rest = self.clone();
        while let Some(Reverse(arrival)) = rest.waiting.pop() {
            rest.settle(arrival);
        }
        rest.longest
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.waiting.capacity() * size_of::<Nanos>()
    }
}
