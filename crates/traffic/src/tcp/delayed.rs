//! Delayed ACKs (RFC 1122 §4.2.3.2).

use super::settings::{DelayedAck, Settings, Timer};
use super::timer::ticks::Ticks;
use delaylab_model::Picos;

/// What is held back, and until when.
#[derive(Debug, Clone)]
pub(crate) struct Delayed {
    policy: Option<DelayedAck>,
    ticks: Option<Ticks>,
    quick: u32,
    held: u32,
    deadline: Option<Picos>,
}

impl Delayed {
    pub(crate) fn new(settings: &Settings) -> Self {
        let ticks = match settings.timer {
            Timer::Rfc6298 { .. } => None,
            Timer::Coarse {
                delayed_ack_tick,
                phase,
                ..
            } => Some(Ticks::new(delayed_ack_tick, phase)),
        };
        Self {
            policy: settings.delayed_ack,
            ticks,
            quick: settings.quick_acks,
            held: 0,
            deadline: None,
        }
    }

    pub(crate) const fn deadline(&self) -> Option<Picos> {
        self.deadline
    }

    pub(crate) const fn holds(&self) -> bool {
        self.held > 0
    }

    /// A segment came in order. May its ACK wait?
    #[inline]
    pub(crate) fn hold(&mut self, now: Picos) -> bool {
        let Some(policy) = self.policy else {
            return false;
        };
        if self.quick > 0 {
            self.quick -= 1;
            return false;
        }
        self.held += 1;
        if self.held >= policy.segments {
            return false;
        }
        // The first one starts the timer; 1995's looks at all connections on its own ticks.
        let end = match &self.ticks {
            Some(ticks) => ticks.after(now, 1),
            None => now.saturating_add(policy.timeout),
        };
        self.deadline = self.deadline.or(Some(end));
        true
    }

    /// An ACK leaves, for whatever reason.
    pub(crate) const fn sent(&mut self) {
        self.held = 0;
        self.deadline = None;
    }
}
