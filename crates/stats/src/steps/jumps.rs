//! Where delay jumps once: the best of all places, and whether the sizes there bear it out.

use super::Jump;
use super::columns::Beside;
use super::noise::{self, FAR_OUT};
use super::vectors::squares;

/// Every jump that may lie in what a line, or steps, leave of the delays.
pub(super) struct Jumps<'a> {
    sizes: &'a [f64],
    rest: &'a [f64],
    middle: f64,
    places: Vec<Place>,
}

/// A jump with a coefficient for its height, beside a constant and, as a rule, a line.
pub(super) struct Place {
    /// Of the smallest size beyond it.
    pub(super) index: usize,
    /// Sizes beyond it.
    pub(super) above: f64,
    /// What is left of their delays, summed.
    pub(super) sum: f64,
    /// Squared length of its column beside the others.
    pub(super) squares: f64,
    height: f64,
    /// By how much it lowers the sum of squares.
    explained: f64,
    /// How much of its column a constant and a line make up: at the middle, and for each byte from there.
    level: f64,
    pub(super) slope: f64,
}

impl<'a> Jumps<'a> {
    /// Of these sizes, in order, and what a line leaves of their delays.
    pub(super) fn new(sizes: &'a [f64], rest: &'a [f64]) -> Self {
        Self::beside(Beside::Line, sizes, rest)
    }

    /// Of these sizes, in order, and what a constant or a line leaves of their delays.
    pub(super) fn beside(beside: Beside, sizes: &'a [f64], rest: &'a [f64]) -> Self {
        let count = sizes.len() as f64;
        let middle = sizes.iter().sum::<f64>() / count;
        let spread: f64 = sizes.iter().map(|x| (x - middle).powi(2)).sum();
        let mut places = Vec::new();
        let (mut above, mut along, mut sum) = (0.0, 0.0, 0.0);
        for index in (2..sizes.len()).rev() {
            above += 1.0;
            along += sizes[index] - middle;
            sum += rest[index];
            let slope = match beside {
                Beside::Constant => 0.0,
                Beside::Line => along / spread,
            };
            let squares = above - above * above / count - slope * along;
            let new_size = sizes[index - 1] < sizes[index];
            if new_size && squares > 1e-6 {
                places.push(Place {
                    index,
                    above,
                    sum,
                    squares,
                    height: sum / squares,
                    explained: sum * sum / squares,
                    level: above / count,
                    slope,
                });
            }
        }
        Self {
            sizes,
            rest,
            middle,
            places,
        }
    }

    /// All places, from the last on.
    pub(super) fn places(&self) -> &[Place] {
        &self.places
    }

    /// The sum of squares that the best of them leaves.
    pub(super) fn least_squares(&self) -> f64 {
        let explained = self.places.iter().map(|place| place.explained);
        squares(self.rest) - explained.fold(0.0, f64::max)
    }

    /// The best that leaves few enough squares and is borne out by most sizes on either side: a spike at
    /// one of the first or the last sizes would pass for a jump there.
    pub(super) fn firm(&self, enough: impl Fn(f64) -> bool) -> Option<Jump> {
        let all = squares(self.rest);
        let good = self.places.iter();
        let good = good.filter(|place| enough(all - place.explained));
        let mut good: Vec<&Place> = good.collect();
        good.sort_by(|a, b| b.explained.total_cmp(&a.explained));
        let firm = good.into_iter().find(|place| self.bears_out(place))?;
        Some(Jump {
            at: self.sizes[firm.index] as u32,
            sizes: self.sizes.len() - firm.index,
            height_ns: firm.height,
        })
    }

    /// Are most sizes on either side nearer to this jump's level there than to halfway up or down, or as
    /// near as noise allows? One size alone never bears a jump out.
    fn bears_out(&self, place: &Place) -> bool {
        let off = |(index, (size, rest)): (usize, (&f64, &f64))| {
            let beyond = f64::from(u8::from(index >= place.index));
            let column = beyond - place.level - place.slope * (size - self.middle);
            (rest - place.height * column).abs()
        };
        let off: Vec<f64> = self
            .sizes
            .iter()
            .zip(self.rest)
            .enumerate()
            .map(off)
            .collect();
        let noise = noise::normal_sd(&mut off.clone());
        let near = (place.height.abs() / 2.0).max(FAR_OUT * noise);
        let (below, above) = off.split_at(place.index);
        [below, above].into_iter().all(|side| {
            let at_level = side.iter().filter(|&&off| off < near).count();
            side.len() > 1 && 2 * at_level > side.len()
        })
    }
}
