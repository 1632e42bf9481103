//! `mtr --json`: a report.

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
    hubs: Vec<Map<String, Value>>,
}

fn read(input: Input<'_>, _: &Options) -> Result<Imported, ImportError> {
    let bytes = &input.bytes()?;
    let document: Document = json::read(bytes, &FORMAT)?;
    let mut imported = mtr::report(&FORMAT);
    for (hub, place) in document.report.hubs.iter().zip(1..) {
        let text = |key: &str| hub.get(key).map(plain).unwrap_or_default();
        let number = text("count").parse().unwrap_or(place);
        imported.streams.push(mtr::hop(number, &text("host")));
        for (column, value) in hub {
            mtr::say(&mut imported, column, &plain(value));
        }
    }
    Ok(mtr::finish(imported))
}

/// Older versions write some numbers as strings.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
