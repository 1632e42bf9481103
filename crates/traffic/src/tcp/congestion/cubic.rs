//! CUBIC (RFC 9438): W(t) = C·(t − K)³ + W_max, and never slower than Reno would be.
//!
//! Windows are in segments here, times in seconds, as in the RFC.

use super::reno::Reno;
use super::{Acked, Window};
use delaylab_model::tcp::RenoFriendly;
use delaylab_model::{PICOS_PER_SECOND, Picos};

/// §4.1: C in segments a second cubed, β, and §4.3's α for the Reno-friendly window.
const C: f64 = 0.4;
const BETA: f64 = 0.7;
/// RFC 8511 §3: what is left of the window after a mark.
pub(super) const BETA_ECN: f64 = 0.85;
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// Linux (tcp_cubic.c): segments acknowledged for each that the window grows by, at most, until a loss has shown what the
/// path bears: 5 % a round trip.
const LINUX_UNTIL_LOSS: f64 = 20.0;
/// Of a product in floating point that is a whole number.
const ROUNDING: f64 = 1e-6;

/// A stage of congestion avoidance.
#[derive(Debug, Clone, Copy)]
struct Epoch {
    start: Picos,
    k: f64,
    w_max: f64,
    /// What Reno with this β would have.
    w_est: f64,
}

/// What is remembered between them.
#[derive(Debug, Clone)]
pub(crate) struct Cubic {
    reno: Reno,
    beyond: RenoFriendly,
    epoch: Option<Epoch>,
    /// Before the last reduction; `None` where none counts: K is 0 then (§4.8, §4.10).
    w_max: Option<f64>,
    cwnd_prior: f64,
    /// Bytes that did not make a whole one.
    carried: f64,
}

impl Cubic {
    pub(crate) const fn new(reno: Reno, beyond: RenoFriendly) -> Self {
        Self {
            reno,
            beyond,
            epoch: None,
            w_max: None,
            cwnd_prior: 0.0,
            carried: 0.0,
        }
    }

    pub(crate) fn grow(&mut self, window: &mut Window, acked: Acked, smoothed: Picos) {
        if window.in_slow_start() {
            return self.reno.slow_start.on_ack(window, &acked, smoothed);
        }
        let now = acked.now;
        let cwnd = segments(window.cwnd, window);
        let acked = segments(acked.bytes, window);
        let mut epoch = self.epoch.unwrap_or_else(|| self.begin(cwnd, now));
        epoch.w_est += self.alpha(&epoch) * acked / cwnd;
        let t = seconds(now.saturating_sub(epoch.start));
        let wanted = if epoch.at(t) < epoch.w_est {
            (epoch.w_est - cwnd).max(0.0)
        } else {
            // §4.4: what the curve will be a round trip from now, spread over that round trip.
            let target = epoch.at(t + seconds(smoothed)).clamp(cwnd, 1.5 * cwnd);
            acked * (target - cwnd) / cwnd
        };
        self.epoch = Some(epoch);
        let wanted = wanted.max(self.least(acked));
        let bytes = self.carried + wanted * window.mss as f64;
        self.carried = bytes.fract();
        window.add(bytes as u64);
    }

    fn begin(&self, cwnd: f64, now: Picos) -> Epoch {
        let w_max = self.w_max.unwrap_or(cwnd).max(cwnd);
        Epoch {
            start: now,
            k: ((w_max - cwnd) / C).cbrt(),
            w_max,
            w_est: cwnd,
        }
    }

    /// §4.3: once it is where it was before the reduction, Reno's own slope. Not so in Linux (tcp_cubic.c: `beta_scale`).
    fn alpha(&self, epoch: &Epoch) -> f64 {
        match self.beyond {
            RenoFriendly::Rfc9438 if epoch.w_est >= self.cwnd_prior => 1.0,
            RenoFriendly::Rfc9438 | RenoFriendly::Linux => ALPHA,
        }
    }

    /// The least growth with this number of segments acknowledged.
    fn least(&self, acked: f64) -> f64 {
        match (self.beyond, self.w_max) {
            (RenoFriendly::Linux, None) => acked / LINUX_UNTIL_LOSS,
            _ => 0.0,
        }
    }

