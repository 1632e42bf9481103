//! What came of the trials, a row for each combination of levels and probe; of very many the worst ones.

use crate::style::{Paint, Style};
use crate::table::{Cell, Table};
use crate::text::paragraph;
use delaylab_view::run::RunData;
use delaylab_view::run::columns::{Columns, shares};
use delaylab_view::run::groups::{Apart, WORST};

/// Heads of columns that are left out, the first ones first, where the terminal is too narrow.
const EXPENDABLE: [&str; 4] = ["max", "network", "host", "sent"];

pub(super) fn section(run: &RunData, style: &Style) -> String {
    if run.panels.is_empty() {
        return String::new();
    }
    let apart = run.apart(style.verbose);
    let columns = Columns::new(run, &apart);
    let empty = empty(&apart);
    let left_out = |expendable: usize| -> Vec<&str> {
        let expendable = EXPENDABLE[..expendable].iter();
        expendable.chain(empty).copied().collect()
    };
    let narrower = 0..=EXPENDABLE.len();
    let narrower = narrower.map(|expendable| table(&apart, columns, &left_out(expendable)));
    let table = Table::first_that_fits(narrower, style);
    let note = note(&apart, columns, empty);
    table.render(style) + &paragraph(&note, Paint::Dim, style)
}

/// Host and network, where no row has their shares: stamps do not tell them apart.
fn empty(apart: &Apart<'_>) -> &'static [&'static str] {
    let rows = apart.rows.iter();
    let any = rows
        .flat_map(|(.., summary)| shares(summary))
        .any(|share| share.is_some());
    if any { &[] } else { &["host", "network"] }
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

fn note(apart: &Apart<'_>, columns: Columns, empty: &[&str]) -> String {
    let some = match apart.left_out {
        0 => String::new(),
        more => format!(
            "of {} combinations the {} with the {WORST}: -v shows all; ",
            apart.rows.len() + more,
            apart.rows.len()
        ),
    };
    let delays = columns.delays();
    let shares = columns.shares().iter().copied();
    let shares: Vec<&str> = shares.filter(|head| !empty.contains(head)).collect();
    let shares = match shares[..] {
        [] => String::new(),
        _ => format!("; {}: shares of the median response", shares.join(", ")),
    };
    format!("{some}{delays}{shares}")
}
