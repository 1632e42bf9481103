//! What a procedure of the device benchmark found, and which clauses of its RFC hold.

use super::markup::text;
use super::section as titled;
use super::table::{Column, Table};
use delaylab_procedure::Report;
use delaylab_procedure::report;
use delaylab_view::benchmark::{conformance, heading, is_figures, verdict, words};
use delaylab_view::run::RunData;

pub(super) fn section(run: &RunData) -> String {
    let Some(found) = &run.benchmark else {
        return String::new();
    };
    let tables: String = found.tables.iter().map(tabled).collect();
    let notes = found.notes.iter();
    let notes: String = notes
        .map(|note| format!("<p>{}</p>\n", text(note)))
        .collect();
    let sections = text(&found.sections.join(", "));
    let body = format!("<p>{sections}</p>\n{tables}{notes}");
    titled("benchmark", &found.title, &body) + &clauses(found)
}

fn tabled(table: &report::Table) -> String {
    let columns = table.columns.iter().enumerate().map(|(k, column)| {
        let kind = if is_figures(table, k) {
            Column::Figures
        } else {
            Column::Words
        };
        (heading(column), kind)
    });
    let mut drawn = Table::new(columns);
    for row in &table.rows {
        let cells = row.iter().zip(&table.columns);
        drawn.row(cells.map(|(cell, column)| words(cell, column)).collect());
    }
    format!("<h3>{}</h3>\n{}", text(&table.title), drawn.render())
}

fn clauses(found: &Report) -> String {
    let words = |name: &str| (name.to_owned(), Column::Words);
    let mut table = Table::new(["clause", "asks for", "holds", "how"].map(words));
    for clause in &found.conformance {
        table.row(vec![
            format!("{} {}", clause.rfc, clause.section),
            clause.says.clone(),
            verdict(clause.holds).to_owned(),
            clause.why.clone(),
        ]);
    }
    let sentence = text(&conformance(&found.conformance));
    let body = format!("<p>{sentence}</p>\n{}", table.render());
    titled("conformance", "Conformance", &body)
}
