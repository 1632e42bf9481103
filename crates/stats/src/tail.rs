//! Upper tails of Fisher's F and of χ²: the p values of tests; and the normal distribution.

use crate::incomplete;

/// Probability that F with `degrees` (of the numerator, of the denominator; both positive) is
/// larger than `f`.
pub fn fisher(f: f64, degrees: (u32, u32)) -> f64 {
    if f.is_infinite() {
        return 0.0;
    }
    let (upper, lower) = (f64::from(degrees.0), f64::from(degrees.1));
    let whole = lower + upper * f;
    incomplete::beta(lower / whole, upper * f / whole, lower / 2.0, upper / 2.0)
}

/// Probability that χ² with `degrees`, at least one, is larger than `value`.
pub fn chi_squared(value: f64, degrees: u32) -> f64 {
    incomplete::gamma_beyond(f64::from(degrees) / 2.0, value / 2.0)
}

/// Probability that a standard normal value is below `z`.
pub fn normal_below(z: f64) -> f64 {
    if z.is_infinite() {
        return f64::from(u8::from(z > 0.0));
    }
    let beyond = chi_squared(z * z, 1) / 2.0;
    if z < 0.0 { beyond } else { 1.0 - beyond }
}

/// The quantile of the standard normal distribution for `q` from ½ up to 1, where it is at most 8.3.
pub fn normal_quantile(q: f64) -> f64 {
    let beyond = 2.0 * (1.0 - q);
    let (mut low, mut high) = (0.0, 8.3);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        match chi_squared(middle * middle, 1) > beyond {
            true => low = middle,
            false => high = middle,
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_values_are_below_as_often_as_the_table_says() {
        for (z, share) in [
            (0.0, 0.5),
            (1.0, 0.841_345),
            (-1.0, 0.158_655),
            (-1.96, 0.024_998),
        ] {
            let found = normal_below(z);
            assert!((found - share).abs() < 1e-6, "{z}: {found}");
        }
        assert_eq!(
            [normal_below(f64::INFINITY), normal_below(f64::NEG_INFINITY)],
            [1.0, 0.0]
        );
    }

    /// The printed tables, 5 % and 1 %.
    #[test]
    fn agrees_with_the_tables() {
        for (f, degrees, p) in [
            (161.4476, (1, 1), 0.05),
            (4.2565, (2, 9), 0.05),
            (3.3258, (5, 10), 0.05),
            (5.6363, (5, 10), 0.01),
            (1.7001, (24, 60), 0.05),
            (1.8307, (10, 1_000_000), 0.05),
        ] {
            let found = fisher(f, degrees);
            assert!((found / p - 1.0).abs() < 1e-3, "{f} {degrees:?}: {found}");
        }
        for (value, degrees, p) in [
            (3.8415, 1, 0.05),
            (5.9915, 2, 0.05),
            (18.3070, 10, 0.05),
            (124.3421, 100, 0.05),
            (6.6349, 1, 0.01),
        ] {
            let found = chi_squared(value, degrees);
            assert!((found / p - 1.0).abs() < 1e-4, "{value} {degrees}: {found}");
        }
    }

    #[test]
    fn normal_quantiles_are_the_printed_ones() {
        for (q, z) in [
            (0.5, 0.0),
            (0.9, 1.281_552),
            (0.99, 2.326_348),
            (0.999, 3.090_232),
        ] {
            assert!((normal_quantile(q) - z).abs() < 1e-5, "{q}");
        }
        assert!(normal_quantile(1.0) > 8.2);
    }

    #[test]
    fn ends() {
        assert_eq!(fisher(0.0, (3, 4)), 1.0);
        assert_eq!(fisher(f64::INFINITY, (3, 4)), 0.0);
        assert_eq!(chi_squared(0.0, 3), 1.0);
        assert_eq!(chi_squared(f64::INFINITY, 3), 0.0);
    }

    /// F with (2, d) degrees has the tail (1 + 2f/d)^(−d/2); χ² with 2 has e^(−x/2).
    #[test]
    fn small_tails_keep_their_digits() {
        for f in [0.3, 5.0, 80.0, 1e4] {
            let expected = (1.0 + 2.0 * f / 30.0_f64).powi(-15);
            assert!((fisher(f, (2, 30)) / expected - 1.0).abs() < 1e-11, "{f}");
        }
        let found = chi_squared(600.0, 2);
        assert!((found / f64::exp(-300.0) - 1.0).abs() < 1e-10);
    }
}
