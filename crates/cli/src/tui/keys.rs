//! The last row, and what the keys do.

use super::canvas::Canvas;
use super::view::View;
use delaylab_terminal::style::Paint;

const KEYS: [(&str, &str); 5] = [
    ("q, Ctrl-C", "stop, and print the summary"),
    ("p, space", "pause the view, not the measurement"),
    ("n, Tab", "show the next probe of the trial"),
    ("?, h", "show or hide this"),
    ("×", "packets that were not answered"),
];

/// One row: what goes on, and the keys that one needs.
pub(super) fn draw_footer(view: &View, paused: bool, stopping: bool, mut canvas: Canvas<'_>) {
    let mut column = 0;
    let wide = canvas.width() >= 60;
    if stopping {
        let text = match wide {
            true => "STOPPING, waits for what is under way  ",
            false => "STOPPING  ",
        };
        column = canvas.put(0, column, text, Paint::Bold);
    }
    if paused {
        let text = match wide {
            true => "PAUSED, it is still measured  ",
            false => "PAUSED  ",
        };
        column = canvas.put(0, column, text, Paint::Warning);
    }
    let pause = if paused { "p go on" } else { "p pause" };
    let next = if view.probe.1 > 1 {
        "  n next probe"
    } else {
        ""
    };
    let keys = format!("q stop  {pause}{next}  ? keys");
    canvas.put(0, column, &keys, Paint::Dim);
}

/// Over the middle of the screen.
pub(super) fn draw_help(mut canvas: Canvas<'_>) {
    let below = KEYS.len() as u16 + 1;
    let mut shown = canvas.middle(52, below + 1);
    shown.clear();
    shown.heading("Keys");
    shown.rule(below);
    for (row, (key, does)) in (1..).zip(KEYS) {
        let key = format!("  {key:<11}");
        shown.line(row, &[(&key, Paint::Bold), (does, Paint::Plain)]);
    }
}
