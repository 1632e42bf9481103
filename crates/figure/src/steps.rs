//! Delay against size as the step detector sees it (source 000): one number for each size, and the line or
//! the stairs that it found, in a panel for each combination of levels. Drawn is how far both lie above the straight
//! line through the points, and of sizes those that lie close together: a stair of 48 octets is nothing beside what
//! thousands of them take.

use super::{Figure, Table, axis, not_drawn, parse};
use delaylab_stats::least_squares;
use delaylab_stats::steps::Point;
use delaylab_view::run::RunData;
use delaylab_view::run::sweeps::{labels, shown};
use serde_json::{Value, json};

pub(super) struct Steps;

const COLUMNS: &str = "panel of size_bytes kind delay_ns above_ns";
const PANEL: usize = 0;
const ABOVE: usize = 5;
/// A gap between sizes that is so many times the usual one ends those that lie close together, ...
const GAP: u32 = 4;
/// ... where there are so many of them.
const CLOSE: usize = 8;
/// Panels at most: the page says of every other what was found.
const PANELS: usize = 12;

impl Figure for Steps {
    fn about(&self, run: &RunData) -> String {
        let left_out = not_drawn(run.sweeps.len().saturating_sub(PANELS), "combination");
        format!(
            "Points are one robust number for each size (the mean of the inner 80 %, or the least); lines are what was \
             found in them: a line or stairs. Both as they lie above the straight line through the points, over the \
             sizes that lie close together.{left_out}"
        )
    }

    fn table(&self, run: &RunData) -> Table {
        let mut table = Table::new(COLUMNS);
        let labels = labels(run);
        for one in shown(run).filter(|one| one.sweep < PANELS) {
            let panel = labels.get(one.sweep);
            let of = one.name(&[]);
            let last = last_of_close(&one.way.points);
            let measured = up_to(&one.way.points, last);
            let found = up_to(&one.way.fitted(), last);
            let line = straight(&measured);
            for (kind, points) in [("measured", measured), ("found", found)] {
                for point in points {
                    let above = point.delay_ns - line(point.size);
                    table.row([
                        json!(panel),
                        json!(of),
                        json!(point.size),
                        json!(kind),
                        json!(point.delay_ns.round()),
                        json!(above.round()),
                    ]);
                }
            }
        }
        table
    }

    fn spec(&self, run: &RunData, table: &Table) -> Value {
        let mut spec = parse(include_str!("specs/steps.json"));
        let labels = labels(run);
        let drawn = labels.len().min(PANELS);
        super::order_panels(&mut spec["facet"], &labels[..drawn]);
        if drawn > 1 {
            spec["columns"] = json!(2);
            spec["spec"]["width"] = json!(super::WIDTH / 2 - 60);
        }
        let ways = run.sweeps.iter().map(|sweep| sweep.ways.len()).max();
        if ways.is_none_or(|ways| ways < 2) {
            spec["spec"]["encoding"]["color"]["legend"] = Value::Null;
        }
        let above = table.largest_by(PANEL, ABOVE);
        axis::unit(&mut spec["spec"]["encoding"]["y"], above);
        spec
    }
}

/// The largest size before a gap that is far wider than others, but for gaps before there are enough sizes.
fn last_of_close(points: &[Point]) -> u32 {
    let mut gaps: Vec<u32> = points
        .windows(2)
        .map(|pair| pair[1].size - pair[0].size)
        .collect();
    let ends = gaps.clone();
    gaps.sort_unstable();
    let usual = gaps.get(gaps.len() / 2).copied().unwrap_or(0);
    let is_wide = |at: &usize| ends[*at] > usual.saturating_mul(GAP);
    let last = (CLOSE - 1..ends.len()).find(is_wide);
    let last = last.map_or(points.last(), |at| points.get(at));
    last.map_or(0, |point| point.size)
}

