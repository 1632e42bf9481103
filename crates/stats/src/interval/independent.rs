//! Intervals at 95 % of what is independent: a share of many, and the difference of two estimates.

/// 95 % of the normal distribution lie within this number of standard deviations.
pub const Z: f64 = 1.96;

/// An estimate and the ends of its interval.
pub type Estimate = (f64, [f64; 2]);

/// The share `part / whole` (Wilson, Journal of the American Statistical Association 22 (1927) 209); `None` of nothing.
/// What is lost in bursts is less sure than this says.
pub fn of_share(part: u64, whole: u64) -> Option<Estimate> {
    let n = whole as f64;
    let share = part as f64 / n;
    let centre = (share + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let half = Z * (share * (1.0 - share) / n + (Z / (2.0 * n)).powi(2)).sqrt() / (1.0 + Z * Z / n);
    (whole > 0).then_some((share, [centre - half, centre + half]))
}

/// By how much the second of two independent estimates is more (MOVER: Zou & Donner, Statistics in Medicine 27 (2008)
/// 1693; of two shares that is Newcombe's).
pub fn of_difference(
    (from, [from_low, from_high]): Estimate,
    (to, [low, high]): Estimate,
) -> [f64; 2] {
    let below = (to - low).hypot(from_high - from);
    let above = (high - to).hypot(from - from_low);
    [to - from - below, to - from + above]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn close(found: [f64; 2], expected: [f64; 2]) {
        for (found, expected) in found.into_iter().zip(expected) {
            assert!((found - expected).abs() < 5e-5, "{found} {expected}");
        }
    }

    /// The examples of Newcombe, Statistics in Medicine 17 (1998) 857 and 873.
    #[test]
    fn shares_and_their_differences_are_those_of_newcombe() {
        let share = |part, whole| of_share(part, whole).unwrap();
        close(share(81, 263).1, [0.2553, 0.3662]);
        close(share(0, 20).1, [0.0, 0.1611]);
        close(
            of_difference(share(48, 80), share(56, 70)),
            [0.0524, 0.3339],
        );
        assert_eq!(of_share(0, 0), None);
    }
}
