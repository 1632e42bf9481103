//! What disturbed the host, by name; the environment; how to repeat the run.

use super::section;
use super::table::{Column, Table};
use delaylab_model::units::format_duration;
use delaylab_view::run::RunData;
use maud::{Markup, html};

/// Names that are worth a row; the rest took next to nothing.
const NAMES: usize = 30;

pub(super) fn noise(run: &RunData) -> Markup {
    use Column::{Figures, Words};
    let mut table = Table::new([
        ("who", Words),
        ("seen as", Words),
        ("times", Figures),
        ("total", Figures),
        ("maximum", Figures),
        ("packets delayed most by it", Figures),
    ]);
    for total in run.noise.iter().take(NAMES) {
        table.row(vec![
            total.who.clone(),
            total.kind.name().replace('_', " "),
            total.events.to_string(),
            format_duration(total.total),
            format_duration(total.longest),
            total.packets.to_string(),
        ]);
    }
    section("noise", "What else ran on the prober’s CPU", table.render())
}

pub(super) fn environment(run: &RunData) -> Markup {
    let mut table = Table::new([("", Column::Words), ("", Column::Words)]);
    for (name, value) in &run.environment {
        table.row(vec![name.clone(), value.clone()]);
    }
    section("environment", "Environment", table.render())
}

pub(super) fn repeat(run: &RunData) -> Markup {
    if run.head.repeat.is_empty() {
        return html! {};
    }
    let body = html! {
        pre tabindex="0" { code { (run.head.repeat) } }
        p {
            "Records, as Parquet, and everything else of this run are in " code { (run.head.folder) } "."
        }
    };
    section("repeat", "Repeat this run", body)
}
