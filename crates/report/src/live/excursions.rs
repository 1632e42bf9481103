//! The latest packets that took far longer than the others, and where.

use super::canvas::Canvas;
use super::late::RESPONSES_NEEDED;
use super::view::Seen;
use crate::style::Paint;
use crate::terminal::short_name;
use delaylab_model::units::{format_duration, format_duration_f64};
use delaylab_stats::excursion::Excursion;

/// Rows: a heading that counts them, and the latest, latest first.
pub(super) fn draw(seen: &Seen, mut canvas: Canvas<'_>) {
    canvas.heading(&title(seen));
    let latest = seen.excursions.latest.iter();
    let rows = usize::from(canvas.height().saturating_sub(1));
    for (row, late) in (1..).zip(latest.take(rows)) {
        draw_row(late, seen, row, &mut canvas);
    }
}

fn title(seen: &Seen) -> String {
    let excursions = &seen.excursions;
    match (excursions.bound, excursions.count) {
        (None, _) => format!("Excursions: looked for from {RESPONSES_NEEDED} replies on"),
        (Some(bound), 0) => format!("Excursions: none beyond {}", format_duration(bound)),
        (Some(bound), count) => {
            let bound = format_duration(bound);
            format!("Excursions: {count}, now beyond {bound}")
        }
    }
}

/// `4.99 s  1.02 ms  receive wake-up +955 µs`.
fn draw_row(late: &Excursion, seen: &Seen, row: u16, canvas: &mut Canvas<'_>) {
    let at = format_duration(late.due.saturating_sub(seen.start));
    let response = format_duration(late.response);
    let at = format!("at {at:>8}  ");
    let column = canvas.line(
        row,
        &[
            (&at, Paint::Dim),
            (&format!("{response:>8}"), Paint::Warning),
        ],
    );
    if let Some(main) = late.main() {
        let (stages, excess) = (short_name(main.stages), format_duration_f64(main.ns));
        canvas.put(row, column, &format!("  {stages} +{excess}"), Paint::Plain);
    }
    canvas.put_right(row, 56, &format!("seq {}", late.seq), Paint::Dim);
}
