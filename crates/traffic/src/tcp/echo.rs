//! What is said of marks: until the sender has answered (RFC 3168 §6.1.3), or exactly (RFC 8257 §3.2).

use super::settings::{Congestion, Settings};

/// The state that goes into each ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Echo {
    /// No ECN.
    Off,
    /// From a mark until CWR.
    Latched(bool),
    /// As the last segment came.
    Exact(bool),
}

impl Echo {
    pub(crate) fn new(settings: &Settings) -> Self {
        match settings.congestion {
            _ if !settings.ecn => Self::Off,
            Congestion::Dctcp | Congestion::Prague => Self::Exact(false),
            _ => Self::Latched(false),
        }
    }

    /// Would ACKs before and after this segment differ?
    pub(crate) const fn flips(self, ce: bool) -> bool {
        matches!(self, Self::Exact(state) if state != ce)
    }

    /// A segment that says CWR may be marked itself.
    pub(crate) const fn on_segment(&mut self, ce: bool, cwr: bool) {
        match self {
            Self::Off => {}
            Self::Latched(state) => *state = ce || (*state && !cwr),
            Self::Exact(state) => *state = ce,
        }
    }

    pub(crate) const fn ece(self) -> bool {
        matches!(self, Self::Latched(true) | Self::Exact(true))
    }
}
