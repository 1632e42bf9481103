//! Draws figures as SVG without a browser: the script of the page, run by an embedded engine.

use crate::{Drawing, SCRIPT, every_drawing};
use delaylab_view::run::RunData;
use rquickjs::{CatchResultExt, CaughtError, Context, Ctx, Function, Object, Promise, Runtime};
use serde_json::Value;

/// Bytes of stack that the engine may use: less than any thread of ours has.
const STACK: usize = 1 << 20;

/// Bytes that may be garbage before it is looked for: to look takes longer than to draw, and a page needs less.
const GARBAGE: usize = 64 << 20;

/// Why a figure could not be drawn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SvgError {
    /// The engine did not start.
    #[error("the figures' script engine does not start: {0}")]
    Engine(String),
    /// The script failed.
    #[error("the figure cannot be drawn: {0}")]
    Drawing(String),
}

/// Draws any number of figures; starting it takes longer than drawing one.
pub struct Artist {
    context: Context,
}

impl Artist {
    /// Starts the engine and loads the script.
    ///
    /// # Errors
    /// Where the engine has no memory or the script does not load.
    pub fn new() -> Result<Self, SvgError> {
        let start = || -> rquickjs::Result<Context> {
            let runtime = Runtime::new()?;
            runtime.set_max_stack_size(STACK);
            runtime.set_gc_threshold(GARBAGE);
            Context::full(&runtime)
        };
        let context = start().map_err(|error| SvgError::Engine(error.to_string()))?;
        let load = |ctx: Ctx<'_>| {
            let loaded = ctx.eval::<(), _>(SCRIPT.as_str()).catch(&ctx);
            loaded.map_err(|error| SvgError::Engine(message(&error)))
        };
        context.with(load)?;
        Ok(Self { context })
    }

    /// A Vega-Lite specification with its data, as an SVG document.
    ///
    /// # Errors
    /// Where the specification is not one that Vega-Lite accepts.
    pub fn draw(&self, spec: &Value) -> Result<String, SvgError> {
        self.context.with(|ctx| {
            let drawn = call(&ctx, &spec.to_string()).catch(&ctx);
            drawn.map_err(|error| SvgError::Drawing(message(&error)))
        })
    }
}

fn call(ctx: &Ctx<'_>, spec: &str) -> rquickjs::Result<String> {
    let script: Object<'_> = ctx.globals().get("delaylab")?;
    let draw: Function<'_> = script.get("svg")?;
    let promise: Promise<'_> = draw.call((spec,))?;
    promise.finish()
}

/// What went wrong, without where in the script.
fn message(error: &CaughtError<'_>) -> String {
    let thrown = match error {
        CaughtError::Exception(exception) => exception.message(),
        _ => None,
    };
    thrown.unwrap_or_else(|| error.to_string())
}

/// One drawing as an SVG document.
///
/// # Errors
/// Where the engine does not start, or a specification is not one that Vega-Lite accepts.
pub fn draw(drawing: &Drawing) -> Result<String, SvgError> {
    Artist::new()?.draw(&drawing.standalone())
}

