//! The figures. Each is in the page twice: as a still picture for readers and printers without
//! scripts, and as the specification from which the script draws it again with tooltips.

use super::embedded::{json, packed};
use super::packed::columns;
use super::still::in_short;
use super::{filter, section as titled};
use delaylab_figure::Drawing;
use delaylab_figure::svg::Artist;
use delaylab_view::run::RunData;
use maud::{Markup, PreEscaped, html};
use serde_json::Value;
use std::cell::OnceCell;

/// A longer still picture is left out: it has thousands of marks, and the script draws it of a fifth of its bytes.
const MOST_BYTES: usize = 100_000;

/// Draws the still pictures of a page. To start an artist takes longer than a picture: there is one for all,
/// once there is anything to draw.
#[derive(Default)]
pub(super) struct Stills(OnceCell<Option<Artist>>);

impl Stills {
    fn still(&self, drawing: &Drawing) -> Markup {
        let artist = self.0.get_or_init(|| Artist::new().ok()).as_ref();
        let still = artist.and_then(|artist| artist.draw(&drawing.spec).ok());
        let still = still.map(|still| in_short(&still));
        match still.filter(|still| still.len() <= MOST_BYTES) {
            Some(still) => PreEscaped(still),
            None => html! { p { "This figure needs JavaScript." } },
        }
    }
}

/// These of a run, below the filter of its levels.
pub(super) fn section(run: &RunData, drawings: &[Drawing], artist: &Stills) -> Markup {
    let body = html! {
        @if !drawings.is_empty() {
            (filter::form(run))
            (figures(drawings, artist))
        }
    };
    titled("figures", "Figures", body)
}

/// A section of these; none without any.
pub(super) fn drawn(drawings: &[Drawing]) -> Markup {
    titled("figures", "Figures", figures(drawings, &Stills::default()))
}

fn figures(drawings: &[Drawing], artist: &Stills) -> Markup {
    html! {
        @if !drawings.is_empty() {
            div class="gallery" { @for drawing in drawings { (figure(drawing, artist)) } }
        }
    }
}

pub(super) fn figure(drawing: &Drawing, artist: &Stills) -> Markup {
    html! {
        figure data-spec=(drawing.name) data-kind=(drawing.kind) {
            h3 { (drawing.title) }
            div class="drawing" { (artist.still(drawing)) }
            figcaption { (drawing.about) }
        }
        (specification(drawing))
    }
}

/// What the figure is drawn of; packed where that is shorter (`web/src/gzip.ts` unpacks it).
fn specification(drawing: &Drawing) -> Markup {
    let text = json(&compact(&drawing.spec)).into_string();
    let short = packed(&text);
    let (kind, content) = match short.len() < text.len() {
        true => ("application/gzip", short),
        false => ("application/json", text),
    };
    html! {
        script type=(kind) id={ "spec-" (drawing.name) } { (PreEscaped(content)) }
    }
}

/// The specification with its data in few bytes.
fn compact(spec: &Value) -> Value {
    let mut spec = spec.clone();
    if let Value::Array(rows) = spec["data"]["values"].take() {
        spec["data"] = columns(&rows);
    }
    spec
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_figure_there_is_no_section_of_them() {
        assert!(drawn(&[]).into_string().is_empty());
    }
}
