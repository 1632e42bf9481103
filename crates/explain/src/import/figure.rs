//! What a peer's summary can say, in names of one meaning whatever the peer calls it.

use super::decimal::{self, Number, Time};
use delaylab_model::MILLISECOND;
use delaylab_model::plan::Unit;
use std::fmt;

/// A delay that peers summarise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delay {
    /// From sending to receiving.
    RoundTrip,
    /// The same, less what a stamping server took.
    WithoutServer,
    /// From sending to where the packet arrived, by both hosts' clocks.
    OneWay,
    /// Half of a round trip, which sockperf calls latency.
    HalfRoundTrip,
    /// To the server, by both hosts' clocks.
    Send,
    /// From the server, by both hosts' clocks.
    Receive,
    /// Within the server.
    Server,
    /// Difference of the round trips of two packets in a row, without its sign.
    Variation,
}

/// One number for many delays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Statistic {
    /// Smallest.
    Min,
    /// Arithmetic mean.
    Mean,
    /// Middle value.
    Median,
    /// Quantile, 0 to 1.
    Quantile(f64),
    /// Largest.
    Max,
    /// Standard deviation; by n or by n − 1 is the peer's choice.
    Deviation,
    /// The last one.
    Last,
}

/// `0.1/0.6/1.0`, as peers print min/avg/max in milliseconds: each, and with its word as printed. `None` where one is no time.
pub(super) fn min_avg_max(values: &str) -> Option<Vec<(Statistic, Time, String)>> {
    let words = [
        ("min", Statistic::Min),
        ("avg", Statistic::Mean),
        ("max", Statistic::Max),
    ];
    let each = words.into_iter().zip(values.split('/'));
    let each = each.map(|((word, statistic), value)| {
        let printed = format!("{word} {value} ms");
        Some((statistic, decimal::time(value, MILLISECOND)?, printed))
    });
    each.collect()
}

/// What a figure is about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Figure {
    /// Packets sent.
    Sent,
    /// Packets answered, or that arrived at a receiver.
    Received,
    /// Packets lost.
    Lost,
    /// Share of packets lost.
    LossShare,
    /// Replies beyond the first.
    Copies,
    /// Errors that came back, or that sending gave.
    Errors,
    /// Packets out of order.
    Reordered,
    /// A delay's statistic.
    Of(Delay, Statistic),
    /// Interarrival jitter (RFC 3550 §6.4.1).
    Jitter,
    /// Bytes carried.
    Bytes,
    /// Bits a second.
    Throughput,
    /// TCP segments sent again.
    Retransmits,
    /// How long it took.
    Duration,
}

/// A figure that the peer printed.
#[derive(Debug, Clone, PartialEq)]
pub struct PrintedFigure {
    /// Of which stream: an index of [`super::Imported::streams`].
    pub stream: usize,
    /// What it is.
    pub what: Figure,
    /// Its value.
    pub value: f64,
    /// The step in which it was printed: the value may be this much off.
    pub step: f64,
    /// What the value counts.
    pub unit: Unit,
    /// The peer's word for it and the value, as printed.
    pub printed: String,
    /// What its own packets give for it, by the peer's definition and in the same unit. `None`: the file has no
    /// samples for it, or not all that the peer counted.
    pub ours: Option<f64>,
}

impl PrintedFigure {
    /// A time, in nanoseconds.
    pub(super) fn time(stream: usize, what: Figure, time: Time, printed: String) -> Self {
        Self {
            stream,
            what,
            value: time.nanos as f64,
            step: time.step as f64,
            unit: Unit::Nanoseconds,
            printed,
            ours: None,
        }
    }

    /// A number of packets or the like.
    pub(super) fn count(stream: usize, what: Figure, value: u64, printed: String) -> Self {
        let unit = match what {
            Figure::Bytes => Unit::Bytes,
            Figure::Retransmits => Unit::Number,
            _ => Unit::Packets,
        };
        Self {
            stream,
            what,
            value: value as f64,
            step: 0.0,
            unit,
            printed,
            ours: None,
        }
    }

    /// A share that was printed in per cent.
    pub(super) fn percent(stream: usize, what: Figure, number: Number, printed: String) -> Self {
        Self {
            stream,
            what,
            value: number.value / 100.0,
            step: number.step / 100.0,
            unit: Unit::Share,
            printed,
            ours: None,
        }
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Delay::RoundTrip => "round trip",
            Delay::WithoutServer => "round trip without the server's time",
            Delay::OneWay => "one-way delay",
            Delay::HalfRoundTrip => "half round trip",
            Delay::Send => "send delay",
            Delay::Receive => "receive delay",
            Delay::Server => "server time",
            Delay::Variation => "delay variation",
        })
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Statistic::Min => f.write_str("minimum"),
            Statistic::Mean => f.write_str("mean"),
            Statistic::Median => f.write_str("median"),
            // 99.9 and not 99.90000000000001.
            Statistic::Quantile(q) => write!(f, "p{}", (q * 1e7).round() / 1e5),
            Statistic::Max => f.write_str("maximum"),
            Statistic::Deviation => f.write_str("standard deviation of the"),
            Statistic::Last => f.write_str("last"),
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Figure::Of(delay, statistic) => return write!(f, "{statistic} {delay}"),
            Figure::Sent => "sent",
            Figure::Received => "received",
            Figure::Lost => "lost",
            Figure::LossShare => "share lost",
            Figure::Copies => "copies",
            Figure::Errors => "errors",
            Figure::Reordered => "out of order",
            Figure::Jitter => "jitter",
            Figure::Bytes => "bytes",
            Figure::Throughput => "throughput",
            Figure::Retransmits => "retransmitted segments",
            Figure::Duration => "duration",
        })
    }
}
