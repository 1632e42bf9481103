//! The distribution of the responses so far, and what lies beyond its last bin.

use super::canvas::Canvas;
use super::view::{Distribution, Seen};
use crate::style::Paint;
use delaylab_model::units::format_duration;
use delaylab_stats::histogram::Histogram;

/// Columns at the right, for the overflow bin and its figures.
const BEYOND: u16 = 18;
/// A bin is at most so wide.
const WIDEST: usize = 4;

/// Rows: the quantiles as a heading, bars, the axis.
pub(super) fn draw(seen: &Seen, mut canvas: Canvas<'_>) {
    let Some(distribution) = &seen.distribution else {
        canvas.heading("Response");
        canvas.put(1, 0, nothing(seen), Paint::Dim);
        return;
    };
    canvas.heading(&title(distribution, canvas.width()));
    let height = canvas.height().saturating_sub(2);
    let room = usize::from(canvas.width().saturating_sub(BEYOND));
    let histogram = &distribution.histogram;
    let columns = columns(&histogram.bins, room);
    let highest = columns.iter().copied().max().unwrap_or(0);
    let highest = highest.max(histogram.overflow).max(1) as f64;
    let mut bars = canvas.rows(1, height);
    for (column, &count) in (0..).zip(&columns) {
        if count > 0 {
            bars.bar(column, count as f64 / highest, Paint::Plain);
        }
    }
    let edge = columns.len() as u16;
    for row in 0..height {
        bars.put(row, edge, "│", Paint::Dim);
    }
    if histogram.overflow > 0 {
        let share = histogram.overflow as f64 / highest;
        bars.bar(edge + 1, share, Paint::Warning);
        let beyond = format!("{} beyond", histogram.overflow);
        bars.put(height.saturating_sub(1), edge + 3, &beyond, Paint::Warning);
    }
    axis(histogram, edge, &mut canvas, height + 1);
}

fn nothing(seen: &Seen) -> &'static str {
    match seen.counts.sent {
        0 => "No packet has ended yet.",
        _ => "Nothing was answered yet.",
    }
}

/// `Response: p50 59.7 µs  p90 …`, as much of it as there is room for.
fn title(distribution: &Distribution, width: u16) -> String {
    let figures = [
        ("min", distribution.min),
        ("p50", distribution.p50),
        ("p90", distribution.p90),
        ("p99", distribution.p99),
        ("max", distribution.histogram.max),
    ];
    let shown: &[&str] = if width >= 72 {
        &["min", "p50", "p90", "p99", "max"]
    } else {
        &["p50", "p99"]
    };
    let figures = figures.into_iter().filter(|(name, _)| shown.contains(name));
    let figures: Vec<_> = figures
        .map(|(name, ns)| format!("{name} {}", format_duration(ns)))
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
    let joined = count.div_ceil(room);
    let sums = bins.chunks(joined).map(|bins| bins.iter().sum());
    sums.collect()
}

/// `40.0 µs        118 µs   max 960 µs`.
fn axis(histogram: &Histogram, edge: u16, canvas: &mut Canvas<'_>, row: u16) {
    let (start, end) = (
        format_duration(histogram.start),
        format_duration(histogram.end()),
    );
    let at = canvas.put(row, 0, &start, Paint::Dim);
    let length = end.chars().count() as u16;
    let from = (edge + 1).saturating_sub(length).max(at + 1);
    let at = canvas.put(row, from, &end, Paint::Dim);
    let max = format!("max {}", format_duration(histogram.max));
    let paint = if histogram.overflow > 0 {
        Paint::Warning
    } else {
        Paint::Dim
    };
    canvas.put(row, (edge + 3).max(at + 2), &max, paint);
}
