//! What a check speaks of, so that it can be held against an experiment before anything runs.

use super::{Check, Claim, Kind, LevelText, Span, Statistic, Value, Which};
use crate::finding::measure::Measure;

/// A thing that a check needs to be there.
#[derive(Debug, Clone, PartialEq)]
pub struct Name {
    /// What.
    pub kind: NameKind,
    /// Where the check says so.
    pub span: Span,
}

/// What a check may need.
#[derive(Debug, Clone, PartialEq)]
pub enum NameKind {
    /// A factor, and the levels of it that are named.
    Factor {
        /// Its name.
        name: String,
        /// Empty: it is only said on which side of a quantity they are, or all are meant.
        levels: Vec<LevelText>,
    },
    /// A measure.
    Measure(Measure),
}

impl Check {
    /// Every factor and measure that it speaks of, in the order of the text; one named twice is there
    /// twice.
    pub fn names(&self) -> Vec<Name> {
        let mut names = Vec::new();
        for each in &self.each {
            push_factor(&each.factor, each.levels.clone(), each.span, &mut names);
        }
        of_claim(&self.claim, &mut names);
        names
    }
}

fn push_factor(name: &str, levels: Vec<LevelText>, span: Span, names: &mut Vec<Name>) {
    let name = name.to_owned();
    let kind = NameKind::Factor { name, levels };
    names.push(Name { kind, span });
}

fn of_claim(claim: &Claim, names: &mut Vec<Name>) {
    match claim {
        Claim::All(claims) | Claim::Any(claims) => {
            claims.iter().for_each(|claim| of_claim(claim, names));
        }
        Claim::Not(claim) => of_claim(claim, names),
        Claim::Compare(comparison) => {
            of_value(&comparison.first, names);
            let rest = comparison.rest.iter();
            rest.for_each(|(_, value)| of_value(value, names));
        }
    }
}

fn of_value(value: &Value, names: &mut Vec<Name>) {
    match value {
        Value::Number(_) => {}
        Value::Negative(inner) => of_value(inner, names),
        Value::Binary(_, a, b) => {
            of_value(a, names);
            of_value(b, names);
        }
        Value::Statistic(statistic) => of_statistic(statistic, names),
    }
}

fn of_statistic(statistic: &Statistic, names: &mut Vec<Name>) {
    let span = statistic.span;
    let push = |kind, names: &mut Vec<Name>| names.push(Name { kind, span });
    match &statistic.kind {
        Kind::Of(_, measure) => push(NameKind::Measure(*measure), names),
        Kind::Share(measure, _, bound) => {
            push(NameKind::Measure(*measure), names);
            of_value(bound, names);
        }
        Kind::On(_, of, factor) => {
            of_statistic(of, names);
            push_factor(factor, Vec::new(), span, names);
        }
    }
    for selector in &statistic.selectors {
        let levels = match &selector.which {
            Which::In(levels) => levels.clone(),
            Which::Not(level) => vec![level.clone()],
            Which::Is(..) => Vec::new(),
        };
        push_factor(&selector.factor, levels, selector.span, names);
    }
}
