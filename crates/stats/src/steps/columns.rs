//! Every column ⌊(s + o)/w⌋ that these sizes tell apart, and the one that fits best.
//!
//! From one offset to the next only the sizes that reach a riser move up, so all offsets of a width
//! take two passes over the sizes. Lengths of columns do not depend on the delays and are kept.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// A column this short, beside constant and line, is one of them.
const SHORTEST: f64 = 1e-6;
/// Fewer levels are no steps but a jump.
const LEVELS: f64 = 3.0;

/// Beside what a column is fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beside {
    Constant,
    Line,
}

/// The columns of a set of sizes.
#[derive(Debug)]
pub(super) struct Columns {
    /// From the smallest size to the largest.
    room: u32,
    widths: Vec<Width>,
}

#[derive(Debug)]
struct Width {
    width: u32,
    /// The column at the first offset.
    first: Vec<f64>,
    offsets: Vec<Offset>,
}

/// One column: the one before, with some sizes a level up.
#[derive(Debug)]
struct Offset {
    offset: u32,
    /// So many offsets from this one on give the same column.
    alike: u32,
    up: Vec<u32>,
    /// Squared length beside the constant, and beside the line; 0 where it is no column of steps.
    beside_constant: f64,
    beside_line: f64,
}

/// A column that fits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Found {
    pub(super) width: u32,
    /// The smallest of the widths that fit as well.
    pub(super) least_width: u32,
    /// The first of the offsets that give this column, and how many do.
    pub(super) first_offset: u32,
    pub(super) alike: u32,
    /// By what the sum of squares falls.
    pub(super) gain: f64,
}

impl Found {
    /// The middle one.
    pub(super) fn offset(&self) -> u32 {
        (self.first_offset + (self.alike - 1) / 2) % self.width
    }

    /// ⌊(s + o)/w⌋ for each size.
    pub(super) fn column(&self, sizes: &[u32]) -> Vec<f64> {
        let level = |&size| f64::from((size + self.offset()) / self.width);
        sizes.iter().map(level).collect()
    }
}

impl Columns {
    /// Of these sizes, at least one. A width that has no room for three levels is left out.
    pub(super) fn new(sizes: &[u32], widths: &RangeInclusive<u32>) -> Self {
        let range = sizes.iter().max().zip(sizes.iter().min());
        let room = range.map_or(0, |(most, least)| most - least);
        let widths = (*widths.start()).max(2)..=(*widths.end()).min(room);
        Self {
            room,
            widths: widths.map(|width| Width::new(sizes, width)).collect(),
        }
    }

    /// Every column of steps with its squared length beside constant or line, offset after offset.
    pub(super) fn each(&self, beside: Beside, mut take: impl FnMut(Found, &[f64], f64)) {
        for width in &self.widths {
            let mut column = width.first.clone();
            for offset in &width.offsets {
                offset.up.iter().for_each(|&i| column[i as usize] += 1.0);
                let squares = offset.squares(beside);
                if squares > 0.0 {
                    take(width.found(offset, 0.0), &column, squares);
                }
            }
        }
    }

    /// How many columns there are to try.
    pub(super) fn count(&self) -> usize {
        let of = |width: &Width| width.offsets.iter().filter(|o| o.beside_line > 0.0).count();
        self.widths.iter().map(of).sum()
    }

    /// The shortest column beside the line of each width that shows three levels at any offset, from
    /// the largest width down; 0 where one cannot be told from a line.
    pub(super) fn shortest(&self) -> impl Iterator<Item = (u32, f64)> {
        let widths = self.widths.iter().rev();
        let widths = widths.filter(|width| 2 * width.width <= self.room);
        widths.map(|width| {
            let lengths = width.offsets.iter().map(|o| o.beside_line);
            (width.width, lengths.reduce(f64::min).unwrap_or(0.0).sqrt())
        })
    }

