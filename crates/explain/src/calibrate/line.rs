//! A constant and a slope: what a packet costs, and what a byte.
//!
//! One value for each size of each stream, the least or the median of its packets, and the least squares line
//! through them. Both are robust: what disturbs a packet now and then only makes it later.

use super::run_trials::{Stream, Trial};
use delaylab_model::path::Framing;
use delaylab_model::record::Record;
use delaylab_stats::least_squares::{self, Coefficient};
use delaylab_stats::quantile::Ranked;
use delaylab_topology::framing::wire;
use std::collections::BTreeMap;

/// Packets of a size in a stream that make their least or their median worth anything.
const PACKETS: usize = 20;

/// A figure, and where it is with 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// `None`: too few observations to say.
    pub interval: Option<(f64, f64)>,
}

impl Estimate {
    pub(super) fn from_coefficient(coefficient: &Coefficient) -> Self {
        Self {
            value: coefficient.value,
            interval: coefficient.inference.map(|found| found.interval),
        }
    }
}

/// `constant + slope · size`, in nanoseconds and bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Nanoseconds of a packet without any bytes.
    pub constant: Estimate,
    /// Nanoseconds a byte.
    pub slope: Estimate,
    /// Share of the variation that the line explains.
    pub r2: f64,
    /// The largest distance of a point from the line, in nanoseconds.
    pub farthest: f64,
    /// Sizes and values, by size.
    pub points: Vec<(u32, f64)>,
    /// Packets behind the points.
    pub packets: usize,
}

/// What stands for the packets of a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistic {
    /// What nothing disturbed.
    Least,
    /// What is usual.
    Median,
}

/// What of a record is a function of its size: nanoseconds.
pub(super) type Part = fn(&Stream, &Record) -> Option<i64>;

/// The line of these trials against size on the wire: of one probe, or of all.
pub(super) fn of_trials(
    trials: &[&Trial],
    framing: Option<Framing>,
    probe: Option<&str>,
    part: Part,
) -> Option<Line> {
    let mut points = points_on_the_wire(trials, framing, part);
    points.retain(|point| probe.is_none_or(|probe| point.probe == probe));
    physical(through(&points)?)
}

/// The least of each size on the wire of each stream.
pub(super) fn points_on_the_wire<'a>(
    trials: &[&'a Trial],
    framing: Option<Framing>,
    part: Part,
) -> Vec<Point<'a>> {
    let framing = framing.unwrap_or(Framing::Ethernet);
    let size = |record: &Record| record.ip_size.map(|size| on_the_wire(framing, size));
    points(trials, Statistic::Least, part, size)
}

/// The line of these trials against the size of the IP packet, which is what a host copies. What a byte costs is
/// nothing where it cannot be told from nothing.
pub(super) fn of_hosts(trials: &[&Trial], part: Part) -> Option<Line> {
    let points = points(trials, Statistic::Median, part, |record| record.ip_size);
    let line = through(&points)?;
    let (low, _) = line
        .slope
        .interval
        .unwrap_or((line.slope.value, f64::INFINITY));
    if low > 0.0 {
        physical(line)
    } else {
        level(line)
    }
}

/// No delay is negative, and no larger packet takes less: where the fit says so, that part of it is nothing.
fn physical(mut line: Line) -> Option<Line> {
    if line.slope.value < 0.0 {
        line = level(line)?;
        line.constant.value = line.constant.value.max(0.0);
    }
    if line.constant.value < 0.0 {
        proportional(line)
    } else {
        Some(line)
    }
}

/// The same points without a constant.
fn proportional(line: Line) -> Option<Line> {
    let (x, y): (Vec<f64>, Vec<f64>) = unzipped(&line.points);
    let fit = least_squares::least_squares(std::slice::from_ref(&x), &y).ok()?;
    let slope = Estimate::from_coefficient(&fit.coefficients[0]);
    let off = x.iter().zip(&y).map(|(x, y)| (y - slope.value * x).abs());
    Some(Line {
        constant: Estimate {
            value: 0.0,
            interval: line.constant.interval,
        },
        slope,
        farthest: off.fold(0.0, f64::max),
        ..line
    })
}

fn unzipped(points: &[(u32, f64)]) -> (Vec<f64>, Vec<f64>) {
    let each = points.iter().map(|&(size, ns)| (f64::from(size), ns));
    each.unzip()
}

