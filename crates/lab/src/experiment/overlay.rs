//! Overlays one tree on another, and sets single values: what is written over a field removes those that it excludes.

use super::diagnostic::{Origin, Problem};
use super::exclusive::{begins_anew, exclusive, replaces_whole};
use super::tree::{Key, Node, Table, Value, name_of};

impl Node {
    /// Sets a value at a path. Creates missing tables on the way, and removes fields that the last key excludes.
    pub(crate) fn set(&mut self, path: &[Key], at: &Origin, node: Node) -> Result<(), Problem> {
        let Some((last, above)) = path.split_last() else {
            return Err(Problem::new(at, "a path names a field, not the whole file"));
        };
        let mut here = self;
        for key in above {
            let kind = here.value.kind();
            let below = match (key, &mut here.value) {
                (Key::Name(name), Value::Table(table)) => {
                    if table.get(name).is_none() {
                        table.put(name, at, Node::empty_table(at));
                    }
                    table.get_mut(name)
                }
                (Key::Index(index), Value::Array(nodes)) => nodes.get_mut(*index),
                _ => None,
            };
            here = below.ok_or_else(|| no_way_through(at, key, kind))?;
        }
        match (last, &mut here.value) {
            (Key::Name(name), Value::Table(table)) => {
                exclusive(above, name).for_each(|other| drop(table.remove(other)));
                table.put(name, at, node);
                Ok(())
            }
            (key, value) => Err(no_way_through(at, key, value.kind())),
        }
    }
}

fn no_way_through(at: &Origin, key: &Key, kind: &str) -> Problem {
    let name = match key {
        Key::Name(name) => name.clone(),
        Key::Index(index) => index.to_string(),
    };
    Problem::new(at, format!("there is no `{name}` in {kind}"))
}

/// Overlays table `over` on table `base`. Tables merge; lists whose elements have names merge by name;
/// any other value replaces the one in `base`. `here`: path of `base` in the tree.
pub(crate) fn overlay(base: &mut Table, over: &Table, here: &mut Vec<Key>) {
    for entry in &over.0 {
        exclusive(here, &entry.key).for_each(|other| drop(base.remove(other)));
        let whole = replaces_whole(here, &entry.key);
        here.push(Key::Name(entry.key.clone()));
        match base.get_mut(&entry.key) {
            Some(present) if !whole && begins_anew(here) => {
                overlay_node(present, &entry.node, &mut Vec::new());
            }
            Some(present) if !whole => overlay_node(present, &entry.node, here),
            _ => base.put(&entry.key, &entry.key_at, entry.node.clone()),
        }
        here.pop();
    }
}

fn overlay_node(base: &mut Node, over: &Node, here: &mut Vec<Key>) {
    match (&mut base.value, &over.value) {
        (Value::Table(table), Value::Table(over)) => overlay(table, over, here),
        (Value::Array(nodes), Value::Array(over))
            if !over.is_empty() && over.iter().all(has_name) =>
        {
            over.iter()
                .for_each(|node| overlay_named(nodes, node, here));
        }
        _ => *base = over.clone(),
    }
}

fn overlay_named(nodes: &mut Vec<Node>, over: &Node, here: &mut Vec<Key>) {
    match nodes.iter().position(|node| name_of(node) == name_of(over)) {
        Some(index) => {
            here.push(Key::Index(index));
            overlay_node(&mut nodes[index], over, here);
            here.pop();
        }
        None => nodes.push(over.clone()),
    }
}

fn has_name(node: &Node) -> bool {
    name_of(node).is_some()
}
