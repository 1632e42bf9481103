//! Makes verdicts from checks and data.
//!
//! | module | does |
//! |---|---|
//! | `select` | selects the streams of a statistic |
//! | `plan` | turns a comparison into arithmetic on statistics of selected streams |
//! | `measured` | caches the values of measures |
//! | `evaluate` | computes values and intervals of statistics, resampled together |
//! | `table` | computes tables of values by levels |
//! | `steps` | steps in delay against size: their width, or whether they would have been found |
//! | `compare` | compares an interval with a bound, and says what would decide the claim |
//!
//! A run of any size can be judged: each statistic reads its values once and sums them in blocks. So the
//! work grows with the number of records, not with records × resamples.

mod compare;
mod evaluate;
mod measured;
mod plan;
mod select;
mod steps;
mod table;
#[cfg(test)]
mod tests;

use super::check::{Check, Claim, Comparison};
use super::data::Data;
use super::entry::Finding;
use super::verdict::{Compared, Evaluated, FixedLevel, Judged, Part, Verdict};
#[cfg(feature = "runs")]
pub(crate) use compare::two_digits;
use measured::Measured;
pub use select::Selection;
pub(crate) use select::{dimension, known_factor, known_level, levels, selects};
pub use table::{Cell, Row, Tabulated, tabulate};

/// Why a value cannot be computed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NoValue {
    /// The resulting verdict.
    verdict: Verdict,
    /// The reason, a clause.
    reason: String,
}

impl NoValue {
    /// The run lacks the factor, level or measure.
    fn not_applicable(reason: impl Into<String>) -> Self {
        Self {
            verdict: Verdict::NotApplicable,
            reason: reason.into(),
        }
    }

    /// The run has data, but they are not enough.
    fn unknown(reason: impl Into<String>) -> Self {
        Self {
            verdict: Verdict::Undecided,
            reason: reason.into(),
        }
    }
}

/// The two count different things in this run, such as cells and bytes: no number of packets would compare them.
impl From<String> for NoValue {
    fn from(reason: String) -> Self {
        Self::not_applicable(reason)
    }
}

/// Judges findings on the data of a run. `seed`: the run's seed; the same seed gives the same intervals.
pub fn judge(findings: &[Finding], data: &dyn Data, seed: u64) -> Vec<Judged> {
    let measured = Measured::new(data);
    let each = findings.iter();
    each.map(|finding| judge_one(finding, &measured, seed))
        .collect()
}

fn judge_one(finding: &Finding, measured: &Measured<'_>, seed: u64) -> Judged {
    let parts = parts(&finding.check, measured, mix(seed, finding.id.as_bytes()));
    let (verdict, reason) = together(&parts);
    Judged {
        id: finding.id.clone(),
        says: finding.says.clone(),
        check: finding.text.clone(),
        verdict,
        reason,
        parts,
    }
}

fn without_numbers(why: NoValue) -> Part {
    Part {
        levels: Vec::new(),
        verdict: why.verdict,
        reason: why.reason,
        statistics: Vec::new(),
        comparisons: Vec::new(),
    }
}

fn parts(check: &Check, measured: &Measured<'_>, seed: u64) -> Vec<Part> {
    match select::fixed_levels(&check.each, measured.streams()) {
        Err(reason) => vec![without_numbers(NoValue::not_applicable(reason))],
        Ok(all) => (all.into_iter())
            .map(|levels| {
                let judging = Judging::new(&levels, measured, seed);
                judging.part(&check.claim, levels)
            })
            .collect(),
    }
}

/// Joins the parts at several levels: the verdict, and the reasons of the parts that decided it.
fn together(parts: &[Part]) -> (Verdict, String) {
    let verdict = Verdict::wherever_applicable(parts.iter().map(|part| part.verdict));
    if let [only] = parts {
        return (verdict, only.reason.clone());
    }
    let decisive: Vec<_> = parts
        .iter()
        .filter(|part| part.verdict == verdict)
        .collect();
    let clauses = decisive.iter().map(|part| {
        let levels: Vec<_> = part.levels.iter().map(FixedLevel::to_string).collect();
        format!("{}: {}", levels.join(", "), part.reason)
    });
    let clauses = clauses.collect::<Vec<_>>().join("; ");
    let count = format!("{verdict} for {} of {}", decisive.len(), parts.len());
    (verdict, format!("{count}; {clauses}"))
}

