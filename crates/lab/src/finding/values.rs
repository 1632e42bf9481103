//! The values of a measure in one stream, or why there are none.

use super::series::Stretches;

/// The values of a measure in one stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// One for each packet in order of sequence; NaN for a packet without a value. All measures of a stream
    /// have the same length, so that values of the same packet have the same index.
    Packets(Vec<f64>),
    /// A histogram: the lower end of each bin, rising, and its number of values. The order in time is unknown.
    Counted(Vec<(f64, u64)>),
    /// Values of a series and how long each held. Only the means of stretches keep the order in time.
    Held {
        /// Values in rising order, each with how long it held, nanoseconds.
        values: Vec<(f64, f64)>,
        /// Mean of each stretch, in the order of time; NaN where the series has no value.
        means: Vec<f64>,
    },
    /// One for the whole trial.
    Trial(f64),
    /// A series over time.
    OverTime(Stretches),
}

/// Why a measure is not available, as a clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeasureUnavailable(pub String);
