//! `delaylab compare`: what changed between two runs.
//!
//! | module | holds |
//! |---|---|
//! | `mod.rs` | what every face of it is made from |
//! | [`stored`] | made from two runs on disk |
//! | `rows.rs` | its tables: what stands in them, as text |
//! | [`terminal`] | for people |
//! | [`json`] | for programs |
//!
//! The page is [`crate::html::comparison`], its figure [`crate::figure::quantile_shift`].

pub mod json;
pub(crate) mod rows;
#[cfg(test)]
pub(crate) mod samples;
pub mod stored;
pub mod terminal;

use delaylab_explain::compare::Comparison;
use delaylab_explain::compare::circumstances::Difference;
use delaylab_explain::compare::limits::{Held, Outcome};

/// So many differences are named in front of what came out.
const FEW: usize = 2;

/// Another seed is what repeats differ by.
fn matters(difference: &Difference) -> bool {
    difference.what != "seed"
}

/// `path.rate 5Mbit/s in place of 1Gbit/s`.
fn in_words(difference: &Difference) -> String {
    let Difference { what, a, b } = difference;
    match (a, b) {
        (Some(a), Some(b)) => format!("{what} {b} in place of {a}"),
        (None, Some(b)) => format!("{what} {b}, which A has not"),
        (Some(a), None) => format!("without {what} {a}"),
        (None, None) => what.clone(),
    }
}

/// As the names of the two runs stay.
fn uncapitalised(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) if letters.clone().next().is_some_and(char::is_lowercase) => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => text.to_owned(),
    }
}

/// What changed between two runs, ready to be shown.
#[derive(Debug, Clone)]
pub struct Compared {
    /// The two runs.
    pub sides: [Side; 2],
    /// What changed.
    pub comparison: Comparison,
    /// What else differs.
    pub differences: Vec<Difference>,
    /// What must not be.
    pub limits: Vec<Held>,
    /// Does a limit that cannot be told fail, too?
    pub strict: bool,
}

/// One of the runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Side {
    /// The experiment's name.
    pub name: String,
    /// Where the run is, as the reader would write it.
    pub folder: String,
    /// The world that carried it out.
    pub world: String,
    /// When it began.
    pub started: String,
    /// What to read before trusting the figures.
    pub problems: Vec<String>,
}

impl Compared {
    /// Is something as it must not be?
    pub fn has_failed(&self) -> bool {
        self.limits.iter().any(|held| self.fails(held))
    }

    /// Of the conditions that have failed, in a sentence; empty without any.
    pub fn failures(&self) -> String {
        let failed = self.limits.iter().filter(|held| self.fails(held));
        let mut names: Vec<&str> = failed.map(|held| held.limit.as_str()).collect();
        names.dedup();
        match names.len() {
            0 => String::new(),
            1 => format!("a condition failed: {}", names[0]),
            more => format!("{more} conditions failed: {}", names.join("; ")),
        }
    }

    pub(crate) fn fails(&self, held: &Held) -> bool {
        match held.outcome {
            Outcome::Failed => true,
            Outcome::CannotTell => self.strict,
            Outcome::Held => false,
        }
    }

    /// What came out, of the only pair or of all of them, behind what was set differently where that is one or two
    /// things.
    pub fn verdict(&self) -> String {
        let Comparison { whole, pairs, .. } = &self.comparison;
        let first = pairs.first().map_or("", |pair| &pair.verdict.text);
        let text = whole.as_ref().map_or(first, |whole| &whole.text);
        let set: Vec<_> = self.differences.iter().filter(|d| matters(d)).collect();
        if set.is_empty() || set.len() > FEW {
            return text.to_owned();
        }
        let set: Vec<_> = set.into_iter().map(in_words).collect();
        format!("{}: {}", set.join(", "), uncapitalised(text))
    }

    /// What to read before trusting the figures, of both.
    pub(crate) fn problems(&self) -> Vec<String> {
        let each = ["A", "B"].iter().zip(&self.sides);
        each.flat_map(|(name, side)| side.problems.iter().map(move |p| format!("{name}: {p}")))
            .collect()
    }

    /// What is not compared, or not as a reader may expect, in sentences.
    pub(crate) fn notes(&self) -> Vec<String> {
        let comparison = &self.comparison;
        let mut notes = Vec::new();
        if self.sides[0].folder == self.sides[1].folder {
            notes.push("A and B are the same run.".to_owned());
        }
        for (name, alone) in ["A", "B"].iter().zip(&comparison.alone) {
            if !alone.is_empty() {
                notes.push(format!("Only {name} has {}.", alone.join("; ")));
            }
        }
        for (name, pooled) in ["A", "B"].iter().zip(&comparison.pooled) {
            if !pooled.is_empty() {
                let names = pooled.join(" and ");
                notes.push(format!(
                    "Only {name} varies {names}: its levels are together here."
                ));
            }
        }
        for pair in &comparison.pairs {
            let [a, b] = &pair.pair.probes;
            if a != b {
                notes.push(format!("The probe is {a} in A and {b} in B."));
            }
        }
        let thinned = comparison.pairs.iter().flat_map(|pair| pair.thinned);
        if let Some(most) = thinned.max().filter(|&most| most > 1) {
            notes.push(format!(
                "Of the largest series, one packet of {most}, drawn at random, stands for all in shifts; counts, \
                 loss and conditions are of every packet."
            ));
        }
        notes
    }
}
