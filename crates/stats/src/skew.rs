//! How much faster one clock runs than the other, from one-way delays.
//!
//! A delay measured by two clocks is the true one plus an offset that grows as the clocks drift apart.
//! Queueing only adds, so the line is sought that lies below all delays and, in sum, closest to them: the
//! edge of the lower convex hull over the mean time (Moon, Skelly and Towsley 1999; Zhang, Liu and Xia
//! 2002). Clocks that are stepped and routes that change shift the level: those are found first
//! ([`crate::change_points`], on the smallest delay of each of many short stretches), and each level then
//! has a line of its own, all of one slope.
//!
//! The interval comes from the slopes of halves: the time observed is cut in stretches, half of them are
//! drawn at random, again and again. A half errs at least as much about the whole as the whole about the
//! truth.
//!
//! Assumed: one skew all the time; in every level some packets that met no queue, early and late. A load
//! that rises steadily, so that no packet is free of it, cannot be told from a skew. By simulation
//! (`examples/skew.rs`): 0.1 ppm from ten minutes with heavy-tailed queues, and the interval holds in 95 %
//! of cases or more.

mod hull;
#[cfg(test)]
mod tests;

use crate::change_points;
use crate::functional::Functional;
use crate::random::SplitMix;
use delaylab_model::Nanos;
use hull::{Piece, slope};
use std::ops::Range;

/// Fewer delays than this say too little.
pub const LEAST_DELAYS: usize = 200;
/// Stretches whose smallest delays show the level, at least and at most.
const LEAST_STRETCHES: usize = 40;
const MOST_STRETCHES: usize = 200;
/// Packets that a stretch should have.
const STRETCH: usize = 10;
/// How often levels and slope are found anew from each other, at most.
const ROUNDS: usize = 6;
/// Halves that are drawn.
const HALVES: usize = 200;
/// Share of them beyond each end of the interval.
const TAIL: f64 = 0.025;

/// A change of the level of delay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelShift {
    /// The first delay of the new level, give or take one stretch of time in forty.
    pub index: usize,
    /// By how much the smallest delay rises, ns.
    pub by_ns: f64,
}

/// What one clock gains on the other.
#[derive(Debug, Clone, PartialEq)]
pub struct Skew {
    /// By how much the receiver's clock is faster, parts in a million of the sender's time.
    pub ppm: f64,
    /// Ends of its 95 % interval.
    pub interval: (f64, f64),
    /// Changes of level: of the route, or steps of a clock; delays alone do not tell which.
    pub shifts: Vec<LevelShift>,
    /// Delays less skew, and less the smallest of them: what is more than on the fastest path at its
    /// best. Changes of level are left in. NaN where there was none.
    pub delays_ns: Vec<f64>,
}

/// The skew of one-way delays (ns, of any offset; NaN: none) of packets sent at these times by the
/// sender's clock, in order. The same delays and seed give the same answer. What it assumes, and how often
/// it errs, stands at the head of this module.
///
/// Errors: why it cannot be told.
pub fn estimate(times: &[Nanos], delays: &[f64], seed: u64) -> Result<Skew, String> {
    let count = times.len().min(delays.len());
    let present: Vec<usize> = (0..count).filter(|&i| delays[i].is_finite()).collect();
    if present.len() < LEAST_DELAYS {
        return Err(format!(
            "{} delays are too few to tell a skew; at least {LEAST_DELAYS} are needed",
            present.len()
        ));
    }
    let (start, zero) = (times[present[0]], delays[present[0]]);
    let seconds = |index: usize| times[index].saturating_sub(start) as f64 / 1e9;
    // Seconds and ns from the first packet on.
    let points: Vec<(f64, f64)> = present
        .iter()
        .map(|&index| (seconds(index), delays[index] - zero))
        .collect();
    if !points.is_sorted_by(|a, b| a.0 <= b.0) || points[points.len() - 1].0 <= 0.0 {
        return Err("the packets are not in order of time".to_owned());
    }
    let levels = levels(&points);
    let stretches = stretches(&points, &levels, LEAST_STRETCHES);
    let all: Vec<&Piece> = stretches.iter().flatten().collect();
    let found = slope(&all).ok_or("all packets were sent at one time")?;
    let floor = |range: &[(f64, f64)]| {
        let above = range.iter().map(|(x, y)| y - found * x);
        above.fold(f64::INFINITY, f64::min)
    };
    let shift = |pair: &[Range<usize>]| LevelShift {
        // The middle of what belongs to neither.
        index: present[usize::midpoint(pair[0].end, pair[1].start)],
        by_ns: floor(&points[pair[1].clone()]) - floor(&points[pair[0].clone()]),
    };
    let least = floor(&points);
    let without = |index: usize| delays[index] - zero - found * seconds(index) - least;
    let (low, high) = interval(&stretches, found, seed);
    Ok(Skew {
        // ns a second are parts in 10⁹.
        ppm: found / 1e3,
        interval: (low / 1e3, high / 1e3),
        shifts: levels.windows(2).map(shift).collect(),
        delays_ns: (0..count).map(without).collect(),
    })
}

