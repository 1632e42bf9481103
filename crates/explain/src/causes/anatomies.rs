//! Sums of anatomies of packets, which may tell different stages apart.

use delaylab_stats::anatomy::{Part, in_common};

/// Sums of anatomies, by the stages that all of them tell apart.
#[derive(Debug, Clone, Default)]
pub(super) struct Anatomies {
    sums: Vec<Part>,
    weight: f64,
}

impl Anatomies {
    pub(super) fn add(&mut self, parts: &[Part], weight: f64) {
        let weighted: Vec<Part> = parts
            .iter()
            .map(|part| Part {
                ns: part.ns * weight,
                ..*part
            })
            .collect();
        self.sums = match (self.sums.is_empty(), weighted.is_empty()) {
            (true, _) => weighted,
            (_, true) => return,
            _ => in_common(&self.sums, &weighted)
                .into_iter()
                .map(|[a, b]| Part {
                    ns: a.ns + b.ns,
                    ..a
                })
                .collect(),
        };
        self.weight += weight;
    }

    pub(super) fn merge(&mut self, other: &Self) {
        let mean = other.means();
        self.add(&mean, other.weight);
    }

    pub(super) fn sums(&self) -> Vec<Part> {
        self.sums.clone()
    }

    pub(super) fn means(&self) -> Vec<Part> {
        let mean = |part: &Part| Part {
            ns: part.ns / self.weight,
            ..*part
        };
        self.sums.iter().map(mean).collect()
    }
}
