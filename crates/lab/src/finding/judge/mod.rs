//! From checks and data to verdicts.
//!
//! | module | does |
//! |---|---|
//! | `select` | which streams a statistic is of |
//! | `plan` | a comparison as arithmetic on statistics of chosen streams |
//! | `measured` | the values behind them, read once |
//! | `evaluate` | their values and intervals, drawn together |
//! | `table` | values by levels, for a table |
//! | `steps` | steps against size: their width, or whether they would have been seen |
//! | `compare` | what an interval says about a bound, and what would settle it |
//!
//! A run of any size can be judged: each value is read once for each statistic and summed in blocks
//! at once, so the work grows with the records and not with records times resamples.

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
use measured::Measured;
pub use select::Selection;
pub(crate) use select::{dimension, known_factor, known_level, levels};
pub use table::{Cell, Row, Tabulated, tabulate};

/// Why there is no number to judge by.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Why {
    /// What the verdict is then.
    verdict: Verdict,
    /// In a clause.
    reason: String,
}

impl Why {
    /// The run has nothing of the kind.
    fn not_applicable(reason: impl Into<String>) -> Self {
        Self {
            verdict: Verdict::NotApplicable,
            reason: reason.into(),
        }
    }

    /// It has, and it does not say.
    fn unknown(reason: impl Into<String>) -> Self {
        Self {
            verdict: Verdict::Undecided,
            reason: reason.into(),
        }
    }
}

impl From<String> for Why {
    fn from(reason: String) -> Self {
        Self::unknown(reason)
    }
}

/// Judges findings by what was measured. `seed`: the run's; the same gives the same intervals.
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

fn without_numbers(why: Why) -> Part {
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
        Err(reason) => vec![without_numbers(Why::not_applicable(reason))],
        Ok(all) => (all.into_iter())
            .map(|levels| {
                let judging = Judging::new(&levels, measured, seed);
                judging.part(&check.claim, levels)
            })
            .collect(),
    }
}

/// The findings of several levels as one.
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
        let levels = part.levels.iter();
        let levels: Vec<_> = levels
            .map(|l| format!("{}={}", l.factor, l.level))
            .collect();
        format!("{}: {}", levels.join(", "), part.reason)
    });
    let clauses = clauses.collect::<Vec<_>>().join("; ");
    let count = format!("{verdict} for {} of {}", decisive.len(), parts.len());
    (verdict, format!("{count}; {clauses}"))
}

/// One part under way.
struct Judging<'a> {
    fixed: Selection,
    measured: &'a Measured<'a>,
    seed: u64,
    statistics: Vec<Evaluated>,
    comparisons: Vec<Compared>,
}

impl<'a> Judging<'a> {
    fn new(levels: &[FixedLevel], measured: &'a Measured<'a>, seed: u64) -> Self {
        let names = levels.iter().map(|l| format!("{}={}", l.factor, l.level));
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

    /// The verdict, and the comparisons that decided it.
    fn claim(&mut self, claim: &Claim) -> (Verdict, Vec<usize>) {
        match claim {
            Claim::All(claims) => self.all(claims, false),
            // One of them is true unless all of their opposites are.
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
        decide(judged)
    }

    fn chain(&mut self, comparison: &Comparison) -> (Verdict, Vec<usize>) {
        let lefts = std::iter::once(&comparison.first);
        let lefts = lefts.chain(comparison.rest.iter().map(|(_, right)| right));
        let mut judged = Vec::new();
        for (left, (relation, right)) in lefts.zip(&comparison.rest) {
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

/// All of them together, and which of them decided it.
fn decide(judged: Vec<(Verdict, Vec<usize>)>) -> (Verdict, Vec<usize>) {
    let verdict = Verdict::all(judged.iter().map(|(verdict, _)| *verdict));
    let decisive = judged.into_iter().filter(|(each, _)| *each == verdict);
    (verdict, decisive.flat_map(|(_, indices)| indices).collect())
}

/// Another seed for each name (FNV-1a, Fowler, Noll and Vo).
fn mix(seed: u64, name: &[u8]) -> u64 {
    let start = seed ^ 0xcbf2_9ce4_8422_2325;
    name.iter()
        .fold(start.wrapping_mul(0x0100_0000_01b3), |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
}
