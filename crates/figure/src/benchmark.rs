//! What a procedure of the device benchmark draws: lines over one axis, a chart for each of its
//! figures.

use super::{Figure, Table, WIDTH, axis, parse};
use delaylab_model::Nanos;
use delaylab_procedure::report;
use delaylab_view::benchmark::{heading, number};
use delaylab_view::run::RunData;
use serde_json::{Value, json};

pub(super) struct Benchmark;

const COLUMNS: &str = "figure line x y x_text y_text";

fn figures(run: &RunData) -> &[report::Figure] {
    run.benchmark.as_ref().map_or(&[], |found| &found.figures)
}

impl Figure for Benchmark {
    fn about(&self, run: &RunData) -> String {
        let titles: Vec<_> = figures(run)
            .iter()
            .map(|figure| figure.title.as_str())
            .collect();
        let titles = titles.join("; ");
        format!("{titles}.")
    }

    fn table(&self, run: &RunData) -> Table {
        let mut table = Table::new(COLUMNS);
        for figure in figures(run) {
            for line in &figure.lines {
                for (x, y) in &line.points {
                    table.row([
                        json!(figure.title),
                        json!(line.name),
                        json!(x),
                        json!(y),
                        json!(number(&figure.x, *x)),
                        json!(number(&figure.y, *y)),
                    ]);
                }
            }
        }
        table
    }

    fn spec(&self, run: &RunData, _: &Table) -> Value {
        let charts: Vec<_> = figures(run).iter().enumerate().map(chart).collect();
        json!({ "vconcat": charts, "resolve": { "scale": { "color": "independent" } } })
    }
}

fn chart((index, figure): (usize, &report::Figure)) -> Value {
    let mut spec = parse(include_str!("specs/benchmark.json"));
    spec["params"][0]["name"] = json!(format!("zoom_{index}"));
    spec["width"] = json!(WIDTH);
    spec["title"] = json!(figure.title);
    spec["transform"] = json!([{ "filter": { "field": "figure", "equal": figure.title } }]);
    for (at, (channel, column)) in [("x", &figure.x), ("y", &figure.y)].into_iter().enumerate() {
        spec["encoding"]["tooltip"][at + 1]["title"] = json!(heading(column));
        let encoding = &mut spec["encoding"][channel];
        encoding["title"] = json!(heading(column));
        let points = figure.lines.iter().flat_map(|line| &line.points);
        let values = points.map(|(x, y)| if channel == "x" { x } else { y });
        let most = values.fold(0.0, |most: f64, value| most.max(value.abs()));
        match column.unit.as_deref() {
            Some("ns") => axis::unit(encoding, [most as Nanos]),
            Some("s") => axis::unit_of_seconds(encoding, most),
            Some("bit/s") => axis::unit_of_rate(encoding, &column.name, most),
            _ => encoding["axis"]["labelExpr"] = json!(axis::number("datum.value")),
        }
    }
    let names: Vec<_> = figure.lines.iter().map(|line| &line.name).collect();
    spec["encoding"]["color"]["sort"] = json!(names);
    if names.len() < 2 {
        spec["encoding"]["color"]["legend"] = Value::Null;
    }
    spec
}
