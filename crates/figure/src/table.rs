//! A tidy table: a row an observation, a column a variable. What a figure draws, and all of it.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Columns by name, and rows of their values. Times are integer nanoseconds and end in `_ns`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// The names of the columns.
    pub columns: Vec<&'static str>,
    /// A value for each column; null where there is none.
    pub rows: Vec<Vec<Value>>,
}

impl Table {
    /// Of columns with these names, between blanks.
    pub(super) fn new(columns: &'static str) -> Self {
        Self {
            columns: columns.split(' ').collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row. As many values as there are columns.
    pub(super) fn row<const N: usize>(&mut self, values: [Value; N]) {
        debug_assert_eq!(N, self.columns.len());
        self.rows.push(values.into());
    }

    /// Adds a row that has these values alone, each in the column of this name.
    pub(super) fn row_of<const N: usize>(&mut self, values: [(&str, Value); N]) {
        let mut values = BTreeMap::from(values);
        let row = self.columns.iter().map(|name| values.remove(name));
        let row = row.map(Option::unwrap_or_default).collect();
        self.rows.push(row);
        debug_assert!(values.is_empty(), "{values:?}");
    }

    /// The number in this column that is the furthest from zero, of each value of another column.
    pub(super) fn largest_by(&self, panel: usize, column: usize) -> Vec<i64> {
        let mut largest: BTreeMap<String, i64> = BTreeMap::new();
        for row in &self.rows {
            let value = row[column].as_f64().map_or(0, |value| value.abs() as i64);
            let of_panel = largest.entry(row[panel].to_string()).or_default();
            *of_panel = value.max(*of_panel);
        }
        largest.into_values().collect()
    }

    /// The same of all rows.
    pub(super) fn largest(&self, column: usize) -> Option<i64> {
        let values = self.rows.iter().filter_map(|row| row[column].as_f64());
        values.map(|value| value.abs() as i64).max()
    }

    /// The rows as Vega-Lite wants them: an object each, nulls left out.
    pub fn objects(&self) -> Value {
        let object = |row: &Vec<Value>| -> Map<String, Value> {
            let cells = self.columns.iter().zip(row);
            let known = cells.filter(|(_, value)| !value.is_null());
            known
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect()
        };
        self.rows.iter().map(object).collect()
    }
}
