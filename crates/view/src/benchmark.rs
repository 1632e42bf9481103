//! What a procedure of the device benchmark found, in the form that its RFC asks for: its cells as
//! words, and the whole of it as Markdown. The page and the terminal have their own files.

use delaylab_model::units::format_duration;
use delaylab_procedure::Report;
use delaylab_procedure::report::{Cell, Clause, Column, Holds, Table};
use std::fmt::Write;

/// The file of a run that has it.
pub const FILE: &str = "benchmark.md";

/// A column's heading: times say their unit in each cell.
pub fn heading(column: &Column) -> String {
    match column.unit.as_deref() {
        None | Some("ns" | "s") => column.name.clone(),
        Some(unit) => format!("{} ({unit})", column.name),
    }
}

/// Are its cells figures, and not words?
pub fn is_figures(table: &Table, column: usize) -> bool {
    let mut cells = table.rows.iter().filter_map(|row| row.get(column));
    cells.all(|cell| !matches!(cell, Cell::Text(_)))
}

/// The cell of a row in this column, as people read it.
pub fn text(table: &Table, row: &[Cell], column: usize) -> String {
    let cell = row.get(column).unwrap_or(&Cell::Nothing);
    match cell {
        Cell::Nothing => String::new(),
        Cell::Text(text) => text.clone(),
        Cell::Count(count) => count.to_string(),
        Cell::Number(value) => number(&table.columns[column], *value),
    }
}

/// A number of this column, as people read it.
pub fn number(column: &Column, value: f64) -> String {
    match column.unit.as_deref() {
        Some("ns") => format_duration(value.round() as i64),
        Some("s") => format_duration((value * 1e9).round() as i64),
        _ => short(value),
    }
}