/// The evaluation of one part: the claim at one combination of `for each` levels.
struct Judging<'a> {
    fixed: Selection,
    measured: &'a Measured<'a>,
    seed: u64,
    statistics: Vec<Evaluated>,
    comparisons: Vec<Compared>,
}

impl<'a> Judging<'a> {
    fn new(levels: &[FixedLevel], measured: &'a Measured<'a>, seed: u64) -> Self {
        let names = levels.iter().map(FixedLevel::to_string);
        let seed = names.fold(seed, |seed, name| mix(seed, name.as_bytes()));
        Self {
            fixed: Selection::at(levels),
            measured,
            seed,
            statistics: Vec::new(),
            comparisons: Vec::new(),
        }
    }

    fn part(mut self, claim: &Claim, levels: Vec<FixedLevel>) -> Part {
        let (verdict, decisive) = self.claim(claim);
        let reasons = decisive
            .iter()
            .map(|&index| &self.comparisons[index].reason);
        let reason = reasons.cloned().collect::<Vec<_>>().join("; ");
        Part {
            levels,
            verdict,
            reason,
            statistics: self.statistics,
            comparisons: self.comparisons,
        }
    }

    /// The verdict, and the indices of the comparisons that decided it.
    fn claim(&mut self, claim: &Claim) -> (Verdict, Vec<usize>) {
        match claim {
            Claim::All(claims) => self.all(claims, false),
            // De Morgan: any of the claims is the opposite of all of their opposites.
            Claim::Any(claims) => {
                let (verdict, decisive) = self.all(claims, true);
                (verdict.not(), decisive)
            }
            Claim::Not(inner) => {
                let (verdict, decisive) = self.claim(inner);
                (verdict.not(), decisive)
            }
            Claim::Compare(comparison) => self.chain(comparison),
        }
    }

    fn all(&mut self, claims: &[Claim], opposite: bool) -> (Verdict, Vec<usize>) {
        let mut judged = Vec::new();
        for claim in claims {
            let (verdict, decisive) = self.claim(claim);
            judged.push((if opposite { verdict.not() } else { verdict }, decisive));
        }
        // Of several ways to be true those that this run does not have leave it to the others.
        let applies = |(verdict, _): &(Verdict, Vec<usize>)| *verdict != Verdict::NotApplicable;
        if opposite && judged.iter().any(applies) {
            judged.retain(applies);
        }
        decide(judged)
    }

    fn chain(&mut self, comparison: &Comparison) -> (Verdict, Vec<usize>) {
        let mut judged = Vec::new();
        for (left, relation, right) in comparison.pairs() {
            let index = self.comparisons.len();
            let seed = mix(self.seed, &index.to_le_bytes());
            let (compared, statistics) =
                compare::compare(left, relation, right, &self.fixed, self.measured, seed);
            for statistic in statistics {
                if !self
                    .statistics
                    .iter()
                    .any(|s| s.statistic == statistic.statistic)
                {
                    self.statistics.push(statistic);
                }
            }
            judged.push((compared.verdict, vec![index]));
            self.comparisons.push(compared);
        }
        decide(judged)
    }
}

/// The verdict on a conjunction, and the indices of the comparisons that decided it.
fn decide(judged: Vec<(Verdict, Vec<usize>)>) -> (Verdict, Vec<usize>) {
    let verdict = Verdict::all(judged.iter().map(|(verdict, _)| *verdict));
    let decisive = judged.into_iter().filter(|(each, _)| *each == verdict);
    (verdict, decisive.flat_map(|(_, indices)| indices).collect())
}

/// Derives a seed for a name (FNV-1a hash, Fowler, Noll and Vo).
fn mix(seed: u64, name: &[u8]) -> u64 {
    let start = seed ^ 0xcbf2_9ce4_8422_2325;
    name.iter()
        .fold(start.wrapping_mul(0x0100_0000_01b3), |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
}
