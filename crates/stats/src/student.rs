//! Quantiles of Student's t for whole degrees of freedom.
//!
//! With these the distribution function is a finite sum of powers of a cosine (Abramowitz and
//! Stegun 26.7.3 and 26.7.4), so a bisection gives all digits of a quantile. A tail is that of F,
//! which keeps its digits however small it is.

use crate::tail;
use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

/// P(|T| ≤ √df·tan θ).
fn central_probability(theta: f64, df: u32) -> f64 {
    let (sin, cos) = theta.sin_cos();
    let odd = df % 2 == 1;
    let mut term = if odd { cos } else { 1.0 };
    let mut sum = 0.0;
    // Powers of the cosine up to df − 2, every second one.
    let mut power = if odd { 1 } else { 0 };
    while power + 2 <= df {
        sum += term;
        let next = f64::from(power + 1) / f64::from(power + 2);
        term *= next * cos * cos;
        power += 2;
    }
    if odd {
        FRAC_2_PI * (theta + sin * sum)
    } else {
        sin * sum
    }
}

/// t such that a share of `confidence` (0 to 1) of Student's distribution lies within ±t.
/// No degree of freedom: infinite.
pub fn two_sided(confidence: f64, df: u32) -> f64 {
    if df == 0 {
        return f64::INFINITY;
    }
    let (mut low, mut high) = (0.0, FRAC_PI_2);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if central_probability(middle, df) < confidence {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::from(df).sqrt() * low.tan()
}

/// Probability that |T| is larger than `t`: the two-sided p value. 1 without a degree of freedom.
pub fn beyond(t: f64, df: u32) -> f64 {
    if df == 0 || t.is_nan() {
        return 1.0;
    }
    tail::fisher(t * t, (1, df))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The printed tables of t(0.975) and, last, t(0.995).
    #[test]
    fn agrees_with_the_tables() {
        for (confidence, df, t) in [
            (0.95, 1, 12.706_205),
            (0.95, 2, 4.302_653),
            (0.95, 3, 3.182_446),
            (0.95, 4, 2.776_445),
            (0.95, 7, 2.364_624),
            (0.95, 15, 2.131_450),
            (0.95, 30, 2.042_272),
            (0.95, 120, 1.979_930),
            (0.95, 2000, 1.961_151),
            (0.99, 10, 3.169_273),
        ] {
            let found = two_sided(confidence, df);
            assert!((found - t).abs() < 2e-6 * t, "{confidence} {df}: {found}");
        }
        assert_eq!(two_sided(0.95, 0), f64::INFINITY);
    }

    #[test]
    fn beyond_is_the_inverse() {
        for df in [1, 2, 7, 30, 500] {
            let t = two_sided(0.95, df);
            assert!((beyond(t, df) - 0.05).abs() < 1e-12, "{df}");
            assert!((beyond(-t, df) - 0.05).abs() < 1e-12, "{df}");
        }
        assert_eq!(beyond(3.0, 0), 1.0);
        // With one degree of freedom the tail is 2 atan(1/t)/π.
        assert!((beyond(1e9, 1) / (FRAC_2_PI * 1e-9) - 1.0).abs() < 1e-12);
    }
}
