//! What a procedure of the device benchmark found, and which clauses of its RFC hold.

use super::section as titled;
use super::table::{Column, Table};
use delaylab_procedure::Report;
use delaylab_procedure::report;
use delaylab_view::benchmark::{conformance, heading, is_figures, text, verdict};
use delaylab_view::run::RunData;
use maud::{Markup, html};

pub(super) fn section(run: &RunData) -> Markup {
    let Some(found) = &run.benchmark else {
        return html! {};
    };
    let body = html! {
        p { (found.sections.join(", ")) }
        @for table in &found.tables { (tabled(table)) }
        @for note in &found.notes { p { (note) } }
    };
    html! {
        (titled("benchmark", &found.title, body))
        (clauses(found))
    }
}

fn tabled(table: &report::Table) -> Markup {
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
        let columns = 0..table.columns.len();
        drawn.row(columns.map(|k| text(table, row, k)).collect());
    }
    html! {
        h3 { (table.title) }
        (drawn.render())
    }
}

fn clauses(found: &Report) -> Markup {
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
    let body = html! {
        p { (conformance(&found.conformance)) }
        (table.render())
    };
    titled("conformance", "Conformance", body)
}
