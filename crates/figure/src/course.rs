//! A cumulative distribution in few points: the course of its line, and both tails to their ends.

use delaylab_model::Nanos;
use delaylab_view::run::Delays;
use std::collections::BTreeMap;

/// Steps of a line between its tails.
const STEPS: u64 = 40;
/// Points of a tail for each power of ten.
const POINTS_A_DECADE: f64 = 8.0;

/// A point of a cumulative distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    pub(super) value: Nanos,
    /// The share of all values that are at most this.
    pub(super) at_or_below: f64,
    /// The share that are at least this.
    pub(super) at_or_beyond: f64,
}

/// All of these together, in order, and how often each occurred.
pub(super) fn counted<'a>(all: impl IntoIterator<Item = &'a Delays>) -> BTreeMap<Nanos, u64> {
    let mut counts = BTreeMap::new();
    for delays in all {
        delays.for_each(|delay, times| *counts.entry(delay).or_default() += times);
    }
    counts
}

/// The points that are drawn. The first one is twice there, as the line rises from nothing.
pub(super) fn course(values: &BTreeMap<Nanos, u64>) -> Vec<Point> {
    let count: u64 = values.values().sum();
    let all = count as f64;
    let kept = kept_ranks(count);
    let mut kept = kept.iter().copied().peekable();
    let mut points = Vec::new();
    let mut before = 0;
    for (&value, &times) in values {
        let through = before + times;
        let mut is_kept = false;
        while kept.next_if(|&rank| rank < through).is_some() {
            is_kept = true;
        }
        if is_kept && before == 0 {
            points.push(Point {
                value,
                at_or_below: 0.0,
                at_or_beyond: 1.0,
            });
        }
        if is_kept {
            points.push(Point {
                value,
                at_or_below: through as f64 / all,
                at_or_beyond: (count - before) as f64 / all,
            });
        }
        before = through;
    }
    points
}

/// Which of so many values in order are drawn, from 0: evenly spread ones, in both tails ever nearer
/// to the end, and both ends.
fn kept_ranks(count: u64) -> Vec<u64> {
    let Some(last) = count.checked_sub(1) else {
        return Vec::new();
    };
    let even = (0..=STEPS).map(|step| last * step / STEPS);
    let mut ranks: Vec<_> = even.collect();
    let mut from_end = 1.0;
    while from_end < count as f64 / STEPS as f64 {
        let rank = from_end as u64 - 1;
        ranks.extend([rank, last - rank]);
        from_end *= 10_f64.powf(1.0 / POINTS_A_DECADE);
    }
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn thinned_lines_keep_their_ends_and_their_course(
            values in prop::collection::vec(-5_000_i64..1_000_000, 1..4_000),
        ) {
            let mut counts = BTreeMap::new();
            values.iter().for_each(|&value| *counts.entry(value).or_default() += 1);
            let points = course(&counts);
            prop_assert!(points.len() < 120, "{}", points.len());
            let (least, most) = (counts.keys().next().unwrap(), counts.keys().next_back().unwrap());
            prop_assert_eq!(points[0].value, *least);
            prop_assert_eq!(points.last().unwrap().value, *most);
            let all = values.len() as f64;
            for point in &points[1..] {
                let below = values.iter().filter(|&&other| other <= point.value).count() as f64;
                let beyond = values.iter().filter(|&&other| other >= point.value).count() as f64;
                prop_assert_eq!((point.at_or_below, point.at_or_beyond), (below / all, beyond / all));
            }
            for pair in points.windows(2) {
                prop_assert!(pair[0].value <= pair[1].value);
                // No gap is wider than a step, unless one value fills it.
                let drop = pair[0].at_or_beyond - pair[1].at_or_beyond;
                let gap = drop - (pair[0].at_or_below - (1.0 - pair[0].at_or_beyond));
                prop_assert!(gap <= 1.0 / STEPS as f64 + 2.0 / all, "{gap}");
            }
        }
    }
}
