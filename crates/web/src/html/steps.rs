//! Does delay rise with size in steps? A sentence for each combination of levels.

use super::section as titled;
use super::table::{Column, Table};
use delaylab_view::run::RunData;
use delaylab_view::run::sweeps::{labels, shown};
use maud::Markup;

pub(super) fn section(run: &RunData) -> Markup {
    use Column::{Figures, Words};
    let mut table = Table::new([
        ("delay of", Words),
        ("sizes", Figures),
        ("packets", Figures),
        ("what was found", Words),
    ]);
    let labels = labels(run);
    for one in shown(run) {
        table.row(vec![
            one.name(&labels),
            one.way.points.len().to_string(),
            one.way.packets.to_string(),
            one.way.sentence(),
        ]);
    }
    titled("steps", "Steps in delay against size", table.render())
}