/// Every figure of the run as an SVG document of its own, with the name of its file.
///
/// # Errors
/// The first figure's that cannot be drawn.
pub fn files(run: &RunData) -> Result<Vec<(String, String)>, SvgError> {
    let artist = Artist::new()?;
    let file = |drawing: &Drawing| {
        let svg = artist.draw(&drawing.standalone())?;
        Ok((format!("{}.svg", drawing.name), svg))
    };
    every_drawing(run).iter().map(file).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_view::run::samples::runs;
    use serde_json::json;

    #[test]
    fn every_figure_is_drawn_with_all_its_marks() {
        for (name, run) in runs() {
            for (file, svg) in files(&run).unwrap() {
                assert!(svg.starts_with("<svg "), "{name}: {file}");
                assert!(!svg.contains("NaN"), "{name}: {file}");
                assert!(!svg.contains("undefined"), "{name}: {file}");
                assert!(
                    !svg.contains(" style="),
                    "{name}: {file}: a page's policy forbids it"
                );
                assert!(
                    svg.matches("role=\"graphics-symbol\"").count() > 2,
                    "{name}: {file}"
                );
            }
        }
    }

    /// What a part of the page's script gives for this.
    fn said(function: &str, of: &Value) -> Value {
        let call = format!("JSON.stringify(delaylab.{function}(...{of}))");
        let said = Artist::new()
            .unwrap()
            .context
            .with(|ctx| ctx.eval::<String, _>(call).unwrap());
        serde_json::from_str(&said).unwrap()
    }

    #[test]
    fn bounds_are_sorted_next_to_their_numbers() {
        let sizes = ["<0.01 %", "<1%", "1%", "99%", ">99%", "99.9 %", ">99.9 %"];
        let sizes = sizes.map(|text| said("size", &json!([text])).as_f64().unwrap());
        assert!(sizes.is_sorted_by(|a, b| a < b), "{sizes:?}");
        assert_eq!(said("size", &json!(["+1.5 ms"])), 1_500_000);
        assert_eq!(said("size", &json!(["−3 ns"])), -3);
    }

    #[test]
    fn a_table_that_is_saved_has_numbers_and_a_name_for_each_column() {
        let rows = json!([[
            [
                "",
                "",
                "A",
                "B − A",
                "95 % interval",
                "% of A",
                "95 % interval",
                "host"
            ],
            ["lost", "", "0 %", "+3.1 %", "+1 % to +5 %", "–", "–", "<1%"],
            [
                "response",
                "p50",
                "36.0 µs",
                "+1.2 ms",
                "+1.0 ms to no end",
                "+33 %",
                "−2 % to +40 %",
                "12%"
            ],
        ]]);
        let columns = said("columns", &rows);
        let columns = columns.as_array().unwrap().iter();
        let columns = columns.map(|column| (column["name"].as_str().unwrap(), &column["numbers"]));
        let found: Vec<_> = columns.collect();
        let (share, times) = (json!([0, null]), json!([null, 36_000]));
        assert_eq!(found[2..4], [("A percent", &share), ("A ns", &times)]);
        let of = |name: &str| {
            found
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, numbers)| *numbers)
        };
        assert_eq!(of("B − A ns"), Some(&json!([null, 1_200_000])));
        assert_eq!(
            of("B − A 95 % interval from ns"),
            Some(&json!([null, 1_000_000]))
        );
        assert_eq!(
            of("% of A 95 % interval to percent"),
            Some(&json!([null, 40]))
        );
        assert_eq!(of("host percent"), Some(&json!([1, 12])));
        let names: std::collections::BTreeSet<_> = found.iter().map(|(name, _)| *name).collect();
        assert_eq!(names.len(), found.len(), "{found:?}");
        assert!(!names.contains(""), "{names:?}");
    }

    /// Eleven panels below each other with an axis below the last one cannot be read on a telephone.
    #[test]
    fn where_there_is_little_room_each_panel_is_wide_and_has_its_axis() {
        let panel = json!({ "width": 172, "encoding": { "x": { "field": "t" } } });
        let spec = json!({ "facet": { "field": "panel" }, "columns": 3, "spec": panel,
            "resolve": { "scale": { "y": "independent" } } });
        let narrow = said("narrow", &json!([spec, 376]));
        assert_eq!(
            (&narrow["columns"], &narrow["spec"]["width"]),
            (&json!(1), &json!(300))
        );
        assert_eq!(
            narrow["resolve"],
            json!({ "scale": { "y": "independent" }, "axis": { "x": "independent" } })
        );
    }

    #[test]
    fn a_bad_specification_is_an_error_and_the_artist_lives_on() {
        let artist = Artist::new().unwrap();
        let error = artist
            .draw(&json!({ "mark": "nothing of the kind" }))
            .unwrap_err();
        assert!(matches!(error, SvgError::Drawing(_)), "{error}");
        let good = json!({ "data": { "values": [{ "a": 1 }] }, "mark": "point",
            "encoding": { "x": { "field": "a", "type": "quantitative" } } });
        assert!(artist.draw(&good).unwrap().contains("</svg>"));
    }

    #[test]
    fn figures_load_nothing() {
        let artist = Artist::new().unwrap();
        let spec = json!({ "data": { "url": "https://example.org/data.json" }, "mark": "point" });
        let drawn = artist.draw(&spec);
        assert!(drawn.is_err() || !drawn.unwrap().contains("example.org"));
    }
}
