//! A constant and a slope: what a packet costs, and what a byte.
//!
//! One value for each size, the least or the median of its packets, and the least squares line through
//! them. Both are robust: what disturbs a packet now and then only makes it later.

use super::seen::{Stream, Trial};
use delaylab_model::path::Framing;
use delaylab_model::record::Record;
use delaylab_sim::network::wire;
use delaylab_stats::least_squares::{self, Coefficient};
use delaylab_stats::quantile::Ranked;
use std::collections::BTreeMap;

/// Packets of a size that make its least or its median worth anything.
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
    pub(super) fn of(coefficient: &Coefficient) -> Self {
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
    /// The largest distance of a size from the line, in nanoseconds.
    pub farthest: f64,
    /// Each size and its value.
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
    of(trials, statistic, part, size)
}

/// The line of these trials against the size of the IP packet, which is what a host copies.
pub(super) fn of_hosts(trials: &[&Trial], part: Part) -> Option<Line> {
    of(trials, Statistic::Median, part, |record| record.ip_size)
}

/// Bytes that an IP packet takes on a link.
pub(super) fn on_the_wire(framing: Framing, ip_size: u32) -> u32 {
    let wire = wire(framing, ip_size);
    wire.units * wire.bytes
}

fn of(
    trials: &[&Trial],
    statistic: Statistic,
    part: Part,
    size: impl Fn(&Record) -> Option<u32>,
) -> Option<Line> {
    let mut sizes = BTreeMap::<u32, Vec<i64>>::new();
    for stream in trials.iter().flat_map(|trial| &trial.streams) {
        for record in stream.records.iter().filter(|record| record.answered()) {
            if let (Some(size), Some(value)) = (size(record), part(stream, record)) {
                sizes.entry(size).or_default().push(value);
            }
        }
    }
    sizes.retain(|_, values| values.len() >= PACKETS);
    let packets = sizes.values().map(Vec::len).sum();
    let value = |values: Vec<i64>| {
        let q = match statistic {
            Statistic::Least => 0.0,
            Statistic::Median => 0.5,
        };
        Ranked::new(values).quantile(q).map(|&ns| ns as f64)
    };
    let points = sizes.into_iter();
    let points = points.filter_map(|(size, values)| Some((size, value(values)?)));
    through(points.collect(), packets)
}

/// The line through these points; none where all are of one size.
fn through(points: Vec<(u32, f64)>, packets: usize) -> Option<Line> {
    let (x, y): (Vec<f64>, Vec<f64>) = points
        .iter()
        .map(|&(size, ns)| (f64::from(size), ns))
        .unzip();
    let fit = least_squares::line(&x, &y).ok()?;
    let [constant, slope] = [0, 1].map(|at| Estimate::of(&fit.coefficients[at]));
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
    /// Its value at a size.
    pub fn at(&self, size: f64) -> f64 {
        self.constant.value + self.slope.value * size
    }
}
