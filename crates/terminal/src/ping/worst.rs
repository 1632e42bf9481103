//! The worst few responses, and the largest part of each.

use crate::style::Style;
use crate::table::{Cell, Table};
use delaylab_model::units::{format_duration, format_duration_f64};
use delaylab_stats::anatomy::Part;
use delaylab_stats::summary::Worst;
use delaylab_view::ping::Ping;
use delaylab_view::words::short_name;
use delaylab_view::words::short_percent;

/// Enough to see whether they are alike.
const SHOWN: usize = 5;

pub(super) fn section(ping: &Ping<'_>, style: &Style) -> String {
    let worst = &ping.summary.worst;
    if worst.len() < 2 {
        return String::new(); // one packet has been shown already
    }
    let heads = ["Worst", "at", "response"].map(Cell::new);
    let heads = heads.into_iter().chain([Cell::left("largest part")]);
    let mut table = Table::headed(heads);
    for worst in worst.iter().take(style.shown(worst.len(), SHOWN)) {
        table.row(row(worst, ping));
    }
    table.render(style)
}

fn row(worst: &Worst, ping: &Ping<'_>) -> [Cell; 4] {
    let record = &worst.record;
    let response = record.response().unwrap_or_default();
    [
        Cell::new(format!("seq {}", record.seq)),
        Cell::new(format_duration(record.t_intended - ping.summary.start)),
        Cell::new(format_duration(response)),
        Cell::left(largest(&worst.parts, response as f64)),
    ]
}

/// `receive wake-up 960 µs, 80%`.
fn largest(parts: &[Part], response: f64) -> String {
    let Some(part) = parts.iter().max_by(|a, b| a.ns.total_cmp(&b.ns)) else {
        return "–".to_owned();
    };
    let share = short_percent(part.ns / response);
    format!(
        "{} {}, {share}",
        short_name(part.stages),
        format_duration_f64(part.ns)
    )
}
