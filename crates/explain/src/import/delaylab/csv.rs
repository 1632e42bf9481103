//! The CSV of `delaylab ping --csv`: the names of docs/json.md in its first line, then a line a packet.

use super::record;
use crate::import::text::{Strange, begins_with_digit};
use crate::import::{Imported, Input};
use delaylab_model::record::Record;
use serde_json::Value;

/// Columns whose values are texts, also where they look like numbers.
const TEXTS: &[&str] = &["answer"];

/// Is this the beginning of one?
pub fn is(head: &str) -> bool {
    let names = head.lines().next().unwrap_or_default();
    let has = |name| names.split(',').any(|known| known.trim() == name);
    ["seq", "t_intended_ns", "t_recv_ns", "outcome"]
        .into_iter()
        .all(has)
}

/// The packets below each line of names. A line that is none of the two is a warning.
pub fn records(input: Input<'_>, imported: &mut Imported) -> Vec<Vec<Record>> {
    let mut lines = input.lines();
    let mut names = Vec::new();
    let mut calls: Vec<Vec<Record>> = Vec::new();
    let mut strange = Strange::default();
    while let Some((number, line)) = lines.next() {
        let cells = line.trim_end().split(',');
        if !begins_with_digit(line) && is(line) {
            names = cells.map(|name| name.trim().to_owned()).collect();
            calls.push(Vec::new());
            continue;
        }
        match (packet(&names, &cells.collect::<Vec<_>>()), calls.last_mut()) {
            (Some(record), Some(records)) => records.push(record),
            _ => strange.note(number, line),
        }
    }
    lines.warn_if_cut(imported);
    strange.warn(imported);
    imported.warn(
        "CSV says neither the target nor whose clock the reflector's stamps are: `delaylab ping --json` says both",
    );
    calls
}

fn packet(names: &[String], cells: &[&str]) -> Option<Record> {
    if cells.len() != names.len() {
        return None;
    }
    let known = names.iter().zip(cells).filter(|(_, cell)| !cell.is_empty());
    let values = known.map(|(name, cell)| (name.clone(), value(name, cell)));
    record(&Value::Object(values.collect())).ok()
}

fn value(name: &str, cell: &str) -> Value {
    match cell.parse::<i64>() {
        Ok(number) if !TEXTS.contains(&name) => number.into(),
        _ => cell.into(),
    }
}
