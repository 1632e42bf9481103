//! Groups of fields that exclude each other: setting one removes the others.

use super::diagnostic::Problem;
use super::tree::{Key, Node, Value, names};

/// Ways to give the size of a packet.
const SIZES: &[&str] = &["ip_size", "payload", "frame_size"];
/// Ways to pace a probe. `burst` is not in the group because it goes with `every`.
const PACINGS: &[&str] = &["every", "poisson", "wait", "load"];

/// The fields of the table at `path` that setting `key` removes.
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
        .filter(move |other| member && *other != key)
}

/// Whether a value set at `later` replaces or removes any of what these nodes hold, which were set at `place` before.
pub(crate) fn hides(later: &[Key], place: &[Key], nodes: &[&Node]) -> bool {
    let Some((Key::Name(last), above)) = later.split_last() else {
        return false;
    };
    let is_hidden = |name: &str| {
        let gone = [above, &[name.into()]].concat();
        let has = |node: &&Node, below: &[Key]| {
            let found = below.iter().try_fold(*node, |node, key| node.get(key));
            found.is_some()
        };
        let part = gone.strip_prefix(place);
        place.starts_with(&gone)
            || part.is_some_and(|below| nodes.iter().any(|node| has(node, below)))
    };
    is_hidden(last) || exclusive(above, last).any(is_hidden)
}

/// Whether an overlay replaces this value as a whole instead of merging it: `pacing` and the list of cases.
pub(crate) fn replaces_whole(path: &[Key], key: &str) -> bool {
    matches!(
        (names(path).as_slice(), key),
        (["probe", "[]"], "pacing") | ([], "case")
    )
}

/// Whether the table at this path is an overlay. It contains the same sections as the file: paths in it begin anew.
pub(crate) fn begins_anew(path: &[Key]) -> bool {
    matches!(names(path).as_slice(), ["quick"] | ["in", _])
}

/// Problems of exclusive fields written in the same table, where it is unclear which one is meant.
pub(crate) fn written_together(root: &Node) -> Vec<Problem> {
    let mut problems = Vec::new();
    walk(root, &mut Vec::new(), &mut problems);
    problems
}

fn walk(node: &Node, path: &mut Vec<Key>, problems: &mut Vec<Problem>) {
    match &node.value {
        Value::Table(table) => {
            for entry in &table.0 {
                let other = exclusive(path, &entry.key)
                    .filter_map(|other| table.entry(other))
                    .find(|other| other.key_at.span.start < entry.key_at.span.start);
                if let Some(other) = other {
                    let what = format!("`{}` and `{}` are both given", other.key, entry.key);
                    problems.push(Problem::new(&entry.key_at, what).help("keep one of them"));
                }
                path.push(Key::Name(entry.key.clone()));
                match begins_anew(path) {
                    true => walk(&entry.node, &mut Vec::new(), problems),
                    false => walk(&entry.node, path, problems),
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
