//! What a page has only where a server is behind it: its tables to take away, round trips over time at
//! any zoom, and a run in progress as it goes.

use super::markup::text;
use super::section;
use delaylab_view::run::{RunData, Ways};
use std::collections::BTreeMap;

/// Where the server has this run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// The address of its page, below which everything else of it is. Encoded.
    pub address: String,
    /// It is being written, or was interrupted.
    pub in_progress: bool,
    /// The tables that it has.
    pub tables: Vec<&'static str>,
}

/// The way back to the list of runs.
pub(crate) fn navigation() -> &'static str {
    "<nav><a href=\"/\">All runs</a></nav>\n"
}

/// A run in progress, as it goes.
pub(super) fn live(served: &Served) -> String {
    if !served.in_progress {
        return String::new();
    }
    format!(
        "<section id=\"live\" data-progress=\"{}/progress\">\n<h2>In progress</h2>\n\
         <p class=\"status\" role=\"status\">This view needs JavaScript.</p>\n<p class=\"status counts\"></p>\n\
         <div class=\"plot\"></div>\n<p>Round trips of the trial under way, its last minute: least, mean and largest of each tenth of a second. What follows is \
         of the trials that were complete when this page was opened.</p>\n</section>\n",
        text(&served.address)
    )
}

/// Round trips over time. The server answers with what fits the window.
pub(super) fn over_time(run: &RunData, served: &Served) -> String {
    let streams = run.trials.iter().map(|trial| &trial.stream);
    let probes: BTreeMap<u16, &str> = streams
        .map(|stream| (stream.probe, stream.name.as_str()))
        .collect();
    if run.ways() == Ways::OneWay || probes.is_empty() || !served.tables.contains(&"records") {
        return String::new();
    }
    let option =
        |(probe, name): (&u16, &&str)| format!("<option value=\"{probe}\">{}</option>", text(name));
    let options: String = probes.iter().map(option).collect();
    let body = format!(
        "<figure data-window=\"{}/window\">\n<p><label>Probe <select>{options}</select></label></p>\n\
         <div class=\"plot\" role=\"group\" aria-label=\"Round trips over time. Plus, minus and arrow keys zoom; 0 shows all.\"></div>\n\
         <p class=\"status\" role=\"status\">This view needs JavaScript.</p>\n<ul class=\"marks\"></ul>\n\
         <figcaption>All trials end to end, in the order of their numbers: the least, mean and largest round trip of each \
         stretch of time, and marks above where packets were not answered. Strokes below: gaps of the CPU sentinel, and \
         what happened to the clocks. Drag to zoom: close up, every packet is drawn.</figcaption>\n</figure>\n",
        text(&served.address)
    );
    section("over-time", "Every round trip over time", &body)
}

/// Links to take its tables away.
pub(super) fn tables(served: &Served) -> String {
    let table = |name: &&str| {
        let formats: &[&str] = if served.in_progress {
            &["csv"]
        } else {
            &["csv", "parquet"]
        };
        let link = |format: &&str| {
            format!(
                "<a href=\"{}/{name}.{format}\" download=\"{name}.{format}\">{}</a>",
                text(&served.address),
                label(format)
            )
        };
        let links: Vec<_> = formats.iter().map(link).collect();
        format!("<li>{name}: {}</li>\n", links.join(", "))
    };
    let items: String = served.tables.iter().map(table).collect();
    let list = if items.is_empty() {
        items
    } else {
        format!("<ul>\n{items}</ul>\n")
    };
    section("tables", "Tables", &list)
}

fn label(format: &str) -> &'static str {
    match format {
        "csv" => "CSV",
        _ => "Parquet",
    }
}