    /// The best column with q > 0 for what is left of the delays: their deviations from the mean, or
    /// from the line. Of equal ones the widest.
    pub(super) fn best(&self, rest: &[f64], beside: Beside) -> Option<Found> {
        let mut best: Option<Found> = None;
        for width in &self.widths {
            let Some(found) = width.best(rest, beside) else {
                continue;
            };
            best = match best {
                Some(one) if found.gain < one.gain * (1.0 - 1e-9) => Some(one),
                Some(one) if found.gain <= one.gain * (1.0 + 1e-9) => Some(Found {
                    least_width: one.least_width,
                    ..found
                }),
                _ => Some(found),
            };
        }
        best
    }
}

impl Width {
    fn new(sizes: &[u32], width: u32) -> Self {
        // A size reaches the next riser at this offset.
        let mut risers = BTreeMap::<u32, Vec<u32>>::new();
        for (index, size) in (0..).zip(sizes) {
            let offset = (width - size % width) % width;
            risers.entry(offset).or_default().push(index);
        }
        let starts: Vec<u32> = risers.keys().copied().collect();
        let ends = starts.iter().skip(1).copied();
        let ends = ends.chain(starts.first().map(|first| first + width));
        let lengths: Vec<u32> = starts.iter().zip(ends).map(|(a, b)| b - a).collect();
        let start = starts.first().copied().unwrap_or(0);
        let first: Vec<f64> = sizes
            .iter()
            .map(|&size| f64::from((size + start) / width))
            .collect();
        let mut column = first.clone();
        let mut offsets = Vec::with_capacity(starts.len());
        for (index, (offset, up)) in risers.into_iter().enumerate() {
            let up = if index == 0 { Vec::new() } else { up };
            up.iter().for_each(|&i| column[i as usize] += 1.0);
            let (beside_constant, beside_line) = squared_lengths(sizes, &column);
            offsets.push(Offset {
                offset,
                alike: lengths[index],
                up,
                beside_constant,
                beside_line,
            });
        }
        Self {
            width,
            first,
            offsets,
        }
    }

    fn best(&self, rest: &[f64], beside: Beside) -> Option<Found> {
        let mut along: f64 = self.first.iter().zip(rest).map(|(c, r)| c * r).sum();
        let mut best: Option<Found> = None;
        for offset in &self.offsets {
            along += offset.up.iter().map(|&i| rest[i as usize]).sum::<f64>();
            let squares = offset.squares(beside);
            let gain = along * along / squares;
            if along > 0.0 && squares > 0.0 && best.is_none_or(|best| gain > best.gain) {
                best = Some(self.found(offset, gain));
            }
        }
        best
    }

    fn found(&self, offset: &Offset, gain: f64) -> Found {
        Found {
            width: self.width,
            least_width: self.width,
            first_offset: offset.offset,
            alike: offset.alike,
            gain,
        }
    }
}

impl Offset {
    fn squares(&self, beside: Beside) -> f64 {
        match beside {
            Beside::Constant => self.beside_constant,
            Beside::Line => self.beside_line,
        }
    }
}

/// Of a column beside the constant, and beside the line; 0 for one that is no column of steps.
fn squared_lengths(sizes: &[u32], column: &[f64]) -> (f64, f64) {
    let count = sizes.len() as f64;
    let ends = column.first().zip(column.last());
    let levels = ends.map_or(0.0, |(first, last)| last - first + 1.0);
    let centre = column.iter().sum::<f64>() / count;
    let middle = sizes.iter().map(|&s| f64::from(s)).sum::<f64>() / count;
    let (mut squares, mut along, mut widths) = (0.0, 0.0, 0.0);
    for (&size, level) in sizes.iter().zip(column) {
        let (x, c) = (f64::from(size) - middle, level - centre);
        squares += c * c;
        along += c * x;
        widths += x * x;
    }
    let beside_line = squares - along * along / widths;
    if levels < LEVELS || beside_line < SHORTEST {
        (0.0, 0.0)
    } else {
        (squares, beside_line)
    }
}
