//! How long a server took, as far as its acknowledgements bound it.

use super::Distribution;
use crate::band;
use crate::loglinear;
use crate::sample::Kept;
use delaylab_model::Nanos;
use delaylab_model::record::{Bounds, Record};
use std::collections::BTreeMap;

/// How long a server took: of each response no less and no more than this. See [`Record::server`].
#[derive(Debug, Clone, PartialEq)]
pub struct ServerTime {
    /// At least.
    pub least: Distribution,
    /// At most.
    pub most: Distribution,
    /// Responses of which the two are one value, as far as stamps can tell.
    pub told: u64,
    /// What the server says that it took itself; `None` where it says nothing.
    pub says: Option<Distribution>,
    /// The bounds of the responses around each quantile of the response, on average.
    pub around: Vec<BoundsAt>,
}

/// How much of the responses around a quantile the server took, on average.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoundsAt {
    /// `p50`, `p90`, `p99` or `p99.9`.
    pub label: &'static str,
    /// At least, as a share of the response.
    pub least: f64,
    /// At most.
    pub most: f64,
}

impl ServerTime {
    /// Those of the responses around this quantile. Quantiles of bounds are of other responses.
    pub fn around(&self, label: &str) -> Option<&BoundsAt> {
        self.around.iter().find(|around| around.label == label)
    }
}

/// Sums over responses that took about as long.
#[derive(Debug, Default, Clone, Copy)]
struct Sums {
    count: u64,
    response: i128,
    least: i128,
    most: i128,
}

impl Sums {
    fn add(&mut self, response: Nanos, bounds: Bounds) {
        self.count += 1;
        self.response += i128::from(response);
        self.least += i128::from(bounds.least);
        self.most += i128::from(bounds.most);
    }

    const fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.response += other.response;
        self.least += other.least;
        self.most += other.most;
    }
}

/// Takes the bounds of each response.
#[derive(Debug, Default)]
pub(super) struct ServerTally {
    least: Kept,
    most: Kept,
    told: u64,
    says: Kept,
    /// By the bin of the response.
    by_response: BTreeMap<i32, Sums>,
}

impl ServerTally {
    /// Takes a record that took so long.
    pub(super) fn push(&mut self, record: &Record, response: Nanos, limit: usize) {
        let Some(bounds) = record.server() else {
            return;
        };
        self.least.push(bounds.least, limit);
        self.most.push(bounds.most, limit);
        let bin = self.by_response.entry(loglinear::bin_of(response));
        bin.or_default().add(response, bounds);
        if let Some(says) = record.server_says {
            self.says.push(says, limit);
        }
        self.told += u64::from(record.server_told().is_some());
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let by_response = self.by_response.len() * size_of::<(i32, Sums)>();
        self.least.heap_bytes() + self.most.heap_bytes() + self.says.heap_bytes() + by_response
    }

    pub(super) fn finish(&self) -> Option<ServerTime> {
        Some(ServerTime {
            least: self.least.distribution()?,
            most: self.most.distribution()?,
            told: self.told,
            says: self.says.distribution(),
            around: (band::QUANTILES.into_iter())
                .filter_map(|(label, q)| self.around(label, q))
                .collect(),
        })
    }

    /// Of the responses of the bins that the ranks around a quantile touch.
    fn around(&self, label: &'static str, q: f64) -> Option<BoundsAt> {
        let count: u64 = self.by_response.values().map(|sums| sums.count).sum();
        let ranks = band::ranks(count as usize, q)?;
        let (mut through, mut all) = (0, Sums::default());
        for sums in self.by_response.values() {
            let first = through;
            through += sums.count;
            if first <= *ranks.end() as u64 && through > *ranks.start() as u64 {
                all.merge(sums);
            }
        }
        let of_response = |sum: i128| sum as f64 / all.response as f64;
        (all.response > 0).then(|| BoundsAt {
            label,
            least: of_response(all.least),
            most: of_response(all.most),
        })
    }
}
