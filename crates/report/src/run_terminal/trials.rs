//! What came of the trials, a row for each combination of levels that is told apart.

use crate::run::RunData;
use crate::run::words::{FIGURE_HEADS, figures};
use crate::style::{Paint, Style};
use crate::table::{Cell, Table};
use crate::terminal::paragraph;

/// Heads of [`figures`] that are left out, the first ones first, where the terminal is too narrow.
const EXPENDABLE: [&str; 4] = ["max", "network", "host", "sent"];

pub(super) fn section(run: &RunData, style: &Style) -> String {
    if run.panels.is_empty() {
        return String::new();
    }
    let narrower = (0..=EXPENDABLE.len()).map(|left_out| table(run, &EXPENDABLE[..left_out]));
    let mut tables = narrower.skip_while(|table| table.width() > style.columns());
    let table = tables.next().unwrap_or_else(|| table(run, &EXPENDABLE));
    table.render(style) + &paragraph(&note(run), Paint::Dim, style)
}

fn table(run: &RunData, left_out: &[&str]) -> Table {
    let mut table = Table::default();
    let factors = run.panels.first().map_or(&[][..], |panel| &panel.factors);
    let factors = factors.iter().map(|(name, _)| Cell::left(name));
    table.row(row(factors, FIGURE_HEADS.map(str::to_owned), left_out).map(Cell::dim));
    for panel in &run.panels {
        let levels = panel.factors.iter();
        let levels = levels.map(|(_, level)| Cell::left(&level.label));
        table.row(row(levels, figures(&panel.summary), left_out));
    }
    table
}

/// Levels, or nothing in their place, then figures.
fn row(
    levels: impl ExactSizeIterator<Item = Cell>,
    figures: [String; FIGURE_HEADS.len()],
    left_out: &[&str],
) -> impl Iterator<Item = Cell> {
    let lead = (levels.len() == 0).then(Cell::default);
    let figures = FIGURE_HEADS.into_iter().zip(figures);
    let shown = figures.filter(|(head, _)| !left_out.contains(head));
    let figures: Vec<_> = shown.map(|(_, figure)| Cell::new(figure)).collect();
    lead.into_iter().chain(levels).chain(figures)
}

fn note(run: &RunData) -> String {
    let pooled = match run.pooled.as_slice() {
        [] => String::new(),
        names => format!("; every {} together", names.join(" and ")),
    };
    format!("round trips; shares of the median response{pooled}")
}