    /// §4.6, and fast convergence of §4.7: who did not get back to the last W_max leaves room.
    pub(crate) fn on_loss(&mut self, window: &mut Window, flight: u64) {
        self.cut(window, flight, BETA);
    }

    /// To so much of what is outstanding.
    pub(crate) fn cut(&mut self, window: &mut Window, flight: u64, share: f64) {
        let cwnd = self.counted(segments(window.cwnd.min(flight.max(window.mss)), window));
        let converging = self.w_max.is_some_and(|w_max| cwnd < w_max);
        let kept = if converging { (1.0 + BETA) / 2.0 } else { 1.0 };
        self.w_max = Some(cwnd * kept);
        self.cwnd_prior = cwnd;
        self.epoch = None;
        self.carried = 0.0;
        let kept = match self.beyond {
            RenoFriendly::Rfc9438 => flight as f64 * share,
            RenoFriendly::Linux => self.counted(cwnd * share) * window.mss as f64,
        };
        window.set_threshold(kept as u64);
    }

    /// Linux counts whole segments: what was gained of the next one is lost with a cut.
    fn counted(&self, segments: f64) -> f64 {
        match self.beyond {
            RenoFriendly::Rfc9438 => segments,
            RenoFriendly::Linux => (segments + ROUNDING).floor(),
        }
    }

    /// §4.8.
    pub(crate) fn on_timeout(&mut self) {
        self.reno.slow_start.on_timeout();
        self.w_max = None;
        self.epoch = None;
    }

    pub(crate) fn on_restart(&mut self) {
        self.epoch = None;
    }

    /// §5.8: time without data does not count. As in Linux, that is all since the last segment was sent.
    pub(crate) fn after_idle(&mut self, last_sent: Picos, now: Picos) {
        if let Some(epoch) = &mut self.epoch {
            let idle = now.saturating_sub(last_sent);
            epoch.start = epoch.start.saturating_add(idle).min(now);
        }
    }
}

impl Epoch {
    fn at(&self, t: f64) -> f64 {
        C * (t - self.k).powi(3) + self.w_max
    }
}

fn segments(bytes: u64, window: &Window) -> f64 {
    bytes as f64 / window.mss as f64
}

fn seconds(time: Picos) -> f64 {
    time as f64 / PICOS_PER_SECOND as f64
}

#[cfg(test)]
mod tests {
    use super::super::super::settings::Growth;
    use super::*;
    use delaylab_model::tcp::HyStart;

    const MSS: u64 = 1000;
    const ONE: Acked = Acked {
        bytes: MSS,
        limit: 2,
        now: 0,
        rtt: None,
        next: 0,
        sent: 0,
    };

    fn cut_at(cwnd: u64) -> (Cubic, Window) {
        cut_beyond(cwnd, RenoFriendly::Rfc9438)
    }

    fn cut_beyond(cwnd: u64, beyond: RenoFriendly) -> (Cubic, Window) {
        let mut window = Window {
            cwnd: cwnd * MSS,
            ssthresh: 1,
            mss: MSS,
            largest: u64::MAX,
        };
        let mut cubic = Cubic::new(Reno::new(Growth::PerByte, HyStart::None), beyond);
        cubic.on_loss(&mut window, cwnd * MSS);
        window.cwnd = window.ssthresh;
        (cubic, window)
    }

    /// A window of ACKs each round trip, evenly spaced; the window and the time at the end of each.
    fn rounds(cubic: &mut Cubic, window: &mut Window, rtt: Picos, count: u64) -> Vec<(f64, f64)> {
        let mut now = 0;
        let mut seen = Vec::new();
        for round in 1..=count {
            let acks = window.cwnd / MSS;
            for ack in 1..=acks {
                let now = now + rtt * ack / acks;
                cubic.grow(window, Acked { now, ..ONE }, rtt);
            }
            now = round * rtt;
            seen.push((seconds(now), segments(window.cwnd, window)));
        }
        seen
    }

