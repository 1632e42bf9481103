//! Checks that compared or added values have the same dimension.

use super::{Parsed, Parser};
use crate::finding::check::syntax::{Fit, Kind, Operator, Span, Statistic, Value};
use crate::finding::dimension::Dimension;
use crate::finding::measure::Measure;

impl Parser<'_> {
    /// An error at `span` if the dimensions are known and differ. Zero fits any dimension.
    pub(super) fn agree(&self, left: &Value, right: &Value, span: Span) -> Parsed<()> {
        for (amount, other) in [(left, right), (right, left)] {
            let other =
                dimension(other).filter(|it| [Dimension::TIME, Dimension::RATE].contains(it));
            if let (Some(measure), Some(other)) = (amount_of(amount), other) {
                let message = format!(
                    "{measure} counts bytes, cells or packets, and is compared with a number of {other}"
                );
                return self.error(span, message);
            }
        }
        let (Some(a), Some(b)) = (dimension(left), dimension(right)) else {
            return Ok(());
        };
        if a == b || is_zero(left) || is_zero(right) {
            return Ok(());
        }
        let kind = |dimension: Dimension| match dimension {
            Dimension::NUMBER => "a plain number".to_owned(),
            _ => format!("a number of {dimension}"),
        };
        let message = format!("{} is compared with {}: write the unit", kind(a), kind(b));
        self.error(span, message)
    }
}

/// The measure of a statistic that is an amount: the data say of what, but never a time or a rate.
fn amount_of(value: &Value) -> Option<Measure> {
    match value {
        Value::Statistic(statistic) if statistic_dimension(statistic).is_none() => {
            match statistic.kind {
                Kind::Of(_, measure) => Some(measure),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Dimension of a value; `None` if it depends on the data.
pub(super) fn dimension(value: &Value) -> Option<Dimension> {
    match value {
        Value::Number(number) => Some(number.dimension),
        Value::Negative(inner) => dimension(inner),
        Value::Binary(Operator::Times, a, b) => Some(dimension(a)?.times(dimension(b)?)),
        Value::Binary(Operator::Over, a, b) => Some(dimension(a)?.per(dimension(b)?)),
        Value::Binary(_, a, b) => match is_zero(a) {
            true => dimension(b),
            false => dimension(a),
        },
        Value::Statistic(statistic) => statistic_dimension(statistic),
    }
}

/// Dimension of a statistic; `None` if it depends on the data.
pub(super) fn statistic_dimension(statistic: &Statistic) -> Option<Dimension> {
    match &statistic.kind {
        Kind::Of(functional, _) if functional.is_number() => Some(Dimension::NUMBER),
        Kind::Share(..) => Some(Dimension::NUMBER),
        Kind::Of(_, measure) => measure.dimension(),
        Kind::On(Fit::R2, ..) => Some(Dimension::NUMBER),
        Kind::On(..) => None,
    }
}

pub(super) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.value == 0.0,
        Value::Negative(inner) => is_zero(inner),
        _ => false,
    }
}
