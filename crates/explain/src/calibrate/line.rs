//! A constant and a slope: what a packet costs, and what a byte.
//!
//! One value for each size of each stream, the least or the median of its packets, and the least squares line
//! through them. Both are robust: what disturbs a packet now and then only makes it later.

use super::run_trials::{ProbeStream, Trial};
use delaylab_model::Nanos;
use delaylab_model::path::Framing;
use delaylab_model::record::Record;
use delaylab_stats::least_squares::{self, Coefficient};
use delaylab_stats::quantile::Ranked;
use delaylab_topology::framing::wire;
use std::collections::BTreeMap;

/// Packets of a size in a stream that make their least or their median worth anything.
const PACKETS: usize = 20;

/// Half an interval of 95 % in standard deviations.
pub(super) const HALF: f64 = 1.96;

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
pub(super) type Part = fn(&ProbeStream, &Record) -> Option<i64>;

/// The line of these trials against size on the wire: of one probe, or of all.
pub(super) fn of_trials(
    trials: &[&Trial],
    framing: Framing,
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
    framing: Framing,
    part: Part,
) -> Vec<Point<'a>> {
    points(trials, Statistic::Least, |stream| {
        let answered = stream.records.iter().filter(|record| record.answered());
        let each = answered.filter_map(|record| {
            let size = on_the_wire(framing, record.ip_size?);
            Some((size, part(stream, record)?))
        });
        each.collect()
    })
}

/// From when to when a host had a packet to send, or to receive.
pub(super) type Work<'a> = &'a dyn Fn(&ProbeStream, &Record) -> Option<(Nanos, Nanos)>;

/// The lines of a host's two kinds of work in these trials, against the size of the IP packet, which is what a host copies.
pub(super) fn of_host(trials: &[&Trial], work: [Work<'_>; 2]) -> [Option<Line>; 2] {
    [0, 1].map(|kind| {
        let points = points(trials, Statistic::Median, |stream| {
            costs(stream, work, kind)
        });
        of_costs(through(&points)?)
    })
}

/// What a byte costs is nothing where it cannot be told from nothing.
fn of_costs(line: Line) -> Option<Line> {
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

/// The size of each packet of a stream, and what one kind of work on it cost: not what it waited for other work on packets of
/// this stream. The model has that wait, too.
fn costs(stream: &ProbeStream, work: [Work<'_>; 2], kind: usize) -> Vec<(u32, Nanos)> {
    let records = stream.records.iter().filter(|record| record.answered());
    let mut all = Vec::new();
    for record in records {
        for (at, work) in work.iter().enumerate() {
            if let Some((from, to)) = work(stream, record) {
                all.push((to, from, at, record.ip_size));
            }
        }
    }
    // In the order in which it was done.
    all.sort_unstable();
    let mut busy_until = Nanos::MIN;
    let mut costs = Vec::new();
    for (to, from, at, size) in all {
        if let Some(size) = size.filter(|_| at == kind) {
            costs.push((size, to - from.max(busy_until)));
        }
        busy_until = to;
    }
    costs
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
    Some(Line {
        constant: Estimate {
            value: 0.0,
            interval: line.constant.interval,
        },
        slope,
        farthest: farthest(&line.points, 0.0, slope.value),
        ..line
    })
}

/// The largest distance of a point from a line.
fn farthest(points: &[(u32, f64)], constant: f64, slope: f64) -> f64 {
    let off = |&(size, ns): &(u32, f64)| (ns - constant - slope * f64::from(size)).abs();
    points.iter().map(off).fold(0.0, f64::max)
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
    Some(Line {
        constant,
        slope: Estimate {
            value: 0.0,
            interval: line.slope.interval,
        },
        r2: 0.0,
        farthest: farthest(&line.points, constant.value, 0.0),
        ..line
    })
}

/// Bytes that an IP packet takes on a link.
pub(super) fn on_the_wire(framing: Framing, ip_size: u32) -> u32 {
    wire(framing, ip_size).total_bytes()
}

/// What stands for the packets of one size in one stream.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point<'a> {
    pub(super) probe: &'a str,
    pub(super) size: u32,
    pub(super) ns: f64,
    packets: usize,
}

/// `values` of a stream: of each packet its size, and nanoseconds.
fn points<'a>(
    trials: &[&'a Trial],
    statistic: Statistic,
    values: impl Fn(&ProbeStream) -> Vec<(u32, Nanos)>,
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
        for (size, value) in values(stream) {
            sizes.entry(size).or_default().push(value);
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
    Some(Line {
        constant,
        slope,
        r2: fit.r2,
        farthest: farthest(&points, constant.value, slope.value),
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
    use delaylab_model::method::Method;
    use delaylab_model::record::Outcome;
    use delaylab_model::trial::RecordFacts;

    fn fitted(points: &[(u32, f64)]) -> Line {
        let each = points.iter().map(|&(size, ns)| Point {
            probe: "echo",
            size,
            ns,
            packets: PACKETS,
        });
        physical(through(&each.collect::<Vec<_>>()).unwrap()).unwrap()
    }

    /// Four packets that come together and are received one after the other; a reply is sent while the second is waiting.
    #[test]
    fn what_packets_wait_for_each_other_is_no_cost() {
        let at = |n: i64| Record {
            t_send: Some(0),
            t_tx: Some(1),
            t_rx: Some(100),
            t_recv: Some(100 + 10 * n),
            ip_size: Some(60),
            outcome: Outcome::Ok,
            ..Record::due(0, 0, 0, Method::Udp, 0)
        };
        let mut records: Vec<Record> = [1, 3, 4, 9].map(at).to_vec();
        (records[1].t_send, records[1].t_tx) = (Some(105), Some(120));
        let stream = ProbeStream {
            probe: "echo".to_owned(),
            method: Method::Udp,
            facts: RecordFacts::default(),
            warmup: 0,
            records,
        };
        let work: [Work<'_>; 2] = [
            &|_, record| Some((record.t_send?, record.t_tx?)),
            &|_, record| Some((record.t_rx?, record.t_recv?)),
        ];
        let of = |kind| costs(&stream, work, kind).into_iter().map(|(_, ns)| ns);
        assert_eq!(of(0).collect::<Vec<_>>(), [1, 0, 0, 10]);
        assert_eq!(of(1).collect::<Vec<_>>(), [10, 10, 10, 50]);
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
