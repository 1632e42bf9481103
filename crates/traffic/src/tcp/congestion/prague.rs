//! TCP Prague: DCTCP for the Internet. Marks are ECT(1)'s, and what short round trips would gain over others is taken from them.
//!
//! As in DCTCP the window is cut by half the share of marked bytes. But rounds are virtual ones of 25 ms at least: the share is
//! averaged, and the window cut, once in each; and in a round trip of r the window grows by (r/25 ms)² segments. So a flow with a shorter round trip
//! sends as if its were 25 ms. Acknowledgements of marked segments grow nothing. A loss halves the window, as Reno.
//!
//! References: draft-briscoe-iccrg-prague-congestion-control (moving average of marks, response, reduced dependence on the round
//! trip); RFC 9331 §4.3 (what an L4S sender must do); RFC 8257. Windows below two segments and the fall-back to Reno behind a Classic
//! ECN queue, which the draft has as options, are not here.
//!
//! Validation: growth and estimate by hand; shares with other flows behind DualPI2, and of two round trips, in `crates/sim/tests/aqm.rs`.

use super::marks::MarkedShare;
use super::reno::Reno;
use super::{Acked, Window};
use delaylab_model::{PICOS_PER_SECOND, Picos};

/// The least virtual round trip.
const VIRTUAL: Picos = PICOS_PER_SECOND / 40;

/// The estimate, and the round that is being counted.
#[derive(Debug, Clone)]
pub(crate) struct Prague {
    pub(super) reno: Reno,
    marks: MarkedShare,
    /// A round is over when what was out at its start is acknowledged, and a virtual round trip has passed.
    round_until: Picos,
    /// Until then the window is not cut again.
    cut_until: Picos,
    /// Bytes that did not make a whole one.
    carried: f64,
}

impl Prague {
    pub(crate) const fn new(reno: Reno) -> Self {
        Self {
            reno,
            marks: MarkedShare::new(),
            round_until: 0,
            cut_until: 0,
            carried: 0.0,
        }
    }

    pub(crate) const fn alpha(&self) -> f64 {
        self.marks.alpha()
    }

    /// Segments a round trip: (r/r_virtual)².
    fn growth(rtt: Picos) -> f64 {
        let share = rtt as f64 / rtt.max(VIRTUAL) as f64;
        share * share
    }

    pub(crate) fn grow(&mut self, window: &mut Window, acked: Acked, rtt: Picos) {
        if window.in_slow_start() {
            return self.reno.slow_start.on_ack(window, &acked, rtt);
        }
        let share = acked.bytes as f64 / window.cwnd as f64;
        let bytes = self.carried + Self::growth(rtt) * window.mss as f64 * share;
        self.carried = bytes.fract();
        window.add(bytes as u64);
    }

    /// `next` is acknowledged, all below `sent` is out.
    pub(crate) fn count(
        &mut self,
        acked: u64,
        marked: bool,
        next: u64,
        sent: u64,
        at: (Picos, Picos),
    ) {
        let (now, rtt) = at;
        if !self.marks.count(acked, marked, next) || now < self.round_until {
            return;
        }
        self.marks.close(sent);
        self.round_until = now.saturating_add(rtt.max(VIRTUAL));
    }

    /// May a mark cut the window?
    pub(crate) const fn may_cut(&self, now: Picos) -> bool {
        now >= self.cut_until
    }

    /// cwnd ← cwnd·(1 − α/2).
    pub(crate) fn on_mark(&mut self, window: &mut Window, now: Picos, rtt: Picos) {
        self.marks.cut(window);
        self.cut_until = now.saturating_add(rtt.max(VIRTUAL));
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::settings::Growth;
    use super::*;
    use delaylab_model::tcp::HyStart;

    const MS: Picos = PICOS_PER_SECOND / 1000;

    fn prague() -> Prague {
        Prague::new(Reno::new(Growth::PerByte, HyStart::None))
    }

    fn window() -> Window {
        Window {
            cwnd: 100_000,
            ssthresh: 100_000,
            mss: 1000,
            largest: u64::MAX,
        }
    }

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

    #[test]
    fn a_short_round_trip_grows_by_the_square_of_its_share_of_25_ms() {
        for (rtt, segments) in [(25, 1.0), (100, 1.0), (10, 0.16), (5, 0.04)] {
            let (mut prague, mut window) = (prague(), window());
            (0..100).for_each(|_| prague.grow(&mut window, acked(1000), rtt * MS));
            let grown = (window.cwnd - 100_000) as f64 / 1000.0;
            assert!((grown - segments).abs() < 0.01, "{rtt}: {grown}");
        }
    }

    #[test]
    fn the_estimate_moves_once_in_a_virtual_round_trip() {
        // A window is acknowledged every 5 ms; nothing is marked.
        let mut prague = prague();
        let mut moves = 0;
        for round in 0..100_u64 {
            let before = prague.alpha();
            let next = round * 1000 + 1;
            prague.count(1000, false, next, next + 999, (round * 5 * MS, 5 * MS));
            moves += u32::from(prague.alpha() != before);
        }
        assert_eq!(moves, 20);
        assert!((prague.alpha() - (15.0_f64 / 16.0).powi(20)).abs() < 1e-12);
    }

    #[test]
    fn marks_cut_by_half_the_estimate_once_in_a_virtual_round_trip() {
        let (mut prague, mut window) = (prague(), window());
        assert!(prague.may_cut(0));
        prague.on_mark(&mut window, 0, 5 * MS);
        assert_eq!(window.ssthresh, 50_000);
        assert!(!prague.may_cut(25 * MS - 1) && prague.may_cut(25 * MS));
        prague.on_mark(&mut window, 0, 80 * MS);
        assert!(!prague.may_cut(80 * MS - 1));
    }
}
