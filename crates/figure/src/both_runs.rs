//! The distributions of two runs that are compared, over each other: cumulative, a panel a pair.

use super::quantile_shift::{PANELS, labels, lay_out, left_out};
use super::{Drawing, Table, axis, parse};
use delaylab_explain::compare::{PairFigures, Quantity};
use delaylab_model::Nanos;
use delaylab_view::compare::Compared;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const COLUMNS: &str = "panel which value_ns at_or_below";
const PANEL: usize = 0;
const VALUE: usize = 2;
/// What the lines are, in the order of their colours.
const WHICH: [&str; 2] = ["A", "B"];
const COLOURS: [&str; 2] = ["#0072b2", "#d55e00"];
/// What an axis takes of a panel.
const MARGIN: usize = 50;

/// The figure; `None` where the headline is no time, or was not asked for in full.
pub fn drawing(compared: &Compared) -> Option<Drawing> {
    let comparison = &compared.comparison;
    if !Quantity::Measure(comparison.headline).is_time() {
        return None;
    }
    let labels = labels(comparison);
    let mut table = Table::new(COLUMNS);
    let pairs = labels.iter().zip(&comparison.pairs);
    for (label, pair) in pairs {
        for (which, points) in WHICH.iter().zip(&pair.distributions) {
            for point in points {
                table.row([
                    json!(label),
                    json!(which),
                    json!(point.value.round() as i64),
                    json!(point.share),
                ]);
            }
        }
    }
    if table.rows.is_empty() {
        return None;
    }
    let mut spec = parse(include_str!("specs/overlay.json"));
    lay_out(&mut spec, &labels, MARGIN);
    spec["spec"]["height"] = json!(180);
    let name = comparison.headline.name().replace('_', " ");
    let encoding = &mut spec["spec"]["encoding"];
    let ranges = ranges(&table);
    let axis = Axis::new(ranges.iter().map(|(_, range)| *range));
    encoding["x"]["title"] = json!(name);
    axis.encode(&mut encoding["x"], &ranges, middle(&comparison.pairs));
    encoding["color"]["scale"] = json!({ "domain": WHICH, "range": COLOURS });
    encoding["tooltip"] = json!([
        { "field": "panel", "title": "Packets of" },
        { "field": "which", "title": "Run" },
        { "field": "at_or_below", "title": "Share", "format": ".4~%" },
    ]);
    let left_out = left_out(comparison);
    let axis = match axis {
        Axis::Linear => "up to the largest",
        Axis::Logarithmic => "on a logarithmic axis up to the largest",
        Axis::Symmetric => "on an axis that is logarithmic but for its middle, up to the largest",
    };
    let about = format!(
        "Share of the packets whose {name} was at most so long, in A and in B, {axis}.{left_out}"
    );
    Some(Drawing::new(
        ["both_runs", "Both distributions"],
        about,
        &table,
        spec,
    ))
}

/// The least and the largest value of each panel.
fn ranges(table: &Table) -> Vec<(String, (Nanos, Nanos))> {
    let mut ranges = BTreeMap::<String, (Nanos, Nanos)>::new();
    for row in &table.rows {
        if let (Some(panel), Some(value)) = (row[PANEL].as_str(), row[VALUE].as_i64()) {
            let range = ranges.entry(panel.to_owned()).or_insert((value, value));
            *range = (range.0.min(value), range.1.max(value));
        }
    }
    ranges.into_iter().collect()
}

/// What the axes of all panels are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Axis {
    Linear,
    Logarithmic,
    /// Of values of both signs: logarithmic but for its middle.
    Symmetric,
}

impl Axis {
    /// Of panels between these.
    fn new(mut ranges: impl Iterator<Item = (Nanos, Nanos)> + Clone) -> Self {
        match ranges.clone().all(|(least, _)| least > 0) {
            false => Axis::Symmetric,
            true if ranges.any(|(least, most)| axis::is_logarithmic(least, most)) => {
                Axis::Logarithmic
            }
            true => Axis::Linear,
        }
    }

