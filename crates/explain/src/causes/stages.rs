//! How packets spend their time, stage by stage, and what late ones spend more: of all combinations of levels as one where they
//! agree, else of each, because a mean over responses of 20 ms and of 562 ms is that of no packet.

use super::anatomies::Anatomies;
use super::combination::agree;
use delaylab_model::plan::{Factor, levels_in_words};
use delaylab_stats::anatomy::Part;
use delaylab_store::trial_row::TrialRow;
use std::collections::BTreeMap;

/// What packets spend in each stage: of a combination of levels and a probe, or of all.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StageTimes {
    /// Its levels and, where there are several, its probe; empty of all.
    pub label: String,
    /// Its levels; `None` of all.
    pub factors: Option<Vec<Factor>>,
    /// Its probe; `None` of all.
    pub probe: Option<String>,
    /// How a packet that was not late spent its time, on average.
    pub usual: Vec<Part>,
    /// What late packets took longer than usual, stage by stage, altogether.
    pub excess: Vec<Part>,
    /// Packets that were late.
    pub late: u64,
    /// What they took longer than usual, altogether, ns.
    pub excess_ns: f64,
}

impl StageTimes {
    /// The mean response of the packets that were not late, ns.
    pub fn usual_ns(&self) -> f64 {
        self.usual.iter().map(|part| part.ns).sum()
    }
}

/// Sums over packets.
#[derive(Debug, Clone, Default)]
struct Sums {
    usual: Anatomies,
    excess: Anatomies,
    late: u64,
    excess_ns: f64,
}

impl Sums {
    fn times(&self) -> StageTimes {
        StageTimes {
            usual: self.usual.means(),
            excess: self.excess.sums(),
            late: self.late,
            excess_ns: self.excess_ns,
            ..StageTimes::default()
        }
    }
}

/// What the packets of a run spend in each stage.
#[derive(Debug, Clone, Default)]
pub(super) struct Stages {
    all: Sums,
    /// By levels and probe.
    each: BTreeMap<(String, String), (Vec<Factor>, Sums)>,
}

impl Stages {
    /// Packets of a stream that were not late, and the means of their stages.
    pub(super) fn usual(&mut self, row: &TrialRow, parts: &[Part], packets: f64) {
        self.both(row, |sums| sums.usual.add(parts, packets));
    }

    /// Packets of a stream that were late: what they took longer, in each stage and in all.
    pub(super) fn late(&mut self, row: &TrialRow, excess: &Anatomies, late: u64, excess_ns: f64) {
        self.both(row, |sums| {
            sums.excess.merge(excess);
            sums.late += late;
            sums.excess_ns += excess_ns;
        });
    }

    fn both(&mut self, row: &TrialRow, add: impl Fn(&mut Sums)) {
        add(&mut self.all);
        let key = (levels_in_words(&row.factors, None), row.probe_name.clone());
        let (_, sums) =
            (self.each.entry(key)).or_insert_with(|| (row.factors.clone(), Sums::default()));
        add(sums);
    }

    /// Of all packets.
    pub(super) fn all(&self) -> StageTimes {
        self.all.times()
    }

    /// Of all as one where the mean responses of the packets that were not late agree; else of each combination that had late
    /// packets, that with the most excess delay first.
    pub(super) fn apart(&self) -> Vec<StageTimes> {
        let mut probes: Vec<&String> = self.each.keys().map(|(_, probe)| probe).collect();
        probes.sort_unstable();
        probes.dedup();
        let each = self
            .each
            .iter()
            .map(|((_, probe), (factors, sums))| StageTimes {
                label: levels_in_words(factors, (probes.len() > 1).then_some(probe)),
                factors: Some(factors.clone()),
                probe: Some(probe.clone()),
                ..sums.times()
            });
        let mut each: Vec<StageTimes> = each.collect();
        let usual = each.iter().filter(|one| !one.usual.is_empty());
        if agree(usual.map(StageTimes::usual_ns)) {
            return vec![self.all()];
        }
        each.retain(|one| one.late > 0);
        each.sort_by(|a, b| b.excess_ns.total_cmp(&a.excess_ns));
        each
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::testing::row;
    use delaylab_model::plan::Level;
    use delaylab_stats::anatomy::{Stage, StageSet};

    /// Of these conditions, the mean response of packets that are not late in ms, and the excess of one that is.
    fn stages(conditions: &[(&str, f64, f64)]) -> Vec<StageTimes> {
        let part = |ms: f64| Part {
            stages: StageSet::only(Stage::ForwardPath),
            ns: ms * 1e6,
        };
        let mut stages = Stages::default();
        for (case, usual, more) in conditions {
            let mut row = row(&[], None);
            row.factors = vec![("case".to_owned(), Level::named(*case))];
            stages.usual(&row, &[part(*usual)], 100.0);
            if *more > 0.0 {
                let mut excess = Anatomies::default();
                excess.add(&[part(*more)], 1.0);
                stages.late(&row, &excess, 1, *more * 1e6);
            }
        }
        stages.apart()
    }

    #[test]
    fn conditions_that_differ_have_means_of_their_own_the_worst_first() {
        let found = stages(&[
            ("fifo", 562.0, 30.0),
            ("codel", 20.0, 90.0),
            ("fq", 21.0, 0.0),
        ]);
        let told: Vec<_> = found
            .iter()
            .map(|one| (one.label.as_str(), one.usual_ns(), one.late, one.excess_ns))
            .collect();
        assert_eq!(
            told,
            [("case codel", 20e6, 1, 90e6), ("case fifo", 562e6, 1, 30e6)]
        );
    }

    #[test]
    fn conditions_that_agree_are_one() {
        let found = stages(&[("codel", 20.0, 90.0), ("fq", 22.0, 10.0)]);
        let [all] = &found[..] else {
            panic!("{found:?}")
        };
        assert_eq!((all.label.as_str(), all.factors.as_ref()), ("", None));
        assert_eq!((all.usual_ns(), all.late, all.excess_ns), (21e6, 2, 100e6));
    }
}
