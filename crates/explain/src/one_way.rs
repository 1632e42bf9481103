//! One-way delays of a packet, as its stamps have them.

use delaylab_model::Nanos;
use delaylab_model::record::Record;
use delaylab_model::trial::{RecordFacts, ReflectorClock, Residence};

/// Which stamps of the prober's host a delay lies between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StampPoints {
    /// The kernel's, at the driver.
    Kernel,
    /// The process's: what its host takes is in the delay.
    Process,
}

impl StampPoints {
    /// Both, the better one first.
    pub(crate) const ALL: [StampPoints; 2] = [StampPoints::Kernel, StampPoints::Process];
}

/// Share of packets that need a stamp, for delays to be made of it: those without it are then left out.
pub(crate) const MOST_OF_THEM: f64 = 0.9;

/// There and back, ns; NaN without the stamps. By two clocks that are unrelated, only differences between
/// packets mean anything, and those drift.
pub(crate) fn one_way(record: &Record, facts: &RecordFacts, ends: StampPoints) -> [f64; 2] {
    let between = |from: Option<Nanos>, to: Option<Nanos>| {
        let stamped = facts.reflector_clock != ReflectorClock::None;
        let both = from.zip(to).filter(|_| stamped);
        both.map_or(f64::NAN, |(from, to)| to.saturating_sub(from) as f64)
    };
    let (sent, received) = match ends {
        StampPoints::Kernel => (record.t_tx, record.t_rx),
        StampPoints::Process => (record.t_send, record.t_recv),
    };
    let left = match facts.residence {
        Residence::ToUser => record.r_user,
        Residence::ToDriver | Residence::Unknown => record.r_tx,
    };
    [between(sent, record.r_rx), between(left, received)]
}
