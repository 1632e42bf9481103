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
    let narrower = (0..=EXPENDABLE.len()).map(left_out);
    let of = |left_out: &Vec<&str>| table(&apart, columns, left_out);
    let (left_out, table) = Table::first_that_fits(narrower, of, style);
    let note = note(&apart, columns, &left_out);
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
    let heads = columns.heads();
    let row = |levels: &[&str], figures: Vec<String>| row(levels, &heads, figures, left_out);
    let mut table = Table::headed(row(&apart.heads, heads.clone()));
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

/// Explains the columns that are shown.
fn note(apart: &Apart<'_>, columns: Columns, left_out: &[&str]) -> String {
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
    let shares: Vec<&str> = shares.filter(|head| !left_out.contains(head)).collect();
    let shares = match shares[..] {
        [] => String::new(),
        _ => format!("; {}: shares of the median response", shares.join(", ")),
    };
    format!("{some}{delays}{shares}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_view::run::samples::classes;

    /// However much a factor's name leaves room for.
    #[test]
    fn the_note_explains_what_is_shown() {
        let mut explained = std::collections::BTreeSet::new();
        for width in 1..60 {
            let mut run = classes();
            let name = "x".repeat(width);
            for group in &mut run.groups {
                group.factors[0].0.clone_from(&name);
            }
            let text = section(&run, &Style::PLAIN);
            let heads: Vec<_> = text
                .lines()
                .take(1)
                .flat_map(str::split_whitespace)
                .collect();
            for share in ["host", "network"] {
                let noted = text.lines().skip(1).any(|line| line.contains(share));
                assert_eq!(noted, heads.contains(&share), "{text}");
                explained.insert((share, noted));
            }
        }
        assert_eq!(explained.len(), 4, "{explained:?}");
    }
}
