//! How far the variance of a standard deviation can be trusted, and to which side it leans.
//!
//! Where few large values make up most of a variance, a sample without them has both a small deviation and, by its own
//! account, a small error of that.

use super::part_sums::PartSums;
use crate::far_quantile::LEAST_DEGREES;
use crate::interval::Z;
use std::collections::BTreeMap;

/// The law of what each block adds to a variance beyond its share.
pub(super) struct SquaresOfBlocks {
    count: f64,
    skewness: f64,
    excess: f64,
}

impl SquaresOfBlocks {
    /// `None` where nothing varies.
    pub(super) fn new(sums: &[PartSums], sd: f64) -> Option<Self> {
        // Places among the features of moments.
        const COUNT: u32 = 0;
        const SQUARES: u32 = 2;
        let mut blocks = BTreeMap::<(usize, u32), f64>::new();
        for part in sums {
            for &(block, feature, sum) in &part.sums {
                let added = match feature {
                    COUNT => -sd * sd * sum,
                    SQUARES => sum,
                    _ => 0.0,
                };
                *blocks.entry((part.trial, block)).or_default() += added;
            }
        }
        let count = blocks.len() as f64;
        let moment = |power| blocks.values().map(|x| x.powi(power)).sum::<f64>() / count;
        let found = Self {
            count,
            skewness: moment(3) / moment(2).powf(1.5),
            excess: moment(4) / moment(2).powi(2) - 3.0,
        };
        (found.skewness.is_finite() && found.excess.is_finite()).then_some(found)
    }

    /// Degrees of freedom of the variance's variance: 2B/(2 + κ) of B blocks with an excess kurtosis of κ.
    pub(super) fn degrees(&self) -> f64 {
        (2.0 * self.count / (2.0 + self.excess.max(0.0))).max(LEAST_DEGREES)
    }

    /// What percentiles of draws leave of a skewed law's upper end (Johnson 1978; Hall 1988): (z² + 2)·γ/6√B standard
    /// errors.
    pub(super) fn stretch_up(&self, value: f64, draws: &mut [f64]) {
        let more = (Z * Z + 2.0) * self.skewness.max(0.0) / (6.0 * self.count.sqrt() * Z);
        for draw in draws.iter_mut().filter(|draw| **draw > value) {
            *draw += (*draw - value) * more.min(1.0);
        }
    }
}
