//! How much the number of a size errs.

use crate::functional::Functional;

/// Delays are whole nanoseconds: there is nothing to explain below this variance.
pub(super) const RESOLUTION: f64 = 1.0 / 12.0;
/// Standard deviation of normal values whose median size is 1.
const NORMAL_SD: f64 = 1.4826;

/// Standard deviation of normal values about zero, by the median of their sizes: outliers do not move it. 0 without values.
pub(super) fn normal_sd(sizes: &mut [f64]) -> f64 {
    Functional::Quantile(0.5).value(sizes).unwrap_or(0.0) * NORMAL_SD
}

/// Standard deviation of a size's number by the median difference of neighbours on the same level, which
/// a jump does not move.
pub(super) fn between_neighbours(sizes: &[f64], delays: &[f64], column: &[f64], slope: f64) -> f64 {
    let rest: Vec<f64> = sizes
        .iter()
        .zip(delays)
        .map(|(x, y)| y - slope * x)
        .collect();
    let pairs = rest.windows(2).zip(column.windows(2));
    let alike = pairs.filter(|(_, levels)| levels[0] == levels[1]);
    let mut differences: Vec<f64> = alike.map(|(rest, _)| (rest[1] - rest[0]).abs()).collect();
    // A difference has the noise of two.
    (normal_sd(&mut differences) / std::f64::consts::SQRT_2).max(RESOLUTION.sqrt())
}
