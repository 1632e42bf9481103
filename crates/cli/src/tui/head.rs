//! What is measured, how far it is, and what became of the packets.

use super::canvas::Canvas;
use super::view::{Progress, View};
use delaylab_model::units::{format_duration, format_part};
use delaylab_terminal::ping::rare;
use delaylab_terminal::style::Paint;

/// Columns of the bar of an experiment's progress.
const BAR: usize = 24;

/// Rows: title and counts; the detail where there is more room; the progress of an experiment.
pub(super) fn draw(view: &View, mut canvas: Canvas<'_>) {
    let title = canvas.put(0, 0, &view.title, Paint::Bold);
    let elapsed = format_duration(view.elapsed);
    canvas.put_right(0, title + 2, &elapsed, Paint::Dim);
    let mut row = 1;
    if let Some(progress) = view.progress {
        draw_progress(progress, row, &mut canvas);
        row += 1;
    }
    if canvas.height() > row + 1 {
        let at = canvas.put(row, 0, &view.detail, Paint::Plain);
        draw_probe(view, row, at, &mut canvas);
        row += 1;
    }
    draw_counts(view, row, &mut canvas);
}

/// Which probe this is, where there are several.
fn draw_probe(view: &View, row: u16, at: u16, canvas: &mut Canvas<'_>) {
    let (probe, of) = view.probe;
    if of > 1 {
        let text = format!("  probe {} ({probe} of {of})", view.seen.name);
        canvas.put(row, at, &text, Paint::Plain);
    }
}

/// `██████░░░░  trial 4 of 36, about 3.20 min left`.
fn draw_progress(progress: Progress, row: u16, canvas: &mut Canvas<'_>) {
    let bar = BAR.min(usize::from(canvas.width()) / 4);
    let mut text = format!("trial {}", progress.done + 1);
    let mut at = 0;
    if let Some(of) = progress.of.filter(|&of| of > 0) {
        let full = (progress.done * bar / of).min(bar);
        let drawn = "█".repeat(full) + &"░".repeat(bar - full);
        at = canvas.put(row, 0, &drawn, Paint::Plain) + 2;
        text = format!("trial {} of {of}", (progress.done + 1).min(of));
    }
    if let Some(left) = progress.left {
        text += &format!(", about {} left", format_duration(left));
    }
    canvas.put(row, at, &text, Paint::Plain);
}

/// `1000 sent  998 answered  2 lost (0.20 %)  100/s`, and what is rare.
fn draw_counts(view: &View, row: u16, canvas: &mut Canvas<'_>) {
    let counts = &view.seen.counts;
    let mut at = canvas.put(row, 0, &format!("{} sent", counts.sent), Paint::Plain);
    let answered = counts.answered();
    at = canvas.put(row, at, &format!("  {answered} answered"), Paint::Plain);
    let paint = if counts.lost > 0 {
        Paint::Warning
    } else {
        Paint::Plain
    };
    let lost = match counts.lost {
        0 => "  0 lost".to_owned(),
        lost => format!("  {lost} lost ({})", format_part(lost, counts.ended())),
    };
    at = canvas.put(row, at, &lost, paint);
    if let Some(rate) = view.seen.rate {
        let digits = if rate < 99.95 { 1 } else { 0 };
        at = canvas.put(row, at, &format!("  {rate:.digits$}/s"), Paint::Plain);
    }
    for (count, what) in rare(counts).into_iter().filter(|(count, _)| *count > 0) {
        at = canvas.put(row, at, &format!("  {count} {what}"), Paint::Warning);
    }
}
