//! Text and bars in a part of the screen. What has no room is left out.

use delaylab_terminal::style::{Paint, Style};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style as Look};

/// An eighth of a row more each.
const BLOCKS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// A part of the screen, and how it may look.
pub(super) struct Canvas<'a> {
    buffer: &'a mut Buffer,
    area: Rect,
    style: Style,
}

impl<'a> Canvas<'a> {
    pub(super) fn new(buffer: &'a mut Buffer, area: Rect, style: Style) -> Self {
        let area = area.intersection(*buffer.area());
        Self {
            buffer,
            area,
            style,
        }
    }

    /// So many rows of it, from this one on.
    pub(super) fn rows(&mut self, from: u16, height: u16) -> Canvas<'_> {
        let from = from.min(self.area.height);
        let area = Rect {
            y: self.area.y + from,
            height: height.min(self.area.height - from),
            ..self.area
        };
        Canvas::new(self.buffer, area, self.style)
    }

    pub(super) const fn width(&self) -> u16 {
        self.area.width
    }

    pub(super) const fn height(&self) -> u16 {
        self.area.height
    }

    /// Writes from this column on. Returns the column behind.
    pub(super) fn put(&mut self, row: u16, column: u16, text: &str, paint: Paint) -> u16 {
        if row >= self.area.height || column >= self.area.width {
            return column;
        }
        let text = self.style.glyphs(text.to_owned());
        let room = usize::from(self.area.width - column);
        let (x, y) = (self.area.x + column, self.area.y + row);
        let (behind, _) = self.buffer.set_stringn(x, y, text, room, self.look(paint));
        behind - self.area.x
    }

    /// Writes several pieces, one behind the other.
    pub(super) fn line(&mut self, row: u16, pieces: &[(&str, Paint)]) -> u16 {
        let each = pieces.iter();
        each.fold(0, |at, (text, paint)| self.put(row, at, text, *paint))
    }

    /// Writes up to the right edge, if there is room from this column on.
    pub(super) fn put_right(&mut self, row: u16, from: u16, text: &str, paint: Paint) {
        let length = text.chars().count() as u16;
        if let Some(column) = self.area.width.checked_sub(length).filter(|&at| at >= from) {
            self.put(row, column, text, paint);
        }
    }

    /// The title of a part: `─ title ─────`.
    pub(super) fn heading(&mut self, title: &str) {
        let at = self.line(
            0,
            &[
                ("─ ", Paint::Dim),
                (title, Paint::Bold),
                (" ", Paint::Plain),
            ],
        );
        self.rule_from(0, at);
    }

    /// A line across.
    pub(super) fn rule(&mut self, row: u16) {
        self.rule_from(row, 0);
    }

    fn rule_from(&mut self, row: u16, column: u16) {
        let rest = "─".repeat(usize::from(self.area.width.saturating_sub(column)));
        self.put(row, column, &rest, Paint::Dim);
    }

    /// A bar that stands on the last row and is so much of the height, 0 to 1: at least an eighth of a row.
    pub(super) fn bar(&mut self, column: u16, share: f64, paint: Paint) {
        let height = usize::from(self.area.height);
        if height == 0 {
            return;
        }
        let eighths = (share * height as f64 * 8.0).ceil() as usize;
        let eighths = eighths.clamp(1, height * 8);
        for row in 0..height {
            let level = eighths.saturating_sub(row * 8).min(8);
            if level > 0 {
                let from_top = (height - 1 - row) as u16;
                self.put(from_top, column, BLOCKS[level], paint);
            }
        }
    }

    /// Overwrites everything with blanks.
    pub(super) fn clear(&mut self) {
        let blank = " ".repeat(usize::from(self.area.width));
        for row in 0..self.area.height {
            self.put(row, 0, &blank, Paint::Plain);
        }
    }

    /// The middle of it, so large at most.
    pub(super) fn middle(&mut self, width: u16, height: u16) -> Canvas<'_> {
        let (width, height) = (width.min(self.area.width), height.min(self.area.height));
        let area = Rect {
            x: self.area.x + (self.area.width - width) / 2,
            y: self.area.y + (self.area.height - height) / 2,
            width,
            height,
        };
        Canvas::new(self.buffer, area, self.style)
    }

    /// The colours of [`Paint`], as ratatui says them.
    fn look(&self, paint: Paint) -> Look {
        let plain = Look::new();
        if !self.style.color {
            return plain;
        }
        match paint {
            Paint::Plain => plain,
            Paint::Bold => plain.add_modifier(Modifier::BOLD),
            Paint::Dim => plain.add_modifier(Modifier::DIM),
            Paint::Host => plain.fg(Color::Yellow),
            Paint::Network => plain.fg(Color::Cyan),
            Paint::Server => plain.fg(Color::Magenta),
            Paint::Warning => plain.fg(Color::Red),
            Paint::Good => plain.fg(Color::Green),
        }
    }
}
