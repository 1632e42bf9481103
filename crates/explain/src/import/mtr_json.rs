//! `mtr --json`: a report.

use super::{Format, ImportError, Imported, json, mtr};
use serde::Deserialize;
use serde_json::{Map, Value};

pub fn is(bytes: &[u8]) -> bool {
    json::has(bytes, "mtr")
}

#[derive(Deserialize)]
struct Document {
    report: Report,
}

#[derive(Deserialize)]
struct Report {
    hubs: Vec<Map<String, Value>>,
}

pub fn read(bytes: &[u8]) -> Result<Imported, ImportError> {
    let document: Document = json::read(bytes, Format::MtrJson)?;
    let mut imported = mtr::report(Format::MtrJson);
    for (hub, place) in document.report.hubs.iter().zip(1..) {
        let text = |key: &str| hub.get(key).map(plain).unwrap_or_default();
        let number = text("count").parse().unwrap_or(place);
        imported.streams.push(mtr::hop(number, &text("host")));
        for (column, value) in hub {
            mtr::say(&mut imported, column, &plain(value));
        }
    }
    Ok(imported)
}

/// Older versions write some numbers as strings.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
