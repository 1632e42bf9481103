//! What ACKs do: samples of the round-trip time, the window, recovery, the timer.

use super::Sender;
use crate::tcp::Ack;
use crate::tcp::congestion::Acked;
use crate::tcp::recovery::{OnDuplicate, OnNew};
use crate::tcp::settings::Congestion;
use delaylab_model::Picos;

/// An ACK of new data outside recovery.
#[derive(Debug, Clone, Copy)]
pub(super) struct Opening {
    pub(super) acked: u64,
    /// Segments that it may add in slow start.
    pub(super) limit: u64,
    /// The window was used up.
    pub(super) used: bool,
    pub(super) ece: bool,
    pub(super) rtt: Option<Picos>,
}

impl Sender {
    pub(super) fn on_new_ack(&mut self, now: Picos, ack: &Ack) {
        let acked = ack.next - self.una;
        let used = self.una < self.used_until || !self.settings.validation;
        self.sample(now, ack);
        self.resend = false; // what was to be sent again has arrived
        self.una = ack.next;
        self.nxt = self.nxt.max(ack.next);
        self.count_marks(now, acked, ack);
        let restart_timer = match self.recovery.on_new(ack.next) {
            OnNew::Open => {
                // RFC 3465 §2.3: what was out may have come long ago and is acknowledged at one stroke.
                let limit = if self.recovery.is_after_time_out(self.una) {
                    1
                } else {
                    2
                };
                let rtt = self
                    .settings
                    .timestamps
                    .then(|| now.saturating_sub(ack.echo));
                let opening = Opening {
                    acked,
                    limit,
                    used,
                    ece: ack.ece,
                    rtt,
                };
                self.open(now, &opening);
                true
            }
            OnNew::Done => {
                self.leave_recovery();
                true
            }
            OnNew::Partial { first } => {
                self.window.deflate(acked);
                self.resend = true;
                first // a window with many holes is left to the time-out (RFC 6582 §4)
            }
        };
        if self.una == self.max {
            self.deadline = None;
        } else if restart_timer {
            self.deadline = Some(self.timer.expiry(now));
        }
    }

    /// An ACK that acknowledges so many bytes, for who counts marks.
    pub(super) fn count_marks(&mut self, now: Picos, acked: u64, ack: &Ack) {
        let at = (now, self.timer.smoothed().unwrap_or(0));
        self.algorithm
            .count_marks(acked, ack.ece, ack.next, self.max, at);
    }

    /// An ACK outside recovery: the window grows, or is cut because of marks.
    pub(super) fn open(&mut self, now: Picos, ack: &Opening) {
        if ack.ece && self.settings.ecn {
            self.on_mark(now, ack.acked);
        } else if ack.used {
            let smoothed = self.timer.smoothed().unwrap_or(0);
            let acked = Acked {
                bytes: ack.acked,
                limit: ack.limit,
                now,
                rtt: ack.rtt,
                next: self.una,
                sent: self.max,
            };
            self.algorithm.grow(&mut self.window, acked, smoothed);
        }
    }

    /// RFC 3168 §6.1.2: as a loss would. What was out is that of before this ACK, which says of some of it that it was marked.
    fn on_mark(&mut self, now: Picos, acked: u64) {
        // Data up to there was sent before the last cut, and the ACK that ends there still echoes its marks: the segment
        // with CWR is the next one.
        if self.una <= self.marks_from || !self.algorithm.may_cut(now) {
            return;
        }
        let out = self.flight() + acked;
        let flight = out.min(self.window.cwnd).max(self.window.mss);
        let at = (now, self.timer.smoothed().unwrap_or(0));
        self.algorithm
            .on_mark(&mut self.window, flight, self.settings.abe, at);
        self.note_reduction();
        self.marked_below = self.max;
    }

    fn leave_recovery(&mut self) {
        let careful = self.settings.congestion != Congestion::Reno;
        self.window.leave_recovery(careful, self.flight());
    }

    pub(super) fn on_duplicate_ack(&mut self) {
        match self.recovery.on_duplicate(self.una, self.max) {
            OnDuplicate::Wait => {}
            OnDuplicate::Inflate => self.window.inflate(),
            OnDuplicate::Lost => self.fast_retransmit(),
        }
    }

    /// RFC 5681 §3.2. The timer starts anew with the retransmission, as in Net/3.
    fn fast_retransmit(&mut self) {
        let flight = self.flight().min(self.window.cwnd);
        self.cut_once(flight);
        self.window.enter_recovery();
        self.timed = None;
        self.resend = true;
        self.deadline = None;
    }

    /// The round-trip time, by the echoed timestamp or by the segment that is timed (Karn: never one
    /// that was sent twice).
    pub(super) fn sample(&mut self, now: Picos, ack: &Ack) {
        if self.settings.timestamps {
            return self.timer.sample(ack.echo, now);
        }
        if let Some((end, sent)) = self.timed
            && ack.next >= end
        {
            self.timer.sample(sent, now);
            self.timed = None;
        }
    }
}
