//! DCTCP (RFC 8257): the window is cut by the share of bytes that were marked.

use super::Window;
use super::reno::Reno;

/// §4.2: the weight of a window in the estimate.
const G: f64 = 1.0 / 16.0;

/// The estimate and the window that is being counted.
#[derive(Debug, Clone)]
pub(crate) struct Dctcp {
    pub(crate) reno: Reno,
    alpha: f64,
    acked: u64,
    marked: u64,
    window_end: u64,
}

impl Dctcp {
    /// §3.3: α starts at 1, so that the first marks are taken in earnest.
    pub(crate) const fn new(reno: Reno) -> Self {
        Self {
            reno,
            alpha: 1.0,
            acked: 0,
            marked: 0,
            window_end: 0,
        }
    }

    pub(crate) const fn alpha(&self) -> f64 {
        self.alpha
    }

    /// §3.3: `next` is acknowledged, all below `sent` is out. Once a window the estimate moves.
    pub(crate) fn count(&mut self, acked: u64, marked: bool, next: u64, sent: u64) {
        self.acked += acked;
        self.marked += if marked { acked } else { 0 };
        if next <= self.window_end {
            return;
        }
        let share = self.marked as f64 / self.acked as f64;
        self.alpha += G * (share - self.alpha);
        self.acked = 0;
        self.marked = 0;
        self.window_end = sent;
    }

    /// cwnd ← cwnd·(1 − α/2).
    pub(crate) fn on_mark(&mut self, window: &mut Window) {
        let cut = window.cwnd as f64 * self.alpha / 2.0;
        window.set_threshold(window.cwnd - cut as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::settings::Growth;
    use super::*;

    #[test]
    fn the_estimate_converges_to_the_share_of_marks() {
        let mut dctcp = Dctcp::new(Reno::new(Growth::PerByte, false));
        // Windows of 10 segments, 3 of them marked.
        for segment in 1..=10_000_u64 {
            let next = segment * 1000;
            dctcp.count(1000, segment % 10 < 3, next, next + 10_000);
        }
        assert!((dctcp.alpha() - 0.3).abs() < 0.02, "{}", dctcp.alpha());
    }

    #[test]
    fn no_marks_bring_it_down_by_a_sixteenth_a_window() {
        let mut dctcp = Dctcp::new(Reno::new(Growth::PerByte, false));
        dctcp.count(1000, false, 1000, 1000);
        assert_eq!(dctcp.alpha(), 15.0 / 16.0);
        dctcp.count(1000, false, 1000, 2000);
        assert_eq!(dctcp.alpha(), 15.0 / 16.0);
        dctcp.count(1000, false, 1001, 2000);
        assert_eq!(dctcp.alpha(), (15.0_f64 / 16.0).powi(2));
    }

    #[test]
    fn the_cut_is_half_of_it() {
        let mut window = Window {
            cwnd: 100_000,
            ssthresh: u64::MAX,
            mss: 1000,
            largest: u64::MAX,
        };
        let mut dctcp = Dctcp::new(Reno::new(Growth::PerByte, false));
        dctcp.alpha = 0.1;
        dctcp.on_mark(&mut window);
        assert_eq!(window.ssthresh, 95_000);
    }
}
