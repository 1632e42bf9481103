//! Fields of which there can be only one: who writes one of them means it instead of the others.

use super::diagnostic::Problem;
use super::tree::{Key, Node, Value, names};

/// A packet has one size.
const SIZES: &[&str] = &["ip_size", "payload", "frame_size"];
/// A probe has one clock; `burst` goes with `every`.
const PACINGS: &[&str] = &["every", "poisson", "wait", "load"];

/// The fields that give way to `key` in the table at `path`.
pub(crate) fn exclusive(path: &[Key], key: &str) -> impl Iterator<Item = &'static str> + use<> {
    let group: &[&str] = match names(path).as_slice() {
        ["probe", "[]"] => SIZES,
        ["probe", "[]", "pacing"] => PACINGS,
        _ => &[],
    };
    let member = group.contains(&key);
    let key = key.to_owned();
    group
        .iter()
        .copied()
        .filter(move |rival| member && *rival != key)
}

/// Whether an overlay replaces this value as a whole: a pacing is a choice, cases are a list.
pub(crate) fn replaces_whole(path: &[Key], key: &str) -> bool {
    matches!(
        (names(path).as_slice(), key),
        (["probe", "[]"], "pacing") | ([], "case")
    )
}

/// Rivals that stand side by side in a table as it was written: nobody can say which is meant.
pub(crate) fn written_together(root: &Node) -> Vec<Problem> {
    let mut problems = Vec::new();
    walk(root, &mut Vec::new(), &mut problems);
    problems
}

fn walk(node: &Node, path: &mut Vec<Key>, problems: &mut Vec<Problem>) {
    match &node.value {
        Value::Table(table) => {
            for entry in &table.0 {
                let rival = exclusive(path, &entry.key)
                    .filter_map(|rival| table.entry(rival))
                    .find(|rival| rival.key_at.span.start < entry.key_at.span.start);
                if let Some(rival) = rival {
                    let what = format!("`{}` and `{}` are both given", rival.key, entry.key);
                    problems.push(Problem::new(&entry.key_at, what).help("keep one of them"));
                }
                path.push(Key::Name(entry.key.clone()));
                // The sections of an overlay are those of the file again.
                match names(path).as_slice() {
                    ["quick"] | ["in", _] => walk(&entry.node, &mut Vec::new(), problems),
                    _ => walk(&entry.node, path, problems),
                }
                path.pop();
            }
        }
        Value::Array(nodes) => {
            for (index, node) in nodes.iter().enumerate() {
                path.push(Key::Index(index));
                walk(node, path, problems);
                path.pop();
            }
        }
        _ => {}
    }
}
