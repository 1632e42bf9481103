//! The values of one measure: moments and batches always, the values themselves while they fit.

use crate::interval::{self, BatchMeans, Interval};
use crate::loglinear::LogLinear;
use crate::moments::Moments;
use crate::quantile::{Ranked, carries, trimmed_mean};
use delaylab_model::Nanos;

/// The distribution of one measure. Times in nanoseconds; sd with ddof 1; quantiles by the inverted
/// distribution function (nearest rank: the smallest value with at least q·n values at or below it).
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    /// How many values.
    pub count: u64,
    /// Smallest.
    pub min: Nanos,
    /// Arithmetic mean.
    pub mean: f64,
    /// Interval of the mean at 95 %, made for correlated data.
    pub mean_interval: Interval,
    /// Standard deviation; `None` under two values.
    pub sd: Option<f64>,
    /// p75 − p25.
    pub iqr: Nanos,
    /// Median.
    pub p50: Nanos,
    /// 90th percentile.
    pub p90: Nanos,
    /// 99th percentile.
    pub p99: Nanos,
    /// 99.9th percentile.
    pub p999: Nanos,
    /// Largest.
    pub max: Nanos,
    /// Interval of the median at 95 %.
    pub p50_interval: Interval,
    /// Interval of p99 at 95 %.
    pub p99_interval: Interval,
}

impl Distribution {
    /// p90, where there are enough values for one ([`carries`]).
    pub fn carried_p90(&self) -> Option<Nanos> {
        carries(self.count, 0.9).then_some(self.p90)
    }

    /// p99, where there are enough values for one.
    pub fn carried_p99(&self) -> Option<Nanos> {
        carries(self.count, 0.99).then_some(self.p99)
    }

    /// p99.9, where there are enough values for one.
    pub fn carried_p999(&self) -> Option<Nanos> {
        carries(self.count, 0.999).then_some(self.p999)
    }
}

/// What one pass keeps of a measure, exact and in flat memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    pub(crate) moments: Moments,
    batches: BatchMeans,
}

impl Tally {
    pub(crate) fn push(&mut self, value: Nanos) {
        self.moments.push(value);
        self.batches.push(value);
    }

    /// The distribution of the values pushed, which `values` holds; `None` without any.
    pub(crate) fn distribution(&self, values: &Values) -> Option<Distribution> {
        let (min, max) = (self.moments.min()?, self.moments.max()?);
        let mut order = values.order();
        let mut at = |q| order.quantile(q).map(|value: Nanos| value.clamp(min, max));
        let (p25, p75) = (at(0.25)?, at(0.75)?);
        Some(Distribution {
            count: self.moments.count(),
            min,
            mean: self.moments.mean()?,
            mean_interval: possible(self.batches.interval(&self.moments), min),
            sd: self.moments.sd(1),
            iqr: p75.wrapping_sub(p25),
            p50: at(0.5)?,
            p90: at(0.9)?,
            p99: at(0.99)?,
            p999: at(0.999)?,
            max,
            p50_interval: order.interval(0.5),
            p99_interval: order.interval(0.99),
        })
    }
}

/// A measure of which the values are kept, too, while they fit.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kept {
    tally: Tally,
    values: Values,
}

impl Kept {
    /// Adds a value; beyond `limit` of them, the values spill.
    pub(crate) fn push(&mut self, value: Nanos, limit: usize) {
        self.tally.push(value);
        self.values.push(value, limit);
    }

    /// `None` without any value.
    pub(crate) fn distribution(&self) -> Option<Distribution> {
        self.tally.distribution(&self.values)
    }

    pub(crate) const fn is_spilled(&self) -> bool {
        self.values.is_spilled()
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.values.heap_bytes()
    }
}

/// The interval of a mean, of a measure of which no value is negative without what is below zero.
fn possible(interval: Interval, min: Nanos) -> Interval {
    match interval {
        Interval::Known { low, high } if min >= 0 => Interval::Known {
            low: low.max(0.0),
            high,
        },
        other => other,
    }
}

/// Values in order of time, or, where they are too many, their log-linear histogram.
#[derive(Debug, Clone)]
pub(crate) enum Values {
    Exact(Vec<Nanos>),
    Spilled(LogLinear),
}

impl Default for Values {
    fn default() -> Self {
        Self::Exact(Vec::new())
    }
}

impl Values {
    /// Adds a value; beyond `limit` of them, spills.
    pub(crate) fn push(&mut self, value: Nanos, limit: usize) {
        match self {
            Values::Exact(values) if values.len() < limit => values.push(value),
            Values::Exact(values) => {
                let mut counts: LogLinear = values.iter().copied().collect();
                counts.push(value);
                *self = Values::Spilled(counts);
            }
            Values::Spilled(counts) => counts.push(value),
        }
    }

    pub(crate) const fn is_spilled(&self) -> bool {
        matches!(self, Values::Spilled(_))
    }

    /// Are they all there, and the same in the same order?
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        matches!((self, other), (Values::Exact(own), Values::Exact(others)) if own == others)
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            Values::Exact(values) => values.capacity() * size_of::<Nanos>(),
            Values::Spilled(counts) => counts.heap_bytes(),
        }
    }

    /// The mean of the smallest `share` of them; of a histogram, of the middles of its bins.
    pub(crate) fn trimmed_mean(&self, share: f64) -> Option<f64> {
        match self {
            Values::Exact(values) => {
                let mut values: Vec<f64> = values.iter().map(|&value| value as f64).collect();
                trimmed_mean(&mut values, share)
            }
            Values::Spilled(counts) => {
                let all: u64 = counts.iter().map(|(_, times)| times).sum();
                let kept = (all as f64 * share).round() as u64;
                let (mut left, mut sum) = (kept, 0.0);
                for (middle, times) in counts.iter() {
                    let times = times.min(left);
                    sum += middle as f64 * times as f64;
                    left -= times;
                }
                (kept > 0).then(|| sum / kept as f64)
            }
        }
    }

    /// These values, ready for quantiles.
    pub(crate) fn order(&self) -> Order<'_> {
        match self {
            Values::Exact(series) => Order::Exact(series, Ranked::new(series.clone())),
            Values::Spilled(counts) => Order::Spilled(counts),
        }
    }
}

/// Values in the order that quantiles need.
pub(crate) enum Order<'a> {
    Exact(&'a [Nanos], Ranked<Nanos>),
    Spilled(&'a LogLinear),
}

impl Order<'_> {
    pub(crate) fn quantile(&mut self, q: f64) -> Option<Nanos> {
        match self {
            Order::Exact(_, ranked) => ranked.quantile(q).copied(),
            Order::Spilled(counts) => counts.quantile(q),
        }
    }

    fn interval(&mut self, q: f64) -> Interval {
        match self {
            Order::Exact(series, ranked) => interval::of_quantile(series, ranked, q),
            Order::Spilled(_) => interval::refuse_spilled(),
        }
    }
}
