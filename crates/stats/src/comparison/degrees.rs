//! Degrees of freedom of a variance that is the sum of others.

/// Of variances with their degrees of freedom, which are independent (Satterthwaite 1946): where one of them is most of
/// the sum, hardly more than its own. Infinite where nothing varies.
pub(super) fn of_sum(parts: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (mut variance, mut squares) = (0.0, 0.0);
    for (part, degrees) in parts.filter(|(part, _)| *part > 0.0) {
        variance += part;
        squares += part * part / degrees;
    }
    match squares > 0.0 {
        true => variance * variance / squares,
        false => f64::INFINITY,
    }
}

/// In whole ones, with what rounding took away.
pub(super) fn whole(degrees: f64) -> u32 {
    (degrees + 1e-6).max(1.0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_noisiest_part_counts_most() {
        let of = |parts: &[(f64, f64)]| of_sum(parts.iter().copied());
        assert_eq!(of(&[(1.0, 4.0), (1.0, 4.0)]), 8.0);
        assert!((of(&[(1.0, 4.0), (0.01, 2000.0)]) - 4.08).abs() < 0.01);
        assert_eq!(of(&[(1.0, 4.0), (1.0, f64::INFINITY)]), 16.0);
        assert_eq!(of(&[(0.0, 0.0), (1.0, f64::INFINITY)]), f64::INFINITY);
        assert_eq!(of(&[(1.0, 0.0), (1.0, 5.0)]), 0.0);
        assert_eq!((whole(7.0 - 1e-9), whole(0.3)), (7, 1));
    }
}
