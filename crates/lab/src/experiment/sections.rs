//! Reads the sections of a tree as types. Collects all problems, at most one for each value that cannot be read.

use super::diagnostic::{Origin, Problem};
use super::reader::read;
use super::tree::{Node, Table, Value, name_of};
use crate::suggest::choices;
use delaylab_model::experiment::{
    Design, FigureSection, FindingSection, HostSection, MeasuredSection, ProbeSection,
    ResolvedSection, WorldName,
};
use delaylab_model::load::Load;
use delaylab_model::path::Path;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;

/// Keys allowed at the top of a file.
pub(crate) const TOP: &[&str] = &[
    "name", "title", "about", "world", "seed", "probe", "load", "path", "host", "sweep", "case",
    "design", "in", "finding", "figure", "measured", "quick", "resolved",
];

/// Keys allowed in `[in.WORLD]`.
pub(crate) const IN_WORLD: &[&str] = &[
    "probe", "load", "path", "host", "sweep", "case", "design", "finding", "figure", "measured",
    "quick",
];

/// Keys allowed in `[quick]`.
pub(crate) const IN_QUICK: &[&str] = &[
    "probe", "load", "path", "host", "sweep", "case", "design", "finding", "figure", "measured",
];

/// Fails at the first key that is not in `known`.
pub(crate) fn known_keys(table: &Table, known: &[&str]) -> Result<(), Problem> {
    match table
        .0
        .iter()
        .find(|entry| !known.contains(&entry.key.as_str()))
    {
        None => Ok(()),
        Some(entry) => {
            let problem = Problem::new(&entry.key_at, format!("unknown key `{}`", entry.key));
            Err(problem.help_if(choices(&entry.key, known.iter().copied())))
        }
    }
}

/// The value of a result; an error is added to `problems`.
pub(crate) fn keep<T>(read: Result<T, Problem>, problems: &mut Vec<Problem>) -> Option<T> {
    read.map_err(|problem| problems.push(problem)).ok()
}

/// The elements of a list of tables, where there is one. Duplicate names are a problem.
pub(crate) fn elements<'a>(
    root: &'a Table,
    key: &str,
    problems: &mut Vec<Problem>,
) -> Option<&'a [Node]> {
    let node = root.get(key)?;
    let Some(nodes) = node.array() else {
        let problem = Problem::new(&node.at, format!("`{key}` is {}", node.value.kind()));
        problems.push(problem.help(format!("write [[{key}]], once for each")));
        return None;
    };
    problems.extend(same_names(key, nodes));
    Some(nodes)
}

/// Reads a list of tables, without the elements that cannot be read.
fn list<T: DeserializeOwned>(root: &Table, key: &str, problems: &mut Vec<Problem>) -> Vec<T> {
    elements(root, key, problems)
        .unwrap_or_default()
        .iter()
        .filter_map(|node| keep(read(node), problems))
        .collect()
}

/// A problem for each element that has the same name as an earlier one.
pub(crate) fn same_names(what: &str, nodes: &[Node]) -> Vec<Problem> {
    let mut seen = BTreeSet::new();
    let named = nodes.iter().filter_map(|node| Some((name_of(node)?, node)));
    named
        .filter(|(name, _)| !seen.insert(*name))
        .map(|(name, node)| {
            let message = format!("two of [[{what}]] are called `{name}`");
            Problem::new(place_of_name(node), message)
        })
        .collect()
}

fn place_of_name(node: &Node) -> &Origin {
    let name = node
        .table()
        .and_then(|table| table.get("name").or_else(|| table.get("id")));
    &name.unwrap_or(node).at
}

fn section<T: DeserializeOwned + Default>(
    root: &Table,
    key: &str,
    problems: &mut Vec<Problem>,
) -> T {
    root.get(key)
        .and_then(|node| keep(read(node), problems))
        .unwrap_or_default()
}

/// The top-level keys that describe the whole experiment.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Header {
    pub name: String,
    pub title: String,
    pub about: String,
    pub world: WorldName,
    pub seed: Option<u64>,
    pub resolved: ResolvedSection,
}

impl Header {
    pub(crate) fn read(root: &Node, problems: &mut Vec<Problem>) -> Option<Self> {
        let table = root.table()?;
        let name = match table.get("name") {
            Some(node) => keep(name(node), problems),
            None => {
                let problem = Problem::new(&start(root), "`name` is missing");
                problems.push(problem.help("the run's folder is called by it"));
                None
            }
        };
        let header = Self {
            name: name.unwrap_or_default(),
            title: section(table, "title", problems),
            about: section(table, "about", problems),
            world: section(table, "world", problems),
            seed: table
                .get("seed")
                .and_then(|node| keep(read(node), problems)),
            resolved: section(table, "resolved", problems),
        };
        Some(header)
    }
}

/// The start of the source in which a node is written.
fn start(node: &Node) -> Origin {
    Origin {
        source: node.at.source,
        span: 0..0,
    }
}

/// Reads the experiment's name, which must also be valid in the name of the run's folder.
fn name(node: &Node) -> Result<String, Problem> {
    let name: String = read(node)?;
    if !is_plain_name(&name) {
        let problem = Problem::new(&node.at, format!("`{name}` cannot be a folder's name"));
        return Err(problem.help(PLAIN_NAMES));
    }
    Ok(name)
}

/// Help text: the characters allowed in names of folders and files.
pub(super) const PLAIN_NAMES: &str = "use up to 64 letters, digits, `-` and `_`";

/// Is this 1 to 64 ASCII letters, digits, `-` or `_`?
pub(super) fn is_plain_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (1..=64).contains(&name.len()) && name.chars().all(plain)
}

/// The sections that make a trial and may vary between trials.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Setup {
    pub probes: Vec<ProbeSection>,
    pub loads: Vec<Load>,
    pub path: Path,
    pub host: HostSection,
}

impl Setup {
    pub(crate) fn read(root: &Node, problems: &mut Vec<Problem>) -> Option<Self> {
        let table = root.table()?;
        let path = section(table, "path", problems);
        if let Some(Value::Table(path)) = table.get("path").map(|node| &node.value) {
            for key in ["node", "link", "server"] {
                let nodes = path.get(key).and_then(Node::array).unwrap_or_default();
                problems.extend(same_names(&format!("path.{key}"), nodes));
            }
        }
        Some(Self {
            probes: list(table, "probe", problems),
            loads: list(table, "load", problems),
            path,
            host: section(table, "host", problems),
        })
    }
}

/// The sections that are the same for all trials.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Common {
    pub design: Design,
    pub findings: Vec<FindingSection>,
    pub figures: Vec<FigureSection>,
    pub measured: MeasuredSection,
}

impl Common {
    pub(crate) fn read(root: &Node, problems: &mut Vec<Problem>) -> Option<Self> {
        let table = root.table()?;
        Some(Self {
            design: section(table, "design", problems),
            findings: list(table, "finding", problems),
            figures: list(table, "figure", problems),
            measured: section(table, "measured", problems),
        })
    }
}