/// Five digits that count, and no zeros behind them.
fn short(number: f64) -> String {
    let digits = match number.abs() {
        size if size >= 10_000.0 || number == 0.0 => 0,
        size => (4 - size.log10().floor() as i32).clamp(0, 9) as usize,
    };
    let text = format!("{number:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Whether a clause holds, in a word.
pub const fn verdict(holds: Holds) -> &'static str {
    match holds {
        Holds::Yes => "yes",
        Holds::Shortened => "shortened",
        Holds::NotApplicable => "not applicable",
        Holds::No => "no",
    }
}

/// Does all of it conform? In a sentence.
pub fn conformance(clauses: &[Clause]) -> String {
    let count = |holds| {
        clauses
            .iter()
            .filter(|clause| clause.holds == holds)
            .count()
    };
    if count(Holds::NotApplicable) == clauses.len() {
        return "Nothing was measured: no clause applies.".to_owned();
    }
    let (shortened, no) = (count(Holds::Shortened), count(Holds::No));
    let is = |count, one: &str, more: &str| match count {
        0 => String::new(),
        1 => format!(" One clause {one}."),
        some => format!(" {some} clauses {more}."),
    };
    match (shortened, no) {
        (0, 0) => "Every clause that applies holds.".to_owned(),
        _ => format!(
            "Does not conform.{}{}",
            is(shortened, "was shortened", "were shortened"),
            is(no, "does not hold", "do not hold")
        ),
    }
}

/// The whole report as Markdown.
pub fn markdown(report: &Report) -> String {
    let mut out = format!(
        "# {}\n\n{}\n",
        escaped(&report.title),
        report.sections.join(", ")
    );
    for table in &report.tables {
        let _ = write!(out, "\n## {}\n\n", escaped(&table.title));
        out += &markdown_table(table);
    }
    let _ = write!(
        out,
        "\n## Conformance\n\n{}\n\n",
        conformance(&report.conformance)
    );
    out += "| clause | asks for | holds | how |\n|---|---|---|---|\n";
    for clause in &report.conformance {
        let _ = writeln!(
            out,
            "| {} {} | {} | {} | {} |",
            clause.rfc,
            clause.section,
            escaped(&clause.says),
            verdict(clause.holds),
            escaped(&clause.why)
        );
    }
    if !report.notes.is_empty() {
        out += "\n## Notes\n\n";
        for note in &report.notes {
            let _ = writeln!(out, "- {}", escaped(note));
        }
    }
    out
}

fn markdown_table(table: &Table) -> String {
    let used = used(table);
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let heads = used.iter().map(|&k| escaped(&heading(&table.columns[k])));
    let rules = used.iter().map(|&k| {
        let rule = if is_figures(table, k) { "---:" } else { "---" };
        rule.to_owned()
    });
    let mut out = row(heads.collect()) + &row(rules.collect());
    for cells in &table.rows {
        let cell = |&k: &usize| escaped(&text(table, cells, k));
        out += &row(used.iter().map(cell).collect());
    }
    out
}

/// Columns that hold something in some row.
pub fn used(table: &Table) -> Vec<usize> {
    let holds = |cell: &Cell| match cell {
        Cell::Nothing => false,
        Cell::Text(text) => !text.is_empty(),
        _ => true,
    };
    let is_used = |&k: &usize| table.rows.iter().filter_map(|row| row.get(k)).any(holds);
    (0..table.columns.len()).filter(is_used).collect()
}

/// What Markdown would read as its own is text.
fn escaped(words: &str) -> String {
    words
        .replace('|', "\\|")
        .replace('<', "&lt;")
        .replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_procedure::report::Figure;

    fn report() -> Report {
        let column = |name: &str, unit: &str| Column::new(name, unit);
        Report {
            procedure: "throughput".to_owned(),
            title: "Throughput".to_owned(),
            sections: vec!["RFC 2544 §26.1".to_owned()],
            tables: vec![Table {
                title: "Throughput by frame size".to_owned(),
                columns: vec![
                    column("frame size", "B"),
                    column("throughput", "frames/s"),
                    column("longest", "ns"),
                    column("remark", ""),
                ],
                rows: vec![
                    vec![
                        64_u64.into(),
                        14_880.952.into(),
                        134_400_i64.into(),
                        "".into(),
                    ],
                    vec![
                        128_u64.into(),
                        Cell::Nothing,
                        Cell::Nothing,
                        "invalid: <too slow | too busy>".into(),
                    ],
                ],
            }],
            figures: vec![
                Figure::new("Throughput", ("frame size", "B"), ("rate", "frames/s"))
                    .line("measured", [(64.0, 14_880.0)])
                    .line("theoretical maximum", [(64.0, 14_881.0), (128.0, 8_446.0)]),
            ],
            conformance: vec![
                Clause::lasts(
                    "RFC 2544 §24",
                    "trials of 60 s",
                    1_000_000_000,
                    60_000_000_000,
                ),
                Clause::new(
                    "RFC 2544 §9.1",
                    "all sizes",
                    Holds::NotApplicable,
                    "one was asked for",
                ),
            ],
            notes: vec!["1 of 9 trials was invalid.".to_owned()],
        }
    }

    #[test]
    fn markdown_is_as_agreed() {
        insta::assert_snapshot!("benchmark_markdown", markdown(&report()));
    }

    #[test]
    fn nothing_that_was_measured_conforms_to_nothing() {
        let clauses = |all: &[Holds]| {
            let clause = |&holds: &Holds| Clause::new("RFC 8239 §4.2", "bursts", holds, "");
            conformance(&Vec::from_iter(all.iter().map(clause)))
        };
        let nothing = "Nothing was measured: no clause applies.";
        assert_eq!(clauses(&[Holds::NotApplicable; 2]), nothing);
        let some = clauses(&[Holds::NotApplicable, Holds::Yes]);
        assert_eq!(some, "Every clause that applies holds.");
    }

    #[test]
    fn numbers_have_the_digits_that_count() {
        let cases = [
            (14_880.952, "14881"),
            (0.0, "0"),
            (0.012_345_6, "0.012346"),
            (99.98, "99.98"),
            (50.0, "50"),
            (-1.5, "-1.5"),
            (1e-12, "0"),
        ];
        for (number, expected) in cases {
            assert_eq!(short(number), expected);
        }
    }
}