    #[test]
    fn it_follows_the_curve() {
        let rtt = PICOS_PER_SECOND / 10;
        let (mut cubic, mut window) = cut_at(1000);
        let start = segments(window.cwnd, &window);
        assert_eq!(start, 700.0);
        let k = (1000.0 * (1.0 - BETA) / C).cbrt();
        for (t, cwnd) in rounds(&mut cubic, &mut window, rtt, 150) {
            let formula = C * (t - k).powi(3) + 1000.0;
            // Growth is spread over a round trip, so it lags by a part of one: 2 % here.
            assert!(
                (cwnd / formula - 1.0).abs() < 0.02,
                "{t}: {cwnd}, {formula}"
            );
        }
        // 15 s is 5.9 s beyond K: well above W_max.
        assert!(window.cwnd > 1070 * MSS, "{window:?}");
    }

    #[test]
    fn on_a_short_path_it_is_as_fast_as_reno() {
        // 1 ms and 20 segments: K is 2.5 s, Reno is back long before.
        let (mut cubic, mut window) = cut_at(20);
        rounds(&mut cubic, &mut window, PICOS_PER_SECOND / 1000, 20);
        let gained = segments(window.cwnd, &window) - 14.0;
        // α = 0.529 for the 6 segments up to 20 (11.3 round trips), 1 from there on.
        assert!((gained - (6.0 + 8.7)).abs() < 0.8, "{gained}");
    }

    #[test]
    fn linux_is_slower_beyond_the_last_maximum() {
        let (mut cubic, mut window) = cut_beyond(20, RenoFriendly::Linux);
        rounds(&mut cubic, &mut window, PICOS_PER_SECOND / 1000, 20);
        let gained = segments(window.cwnd, &window) - 14.0;
        assert!((gained - 20.0 * ALPHA).abs() < 0.8, "{gained}");
    }

    /// tcp_cubic.c, `cubictcp_recalc_ssthresh`: 22.9 segments are 22, and 0.7 of them 15.
    #[test]
    fn linux_cuts_to_whole_segments() {
        let cut = |beyond| {
            let (mut cubic, mut window) = cut_beyond(1000, beyond);
            window.cwnd = 22_900;
            cubic.on_loss(&mut window, 22_900);
            let w_max = cubic.w_max.unwrap_or(0.0);
            (window.ssthresh / 100, (w_max * 10.0).round())
        };
        assert_eq!(cut(RenoFriendly::Linux), (150, 187.0));
        assert_eq!(cut(RenoFriendly::Rfc9438), (160, 195.0));
        assert_eq!(cut_beyond(20, RenoFriendly::Linux).1.ssthresh, 14 * MSS);
    }

    /// On a path of 40 ms the curve alone, flat where it begins, would gain three segments in ten round trips.
    #[test]
    fn linux_grows_by_a_twentieth_a_round_trip_until_something_is_lost() {
        let grown = |beyond, lost: bool| {
            let (mut cubic, mut window) = cut_beyond(60, beyond);
            if !lost {
                cubic.on_timeout(); // forgets the loss
            }
            window.cwnd = 60 * MSS;
            rounds(&mut cubic, &mut window, PICOS_PER_SECOND / 25, 10);
            segments(window.cwnd, &window)
        };
        let twentieths = 60.0 * 1.05_f64.powi(10);
        let linux = grown(RenoFriendly::Linux, false);
        assert!((linux / twentieths - 1.0).abs() < 0.02, "{linux}");
        for others in [
            grown(RenoFriendly::Linux, true),
            grown(RenoFriendly::Rfc9438, false),
        ] {
            assert!(others < 75.0, "{others}");
        }
    }

    #[test]
    fn fast_convergence_gives_room() {
        let (mut cubic, mut window) = cut_at(1000);
        assert_eq!(cubic.w_max, Some(1000.0));
        window.cwnd = 800 * MSS;
        cubic.on_loss(&mut window, 800 * MSS);
        assert_eq!(cubic.w_max, Some(800.0 * 0.85));
        assert_eq!(window.ssthresh, 560 * MSS);
    }

    #[test]
    fn after_a_time_out_the_curve_starts_at_its_own_maximum() {
        let (mut cubic, mut window) = cut_at(1000);
        cubic.on_timeout();
        let epoch = cubic.begin(700.0, 0);
        assert_eq!((epoch.k, epoch.w_max), (0.0, 700.0));
        cubic.grow(&mut window, ONE, PICOS_PER_SECOND);
        assert!(window.cwnd >= 700 * MSS);
    }
}
