//! What a procedure of the device benchmark found in two runs, side by side.
//!
//! Trials of its searches are no conditions: which loads were tried depends on what was found, so the results are compared, row by row
//! of their tables by frame size.

use super::uncapitalised;
use crate::benchmark::{heading, text, used};
use crate::json::{Measured, Reasons, reasons};
use crate::run::stored::benchmark;
use delaylab_lab::experiment::Resolved;
use delaylab_model::units::format_signed_share;
use delaylab_model::words::each_once;
use delaylab_procedure::Report;
use delaylab_procedure::report::{Cell, Column, FRAME_SIZE, REMARK, Role, Table};
use delaylab_store::run::Run;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// Figures that are this near to each other are one.
const SAME: f64 = 1e-3;
/// Figures that are named in a sentence.
const NAMED: usize = 6;

/// Why two benchmarks that each found something are not compared.
const NO_COMMON_RESULT: &str =
    "the results of these benchmarks have nothing in common: choose two runs of one procedure";

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
    /// The figure, without its unit.
    pub figure: String,
    /// The unit of `a` and `b`; null for names and counts.
    pub unit: Option<String>,
    /// In A.
    pub a: Cell,
    /// In B.
    pub b: Cell,
    /// By which share it is more in B, 0.1 is 10 %.
    pub relative: Measured<f64>,
    /// Is it another one, by more than 0.1 %?
    pub differs: bool,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
    /// The figure with its unit, where that is not with the values.
    #[serde(skip)]
    pub heading: String,
    /// In A and in B, as people read it; empty where it has none.
    #[serde(skip)]
    pub texts: [String; 2],
    /// In words, without its unit in the name.
    #[serde(skip)]
    words: String,
    /// What the figure tells.
    #[serde(skip)]
    role: Role,
}

impl Benchmarks {
    /// Of two runs of one procedure, with their experiments.
    ///
    /// # Errors
    /// Why they are not compared.
    pub fn of_runs(runs: [(&Run, Option<&Resolved>); 2]) -> Result<Self, String> {
        let found = runs.map(|(run, resolved)| benchmark(run, resolved));
        Self::of_results(found.each_ref().map(Option::as_ref))
    }

    /// Of what was found in each of two runs.
    ///
    /// # Errors
    /// Why they are not compared.
    pub fn of_results(found: [Option<&Report>; 2]) -> Result<Self, String> {
        let without = match found {
            [Some(a), Some(b)] => {
                return Self::new([a, b]).ok_or_else(|| NO_COMMON_RESULT.to_owned());
            }
            [None, Some(_)] => "A has no result of its benchmark",
            [Some(_), None] => "B has no result of its benchmark",
            [None, None] => "neither run has a result of its benchmark",
        };
        Err(format!(
            "{without}: trials are missing there, or are not those that its procedure asks for"
        ))
    }

    /// Of two reports of one procedure; `None` of others.
    pub fn new(reports: [&Report; 2]) -> Option<Self> {
        let [a, b] = reports;
        let tables = [a.tables.first()?, b.tables.first()?];
        if a.procedure != b.procedure || tables[0].columns != tables[1].columns {
            return None;
        }
        let (mut rows, alone) = of_tables(tables);
        // Their rows are of the same sizes.
        for (a, b) in a.tables.iter().zip(&b.tables).skip(1) {
            if is_by_size(a) && a.columns == b.columns {
                let title = uncapitalised(&a.title);
                let of = |row: Row| Row {
                    of: format!("{} ({title})", row.of),
                    ..row
                };
                rows.extend(of_tables([a, b]).0.into_iter().map(of));
            }
        }
        Some(Self {
            title: a.title.clone(),
            rows,
            alone,
        })
    }

    /// What differs, in a sentence or two: results that one alone has, then each figure where it moved most, of what was lost first.
    pub fn verdict(&self) -> String {
        if self.rows.is_empty() {
            return format!("{}: the two have no row in common.", self.title);
        }
        let of_both = self.rows.chunk_by(|a, b| a.of == b.of);
        let (alone, of_both): (Vec<&[Row]>, Vec<&[Row]>) =
            of_both.partition(|rows| only_in(rows).is_some());
        let differing = of_both.into_iter().flatten().filter(|row| row.is_result());
        let differing: Vec<&Row> = differing.collect();
        let named = worst(&differing);
        let places = each_once(named.iter().map(|row| row.of.as_str()));
        let each = places.into_iter().map(|of| {
            let rows = named.iter().filter(|row| row.of == of);
            let words: Vec<&str> = rows.map(|row| row.words.as_str()).collect();
            format!("at {of} {}", words.join(", "))
        });
        let alone = alone.into_iter().filter_map(without_result);
        let all: Vec<String> = alone.chain(each).collect();
        if all.is_empty() {
            return self.without_result_that_differs();
        }
        let more = match differing.len() - named.len() {
            0 => String::new(),
            1 => "; 1 more figure differs".to_owned(),
            more => format!("; {more} more figures differ"),
        };
        format!("{}: {}{more}.", self.title, all.join("; "))
    }

