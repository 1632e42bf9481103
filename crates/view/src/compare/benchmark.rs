//! What a procedure of the device benchmark found in two runs, side by side.
//!
//! Trials of its searches are no conditions: which loads were tried depends on what was found, so the results are compared, row by row
//! of their first table.

use crate::benchmark::{heading, text, used};
use crate::run::stored::benchmark;
use delaylab_lab::experiment::Resolved;
use delaylab_model::units::format_signed_share;
use delaylab_procedure::Report;
use delaylab_procedure::report::{Cell, Column, REMARK, Table};
use delaylab_store::run::Run;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// Figures that are this near to each other are one.
const SAME: f64 = 1e-3;
/// Figures that are named in a sentence.
const NAMED: usize = 6;
/// What says how far repeats were apart is no result.
const OF_REPEATS: [&str; 3] = ["min", "max", "sd"];

/// The results of both runs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Benchmarks {
    /// What the procedure measures.
    pub title: String,
    /// Each figure that both have, in their order.
    pub rows: Vec<Row>,
    /// Rows that A alone has, and B alone.
    #[serde(skip)]
    pub alone: [Vec<String>; 2],
}

/// A figure of both.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// `frame size 512 B`.
    #[serde(rename = "row")]
    pub of: String,
    /// The figure, with its unit.
    pub figure: String,
    /// In A, as people read it; empty where it has none.
    pub a: String,
    /// In B.
    pub b: String,
    /// By which share it is more in B, 0.1 is 10 %; left out where they are no numbers, or A's is 0.
    #[serde(rename = "relative", skip_serializing_if = "Option::is_none")]
    pub change: Option<f64>,
    /// Is it another one, by more than 0.1 %?
    pub differs: bool,
    /// In words, without its unit in the name.
    #[serde(skip)]
    words: String,
}

impl Benchmarks {
    /// Of two runs of one procedure, with their experiments; `None` of others.
    pub fn of_runs(runs: [(&Run, Option<&Resolved>); 2]) -> Option<Self> {
        let [a, b] = runs.map(|(run, resolved)| benchmark(run, resolved));
        Self::new([&a?, &b?])
    }

    /// Of two reports of one procedure; `None` of others.
    pub fn new(reports: [&Report; 2]) -> Option<Self> {
        let [a, b] = reports;
        let tables = [a.tables.first()?, b.tables.first()?];
        if a.procedure != b.procedure || tables[0].columns != tables[1].columns {
            return None;
        }
        let keys = [0, 1].into_iter().flat_map(|side| keys(tables[side]));
        let keys: BTreeSet<usize> = keys.collect();
        let named = tables.map(|table| {
            let rows = table.rows.iter();
            rows.map(|row| (name(table, row, &keys), row))
                .collect::<Vec<_>>()
        });
        let other = |side: usize, of: &str| {
            let mut rows = named[side].iter();
            rows.find(|(name, _)| name == of).map(|(_, row)| *row)
        };
        let used: BTreeSet<usize> = tables.into_iter().flat_map(used).collect();
        let figures: Vec<usize> = used.difference(&keys).copied().collect();
        let both = named[0]
            .iter()
            .filter_map(|(of, row)| Some((of, *row, other(1, of)?)));
        let rows = both.flat_map(|(of, a, b)| {
            let figures = figures.iter();
            figures.map(move |&column| Row::new(of, tables, [a, b], column))
        });
        let rows = rows.filter(|row| !row.a.is_empty() || !row.b.is_empty());
        let alone = [0, 1].map(|side| {
            let names = named[side].iter().map(|(of, _)| of);
            let names = names.filter(|of| other(1 - side, of).is_none());
            names.cloned().collect()
        });
        Some(Self {
            title: a.title.clone(),
            rows: rows.collect(),
            alone,
        })
    }

    /// What differs, in a sentence or two.
    pub fn verdict(&self) -> String {
        let is_result = |row: &&Row| row.differs && !OF_REPEATS.contains(&row.plain_name());
        let mut rows: Vec<&Row> = self.rows.iter().filter(is_result).collect();
        if rows.is_empty() {
            return match self.rows.is_empty() {
                true => format!("{}: the two have no row in common.", self.title),
                false => format!("{}: no figure differs by more than 0.1 %.", self.title),
            };
        }
        let count = rows.len();
        // What is said of one frame size stands together.
        rows.truncate(NAMED);
        let each = rows.chunk_by(|a, b| a.of == b.of).map(|rows| {
            let words: Vec<&str> = rows.iter().map(|row| row.words.as_str()).collect();
            format!("at {} {}", rows[0].of, words.join(", "))
        });
        let each: Vec<String> = each.collect();
        let more = match count - rows.len() {
            0 => String::new(),
            more => format!("; {more} more figures differ"),
        };
        format!("{}: {}{more}.", self.title, each.join("; "))
    }

    /// What is not compared, in sentences.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = vec![
            "The results of the benchmark are compared as they are: no interval says what chance does. The trials of its search are \
             no conditions, and are not compared."
                .to_owned(),
        ];
        for (name, alone) in ["A", "B"].iter().zip(&self.alone) {
            if !alone.is_empty() {
                notes.push(format!("Only {name} has {}.", alone.join("; ")));
            }
        }
        notes
    }
}