/// Points in order of size up to this one; a line that goes on is cut there.
fn up_to(points: &[Point], last: u32) -> Vec<Point> {
    let within = points.partition_point(|point| point.size <= last);
    let mut kept = points[..within].to_vec();
    if let (Some(before), Some(after)) = (kept.last(), points.get(within))
        && before.size < last
    {
        let share = f64::from(last - before.size) / f64::from(after.size - before.size);
        let delay_ns = before.delay_ns + share * (after.delay_ns - before.delay_ns);
        kept.push(Point {
            size: last,
            delay_ns,
        });
    }
    kept
}

/// The straight line through these by least squares; their mean, where there is no line.
fn straight(points: &[Point]) -> impl Fn(u32) -> f64 + use<> {
    let sizes: Vec<f64> = points.iter().map(|point| f64::from(point.size)).collect();
    let delays: Vec<f64> = points.iter().map(|point| point.delay_ns).collect();
    let fit = least_squares::line(&sizes, &delays).ok();
    let fitted = fit.and_then(|fit| {
        Some((
            fit.coefficients.first()?.value,
            fit.coefficients.get(1)?.value,
        ))
    });
    let mean = delays.iter().sum::<f64>() / delays.len().max(1) as f64;
    let (intercept, slope) = fitted.unwrap_or((mean, 0.0));
    move |size| intercept + slope * f64::from(size)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_view::run::samples::{sizes, waits};

    #[test]
    fn without_sizes_there_is_nothing_to_show() {
        assert!(Steps.table(&waits()).rows.is_empty());
    }

    fn points(sizes: impl Iterator<Item = u32>) -> Vec<Point> {
        // A cell of 48 octets takes 424 µs, and each packet has 16 octets of its own.
        let delay = |size: u32| 424_000.0 * f64::from((size + 16).div_ceil(48));
        sizes
            .map(|size| Point {
                size,
                delay_ns: delay(size),
            })
            .collect()
    }

    #[test]
    fn a_stair_is_seen_though_the_sizes_reach_far() {
        let far = [1_024, 4_096, 9_188];
        let points = points((40..600).step_by(8).chain(far));
        let last = last_of_close(&points);
        assert_eq!(last, 592);
        let close = up_to(&points, last);
        let line = straight(&close);
        let above = close.iter().map(|point| point.delay_ns - line(point.size));
        let above: Vec<f64> = above.collect();
        // As high as a step, but for what a straight line takes of it.
        let height = above.iter().copied().fold(f64::MIN, f64::max)
            - above.iter().copied().fold(f64::MAX, f64::min);
        assert!((300_000.0..500_000.0).contains(&height), "{height}");
        // It falls along each step, and jumps at its end.
        let jumps = above
            .windows(2)
            .filter(|pair| pair[1] > pair[0] + 200_000.0);
        assert_eq!(jumps.count(), 11);
    }

    #[test]
    fn the_first_size_may_lie_apart() {
        let apart = [0].into_iter().chain((64..600).step_by(8));
        assert_eq!(last_of_close(&points(apart.chain([1_024, 9_188]))), 592);
    }

    #[test]
    fn a_line_that_goes_on_is_cut_and_few_points_are_all_close() {
        let few = points([64, 512, 1_024, 9_000].into_iter());
        assert_eq!(last_of_close(&few), 9_000);
        let ends = [(0, 0.0), (1_000, 1_000.0)].map(|(size, delay_ns)| Point { size, delay_ns });
        let cut = up_to(&ends, 250);
        assert_eq!((cut[1].size, cut[1].delay_ns), (250, 250.0));
        assert_eq!(up_to(&[], 5), []);
        assert_eq!(straight(&[])(7), 0.0);
    }

    #[test]
    fn the_stairs_lie_among_the_points() {
        let table = Steps.table(&sizes());
        let of = |kind: &str| {
            let rows = table.rows.iter().filter(|row| row[3] == kind);
            let above = rows.map(|row| row[5].as_f64().unwrap());
            above.fold((f64::MAX, f64::MIN), |(low, high), above| {
                (low.min(above), high.max(above))
            })
        };
        let (measured, found) = (of("measured"), of("found"));
        let room = 0.3 * (measured.1 - measured.0);
        assert!(
            (measured.0 - found.0).abs() < room && (measured.1 - found.1).abs() < room,
            "{measured:?} {found:?}"
        );
    }
}
