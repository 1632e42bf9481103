//! The distribution of the responses so far, on a logarithmic axis.

use super::canvas::Canvas;
use super::log_bins::LogBins;
use super::view::{Distribution, ProbeView};
use delaylab_model::units::format_duration;
use delaylab_terminal::style::Paint;

/// A bin is at most so wide.
const WIDEST: usize = 4;

/// Rows: the quantiles as a heading, bars, the axis.
pub(super) fn draw(seen: &ProbeView, mut canvas: Canvas<'_>) {
    let Some(distribution) = &seen.distribution else {
        canvas.heading("Response");
        canvas.put(1, 0, nothing(seen), Paint::Dim);
        return;
    };
    canvas.heading(&title(distribution, canvas.width()));
    let height = canvas.height().saturating_sub(2);
    let room = usize::from(canvas.width());
    let bins = &distribution.bins;
    let columns = columns(&bins.bins, room);
    let highest = columns.iter().copied().max().unwrap_or(0).max(1) as f64;
    let bound = seen.excursions.bound.map(|bound| bins.share(bound));
    let mut bars = canvas.rows(1, height);
    for (column, &count) in (0..).zip(&columns) {
        let at = f64::from(column) / columns.len() as f64;
        let beyond = bound.is_some_and(|bound| at > bound);
        let paint = if beyond { Paint::Warning } else { Paint::Plain };
        if count > 0 {
            bars.bar(column, count as f64 / highest, paint);
        }
    }
    axis(bins, columns.len() as u16, &mut canvas, height + 1);
}

fn nothing(seen: &ProbeView) -> &'static str {
    match seen.counts.sent {
        0 => "No packet has ended yet.",
        _ => "Nothing was answered yet.",
    }
}

/// `Response: p50 59.7 µs  p90 …`, as much of it as there is room for and as the packets carry.
fn title(distribution: &Distribution, width: u16) -> String {
    let figures = [
        ("min", Some(distribution.min)),
        ("p50", Some(distribution.p50)),
        ("p90", distribution.p90),
        ("p99", distribution.p99),
        ("max", Some(distribution.max)),
    ];
    let shown: &[&str] = if width >= 72 {
        &["min", "p50", "p90", "p99", "max"]
    } else {
        &["p50", "p99"]
    };
    let figures = figures.into_iter().filter(|(name, _)| shown.contains(name));
    let figures: Vec<_> = figures
        .filter_map(|(name, ns)| Some(format!("{name} {}", format_duration(ns?))))
        .collect();
    format!("Response: {}", figures.join("  "))
}

/// A column of the terminal each: bins repeated where there is room, joined where there is not.
fn columns(bins: &[u64], room: usize) -> Vec<u64> {
    let (count, room) = (bins.len().max(1), room.max(1));
    let wide = (room / count).min(WIDEST);
    if wide > 0 {
        let wide_bins = bins.iter().flat_map(|&bin| std::iter::repeat_n(bin, wide));
        return wide_bins.collect();
    }
    let mut columns = vec![0; room];
    for (at, bin) in bins.iter().enumerate() {
        columns[at * room / count] += bin;
    }
    columns
}

/// `40.0 µs     100 µs      1.00 ms   4.25 s`: the ends, and what powers of ten fit between them.
fn axis(bins: &LogBins, width: u16, canvas: &mut Canvas<'_>, row: u16) {
    let length = |text: &str| text.chars().count() as u16;
    let mut at = canvas.put(row, 0, &format_duration(bins.low), Paint::Dim);
    let end = format_duration(bins.high);
    let last = width.saturating_sub(length(&end)).max(at + 1);
    for decade in bins.decades() {
        let column = (bins.share(decade) * f64::from(width)) as u16;
        let text = format_duration(decade);
        if column > at + 1 && column + length(&text) + 1 < last {
            at = canvas.put(row, column, &text, Paint::Dim);
        }
    }
    canvas.put(row, last, &end, Paint::Dim);
}
