//! Two series of delays side by side: are they different, by how much, and in which part of them?
//!
//! - Mann and Whitney's U and P(A < B), the effect size: the share of pairs in which B's value is the
//!   larger, ties counted by half;
//! - Kolmogorov and Smirnov's distance D, the largest distance of the two distribution functions;
//! - Wasserstein's distance W₁, the mean distance of the two quantile functions, in the unit of delay;
//! - shifts B − A of mean and quantiles, absolute and relative to A, with intervals from
//!   [`crate::comparison`], which knows what correlated packets and repeats are worth.
//!
//! p values are by permutation: both series are cut in blocks that hardly resemble each other (their
//! length from the autocorrelation time), the blocks are dealt to A and B at random, and p is the share
//! of deals as far apart. So p is right for correlated packets as long as blocks are exchangeable: a
//! series that drifts, or trials that each have a level of their own, are not, and make p too small;
//! the shifts' intervals allow for trials that differ. The z of U is the textbook's, for independent
//! values.
//!
//! False alarms at p ≤ 5 %: 4 to 9 % by simulation, of AR(1) series with φ up to 0.9
//! (`examples/two_samples.rs`).

mod crowding;
mod distances;
mod drift;
mod events;
mod levels;
mod permutation;
mod shift;
#[cfg(test)]
mod tests;

pub use drift::{Drift, median_within};
pub use levels::Levels;
pub use shift::{Apart, Series, Shift, shift, shifts};

use crate::functional::Functional;
use distances::Pooled;

/// Statistics whose shifts say most: mean, p5, p50, p90, p99 and p99.9. What a path takes without any queue shows at p5,
/// whatever the queues do to the others.
pub const SHIFTS: [Functional; 6] = [
    Functional::Mean,
    Functional::Quantile(0.05),
    Functional::Quantile(0.5),
    Functional::Quantile(0.9),
    Functional::Quantile(0.99),
    Functional::Quantile(0.999),
];

/// What differs between two series, A and B.
#[derive(Debug, Clone, PartialEq)]
pub struct TwoSamples {
    /// Values of A and of B.
    pub counts: (u64, u64),
    /// Mann and Whitney's test.
    pub mann_whitney: MannWhitney,
    /// Kolmogorov and Smirnov's D, 0 to 1.
    pub kolmogorov_smirnov: Distance,
    /// Wasserstein's W₁, in the unit of the values.
    pub wasserstein: Distance,
}

/// Mann and Whitney's test.
#[derive(Debug, Clone, PartialEq)]
pub struct MannWhitney {
    /// Pairs in which B's value is the larger, ties counted by half.
    pub u: f64,
    /// P(A < B), ties counted by half: U over the number of pairs. ½: neither tends to be larger.
    pub share_less: f64,
    /// U less its mean over its standard deviation for independent values, corrected for ties. `None`
    /// where all values are equal.
    pub z: Option<f64>,
    /// Two-sided, by permutation of blocks; why there is none.
    pub p: Result<f64, String>,
}

/// How far apart two distributions are.
#[derive(Debug, Clone, PartialEq)]
pub struct Distance {
    /// The distance.
    pub value: f64,
    /// What 95 % of deals of the same blocks stay below; `None` without a p value.
    pub by_chance: Option<f64>,
    /// By permutation of blocks; why there is none.
    pub p: Result<f64, String>,
    /// The smallest p that so many deals tell: of many values there are fewer. 1 without any.
    pub least_p: f64,
}

/// Wasserstein's W₁ of two samples in any order, in the unit of the values; NaN is left out. `None` where a
/// side has no value.
pub fn wasserstein(a: &[f64], b: &[f64]) -> Option<f64> {
    let pooled = Pooled::new(&[a], &[b]);
    let empty = pooled.counts.0 == 0 || pooled.counts.1 == 0;
    (!empty).then(|| pooled.distances(&pooled.sides()).mean)
}

/// Compares the values of two sides, each one or more series in order of time (its trials); NaN is a
/// packet without a value. The same values and seed give the same answer. What it assumes, and how often it
/// errs, stands at the head of this module.
///
/// Errors: a side has no value.
pub fn compare(a: &[&[f64]], b: &[&[f64]], seed: u64) -> Result<TwoSamples, String> {
    let pooled = Pooled::new(a, b);
    if pooled.counts.0 == 0 || pooled.counts.1 == 0 {
        return Err("a side without any value cannot be compared".to_owned());
    }
    let found = pooled.distances(&pooled.sides());
    let deals = permutation::deals(&pooled, a, b, seed);
    let p = |of: &dyn Fn(&distances::Distances) -> f64| {
        deals.as_ref().map_err(Clone::clone).map(|deals| {
            // A deal that is the same but for rounding is as far.
            let limit = of(&found) * (1.0 - 1e-12);
            let far = deals.iter().filter(|deal| of(deal) >= limit).count();
            (far + 1) as f64 / (deals.len() + 1) as f64
        })
    };
    let distance = |of: &dyn Fn(&distances::Distances) -> f64| {
        let each = deals.as_ref().ok();
        let mut each: Vec<f64> = each.into_iter().flatten().map(of).collect();
        Distance {
            value: of(&found),
            by_chance: Functional::Quantile(0.95).value(&mut each),
            p: p(of),
            least_p: 1.0 / (each.len() + 1) as f64,
        }
    };
    let pairs = pooled.counts.0 as f64 * pooled.counts.1 as f64;
    Ok(TwoSamples {
        counts: pooled.counts,
        mann_whitney: MannWhitney {
            u: found.share_less * pairs,
            share_less: found.share_less,
            z: pooled.z(found.share_less),
            p: p(&|distances| (distances.share_less - 0.5).abs()),
        },
        kolmogorov_smirnov: distance(&|distances| distances.largest),
        wasserstein: distance(&|distances| distances.mean),
    })
}
