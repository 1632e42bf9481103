//! What else ran on the prober's CPU, the most disturbing first.

use crate::style::Style;
use crate::table::{Cell, Table};
use delaylab_view::run::{NoiseTotal, RunData};

/// Names that are shown unless all are asked for.
const NAMES: usize = 5;

pub(super) fn section(run: &RunData, style: &Style) -> String {
    if run.noise.is_empty() {
        return String::new();
    }
    let on = format!("On {}", run.noisy_cpu());
    let heads = [on.as_str()].into_iter().chain(NoiseTotal::HEADS);
    let mut table = Table::headed(heads.map(Cell::new));
    let shown = style.shown(run.noise.len(), NAMES);
    for total in run.noise.iter().take(shown) {
        let [who, kind, figures @ ..] = total.cells();
        let figures = figures.map(Cell::new);
        table.row(
            [Cell::new(who), Cell::left(kind)]
                .into_iter()
                .chain(figures),
        );
    }
    table.render(style)
}