    /// The verdict where no result differs: spread, and what the medium carries, may.
    fn without_result_that_differs(&self) -> String {
        let title = &self.title;
        let others = self.rows.iter().filter(|row| row.differs);
        let others = each_once(others.map(|row| row.figure.as_str()));
        match others.as_slice() {
            [] => format!("{title}: no figure differs by more than 0.1 %."),
            [one] => format!("{title}: no result differs by more than 0.1 %; {one} differs."),
            all => format!(
                "{title}: no result differs by more than 0.1 %; {} differ.",
                all.join(", ")
            ),
        }
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

/// Others are of what was asked for.
fn is_by_size(table: &Table) -> bool {
    let mut columns = table.columns.iter();
    columns.any(|column| column.name == FRAME_SIZE)
}

/// Each figure that two tables with the same columns have, and the rows that one alone has.
fn of_tables(tables: [&Table; 2]) -> (Vec<Row>, [Vec<String>; 2]) {
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
    let rows = rows.filter(|row| row.texts.iter().any(|text| !text.is_empty()));
    let rows = rows.collect();
    let alone = [0, 1].map(|side| {
        let names = named[side].iter().map(|(of, _)| of);
        let names = names.filter(|of| other(1 - side, of).is_none());
        names.cloned().collect()
    });
    (rows, alone)
}

/// Of each figure the row in which it moved most, the most important first.
fn worst<'a>(rows: &[&'a Row]) -> Vec<&'a Row> {
    let mut worst: Vec<&Row> = Vec::new();
    for &row in rows {
        match worst.iter_mut().find(|other| other.heading == row.heading) {
            Some(other) if row.moved() > other.moved() => *other = row,
            Some(_) => {}
            None => worst.push(row),
        }
    }
    worst.sort_by_key(|row| row.rank());
    worst.truncate(NAMED);
    worst
}

/// The run that alone has figures here, by its number; `None` where both have some, or none has.
fn only_in(rows: &[Row]) -> Option<usize> {
    let found = || rows.iter().filter(|row| row.role != Role::Medium);
    let has = |side: usize| found().any(|row| row.numbers()[side].is_some());
    match [has(0), has(1)] {
        [true, false] => Some(0),
        [false, true] => Some(1),
        _ => None,
    }
}

/// `at frame size 64 B no result in B (loss at every load)`.
fn without_result(rows: &[Row]) -> Option<String> {
    let side = 1 - only_in(rows)?;
    let of = &rows.first()?.of;
    let remark = rows.iter().find(|row| row.figure == REMARK);
    let remark = remark.map_or("", |row| row.texts[side].as_str());
    let why = match remark {
        "" => String::new(),
        why => format!(" ({})", why.trim_end_matches('.')),
    };
    Some(format!("at {of} no result in {}{why}", ["A", "B"][side]))
}

impl Row {
    fn new(of: &str, tables: [&Table; 2], rows: [&Vec<Cell>; 2], column: usize) -> Self {
        let head = &tables[0].columns[column];
        let side = |at: usize| text(tables[at], rows[at], column);
        let texts = [side(0), side(1)];
        let [a, b] = rows.map(|row| row.get(column).cloned().unwrap_or(Cell::Nothing));
        let change = match [number(&a), number(&b)] {
            [Some(a), Some(b)] if a != 0.0 => Some(b / a - 1.0),
            _ => None,
        };
        let differs = match change {
            Some(change) => change.abs() > SAME,
            None => texts[0] != texts[1],
        };
        let mut row = Self {
            of: of.to_owned(),
            figure: head.name.clone(),
            unit: head.unit.clone(),
            relative: Measured::or(change, || no_share(&a, &b)),
            differs,
            reasons: Reasons::new(),
            heading: heading(head),
            words: words(head, &texts, change),
            role: head.role,
            a,
            b,
            texts,
        };
        let none = |cell: &Cell| (*cell == Cell::Nothing).then_some("the procedure found none");
        row.reasons = reasons([
            ("a", none(&row.a)),
            ("b", none(&row.b)),
            ("relative", row.relative.missing()),
        ]);
        row
    }

