//! The longest time without an arrival in which frames were lost, of frames that come in nearly any order.

use delaylab_model::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How far out of their order frames may come.
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

/// Puts frames in the order of sending through a window; exact unless one comes more than 65 536 behind a later one. A
/// silence in which none was lost may be the sender's.
#[derive(Debug, Clone, Default)]
pub(super) struct Silences {
    /// By number: when each arrived; `None`: it was lost.
    waiting: BinaryHeap<Reverse<(u64, Option<Nanos>)>>,
    last: Option<Nanos>,
    is_lossy: bool,
    longest: Option<Silence>,
}

impl Silences {
    pub(super) fn push(&mut self, seq: u64, arrival: Option<Nanos>) {
        self.waiting.push(Reverse((seq, arrival)));
        if self.waiting.len() > WINDOW
            && let Some(Reverse((_, first))) = self.waiting.pop()
        {
            self.settle(first);
        }
    }

    fn settle(&mut self, arrival: Option<Nanos>) {
        let Some(arrival) = arrival else {
            self.is_lossy = true;
            return;
        };
        if let Some(from) = self.last.filter(|&last| self.is_lossy && last <= arrival) {
            let silence = Silence { from, to: arrival };
            if self.longest.is_none_or(|l| silence.length() > l.length()) {
                self.longest = Some(silence);
            }
        }
        self.is_lossy = false;
        self.last = self.last.max(Some(arrival));
    }

    pub(super) fn longest(&self) -> Option<Silence> {
        let mut rest = self.clone();
        while let Some(Reverse((_, arrival))) = rest.waiting.pop() {
            rest.settle(arrival);
        }
        rest.longest
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.waiting.capacity() * size_of::<(u64, Option<Nanos>)>()
    }
}
