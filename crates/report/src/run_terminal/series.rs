//! What was over time, panel by panel: mean and largest.

use crate::run::{Panel, RunData, SeriesShown};
use crate::style::Style;
use crate::table::{Cell, Table};
use delaylab_lab::finding::dimension::Dimension;
use delaylab_model::plan::Unit;

/// Rows that are shown unless all are asked for.
const ROWS: usize = 8;

pub(super) fn section(run: &RunData, style: &Style) -> String {
    if run.series.is_empty() {
        return String::new();
    }
    let names = run.panels.first().into_iter().flat_map(Panel::of_trial);
    let names = names.map(|(name, _)| name.as_str());
    let heads = ["Over time", "of"].into_iter().chain(names);
    let heads = heads.map(Cell::left);
    let heads = heads.chain(["mean", "max"].map(Cell::new));
    let mut table = Table::default();
    table.row(heads.map(Cell::dim));
    let most = if style.verbose { usize::MAX } else { ROWS };
    for shown in run.series.iter().take(most) {
        table.row(row(run, shown));
    }
    let more = match run.series.len().saturating_sub(most) {
        0 => String::new(),
        more => format!("and {more} more in the report\n"),
    };
    table.render(style) + &more
}

fn row(run: &RunData, shown: &SeriesShown) -> impl Iterator<Item = Cell> {
    let panel = run.panels.get(shown.panel);
    let levels = panel.into_iter().flat_map(Panel::of_trial);
    let levels = levels.map(|(_, level)| Cell::left(&level.label));
    let lead = [Cell::left(&shown.series), Cell::left(&shown.of)];
    let figures = [shown.mean, shown.max].map(|value| Cell::new(value_of(value, shown.unit)));
    lead.into_iter()
        .chain(levels)
        .chain(figures)
        .collect::<Vec<_>>()
        .into_iter()
}

fn value_of(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Share => format!("{:.1} %", 100.0 * value),
        Unit::CellsPerSecond => format!("{} cells/s", value.round()),
        _ => Dimension::from(unit).format(value),
    }
}
