//! The retransmission timer of 4.4BSD (Net/3): all in ticks of 500 ms (Stevens and Wright, TCP/IP
//! Illustrated volume 2, §25).
//!
//! On a LAN the counter always says one, and what the shifts do not round away leaves a time-out of
//! three ticks: 1 to 1.5 s.

use super::ticks::Ticks;
use delaylab_model::Picos;

/// TCPTV_MIN and TCPTV_REXMTMAX: one second, 64 seconds.
const LEAST: u64 = 2;
const MOST: u64 = 128;
/// Before the first sample: 6 s (t_rxtcur of tcp_newtcpcb()), and then the back-off of four times the variation of 3 s
/// (TCPTV_SRTTDFLT): 24 s, 48 s.
const INITIAL: u64 = 12;
const UNKNOWN: i64 = 24;
/// The exponential back-off stops at 64.
const DOUBLINGS: u32 = 6;

/// The estimate in ticks, fixed point.
#[derive(Debug, Clone)]
pub(crate) struct Coarse {
    ticks: Ticks,
    /// Eighths; 0 before the first sample.
    smoothed: i64,
    /// Quarters.
    variation: i64,
    doublings: u32,
}

impl Coarse {
    pub(crate) const fn new(ticks: Ticks) -> Self {
        Self {
            ticks,
            smoothed: 0,
            variation: 0,
            doublings: 0,
        }
    }

    /// tcp_xmit_timer(). The counter starts at 1 with the segment.
    pub(crate) fn sample(&mut self, sent: Picos, now: Picos) {
        let rtt = (self.ticks.until(now) - self.ticks.until(sent)) as i64 + 1;
        if self.smoothed == 0 {
            self.smoothed = rtt << 3;
            self.variation = rtt << 1;
        } else {
            let delta = rtt - 1 - (self.smoothed >> 3);
            self.smoothed = (self.smoothed + delta).max(1);
            let delta = delta.abs() - (self.variation >> 2);
            self.variation = (self.variation + delta).max(1);
        }
        self.doublings = 0;
    }

    pub(crate) fn smoothed(&self) -> Option<Picos> {
        let eighths = u64::try_from(self.smoothed).ok().filter(|&s| s > 0)?;
        Some(eighths.saturating_mul(self.ticks.length()) / 8)
    }

    pub(crate) fn rto(&self) -> Picos {
        self.rto_ticks().saturating_mul(self.ticks.length())
    }

    pub(crate) fn expiry(&self, now: Picos) -> Picos {
        self.ticks.after(now, self.rto_ticks())
    }

    pub(crate) fn back_off(&mut self) {
        self.doublings = (self.doublings + 1).min(DOUBLINGS);
    }

    fn rto_ticks(&self) -> u64 {
        if self.smoothed == 0 && self.doublings == 0 {
            return INITIAL;
        }
        // TCP_REXMTVAL().
        let variation = match self.smoothed {
            0 => UNKNOWN,
            _ => self.variation,
        };
        let ticks = ((self.smoothed >> 3) + variation).unsigned_abs();
        (ticks << self.doublings).clamp(LEAST, MOST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Picos = 1_000_000_000_000;

    #[test]
    fn a_lan_is_timed_out_after_one_to_one_and_a_half_seconds() {
        let mut timer = Coarse::new(Ticks::new(SECOND / 2, 0));
        assert_eq!(timer.rto(), 6 * SECOND);
        for _ in 0..50 {
            timer.sample(SECOND / 10, SECOND / 10 + 1_000_000);
        }
        assert_eq!(timer.rto(), 3 * SECOND / 2);
        assert_eq!(timer.expiry(0), 3 * SECOND / 2);
        assert_eq!(timer.expiry(SECOND / 2 - 1), 3 * SECOND / 2);
        timer.back_off();
        assert_eq!(timer.rto(), 3 * SECOND);
        (0..100).for_each(|_| timer.back_off());
        assert_eq!(timer.rto(), 64 * SECOND);
    }

    /// The seconds between SYNs of 4.4BSD that nothing answers (Stevens, TCP/IP Illustrated volume 1, §18.3).
    #[test]
    fn before_a_sample_it_waits_6_24_and_48_seconds() {
        let mut timer = Coarse::new(Ticks::new(SECOND / 2, 0));
        let mut waits = Vec::new();
        for _ in 0..4 {
            waits.push(timer.rto() / SECOND);
            timer.back_off();
        }
        assert_eq!(waits, [6, 24, 48, 64]);
    }

    #[test]
    fn the_first_sample_gives_three_times_itself() {
        let mut timer = Coarse::new(Ticks::new(SECOND / 2, 0));
        // Two ticks pass: the counter says 3.
        timer.sample(0, SECOND);
        assert_eq!(timer.rto(), 9 * SECOND / 2);
        assert_eq!(timer.smoothed(), Some(3 * SECOND / 2));
    }
}