/// The ranges of points that are of one level. Levels are seen in what the slope leaves, and the slope
/// beside the levels: both in turn, until they stay.
fn levels(points: &[(f64, f64)]) -> Vec<Range<usize>> {
    let count = (points.len() / STRETCH).clamp(LEAST_STRETCHES, MOST_STRETCHES);
    let length = points.len().div_ceil(count);
    let lowest =
        |stretch: &[(f64, f64)]| stretch.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1));
    let mut skewed = median_slope(&points.chunks(length).filter_map(lowest).collect::<Vec<_>>());
    let whole = 0..points.len();
    let mut levels = vec![whole];
    for _ in 0..ROUNDS {
        let least = |stretch: &[(f64, f64)]| {
            let above = stretch.iter().map(|(x, y)| y - skewed * x);
            above.fold(f64::INFINITY, f64::min)
        };
        let floor: Vec<f64> = points.chunks(length).map(least).collect();
        let found = between(&change_points::cuts(&floor), length, points.len());
        let pieces = stretches(points, &found, 1);
        let Some(next) = slope(&pieces.iter().flatten().collect::<Vec<_>>()) else {
            break;
        };
        let settled = found == levels && next == skewed;
        (levels, skewed) = (found, next);
        if settled {
            break;
        }
    }
    levels
}

/// Levels between these cuts, each a stretch shorter at its ends: a cut may be that much beside the
/// change, and one delay of a lower level would hold the whole line down.
fn between(cuts: &[usize], length: usize, count: usize) -> Vec<Range<usize>> {
    let starts = [0]
        .into_iter()
        .chain(cuts.iter().map(|cut| (cut + 1) * length));
    let ends = cuts.iter().map(|cut| (cut - 1) * length).chain([count]);
    starts.zip(ends).map(|(start, end)| start..end).collect()
}

/// Of slopes over an eighth of the points, which few changes of level are in.
fn median_slope(points: &[(f64, f64)]) -> f64 {
    let apart = (points.len() / 8).max(1);
    let pairs = points.iter().zip(&points[apart..]);
    let mut slopes: Vec<f64> = pairs
        .filter(|(a, b)| b.0 > a.0)
        .map(|(a, b)| (b.1 - a.1) / (b.0 - a.0))
        .collect();
    Functional::Quantile(0.5).value(&mut slopes).unwrap_or(0.0)
}

/// The points in so many stretches, each by levels.
fn stretches(points: &[(f64, f64)], levels: &[Range<usize>], count: usize) -> Vec<Vec<Piece>> {
    let length = points.len().div_ceil(count);
    let stretch = |start: usize| {
        let end = (start + length).min(points.len());
        let each = levels.iter().enumerate().filter_map(|(level, range)| {
            let (from, to) = (start.max(range.start), end.min(range.end));
            (from < to).then(|| Piece::new(level, &points[from..to]))
        });
        each.collect()
    };
    (0..points.len()).step_by(length).map(stretch).collect()
}

/// Where the slopes of halves lie, the slope of all among them.
fn interval(stretches: &[Vec<Piece>], found: f64, seed: u64) -> (f64, f64) {
    let mut random = SplitMix::new(seed);
    let mut order: Vec<usize> = (0..stretches.len()).collect();
    let half = |_| {
        for index in 0..order.len() / 2 {
            let other = index + random.below(order.len() - index);
            order.swap(index, other);
        }
        let drawn = order[..order.len() / 2].iter();
        slope(
            &drawn
                .flat_map(|&index| &stretches[index])
                .collect::<Vec<_>>(),
        )
    };
    let mut slopes: Vec<f64> = (0..HALVES).filter_map(half).collect();
    let mut at = |q: f64| Functional::Quantile(q).value(&mut slopes).unwrap_or(found);
    (at(TAIL).min(found), at(1.0 - TAIL).max(found))
}
