//! Levels of a factor: a value as written, and its number and unit if it is a quantity.

use super::diagnostic::Problem;
use super::reader::read;
use super::sections::known_keys;
use super::tree::{Node, Table, Value};
use delaylab_model::plan::{Level, Unit};
use delaylab_model::quantity::{Limit, Share};
use delaylab_model::units::{parse_duration, parse_rate, parse_size, write_duration};

/// Limit on the levels of a range.
const MOST_LEVELS: u64 = 10_000;

/// The values of a list of levels, with each range replaced by its values.
pub(crate) fn expand(list: &Node) -> Result<Vec<Node>, Problem> {
    let Some(elements) = list.array() else {
        return Err(Problem::new(
            &list.at,
            format!("expected a list of levels, found {}", list.value.kind()),
        ));
    };
    let mut levels = Vec::new();
    for element in elements {
        match &element.value {
            Value::Table(range) => levels.extend(range_of(range, element)?),
            Value::Array(_) => return Err(Problem::new(&element.at, "a level is not a list")),
            _ => levels.push(element.clone()),
        }
    }
    Ok(levels)
}

/// Makes a level of a value.
pub(crate) fn level(node: &Node) -> Level {
    let label = match &node.value {
        Value::Boolean(truth) => truth.to_string(),
        Value::Integer(integer) => integer.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        Value::Array(_) | Value::Table(_) => node.value.kind().to_owned(),
    };
    let (value, unit) = match (&node.value, measured(node)) {
        (Value::Float(number), _) => (Some(*number), Some(Unit::Number)),
        (_, Some((parts, Unit::Share))) => (Some(Share(parts).as_f64()), Some(Unit::Share)),
        (_, Some((number, unit))) => (Some(number as f64), Some(unit)),
        _ => (None, None),
    };
    Level { label, value, unit }
}

/// A value as a whole number of its base unit; a share in parts of 10⁹. `None` if it is not a quantity.
fn measured(node: &Node) -> Option<(u64, Unit)> {
    let text = match &node.value {
        Value::Integer(integer) => return Some((u64::try_from(*integer).ok()?, Unit::Number)),
        Value::Text(text) => text,
        _ => return None,
    };
    if let Ok(ns) = parse_duration(text) {
        return Some((u64::try_from(ns).ok()?, Unit::Nanoseconds));
    }
    if let Ok(bytes) = parse_size(text) {
        return Some((bytes, Unit::Bytes));
    }
    if let Ok(bits) = parse_rate(text) {
        return Some((bits, Unit::BitsPerSecond));
    }
    if let Ok(Share(parts)) = text.parse() {
        return Some((parts, Unit::Share));
    }
    match text.parse().ok()? {
        Limit::Cells(cells) => Some((cells, Unit::Cells)),
        Limit::Packets(packets) => Some((packets, Unit::Packets)),
        Limit::Share(_) | Limit::Bytes(_) | Limit::Unlimited => None,
    }
}

/// A number of base units as a value for the experiment file; inverse of `measured`.
fn write(number: u64, unit: Unit) -> Value {
    let text = match unit {
        Unit::Nanoseconds => write_duration(number as i64),
        Unit::Bytes => format!("{number}B"),
        Unit::BitsPerSecond => format!("{number}bit/s"),
        Unit::Cells => format!("{number}cells"),
        Unit::Packets => format!("{number}packets"),
        Unit::CellsPerSecond => format!("{number}cells/s"),
        Unit::Share => percent(number),
        Unit::Number => return Value::Integer(number as i64),
    };
    Value::Text(text)
}

