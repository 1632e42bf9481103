//! The levels of a stair one by one: each with a height of its own.

use super::columns::{Beside, Columns, Found};
use super::noise::RESOLUTION;

/// No riser of a stair differs from its step by more than this share of it, but for noise.
const DIFFERENT: f64 = 0.6;
/// Nor by this many standard errors more.
const ERRORS: f64 = 3.0;
/// One riser in so many may all the same.
const ONE_IN: usize = 10;

/// Columns whose BIC is higher than the best by more are not looked at closely.
const NEAR: f64 = 40.0;

/// The sizes of one level.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    count: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

impl Sums {
    fn minus(&self, other: &Self) -> Self {
        Self {
            count: self.count - other.count,
            x: self.x - other.x,
            y: self.y - other.y,
            xx: self.xx - other.xx,
            xy: self.xy - other.xy,
            yy: self.yy - other.yy,
        }
    }
}

/// Running sums of sizes and delays, of which those of any level are a difference.
pub(super) struct Running(Vec<Sums>);

/// What the levels of a column leave of the delays.
#[derive(Debug, Clone)]
pub(super) struct Free {
    /// The level, how many sizes it has, and their mean delay less the slope, ns.
    pub(super) levels: Vec<(f64, f64, f64)>,
    /// ns a byte, of all levels alike.
    pub(super) slope: f64,
    /// Sum of squares about that.
    pub(super) squares: f64,
}

impl Running {
    /// Of sizes and delays, best about their means.
    pub(super) fn new(sizes: &[f64], delays: &[f64]) -> Self {
        let mut sums = Sums::default();
        let mut all = vec![sums];
        for (&x, &y) in sizes.iter().zip(delays) {
            sums = Sums {
                count: sums.count + 1.0,
                x: sums.x + x,
                y: sums.y + y,
                xx: sums.xx + x * x,
                xy: sums.xy + x * y,
                yy: sums.yy + y * y,
            };
            all.push(sums);
        }
        Self(all)
    }

    /// Each level of this column with a mean of its own, beside a slope or not.
    pub(super) fn free(&self, column: &[f64], beside: Beside) -> Free {
        let mut levels = Vec::new();
        let mut start = 0;
        let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
        for end in 1..=column.len() {
            if end < column.len() && column[end] <= column[start] {
                continue;
            }
            let sums = self.0[end].minus(&self.0[start]);
            xx += sums.xx - sums.x * sums.x / sums.count;
            xy += sums.xy - sums.x * sums.y / sums.count;
            yy += sums.yy - sums.y * sums.y / sums.count;
            levels.push((column[start], sums));
            start = end;
        }
        let slope = match beside {
            Beside::Line if xx > 1e-6 => xy / xx,
            _ => 0.0,
        };
        let mean = |(level, sums): (f64, Sums)| {
            (level, sums.count, (sums.y - slope * sums.x) / sums.count)
        };
        Free {
            levels: levels.into_iter().map(mean).collect(),
            slope,
            squares: (yy - slope * xy).max(0.0),
        }
    }
}

impl Free {
    /// Standard deviation of a size's number.
    pub(super) fn noise(&self, sizes: usize) -> f64 {
        let degrees = sizes.saturating_sub(self.levels.len() + 1).max(1);
        (self.squares / degrees as f64).max(RESOLUTION).sqrt()
    }

    /// Height of each riser for one step, ns, and its error for noise of 1.
    pub(super) fn heights(&self) -> impl Iterator<Item = (f64, f64)> {
        self.levels.windows(2).map(|pair| {
            let ((below, few, low), (above, many, high)) = (pair[0], pair[1]);
            let steps = above - below;
            (
                (high - low) / steps,
                (1.0 / few + 1.0 / many).sqrt() / steps,
            )
        })
    }

    /// Does each riser rise by about a step, but for noise?
    pub(super) fn bears_out(&self, step: f64, noise: f64) -> bool {
        let away = |&(height, error): &(f64, f64)| {
            (height - step).abs() > DIFFERENT * step + ERRORS * noise * error
        };
        let risers = self.levels.len() - 1;
        self.heights().filter(away).count() <= risers / ONE_IN
    }
}

/// The columns whose levels, each with a mean of its own, leave least of the delays, best first, as long as
/// their BIC is near that of the best.
pub(super) fn best(columns: &Columns, running: &Running, most: usize) -> Vec<Found> {
    let count = running.0.len() as f64 - 1.0;
    let mut all = Vec::new();
    columns.each(Beside::Line, |found, column, _| {
        let free = running.free(column, Beside::Line);
        let variance = (free.squares / count).max(RESOLUTION);
        let charge = free.levels.len() as f64 * count.ln();
        all.push((count * variance.ln() + charge, found));
    });
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let least = all.first().map_or(0.0, |(bic, _)| *bic);
    let near = all.into_iter().take_while(|(bic, _)| bic - least < NEAR);
    near.take(most).map(|(_, found)| found).collect()
}
