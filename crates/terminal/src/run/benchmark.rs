//! What a procedure of the device benchmark found.

use crate::style::{Paint, Style};
use crate::table::{Cell, Table};
use crate::text::paragraph;
use delaylab_procedure::Report;
use delaylab_procedure::report::{self, Holds};
use delaylab_view::benchmark::{conformance, heading, is_figures, text, used, verdict};
use delaylab_view::run::RunData;
use std::collections::BTreeSet;

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
    let (sentences, words): (Vec<usize>, Vec<usize>) =
        (columns.iter().copied()).partition(|&k| table.columns[k].name == report::REMARK);
    title + &turned(table, &words).render(style) + &remarks(table, &sentences, style)
}

/// What is longer than a word, row by row.
fn remarks(table: &report::Table, columns: &[usize], style: &Style) -> String {
    let names = names(table);
    let of_row = |row: &Vec<report::Cell>| {
        let said = columns.iter().map(|&k| text(table, row, k));
        let said: Vec<_> = said.filter(|text| !text.is_empty()).collect();
        let name = |&k: &usize| format!("{} {}", table.columns[k].name, text(table, row, k));
        let name = Vec::from_iter(names.iter().map(name)).join(", ");
        match said.is_empty() {
            true => String::new(),
            false => paragraph(&format!("{name}: {}", said.join(", ")), Paint::Plain, style),
        }
    };
    table.rows.iter().map(of_row).collect()
}

/// The columns that tell rows apart: the first, and where that does not do, the first one with which it does.
fn names(table: &report::Table) -> Vec<usize> {
    let tell_apart = |columns: &[usize]| {
        let name = |row: &Vec<report::Cell>| {
            let texts = columns.iter().map(|&k| text(table, row, k));
            texts.collect::<Vec<_>>()
        };
        let names: BTreeSet<_> = table.rows.iter().map(name).collect();
        names.len() == table.rows.len()
    };
    let others = (1..table.columns.len()).filter(|&k| table.columns[k].name != report::REMARK);
    let mut choices = [vec![0]].into_iter().chain(others.map(|k| vec![0, k]));
    let telling = choices.find(|columns| tell_apart(columns));
    telling.unwrap_or(vec![0])
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

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_procedure::report::Column;

    fn wide(words: [(&str, &str); 2], rows: Vec<Vec<report::Cell>>) -> report::Table {
        let figure =
            |n: usize| Column::new(&format!("a figure with a long name, number {n}"), "frames");
        let mut columns = vec![Column::new("frame size", "B")];
        columns.extend(words.map(|(name, unit)| Column::new(name, unit)));
        columns.extend((0..3).map(figure));
        columns.push(Column::new(report::REMARK, ""));
        let row = |mut row: Vec<report::Cell>| {
            let remark = row.pop().unwrap_or(report::Cell::Nothing);
            row.extend([1_u64, 2, 3].map(report::Cell::Count));
            row.push(remark);
            row
        };
        report::Table {
            title: "Wide".to_owned(),
            columns,
            rows: rows.into_iter().map(row).collect(),
        }
    }

    #[test]
    fn words_of_a_turned_table_stand_beside_their_name() {
        let rows = vec![
            vec![64_u64.into(), "regular".into(), false.into(), "".into()],
            vec![
                512_u64.into(),
                "irregular".into(),
                true.into(),
                "a remark".into(),
            ],
        ];
        let table = wide([("result", ""), ("blocking", "")], rows);
        let drawn = tabled(&table, &Style::PLAIN);
        let words = |name: &str| {
            let mut lines = drawn.lines().filter(|line| line.starts_with(name));
            let words = lines.next().unwrap_or_default().split_whitespace();
            words.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(words("blocking"), ["blocking", "no", "yes"]);
        assert_eq!(words("result"), ["result", "regular", "irregular"]);
        assert!(drawn.ends_with("\nframe size 512: a remark\n"), "{drawn}");
    }

    #[test]
    fn a_remark_names_the_row_that_it_is_of() {
        let row = |size: u64, load: f64, remark: &str| {
            vec![size.into(), load.into(), 7_u64.into(), remark.into()]
        };
        let rows = vec![
            row(64, 100.0, ""),
            row(64, 90.0, "late"),
            row(512, 90.0, "later"),
        ];
        let table = wide([("load", "% of line rate"), ("loss", "%")], rows);
        let drawn = tabled(&table, &Style::PLAIN);
        let says = "\nframe size 64, load 90: late\nframe size 512, load 90: later\n";
        assert!(drawn.ends_with(says), "{drawn}");
    }
}
