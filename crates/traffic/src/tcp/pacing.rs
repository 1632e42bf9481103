//! Pacing: segments leave at a rate and not as ACKs come.

use delaylab_model::{PICOS_PER_SECOND, Picos};

/// When the next segment may leave.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pacer {
    next: Picos,
    /// A segment waits for that.
    waits: bool,
}

impl Pacer {
    /// May nothing leave now?
    #[inline]
    pub(crate) const fn holds(&mut self, now: Picos) -> bool {
        self.waits = now < self.next;
        self.waits
    }

    /// When a segment that waits may leave.
    pub(crate) fn deadline(&self) -> Option<Picos> {
        self.waits.then_some(self.next)
    }

    /// The time has come.
    pub(crate) const fn release(&mut self, now: Picos) {
        self.waits = self.waits && now < self.next;
    }

    /// So many bytes leave, at so many bytes a second.
    pub(crate) fn on_sent(&mut self, now: Picos, bytes: u64, rate: f64) {
        let gap = bytes as f64 * PICOS_PER_SECOND as f64 / rate.max(1.0);
        self.next = self.next.max(now).saturating_add(gap as Picos);
    }
}
