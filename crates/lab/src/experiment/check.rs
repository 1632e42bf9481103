//! Checks a tree: its keys, its sections, and what each level makes of them.

use super::claims::{findings, wrong_figures};
use super::diagnostic::{Problem, Source};
use super::factor::{FactorLevel, factors, hidden_factors};
use super::sections::{Common, IN_QUICK, IN_WORLD, Setup, TOP, keep, known_keys};
use super::tree::{Node, Value};
use delaylab_model::experiment::WorldName;

/// Problems of unknown keys at the top, in `[in.WORLD]` and in `[quick]`.
pub(super) fn overlay_keys(root: &Node) -> Vec<Problem> {
    let mut problems = Vec::new();
    let Some(table) = root.table() else {
        return problems;
    };
    keep(known_keys(table, TOP), &mut problems);
    let mut section = |node: &Node, what: &str, known: &[&str]| match &node.value {
        Value::Table(table) => drop(keep(known_keys(table, known), &mut problems)),
        other => problems.push(Problem::new(
            &node.at,
            format!("`{what}` is {}, not a table", other.kind()),
        )),
    };
    if let Some(quick) = table.get("quick") {
        section(quick, "quick", IN_QUICK);
    }
    if let Some(worlds) = table.get("in") {
        section(worlds, "in", &WorldName::ALL.map(WorldName::name));
        for entry in worlds.table().into_iter().flat_map(|table| &table.0) {
            section(&entry.node, &format!("in.{}", entry.key), IN_WORLD);
            if let Some(quick) = entry.node.table().and_then(|world| world.get("quick")) {
                section(quick, "quick", IN_QUICK);
            }
        }
    }
    problems
}

/// Problems of a tree where a factor has this level.
fn at_level(root: &Node, level: &FactorLevel, problems: &mut Vec<Problem>) {
    let mut varied = root.clone();
    match level.apply(&mut varied) {
        Ok(()) => drop(Setup::read(&varied, problems)),
        Err(problem) => problems.push(problem),
    }
}

/// Problems of a tree, and of the tree with each level applied alone; `recorded`: but for those of findings, and
/// of factors that hide each other, which are as they were carried out.
pub(super) fn check(root: &Node, sources: &[Source], recorded: bool) -> Vec<Problem> {
    let mut problems = Vec::new();
    Setup::read(root, &mut problems);
    let common = Common::read(root, &mut problems);
    let factors = factors(root, &mut problems);
    if !recorded {
        problems.extend(hidden_factors(root, &factors));
    }
    if !problems.is_empty() {
        return problems;
    }
    if let Some(common) = common {
        if !recorded {
            findings(root, &common, sources, &mut problems);
        }
        problems.extend(wrong_figures(root, &common, sources));
    }
    for level in factors.iter().flat_map(|factor| &factor.levels) {
        at_level(root, level, &mut problems);
    }
    problems
}
