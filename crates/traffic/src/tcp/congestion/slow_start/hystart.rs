//! HyStart as Linux has it in CUBIC (Ha and Rhee, "Taming the elephants: New TCP slow start", 2011; the kernel's
//! `tcp_cubic.c`): slow start ends at once where ACKs that follow each other closely take half the round trip (with pacing
//! a whole one), or where the round-trip time grows.

use crate::tcp::congestion::{Acked, Window};
use delaylab_model::{PICOS_PER_SECOND, Picos};

const US: Picos = PICOS_PER_SECOND / 1_000_000;

/// Segments of the window below which nothing is judged (`hystart_low_window`).
const LEAST_WINDOW: u64 = 16;
/// ACKs of a train follow each other within it (`hystart_ack_delta_us`).
const ACK_GAP: Picos = 2_000 * US;
/// The round trips of a round that come before it is judged (`HYSTART_MIN_SAMPLES`).
const SAMPLES: u32 = 8;
/// Bounds of the growth that counts (`HYSTART_DELAY_MIN`, `HYSTART_DELAY_MAX`).
const LEAST_GROWTH: Picos = 4_000 * US;
const MOST_GROWTH: Picos = 16_000 * US;
/// A train may take longer by the time of four of the host's largest bursts, at most a millisecond
/// (`hystart_ack_delay`).
const BURSTS: u64 = 4 * 65_536;
const MOST_BURSTS: Picos = 1_000 * US;

/// A round, and what is known of all of them.
#[derive(Debug, Clone)]
pub(super) struct HyStart {
    /// The least round trip of the connection.
    least: Option<Picos>,
    /// The round ends when this is acknowledged; when it began, and when the last ACK of its train came.
    end: u64,
    began: Picos,
    train: Picos,
    /// The least round trip of the round, and how many there were.
    least_of_round: Picos,
    samples: u32,
    found: bool,
}

impl HyStart {
    pub(super) const fn new() -> Self {
        Self {
            least: None,
            end: 0,
            began: 0,
            train: 0,
            least_of_round: Picos::MAX,
            samples: 0,
            found: false,
        }
    }

    /// Is slow start over with this ACK?
    pub(super) fn ends(
        &mut self,
        window: &Window,
        acked: &Acked,
        smoothed: Picos,
        paced: bool,
    ) -> bool {
        let Some(rtt) = acked.rtt.filter(|_| !self.found) else {
            return false;
        };
        let least = self.least.map_or(rtt, |least| least.min(rtt));
        self.least = Some(least);
        if acked.next > self.end {
            (self.end, self.began, self.train) = (acked.sent, acked.now, acked.now);
            (self.least_of_round, self.samples) = (Picos::MAX, 0);
        }
        if window.cwnd < LEAST_WINDOW * window.mss {
            return false;
        }
        // Pacing spreads a window over up to half a round trip in slow start.
        let share = if paced { 1 } else { 2 };
        let most = (least + bursts(window, smoothed)) / share;
        let train = self.train_is_longer(most, acked.now);
        self.found = self.round_trip_grew(rtt, least) || train;
        self.found
    }

    fn train_is_longer(&mut self, most: Picos, now: Picos) -> bool {
        if now - self.train > ACK_GAP {
            return false;
        }
        self.train = now;
        now - self.began > most
    }

    fn round_trip_grew(&mut self, rtt: Picos, least: Picos) -> bool {
        self.least_of_round = self.least_of_round.min(rtt);
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        self.least_of_round > least + (least / 8).clamp(LEAST_GROWTH, MOST_GROWTH)
    }
}

/// The time of the bursts at what Linux takes for the rate in slow start: two windows a round trip.
fn bursts(window: &Window, smoothed: Picos) -> Picos {
    let bursts = u128::from(BURSTS) * u128::from(smoothed) / u128::from(2 * window.cwnd);
    Picos::try_from(bursts).map_or(MOST_BURSTS, |bursts| bursts.min(MOST_BURSTS))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Picos = 1_000 * US;

    fn window(segments: u64) -> Window {
        Window {
            cwnd: segments * 1000,
            ssthresh: u64::MAX,
            mss: 1000,
            largest: u64::MAX,
        }
    }

    /// The ACK of a round at which slow start ends: ACKs `gap` apart, a round trip each, in rounds of `acks`.
    fn ends_at(window: &Window, rounds: &[(Picos, Picos)], acks: u64) -> Option<(usize, u64)> {
        ends_paced_at(window, rounds, acks, false)
    }

    fn ends_paced_at(
        window: &Window,
        rounds: &[(Picos, Picos)],
        acks: u64,
        paced: bool,
    ) -> Option<(usize, u64)> {
        let mut hystart = HyStart::new();
        let (mut now, mut next) = (0, 0);
        for (round, &(gap, rtt)) in rounds.iter().enumerate() {
            let sent = next + acks;
            now += rtt;
            for ack in 0..acks {
                next += 1;
                let acked = Acked {
                    bytes: 1000,
                    limit: 2,
                    now,
                    rtt: Some(rtt),
                    next,
                    sent,
                };
                if hystart.ends(window, &acked, rtt, paced) {
                    return Some((round, ack));
                }
                now += gap;
            }
        }
        None
    }

    #[test]
    fn a_train_of_half_a_round_trip_ends_it() {
        // (40 ms + 1 ms) / 2: the 22nd ACK is 21 ms behind the first.
        let rounds = [(MS, 40 * MS)];
        assert_eq!(ends_at(&window(30), &rounds, 30), Some((0, 21)));
        // They do not follow each other closely.
        let rounds = [(3 * MS, 40 * MS)];
        assert_eq!(ends_at(&window(30), &rounds, 30), None);
    }

    #[test]
    fn a_paced_train_may_take_a_whole_round_trip() {
        let rounds = [(MS, 40 * MS)];
        // 40 ms + 1 ms: the 43rd ACK is 42 ms behind the first.
        assert_eq!(ends_paced_at(&window(30), &rounds, 42, true), None);
        let end = Some((0, 42));
        assert_eq!(ends_paced_at(&window(30), &rounds, 43, true), end);
    }

    #[test]
    fn a_round_trip_that_grew_by_an_eighth_ends_it_after_eight_samples() {
        let rounds = [(0, 40 * MS), (0, 45 * MS), (0, 45 * MS + 1)];
        assert_eq!(ends_at(&window(30), &rounds, 10), Some((2, 8)));
        // 4 ms is the least that counts.
        let rounds = [(0, 2 * MS), (0, 6 * MS), (0, 6 * MS + 1)];
        assert_eq!(ends_at(&window(30), &rounds, 10), Some((2, 8)));
    }

    #[test]
    fn a_small_window_is_not_judged() {
        let rounds = [(MS, 40 * MS), (MS, 80 * MS)];
        assert_eq!(ends_at(&window(15), &rounds, 30), None);
    }
}
