//! The figures. Each is in the page twice: as a still picture for readers and printers without
//! scripts, and as the specification from which the script draws it again with tooltips.

use super::markup::{json, text};
use super::packed::packed;
use super::{filter, section as titled};
use crate::figure::{Drawing, drawings};
use crate::run::RunData;
use crate::svg::Artist;
use serde_json::Value;

/// Those of a run, below the filter of its levels.
pub(super) fn section(run: &RunData) -> String {
    let figures = figures(&drawings(run));
    let filter = if figures.is_empty() {
        String::new()
    } else {
        filter::form(run)
    };
    titled("figures", "Figures", &(filter + &figures))
}

/// A section of these.
pub(super) fn of(drawings: &[Drawing]) -> String {
    titled("figures", "Figures", &figures(drawings))
}

fn figures(drawings: &[Drawing]) -> String {
    if drawings.is_empty() {
        return String::new();
    }
    let artist = Artist::new().ok();
    let figures = drawings
        .iter()
        .map(|drawing| figure(drawing, artist.as_ref()));
    figures.collect()
}

pub(super) fn figure(drawing: &Drawing, artist: Option<&Artist>) -> String {
    let still = artist.and_then(|artist| artist.draw(&drawing.spec).ok());
    let still = still.unwrap_or_else(|| "<p>This figure needs JavaScript.</p>".to_owned());
    format!(
        "<figure data-spec=\"{name}\" data-kind=\"{kind}\">\n<h3>{title}</h3>\n<div class=\"drawing\">\n{still}\n</div>\n\
         <figcaption>{about}</figcaption>\n</figure>\n\
         <script type=\"application/json\" id=\"spec-{name}\">{spec}</script>\n",
        name = text(&drawing.name),
        kind = text(&drawing.kind),
        title = text(&drawing.title),
        about = text(&drawing.about),
        spec = json(&compact(&drawing.spec)),
    )
}

/// The specification with its data in few bytes.
fn compact(spec: &Value) -> Value {
    let mut spec = spec.clone();
    if let Value::Array(rows) = spec["data"]["values"].take() {
        spec["data"] = packed(&rows);
    }
    spec
}
