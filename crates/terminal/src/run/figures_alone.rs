//! What another tool said of its streams, where the run has no packets.

use crate::style::Style;
use crate::table::{Cell, Table};
use delaylab_view::run::figures_alone::FiguresAlone;

pub(super) fn section(figures: &FiguresAlone, style: &Style) -> String {
    let heads = figures.heads.iter().map(Cell::new);
    let heads = [Cell::left("stream")].into_iter().chain(heads);
    let mut table = Table::headed(heads);
    for (stream, cells) in &figures.rows {
        let cells = cells.iter().map(Cell::new);
        table.row([Cell::left(stream)].into_iter().chain(cells));
    }
    table.render(style)
}
