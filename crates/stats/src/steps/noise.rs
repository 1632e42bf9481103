//! How much the number of a size errs.

use crate::functional::Functional;

/// Delays are whole nanoseconds: there is nothing to explain below this variance.
pub(super) const RESOLUTION: f64 = 1.0 / 12.0;
/// What lies further from a model than this many standard deviations is not noise.
pub(super) const FAR_OUT: f64 = 3.0;
/// Standard deviation of normal values whose median size is 1.
const NORMAL_SD: f64 = 1.4826;

/// Standard deviation of normal values about zero, by the median of their sizes: outliers do not move it. 0 without values.
pub(super) fn normal_sd(sizes: &mut [f64]) -> f64 {
    Functional::Quantile(0.5).value(sizes).unwrap_or(0.0) * NORMAL_SD
}

/// These delays, in the order of their sizes, where a size that lies far from its neighbours on both sides is brought to
/// their median. A jump stays where it is: the median of five keeps it (Hampel's filter).
pub(super) fn less_spikes(delays: &[f64]) -> Vec<f64> {
    let differences = delays.windows(2).map(|pair| (pair[1] - pair[0]).abs());
    let noise = normal_sd(&mut differences.collect::<Vec<f64>>()) / std::f64::consts::SQRT_2;
    let mut all = delays.to_vec();
    for (index, five) in delays.windows(5).enumerate() {
        let mut sorted = [five[0], five[1], five[2], five[3], five[4]];
        sorted.sort_by(f64::total_cmp);
        if (five[2] - sorted[2]).abs() > FAR_OUT * noise {
            all[index + 2] = sorted[2];
        }
    }
    all
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
