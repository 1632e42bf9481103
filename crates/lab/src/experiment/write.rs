//! Writes the tree as TOML text. Reading the text gives an equal tree.

use super::tree::{Node, Table, Value};

/// Writes a table as a TOML document.
pub(crate) fn document(table: &Table) -> String {
    // Cannot fail: keys are text and numbers are finite.
    toml::to_string(&of_table(table)).unwrap_or_default()
}

fn of_table(table: &Table) -> toml::Table {
    table
        .0
        .iter()
        .map(|entry| (entry.key.clone(), of_node(&entry.node)))
        .collect()
}

fn of_node(node: &Node) -> toml::Value {
    match &node.value {
        Value::Boolean(truth) => toml::Value::Boolean(*truth),
        Value::Integer(integer) => toml::Value::Integer(*integer),
        Value::Float(number) => toml::Value::Float(*number),
        Value::Text(text) => toml::Value::String(text.clone()),
        Value::Array(nodes) => toml::Value::Array(nodes.iter().map(of_node).collect()),
        Value::Table(table) => toml::Value::Table(of_table(table)),
    }
}
