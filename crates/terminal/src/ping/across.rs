//! Several loads, one after the other, beside idle: a column each.

use crate::style::{Paint, Style};
use crate::table::{Cell, Table};
use crate::text::paragraph;
use delaylab_model::load::Direction;
use delaylab_model::units::{format_duration, format_part, format_rate, format_signed_duration};
use delaylab_stats::summary::{Distribution, Summary};
use delaylab_view::words::both_ends;
use delaylab_view::working::{MedianGrowth, Working, on_its_own};

/// The table, and what each load does to the response.
pub(super) fn section(loaded: &[Working<'_>], style: &Style) -> String {
    let Some(first) = loaded.first() else {
        return String::new();
    };
    let title = "--- idle and under each load ---";
    let mut text = style.paint(Paint::Bold, title) + "\n";
    text += &table(first.idle.summary, loaded).render(style);
    text += "\n";
    for part in loaded {
        let said = format!("{}: {}", part.load, part.verdict());
        text += &paragraph(&said, Paint::Bold, style);
    }
    text
}

/// One of a distribution, where its packets carry it.
type Quantile = fn(&Distribution) -> Option<i64>;

fn table(idle: &Summary, loaded: &[Working<'_>]) -> Table {
    let heads = loaded.iter().map(|part| part.load);
    let heads = ["", "idle"].into_iter().chain(heads);
    let mut table = Table::headed(heads.map(Cell::new));
    // What no part has is left out.
    let mut line = |label: &str, idle: String, parts: &dyn Fn(&Working<'_>) -> Option<String>| {
        let parts = loaded.iter().map(|part| parts(part).unwrap_or_default());
        let cells: Vec<_> = std::iter::once(idle).chain(parts).collect();
        if cells.iter().any(|cell| !cell.is_empty()) {
            let row = std::iter::once(label.to_owned()).chain(cells);
            table.row(row.map(Cell::new));
        }
    };
    let quantiles: [(&str, Quantile); 2] = [
        ("response p50", |d| Some(d.p50)),
        ("response p99", Distribution::carried_p99),
    ];
    for (label, quantile) in quantiles {
        let of = |summary: &Summary| {
            let ns = summary.response.as_ref().and_then(quantile);
            ns.map(format_duration)
        };
        line(label, of(idle).unwrap_or_default(), &|part| {
            of(part.loaded.summary)
        });
    }
    let growth = |part: &Working<'_>| {
        part.median_growth()
            .map(|growth| format_signed_duration(growth.ns as f64))
    };
    line("p50 increase", String::new(), &growth);
    let interval = |part: &Working<'_>| part.median_growth().and_then(interval);
    line("  95 % interval", String::new(), &interval);
    let lost = |summary: &Summary| format_part(summary.counts.lost, summary.counts.ended());
    line("lost", lost(idle), &|part| Some(lost(part.loaded.summary)));
    for direction in [Direction::Up, Direction::Down] {
        let goodput = |part: &Working<'_>| part.goodput(direction).map(format_rate);
        let label = format!("goodput {}", direction.name());
        line(&label, String::new(), &goodput);
    }
    let rpm = |rpm: f64| format!("{rpm:.0}");
    let own = on_its_own(idle).map(rpm).unwrap_or_default();
    line("responsiveness, RPM", own, &|part| {
        part.responsiveness().map(rpm)
    });
    table
}

fn interval(growth: MedianGrowth) -> Option<String> {
    Some(both_ends(growth.interval?, format_signed_duration))
}
