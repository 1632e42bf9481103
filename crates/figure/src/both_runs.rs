//! The distributions of two runs that are compared, over each other: cumulative, a panel a pair.

use super::quantile_shift::{labels, lay_out, left_out};
use super::{Drawing, Table, axis, parse};
use delaylab_explain::compare::Quantity;
use delaylab_view::compare::Compared;
use serde_json::json;

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
            // A logarithmic axis has no place for others.
            for point in points.iter().filter(|point| point.value >= 1.0) {
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
    encoding["x"]["scale"]["type"] = json!("log");
    encoding["x"]["title"] = json!(name);
    axis::unit(&mut encoding["x"], table.largest_by(PANEL, VALUE));
    encoding["color"]["scale"] = json!({ "domain": WHICH, "range": COLOURS });
    encoding["tooltip"] = json!([
        { "field": "panel", "title": "Packets of" },
        { "field": "which", "title": "Run" },
        { "field": "at_or_below", "title": "Share", "format": ".2~%" },
    ]);
    let left_out = left_out(comparison);
    let about = format!(
        "Share of the packets whose {name} was at most so long, in A and in B, on a logarithmic axis up to the largest.{left_out}"
    );
    Some(Drawing::new(
        ["both_runs", "Both distributions"],
        about,
        &table,
        spec,
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::quantile_shift::PANELS;
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
}
