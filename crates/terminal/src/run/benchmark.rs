//! What a procedure of the device benchmark found.

use crate::style::{Paint, Style};
use crate::table::{Cell, Table};
use crate::text::paragraph;
use delaylab_procedure::Report;
use delaylab_procedure::report::{self, Holds};
use delaylab_view::benchmark::{conformance, heading, is_figures, text, used, verdict};
use delaylab_view::run::RunData;

pub(super) fn section(run: &RunData, style: &Style) -> String {
    let Some(found) = &run.benchmark else {
        return String::new();
    };
    let sections = found.sections.join(", ");
    let title = format!("{} ({sections})", found.title);
    let mut parts = vec![paragraph(&title, Paint::Bold, style)];
    parts.extend(found.tables.iter().map(|table| tabled(table, style)));
    let notes = found.notes.iter();
    let notes: String = notes
        .map(|note| paragraph(note, Paint::Warning, style))
        .collect();
    parts.push(clauses(found, style));
    parts.push(notes);
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

fn tabled(table: &report::Table, style: &Style) -> String {
    let columns = used(table);
    if table.rows.is_empty() {
        return String::new();
    }
    let place = |k: usize, text: String| match is_figures(table, k) {
        true => Cell::new(text),
        false => Cell::left(text),
    };
    let mut drawn = Table::default();
    drawn.row(
        columns
            .iter()
            .map(|&k| place(k, heading(&table.columns[k])).dim()),
    );
    for row in &table.rows {
        drawn.row(columns.iter().map(|&k| place(k, text(table, row, k))));
    }
    let title = paragraph(&table.title, Paint::Plain, style);
    if drawn.width() <= style.columns() {
        return title + &drawn.render(style);
    }
    let (figures, sentences): (Vec<usize>, Vec<usize>) =
        (columns.iter().copied()).partition(|&k| k == 0 || is_figures(table, k));
    title + &turned(table, &figures).render(style) + &remarks(table, &sentences, style)
}

/// What is no figure, row by row.
fn remarks(table: &report::Table, columns: &[usize], style: &Style) -> String {
    let of_row = |row: &Vec<report::Cell>| {
        let text = |k: usize| text(table, row, k);
        let said = columns
            .iter()
            .map(|&k| text(k))
            .filter(|text| !text.is_empty());
        let said: Vec<_> = said.collect();
        match said.is_empty() {
            true => String::new(),
            false => {
                let head = &table.columns[0].name;
                let line = format!("{head} {}: {}", text(0), said.join(", "));
                paragraph(&line, Paint::Plain, style)
            }
        }
    };
    table.rows.iter().map(of_row).collect()
}

/// Columns as rows, where a line has no room for all of them.
fn turned(table: &report::Table, columns: &[usize]) -> Table {
    let mut drawn = Table::default();
    for &k in columns {
        let head = Cell::new(heading(&table.columns[k])).dim();
        let cells = table.rows.iter().map(|row| Cell::new(text(table, row, k)));
        drawn.row(std::iter::once(head).chain(cells));
    }
    drawn
}

/// What does not hold, and that the rest does.
fn clauses(found: &Report, style: &Style) -> String {
    let mut out = paragraph(&conformance(&found.conformance), Paint::Bold, style);
    let broken = |holds| matches!(holds, Holds::Shortened | Holds::No);
    let mut table = Table::default();
    for clause in found
        .conformance
        .iter()
        .filter(|clause| broken(clause.holds))
    {
        table.row([
            Cell::new(format!("  {} {}", clause.rfc, clause.section)),
            Cell::left(verdict(clause.holds)),
            Cell::left(format!("{}: {}", clause.says, clause.why)),
        ]);
    }
    out += &table.render(style);
    out
}
