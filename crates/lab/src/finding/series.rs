//! A series as a finding reads it: cut into stretches of equal length, and for how long it had each value.
//!
//! Equal lengths make the plain mean of stretches the mean over time, and values in the order of time
//! let an interval be made as for packets, whose neighbours resemble each other, too (batch means). Of means no quantile
//! of the series can be told: what is shorter than a stretch is not in them. Quantiles, shares and deviations are of
//! the values themselves, weighted by how long they held; how much these vary, whole trials tell.

use super::dimension::Dimension;
use delaylab_model::plan::Unit;
use delaylab_model::series::{SeriesPoint, SeriesValue};
use delaylab_stats::functional::Functional;

/// Stretches of a trial: about as many as worlds keep points of it.
const STRETCHES: usize = 1024;

/// Bits of an ATM cell on its link.
pub(super) const CELL_BITS: f64 = 424.0;

/// What a series was in each stretch of a trial; NaN where it was not there.
#[derive(Debug, Clone, PartialEq)]
pub struct Stretches {
    /// What its values count.
    pub dimension: Dimension,
    min: Vec<f64>,
    mean: Vec<f64>,
    max: Vec<f64>,
    /// Values in their order, and for how long.
    held: Vec<(f64, f64)>,
}

impl Stretches {
    /// Of the points of one series of one trial, in their order, and of what it had for how long; `None` without any
    /// points. Where no world kept the values, the means of its points stand for them.
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
            held: held(points, values, scale),
        })
    }

    /// Values in their order, and for how long.
    pub(super) fn held(&self) -> &[(f64, f64)] {
        &self.held
    }

    /// The largest value that it had; NaN where it had none.
    pub(super) fn peak(&self) -> f64 {
        self.max.iter().copied().fold(f64::NAN, f64::max)
    }

    /// The values that a statistic is of: the least and the largest of a stretch are no means.
    pub(super) fn values(&self, functional: Functional) -> Vec<f64> {
        match functional {
            Functional::Min => self.min.clone(),
            Functional::Max => self.max.clone(),
            _ => self.mean.clone(),
        }
    }
}

fn held(points: &[SeriesPoint], values: &[SeriesValue], scale: f64) -> Vec<(f64, f64)> {
    let kept = values.iter().map(|value| (value.value, value.length));
    let means = points.iter().map(|point| (point.mean, point.length));
    let mut held: Vec<(f64, f64)> = if values.is_empty() {
        means
            .map(|(value, length)| (value * scale, length as f64))
            .collect()
    } else {
        kept.map(|(value, length)| (value * scale, length as f64))
            .collect()
    };
    held.retain(|(value, length)| !value.is_nan() && *length > 0.0);
    held.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    held
}

/// Rates of cells are held against rates of bits.
fn scale(unit: Unit) -> f64 {
    match unit {
        Unit::CellsPerSecond => CELL_BITS,
        _ => 1.0,
    }
}

/// What fell into a stretch.
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

/// Adds a point that reaches from `from` to `to`, in stretches, to each that it touches.
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
        // NaN gives way to any value.
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
        let found = mean(&stretches.values(Functional::Mean));
        assert!((found - expected).abs() < 1e-6 * expected, "{found}");
        let largest = stretches.values(Functional::Max);
        assert_eq!(
            largest.iter().copied().fold(0.0, f64::max),
            60.0 * CELL_BITS
        );
        let least = stretches.values(Functional::Min);
        assert_eq!(least.iter().copied().fold(1.0, f64::min), 0.0);
        assert_eq!(stretches.peak(), 60.0 * CELL_BITS);
        assert_eq!(stretches.dimension, Dimension::RATE);
    }

    #[test]
    fn a_gap_has_no_value() {
        let points = [point(0, 1024, [1.0; 3]), point(3072, 1024, [1.0; 3])];
        let means = Stretches::new(&points, &[])
            .unwrap()
            .values(Functional::Mean);
        assert_eq!(means.iter().filter(|mean| mean.is_nan()).count(), 512);
        assert_eq!(Stretches::new(&[], &[]), None);
    }
}
