//! Measured and simulated distributions of a calibrated path (source 003), and predicted ones: cumulative, a
//! panel for each combination of levels and each probe.

use super::{Drawing, Table, axis, parse};
use delaylab_explain::calibrate::overlay::{Distribution, Group, Pair};
use delaylab_explain::calibrate::prediction::Predicted;
use delaylab_model::plan::compare_combinations;
use delaylab_view::calibration::words::{is_shown, measure, name, varied};
use serde_json::json;

const COLUMNS: &str = "panel which value_ns at_or_below packets";
const PANEL: usize = 0;
const VALUE: usize = 2;
/// Steps of a line.
const STEPS: u32 = 60;
/// What the lines are, in the order of their colours.
const WHICH: [&str; 3] = ["measured", "model", "predicted"];
/// What was measured is grey and behind.
const COLOURS: [&str; 3] = ["#808080", "#0072b2", "#d55e00"];

/// `None` where nothing has a distribution.
pub fn calibration(pairs: &[Pair]) -> Option<Drawing> {
    let rows: Vec<Vec<&Group>> = pairs
        .iter()
        .map(|pair| vec![&pair.measured, &pair.model])
        .collect();
    drawing(
        "overlay",
        "Measured and simulated",
        "Share of the answered packets whose response took at most so long; of frames, one way. The model's line includes the noise of \
         the unloaded trials.",
        rows,
    )
}

/// `None` where nothing has a distribution.
pub fn prediction(groups: &[Predicted]) -> Option<Drawing> {
    let rows = groups
        .iter()
        .map(|group| vec![&group.before.measured, &group.before.model, &group.after]);
    drawing(
        "prediction",
        "Before the change and after it",
        "Share of the answered packets whose response took at most so long; of frames, one way. Measured and simulated are of \
         the path as it was.",
        rows.collect(),
    )
}

/// A row holds what is drawn into one panel; its first is the measured one.
fn drawing(
    id: &'static str,
    title: &'static str,
    about: &str,
    mut rows: Vec<Vec<&Group>>,
) -> Option<Drawing> {
    rows.retain(|row| is_shown(row[0]));
    rows.sort_by(|a, b| compare_combinations(&a[0].factors, &b[0].factors, &[]));
    let heads = varied(rows.iter().map(|row| row[0]));
    let mut table = Table::new(COLUMNS);
    let mut panels = Vec::new();
    for row in &rows {
        let panel = name(row[0], &heads);
        for (group, which) in row.iter().zip(WHICH) {
            points(&mut table, [&panel, which], group.delay(measure(row[0])));
        }
        panels.push(panel);
    }
    let lines = rows.first()?.len();
    let mut spec = parse(include_str!("specs/overlay.json"));
    spec["facet"]["sort"] = json!(panels);
    spec["spec"]["encoding"]["color"]["scale"] =
        json!({ "domain": &WHICH[..lines], "range": &COLOURS[..lines] });
    let x = &mut spec["spec"]["encoding"]["x"];
    axis::unit(x, table.largest_by(PANEL, VALUE));
    let mut values = table.rows.iter().filter_map(|row| row[VALUE].as_i64());
    if lines == WHICH.len() && values.all(|value| value > 0) {
        // A change may move delays by orders of magnitude.
        x["scale"]["type"] = json!("log");
    }
    Some(Drawing::new([id, title], about.to_owned(), &table, spec))
}

fn points(table: &mut Table, [panel, which]: [&str; 2], delays: &Distribution) {
    for step in 0..=STEPS {
        let share = f64::from(step) / f64::from(STEPS);
        let Some(value) = delays.quantile(share) else {
            continue;
        };
        table.row([
            json!(panel),
            json!(which),
            json!(value.round() as i64),
            json!(share),
            json!(delays.values.len()),
        ]);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_view::calibration::samples::Sample;

    #[test]
    fn each_panel_has_a_line_for_each_and_those_of_a_prediction_one_more() {
        let sample = Sample::made();
        let calibration = calibration(sample.calibrated().pairs).unwrap();
        let prediction = prediction(sample.prediction().groups).unwrap();
        let rows = |drawing: &Drawing| drawing.spec["data"]["values"].as_array().unwrap().len();
        let line = STEPS as usize + 1;
        assert_eq!(
            (rows(&calibration), rows(&prediction)),
            (3 * 2 * line, 3 * 3 * line)
        );
        let panels = json!(["overflow, echo", "overflow, flood", "unloaded, echo"]);
        assert_eq!(calibration.spec["facet"]["sort"], panels);
        assert!(super::calibration(&[]).is_none());
        let artist = crate::svg::Artist::new().unwrap();
        for drawing in [calibration, prediction] {
            assert!(
                artist
                    .draw(&drawing.spec)
                    .unwrap()
                    .contains("overflow, echo")
            );
        }
    }
}
