//! Do all probes have the same lines?
//!
//! One minimum delay is taken for all of them, and it says when each packet came to the bottleneck. Two probes that take
//! differently long at one size have different lines to it, or behind it, and that is not known of any then.

use super::line::{self, Part, Point};
use super::run_trials::Trial;
use delaylab_model::MICROSECOND;
use delaylab_model::path::Framing;
use std::collections::{BTreeMap, BTreeSet};

/// Minimum delays that differ by less than this share, or by less than this many nanoseconds, are those of one path.
const SHARE: f64 = 0.1;
const LEAST: f64 = 10.0 * MICROSECOND as f64;

/// Two probes whose minimum delays differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Differing {
    /// The probe whose lines stand for all: that of most sizes.
    pub taken: String,
    /// Their names.
    pub probes: [String; 2],
    /// The size on the wire at which they differ.
    pub size: u32,
    /// What they take at that size, in nanoseconds.
    pub takes: [f64; 2],
}

impl Differing {
    /// `None` where all probes of these trials may have one path.
    pub(super) fn find(trials: &[&Trial], framing: Framing, part: Part) -> Option<Self> {
        let points = line::points_on_the_wire(trials, framing, part);
        let mut sizes = BTreeMap::<u32, BTreeMap<&str, Vec<f64>>>::new();
        for point in &points {
            let probes = sizes.entry(point.size).or_default();
            probes.entry(point.probe).or_default().push(point.ns);
        }
        let (size, [a, b]) = sizes
            .iter()
            .find_map(|(size, probes)| Some((*size, differ(probes)?)))?;
        Some(Self {
            taken: most_sizes(&points)?.to_owned(),
            probes: [a.0, b.0].map(str::to_owned),
            size,
            takes: [a.1, b.1],
        })
    }
}

/// The fastest and the slowest of them by their least, where even the slowest trial of the one is before all of the other.
fn differ<'a>(probes: &BTreeMap<&'a str, Vec<f64>>) -> Option<[(&'a str, f64); 2]> {
    let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = |values: &[f64]| values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let by_least = || probes.iter().map(|(name, values)| (*name, least(values)));
    let fastest = by_least().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let slowest = by_least().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let apart = slowest.1 - most(probes.get(fastest.0)?);
    (apart > LEAST.max(SHARE * slowest.1)).then_some([fastest, slowest])
}

fn most_sizes<'a>(points: &[Point<'a>]) -> Option<&'a str> {
    let mut sizes = BTreeMap::<&str, BTreeSet<u32>>::new();
    for point in points {
        sizes.entry(point.probe).or_default().insert(point.size);
    }
    let most = sizes.into_iter().max_by_key(|(_, sizes)| sizes.len());
    most.map(|(probe, _)| probe)
}