    /// By which share it is more in B, or that it differs, where no share says so; empty where it does not.
    pub fn change(&self) -> String {
        match self.relative {
            _ if !self.differs => String::new(),
            Measured::Known(change) => format_signed_share(change),
            Measured::Missing(_) => "differs".to_owned(),
        }
    }

    fn is_result(&self) -> bool {
        self.differs && !matches!(self.role, Role::Medium | Role::Spread)
    }

    /// What was lost stands first in a sentence, and how much was measured last.
    const fn rank(&self) -> u8 {
        match self.role {
            Role::Loss => 0,
            Role::Result | Role::Spread | Role::Medium => 1,
            Role::Effort => 2,
        }
    }

    fn numbers(&self) -> [Option<f64>; 2] {
        [&self.a, &self.b].map(number)
    }

    /// How far: what was lost as it is, other figures by their ratio first.
    fn moved(&self) -> [f64; 2] {
        let [a, b] = self.numbers().map(Option::unwrap_or_default);
        let [ratio, apart] = [(b / a).ln().abs(), (b - a).abs()];
        match self.role {
            Role::Loss => [apart, 0.0],
            _ => [ratio, apart],
        }
    }
}

/// Why there is no share by which B has more than A.
fn no_share(a: &Cell, b: &Cell) -> String {
    let why = match (number(a), number(b)) {
        (Some(_), Some(_)) => "nothing is a share of A's 0",
        _ if [a, b].contains(&&Cell::Nothing) => "one of the runs has no figure",
        _ => "words have no share",
    };
    why.to_owned()
}

