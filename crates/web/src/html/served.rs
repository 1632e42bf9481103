//! What a page has only where a server is behind it: its tables to take away, round trips over time at
//! any zoom, and a run in progress as it goes.

use super::section;
use delaylab_view::run::{CLOCK_MOVED, RunData, Ways};
use maud::{Markup, html};

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
pub(crate) fn navigation() -> Markup {
    html! { nav { a href="/" { "All runs" } } }
}

/// A run in progress, as it goes.
pub(super) fn live(run: &RunData, served: &Served) -> Markup {
    // What its first trial sends is not known before that is complete.
    let ways = match run.trials.is_empty() {
        true => Ways::Both,
        false => run.ways(),
    };
    let delays = match ways {
        Ways::RoundTrip => "Responses",
        Ways::OneWay | Ways::Both => "Delays",
    };
    let about = " of the trial under way, of its first probe: smallest, mean and largest of each tenth of a second of the last \
                 minute.";
    html! {
        @if served.in_progress {
            section id="live" data-progress={ (served.address) "/progress" } {
                h2 { "In progress, or interrupted" }
                p class="status" role="status" { "This view needs JavaScript." }
                p class="status counts" {}
                div class="plot" {}
                p {
                    (delays) (about)
                    @if ways == Ways::Both { " The delay of frames is one way, that of all others a response." }
                    " What follows is of the trials that were complete when this page was opened."
                }
            }
        }
    }
}

/// Delays over time. The server answers with what fits the window.
pub(super) fn over_time(run: &RunData, served: &Served) -> Markup {
    let probes = run.probes();
    if probes.is_empty() || !served.tables.contains(&"records") {
        return html! {};
    }
    let label =
        run.delay_words("Round trips over time. Plus, minus and arrow keys zoom; 0 shows all.");
    let caption = "All trials end to end, in the order of their numbers: the smallest, mean and largest round trip of each \
                   stretch of time, and marks above where packets were not answered.";
    let body = html! {
        figure data-window={ (served.address) "/window" } {
            p {
                label {
                    "Probe "
                    select { @for name in &probes { option value=(name) { (name) } } }
                }
            }
            div class="plot" role="group" aria-label=(label) {}
            p class="status" role="status" { "This view needs JavaScript." }
            ul class="marks" {}
            figcaption {
                (run.delay_words(caption)) (run.ways().note())
                @if run.clock_moved() { (CLOCK_MOVED) }
                " Strokes below: gaps of the CPU sentinel, and what happened to the clocks. Drag to zoom: close up, every \
                 packet is drawn."
            }
        }
    };
    let title = run.delay_words("Every round trip over time");
    section("over-time", &title, body)
}

/// Links to take its tables away.
pub(super) fn tables(served: &Served) -> Markup {
    let formats: &[&str] = if served.in_progress {
        &["csv"]
    } else {
        &["csv", "parquet"]
    };
    let list = html! {
        @if !served.tables.is_empty() {
            ul { @for table in &served.tables { li { (table) ": " (links(served, table, formats)) } } }
        }
    };
    section("tables", "Tables", list)
}

fn links(served: &Served, table: &str, formats: &[&str]) -> Markup {
    html! {
        @for (k, format) in formats.iter().enumerate() {
            @if k > 0 { ", " }
            a href={ (served.address) "/" (table) "." (format) } download={ (table) "." (format) } {
                (label(format))
            }
        }
    }
}

fn label(format: &str) -> &'static str {
    match format {
        "csv" => "CSV",
        _ => "Parquet",
    }
}