impl Row {
    fn new(of: &str, tables: [&Table; 2], rows: [&Vec<Cell>; 2], column: usize) -> Self {
        let head = &tables[0].columns[column];
        let side = |at: usize| text(tables[at], rows[at], column);
        let values = [side(0), side(1)];
        let numbers = rows.map(|row| row.get(column).and_then(number));
        let change = match numbers {
            [Some(a), Some(b)] if a != 0.0 => Some(b / a - 1.0),
            _ => None,
        };
        let differs = match change {
            Some(change) => change.abs() > SAME,
            None => values[0] != values[1],
        };
        let words = words(head, &values, change);
        let [a, b] = values;
        Self {
            of: of.to_owned(),
            figure: heading(head),
            differs,
            words,
            a,
            b,
            change,
        }
    }

    fn plain_name(&self) -> &str {
        self.figure.split(" (").next().unwrap_or_default()
    }
}

/// `reset time from 200 ms to 400 ms (+100 %)`.
fn words(column: &Column, [a, b]: &[String; 2], change: Option<f64>) -> String {
    let or_none = |value: &String| match value.is_empty() {
        true => "none".to_owned(),
        false => value.clone(),
    };
    let unit = match column.unit.as_deref() {
        None | Some("ns" | "s") => String::new(),
        Some(unit) => format!(" {unit}"),
    };
    let change = change.map(|change| format!(" ({})", format_signed_share(change)));
    let change = change.unwrap_or_default();
    match column.name == REMARK {
        true => format!("{REMARK}: {} in A, {} in B", or_none(a), or_none(b)),
        false => format!(
            "{} from {} to {}{unit}{change}",
            column.name,
            or_none(a),
            or_none(b)
        ),
    }
}

fn number(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Count(count) => Some(*count as f64),
        Cell::Number(number) => Some(*number),
        Cell::Nothing | Cell::Text(_) => None,
    }
}

/// The columns that tell rows apart: the first, and where that does not do, the first with which it does.
fn keys(table: &Table) -> Vec<usize> {
    let tell_apart = |columns: &[usize]| {
        let name = |row: &Vec<Cell>| {
            let cells = columns.iter().map(|&k| text(table, row, k));
            cells.collect::<Vec<_>>()
        };
        let names: BTreeSet<_> = table.rows.iter().map(name).collect();
        names.len() == table.rows.len()
    };
    let mut more = (1..table.columns.len()).map(|column| vec![0, column]);
    match tell_apart(&[0]) {
        true => vec![0],
        false => more.find(|columns| tell_apart(columns)).unwrap_or(vec![0]),
    }
}

/// `frame size 512 B, load 10 % of line rate`.
fn name(table: &Table, row: &[Cell], keys: &BTreeSet<usize>) -> String {
    let each = keys.iter().map(|&key| {
        let column = &table.columns[key];
        let unit = column.unit.as_deref().map(|unit| format!(" {unit}"));
        format!(
            "{} {}{}",
            column.name,
            text(table, row, key),
            unit.unwrap_or_default()
        )
    });
    Vec::from_iter(each).join(", ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn report(rows: Vec<Vec<Cell>>) -> Report {
        let columns = [
            ("frame size", "B"),
            ("load", "% of line rate"),
            ("reset time", "ns"),
            ("max", "ns"),
            ("lost", "frames"),
            (REMARK, ""),
        ];
        Report {
            procedure: "reset".to_owned(),
            title: "Reset".to_owned(),
            sections: Vec::new(),
            tables: vec![Table {
                title: "Reset".to_owned(),
                columns: columns
                    .iter()
                    .map(|(name, unit)| Column::new(name, unit))
                    .collect(),
                rows,
            }],
            figures: Vec::new(),
            conformance: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn row(size: u64, reset: f64, lost: u64) -> Vec<Cell> {
        let (load, remark) = (99.98.into(), "".into());
        vec![
            size.into(),
            load,
            reset.into(),
            reset.into(),
            lost.into(),
            remark,
        ]
    }

    #[test]
    fn what_the_benchmark_found_is_compared() {
        let a = report(vec![row(64, 1e8, 100), row(512, 2e8, 470)]);
        let b = report(vec![row(512, 4e8, 940), row(1518, 1e8, 100)]);
        let both = Benchmarks::new([&a, &b]).unwrap();
        assert_eq!(
            both.verdict(),
            "Reset: at frame size 512 B reset time from 200 ms to 400 ms (+100 %), lost from 470 to 940 frames (+100 %)."
        );
        let figures: Vec<_> = both.rows.iter().map(|row| row.figure.as_str()).collect();
        assert_eq!(
            figures,
            [
                "load (% of line rate)",
                "reset time",
                "max",
                "lost (frames)"
            ]
        );
        let alone = [
            ["frame size 64 B".to_owned()],
            ["frame size 1518 B".to_owned()],
        ];
        assert_eq!(both.alone, alone.map(Vec::from));
        let same = Benchmarks::new([&a, &a]).unwrap().verdict();
        assert_eq!(same, "Reset: no figure differs by more than 0.1 %.");
    }

    #[test]
    fn rows_of_one_size_are_told_apart_by_the_next_column_that_can() {
        let of = |lost: u64| {
            let mut second = row(512, 2e8, lost);
            second[1] = 50.0.into();
            report(vec![row(512, 2e8, 470), second])
        };
        let both = Benchmarks::new([&of(1), &of(0)]).unwrap();
        assert_eq!(
            both.verdict(),
            "Reset: at frame size 512 B, load 50 % of line rate lost from 1 to 0 frames (−100 %)."
        );
    }

    #[test]
    fn two_procedures_have_nothing_to_compare() {
        let a = report(vec![row(64, 1e8, 100)]);
        let b = Report {
            procedure: "latency".to_owned(),
            ..a.clone()
        };
        assert_eq!(Benchmarks::new([&a, &b]), None);
    }
}
