//! What the values at the median tell of a far quantile.
//!
//! Beyond a far quantile lie few values, in fewer groups: by chance alone their flags look independent in
//! one series of seven, and just these would get an interval, too narrow a one. How values at the median
//! depend on each other is known much better, and tells what to expect of the tail.
//!
//! Both ways to an interval ([`crate::interval`] of one series, [`crate::comparison`] of several) ask here how many
//! independent values lie beyond, and how well these few tell what the quantile varies by.

use crate::tail;
use std::f64::consts::{FRAC_PI_2, TAU};

/// Where few large values make up most of a variance, it has at least this number of degrees of freedom.
pub(crate) const LEAST_DEGREES: f64 = 3.0;

/// How flags at a quantile depend on each other where those at the median do, in a normal series or any that
/// increases with one.
pub(crate) struct JointTail {
    /// The quantile of a standard normal.
    z: f64,
    /// p·(1 − p), of the share beyond.
    variance: f64,
}

impl JointTail {
    /// `None` at the median itself.
    pub(crate) fn beyond(q: f64) -> Option<Self> {
        (q != 0.5).then(|| Self {
            z: tail::normal_quantile(q.max(1.0 - q)),
            variance: q * (1.0 - q),
        })
    }

    /// The correlation of the flags, from that of the flags at the median, r: normal values then have ρ =
    /// sin(πr/2), and both are beyond z with p² + ∫₀^asin ρ exp(−z²/(1 + sin θ)) dθ / 2π (Plackett 1954).
    pub(crate) fn correlation(&self, at_median: f64) -> f64 {
        const STEPS: usize = 16;
        let end = FRAC_PI_2 * at_median.clamp(-1.0, 1.0);
        let density =
            |angle: f64| (-self.z * self.z / (1.0 + angle.sin()).max(f64::MIN_POSITIVE)).exp();
        let step = end / STEPS as f64;
        // Simpson's rule.
        let sum: f64 = (0..=STEPS)
            .map(|at| {
                let weight = match at {
                    0 | STEPS => 1.0,
                    odd if odd % 2 == 1 => 4.0,
                    _ => 2.0,
                };
                weight * density(at as f64 * step)
            })
            .sum();
        sum * step / 3.0 / TAU / self.variance
    }
}

/// What an autocorrelation time that was estimated may well be: a standard error more (Madras and Sokal
/// 1988, for a window of five times itself). Of independent values it is 1, which needs no estimate.
pub(crate) fn at_most(time: f64, count: f64) -> f64 {
    let error = (2.0 * (10.0 * time + 1.0) / count).sqrt();
    1.0 + (time - 1.0) * (1.0 + error)
}

/// The values beyond a quantile.
pub(crate) struct Beyond {
    /// As many independent values as they say as much as.
    pub(crate) independent: f64,
    /// Degrees of freedom of the variance that they show.
    pub(crate) degrees: f64,
}

impl Beyond {
    /// Of `count` values with this autocorrelation time at the quantile, of which a share of `tail` lies beyond it.
    ///
    /// Two neighbours among the few that lie there are no sign that these come in clusters: of 500 independent values
    /// whose p99 has five beyond it, one series in five has such a pair. The variance of independent values is known.
    /// That of clusters is an estimate from their squares, of which few large ones are most: with sizes of an
    /// exponential law it has a third as many degrees of freedom as there are clusters. The closer to the median, the less
    /// one side tells more than the other.
    pub(crate) fn new(tail: f64, count: f64, time: f64) -> Self {
        const OF_ONE_PAIR: f64 = 2.0;
        let all = count * tail;
        if (time - 1.0) * all <= OF_ONE_PAIR {
            return Self {
                independent: all,
                degrees: f64::INFINITY,
            };
        }
        let independent = all / at_most(time, count);
        let of_cluster = (3.0 * (1.0 - 2.0 * tail).powi(2)).max(1.0);
        let degrees = independent / of_cluster / (1.0 - 1.0 / time);
        Self {
            independent,
            degrees: degrees.max(LEAST_DEGREES),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_of_neighbours_is_no_cluster() {
        let of = |time| Beyond::new(0.01, 500.0, time);
        assert_eq!((of(1.4).independent, of(1.4).degrees), (5.0, f64::INFINITY));
        let clusters = Beyond::new(0.01, 3000.0, 2.0);
        assert!((12.0..15.0).contains(&clusters.independent));
        assert!(
            (8.0..10.0).contains(&clusters.degrees),
            "{}",
            clusters.degrees
        );
        assert_eq!(of(3.0).degrees, LEAST_DEGREES);
        // At the median all of its values tell.
        let median = Beyond::new(0.5, 1000.0, 2.0);
        assert_eq!(median.degrees, 2.0 * median.independent);
    }
}
