//! The retransmission time-out. To add one: a file here, a line in [`Retransmission`].

pub(crate) mod coarse;
pub(crate) mod rfc6298;
pub(crate) mod ticks;

use super::settings::Timer;
use coarse::Coarse;
use delaylab_model::Picos;
use rfc6298::Rfc6298;
use ticks::Ticks;

/// How long to wait for an ACK.
#[derive(Debug, Clone)]
pub(crate) enum Retransmission {
    Fine(Rfc6298),
    Coarse(Coarse),
}

impl Retransmission {
    pub(crate) fn new(timer: Timer) -> Self {
        match timer {
            Timer::Rfc6298 {
                min_rto,
                max_rto,
                initial,
                granularity,
            } => Self::Fine(Rfc6298::new(min_rto, max_rto, initial, granularity)),
            Timer::Coarse { tick, phase, .. } => Self::Coarse(Coarse::new(Ticks::new(tick, phase))),
        }
    }

    /// A segment that was sent once, at `sent`, is acknowledged.
    pub(crate) fn sample(&mut self, sent: Picos, now: Picos) {
        match self {
            Self::Fine(fine) => fine.sample(now.saturating_sub(sent)),
            Self::Coarse(coarse) => coarse.sample(sent.min(now), now),
        }
    }

    /// When a timer that is started now runs out.
    pub(crate) fn expiry(&self, now: Picos) -> Picos {
        match self {
            Self::Fine(fine) => now.saturating_add(fine.rto()),
            Self::Coarse(coarse) => coarse.expiry(now),
        }
    }

    pub(crate) fn rto(&self) -> Picos {
        match self {
            Self::Fine(fine) => fine.rto(),
            Self::Coarse(coarse) => coarse.rto(),
        }
    }

    pub(crate) fn smoothed(&self) -> Option<Picos> {
        match self {
            Self::Fine(fine) => fine.smoothed(),
            Self::Coarse(coarse) => coarse.smoothed(),
        }
    }

    /// Data is sent for the first time, and a SYN was lost that told no round trip.
    pub(crate) fn after_lost_syn(&mut self) {
        match self {
            Self::Fine(fine) => fine.after_lost_syn(),
            Self::Coarse(_) => {}
        }
    }

    /// It ran out: wait twice as long (RFC 6298 §5.5) until there is a sample (Karn).
    pub(crate) fn back_off(&mut self) {
        match self {
            Self::Fine(fine) => fine.back_off(),
            Self::Coarse(coarse) => coarse.back_off(),
        }
    }
}
