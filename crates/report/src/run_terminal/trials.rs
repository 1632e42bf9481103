//! What came of the trials, a row for each combination of levels that is told apart: of each probe, where
//! there are a few.

use crate::run::RunData;
use crate::run::lanes::Apart;
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
    let apart = run.apart();
    let narrower = (0..=EXPENDABLE.len()).map(|left_out| table(&apart, &EXPENDABLE[..left_out]));
    let mut tables = narrower.skip_while(|table| table.width() > style.columns());
    let table = tables.next().unwrap_or_else(|| table(&apart, &EXPENDABLE));
    table.render(style) + &paragraph(&note(run, &apart), Paint::Dim, style)
}

fn table(apart: &Apart<'_>, left_out: &[&str]) -> Table {
    let mut table = Table::default();
    let heads = FIGURE_HEADS.map(str::to_owned);
    table.row(row(&apart.heads, heads, left_out).map(Cell::dim));
    for (levels, _, summary) in &apart.rows {
        table.row(row(levels, figures(summary), left_out));
    }
    table
}

/// Levels, or nothing in their place, then figures.
fn row(
    levels: &[&str],
    figures: [String; FIGURE_HEADS.len()],
    left_out: &[&str],
) -> impl Iterator<Item = Cell> {
    let lead = levels.is_empty().then(Cell::default);
    let levels: Vec<_> = levels.iter().map(|level| Cell::left(*level)).collect();
    let figures = FIGURE_HEADS.into_iter().zip(figures);
    let shown = figures.filter(|(head, _)| !left_out.contains(head));
    let figures: Vec<_> = shown.map(|(_, figure)| Cell::new(figure)).collect();
    lead.into_iter().chain(levels).chain(figures)
}

fn note(run: &RunData, apart: &Apart<'_>) -> String {
    let pooled = match run.pooled.as_slice() {
        names if !names.is_empty() && !apart.by_lane => {
            format!("; every {} together", names.join(" and "))
        }
        _ => String::new(),
    };
    let delays = run.ways().delays();
    format!("{delays}; shares of the median response{pooled}")
}
