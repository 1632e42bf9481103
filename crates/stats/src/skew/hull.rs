//! The slope of the lines below all points that are, in sum, closest to them.

use std::collections::BTreeMap;

/// Points of one level in one stretch of time: only those that a line below all can touch.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Piece {
    level: usize,
    /// From left to right.
    corners: Vec<(f64, f64)>,
    count: f64,
    sum_x: f64,
}

impl Piece {
    /// Of points in order of x, at least one.
    pub(super) fn new(level: usize, points: &[(f64, f64)]) -> Self {
        Self {
            level,
            corners: lower_hull(points.iter().copied()),
            count: points.len() as f64,
            sum_x: points.iter().map(|point| point.0).sum(),
        }
    }
}

/// The lower convex hull (Andrew 1979) of points in order of x.
fn lower_hull(points: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let mut hull: Vec<(f64, f64)> = Vec::new();
    for point in points {
        // Of points at one x the lowest.
        match hull.last() {
            Some(last) if last.0 == point.0 && last.1 <= point.1 => continue,
            Some(last) if last.0 == point.0 => drop(hull.pop()),
            _ => {}
        }
        while let [.., a, b] = hull[..] {
            let turns_left = (b.0 - a.0) * (point.1 - a.1) > (b.1 - a.1) * (point.0 - a.0);
            if turns_left {
                break;
            }
            hull.pop();
        }
        hull.push(point);
    }
    hull
}

/// One slope for all levels, each with a line of its own, so that no point is below its line and the sum
/// of distances is least. `None`: no two points of a level are apart in x.
///
/// The sum is convex in the slope b, with derivative Σ n·(x(b) − mean x) over levels, x(b) the corner
/// that a line of slope b touches: for one level it changes sign at the edge over the mean x.
pub(super) fn slope(pieces: &[&Piece]) -> Option<f64> {
    let mut levels = BTreeMap::<usize, Vec<&Piece>>::new();
    for piece in pieces {
        levels.entry(piece.level).or_default().push(piece);
    }
    let mut derivative = 0.0;
    // Slope of each edge, and by how much the derivative rises there.
    let mut edges: Vec<(f64, f64)> = Vec::new();
    for level in levels.into_values() {
        let count: f64 = level.iter().map(|piece| piece.count).sum();
        let sum_x: f64 = level.iter().map(|piece| piece.sum_x).sum();
        let corners = level.iter().flat_map(|piece| piece.corners.iter().copied());
        let mut corners: Vec<(f64, f64)> = corners.collect();
        corners.sort_by(|a, b| a.0.total_cmp(&b.0));
        let hull = lower_hull(corners.into_iter());
        derivative += count * hull.first().map_or(0.0, |corner| corner.0) - sum_x;
        edges.extend(hull.windows(2).map(|ends| {
            let (run, rise) = (ends[1].0 - ends[0].0, ends[1].1 - ends[0].1);
            (rise / run, count * run)
        }));
    }
    edges.sort_by(|a, b| a.0.total_cmp(&b.0));
    let last = edges.last()?.0;
    let crossing = edges.iter().find(|edge| {
        derivative += edge.1;
        derivative >= 0.0
    });
    Some(crossing.map_or(last, |edge| edge.0))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    /// Sum of distances to lines of this slope, one for each level.
    fn distance(levels: &[Vec<(f64, f64)>], slope: f64) -> f64 {
        let of = |points: &Vec<(f64, f64)>| {
            let above: Vec<f64> = points.iter().map(|(x, y)| y - slope * x).collect();
            let least = above.iter().copied().fold(f64::INFINITY, f64::min);
            above.iter().map(|y| y - least).sum::<f64>()
        };
        levels.iter().map(of).sum()
    }

    proptest! {
        #[test]
        fn no_other_slope_is_closer(
            first in proptest::collection::vec((0_i32..20, -20_i32..20), 2..30),
            second in proptest::collection::vec((0_i32..20, -20_i32..20), 1..30),
            cut in 0_usize..30,
            other in -50.0..50.0_f64,
        ) {
            let ordered = |points: &[(i32, i32)]| {
                let float = |&(x, y): &(i32, i32)| (f64::from(x), f64::from(y));
                let mut points: Vec<(f64, f64)> = points.iter().map(float).collect();
                points.sort_by(|a, b| a.0.total_cmp(&b.0));
                points
            };
            let levels = [ordered(&first), ordered(&second)];
            let cut = cut.min(first.len() - 1).max(1);
            let pieces = [
                Piece::new(0, &levels[0][cut..]),
                Piece::new(0, &levels[0][..cut]),
                Piece::new(1, &levels[1]),
            ];
            match slope(&pieces.iter().collect::<Vec<_>>()) {
                Some(found) => {
                    let least = distance(&levels, found);
                    prop_assert!(least <= distance(&levels, other) + 1e-6);
                    prop_assert!(least <= distance(&levels, found + 0.01) + 1e-6);
                    prop_assert!(least <= distance(&levels, found - 0.01) + 1e-6);
                }
                None => prop_assert!(levels.iter().all(|l| l.iter().all(|p| p.0 == l[0].0))),
            }
        }
    }

    #[test]
    fn the_edge_over_the_mean() {
        let points = [
            (0.0, 0.0),
            (1.0, 5.0),
            (2.0, 1.0),
            (10.0, 9.0),
            (11.0, 30.0),
        ];
        let found = slope(&[&Piece::new(0, &points)]).unwrap();
        assert_eq!(found, 1.0);
        assert_eq!(slope(&[&Piece::new(0, &[(1.0, 2.0)])]), None);
    }
}
