//! The latest packets that took far longer than the others, and where: those that were late together in a row.

use super::canvas::Canvas;
use super::late::RESPONSES_NEEDED;
use super::view::{Event, ProbeView};
use delaylab_model::units::{format_duration, format_duration_f64};
use delaylab_terminal::style::Paint;
use delaylab_view::words::plural;
use delaylab_view::words::short_name;

/// Rows: a heading that counts them, and the latest, latest first.
pub(super) fn draw(seen: &ProbeView, mut canvas: Canvas<'_>) {
    canvas.heading(&title(seen));
    let latest = seen.excursions.latest.iter();
    let rows = usize::from(canvas.height().saturating_sub(1));
    for (row, event) in (1..).zip(latest.take(rows)) {
        draw_row(event, seen, row, &mut canvas);
    }
}

fn title(seen: &ProbeView) -> String {
    let excursions = &seen.excursions;
    match (excursions.bound, excursions.count) {
        (None, _) => format!("Excursions: looked for from {RESPONSES_NEEDED} replies on"),
        (Some(bound), 0) => format!("Excursions: none beyond {}", format_duration(bound)),
        (Some(bound), count) => {
            let bound = format_duration(bound);
            let events = plural(excursions.events, "event");
            format!("Excursions: {count} in {events}, now beyond {bound}")
        }
    }
}

/// `4.99 s  1.02 ms  receive wake-up +955 µs  9 packets`: the worst packet of an event.
fn draw_row(event: &Event, seen: &ProbeView, row: u16, canvas: &mut Canvas<'_>) {
    let late = &event.worst;
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
    let packets = match event.packets {
        1 => String::new(),
        packets => format!("{packets} packets, "),
    };
    canvas.put_right(row, 56, &format!("{packets}seq {}", late.seq), Paint::Dim);
}
