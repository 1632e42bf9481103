//! What came of the trials, a row for each combination of levels that is told apart: of each probe, where
//! there are a few.

use crate::run::RunData;
use crate::run::columns::Columns;
use crate::run::lanes::Apart;
use crate::style::{Paint, Style};
use crate::table::{Cell, Table};
use crate::terminal::paragraph;

/// Heads of columns that are left out, the first ones first, where the terminal is too narrow.
const EXPENDABLE: [&str; 4] = ["max", "network", "host", "sent"];

pub(super) fn section(run: &RunData, style: &Style) -> String {
    if run.panels.is_empty() {
        return String::new();
    }
    let apart = run.apart();
    let columns = Columns::new(run, &apart);
    let narrower = 0..=EXPENDABLE.len();
    let narrower = narrower.map(|left_out| table(&apart, columns, &EXPENDABLE[..left_out]));
    let mut tables = narrower.skip_while(|table| table.width() > style.columns());
    let table = tables
        .next()
        .unwrap_or_else(|| table(&apart, columns, &EXPENDABLE));
    table.render(style) + &paragraph(&note(run, &apart, columns), Paint::Dim, style)
}

fn table(apart: &Apart<'_>, columns: Columns, left_out: &[&str]) -> Table {
    let mut table = Table::default();
    let heads = columns.heads();
    let row = |levels: &[&str], figures: Vec<String>| row(levels, &heads, figures, left_out);
    table.row(row(&apart.heads, heads.clone()).into_iter().map(Cell::dim));
    for (levels, _, summary) in &apart.rows {
        table.row(row(levels, columns.cells(summary)));
    }
    table
}

/// Levels, or nothing in their place, then figures.
fn row(levels: &[&str], heads: &[String], figures: Vec<String>, left_out: &[&str]) -> Vec<Cell> {
    let lead = levels.is_empty().then(Cell::default);
    let levels = levels.iter().map(|level| Cell::left(*level));
    let figures = heads.iter().zip(figures);
    let shown = figures.filter(|(head, _)| !left_out.contains(&head.as_str()));
    let figures = shown.map(|(_, figure)| Cell::new(figure));
    lead.into_iter().chain(levels).chain(figures).collect()
}

fn note(run: &RunData, apart: &Apart<'_>, columns: Columns) -> String {
    let pooled = match run.pooled.as_slice() {
        names if !names.is_empty() && !apart.by_lane => {
            format!("; all levels of {} pooled", names.join(" and "))
        }
        _ => String::new(),
    };
    let delays = columns.delays();
    format!("{delays}; host, network: shares of the median response{pooled}")
}
