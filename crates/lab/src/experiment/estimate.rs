//! How long trials take according to their schedules.

use delaylab_model::Nanos;
use delaylab_model::probe::{Pacing, Probe};
use delaylab_model::trial::Trial;

/// How long trials take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Estimate {
    /// Time according to the schedule, nanoseconds.
    pub length: Nanos,
    /// Whether it takes longer: in a closed loop, round trips add to the schedule.
    pub at_least: bool,
}

impl Estimate {
    /// This time, neither more nor less.
    pub(super) fn of_time(length: Nanos) -> Self {
        Self {
            length,
            at_least: false,
        }
    }

    /// The time of one probe.
    pub fn from_probe(probe: &Probe) -> Self {
        let length = probe.expected_duration();
        let closed = matches!(probe.pacing, Pacing::Wait { .. });
        let by_time = length.is_some() && length == probe.duration;
        // A trial of frames ends only when those that a device still holds have had their time (RFC 2544 §23).
        let drain = match probe.pacing {
            Pacing::Frames { .. } => probe.timeout,
            _ => 0,
        };
        Self {
            length: length.unwrap_or(0).saturating_add(drain),
            at_least: closed && !by_time,
        }
    }

    /// The time of both at once.
    pub fn beside(self, other: Self) -> Self {
        Self {
            length: self.length.max(other.length),
            at_least: self.at_least || other.at_least,
        }
    }

    /// The time of one after the other.
    pub fn then(self, other: Self) -> Self {
        Self {
            length: self.length.saturating_add(other.length),
            at_least: self.at_least || other.at_least,
        }
    }
}

/// How long a trial takes: as long as its longest probe.
pub fn estimate(trial: &Trial) -> Estimate {
    trial
        .probes
        .iter()
        .map(Estimate::from_probe)
        .fold(Estimate::default(), Estimate::beside)
}
