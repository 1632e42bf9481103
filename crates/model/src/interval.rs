//! Where a value is with some probability, as documents have it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Two ends, between which the value is with some probability.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Lower end; null where nothing bounds it.
    pub low: Option<f64>,
    /// Upper end; null where nothing bounds it.
    pub high: Option<f64>,
    /// With this probability, 0 to 1: 0.95. Of a median that has no steady level the share of packets between them: 0.9 or 0.5.
    pub level: f64,
}

impl Interval {
    /// At 95 %, as all intervals here are.
    pub fn new(low: f64, high: f64) -> Self {
        let finite = |end: f64| end.is_finite().then_some(end);
        Self {
            low: finite(low),
            high: finite(high),
            level: 0.95,
        }
    }

    /// The same; `None` where nothing bounds either end.
    pub fn bounded(low: f64, high: f64) -> Option<Self> {
        (low.is_finite() || high.is_finite()).then(|| Self::new(low, high))
    }

    /// The same ends, between which there is this share of packets where that is what they are of.
    #[must_use]
    pub fn of_packets(self, share: Option<f64>) -> Self {
        Self {
            level: share.unwrap_or(self.level),
            ..self
        }
    }

    /// With both ends so, where they are known.
    #[must_use]
    pub fn map(self, end: fn(f64) -> f64) -> Self {
        Self {
            low: self.low.map(end),
            high: self.high.map(end),
            ..self
        }
    }

    /// Between these, where they are known.
    pub fn between(ends: Option<(f64, f64)>) -> Self {
        let (low, high) = ends.unwrap_or((f64::NAN, f64::NAN));
        Self::new(low, high)
    }
}
