//! Sums of anatomies of packets, which may tell different stages apart.

use delaylab_stats::anatomy::{Part, in_common};

/// Sums of anatomies, by the stages that all of them tell apart.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Anatomies {
    sums: Vec<Part>,
    weight: f64,
}

impl Anatomies {
    /// Packets without an anatomy have no weight.
    pub(super) fn add(&mut self, parts: &[Part], weight: f64) {
        if parts.is_empty() {
            return;
        }
        let weighted: Vec<Part> = parts
            .iter()
            .map(|part| Part {
                ns: part.ns * weight,
                ..*part
            })
            .collect();
        self.sums = match self.sums.is_empty() {
            true => weighted,
            false => in_common(&self.sums, &weighted)
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

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_stats::anatomy::{Stage, StageSet};

    #[test]
    fn what_has_no_anatomy_weighs_nothing_whenever_it_comes() {
        let part = Part {
            stages: StageSet::only(Stage::ForwardPath),
            ns: 10.0,
        };
        for order in [[&[][..], &[part]], [&[part][..], &[]]] {
            let mut all = Anatomies::default();
            order.into_iter().for_each(|parts| all.add(parts, 3.0));
            assert_eq!(all.means(), [part]);
        }
    }
}
