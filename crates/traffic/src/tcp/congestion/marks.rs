//! The share of bytes that were marked, as DCTCP and Prague keep it: a moving average, moved once a window (RFC 8257 §3.3).

use super::Window;

/// RFC 8257 §4.2: the weight of a window in the estimate.
const G: f64 = 1.0 / 16.0;

/// The estimate (DCTCP.Alpha), and the window that is being counted.
#[derive(Debug, Clone)]
pub(crate) struct MarkedShare {
    alpha: f64,
    acked: u64,
    marked: u64,
    window_end: u64,
}

impl MarkedShare {
    /// It starts at 1, so that the first marks are taken in earnest.
    pub(crate) const fn new() -> Self {
        Self {
            alpha: 1.0,
            acked: 0,
            marked: 0,
            window_end: 0,
        }
    }

    pub(crate) const fn alpha(&self) -> f64 {
        self.alpha
    }

    /// `next` is acknowledged, and with it so many bytes, all of them marked or none. True once what was out when the
    /// window began is acknowledged: it may be closed.
    pub(crate) fn count(&mut self, acked: u64, marked: bool, next: u64) -> bool {
        self.acked += acked;
        self.marked += if marked { acked } else { 0 };
        next > self.window_end
    }

    /// The estimate moves. The next window is what is below `sent`.
    pub(crate) fn close(&mut self, sent: u64) {
        let share = self.marked as f64 / self.acked as f64;
        self.alpha += G * (share - self.alpha);
        (self.acked, self.marked) = (0, 0);
        self.window_end = sent;
    }

    /// cwnd ← cwnd·(1 − α/2).
    pub(crate) fn cut(&self, window: &mut Window) {
        let cut = window.cwnd as f64 * self.alpha / 2.0;
        window.set_threshold(window.cwnd - cut as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cut_is_half_of_it() {
        let mut window = Window {
            cwnd: 100_000,
            ssthresh: u64::MAX,
            mss: 1000,
            largest: u64::MAX,
        };
        let marks = MarkedShare {
            alpha: 0.1,
            ..MarkedShare::new()
        };
        marks.cut(&mut window);
        assert_eq!(window.ssthresh, 95_000);
    }
}
