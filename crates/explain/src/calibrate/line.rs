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

/// The line of these trials against size on the wire.
pub(super) fn of_trials(
    trials: &[&Trial],
    framing: Option<Framing>,
    statistic: Statistic,
    part: Part,
) -> Option<Line> {
    let framing = framing.unwrap_or(Framing::Ethernet);
    let size = |record: &Record| record.ip_size.map(|size| on_the_wire(framing, size));
    fit_statistic(trials, statistic, part, size)
}

/// The line of these trials against the size of the IP packet, which is what a host copies. What a byte costs is
/// nothing where it cannot be told from nothing.
pub(super) fn of_hosts(trials: &[&Trial], part: Part) -> Option<Line> {
    let line = fit_statistic(trials, Statistic::Median, part, |record| record.ip_size)?;
    let (low, _) = line
        .slope
        .interval
        .unwrap_or((line.slope.value, f64::INFINITY));
    if low > 0.0 { Some(line) } else { level(line) }
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

fn fit_statistic(
    trials: &[&Trial],
    statistic: Statistic,
    part: Part,
    size: impl Fn(&Record) -> Option<u32>,
) -> Option<Line> {
    let value = |values: Vec<i64>| {
        let q = match statistic {
            Statistic::Least => 0.0,
            Statistic::Median => 0.5,
        };
        Ranked::new(values).quantile(q).map(|&ns| ns as f64)
    };
    let (mut points, mut packets) = (Vec::new(), 0);
    for stream in trials.iter().flat_map(|trial| &trial.streams) {
        let mut sizes = BTreeMap::<u32, Vec<i64>>::new();
        for record in stream.records.iter().filter(|record| record.answered()) {
            if let (Some(size), Some(value)) = (size(record), part(stream, record)) {
                sizes.entry(size).or_default().push(value);
            }
        }
        sizes.retain(|_, values| values.len() >= PACKETS);
        packets += sizes.values().map(Vec::len).sum::<usize>();
        let each = sizes.into_iter();
        points.extend(each.filter_map(|(size, values)| Some((size, value(values)?))));
    }
    points.sort_by(|a: &(u32, f64), b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    through(points, packets)
}

/// The line through these points; none where all are of one size.
fn through(points: Vec<(u32, f64)>, packets: usize) -> Option<Line> {
    let (x, y): (Vec<f64>, Vec<f64>) = points
        .iter()
        .map(|&(size, ns)| (f64::from(size), ns))
        .unzip();
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
