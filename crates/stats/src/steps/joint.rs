//! Steps and one jump at once: every column with every place of a jump.
//!
//! One after the other does not do: a line finds a jump where a stair has a riser, and a stair bends
//! towards a jump. With the jump's column made a unit vector e beside constant and line, a column c of
//! squared length L along which the delays have A explains (A − (c·e)(r·e))²/(L − (c·e)²) beside it, and
//! sums over the sizes beyond the place give c·e at all places in one pass.

use super::columns::{Beside, Columns, Found};
use super::jumps::Jumps;

/// A column this short beside constant, line and jump is one of them.
const SHORTEST: f64 = 1e-6;
/// With fewer levels jumps at equal distances, and one between, pass for steps.
pub(super) const LEVELS: usize = 4;

/// Steps and a jump that explain the most together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Joint {
    pub(super) found: Found,
    /// Of the smallest size beyond the jump.
    pub(super) index: usize,
}

/// The best upward steps with the best upward jump, for what constant or line leave of the delays.
pub(super) fn best(
    columns: &Columns,
    sizes: &[f64],
    rest: &[f64],
    beside: Beside,
) -> Option<Joint> {
    let jumps = Jumps::beside(beside, sizes, rest);
    let middle = sizes.iter().sum::<f64>() / sizes.len() as f64;
    let mut best: Option<Joint> = None;
    let mut sums = vec![0.0; sizes.len() + 1];
    columns.each(beside, |found, column, length| {
        let ends = column.last().zip(column.first());
        if ends.is_none_or(|(last, first)| last - first + 1.0 < LEVELS as f64) {
            return;
        }
        let count = column.len() as f64;
        let (mut slope, mut along) = (0.0, 0.0);
        for index in (0..column.len()).rev() {
            sums[index] = sums[index + 1] + column[index];
            slope += column[index] * (sizes[index] - middle);
            along += column[index] * rest[index];
        }
        let centre = sums[0] / count;
        for place in jumps.places() {
            let own = place.squares;
            // c·e, but for the length of e.
            let common = sums[place.index] - place.above * centre - place.slope * slope;
            let squares = length - common * common / own;
            let across = along - common * place.sum / own;
            // Both upward, side by side.
            if squares <= SHORTEST || across <= 0.0 || place.sum <= common * across / squares {
                continue;
            }
            let gain = place.sum * place.sum / own + across * across / squares;
            if best.is_none_or(|best| gain > best.found.gain) {
                best = Some(Joint {
                    found: Found { gain, ..found },
                    index: place.index,
                });
            }
        }
    });
    best
}
