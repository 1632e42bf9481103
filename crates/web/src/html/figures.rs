//! The figures. Each is in the page twice: as a still picture for readers and printers without
//! scripts, and as the specification from which the script draws it again with tooltips.

use super::embedded::{json, packed};
use super::packed::columns;
use super::{filter, section as titled};
use delaylab_figure::Drawing;
use delaylab_figure::svg::Artist;
use delaylab_view::run::RunData;
use maud::{Markup, PreEscaped, html};
use serde_json::Value;
use std::cell::OnceCell;

/// Draws the still pictures of a page. To start an artist takes longer than a picture: there is one for all,
/// once there is anything to draw.
#[derive(Default)]
pub(super) struct Stills(OnceCell<Option<Artist>>);

impl Stills {
    fn still(&self, drawing: &Drawing) -> Markup {
        let artist = self.0.get_or_init(|| Artist::new().ok()).as_ref();
        let still = artist.and_then(|artist| artist.draw(&drawing.spec).ok());
        still.map_or_else(
            || html! { p { "This figure needs JavaScript." } },
            |still| PreEscaped(in_short(&still)),
        )
    }
}

/// What a still picture does without: what each mark says of itself, which is there once the script has drawn it (the
/// caption says what the picture shows); names for the script; and the page's own font. It is half as long without.
const LEFT_OUT: [&str; 7] = [
    "role",
    "aria-roledescription",
    "aria-label",
    "aria-hidden",
    "class",
    "pointer-events",
    "font-family",
];

/// What is so anyway where nothing is said.
const DEFAULTS: [&str; 5] = [
    " stroke-width=\"1\"",
    " x2=\"0\"",
    " y2=\"0\"",
    " opacity=\"1\"",
    " font-weight=\"normal\"",
];

fn in_short(svg: &str) -> String {
    let mut kept = coarser(svg);
    for default in DEFAULTS {
        kept = kept.replace(default, "");
    }
    for name in LEFT_OUT {
        let attribute = format!(" {name}=\"");
        let mut pieces = kept.split(&attribute);
        let mut fewer = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            fewer += piece.split_once('"').map_or("", |(_, behind)| behind);
        }
        kept = fewer;
    }
    kept
}

/// Paths to a tenth of a pixel, which nobody sees.
fn coarser(svg: &str) -> String {
    const PATH: &str = " d=\"";
    let mut pieces = svg.split(PATH);
    let mut kept = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (path, behind) = piece.split_at(piece.find('"').unwrap_or(0));
        kept += PATH;
        let is_number = |letter: char| letter.is_ascii_digit() || letter == '.';
        let mut rest = path;
        while let Some(start) = rest.find(is_number) {
            let length = rest[start..].find(|letter| !is_number(letter));
            let end = length.map_or(rest.len(), |length| start + length);
            kept += &rest[..start];
            kept += &tenths(&rest[start..end]);
            rest = &rest[end..];
        }
        kept += rest;
        kept += behind;
    }
    kept
}

/// `105.77` as `105.8`; whatever has no fraction is as it was.
fn tenths(number: &str) -> String {
    match number.parse::<f64>() {
        Ok(value) if number.contains('.') => ((value * 10.0).round() / 10.0).to_string(),
        _ => number.to_owned(),
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

/// A section of these.
pub(super) fn drawn(drawings: &[Drawing]) -> Markup {
    titled("figures", "Figures", figures(drawings, &Stills::default()))
}

fn figures(drawings: &[Drawing], artist: &Stills) -> Markup {
    html! { div class="gallery" { @for drawing in drawings { (figure(drawing, artist)) } } }
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
    #[test]
    fn a_still_has_its_marks_and_no_more() {
        let svg = r##"<svg a="1"><g role="graphics-symbol" aria-roledescription="rect mark" aria-label="x: 1 &lt; 2"><path d="M0,0"/></g></svg>"##;
        let still = super::in_short(svg);
        assert_eq!(still, r##"<svg a="1"><g><path d="M0,0"/></g></svg>"##);
    }

    #[test]
    fn paths_are_coarse_and_texts_as_they_were() {
        let svg = r##"<path d="M0,105.77h-18.04V2L0.96,7Z" stroke-width="1"/><text x="1">105.77</text><line x2="0" y2="-5"/>"##;
        let still = super::in_short(svg);
        let expected =
            r##"<path d="M0,105.8h-18V2L1,7Z"/><text x="1">105.77</text><line y2="-5"/>"##;
        assert_eq!(still, expected);
    }
}