/// `reset time from 200 ms to 400 ms (+100 %)`.
fn words(column: &Column, [a, b]: &[String; 2], change: Option<f64>) -> String {
    let or_none = |value: &String, unit: &str| match value.is_empty() {
        true => "none".to_owned(),
        false => format!("{value}{unit}"),
    };
    let unit = match column.unit.as_deref() {
        None | Some("ns" | "s") => String::new(),
        Some(unit) => format!(" {unit}"),
    };
    let change = change.map(|change| format!(" ({})", format_signed_share(change)));
    let change = change.unwrap_or_default();
    // Once is enough.
    let unit_of_a = if b.is_empty() { unit.as_str() } else { "" };
    let (a, b) = (or_none(a, unit_of_a), or_none(b, &unit));
    match column.name == REMARK {
        true => format!("{REMARK}: {a} in A, {b} in B"),
        false => format!("{} from {a} to {b}{change}", column.name),
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
    use serde_json::Value;

    fn report(rows: Vec<Vec<Cell>>) -> Report {
        let columns = [
            (FRAME_SIZE, "B", Role::Result),
            ("load", "% of line rate", Role::Result),
            ("reset time", "ns", Role::Result),
            ("max", "ns", Role::Spread),
            ("lost", "frames", Role::Loss),
            (REMARK, "", Role::Result),
        ];
        Report {
            procedure: "reset".to_owned(),
            title: "Reset".to_owned(),
            sections: Vec::new(),
            tables: vec![Table {
                title: "Reset".to_owned(),
                columns: columns.map(Column::from).to_vec(),
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
            "Reset: at frame size 512 B lost from 470 to 940 frames (+100 %), reset time from 200 ms to 400 ms (+100 %)."
        );
        let figures: Vec<_> = both.rows.iter().map(|row| row.heading.as_str()).collect();
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
        let changes: Vec<String> = both.rows.iter().map(Row::change).collect();
        assert_eq!(changes, ["", "+100 %", "+100 %", "+100 %"]);
        let same = Benchmarks::new([&a, &a]).unwrap().verdict();
        assert_eq!(same, "Reset: no figure differs by more than 0.1 %.");
    }

    #[test]
    fn spread_alone_that_differs_is_named() {
        let a = report(vec![row(64, 1e8, 100)]);
        let mut other = row(64, 1e8, 100);
        other[3] = 2e8.into();
        let both = Benchmarks::new([&a, &report(vec![other])]).unwrap();
        assert_eq!(
            both.verdict(),
            "Reset: no result differs by more than 0.1 %; max differs."
        );
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

    /// Of several sizes each figure is named where it moved most.
    #[test]
    fn the_worst_is_named_and_the_rest_counted() {
        let a = report(vec![
            row(64, 1e8, 10),
            row(512, 1e8, 10),
            row(1518, 1e8, 10),
        ]);
        let b = report(vec![
            row(64, 2e8, 20),
            row(512, 4e8, 20),
            row(1518, 1e8, 90),
        ]);
        let both = Benchmarks::new([&a, &b]).unwrap();
        assert_eq!(
            both.verdict(),
            "Reset: at frame size 1518 B lost from 10 to 90 frames (+800 %); at frame size 512 B reset time from 100 ms to \
             400 ms (+300 %); 3 more figures differ."
        );
    }

    #[test]
    fn a_size_of_which_one_run_has_no_result_is_named_first() {
        let a = report(vec![row(64, 1e8, 10), row(512, 1e8, 10)]);
        let mut none = vec![Cell::Nothing; 6];
        (none[0], none[5]) = (512_u64.into(), "loss at every load".into());
        let b = report(vec![row(64, 1e8, 20), none]);
        let both = Benchmarks::new([&a, &b]).unwrap();
        assert_eq!(
            both.verdict(),
            "Reset: at frame size 512 B no result in B (loss at every load); at frame size 64 B lost from 10 to 20 frames \
             (+100 %)."
        );
        let mut rows = both.rows.iter();
        let lost = rows.find(|row| row.of == "frame size 512 B" && row.figure == "lost");
        let lost = serde_json::to_value(lost.unwrap()).unwrap();
        assert_eq!((&lost["a"], &lost["b"]), (&10.into(), &Value::Null));
        assert_eq!(lost["unit"], "frames");
        assert_eq!(lost["reasons"]["b"], "the procedure found none");
        assert_eq!(lost["reasons"]["relative"], "one of the runs has no figure");
    }

    /// That of every frame stands behind that of tagged ones; what was asked for is no result.
    #[test]
    fn every_table_by_frame_size_is_compared() {
        let with = |lost: u64, duration: u64| {
            let table = |title: &str, columns: [(&str, &str, Role); 2], row: Vec<Cell>| Table {
                title: title.to_owned(),
                columns: columns.map(Column::from).to_vec(),
                rows: vec![row],
            };
            let mut report = report(vec![row(64, 1e8, 10)]);
            report.tables.push(table(
                "Every frame",
                [(FRAME_SIZE, "B", Role::Result), ("lost", "", Role::Loss)],
                vec![64_u64.into(), lost.into()],
            ));
            report.tables.push(table(
                "Goals",
                [("goal", "", Role::Result), ("duration", "s", Role::Result)],
                vec!["loss".into(), duration.into()],
            ));
            report
        };
        let both = Benchmarks::new([&with(0, 1), &with(3, 60)]).unwrap();
        assert_eq!(
            both.verdict(),
            "Reset: at frame size 64 B (every frame) lost from 0 to 3."
        );
        let last = both.rows.last().unwrap();
        assert_eq!(last.change(), "differs");
    }

    #[test]
    fn what_the_medium_carries_is_no_result() {
        let columns = [
            (FRAME_SIZE, "B", Role::Result),
            ("throughput", "frames/s", Role::Result),
            ("theoretical maximum", "frames/s", Role::Medium),
        ];
        let with = |throughput: Option<f64>| {
            let mut report = report(Vec::new());
            report.tables[0] = Table {
                title: "Throughput".to_owned(),
                columns: columns.map(Column::from).to_vec(),
                rows: vec![vec![64_u64.into(), throughput.into(), 14_880.9.into()]],
            };
            report
        };
        let both = Benchmarks::new([&with(Some(1000.0)), &with(None)]).unwrap();
        assert_eq!(both.verdict(), "Reset: at frame size 64 B no result in B.");
    }

    #[test]
    fn two_procedures_have_nothing_to_compare() {
        let a = report(vec![row(64, 1e8, 100)]);
        let b = Report {
            procedure: "latency".to_owned(),
            ..a.clone()
        };
        assert_eq!(Benchmarks::new([&a, &b]), None);
        for (found, says) in [
            ([Some(&a), Some(&b)], "choose two runs of one procedure"),
            ([None, Some(&b)], "A has no result of its benchmark"),
            ([Some(&a), None], "B has no result of its benchmark"),
            ([None, None], "neither run has a result"),
        ] {
            let why = Benchmarks::of_results(found).unwrap_err();
            assert!(why.contains(says), "{why}");
        }
    }
}
