//! RFC 6298: the time-out from the smoothed round-trip time and its variation.

use delaylab_model::Picos;

/// Doublings after which the largest time-out is reached, whatever the first was.
const DOUBLINGS: u32 = 16;

/// §5.7: for the first data after a lost SYN.
const AFTER_LOST_SYN: Picos = 3_000_000_000_000;

/// The estimate and the back-off.
#[derive(Debug, Clone)]
pub(crate) struct Rfc6298 {
    min: Picos,
    max: Picos,
    granularity: Picos,
    smoothed: Option<Picos>,
    variation: Picos,
    /// Without back-off.
    rto: Picos,
    doublings: u32,
}

impl Rfc6298 {
    pub(crate) const fn new(min: Picos, max: Picos, initial: Picos, granularity: Picos) -> Self {
        Self {
            min,
            max,
            granularity,
            smoothed: None,
            variation: 0,
            rto: initial,
            doublings: 0,
        }
    }

    /// §2.2 and §2.3. A sample ends the back-off (§5, after Karn).
    pub(crate) fn sample(&mut self, rtt: Picos) {
        let smoothed = match self.smoothed {
            None => {
                self.variation = rtt / 2;
                rtt
            }
            Some(old) => {
                // β = 1/4, α = 1/8; the variation first, from the old estimate.
                self.variation = self.variation - self.variation / 4 + old.abs_diff(rtt) / 4;
                old - old / 8 + rtt / 8
            }
        };
        self.smoothed = Some(smoothed);
        let margin = self.granularity.max(self.variation.saturating_mul(4));
        let rto = smoothed.saturating_add(margin);
        self.rto = rto.max(self.min).min(self.max);
        self.doublings = 0;
    }

    pub(crate) const fn smoothed(&self) -> Option<Picos> {
        self.smoothed
    }

    pub(crate) fn rto(&self) -> Picos {
        self.rto.saturating_mul(1 << self.doublings).min(self.max)
    }

    /// §5.7. A sample, as timestamps give one of a SYN that was sent twice, says more.
    pub(crate) fn after_lost_syn(&mut self) {
        if self.smoothed.is_none() {
            self.rto = self.rto.max(AFTER_LOST_SYN).min(self.max);
            self.doublings = 0;
        }
    }

    pub(crate) fn back_off(&mut self) {
        self.doublings = (self.doublings + 1).min(DOUBLINGS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Picos = 1_000_000_000;

    fn timer() -> Rfc6298 {
        Rfc6298::new(MS, 60_000 * MS, 1000 * MS, MS)
    }

    #[test]
    fn the_first_sample_gives_three_times_itself() {
        let mut timer = timer();
        assert_eq!(timer.rto(), 1000 * MS);
        timer.sample(100 * MS);
        // SRTT = R, RTTVAR = R/2, RTO = R + 4·R/2.
        assert_eq!(timer.rto(), 300 * MS);
        // SRTT = 7/8·100 + 1/8·200 = 112.5; RTTVAR = 3/4·50 + 1/4·100 = 62.5.
        timer.sample(200 * MS);
        assert_eq!(timer.smoothed(), Some(112_500_000_000));
        assert_eq!(timer.rto(), 362_500_000_000);
    }

    #[test]
    fn a_steady_path_is_down_to_the_granularity_and_not_below_the_least() {
        let mut timer = timer();
        (0..200).for_each(|_| timer.sample(100 * MS));
        assert!(timer.rto().abs_diff(101 * MS) < MS / 1000, "{timer:?}");
        let mut bounded = Rfc6298::new(200 * MS, 60_000 * MS, 1000 * MS, MS);
        (0..200).for_each(|_| bounded.sample(MS));
        assert_eq!(bounded.rto(), 200 * MS);
    }

    #[test]
    fn it_doubles_to_the_largest_and_a_sample_ends_that() {
        let mut timer = timer();
        timer.sample(100 * MS);
        timer.back_off();
        assert_eq!(timer.rto(), 600 * MS);
        (0..1000).for_each(|_| timer.back_off());
        assert_eq!(timer.rto(), 60_000 * MS);
        timer.sample(100 * MS);
        assert!(timer.rto() < 300 * MS);
    }
}
