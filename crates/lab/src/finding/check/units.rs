//! Numbers with units.

use super::{Dimension, Number};
use delaylab_model::units::{parse_duration, parse_rate, parse_size};

/// Reads a number with this unit, both as written; `None` for a unit that there is not.
pub(super) fn number(digits: &str, unit: &str) -> Option<Number> {
    let text = format!("{digits}{unit}");
    let plain = digits.parse::<f64>().ok().filter(|value| value.is_finite());
    let (value, dimension) = match unit {
        "" => (plain?, Dimension::NUMBER),
        "%" => (plain? / 100.0, Dimension::NUMBER),
        "cells" | "cell" => (plain?, Dimension::CELLS),
        "packets" | "packet" => (plain?, Dimension::PACKETS),
        _ => quantity(&text)?,
    };
    Some(Number {
        value,
        dimension,
        text,
    })
}

fn quantity(text: &str) -> Option<(f64, Dimension)> {
    let duration = parse_duration(text).map(|ns| (ns as f64, Dimension::TIME));
    let size = || parse_size(text).map(|bytes| (bytes as f64, Dimension::SIZE));
    let rate = || parse_rate(text).map(|rate| (rate as f64, Dimension::RATE));
    duration.or_else(|_| size()).or_else(|_| rate()).ok()
}
