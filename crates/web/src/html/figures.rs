//! The figures. Each is in the page twice: as a still picture for readers and printers without
//! scripts, and as the specification from which the script draws it again with tooltips.

use super::markup::{json, text};
use super::packed::packed;
use super::{filter, section as titled};
use delaylab_figure::svg::Artist;
use delaylab_figure::{Drawing, drawings};
use delaylab_view::run::RunData;
use serde_json::Value;
use std::cell::OnceCell;

/// Draws the still pictures of a page. To start an artist takes longer than a picture: there is one for all,
/// once there is anything to draw.
#[derive(Default)]
pub(super) struct Stills(OnceCell<Option<Artist>>);

impl Stills {
    fn of(&self, drawing: &Drawing) -> String {
        let artist = self.0.get_or_init(|| Artist::new().ok()).as_ref();
        let still = artist.and_then(|artist| artist.draw(&drawing.spec).ok());
        still.unwrap_or_else(|| "<p>This figure needs JavaScript.</p>".to_owned())
    }
}

/// Those of a run, below the filter of its levels.
pub(super) fn section(run: &RunData, artist: &Stills) -> String {
    let figures = figures(&drawings(run), artist);
    let filter = if figures.is_empty() {
        String::new()
    } else {
        filter::form(run)
    };
    titled("figures", "Figures", &(filter + &figures))
}

/// A section of these.
pub(super) fn of(drawings: &[Drawing]) -> String {
    let figures = figures(drawings, &Stills::default());
    titled("figures", "Figures", &figures)
}

fn figures(drawings: &[Drawing], artist: &Stills) -> String {
    let each = drawings.iter().map(|drawing| figure(drawing, artist));
    each.collect()
}

pub(super) fn figure(drawing: &Drawing, artist: &Stills) -> String {
    let still = artist.of(drawing);
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
