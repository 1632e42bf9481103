//! DCTCP (RFC 8257): the window is cut by the share of bytes that were marked.

use super::Window;
use super::marks::MarkedShare;
use super::reno::Reno;

/// Reno, with an estimate of its own.
#[derive(Debug, Clone)]
pub(crate) struct Dctcp {
    pub(crate) reno: Reno,
    marks: MarkedShare,
}

impl Dctcp {
    pub(crate) const fn new(reno: Reno) -> Self {
        Self {
            reno,
            marks: MarkedShare::new(),
        }
    }

    pub(crate) const fn alpha(&self) -> f64 {
        self.marks.alpha()
    }

    /// §3.3: `next` is acknowledged, all below `sent` is out. Once a window the estimate moves.
    pub(crate) fn count(&mut self, acked: u64, marked: bool, next: u64, sent: u64) {
        if self.marks.count(acked, marked, next) {
            self.marks.close(sent);
        }
    }

    pub(crate) fn on_mark(&mut self, window: &mut Window) {
        self.marks.cut(window);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::settings::Growth;
    use super::*;
    use delaylab_model::tcp::HyStart;

    #[test]
    fn the_estimate_converges_to_the_share_of_marks() {
        let mut dctcp = Dctcp::new(Reno::new(Growth::PerByte, HyStart::None));
        // Windows of 10 segments, 3 of them marked.
        for segment in 1..=10_000_u64 {
            let next = segment * 1000;
            dctcp.count(1000, segment % 10 < 3, next, next + 10_000);
        }
        assert!((dctcp.alpha() - 0.3).abs() < 0.02, "{}", dctcp.alpha());
    }

    #[test]
    fn no_marks_bring_it_down_by_a_sixteenth_a_window() {
        let mut dctcp = Dctcp::new(Reno::new(Growth::PerByte, HyStart::None));
        dctcp.count(1000, false, 1000, 1000);
        assert_eq!(dctcp.alpha(), 15.0 / 16.0);
        dctcp.count(1000, false, 1000, 2000);
        assert_eq!(dctcp.alpha(), 15.0 / 16.0);
        dctcp.count(1000, false, 1001, 2000);
        assert_eq!(dctcp.alpha(), (15.0_f64 / 16.0).powi(2));
    }
}
