//! What each combination of levels is held against.

use super::{Against, Baseline, Combination, Raw};
use crate::causes::combination::{SLOW, agree};
use crate::causes::spent::{Component, Spent};
use delaylab_model::plan::levels_in_words;
use delaylab_stats::anatomy::{Part, in_common};

impl Combination {
    /// Is the minimum delay of its path that of the other one?
    fn has_path_of(&self, other: &Combination) -> bool {
        match (self.min_delay_ns, other.min_delay_ns) {
            (Some(own), Some(other)) => agree([own, other].into_iter()),
            _ => true,
        }
    }

    /// The same probe, state of the host and offered load.
    fn is_like(&self, other: &Combination) -> bool {
        (&self.probe, self.host, &self.raw.loads) == (&other.probe, other.host, &other.raw.loads)
    }

    /// Where packets spend their time, in the stages that another one tells apart as well.
    fn spent_as(&self, other: &Combination) -> Vec<Spent> {
        let common = in_common(&self.raw.stages, &other.raw.stages);
        let own: Vec<Part> = common.into_iter().map(|[own, _]| own).collect();
        self.raw.usual.spent(&own, &self.raw.known)
    }

    pub(super) fn hold_against(&mut self, other: &Combination, name: Against) {
        let theirs = other.spent_as(self);
        let ns_of = |component: &Component| {
            let mut found = theirs.iter().filter(|spent| spent.component == *component);
            found.next().map_or(0.0, |spent| spent.ns)
        };
        self.against = name;
        self.against_ns = Some(other.usual_ns);
        self.against_mean_ns = Some(other.mean_ns);
        self.spent = self.spent_as(other);
        self.longer = longer(&self.spent, ns_of);
    }

    /// What lines, distance and the switches themselves take is the least that a packet can do with.
    fn hold_against_min_delay(&mut self) {
        let Raw {
            stages,
            usual,
            known,
            ..
        } = &self.raw;
        self.spent = usual.spent(stages, known);
        self.against = Against::MinDelay;
        self.against_ns = self.min_delay_ns;
        self.against_mean_ns = None;
        self.longer = longer(&self.spent, |component| {
            match component.is_part_of_min_delay() {
                true => f64::INFINITY,
                false => 0.0,
            }
        });
    }
}

fn longer(spent: &[Spent], reference: impl Fn(&Component) -> f64) -> Vec<Spent> {
    let beyond = spent.iter().map(|spent| Spent {
        component: spent.component.clone(),
        ns: spent.ns - reference(&spent.component),
    });
    let mut longer: Vec<Spent> = beyond.filter(|spent| spent.ns > 0.0).collect();
    longer.sort_by(|a, b| b.ns.total_cmp(&a.ns));
    longer
}

/// What a condition may be held against.
#[derive(Clone, Copy)]
enum Candidate<'a> {
    Combination(&'a Combination),
    MinDelay,
}

fn best<'a>(of: impl Iterator<Item = &'a Combination>) -> Option<&'a Combination> {
    of.min_by(|a, b| a.usual_ns.total_cmp(&b.usual_ns))
}

/// Finds for each what it is held against: of those with the same probe, the same load and the same state of the host
/// the best; where it is not much slower than that, of all with the same probe; else the minimum delay of its path. Those whose path
/// has another minimum delay come after that: what the experiment made of a path is not what is slow, unless nothing else is.
pub(super) fn hold(conditions: &mut [Combination], baseline: Baseline<'_>) {
    let all = conditions.to_vec();
    for condition in conditions {
        match baseline {
            Baseline::Idle => condition.hold_against_min_delay(),
            Baseline::Run(other) => match counterpart(condition, &other.conditions) {
                Some(found) => {
                    condition.hold_against(found, Against::Run(found.label.clone()));
                }
                None => condition.hold_against_min_delay(),
            },
            Baseline::Best => hold_against_best(condition, &all),
        }
    }
}

/// The condition of another run that this one is held against: the best of its levels and probe, else of its probe, else of all.
fn counterpart<'a>(condition: &Combination, theirs: &'a [Combination]) -> Option<&'a Combination> {
    let levels = |of: &Combination| levels_in_words(&of.factors, None);
    let same_probe = |other: &&Combination| other.probe == condition.probe;
    let same = |other: &&Combination| same_probe(other) && levels(other) == levels(condition);
    best(theirs.iter().filter(same))
        .or_else(|| best(theirs.iter().filter(same_probe)))
        .or_else(|| best(theirs.iter()))
}

/// Holds it against the first candidate against which it is slow, else against the minimum delay.
fn hold_against_best(condition: &mut Combination, all: &[Combination]) {
    let own_path = |it: &&Combination| it.has_path_of(condition);
    let like = |it: &&Combination| it.is_like(condition);
    let any = |it: &&Combination| it.probe == condition.probe;
    let candidates = [
        best(all.iter().filter(like).filter(own_path)).map(Candidate::Combination),
        best(all.iter().filter(any).filter(own_path)).map(Candidate::Combination),
        Some(Candidate::MinDelay),
        best(all.iter().filter(like)).map(Candidate::Combination),
        best(all.iter().filter(any)).map(Candidate::Combination),
    ];
    let candidates: Vec<Candidate<'_>> = candidates.into_iter().flatten().collect();
    for (at, candidate) in candidates.iter().enumerate() {
        match candidate {
            Candidate::Combination(other) if hides(other, condition, candidates.get(at + 1)) => {
                continue;
            }
            Candidate::Combination(other) => {
                condition.hold_against(other, Against::Combination(other.label.clone()));
            }
            Candidate::MinDelay => condition.hold_against_min_delay(),
        }
        if condition.is_slow() {
            return;
        }
    }
    condition.hold_against_min_delay();
}

/// Is a reference further beyond the next one than this is beyond the reference? Against what is that slow nothing is.
fn hides(reference: &Combination, condition: &Combination, next: Option<&Candidate<'_>>) -> bool {
    let Some(Candidate::Combination(next)) = next else {
        return false;
    };
    let is_slow = reference.usual_ns >= SLOW * next.usual_ns;
    is_slow && reference.usual_ns - next.usual_ns > condition.usual_ns - reference.usual_ns
}
