//! EPRCA's intelligent marking: sources above a share of the mean rate are told to come down to it
//! while the queue is long.
//!
//! - Forward RM cell: MACR = 15/16·MACR + 1/16·CCR.
//! - Backward RM cell, queue at the threshold or beyond: ER ≤ 7/8·MACR where CCR > 7/8·MACR.
//! - Queue at the second threshold or beyond: ER ≤ 1/4·MACR for all.
//!
//! References: L. Roberts, "Enhanced PRCA (proportional rate-control algorithm)", ATM Forum 94-0735R1
//! (1994); K.-Y. Siu and H.-Y. Tzeng, "Intelligent congestion control for ABR service in ATM networks",
//! ACM CCR 24(5), 1994; R. Jain, "Congestion control and traffic management in ATM networks: recent
//! advances and a survey", Computer Networks and ISDN Systems 28(13), 1996.
//!
//! Validation: by hand.

use crate::buffer::Bound;
use crate::item::Backlog;

/// What an RM cell adds to the mean.
const AVERAGING: f64 = 1.0 / 16.0;
/// What congested channels get of the mean.
const DOWN_PRESSURE: f64 = 7.0 / 8.0;
/// What all get of it when nothing else helps.
const MAJOR_REDUCTION: f64 = 1.0 / 4.0;

/// The mean of one output port.
#[derive(Debug, Clone)]
pub struct Eprca {
    congested: Bound,
    very_congested: Bound,
    /// MACR. None before the first RM cell.
    mean: Option<f64>,
}

impl Eprca {
    /// Congested at or above the first, very congested at or above the second, which may be
    /// [`Bound::UNLIMITED`].
    pub const fn new(congested: Bound, very_congested: Bound) -> Self {
        Self {
            congested,
            very_congested,
            mean: None,
        }
    }

    /// Forgets what it saw.
    pub(super) const fn restart(&mut self) {
        self.mean = None;
    }

    /// MACR, the mean allowed cell rate; None before the first RM cell.
    pub const fn mean(&self) -> Option<f64> {
        self.mean
    }

    /// A forward RM cell passes.
    pub fn forward_rm(&mut self, ccr: f64) {
        let mean = self.mean.unwrap_or(ccr);
        self.mean = Some(mean + AVERAGING * (ccr - mean));
    }

    /// A backward RM cell passes: its new ER.
    pub fn backward_rm(&self, ccr: f64, er: f64, backlog: Backlog) -> f64 {
        let Some(mean) = self.mean else {
            return er;
        };
        let share = DOWN_PRESSURE * mean;
        if self.very_congested.reached(backlog) {
            er.min(MAJOR_REDUCTION * mean)
        } else if self.congested.reached(backlog) && ccr > share {
            er.min(share)
        } else {
            er
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_restarted_has_no_mean() {
        let mut eprca = Eprca::new(Bound::items(10), Bound::items(20));
        eprca.forward_rm(100.0);
        eprca.restart();
        assert_eq!(eprca.mean(), None);
    }

    const fn cells(items: u64) -> Backlog {
        Backlog {
            items,
            bytes: 53 * items,
        }
    }

    #[test]
    fn the_mean_is_worked_by_hand() {
        let mut eprca = Eprca::new(Bound::items(500), Bound::UNLIMITED);
        assert_eq!(eprca.mean(), None);
        eprca.forward_rm(1600.0);
        assert_eq!(eprca.mean(), Some(1600.0));
        eprca.forward_rm(0.0);
        assert_eq!(eprca.mean(), Some(1500.0)); // 15/16 · 1600
        eprca.forward_rm(3100.0);
        assert_eq!(eprca.mean(), Some(1600.0)); // 15/16 · 1500 + 3100/16
    }

    #[test]
    fn only_those_above_the_share_come_down_and_only_while_the_queue_is_long() {
        let mut eprca = Eprca::new(Bound::items(500), Bound::items(1000));
        assert_eq!(eprca.backward_rm(9e4, 3e5, cells(2000)), 3e5); // knows nothing yet
        eprca.forward_rm(1600.0);
        assert_eq!(eprca.backward_rm(2000.0, 3e5, cells(499)), 3e5);
        assert_eq!(eprca.backward_rm(2000.0, 3e5, cells(500)), 1400.0);
        assert_eq!(eprca.backward_rm(1400.0, 3e5, cells(500)), 3e5);
        assert_eq!(eprca.backward_rm(2000.0, 900.0, cells(500)), 900.0); // another switch gave less
        assert_eq!(eprca.backward_rm(100.0, 3e5, cells(1000)), 400.0);
    }
}
