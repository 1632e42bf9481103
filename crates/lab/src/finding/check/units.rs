//! Parses numbers with units.

use super::syntax::Number;
use crate::finding::dimension::Dimension;
use crate::finding::series::CELL_BITS;
use delaylab_model::units::{parse_duration, parse_rate, parse_size};

/// Converts a number and its unit, both as written, to base units; `None` if the number or the unit is invalid.
pub(super) fn number(digits: &str, unit: &str) -> Option<Number> {
    let text = format!("{digits}{unit}");
    let plain = digits.parse::<f64>().ok().filter(|value| value.is_finite());
    let (value, dimension) = match unit {
        "" => (plain?, Dimension::NUMBER),
        "%" => (plain? / 100.0, Dimension::NUMBER),
        "ppm" => (plain? / 1e6, Dimension::NUMBER),
        "cells" | "cell" => (plain?, Dimension::CELLS),
        "packets" | "packet" => (plain?, Dimension::PACKETS),
        "cells/s" | "cell/s" => (plain? * CELL_BITS, Dimension::RATE),
        _ => quantity(&text).or_else(|| finer(plain?, unit))?,
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

/// A duration that is not a whole number of nanoseconds: a mean may be compared with one.
fn finer(plain: f64, unit: &str) -> Option<(f64, Dimension)> {
    let scale = match unit {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    Some((plain * scale, Dimension::TIME))
}
