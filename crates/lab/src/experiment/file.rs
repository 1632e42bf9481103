//! An experiment file, its worlds and its forms.

use super::choices::Choices;
use super::diagnostic::Source;
use super::overlay::overlay;
use super::sections::Header;
use super::tree::{Node, Table, Value};
use delaylab_model::experiment::WorldName;

/// An experiment file that has been read and checked.
#[derive(Debug, Clone)]
pub struct Experiment {
    pub(super) source: Source,
    pub(super) root: Node,
    pub(super) header: Header,
    /// It is the file of a run: findings in it may be of an older version.
    pub(super) recorded: bool,
}

impl Experiment {
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

    /// Whether it has a short form in this world: a section `[quick]`, at the top or in the world's own.
    pub fn has_quick(&self, world: WorldName) -> bool {
        let of_world = self.in_world(world).and_then(|own| own.get("quick"));
        self.root.table_at("quick").is_some() || of_world.is_some()
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
