//! What steps may be taken for: a straight line or a curve with up to two jumps that lie anywhere, and a line with
//! more of them.
//!
//! Curves are polynomials of up to the third degree. Beside an orthonormal basis of them the column of a
//! jump has as its products sums over the sizes beyond it, so all pairs of places cost little.

use super::vectors::{beyond, squares, take_off_all};

/// The highest power of a size.
const DEGREE: usize = 3;
/// So many jumps beside a line are looked for.
const MOST_JUMPS: usize = 8;
/// After each jump that is added, all are moved so often to where they fit best beside the others.
const SWEEPS: usize = 2;

/// One jump at a place: sums over the sizes from there on.
struct Place {
    index: usize,
    /// Of 1.
    above: f64,
    /// Of what is left of the delays.
    rest: f64,
    /// Of each vector of the basis.
    basis: Vec<f64>,
}

impl Place {
    /// By what a jump here lowers the sum of squares.
    fn gain(&self) -> f64 {
        self.rest * self.rest / self.with(self)
    }

    /// The product of two jumps' columns beside the basis, the second at a larger size or at the same.
    fn with(&self, beyond: &Self) -> f64 {
        let pairs = self.basis.iter().zip(&beyond.basis);
        beyond.above - pairs.map(|(a, b)| a * b).sum::<f64>()
    }
}

/// The lowest BIC of curves with up to two jumps; `bic` has it for a sum of squares and so many coefficients.
pub(super) fn with_few_jumps(sizes: &[f64], delays: &[f64], bic: impl Fn(f64, f64) -> f64) -> f64 {
    let mut least = f64::INFINITY;
    for degree in 1..=DEGREE {
        let basis = powers(sizes, degree);
        let rest = less(delays, &basis);
        let left = squares(&rest);
        let (one, two) = gains(&places(sizes, &rest, &basis));
        // Each jump has a place and a height.
        for (jumps, gain) in [(0.0, 0.0), (1.0, one), (2.0, two)] {
            let coefficients = degree as f64 + 1.0 + 2.0 * jumps;
            least = least.min(bic((left - gain).max(0.0), coefficients));
        }
    }
    least
}

/// The same of a line with three or more jumps, which pay for all places that were tried, as steps do
/// for all columns (Chen and Chen 2008).
pub(super) fn with_many_jumps(sizes: &[f64], delays: &[f64], bic: impl Fn(f64, f64) -> f64) -> f64 {
    let line = powers(sizes, 1);
    let basis_with = |jumps: &[usize]| {
        let mut basis = line.clone();
        for &index in jumps {
            basis.extend(beside(beyond(sizes.len(), index), &basis));
        }
        basis
    };
    let best_beside = |jumps: &[usize]| {
        let basis = basis_with(jumps);
        let places = places(sizes, &less(delays, &basis), &basis);
        let best = places.iter().max_by(|a, b| a.gain().total_cmp(&b.gain()));
        best.map(|place| place.index)
    };
    let tried = sizes.windows(2).filter(|pair| pair[0] < pair[1]).count() as f64;
    let (mut least, mut charge) = (f64::INFINITY, 0.0);
    let mut jumps = Vec::new();
    for count in 1..=MOST_JUMPS {
        let Some(next) = best_beside(&jumps) else {
            break;
        };
        jumps.push(next);
        for _ in 0..SWEEPS * count {
            let first = jumps.remove(0);
            jumps.push(best_beside(&jumps).unwrap_or(first));
        }
        // The logarithm of how many sets of places there are.
        charge += ((tried - count as f64 + 1.0).max(1.0) / count as f64).ln();
        if count > 2 {
            let left = squares(&less(delays, &basis_with(&jumps)));
            least = least.min(bic(left, count as f64 + 2.0) + 2.0 * charge);
        }
    }
    least
}

/// Orthonormal, of the sizes' powers up to this one.
fn powers(sizes: &[f64], degree: usize) -> Vec<Vec<f64>> {
    let middle = sizes.iter().sum::<f64>() / sizes.len() as f64;
    let away = sizes.iter().map(|x| (x - middle).abs());
    let reach = away.fold(1.0, f64::max);
    let mut basis = Vec::new();
    for power in 0..=degree {
        let of = |x: &f64| ((x - middle) / reach).powi(power as i32);
        basis.extend(beside(sizes.iter().map(of).collect(), &basis));
    }
    basis
}

/// What these leave of the delays.
fn less(delays: &[f64], basis: &[Vec<f64>]) -> Vec<f64> {
    let mut rest = delays.to_vec();
    take_off_all(&mut rest, basis);
    rest
}

/// By what the best jump, and the best two, lower the sum of squares.
fn gains(places: &[Place]) -> (f64, f64) {
    let single = places.iter().map(Place::gain).fold(0.0, f64::max);
    let seconds = |(index, first)| {
        places[index + 1..]
            .iter()
            .map(move |other| pair(first, other))
    };
    let double = places.iter().enumerate().flat_map(seconds);
    (single, double.fold(single, f64::max))
}

/// Of two jumps, the second at a larger size.
fn pair(one: &Place, other: &Place) -> f64 {
    let (a, b, common) = (one.with(one), other.with(other), one.with(other));
    let determinant = a * b - common * common;
    if determinant < 1e-6 * a * b {
        return 0.0;
    }
    let across = a * other.rest.powi(2) + b * one.rest.powi(2);
    (across - 2.0 * common * one.rest * other.rest) / determinant
}

/// Of all sizes that differ from the one before and have at least two on either side.
fn places(sizes: &[f64], rest: &[f64], basis: &[Vec<f64>]) -> Vec<Place> {
    let mut sums = Place {
        index: 0,
        above: 0.0,
        rest: 0.0,
        basis: vec![0.0; basis.len()],
    };
    let mut places = Vec::new();
    for index in (2..sizes.len()).rev() {
        sums.above += 1.0;
        sums.rest += rest[index];
        for (sum, unit) in sums.basis.iter_mut().zip(basis) {
            *sum += unit[index];
        }
        if sizes[index - 1] < sizes[index] && sums.with(&sums) > 1e-6 {
            places.push(Place {
                index,
                basis: sums.basis.clone(),
                ..sums
            });
        }
    }
    places.reverse();
    places
}

/// What of a column is in none of these, of length 1.
fn beside(mut column: Vec<f64>, basis: &[Vec<f64>]) -> Option<Vec<f64>> {
    take_off_all(&mut column, basis);
    let length = squares(&column).sqrt();
    (length > 1e-6).then(|| column.iter().map(|value| value / length).collect())
}
