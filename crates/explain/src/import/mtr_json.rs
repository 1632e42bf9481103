//! `mtr --json`: a report, or those of several calls one behind the other.

use super::{Format, ImportError, Imported, Input, Options, Rules, json, mtr};
use serde::Deserialize;
use serde_json::{Map, Value};

pub static FORMAT: Format = Format {
    name: "mtr --json",
    command: "mtr --json -c 100 TARGET > FILE",
    looks: "keys `report` and `hubs`",
    signs: &[r#""hubs""#, r#""mtr""#],
    rules: Rules::USUAL,
    is,
    read,
};

fn is(bytes: &[u8]) -> bool {
    json::has(bytes, "mtr")
}

#[derive(Deserialize)]
struct Document {
    report: Report,
}

#[derive(Deserialize)]
struct Report {
    #[serde(default)]
    mtr: Value,
    hubs: Vec<Map<String, Value>>,
}

fn read(input: Input<'_>, _: &Options) -> Result<Imported, ImportError> {
    let mut imported = mtr::report(&FORMAT);
    json::each(input, &mut imported, add)?;
    Ok(mtr::finish(imported))
}

fn add(imported: &mut Imported, document: Document) {
    let target = json::text(&document.report.mtr, "dst").unwrap_or_default();
    for (hub, place) in document.report.hubs.iter().zip(1..) {
        let text = |key: &str| hub.get(key).map(plain).unwrap_or_default();
        let number = text("count").parse().unwrap_or(place);
        imported
            .streams
            .push(mtr::hop(number, &text("host"), target));
        for (column, value) in hub {
            mtr::say(imported, column, &plain(value));
        }
    }
}

/// Older versions write some numbers as strings.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::import;

    #[test]
    fn each_report_has_hops_of_its_own() {
        let sample = include_str!("../../tests/data/import/mtr.json");
        let once = import::read(sample.as_bytes(), None).unwrap();
        let twice = import::read(sample.repeat(2).as_bytes(), None).unwrap();
        assert_eq!(twice.streams.len(), 2 * once.streams.len());
        assert_eq!(twice.said.len(), 2 * once.said.len());
        assert_eq!(twice.warnings, once.warnings);
    }
}