fn percent(parts: u64) -> String {
    let (whole, fraction) = (parts / 10_000_000, parts % 10_000_000);
    let text = format!("{whole}.{fraction:07}");
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

fn range_of(range: &Table, node: &Node) -> Result<Vec<Node>, Problem> {
    known_keys(range, &["from", "to", "step"])?;
    let bound = |key: &str| {
        let Some(bound) = range.get(key) else {
            let problem = Problem::new(&node.at, format!("`{key}` is missing"));
            return Err(
                problem.help("a range is { from = \"64B\", to = \"512B\", step = \"64B\" }")
            );
        };
        measured(bound).ok_or_else(|| {
            let what = format!(
                "expected a whole number, or one with its unit, found {}",
                describe(bound)
            );
            Problem::new(&bound.at, what)
        })
    };
    let ((from, unit), (to, to_unit), (step, step_unit)) =
        (bound("from")?, bound("to")?, bound("step")?);
    if unit != to_unit || unit != step_unit {
        return Err(Problem::new(
            &node.at,
            "the parts of a range have different units",
        ));
    }
    if step == 0 || to < from || (to - from) / step >= MOST_LEVELS {
        let problem = Problem::new(
            &node.at,
            format!("a range of 1 to {MOST_LEVELS} levels is owed"),
        );
        return Err(problem.help("`from` is at most `to`, and `step` is more than nothing"));
    }
    let numbers = (0..=(to - from) / step).map(|k| from + k * step);
    Ok(numbers
        .map(|number| Node {
            value: write(number, unit),
            at: node.at.clone(),
        })
        .collect())
}

fn describe(node: &Node) -> String {
    match read::<&str>(node) {
        Ok(text) => format!("`{text}`"),
        Err(_) => node.value.kind().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::diagnostic::Origin;
    use super::super::tree::parse_value;
    use super::*;
    use proptest::prelude::*;

    fn node(text: &str) -> Node {
        let at = Origin {
            source: 0,
            span: 0..0,
        };
        parse_value(text, &at)
    }

    #[test]
    fn a_level_knows_its_number() {
        for (text, value, unit) in [
            ("1ms", 1e6, Unit::Nanoseconds),
            ("64B", 64.0, Unit::Bytes),
            ("10Mbit/s", 1e7, Unit::BitsPerSecond),
            ("500cells", 500.0, Unit::Cells),
            ("49.8%", 0.498, Unit::Share),
            ("50ppm", 5e-5, Unit::Share),
            ("3", 3.0, Unit::Number),
            ("2.5", 2.5, Unit::Number),
        ] {
            let level = level(&node(text));
            assert_eq!(
                (level.value, level.unit),
                (Some(value), Some(unit)),
                "{text}"
            );
            assert_eq!(level.label, text);
        }
        assert_eq!(level(&node("quiet")), Level::named("quiet"));
    }

    #[test]
    fn ranges_have_both_ends() {
        let list = node(r#"["40B", { from = "64B", to = "96B", step = "16B" }, 7]"#);
        let labels: Vec<_> = expand(&list)
            .unwrap()
            .iter()
            .map(|n| level(n).label)
            .collect();
        assert_eq!(labels, ["40B", "64B", "80B", "96B", "7"]);
        let clocks = expand(&node(
            r#"[{ from = "0ppm", to = "40ppm", step = "20ppm" }]"#,
        ))
        .unwrap();
        assert_eq!(level(&clocks[2]).value, level(&node("40ppm")).value);
        for wrong in [
            r#"[{ from = "1B", to = "9B" }]"#,
            r#"[{ from = "1B", to = "9ms", step = "1B" }]"#,
            r#"[{ from = "1B", to = "9B", step = "0B" }]"#,
            r#"[{ from = "9B", to = "1B", step = "1B" }]"#,
            r#"[{ from = "0B", to = "1GB", step = "1B" }]"#,
            r#"[{ from = "few", to = "9B", step = "1B" }]"#,
            r#"[[1]]"#,
            r#""40B""#,
        ] {
            assert!(expand(&node(wrong)).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_measured_as_the_same(number in 0..=i64::MAX as u64, unit in 0..7_usize) {
            let units = [
                Unit::Nanoseconds, Unit::Bytes, Unit::BitsPerSecond, Unit::Cells, Unit::Packets,
                Unit::Share, Unit::Number,
            ];
            let written = Node { value: write(number, units[unit]), at: node("0").at };
            prop_assert_eq!(measured(&written), Some((number, units[unit])));
        }
    }
}
