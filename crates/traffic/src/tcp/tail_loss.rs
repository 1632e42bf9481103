//! Tail loss probe (RFC 8985 §7): where nothing comes back for two round trips, one segment is sent, so
//! that a SACK shows what is lost before the time-out does.

use super::Ack;
use delaylab_model::{PICOS_PER_SECOND, Picos};

/// A receiver may hold back an ACK of one segment that long (TLP.max_ack_delay).
const MAX_ACK_DELAY: Picos = PICOS_PER_SECOND / 5;
/// Before the first sample of the round-trip time.
const INITIAL: Picos = PICOS_PER_SECOND;

/// What an ACK says of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Unknown,
    /// Nothing was lost.
    Needless,
    /// The probe repaired the only loss.
    Repaired,
}

/// The probe timer, and the probe that is out.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TailLoss {
    deadline: Option<Picos>,
    /// Where the stream ended when the probe was sent, and whether it was a retransmission.
    out: Option<(u64, bool)>,
    /// It is to be sent.
    due: bool,
}

impl TailLoss {
    pub(crate) const fn deadline(&self) -> Option<Picos> {
        self.deadline
    }

    /// A probe is to be sent now.
    pub(crate) const fn take_due(&mut self) -> bool {
        std::mem::replace(&mut self.due, false)
    }

    /// §7.2: starts the timer, unless a probe is out; the time-out is not before it.
    pub(crate) fn schedule(
        &mut self,
        now: Picos,
        smoothed: Option<Picos>,
        segments: usize,
        timeout: Option<Picos>,
    ) {
        if self.out.is_some() || self.due {
            return;
        }
        let wait = match smoothed {
            Some(rtt) if segments == 1 => 2 * rtt + MAX_ACK_DELAY,
            Some(rtt) => 2 * rtt,
            None => INITIAL,
        };
        let at = now.saturating_add(wait);
        self.deadline = Some(timeout.map_or(at, |timeout| at.min(timeout)));
    }

    pub(crate) const fn cancel(&mut self) {
        self.deadline = None;
        self.due = false;
    }

    /// §7.3: the time has come.
    pub(crate) const fn fire(&mut self) {
        self.deadline = None;
        self.due = true;
    }

    /// The probe has left; the stream ends at `end`.
    pub(crate) const fn sent(&mut self, end: u64, again: bool) {
        self.out = Some((end, again));
    }

    /// A recovery or a time-out takes over.
    pub(crate) const fn forget(&mut self) {
        self.out = None;
        self.cancel();
    }

    /// §7.4.2. `is_plain`: a duplicate ACK without a SACK.
    pub(crate) fn on_ack(&mut self, ack: &Ack, is_plain: bool) -> Verdict {
        let Some((end, again)) = self.out.filter(|&(end, _)| ack.next >= end) else {
            return Verdict::Unknown;
        };
        let verdict = match () {
            () if !again || ack.sack.is_duplicate() => Verdict::Needless,
            () if ack.next > end => Verdict::Repaired,
            () if is_plain => Verdict::Needless,
            () => return Verdict::Unknown,
        };
        self.out = None;
        verdict
    }
}
