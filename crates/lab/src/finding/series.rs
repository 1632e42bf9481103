//! A series as findings read it: its minimum, mean and maximum in stretches of equal length, and how long it had each
//! value.
//!
//! Because stretches have equal lengths, their plain mean is the mean over time. They are in the order of time, so an
//! interval is computed as for packets, where neighbours are correlated too (batch means). Quantiles, shares and
//! standard deviations cannot be computed from means, which hide anything shorter than a stretch. They are computed
//! from the values, weighted by how long each held; their spread comes from whole trials.

use super::dimension::Dimension;
use delaylab_model::Nanos;
use delaylab_model::plan::Unit;
use delaylab_model::series::{SeriesPoint, SeriesValue};
use delaylab_stats::functional::Basis;

/// Number of stretches in a trial: about the number of points that worlds keep.
const STRETCHES: usize = 1024;

/// Bits of an ATM cell on the link: 53 bytes.
pub(super) const CELL_BITS: f64 = 424.0;

/// Minimum, mean and maximum of a series in each stretch of a trial; NaN where it has no value.
#[derive(Debug, Clone, PartialEq)]
pub struct Stretches {
    /// Dimension of the values.
    pub dimension: Dimension,
    min: Vec<f64>,
    mean: Vec<f64>,
    max: Vec<f64>,
    /// Values in rising order, each with how long it held, nanoseconds.
    held: Vec<(f64, f64)>,
}

impl Stretches {
    /// Cuts one series of one trial. `points` are in the order of time; `values` say how long it had each value.
    /// Without `values`, the means of the points are used instead. `None` if the points have no length.
    pub fn new(points: &[SeriesPoint], values: &[SeriesValue]) -> Option<Self> {
        let (first, last) = (points.first()?, points.last()?);
        let begin = first.t as f64;
        let width = (last.t + last.length - first.t) as f64 / STRETCHES as f64;
        if width <= 0.0 {
            return None;
        }
        let mut sums = vec![Sum::default(); STRETCHES];
        for point in points {
            let from = (point.t as f64 - begin) / width;
            spread(&mut sums, from, from + point.length as f64 / width, point);
        }
        let scale = scale(first.unit);
        let each = |of: fn(&Sum) -> f64| sums.iter().map(|sum| of(sum) * scale).collect();
        Some(Self {
            dimension: first.unit.into(),
            min: each(|sum| sum.min),
            mean: each(|sum| sum.area / sum.length),
            max: each(|sum| sum.max),
            held: rising(points, values, scale),
        })
    }

    /// Values in rising order, each with how long it held, nanoseconds.
    pub(super) fn held(&self) -> &[(f64, f64)] {
        &self.held
    }

    /// The largest value in the trial; NaN if there is none.
    pub(super) fn peak(&self) -> f64 {
        self.max.iter().copied().fold(f64::NAN, f64::max)
    }

    /// The mean of each stretch.
    pub(super) fn means(&self) -> &[f64] {
        &self.mean
    }

    /// One value for each stretch, for a statistic that can be computed from these: its minimum, maximum or mean. `None`
    /// for any other, which depends on what a stretch hides.
    pub(super) fn values(&self, basis: &Basis) -> Option<Vec<f64>> {
        match basis {
            Basis::Smallest => Some(self.min.clone()),
            Basis::Largest => Some(self.max.clone()),
            Basis::Count | Basis::Mean => Some(self.mean.clone()),
            Basis::Deviations | Basis::Quantiles(_) | Basis::Share { .. } | Basis::Trials => None,
        }
    }
}

/// Each value of a series with how long it had it. Of one that was thinned the values are kept as well: those of its points are means.
pub fn held(points: &[SeriesPoint], values: &[SeriesValue]) -> Vec<(f64, Nanos)> {
    let kept = values.iter().map(|value| (value.value, value.length));
    let means = points.iter().map(|point| (point.mean, point.length));
    match values {
        [] => means.collect(),
        _ => kept.collect(),
    }
}

/// The same in rising order of the values, each times `scale`.
fn rising(points: &[SeriesPoint], values: &[SeriesValue], scale: f64) -> Vec<(f64, f64)> {
    let held = held(points, values).into_iter();
    let held = held.map(|(value, length)| (value * scale, length as f64));
    let mut held: Vec<(f64, f64)> = held.collect();
    held.retain(|(value, length)| !value.is_nan() && *length > 0.0);
    held.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    held
}

/// Factor that converts cells/s to bit/s, so that the two can be compared; 1 for other units.
fn scale(unit: Unit) -> f64 {
    match unit {
        Unit::CellsPerSecond => CELL_BITS,
        _ => 1.0,
    }
}

/// Sums over the points in one stretch: `area` is mean × length, and lengths are in stretches.
#[derive(Debug, Clone, Copy)]
struct Sum {
    min: f64,
    max: f64,
    area: f64,
    length: f64,
}

impl Default for Sum {
    fn default() -> Self {
        Self {
            min: f64::NAN,
            max: f64::NAN,
            area: 0.0,
            length: 0.0,
        }
    }
}

/// Adds a point to each stretch that it overlaps. `from` and `to`: its ends, in stretches.
fn spread(sums: &mut [Sum], from: f64, to: f64, point: &SeriesPoint) {
    let last = sums.len() - 1;
    for (index, sum) in sums
        .iter_mut()
        .enumerate()
        .take(last.min(to as usize) + 1)
        .skip(from as usize)
    {
        let (begin, end) = (index as f64, index as f64 + 1.0);
        let length = to.min(end) - from.max(begin);
        if length <= 0.0 {
            continue;
        }
        // `min` and `max` ignore NaN.
        sum.min = sum.min.min(point.min);
        sum.max = sum.max.max(point.max);
        sum.area += point.mean * length;
        sum.length += length;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn point(t: i64, length: i64, values: [f64; 3]) -> SeriesPoint {
        SeriesPoint {
            trial: 0,
            series: "acr".into(),
            of: "echo".into(),
            unit: Unit::CellsPerSecond,
            t,
            length,
            min: values[0],
            mean: values[1],
            max: values[2],
        }
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    #[test]
    fn the_mean_of_stretches_is_the_mean_over_time() {
        // Not a multiple of the stretches, and of unequal lengths.
        let points = [
            point(1000, 777, [0.0, 1.0, 9.0]),
            point(1777, 5001, [2.0, 3.0, 4.0]),
            point(6778, 10, [3.0, 50.0, 60.0]),
        ];
        let stretches = Stretches::new(&points, &[]).unwrap();
        let expected = (777.0 + 3.0 * 5001.0 + 500.0) / 5788.0 * CELL_BITS;
        let found = mean(stretches.means());
        assert!((found - expected).abs() < 1e-6 * expected, "{found}");
        let largest = stretches.values(&Basis::Largest).unwrap();
        assert_eq!(
            largest.iter().copied().fold(0.0, f64::max),
            60.0 * CELL_BITS
        );
        let least = stretches.values(&Basis::Smallest).unwrap();
        assert_eq!(least.iter().copied().fold(1.0, f64::min), 0.0);
        assert_eq!(stretches.peak(), 60.0 * CELL_BITS);
        assert_eq!(stretches.dimension, Dimension::RATE);
    }

    #[test]
    fn a_gap_has_no_value() {
        let points = [point(0, 1024, [1.0; 3]), point(3072, 1024, [1.0; 3])];
        let stretches = Stretches::new(&points, &[]).unwrap();
        let gaps = stretches.means().iter().filter(|mean| mean.is_nan());
        assert_eq!(gaps.count(), 512);
        assert_eq!(Stretches::new(&[], &[]), None);
    }
}
