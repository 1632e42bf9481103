//! Slow start and congestion avoidance (RFC 5681 §3.1), the window halved at a loss.

use super::slow_start::SlowStart;
use super::{Acked, Window};
use crate::tcp::settings::Growth;
use delaylab_model::Picos;
use delaylab_model::tcp::HyStart;

/// RFC 8511 §3: what is left of the window after a mark.
pub(super) const BETA_ECN: f64 = 0.8;

/// Slow start, and bytes that count towards the next step after it.
#[derive(Debug, Clone)]
pub(crate) struct Reno {
    growth: Growth,
    pub(super) slow_start: SlowStart,
    counted: u64,
}

impl Reno {
    pub(crate) const fn new(growth: Growth, hystart: HyStart) -> Self {
        Self {
            growth,
            slow_start: SlowStart::new(growth, hystart),
            counted: 0,
        }
    }

    #[inline]
    pub(crate) fn grow(&mut self, window: &mut Window, acked: Acked, smoothed: Picos) {
        if window.in_slow_start() {
            self.slow_start.on_ack(window, &acked, smoothed);
        } else {
            self.avoid(window, acked.bytes);
        }
    }

    /// A segment for each window: by RFC 5681 equation 3 for each ACK, or exactly.
    fn avoid(&mut self, window: &mut Window, acked: u64) {
        match self.growth {
            Growth::PerAck => window.add((window.mss * window.mss / window.cwnd).max(1)),
            Growth::PerByte => {
                self.counted += acked;
                if self.counted >= window.cwnd {
                    self.counted -= window.cwnd;
                    window.add(window.mss);
                }
            }
        }
    }

    pub(crate) fn on_loss(&mut self, window: &mut Window, flight: u64) {
        self.cut(window, flight, 0.5);
    }

    /// To so much of what is outstanding.
    pub(crate) fn cut(&mut self, window: &mut Window, flight: u64, share: f64) {
        window.set_threshold((flight as f64 * share) as u64);
        self.counted = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acked(bytes: u64) -> Acked {
        Acked {
            bytes,
            limit: 2,
            now: 0,
            rtt: None,
            next: 0,
            sent: 0,
        }
    }

    fn window() -> Window {
        Window {
            cwnd: 10_000,
            ssthresh: 10_000,
            mss: 1000,
            largest: 1_000_000,
        }
    }

    #[test]
    fn a_window_of_acks_adds_one_segment() {
        let (mut exact, mut each) = (window(), window());
        let mut by_byte = Reno::new(Growth::PerByte, HyStart::None);
        let mut by_ack = Reno::new(Growth::PerAck, HyStart::None);
        for _ in 0..10 {
            by_byte.grow(&mut exact, acked(1000), 0);
            by_ack.grow(&mut each, acked(1000), 0);
        }
        assert_eq!(exact.cwnd, 11_000);
        // Each step is by the window as it is then: 956 in all.
        assert_eq!(each.cwnd, 10_956);
    }

    #[test]
    fn delayed_acks_halve_the_growth_by_ack_only() {
        let (mut exact, mut each) = (window(), window());
        let mut by_byte = Reno::new(Growth::PerByte, HyStart::None);
        let mut by_ack = Reno::new(Growth::PerAck, HyStart::None);
        for _ in 0..5 {
            by_byte.grow(&mut exact, acked(2000), 0);
            by_ack.grow(&mut each, acked(2000), 0);
        }
        assert_eq!(exact.cwnd, 11_000);
        assert!((10_480..10_500).contains(&each.cwnd), "{}", each.cwnd);
    }

    #[test]
    fn slow_start_stops_at_the_largest_window() {
        let mut window = Window {
            ssthresh: u64::MAX,
            largest: 12_500,
            ..window()
        };
        let mut reno = Reno::new(Growth::PerByte, HyStart::None);
        (0..5).for_each(|_| reno.grow(&mut window, acked(1000), 0));
        assert_eq!(window.cwnd, 12_500);
    }

    #[test]
    fn a_loss_halves_what_was_outstanding_but_leaves_two_segments() {
        let mut window = window();
        let mut reno = Reno::new(Growth::PerByte, HyStart::None);
        reno.on_loss(&mut window, 9000);
        assert_eq!(window.ssthresh, 4500);
        reno.on_loss(&mut window, 1000);
        assert_eq!(window.ssthresh, 2000);
    }
}