    /// Makes `x` this axis; each panel has ticks of its own. `middle`: how far the middle of the narrowest line reaches.
    fn encode(self, x: &mut Value, ranges: &[(String, (Nanos, Nanos))], middle: Option<f64>) {
        let largest = |(_, (least, most)): &(String, (Nanos, Nanos))| {
            least.saturating_abs().max(most.saturating_abs())
        };
        let ends: Vec<(Nanos, Nanos)> = ranges.iter().map(|(_, range)| *range).collect();
        match self {
            Axis::Linear => axis::unit(x, ranges.iter().map(largest)),
            Axis::Logarithmic => {
                x["scale"]["type"] = json!("log");
                let ticks = ranges.iter();
                let ticks =
                    ticks.map(|(panel, (least, most))| (panel.clone(), axis::ticks(*least, *most)));
                x["axis"]["values"] = axis::ticks_by_panel(ticks);
                axis::unit_of_ranges(x, &ends);
            }
            Axis::Symmetric => {
                x["scale"]["type"] = json!("symlog");
                let linear = middle.map_or(0, |middle| middle as Nanos);
                let of = |range| axis::symmetric(linear, largest(range));
                x["scale"]["constant"] = json!(ranges.iter().map(|range| of(range).0).min());
                let ticks = ranges.iter().map(|range| {
                    let far = of(range).1;
                    (range.0.clone(), vec![-far, 0, far])
                });
                x["axis"]["values"] = axis::ticks_by_panel(ticks);
                axis::unit(x, ranges.iter().map(|range| of(range).1));
            }
        }
    }
}

/// How far the middle half of the narrowest line reaches.
fn middle(pairs: &[PairFigures]) -> Option<f64> {
    let lines = pairs
        .iter()
        .take(PANELS)
        .flat_map(|pair| &pair.distributions);
    let reach = lines.filter_map(|points| {
        let at = |share| points.iter().find(|point| point.share >= share);
        Some(at(0.75)?.value - at(0.25)?.value)
    });
    reach.min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::svg::Artist;
    use delaylab_view::compare::samples::samples;

    #[test]
    fn each_pair_has_a_line_for_each_run() {
        let artist = Artist::new().unwrap();
        for (name, compared) in samples() {
            let drawing = drawing(&compared);
            let pairs = compared.comparison.pairs.iter().take(PANELS);
            let drawn = pairs.flat_map(|pair| &pair.distributions);
            let drawn = drawn.filter(|points| !points.is_empty()).count();
            let svg = artist.draw(&drawing.unwrap().standalone()).unwrap();
            let lines = svg.matches("aria-roledescription=\"line mark\"").count();
            assert_eq!(lines, drawn, "{name}");
            let silent = svg.contains("B is never answered");
            assert_eq!(silent, name == "silent", "{name}");
            assert!(!svg.contains("NaN"), "{name}");
        }
    }

    /// One pair between 20.1 and 20.7 ms, another from 20 ms to 4 s: each has few ticks, of its own.
    #[test]
    fn each_panel_has_ticks_of_its_own() {
        let [(_, mut compared), ..] = samples();
        let pairs = &mut compared.comparison.pairs;
        pairs.truncate(1);
        pairs.push(pairs[0].clone());
        for (pair, most) in pairs.iter_mut().zip([20.7e6, 4e9]) {
            let case = delaylab_model::plan::Level::named(most.to_string());
            pair.pair.factors = vec![("case".to_owned(), case)];
            for point in pair.distributions.iter_mut().flatten() {
                point.value = 20.1e6 + point.share * (most - 20.1e6);
            }
        }
        let about = drawing(&compared).unwrap();
        let x = &about.spec["spec"]["encoding"]["x"];
        let ticks = x["axis"]["values"]["expr"].as_str().unwrap();
        assert!(ticks.contains("[20200000,20400000,20600000]"), "{ticks}");
        assert!(ticks.contains("[100000000,1000000000]"), "{ticks}");
        assert!(about.about.contains("logarithmic"));
        let svg = Artist::new().unwrap().draw(&about.standalone()).unwrap();
        assert!(svg.contains(">20.2 ms<") && svg.contains(">1 s<"), "{svg}");
    }

    /// Differences between packets are as often below zero as above.
    #[test]
    fn what_is_not_above_zero_is_drawn_too() {
        let [(_, mut compared), ..] = samples();
        let pair = &mut compared.comparison.pairs[0];
        for point in pair.distributions.iter_mut().flatten() {
            point.value = 10_000.0 * point.share - 5_000.0;
        }
        let points = pair.distributions.iter().flatten().count();
        compared.comparison.pairs.truncate(1);
        let drawing = drawing(&compared).unwrap();
        let drawn = drawing.spec["data"]["values"].as_array().unwrap().len();
        assert_eq!(drawn, points);
        let x = &drawing.spec["spec"]["encoding"]["x"];
        assert_eq!(x["scale"]["type"], "symlog");
        let ticks = x["axis"]["values"]["expr"].as_str().unwrap();
        assert!(ticks.ends_with("[-1000,0,1000]}[parent.panel]"), "{ticks}");
        let svg = Artist::new().unwrap().draw(&drawing.standalone()).unwrap();
        assert!(svg.contains(">−1<") && !svg.contains("NaN"), "{svg}");
    }
}
