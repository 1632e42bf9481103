//! Whether the sender sent what it was asked to. A trial in which it did not is invalid; what it lost
//! is not the device's loss.

use delaylab_model::probe::{Pacing, Probe};
use delaylab_model::record::{Outcome, Record};
use delaylab_model::{Nanos, PICOS_PER_NANO};

/// A rate may be off by this share. Load steps of 0.1 % are told apart by half of one.
const MOST_OFF: f64 = 0.000_5;
/// Frames that come in a burst after a stall of the sender fill a buffer that the schedule would not
/// have filled: so many intervals late is a stall …
const STALL_INTERVALS: u64 = 16;
/// … but never less than this, which a sender in software cannot promise.
const LEAST_STALL: Nanos = 250_000;
/// A stall in so many of the frames is one too many.
const MOST_STALLED: f64 = 0.01;

/// What a sender did, beside what it was asked to do.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sent {
    /// Frames that were due.
    pub due: u64,
    /// Frames that were sent.
    pub sent: u64,
    /// Frames that were sent a stall late or more.
    pub stalled: u64,
    /// The latest of all, in nanoseconds.
    pub most_late: Nanos,
    first: Option<Nanos>,
    last: Option<Nanos>,
}

impl Sent {
    /// Of a stream whose frames are `interval` apart.
    fn see(&mut self, record: &Record, stall: Nanos) {
        self.due += 1;
        let Some(t_send) = record.t_send else {
            return;
        };
        self.sent += 1;
        let late = t_send - record.t_intended;
        self.stalled += u64::from(late >= stall);
        self.most_late = self.most_late.max(late);
        self.first = self.first.or(Some(t_send));
        self.last = Some(t_send);
    }

    /// Frames a second, from the first to the last; `None` of fewer than two.
    pub fn rate(&self) -> Option<f64> {
        let length = self.last? - self.first?;
        let gaps = self.sent.checked_sub(1).filter(|&gaps| gaps > 0)?;
        (length > 0).then(|| gaps as f64 * 1e9 / length as f64)
    }
}

/// Checks one stream.
#[derive(Debug, Clone, Copy)]
pub struct SelfCheck {
    interval_ps: u64,
    stall: Nanos,
    /// What it did.
    pub sent: Sent,
}

impl SelfCheck {
    /// Of this probe; `None` if it does not send frames.
    pub fn of(probe: &Probe) -> Option<Self> {
        let Pacing::Frames { interval_ps } = probe.pacing else {
            return None;
        };
        let stall = interval_ps.saturating_mul(STALL_INTERVALS) / PICOS_PER_NANO;
        Some(Self {
            interval_ps,
            stall: Nanos::try_from(stall)
                .unwrap_or(Nanos::MAX)
                .max(LEAST_STALL),
            sent: Sent::default(),
        })
    }

    /// One frame, whatever became of it behind the sender.
    pub fn see(&mut self, record: &Record) {
        if record.outcome != Outcome::Skipped {
            self.sent.see(record, self.stall);
        }
    }

    /// Why the trial is not what was asked for, as sentences.
    pub fn flaws(&self, name: &str) -> Vec<String> {
        let Sent {
            due, sent, stalled, ..
        } = self.sent;
        let mut flaws = Vec::new();
        if sent < due {
            let failed = due - sent;
            flaws.push(format!(
                "`{name}`: {failed} of {due} frames could not be sent"
            ));
        }
        let asked = 1e12 / self.interval_ps as f64;
        if let Some(rate) = self.sent.rate()
            && (rate / asked - 1.0).abs() > MOST_OFF.max(self.one_stall())
        {
            flaws.push(format!(
                "`{name}` was to send {asked:.0} frames/s and sent {rate:.0}: this host is too slow or too busy for it"
            ));
        }
        if stalled as f64 > MOST_STALLED * sent as f64 {
            let late = self.sent.most_late as f64 / 1e6;
            flaws.push(format!(
                "`{name}`: {stalled} of {sent} frames left late, up to {late:.2} ms: the sender was kept from its CPU"
            ));
        }
        flaws
    }

    /// What one stall that does not count does to the rate of a short stream.
    fn one_stall(&self) -> f64 {
        let length = self.sent.sent as f64 * self.interval_ps as f64 / 1e3;
        self.stall as f64 / length.max(1.0)
    }
}