/// The same points without a slope.
fn level(line: Line) -> Option<Line> {
    let values: Vec<f64> = line.points.iter().map(|point| point.1).collect();
    let fit = least_squares::least_squares(&[vec![1.0; values.len()]], &values).ok()?;
    let constant = Estimate::from_coefficient(&fit.coefficients[0]);
    let off = values.iter().map(|value| (value - constant.value).abs());
    Some(Line {
        constant,
        slope: Estimate {
            value: 0.0,
            interval: line.slope.interval,
        },
        r2: 0.0,
        farthest: off.fold(0.0, f64::max),
        ..line
    })
}

/// Bytes that an IP packet takes on a link.
pub(super) fn on_the_wire(framing: Framing, ip_size: u32) -> u32 {
    let wire = wire(framing, ip_size);
    wire.units * wire.bytes
}

/// What stands for the packets of one size in one stream.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point<'a> {
    pub(super) probe: &'a str,
    pub(super) size: u32,
    pub(super) ns: f64,
    packets: usize,
}

fn points<'a>(
    trials: &[&'a Trial],
    statistic: Statistic,
    part: Part,
    size: impl Fn(&Record) -> Option<u32>,
) -> Vec<Point<'a>> {
    let value = |values: Vec<i64>| {
        let q = match statistic {
            Statistic::Least => 0.0,
            Statistic::Median => 0.5,
        };
        Ranked::new(values).quantile(q).map(|&ns| ns as f64)
    };
    let mut points = Vec::new();
    for stream in trials.iter().flat_map(|trial| &trial.streams) {
        let mut sizes = BTreeMap::<u32, Vec<i64>>::new();
        for record in stream.records.iter().filter(|record| record.answered()) {
            if let (Some(size), Some(value)) = (size(record), part(stream, record)) {
                sizes.entry(size).or_default().push(value);
            }
        }
        sizes.retain(|_, values| values.len() >= PACKETS);
        points.extend(sizes.into_iter().filter_map(|(size, values)| {
            Some(Point {
                probe: &stream.probe,
                size,
                packets: values.len(),
                ns: value(values)?,
            })
        }));
    }
    points.sort_by(|a, b| a.size.cmp(&b.size).then(a.ns.total_cmp(&b.ns)));
    points
}

/// The line through these points; none where all are of one size.
fn through(points: &[Point<'_>]) -> Option<Line> {
    let packets = points.iter().map(|point| point.packets).sum();
    let points: Vec<(u32, f64)> = points.iter().map(|point| (point.size, point.ns)).collect();
    let (x, y) = unzipped(&points);
    let fit = least_squares::line(&x, &y).ok()?;
    let [constant, slope] = [0, 1].map(|at| Estimate::from_coefficient(&fit.coefficients[at]));
    let off = x
        .iter()
        .zip(&y)
        .map(|(x, y)| (y - constant.value - slope.value * x).abs());
    Some(Line {
        constant,
        slope,
        r2: fit.r2,
        farthest: off.fold(0.0, f64::max),
        points,
        packets,
    })
}

impl Line {
    /// How many sizes there are.
    pub fn sizes(&self) -> usize {
        let mut sizes: Vec<u32> = self.points.iter().map(|point| point.0).collect();
        sizes.dedup();
        sizes.len()
    }

    /// Its value at a size.
    pub fn at(&self, size: f64) -> f64 {
        self.constant.value + self.slope.value * size
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn fitted(points: &[(u32, f64)]) -> Line {
        let each = points.iter().map(|&(size, ns)| Point {
            probe: "echo",
            size,
            ns,
            packets: PACKETS,
        });
        physical(through(&each.collect::<Vec<_>>()).unwrap()).unwrap()
    }

    #[test]
    fn nothing_is_faster_than_at_once() {
        let falling = fitted(&[(102, 60_000.0), (102, 700.0), (738, 650.0), (1438, 600.0)]);
        assert!(
            falling.slope.value == 0.0 && falling.constant.value > 0.0,
            "{falling:?}"
        );
        let steep = fitted(&[(102, 100.0), (738, 3_000.0), (1438, 7_000.0)]);
        assert!(steep.constant.value == 0.0, "{steep:?}");
        assert!((4.0..5.0).contains(&steep.slope.value), "{steep:?}");
        assert_eq!((steep.sizes(), steep.packets), (3, 3 * PACKETS));
    }
}
