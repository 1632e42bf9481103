//! Aligned columns without rules or borders: labels at the left, figures at the right.

use crate::style::{Paint, Style};
use crate::text::width;

/// One cell: text of one line, and its emphasis.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cell {
    spans: Vec<(String, Paint)>,
    left: bool,
}

impl Cell {
    /// A cell of plain text.
    pub fn new(text: impl Into<String>) -> Self {
        Self::painted(text, Paint::Plain)
    }

    /// A cell of one emphasis.
    pub fn painted(text: impl Into<String>, paint: Paint) -> Self {
        Self {
            spans: vec![(text.into(), paint)],
            left: false,
        }
    }

    /// A cell of plain text that is aligned left in whatever column.
    pub fn left(text: impl Into<String>) -> Self {
        Self {
            left: true,
            ..Self::new(text)
        }
    }

    /// The same with more text behind it.
    pub fn then(mut self, text: impl Into<String>, paint: Paint) -> Self {
        self.spans.push((text.into(), paint));
        self
    }

    /// The same, dim.
    pub fn dim(mut self) -> Self {
        self.spans
            .iter_mut()
            .for_each(|(_, paint)| *paint = Paint::Dim);
        self
    }

    fn width(&self) -> usize {
        self.spans.iter().map(|(text, _)| width(text)).sum()
    }

    /// Its text alone.
    pub fn plain(&self) -> String {
        self.spans.iter().map(|(text, _)| text.as_str()).collect()
    }

    fn draw(&self, style: &Style) -> String {
        let spans = self.spans.iter();
        spans
            .map(|(text, paint)| style.paint(*paint, text))
            .collect()
    }
}

/// Rows of cells. The first column is aligned left, the others right unless a cell says otherwise.
#[derive(Debug, Clone, Default)]
pub struct Table {
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// With these heads.
    pub fn headed(heads: impl IntoIterator<Item = Cell>) -> Self {
        let mut table = Self::default();
        table.row(heads.into_iter().map(Cell::dim));
        table
    }

    /// Of these choices the first one whose table has room on the terminal, or else the last; with that table. What is
    /// said of it depends on the choice.
    pub fn first_that_fits<C: Default>(
        choices: impl IntoIterator<Item = C>,
        table: impl Fn(&C) -> Self,
        style: &Style,
    ) -> (C, Self) {
        let mut last = (C::default(), Self::default());
        for choice in choices {
            let table = table(&choice);
            let fits = table.width() <= style.columns();
            last = (choice, table);
            if fits {
                break;
            }
        }
        last
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The rows, a line each. Columns stand two apart, or one where the terminal is too narrow.
    pub fn render(&self, style: &Style) -> String {
        let widths = self.widths();
        let gap = if self.total(&widths, 2) <= style.columns() {
            2
        } else {
            1
        };
        let lines = self.rows.iter().map(|row| line(row, &widths, gap, style));
        lines.collect()
    }

    /// Columns that it takes on a terminal at least.
    pub fn width(&self) -> usize {
        self.total(&self.widths(), 1)
    }

    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width_of = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(Cell::width).max().unwrap_or(0)
        };
        (0..columns).map(width_of).collect()
    }

    fn total(&self, widths: &[usize], gap: usize) -> usize {
        widths.iter().sum::<usize>() + gap * widths.len().saturating_sub(1)
    }
}

fn line(row: &[Cell], widths: &[usize], gap: usize, style: &Style) -> String {
    let mut out = String::new();
    for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
        let padding = " ".repeat(width - cell.width());
        if column > 0 {
            out += &" ".repeat(gap);
        }
        out += &if cell.left || column == 0 {
            cell.draw(style) + &padding
        } else {
            padding + &cell.draw(style)
        };
    }
    out.truncate(out.trim_end().len());
    out + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_aligned_right_under_colour_too() {
        let mut table = Table::default();
        table.row([Cell::new("a"), Cell::painted("1", Paint::Bold)]);
        table.row([Cell::new("long"), Cell::new("12").then(" x", Paint::Dim)]);
        assert_eq!(table.render(&Style::PLAIN), "a        1\nlong  12 x\n");
        let color = Style {
            color: true,
            ..Style::PLAIN
        };
        let drawn = table.render(&color);
        assert_eq!(
            drawn,
            "a        \x1b[1m1\x1b[0m\nlong  12\x1b[2m x\x1b[0m\n"
        );
    }
}
