//! What else ran on the prober's CPU, the most disturbing first.

use crate::style::{Paint, Style};
use crate::table::{Cell, Table};
use delaylab_model::units::format_duration;
use delaylab_view::run::RunData;

/// Names that are shown unless all are asked for.
const NAMES: usize = 5;

pub(super) fn section(run: &RunData, style: &Style) -> String {
    if run.noise.is_empty() {
        return String::new();
    }
    let mut table = Table::default();
    let on = match run.head.world.as_str() {
        "sim" => "On the simulated CPU",
        _ => "On the prober's CPU",
    };
    let heads = [
        on,
        "kind",
        "runs",
        "CPU time",
        "maximum",
        "packets overlapped",
    ];
    table.row(heads.map(|head| Cell::painted(head, Paint::Dim)));
    let shown = if style.verbose {
        run.noise.len()
    } else {
        NAMES
    };
    for total in run.noise.iter().take(shown) {
        table.row([
            Cell::new(&total.who),
            Cell::left(total.kind.name().replace('_', " ")),
            Cell::new(total.events.to_string()),
            Cell::new(format_duration(total.total)),
            Cell::new(format_duration(total.longest)),
            Cell::new(total.packets.to_string()),
        ]);
    }
    table.render(style)
}
