//! Checks that compared or added values have the same dimension.

use super::{Parsed, Parser};
use crate::finding::check::syntax::{Claim, Fit, Kind, Operator, Relation, Span, Statistic, Value};
use crate::finding::dimension::Dimension;
use crate::finding::measure::Measure;

impl Parser<'_> {
    /// An error at `span` if the two values are known to count different things.
    pub(super) fn agree(&self, left: &Value, right: &Value, span: Span) -> Parsed<()> {
        match conflict(left, right, &|_| None) {
            None => Ok(()),
            Some(message) => self.error(span, message),
        }
    }
}

/// Why two values are not compared or added: they are known to count different things. Zero fits any dimension.
fn conflict(a: &Value, b: &Value, factor: Factors<'_>) -> Option<String> {
    let (of_a, of_b) = (dimension_on(a, factor), dimension_on(b, factor));
    for ((amount, other), of_other) in [((a, b), of_b), ((b, a), of_a)] {
        let Some((measure, of_other)) = amount_of(amount).zip(of_other) else {
            continue;
        };
        if [Dimension::TIME, Dimension::RATE].contains(&of_other) {
            return Some(format!(
                "{measure} counts bytes, cells or packets, and is compared with {}",
                kind(of_other)
            ));
        }
        if of_other == Dimension::NUMBER && !is_zero(other) {
            return Some(without_unit(measure, other));
        }
    }
    let (one, other) = of_a.zip(of_b)?;
    if one == other || is_zero(a) || is_zero(b) {
        return None;
    }
    let plain = match [one, other].map(|of| of == Dimension::NUMBER) {
        [true, _] => Some((a, b)),
        [_, true] => Some((b, a)),
        _ => None,
    };
    let advice = plain.map_or("", |(plain, other)| what_to_write(plain, other));
    Some(format!(
        "{} is compared with {}{advice}",
        kind(one),
        kind(other)
    ))
}

/// What to write where the first has no unit, and the second has one; nothing where neither is a number that is written.
fn what_to_write(plain: &Value, other: &Value) -> &'static str {
    match plain {
        plain if is_written(plain) => ": write the unit",
        _ if !is_written(other) => "",
        Value::Statistic(statistic) if statistic.is_share() => {
            ": what is compared with a share is a percentage, like `1%`"
        }
        _ => ": leave the unit out",
    }
}

/// What is wrong with a plain number as an amount of a measure, and what to write in its place.
fn without_unit(measure: Measure, number: &Value) -> String {
    let (counted, units) = match measure {
        Measure::Drops | Measure::Marks => (
            "packets, or in cells where links carry those",
            ["packets", "cells"],
        ),
        Measure::Cwnd => ("bytes", ["B", "kB"]),
        _ => ("bytes, or in cells where links carry those", ["B", "cells"]),
    };
    let example = match number {
        Value::Number(number) if number.text.parse::<f64>().is_ok() => number.text.as_str(),
        _ => "1",
    };
    let [first, second] = units.map(|unit| format!("`{example}{unit}`"));
    format!(
        "{measure} is counted in {counted}, and is compared with a plain number: write {first} or {second}"
    )
}

/// The measure of a statistic that is an amount: the data say of what, but never a time or a rate.
fn amount_of(value: &Value) -> Option<Measure> {
    match value {
        Value::Statistic(statistic) if of_statistic(statistic, &|_| None).is_none() => {
            match statistic.kind {
                Kind::Of(_, measure) => Some(measure),
                _ => None,
            }
        }
        _ => None,
    }
}

/// What is wrong with the first comparison or sum of a claim of which the dimension of a factor's levels shows that its
/// sides count different things.
pub(in crate::finding::check) fn wrong_slope(
    claim: &Claim,
    factor: Factors<'_>,
) -> Option<(Span, String)> {
    let comparison = match claim {
        Claim::All(claims) | Claim::Any(claims) => {
            return claims.iter().find_map(|claim| wrong_slope(claim, factor));
        }
        Claim::Not(inner) => return wrong_slope(inner, factor),
        Claim::Compare(comparison) => comparison,
    };
    comparison.pairs().find_map(|(left, relation, right)| {
        let number;
        let mut pairs = vec![(left, right)];
        if let Relation::About {
            within,
            relative: false,
        } = relation
        {
            number = Value::Number(within.clone());
            pairs.push((left, &number));
        }
        pairs.into_iter().find_map(|(a, b)| {
            let span = slope(a).or_else(|| slope(b))?;
            Some((span, conflict(a, b, factor)?))
        })
    })
}

/// Where a slope in a value is written; `None` if it has none.
fn slope(value: &Value) -> Option<Span> {
    match value {
        Value::Number(_) => None,
        Value::Negative(inner) => slope(inner),
        Value::Binary(_, a, b) => slope(a).or_else(|| slope(b)),
        Value::Statistic(statistic) => {
            matches!(statistic.kind, Kind::On(Fit::Slope, ..)).then_some(statistic.of)
        }
    }
}

fn kind(dimension: Dimension) -> String {
    match dimension {
        Dimension::NUMBER => "a plain number".to_owned(),
        _ => format!("a number of {dimension}"),
    }
}

/// The dimension of each factor's levels; `None` if unknown.
type Factors<'a> = &'a dyn Fn(&str) -> Option<Dimension>;

/// Dimension of a value; `None` if it depends on the data.
fn dimension_on(value: &Value, factor: Factors<'_>) -> Option<Dimension> {
    let dimension = |value| dimension_on(value, factor);
    match value {
        Value::Number(number) => Some(number.dimension),
        Value::Negative(inner) => dimension(inner),
        Value::Binary(Operator::Times, a, b) => Some(dimension(a)?.times(dimension(b)?)),
        Value::Binary(Operator::Over, a, b) => Some(dimension(a)?.per(dimension(b)?)),
        Value::Binary(_, a, b) => match is_zero(a) {
            true => dimension(b),
            false => dimension(a),
        },
        Value::Statistic(statistic) => of_statistic(statistic, factor),
    }
}

fn of_statistic(statistic: &Statistic, factor: Factors<'_>) -> Option<Dimension> {
    match &statistic.kind {
        Kind::Of(functional, _) if functional.is_number() => Some(Dimension::NUMBER),
        Kind::Share(..) => Some(Dimension::NUMBER),
        Kind::Of(_, measure) => measure.dimension(),
        Kind::On(Fit::R2, ..) => Some(Dimension::NUMBER),
        Kind::On(Fit::Steps, ..) => Some(Dimension::SIZE),
        Kind::On(Fit::Slope, of, on) => Some(of_statistic(of, factor)?.per(factor(on)?)),
    }
}

/// Is it a number, whose unit is a matter of writing?
fn is_written(value: &Value) -> bool {
    match value {
        Value::Number(_) => true,
        Value::Negative(inner) => is_written(inner),
        _ => false,
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.value == 0.0,
        Value::Negative(inner) => is_zero(inner),
        _ => false,
    }
}
