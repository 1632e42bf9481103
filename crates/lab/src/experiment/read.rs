//! Reads an experiment file and checks all of it, before the user's choices apply.

use super::claims::{findings, wrong_figures};
use super::diagnostic::{Diagnostics, Problem, Source};
use super::exclusive::written_together;
use super::factor::factors;
use super::resolve::Choices;
use super::sections::{Common, Header, IN_QUICK, IN_WORLD, Setup, TOP, keep, known_keys};
use super::tree::{Node, Table, Value, overlay, parse};
use delaylab_model::experiment::WorldName;

/// An experiment file that has been read and checked.
#[derive(Debug, Clone)]
pub struct Experiment {
    pub(super) source: Source,
    pub(super) root: Node,
    pub(super) header: Header,
}

impl Experiment {
    /// Reads a file and checks it for each world that it names, in the full form and the short form.
    pub fn read(source: Source) -> Result<Self, Diagnostics> {
        let shown = |problems| Diagnostics::new(problems, std::slice::from_ref(&source));
        let root = parse(&source.text, 0).map_err(shown)?;
        let mut problems = Vec::new();
        let header = Header::read(&root, &mut problems);
        problems.extend(overlay_keys(&root));
        problems.extend(written_together(&root));
        let (Some(header), true) = (header, problems.is_empty()) else {
            return Err(shown(problems));
        };
        let experiment = Self {
            source: source.clone(),
            root,
            header,
        };
        for world in experiment.worlds() {
            for quick in [false, true] {
                if !quick || experiment.has_quick() {
                    let base = experiment.base(world, quick);
                    problems.extend(check(&base, std::slice::from_ref(&source)));
                }
            }
        }
        if problems.is_empty() {
            problems.extend(experiment.unknown_names());
        }
        if problems.is_empty() {
            Ok(experiment)
        } else {
            Err(shown(problems))
        }
    }

    /// Name of the experiment; the name of a run's folder is made from it.
    pub fn name(&self) -> &str {
        &self.header.name
    }

    /// Title, one line.
    pub fn title(&self) -> &str {
        &self.header.title
    }

    /// Longer description.
    pub fn about(&self) -> &str {
        &self.header.about
    }

    /// The world in which it runs by default.
    pub fn world(&self) -> WorldName {
        self.header.world
    }

    /// The world in which it runs with these choices.
    pub fn world_of(&self, choices: &Choices) -> WorldName {
        choices.world.unwrap_or(self.header.world)
    }

    /// The default world first, then each other world with a section `[in.WORLD]`.
    pub fn worlds(&self) -> Vec<WorldName> {
        let others = WorldName::ALL
            .into_iter()
            .filter(|world| *world != self.header.world && self.in_world(*world).is_some());
        std::iter::once(self.header.world).chain(others).collect()
    }

    /// Whether it has a short form: a section `[quick]`, at the top or in a world.
    pub fn has_quick(&self) -> bool {
        self.root.table_at("quick").is_some()
            || self.worlds().into_iter().any(|world| {
                self.in_world(world)
                    .is_some_and(|t| t.get("quick").is_some())
            })
    }

    fn in_world(&self, world: WorldName) -> Option<&Table> {
        let worlds = self.root.table()?.get("in")?.table()?;
        worlds.get(world.name())?.table()
    }

    /// The file with this world's section overlaid, and then the short form if `quick`.
    pub(super) fn base(&self, world: WorldName, quick: bool) -> Node {
        let mut root = self.root.clone();
        let Value::Table(table) = &mut root.value else {
            return root;
        };
        table.remove("in");
        if let Some(instead) = self.in_world(world) {
            overlay(table, instead, &mut Vec::new());
        }
        let short = table.remove("quick");
        if let (true, Some(short)) = (quick, short.as_ref().and_then(Node::table)) {
            overlay(table, short, &mut Vec::new());
        }
        root
    }
}

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

/// Problems of a tree, and of the tree with each level applied alone.
pub(super) fn check(root: &Node, sources: &[Source]) -> Vec<Problem> {
    let mut problems = Vec::new();
    Setup::read(root, &mut problems);
    let common = Common::read(root, &mut problems);
    let factors = factors(root, &mut problems);
    if !problems.is_empty() {
        return problems;
    }
    if let Some(common) = common {
        findings(root, &common, sources, &mut problems);
        problems.extend(wrong_figures(root, &common, sources));
    }
    for level in factors.iter().flat_map(|factor| &factor.levels) {
        let mut varied = root.clone();
        match level.apply(&mut varied) {
            Ok(()) => drop(Setup::read(&varied, &mut problems)),
            Err(problem) => problems.push(problem),
        }
    }
    problems
}
