//! Whether the sender sent what it was asked to. A trial in which it did not is invalid; what it lost
//! is not the device's loss.

use delaylab_model::probe::{Pacing, Probe};
use delaylab_model::record::{Outcome, Record};
use delaylab_model::{Nanos, PICOS_PER_NANO, Picos};

/// A rate may be off by this share. Load steps of 0.1 % are told apart by half of one.
const MOST_OFF: f64 = 0.000_5;
/// A gap of so many intervals is a stall: what is sent after it is a burst that the schedule has not …
const STALL_INTERVALS: u64 = 16;
/// … but never one shorter than this, which a sender in software cannot promise.
const LEAST_STALL: Nanos = 250_000;
/// Stalls may take this share of the time.
const MOST_STALLED: f64 = 0.02;

/// Checks one stream, frame by frame.
#[derive(Debug, Clone, Copy)]
pub struct SelfCheck {
    interval: Picos,
    paced: bool,
    asked: u64,
    /// A gap that is longer is a stall.
    stall: Nanos,
    due: u64,
    sent: u64,
    first: Nanos,
    last: Nanos,
    stalls: u64,
    longest: Nanos,
    stalled: Nanos,
}

impl SelfCheck {
    /// Of this probe; `None` if it does not send frames.
    pub fn new(probe: &Probe) -> Option<Self> {
        let (Pacing::Frames { interval_ps }, Some(frames)) = (probe.pacing, probe.frames) else {
            return None;
        };
        let stall = interval_ps.saturating_mul(STALL_INTERVALS) / PICOS_PER_NANO;
        Some(Self {
            interval: interval_ps,
            paced: frames.paced,
            asked: probe.frames_due(),
            stall: Nanos::try_from(stall)
                .unwrap_or(Nanos::MAX)
                .max(LEAST_STALL),
            due: 0,
            sent: 0,
            first: 0,
            last: 0,
            stalls: 0,
            longest: 0,
            stalled: 0,
        })
    }

    /// One frame, in their order, whatever became of it behind the sender.
    pub fn see(&mut self, record: &Record) {
        if record.outcome == Outcome::Skipped {
            return;
        }
        self.due += 1;
        let Some(t_send) = record.t_send else {
            return;
        };
        if self.sent == 0 {
            self.first = t_send;
        } else if t_send - self.last > self.stall {
            self.stalls += 1;
            self.longest = self.longest.max(t_send - self.last);
            self.stalled += t_send - self.last;
        }
        self.sent += 1;
        self.last = t_send;
    }

    fn span(&self) -> f64 {
        (self.last - self.first) as f64
    }

    /// Why the trial is not what was asked for, as sentences. `stopped`: the user asked for its end.
    pub fn flaws(&self, name: &str, stopped: bool) -> Vec<String> {
        let mut flaws = Vec::new();
        let (due, sent) = (self.due, self.sent);
        if self.asked <= due && sent < due {
            let failed = due - sent;
            flaws.push(format!(
                "`{name}`: {failed} of {due} frames could not be sent"
            ));
        }
        if self.asked > due {
            let asked = self.asked;
            flaws.push(if stopped {
                format!("`{name}`: {sent} of {asked} frames were sent when the trial was stopped")
            } else {
                format!(
                    "`{name}`: {sent} of {asked} frames were sent when the sender gave up: this host is too slow for \
                     this rate, or the line of its port is slower than `path.rate`"
                )
            });
        }
        if self.stalled as f64 > MOST_STALLED * self.span() {
            let (stalls, longest) = (self.stalls, self.longest as f64 / 1e6);
            flaws.push(format!(
                "`{name}`: the sender was kept from its CPU {stalls} times, for up to {longest:.2} ms: what it \
                 sent then was a burst"
            ));
        }
        flaws.extend(self.off_rate(name));
        flaws
    }

    fn off_rate(&self, name: &str) -> Option<String> {
        let (span, gaps) = (self.span(), self.sent.saturating_sub(1) as f64);
        if !self.paced || span <= 0.0 {
            return None;
        }
        let asked = 1e12 / self.interval as f64;
        let rate = gaps * 1e9 / span;
        // One stall that does not count is at an end of a short stream.
        let tolerance = MOST_OFF.max(self.stall as f64 / span);
        ((rate / asked - 1.0).abs() > tolerance).then(|| {
            format!(
                "`{name}` was to send {asked:.0} frames/s and sent {rate:.0}: this host is too slow or too busy \
                 for it, or the line of its port is slower than `path.rate`"
            )
        })
    }
}
