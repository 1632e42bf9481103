//! Lists the names in a check, so that they can be checked against an experiment before it runs.

use super::syntax::{
    Check, Claim, Each, Fit, Kind, LevelSet, LevelText, Selector, Span, Statistic, Value,
};
use crate::finding::data::{OF, PROBE};
use crate::finding::measure::Measure;
use delaylab_stats::functional::Beyond;

/// A factor, level or measure that a check names.
#[derive(Debug, Clone, PartialEq)]
pub struct Name {
    /// What is named.
    pub kind: NameKind,
    /// Where it is written in the check.
    pub span: Span,
}

/// What a name in a check stands for.
#[derive(Debug, Clone, PartialEq)]
pub enum NameKind {
    /// A factor.
    Factor {
        /// Its name.
        name: String,
        /// The measure whose streams it selects; `None`: any measure.
        of: Option<Measure>,
    },
    /// A level of a factor.
    Level {
        /// The factor.
        factor: String,
        /// Its level.
        level: LevelText,
        /// The levels on this side of it are meant; `None`: itself.
        beyond: Option<Beyond>,
        /// The measure whose streams it selects; `None`: any measure.
        of: Option<Measure>,
    },
    /// The factor that a fit is on, which needs some levels that are numbers.
    Axis {
        /// Its name.
        name: String,
        /// The fit.
        fit: Fit,
        /// Which of its levels: those that are in each of these sets.
        levels: Vec<LevelSet>,
    },
    /// A measure.
    Measure(Measure),
}

impl Check {
    /// Every factor, level and measure that the check names, in the order of the text, with duplicates. Behind them what
    /// `for each` cannot select, with its measure.
    pub fn names(&self) -> Vec<Name> {
        let mut names: Vec<Name> = self.each.iter().flat_map(Each::names).collect();
        let claim = self.claim.names();
        let misplaced = self.each.iter().filter_map(|each| each.misplaced(&claim));
        let misplaced: Vec<Name> = misplaced.collect();
        names.extend(claim);
        names.extend(misplaced);
        names
    }
}

impl Claim {
    /// Every factor, level and measure that the claim names, with duplicates.
    pub(crate) fn names(&self) -> Vec<Name> {
        let mut names = Vec::new();
        of_claim(self, &mut names);
        names
    }
}

impl Each {
    /// The factor and the levels that it names.
    pub(crate) fn names(&self) -> Vec<Name> {
        let mut names = Vec::new();
        push_factor(&self.factor, &self.levels, self.span, None, &mut names);
        names
    }

    /// `probe` with the first measure of a claim that is a series, and `of` with the first that is of packets: a series has no
    /// probe, and packets are of no port. Other factors are of whole trials.
    fn misplaced(&self, claim: &[Name]) -> Option<Name> {
        let of_flows = match self.factor.as_str() {
            PROBE => false,
            OF => true,
            _ => return None,
        };
        let mut measures = claim.iter().filter_map(|name| match name.kind {
            NameKind::Measure(measure) => Some(measure),
            _ => None,
        });
        let measure = measures.find(|measure| measure.is_of_flow() != of_flows)?;
        Some(Name {
            kind: NameKind::Factor {
                name: self.factor.clone(),
                of: Some(measure),
            },
            span: self.span,
        })
    }
}

impl Value {
    /// Every factor, level and measure that the value names, with duplicates.
    pub fn names(&self) -> Vec<Name> {
        let mut names = Vec::new();
        of_value(self, &mut names);
        names
    }
}

/// Every factor and level that selectors name. `of`: the measure whose streams they select, if known.
pub(in crate::finding) fn of_selectors(selectors: &[Selector], of: Option<Measure>) -> Vec<Name> {
    let mut names = Vec::new();
    for selector in selectors {
        let (factor, span) = (&selector.factor, selector.span);
        push_factor(factor, &[], span, of, &mut names);
        names.extend(
            selector
                .which
                .named()
                .into_iter()
                .map(|(beyond, level)| Name {
                    // A side of a quantity is shown at its factor.
                    span: if beyond.is_some() { span } else { level.span },
                    kind: NameKind::Level {
                        factor: factor.clone(),
                        level,
                        beyond,
                        of,
                    },
                }),
        );
    }
    names
}

fn push_factor(
    factor: &str,
    levels: &[LevelText],
    span: Span,
    of: Option<Measure>,
    names: &mut Vec<Name>,
) {
    let name = factor.to_owned();
    let kind = NameKind::Factor { name, of };
    names.push(Name { kind, span });
    names.extend(levels.iter().map(|level| Name {
        kind: NameKind::Level {
            factor: factor.to_owned(),
            level: level.clone(),
            beyond: None,
            of,
        },
        span: level.span,
    }));
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

/// The levels of a fit's factor that its own selectors choose: those of the statistic inside before those of the fit.
fn on_axis(factor: &str, inside: &Statistic, fit: &Statistic) -> Vec<LevelSet> {
    let chosen = |statistic: &Statistic| {
        let own = statistic.selectors.iter();
        let own = own.filter(|selector| selector.factor == factor);
        own.map(|selector| selector.which.clone())
            .collect::<Vec<_>>()
    };
    let inside = chosen(inside);
    match inside.is_empty() {
        true => chosen(fit),
        false => inside,
    }
}

fn of_statistic(statistic: &Statistic, names: &mut Vec<Name>) {
    let span = statistic.of;
    match &statistic.kind {
        Kind::Of(_, measure) => names.push(Name {
            kind: NameKind::Measure(*measure),
            span,
        }),
        Kind::Share(measure, _, bound) => {
            let kind = NameKind::Measure(*measure);
            names.push(Name { kind, span });
            of_value(bound, names);
        }
        Kind::On(fit, of, factor) => {
            of_statistic(of, names);
            push_factor(factor, &[], span, None, names);
            let kind = NameKind::Axis {
                name: factor.clone(),
                fit: *fit,
                levels: on_axis(factor, of, statistic),
            };
            names.push(Name { kind, span });
        }
    }
    names.extend(of_selectors(
        &statistic.selectors,
        Some(statistic.measure()),
    ));
}
