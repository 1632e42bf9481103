//! Prints a check as text that parses to an equal check.

use super::lexer::KEYWORDS;
use super::syntax::{
    Check, Claim, Comparison, Each, Kind, LevelSet, LevelText, Operator, Relation, Selector,
    Statistic, Value,
};
use delaylab_stats::functional::Beyond;
use std::fmt::{self, Display, Formatter};

pub(super) fn check(check: &Check, f: &mut Formatter<'_>) -> fmt::Result {
    each(&check.each, f)?;
    claim(&check.claim, 0, f)
}

/// Prints `for each a, b: `, or nothing if there are no factors.
pub(super) fn each(all: &[Each], f: &mut Formatter<'_>) -> fmt::Result {
    for (index, each) in all.iter().enumerate() {
        f.write_str(if index == 0 { "for each " } else { ", " })?;
        f.write_str(&name(&each.factor))?;
        if !each.levels.is_empty() {
            write!(f, " in {}", levels(&each.levels))?;
        }
    }
    f.write_str(if all.is_empty() { "" } else { ": " })
}

/// `binding`: the operator around the claim, which decides on parentheses: 0 none, 1 `or`, 2 `and`, 3 `not`.
fn claim(this: &Claim, binding: u8, f: &mut Formatter<'_>) -> fmt::Result {
    match this {
        Claim::Any(claims) => in_parentheses(binding >= 1, f, |f| joined(claims, " or ", 1, f)),
        Claim::All(claims) => in_parentheses(binding >= 2, f, |f| joined(claims, " and ", 2, f)),
        Claim::Not(inner) => {
            f.write_str("not ")?;
            claim(inner, 3, f)
        }
        Claim::Compare(inner) => comparison(inner, f),
    }
}

fn joined(claims: &[Claim], word: &str, binding: u8, f: &mut Formatter<'_>) -> fmt::Result {
    for (index, each) in claims.iter().enumerate() {
        if index > 0 {
            f.write_str(word)?;
        }
        claim(each, binding, f)?;
    }
    Ok(())
}

fn in_parentheses(
    needed: bool,
    f: &mut Formatter<'_>,
    inside: impl FnOnce(&mut Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    f.write_str(if needed { "(" } else { "" })?;
    inside(f)?;
    f.write_str(if needed { ")" } else { "" })
}

fn comparison(comparison: &Comparison, f: &mut Formatter<'_>) -> fmt::Result {
    value(&comparison.first, 0, f)?;
    for (relation, right) in &comparison.rest {
        match relation {
            Relation::Is(beyond) => {
                write!(f, " {} ", sign(*beyond))?;
                value(right, 0, f)?;
            }
            Relation::About { within, .. } => {
                f.write_str(" ≈ ")?;
                value(right, 0, f)?;
                write!(f, " within {}", within.text)?;
            }
        }
    }
    Ok(())
}

/// The comparison sign.
pub(crate) const fn sign(beyond: Beyond) -> &'static str {
    match beyond {
        Beyond::Less => "<",
        Beyond::AtMost => "<=",
        Beyond::More => ">",
        Beyond::AtLeast => ">=",
    }
}

/// `binding`: where the value stands, which decides on parentheses: 0 alone, 1 left or 2 right in a sum,
/// 3 left or 4 right in a product, 4 also after a minus sign.
pub(super) fn value(this: &Value, binding: u8, f: &mut Formatter<'_>) -> fmt::Result {
    match this {
        Value::Number(number) => f.write_str(&number.text),
        Value::Statistic(inner) => statistic(inner, f),
        Value::Negative(inner) => {
            f.write_str("-")?;
            value(inner, 4, f)
        }
        Value::Binary(operator, a, b) => {
            let (sign, own) = match operator {
                Operator::Plus => (" + ", 1),
                Operator::Minus => (" - ", 1),
                Operator::Times => (" * ", 3),
                Operator::Over => (" / ", 3),
            };
            in_parentheses(binding > own, f, |f| {
                value(a, own, f)?;
                f.write_str(sign)?;
                value(b, own + 1, f)
            })
        }
    }
}

pub(super) fn statistic(this: &Statistic, f: &mut Formatter<'_>) -> fmt::Result {
    match &this.kind {
        Kind::Of(functional, measure) => {
            write!(f, "{}({measure}", functional.name())?;
        }
        Kind::Share(measure, beyond, bound) => {
            write!(f, "share({measure} {} {bound}", sign(*beyond))?;
        }
        Kind::On(fit, of, factor) => write!(f, "{}({of} on {}", fit.name(), name(factor))?,
    }
    for (index, each) in this.selectors.iter().enumerate() {
        write!(f, "{}{each}", if index == 0 { " | " } else { ", " })?;
    }
    f.write_str(")")
}

impl Display for Selector {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&name(&self.factor))?;
        match &self.which {
            LevelSet::In(only) if only.len() == 1 => write!(f, "={}", only[0]),
            LevelSet::In(several) => write!(f, " in {}", levels(several)),
            LevelSet::Not(level) => write!(f, "!={level}"),
            LevelSet::Is(beyond, number) => write!(f, " {} {}", sign(*beyond), number.text),
        }
    }
}

impl Display for LevelText {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.number {
            Some(number) => f.write_str(&number.text),
            None => f.write_str(&name(&self.text)),
        }
    }
}

fn levels(levels: &[LevelText]) -> String {
    let each: Vec<String> = levels.iter().map(LevelText::to_string).collect();
    format!("[{}]", each.join(", "))
}

/// A name, in quotes if it would not parse as one name without.
fn name(text: &str) -> String {
    let starts = text
        .chars()
        .next()
        .is_some_and(|c| c.is_alphabetic() || c == '_');
    let continues = text.chars().all(|c| c.is_alphanumeric() || c == '_');
    if starts && continues && !KEYWORDS.contains(&text) {
        return text.to_owned();
    }
    let quote = if text.contains('\'') { '"' } else { '\'' };
    format!("{quote}{text}{quote}")
}
