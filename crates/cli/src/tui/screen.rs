//! A view on a terminal of any size.

use super::canvas::Canvas;
use super::view::View;
use super::{anatomy, distribution, excursions, head, keys, recent};
use delaylab_terminal::style::Style;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

/// What is on the screen.
#[derive(Debug, Clone, Copy)]
pub struct Screen<'a> {
    /// The measurement.
    pub view: &'a View,
    /// How it may look. The width is the area's.
    pub style: Style,
    /// The view stands still.
    pub paused: bool,
    /// A stop was asked for.
    pub stopping: bool,
    /// Show what the keys do.
    pub help: bool,
}

/// Rows that a part of the screen is given.
struct RowsWanted {
    /// Fewer are of no use: it is then left out.
    least: u16,
    /// With so many it shows all that matters.
    enough: u16,
    /// More are of no use.
    most: u16,
}

impl Widget for &Screen<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let mut canvas = Canvas::new(buffer, area, self.style);
        let seen = &self.view.seen;
        let answered = seen.counts.answered();
        let progress = u16::from(self.view.progress.is_some());
        let want = |least, enough, most| RowsWanted {
            least,
            enough,
            most,
        };
        // In the order of what is given up last.
        let [head, bottom, bars, stages, strip, late] = share_out(
            canvas.height(),
            [
                want(2 + progress, 3 + progress, 3 + progress),
                want(1, 1, 1),
                want(3, 6, 14),
                want(3, 7, 7),
                want(2, 5, 7),
                want(1, 4, u16::MAX),
            ],
        );
        let mut row = 0;
        let mut next = |height: u16| {
            let from = row;
            row += height;
            (from, height)
        };
        let [head, bars, stages, strip, late] = [head, bars, stages, strip, late].map(&mut next);
        head::draw(self.view, canvas.rows(head.0, head.1));
        distribution::draw(seen, canvas.rows(bars.0, bars.1));
        anatomy::draw(&seen.anatomy, answered, canvas.rows(stages.0, stages.1));
        recent::draw(seen, canvas.rows(strip.0, strip.1));
        excursions::draw(seen, canvas.rows(late.0, late.1));
        let footer = canvas.height().saturating_sub(bottom);
        let footer = canvas.rows(footer, bottom);
        keys::draw_footer(self.view, self.paused, self.stopping, footer);
        if self.help {
            keys::draw_help(canvas);
        }
    }
}

/// Rows for each: first the least of as many as there is room for, then what is enough, then the rest.
fn share_out<const N: usize>(height: u16, wants: [RowsWanted; N]) -> [u16; N] {
    let mut given = [0; N];
    let mut left = height;
    for (given, want) in given.iter_mut().zip(&wants) {
        if want.least <= left {
            *given = want.least;
            left -= want.least;
        }
    }
    for upto in [
        |want: &RowsWanted| want.enough,
        |want: &RowsWanted| want.most,
    ] {
        for (given, want) in given.iter_mut().zip(&wants) {
            if *given > 0 {
                let more = upto(want).saturating_sub(*given).min(left);
                *given += more;
                left -= more;
            }
        }
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_go_to_what_matters_first() {
        let wants = || {
            [(2, 3, 3), (1, 4, 9), (5, 6, u16::MAX)].map(|(least, enough, most)| RowsWanted {
                least,
                enough,
                most,
            })
        };
        assert_eq!(share_out(1, wants()), [0, 1, 0]);
        assert_eq!(share_out(5, wants()), [3, 2, 0]);
        assert_eq!(share_out(9, wants()), [3, 1, 5]);
        assert_eq!(share_out(13, wants()), [3, 4, 6]);
        assert_eq!(share_out(30, wants()), [3, 9, 18]);
    }
}
