//! What else ran on the prober's CPU, the most disturbing first.

use crate::style::{Paint, Style};
use crate::table::{Cell, Table};
use delaylab_view::run::{NoiseTotal, RunData};

/// Names that are shown unless all are asked for.
const NAMES: usize = 5;

pub(super) fn section(run: &RunData, style: &Style) -> String {
    if run.noise.is_empty() {
        return String::new();
    }
    let mut table = Table::default();
    let on = format!("On {}", run.noisy_cpu());
    let heads = [on.as_str()].into_iter().chain(NoiseTotal::HEADS);
    table.row(heads.map(|head| Cell::painted(head, Paint::Dim)));
    let shown = if style.verbose {
        run.noise.len()
    } else {
        NAMES
    };
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
