//! A distribution in five numbers.

use delaylab_model::Nanos;
use delaylab_stats::quantile::Ranked;
use schemars::JsonSchema;
use serde::Serialize;

/// Count, extremes and quantiles, in nanoseconds. Quantiles are values that occurred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Spread {
    /// How many.
    pub count: usize,
    /// The least.
    #[serde(rename = "min_ns")]
    pub min: Nanos,
    /// The median.
    #[serde(rename = "p50_ns")]
    pub p50: Nanos,
    /// The 99th percentile.
    #[serde(rename = "p99_ns")]
    pub p99: Nanos,
    /// The greatest.
    #[serde(rename = "max_ns")]
    pub max: Nanos,
}

impl Spread {
    /// Of these values; `None` of none.
    pub fn new(values: Vec<Nanos>) -> Option<Self> {
        let mut ranked = Ranked::new(values);
        let count = ranked.len();
        let mut at = |q| ranked.quantile(q).copied();
        Some(Self {
            count,
            min: at(0.0)?,
            p50: at(0.5)?,
            p99: at(0.99)?,
            max: at(1.0)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_values() {
        let spread = Spread::new((1..=100).rev().collect());
        assert_eq!(
            spread,
            Some(Spread {
                count: 100,
                min: 1,
                p50: 50,
                p99: 99,
                max: 100
            })
        );
        assert_eq!(Spread::new(Vec::new()), None);
    }
}
