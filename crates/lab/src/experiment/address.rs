//! Dotted paths: `probe.echo.pacing.wait`, `path.switch.buffer`, `probe.*.count`.
//!
//! An element of a list is addressed by its `name`; `*` means every element. A name that contains a dot
//! is quoted: `probe."10.0.0.1".count`.

use super::diagnostic::{Origin, Problem};
use super::tree::{Key, Node, Table, Value, name_of, names};
use crate::suggest::choices;

/// One step of a dotted path: a name, or `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Name(String),
    Each,
}

/// Every place of the tree that matches a dotted path. The last key of a place, and tables on the way
/// to it, need not exist yet.
pub(crate) fn expand(root: &Node, path: &str, at: &Origin) -> Result<Vec<Vec<Key>>, Problem> {
    let mut places = vec![Vec::new()];
    for step in split(path, at)? {
        let mut further = Vec::new();
        for place in &places {
            further.extend(walk(root, place.clone(), &step, at)?);
        }
        if further.is_empty() {
            let above = places.first().map_or(&[][..], Vec::as_slice);
            let what = format!("`*` matches nothing in `{}`", written(root, above));
            return Err(Problem::new(at, what));
        }
        places = further;
    }
    Ok(places)
}

fn split(path: &str, at: &Origin) -> Result<Vec<Step>, Problem> {
    let problem = |what: &str| Problem::new(at, format!("`{path}` {what}"));
    let mut steps = Vec::new();
    let mut rest = path.trim();
    loop {
        let (step, after) = match rest.chars().next() {
            Some(quote @ ('"' | '\'')) => quoted(&rest[1..], quote)
                .ok_or_else(|| Problem::new(at, format!("a quote is left open in `{path}`")))?,
            _ => plain(rest),
        };
        if step == Step::Name(String::new()) {
            let problem = problem("has an empty step");
            return Err(problem.help("a path is names with dots between, like `probe.echo.count`"));
        }
        steps.push(step);
        match after.trim_start().strip_prefix('.') {
            Some(next) => rest = next.trim_start(),
            None if after.trim().is_empty() => return Ok(steps),
            None => return Err(problem("lacks a dot after a quote")),
        }
    }
}

fn quoted(text: &str, quote: char) -> Option<(Step, &str)> {
    let (name, after) = text.split_once(quote)?;
    Some((Step::Name(name.to_owned()), after))
}

fn plain(text: &str) -> (Step, &str) {
    let (name, after) = text.split_at(text.find('.').unwrap_or(text.len()));
    match name.trim() {
        "*" => (Step::Each, after),
        name => (Step::Name(name.to_owned()), after),
    }
}

fn walk(root: &Node, place: Vec<Key>, step: &Step, at: &Origin) -> Result<Vec<Vec<Key>>, Problem> {
    let down = |key| [place.clone(), vec![key]].concat();
    let here = place
        .iter()
        .try_fold(root, |node, key| node.get(key))
        .map(|node| &node.value);
    match (here, step) {
        (None, _) if is_list(&place) => Err(none_there(root, &place, at)),
        (None | Some(Value::Table(_)), Step::Name(name)) => Ok(vec![down(Key::Name(name.clone()))]),
        (Some(Value::Table(table)), Step::Each) => Ok(each_entry(table).map(down).collect()),
        (Some(Value::Array(nodes)), Step::Each) => {
            Ok((0..nodes.len()).map(Key::Index).map(down).collect())
        }
        (Some(Value::Array(nodes)), Step::Name(name)) => {
            let index = nodes.iter().position(|node| name_of(node) == Some(name));
            let index = index.ok_or_else(|| no_such(&written(root, &place), nodes, name, at))?;
            Ok(vec![down(Key::Index(index))])
        }
        (None, Step::Each) => Err(Problem::new(at, "there is nothing that `*` could mean")),
        (Some(other), _) => Err(Problem::new(
            at,
            format!(
                "`{}` is {}: it has no fields",
                written(root, &place),
                other.kind()
            ),
        )),
    }
}

fn each_entry(table: &Table) -> impl Iterator<Item = Key> {
    table.0.iter().map(|entry| Key::Name(entry.key.clone()))
}

/// Is this place a list, even if the file does not have it yet?
fn is_list(place: &[Key]) -> bool {
    matches!(
        names(place).as_slice(),
        ["probe" | "load" | "case" | "finding" | "figure"] | ["path", "node" | "link" | "server"]
    )
}

fn none_there(root: &Node, place: &[Key], at: &Origin) -> Problem {
    Problem::new(at, format!("there is no [[{}]]", written(root, place)))
}

fn no_such(list: &str, nodes: &[Node], name: &str, at: &Origin) -> Problem {
    let problem = Problem::new(at, format!("no {list} is called `{name}`"));
    let names: Vec<_> = nodes.iter().filter_map(name_of).collect();
    problem.help_if(choices(name, names))
}

/// A place as a dotted path for messages, with list elements by name.
pub(crate) fn written(root: &Node, place: &[Key]) -> String {
    let name = |depth: usize, key: &Key| match key {
        Key::Name(name) => name.clone(),
        Key::Index(index) => {
            name_of(root.nearest(&place[..=depth])).map_or_else(|| index.to_string(), str::to_owned)
        }
    };
    let names: Vec<_> = place
        .iter()
        .enumerate()
        .map(|(depth, key)| name(depth, key))
        .collect();
    names.join(".")
}
