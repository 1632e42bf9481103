//! How long trials take, as far as their schedule knows.

use delaylab_model::Nanos;
use delaylab_model::probe::{Pacing, Probe};
use delaylab_model::trial::Trial;

/// How long trials take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Estimate {
    /// As the schedule has it.
    pub length: Nanos,
    /// It takes longer: in closed loop round trips come on top.
    pub at_least: bool,
}

impl Estimate {
    /// Of a probe alone.
    pub fn from_probe(probe: &Probe) -> Self {
        let length = probe.expected_duration();
        let closed = matches!(probe.pacing, Pacing::Wait { .. });
        let by_time = length.is_some() && length == probe.duration;
        Self {
            length: length.unwrap_or(0),
            at_least: closed && !by_time,
        }
    }

    /// Of both at once.
    pub fn beside(self, other: Self) -> Self {
        Self {
            length: self.length.max(other.length),
            at_least: self.at_least || other.at_least,
        }
    }

    /// Of one after the other.
    pub fn then(self, other: Self) -> Self {
        Self {
            length: self.length.saturating_add(other.length),
            at_least: self.at_least || other.at_least,
        }
    }
}

/// How long a trial takes, as far as its schedule knows.
pub fn estimate(trial: &Trial) -> Estimate {
    trial
        .probes
        .iter()
        .map(Estimate::from_probe)
        .fold(Estimate::default(), Estimate::beside)
}
