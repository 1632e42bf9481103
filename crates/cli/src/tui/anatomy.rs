//! The anatomy at the quantiles: a bar each, its stages in the packet's order, host and network apart.

use super::canvas::Canvas;
use delaylab_model::units::format_duration_f64;
use delaylab_stats::anatomy::{Part, Place, Stage, StageSet};
use delaylab_stats::summary::AnatomyAt;
use delaylab_terminal::bar::widths;
use delaylab_terminal::style::Paint;
use delaylab_view::words::short_name;
use delaylab_view::words::short_percent;

/// Columns before a bar: the quantile and its response.
const LABEL: u16 = 16;
/// Columns behind a bar: the share of the host.
const SHARES: u16 = 10;
/// Columns behind that: the largest stage and its share.
const LARGEST: u16 = 28;

/// Rows: a heading, as many of the quantiles as there is room for, what the bars mean.
pub(super) fn draw(anatomy: &[AnatomyAt], answered: u64, mut canvas: Canvas<'_>) {
    canvas.heading("Where the time goes");
    if anatomy.is_empty() {
        canvas.put(1, 0, "Nothing to take apart yet.", Paint::Dim);
        return;
    }
    // One packet is every quantile at once.
    let anatomy = if answered < 2 { &anatomy[..1] } else { anatomy };
    let rows = usize::from(canvas.height().saturating_sub(1));
    let shown = choose(anatomy, rows);
    for (row, at) in (1..).zip(&shown) {
        draw_row(at, row, answered < 2, &mut canvas);
    }
    let row = 1 + shown.len() as u16;
    legend(anatomy, row, &mut canvas);
}

/// The quantiles that say most in so many rows.
fn choose(anatomy: &[AnatomyAt], rows: usize) -> Vec<&AnatomyAt> {
    let wanted: &[&str] = match rows {
        0 | 1 => &["p50"],
        2 => &["p50", "p99"],
        3 => &["p50", "p99", "max"],
        4 => &["p50", "p99", "p99.9", "max"],
        _ => &["p50", "p90", "p99", "p99.9", "max"],
    };
    let chosen = anatomy.iter().filter(|at| wanted.contains(&at.label));
    chosen.collect()
}

fn draw_row(at: &AnatomyAt, row: u16, only: bool, canvas: &mut Canvas<'_>) {
    let label = if only { "" } else { at.label };
    let response = format_duration_f64(at.response_ns);
    canvas.put(row, 0, &format!("{label:<5} {response:>8}"), Paint::Plain);
    let width = canvas.width();
    let with_largest = width >= LABEL + SHARES + LARGEST + 16;
    let behind = SHARES + if with_largest { LARGEST } else { 0 };
    let room = width.saturating_sub(LABEL + behind);
    let mut column = LABEL;
    for (fill, paint, columns) in segments(&at.parts, usize::from(room)) {
        column = canvas.put(row, column, &fill.repeat(columns), paint);
    }
    let mut column = LABEL + room + 1;
    if let Some(host) = at.host_ns {
        let host = format!("host {:>4}", short_percent(host / at.response_ns));
        column = canvas.put(row, column, &host, Paint::Host);
    }
    if let Some(part) = largest(&at.parts).filter(|_| with_largest) {
        let share = short_percent(part.ns / at.response_ns);
        let text = format!("  {} {share}", short_name(part.stages));
        canvas.put(row, column, &text, Paint::Dim);
    }
}

fn largest(parts: &[Part]) -> Option<&Part> {
    parts.iter().max_by(|a, b| a.ns.total_cmp(&b.ns))
}

/// A bar of so many columns: its pieces, each with its share of them. Whatever took any time has a column,
/// as long as there are enough. Neighbours differ in their filling.
fn segments(parts: &[Part], room: usize) -> Vec<(&'static str, Paint, usize)> {
    let widths = widths(&parts.iter().map(|part| part.ns).collect::<Vec<_>>(), room);
    let drawn = parts.iter().zip(widths).filter(|(_, columns)| *columns > 0);
    let mut host = ["█", "▓"].into_iter().cycle();
    let mut network = ["░", "▒"].into_iter().cycle();
    let pieces = drawn.map(|(part, columns)| match part.stages.place() {
        Place::Prober | Place::Reflector => (host.next(), Paint::Host, columns),
        Place::Network => (network.next(), Paint::Network, columns),
        Place::Server => (Some("▚"), Paint::Server, columns),
        Place::Resolver | Place::Unclear => (Some("?"), Paint::Dim, columns),
    });
    pieces
        .map(|(fill, paint, columns)| (fill.unwrap_or(" "), paint, columns))
        .collect()
}

/// `host █▓  network ░▒  slip, stack, …`, in the order of the bar.
fn legend(anatomy: &[AnatomyAt], row: u16, canvas: &mut Canvas<'_>) {
    let Some(at) = anatomy.first() else {
        return;
    };
    let stages: Vec<_> = at.parts.iter().map(|part| brief(part.stages)).collect();
    let keys = [
        ("host █▓", Paint::Host),
        ("  network ░▒", Paint::Network),
        ("  ", Paint::Dim),
        (&stages.join(", "), Paint::Dim),
    ];
    canvas.line(row, &keys);
}

/// A word for a stage; the first and the last of several.
fn brief(stages: StageSet) -> String {
    const fn word(stage: Stage) -> &'static str {
        match stage {
            Stage::ScheduleSlip => "slip",
            Stage::Resolve => "resolve",
            Stage::Connect => "connect",
            Stage::Tls => "TLS",
            Stage::SendStack => "stack",
            Stage::LocalQueue => "queue",
            Stage::ForwardPath => "forward",
            Stage::Reflector => "reflector",
            Stage::Server => "server",
            Stage::ReturnPath => "return",
            Stage::Transfer => "transfer",
            Stage::ReceiveWakeup => "wake-up",
        }
    }
    let several = stages.len() > 1;
    match (stages.iter().next(), stages.iter().last()) {
        _ if several && stages.place() == Place::Network => "network".to_owned(),
        (Some(first), Some(last)) if several => format!("{} to {}", word(first), word(last)),
        (Some(only), _) => word(only).to_owned(),
        _ => String::new(),
    }
}
