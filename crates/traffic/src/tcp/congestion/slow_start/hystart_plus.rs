//! HyStart++ (RFC 9406): slow start grows by less when the round-trip time grows, and ends five round trips later.

use crate::tcp::congestion::Acked;
use delaylab_model::{PICOS_PER_SECOND, Picos};

const MS: Picos = PICOS_PER_SECOND / 1000;

/// §4.3.
const MIN_RTT_THRESH: Picos = 4 * MS;
const MAX_RTT_THRESH: Picos = 16 * MS;
const MIN_RTT_DIVISOR: Picos = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: u64 = 4;
const CSS_ROUNDS: u32 = 5;
/// Segments that an ACK may add (L). Where they are paced there is no burst to bound.
const LIMIT: u64 = 8;

/// Where slow start is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    SlowStart,
    /// Conservative slow start: the least round trip when it began, and rounds that are over.
    Conservative {
        baseline: Picos,
        rounds: u32,
    },
}

/// Rounds and their least round trips.
#[derive(Debug, Clone)]
pub(super) struct HyStartPlus {
    phase: Phase,
    window_end: u64,
    last_least: Option<Picos>,
    least: Option<Picos>,
    samples: u32,
}

impl HyStartPlus {
    pub(super) const fn new() -> Self {
        Self {
            phase: Phase::SlowStart,
            window_end: 0,
            last_least: None,
            least: None,
            samples: 0,
        }
    }

    /// Bytes by which the window grows with this ACK; `None`: slow start is over.
    pub(super) fn on_ack(&mut self, acked: &Acked, mss: u64, paced: bool) -> Option<u64> {
        if acked.next > self.window_end && !self.new_round(acked.sent) {
            return None;
        }
        if let Some(rtt) = acked.rtt {
            self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
            self.samples += 1;
        }
        self.judge();
        let limit = if paced { u64::MAX } else { LIMIT * mss };
        let bytes = acked.bytes.min(limit);
        Some(match self.phase {
            Phase::SlowStart => bytes,
            Phase::Conservative { .. } => bytes / CSS_GROWTH_DIVISOR,
        })
    }

    /// A round trip is over. False: it was the last.
    fn new_round(&mut self, sent: u64) -> bool {
        self.window_end = sent;
        self.last_least = self.least.or(self.last_least);
        (self.least, self.samples) = (None, 0);
        if let Phase::Conservative { rounds, .. } = &mut self.phase {
            *rounds += 1;
            return *rounds < CSS_ROUNDS;
        }
        true
    }

    /// §4.2.
    fn judge(&mut self) {
        let (Some(least), Some(last)) = (self.least, self.last_least) else {
            return;
        };
        if self.samples < N_RTT_SAMPLE {
            return;
        }
        match self.phase {
            Phase::SlowStart => {
                let threshold = (last / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH);
                if least >= last + threshold {
                    let (baseline, rounds) = (least, 0);
                    self.phase = Phase::Conservative { baseline, rounds };
                }
            }
            // It was jitter.
            Phase::Conservative { baseline, .. } if least < baseline => {
                self.phase = Phase::SlowStart;
            }
            Phase::Conservative { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of ten ACKs with these round trips; what each round's last ACK says.
    fn rounds(hystart: &mut HyStartPlus, rtts: &[Picos]) -> Vec<Option<u64>> {
        let mut next = 0;
        let mut said = Vec::new();
        for &rtt in rtts {
            let end = next + 10;
            let mut last = None;
            while next < end {
                next += 1;
                let acked = Acked {
                    bytes: 4,
                    limit: 2,
                    now: 0,
                    rtt: Some(rtt * MS),
                    next,
                    sent: end + 1,
                };
                last = hystart.on_ack(&acked, 1, false);
            }
            said.push(last);
        }
        said
    }

    #[test]
    fn a_round_trip_that_grows_slows_it_down_and_five_rounds_end_it() {
        let mut hystart = HyStartPlus::new();
        let said = rounds(&mut hystart, &[40, 40, 44, 50, 55, 55, 55, 55]);
        let [all, less] = [Some(4), Some(1)];
        assert_eq!(said, [all, all, all, less, less, less, less, less]);
        assert!(!hystart.new_round(1000));
    }

    #[test]
    fn jitter_brings_slow_start_back() {
        let mut hystart = HyStartPlus::new();
        let said = rounds(&mut hystart, &[40, 50, 44, 44]);
        assert_eq!(said, [Some(4), Some(1), Some(4), Some(4)]);
    }

    #[test]
    fn four_milliseconds_is_the_least_that_counts() {
        let mut hystart = HyStartPlus::new();
        assert_eq!(rounds(&mut hystart, &[1, 4, 7]), [Some(4); 3]);
    }
}
