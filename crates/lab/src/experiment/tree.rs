//! An experiment file as a tree. Each value keeps the place where it was written.

use super::diagnostic::{Origin, Problem};
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// A value and where it was written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub value: Value,
    pub at: Origin,
}

/// The value types of TOML except dates, which no experiment needs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Boolean(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    Array(Vec<Node>),
    Table(Table),
}

/// A key, where it was written, and its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub key: String,
    pub key_at: Origin,
    pub node: Node,
}

/// Entries in the order of the file. The order of factors depends on it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Table(pub Vec<Entry>);

/// One step of a path from the root: a key of a table, or an index of a list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Key {
    Name(String),
    Index(usize),
}

impl From<&str> for Key {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

impl Table {
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.node)
    }

    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        self.0.iter().find(|entry| entry.key == key)
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        let entry = self.0.iter_mut().find(|entry| entry.key == key);
        entry.map(|entry| &mut entry.node)
    }

    pub(crate) fn remove(&mut self, key: &str) -> Option<Node> {
        let index = self.0.iter().position(|entry| entry.key == key)?;
        Some(self.0.remove(index).node)
    }

    /// Replaces the value of a key, or adds it at the end.
    pub(crate) fn put(&mut self, key: &str, key_at: &Origin, node: Node) {
        match self.get_mut(key) {
            Some(present) => *present = node,
            None => self.0.push(Entry {
                key: key.to_owned(),
                key_at: key_at.clone(),
                node,
            }),
        }
    }

    /// The text under a key; `None` if the value is not text.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        match &self.get(key)?.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl Value {
    /// Name of the type, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Value::Boolean(_) => "a truth value",
            Value::Integer(_) => "an integer",
            Value::Float(_) => "a number",
            Value::Text(_) => "text",
            Value::Array(_) => "a list",
            Value::Table(_) => "a table",
        }
    }
}

impl Node {
    pub(crate) fn empty_table(at: &Origin) -> Self {
        Self {
            value: Value::Table(Table::default()),
            at: at.clone(),
        }
    }

    pub(crate) fn table(&self) -> Option<&Table> {
        match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The table under a key of this table.
    pub(crate) fn table_at(&self, key: &str) -> Option<&Table> {
        self.table()?.get(key)?.table()
    }

    pub(crate) fn array(&self) -> Option<&[Node]> {
        match &self.value {
            Value::Array(nodes) => Some(nodes),
            _ => None,
        }
    }

    pub(crate) fn get(&self, key: &Key) -> Option<&Node> {
        match (key, &self.value) {
            (Key::Name(name), Value::Table(table)) => table.get(name),
            (Key::Index(index), Value::Array(nodes)) => nodes.get(*index),
            _ => None,
        }
    }

    /// The node at a path, or the deepest existing node above it.
    pub(crate) fn nearest(&self, path: &[Key]) -> &Node {
        let mut node = self;
        for key in path {
            match node.get(key) {
                Some(below) => node = below,
                None => break,
            }
        }
        node
    }
}

/// A path as names, to match against patterns. An index becomes `[]`.
pub(crate) fn names(path: &[Key]) -> Vec<&str> {
    path.iter()
        .map(|key| match key {
            Key::Name(name) => name.as_str(),
            Key::Index(_) => "[]",
        })
        .collect()
}

/// The name by which an element of a list is addressed: its `name`, or else its `id`.
pub(crate) fn name_of(node: &Node) -> Option<&str> {
    let table = node.table()?;
    table.text("name").or_else(|| table.text("id"))
}

/// Parses TOML. The problems are the first syntax error, and each value that the tree cannot hold.
pub(crate) fn parse(text: &str, source: usize) -> Result<Node, Vec<Problem>> {
    let at = |span| Origin { source, span };
    let (table, errors) = DeTable::parse_recoverable(text);
    // After the first error the parser guesses, so later errors are seldom real.
    let mut problems: Vec<_> = errors
        .first()
        .into_iter()
        .map(|error| Problem::new(&at(error.span().unwrap_or(0..0)), error.message()))
        .collect();
    let span = table.span();
    let table = read_table(table.into_inner(), source, &mut problems);
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(Node {
        value: Value::Table(table),
        at: at(span),
    })
}

/// Parses the value of a `--set` as TOML, or else takes it as plain text.
pub(crate) fn parse_value(text: &str, at: &Origin) -> Node {
    let mut problems = Vec::new();
    let parsed = DeValue::parse(text).ok();
    let node = parsed.map(|value| read_value(value, at.source, &mut problems));
    match node {
        Some(mut node) if problems.is_empty() => {
            set_place(&mut node, at);
            node
        }
        _ => Node {
            value: Value::Text(text.to_owned()),
            at: at.clone(),
        },
    }
}

/// Sets the place of a node and of everything below it.
fn set_place(node: &mut Node, at: &Origin) {
    node.at = at.clone();
    match &mut node.value {
        Value::Array(nodes) => nodes.iter_mut().for_each(|below| set_place(below, at)),
        Value::Table(table) => {
            for entry in &mut table.0 {
                entry.key_at = at.clone();
                set_place(&mut entry.node, at);
            }
        }
        _ => {}
    }
}

fn read_table(table: DeTable<'_>, source: usize, problems: &mut Vec<Problem>) -> Table {
    let mut entries: Vec<_> = table
        .into_iter()
        .map(|(key, value)| Entry {
            key_at: Origin {
                source,
                span: key.span(),
            },
            key: key.into_inner().into_owned(),
            node: read_value(value, source, problems),
        })
        .collect();
    entries.sort_by_key(|entry| entry.key_at.span.start);
    Table(entries)
}

fn read_array(array: DeArray<'_>, source: usize, problems: &mut Vec<Problem>) -> Vec<Node> {
    array
        .into_iter()
        .map(|value| read_value(value, source, problems))
        .collect()
}

fn read_value(value: Spanned<DeValue<'_>>, source: usize, problems: &mut Vec<Problem>) -> Node {
    let at = Origin {
        source,
        span: value.span(),
    };
    let mut wrong = |what: String| {
        problems.push(Problem::new(&at, what));
        Value::Boolean(false)
    };
    let value = match value.into_inner() {
        DeValue::Boolean(truth) => Value::Boolean(truth),
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(integer) => match i64::from_str_radix(integer.as_str(), integer.radix()) {
            Ok(integer) => Value::Integer(integer),
            Err(_) => wrong(format!("`{integer}` does not fit 64 bits")),
        },
        DeValue::Float(float) => match float.as_str().parse::<f64>() {
            Ok(number) if number.is_finite() => Value::Float(number),
            _ => wrong(format!("`{float}` is not a finite number")),
        },
        DeValue::Datetime(date) => wrong(format!("`{date}` is a date: no field takes one")),
        DeValue::Array(array) => Value::Array(read_array(array, source, problems)),
        DeValue::Table(table) => Value::Table(read_table(table, source, problems)),
    };
    Node { value, at }
}
