//! The responses of late, a column a moment: the longest of each.

use super::canvas::Canvas;
use super::strip::Column;
use super::view::ProbeView;
use delaylab_model::Nanos;
use delaylab_model::units::format_duration;
use delaylab_terminal::style::Paint;

/// Rows: a heading, and bars of a logarithmic scale.
pub(super) fn draw(seen: &ProbeView, mut canvas: Canvas<'_>) {
    let room = usize::from(canvas.width());
    let from = seen.columns.len().saturating_sub(room);
    let columns = &seen.columns[from..];
    canvas.heading(&title(columns, seen.column));
    let scale = Scale::fitting(columns);
    let height = canvas.height().saturating_sub(1);
    let mut bars = canvas.rows(1, height);
    for (at, column) in (0..).zip(columns) {
        if let (Some(worst), Some(scale)) = (column.worst, &scale) {
            let beyond = seen.excursions.bound.is_some_and(|bound| worst > bound);
            let paint = if beyond { Paint::Warning } else { Paint::Plain };
            bars.bar(at, scale.share(worst), paint);
        }
        // In a single row it must not hide how long the others took.
        if column.unanswered > 0 && (height > 1 || column.worst.is_none()) {
            bars.put(0, at, "×", Paint::Warning);
        }
    }
}

/// `Last 20.0 s: 126 µs to 3.20 ms, the worst of each 200 ms`.
fn title(columns: &[Column], length: Nanos) -> String {
    let span = length.saturating_mul(columns.len() as Nanos);
    let worst = columns.iter().filter_map(|column| column.worst);
    let (Some(least), Some(most)) = (worst.clone().min(), worst.max()) else {
        return "Last responses".to_owned();
    };
    let [span, least, most, length] = [span, least, most, length].map(format_duration);
    let unanswered = columns.iter().any(|column| column.unanswered > 0);
    let lost = if unanswered { ", × not answered" } else { "" };
    format!("Last {span}: {least} to {most}{lost}, the worst of each {length}")
}

/// From half of the lowest to the highest, logarithmic.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn fitting(columns: &[Column]) -> Option<Self> {
        let worst = columns.iter().filter_map(|column| column.worst);
        let least = worst.clone().min()?.max(1) as f64;
        let most = worst.max()?.max(1) as f64;
        Some(Self {
            low: (least / 2.0).ln(),
            high: most.ln(),
        })
    }

    fn share(&self, response: Nanos) -> f64 {
        ((response.max(1) as f64).ln() - self.low) / (self.high - self.low)
    }
}
