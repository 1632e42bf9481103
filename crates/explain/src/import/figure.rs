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

impl Figure {
    /// What tools say and packets do not have, with its column in the table of trials.
    pub const OWN: [(Figure, &'static str); 4] = [
        (Figure::Jitter, "jitter_ns"),
        (Figure::Bytes, "transferred_bytes"),
        (Figure::Throughput, "throughput_bits_per_second"),
        (Figure::Retransmits, "retransmitted"),
    ];
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

/// What a peer printed of one stream. A figure that is `None` it did not print.
#[derive(Debug, Default)]
pub(super) struct PrintedSummary {
    pub figures: Vec<PrintedFigure>,
}

impl PrintedSummary {
    /// A figure in this unit.
    pub fn say(&mut self, what: Figure, number: Number, unit: Unit, printed: String) {
        self.figures.push(PrintedFigure {
            stream: 0,
            what,
            value: number.value,
            step: number.step,
            unit,
            printed,
            ours: None,
        });
    }

    /// A time.
    pub fn time(&mut self, what: Figure, time: impl Into<Option<Time>>, printed: String) {
        if let Some(Time { nanos, step }) = time.into() {
            let (value, step) = (nanos as f64, step as f64);
            self.say(what, Number { value, step }, Unit::Nanoseconds, printed);
        }
    }

    /// A statistic of its round trips.
    pub fn round_trip(
        &mut self,
        statistic: Statistic,
        time: impl Into<Option<Time>>,
        printed: String,
    ) {
        self.time(Figure::Of(Delay::RoundTrip, statistic), time, printed);
    }

    /// Statistics of its round trips as `0.1/0.6/1.0`, min/avg/max in milliseconds; false where one is no time.
    pub fn min_avg_max(&mut self, values: &str) -> bool {
        let words = [
            ("min", Statistic::Min),
            ("avg", Statistic::Mean),
            ("max", Statistic::Max),
        ];
        let each = words.into_iter().zip(values.split('/'));
        let times =
            each.map(|(word, value)| Some((word, value, decimal::time(value, MILLISECOND)?)));
        let Some(times) = times.collect::<Option<Vec<_>>>() else {
            return false;
        };
        for ((word, statistic), value, time) in times {
            self.round_trip(statistic, time, format!("{word} {value} ms"));
        }
        true
    }

    /// A number of packets or the like.
    pub fn count(&mut self, what: Figure, value: impl Into<Option<u64>>, printed: String) {
        let unit = match what {
            Figure::Bytes => Unit::Bytes,
            Figure::Retransmits => Unit::Number,
            _ => Unit::Packets,
        };
        if let Some(value) = value.into() {
            let (value, step) = (value as f64, 0.0);
            self.say(what, Number { value, step }, unit, printed);
        }
    }

    /// Such numbers, each behind its word.
    pub fn counts<const N: usize>(&mut self, counts: [(Figure, &str, Option<u64>); N]) {
        for (what, word, value) in counts {
            if let Some(value) = value {
                self.count(what, value, format!("{word} {value}"));
            }
        }
    }

    /// A share that was printed in per cent.
    pub fn percent(&mut self, what: Figure, share: impl Into<Option<Number>>, printed: String) {
        if let Some(Number { value, step }) = share.into() {
            let (value, step) = (value / 100.0, step / 100.0);
            self.say(what, Number { value, step }, Unit::Share, printed);
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
