//! The data of a figure in a page, column by column: a name stands once, not once a row, and so does each
//! word. `web/src/packed.ts` makes rows of it again.

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// `{rows: COUNT, columns: {NAME: [VALUE…] or {words: [WORD…], at: [PLACE…]}}}`; null where a row has no value.
pub(super) fn columns(rows: &[Value]) -> Value {
    let mut columns = BTreeMap::<&str, Vec<&Value>>::new();
    for (at, row) in rows.iter().enumerate() {
        for (name, value) in row.as_object().into_iter().flatten() {
            let column = columns.entry(name).or_default();
            column.resize(at, &Value::Null);
            column.push(value);
        }
    }
    let named = |(name, values): (&str, Vec<&Value>)| (name.to_owned(), column(values));
    let columns: Map<String, Value> = columns.into_iter().map(named).collect();
    json!({ "rows": rows.len(), "columns": columns })
}

/// Nothing after its last value.
fn column(values: Vec<&Value>) -> Value {
    if !values.iter().any(|value| value.is_string()) {
        return json!(values);
    }
    let mut words: Vec<&Value> = Vec::new();
    let at = values.into_iter().map(|value| {
        let known = words.iter().position(|word| *word == value);
        known.unwrap_or_else(|| {
            words.push(value);
            words.len() - 1
        })
    });
    let at: Vec<_> = at.collect();
    json!({ "words": words, "at": at })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_its_column_and_every_word_once() {
        let rows = [
            json!({ "panel": "a", "t": 1 }),
            json!({ "panel": "b" }),
            json!({ "panel": "a", "t": 3, "who": "cc" }),
            json!({ "panel": "a" }),
        ];
        let expected = json!({ "rows": 4, "columns": {
            "panel": { "words": ["a", "b"], "at": [0, 1, 0, 0] },
            "t": [1, null, 3],
            "who": { "words": [null, "cc"], "at": [0, 0, 1] },
        }});
        assert_eq!(columns(&rows), expected);
    }
}
