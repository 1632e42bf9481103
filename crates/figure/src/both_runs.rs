//! The distributions of two runs that are compared, over each other: cumulative, a panel a pair.

use super::quantile_shift::{PANELS, labels, lay_out, left_out};
use super::{Drawing, Table, axis, parse};
use delaylab_explain::compare::{PairFigures, Quantity};
use delaylab_model::Nanos;
use delaylab_view::compare::Compared;
use serde_json::json;
use std::collections::BTreeSet;

const COLUMNS: [&str; 4] = ["panel", "which", "value_ns", "at_or_below"];
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
    let mut table = Table::new(&COLUMNS);
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
    let largest = table.largest_by(PANEL, VALUE);
    let mut values = table.rows.iter().filter_map(|row| row[VALUE].as_i64());
    let is_logarithmic = values.all(|value| value > 0);
    encoding["x"]["scale"]["type"] = json!(if is_logarithmic { "log" } else { "symlog" });
    if !is_logarithmic {
        let linear = middle(&comparison.pairs).map_or(0, |middle| middle as Nanos);
        let ends = largest
            .iter()
            .map(|largest| axis::symmetric(linear, *largest));
        let ticks: BTreeSet<_> = ends.clone().flat_map(|(_, far)| [-far, 0, far]).collect();
        encoding["x"]["scale"]["constant"] = json!(ends.map(|(linear, _)| linear).min());
        encoding["x"]["axis"]["values"] = json!(ticks);
    }
    encoding["x"]["title"] = json!(name);
    axis::unit(&mut encoding["x"], largest);
    encoding["color"]["scale"] = json!({ "domain": WHICH, "range": COLOURS });
    encoding["tooltip"] = json!([
        { "field": "panel", "title": "Packets of" },
        { "field": "which", "title": "Run" },
        { "field": "at_or_below", "title": "Share", "format": ".4~%" },
    ]);
    let left_out = left_out(comparison);
    let logarithmic = match is_logarithmic {
        true => "logarithmic axis",
        false => "axis that is logarithmic but for its middle,",
    };
    let about = format!(
        "Share of the packets whose {name} was at most so long, in A and in B, on a {logarithmic} up to the largest.{left_out}"
    );
    Some(Drawing::new(
        ["both_runs", "Both distributions"],
        about,
        &table,
        spec,
    ))
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
        assert_eq!(x["axis"]["values"], json!([-1_000, 0, 1_000]));
        let svg = Artist::new().unwrap().draw(&drawing.standalone()).unwrap();
        assert!(svg.contains(">−1<") && !svg.contains("NaN"), "{svg}");
    }
}
