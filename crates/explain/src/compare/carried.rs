//! The stages that the shift of a quantile is made of: the anatomy at that quantile, B less A.
//!
//! Quantiles of stages do not add up; the means of the stages over the records around a quantile do. Where a run cannot tell two
//! stages apart, they are one here.

use delaylab_model::units::{format_duration_f64, format_share};
use delaylab_stats::anatomy::{Part, StageSet, in_common};
use delaylab_stats::summary::{AnatomyAt, Summary};
use std::ops::Range;

/// A share of the difference below this is not worth a word. Chosen by hand, as the next one.
const MIN_NAMED_SHARE: f64 = 0.1;
/// A share above this is all of it.
const SHARE_OF_ALL: f64 = 0.95;
/// A share above this is more than all: other stages make up for what is beyond.
const MORE_THAN_ALL: f64 = 2.0 - SHARE_OF_ALL;
/// Records around a quantile move as it does if they move by its shift times this. Chosen by hand: beyond, their stages are those of
/// other packets.
const MOVES_ALIKE: Range<f64> = 0.5..2.0;
/// More stages are not named.
const MAX_NAMED_STAGES: usize = 3;

/// The anatomy at a quantile in both runs, in the stages that both tell apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Carried {
    /// `mean`, `p50`, `p90`, `p99`, `p99.9`.
    pub at: &'static str,
    /// Mean response of the records around it, in A and in B.
    pub response_ns: [f64; 2],
    /// How many records.
    pub records: [u64; 2],
    /// Each stage in A and in B; they add up to the responses.
    pub stages: Vec<[Part; 2]>,
}

impl Carried {
    fn between(a: &AnatomyAt, b: &AnatomyAt) -> Self {
        Self {
            at: a.label,
            response_ns: [a.response_ns, b.response_ns],
            records: [a.records, b.records],
            stages: in_common(&a.parts, &b.parts),
        }
    }

    /// B less A.
    pub fn difference(&self) -> f64 {
        self.response_ns[1] - self.response_ns[0]
    }

    /// The stages in the order of their share of the difference, the largest first; none where there is no
    /// difference, or nothing is told apart.
    pub fn shares(&self) -> Vec<(StageSet, f64)> {
        let whole = self.difference();
        if whole == 0.0 || self.stages.len() < 2 {
            return Vec::new();
        }
        let share = |[a, b]: &[Part; 2]| (a.stages, (b.ns - a.ns) / whole);
        let mut shares: Vec<_> = self.stages.iter().map(share).collect();
        shares.sort_by(|a, b| b.1.total_cmp(&a.1));
        shares
    }

    /// Do the records around the quantile move as it does, by `shift`?
    pub(super) fn moves_by(&self, shift: f64) -> bool {
        MOVES_ALIKE.contains(&(self.difference() / shift))
    }

    /// `80 % of that is in the local queue`; empty where there is nothing to say.
    pub(super) fn words(&self, shift: f64) -> String {
        let shares = self.shares();
        let Some(&(first, largest)) = shares.first() else {
            return String::new();
        };
        if largest > MORE_THAN_ALL {
            let longer = ["shorter", "longer"][usize::from(shift > 0.0)];
            let other = ["longer", "shorter"][usize::from(shift > 0.0)];
            let ns = format_duration_f64((largest * self.difference()).abs());
            return format!("the {first} is {ns} {longer}, other stages are {other}");
        }
        if largest >= SHARE_OF_ALL {
            return format!("all of that is in the {first}");
        }
        let worth = shares
            .iter()
            .filter(|(_, share)| *share >= MIN_NAMED_SHARE)
            .take(MAX_NAMED_STAGES);
        let each: Vec<_> = worth
            .map(|(stages, share)| format!("{} in the {stages}", format_share(*share)))
            .collect();
        each.join(", ").replacen(" %", " % of that is", 1)
    }
}

/// At the mean and at each quantile that both have.
pub(super) fn at_every_quantile(a: &Summary, b: &Summary) -> Vec<Carried> {
    let mean = a.mean_anatomy.iter().zip(&b.mean_anatomy);
    let mean = mean.map(|(a, b)| Carried::between(a, b));
    let same = |a: &&AnatomyAt| b.anatomy.iter().find(|b| b.label == a.label);
    let quantiles = a.anatomy.iter().filter(|at| at.label != "max");
    let quantiles = quantiles.filter_map(|a| Some(Carried::between(a, same(&a)?)));
    mean.chain(quantiles).collect()
}
