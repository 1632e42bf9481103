//! What the detector promises, by simulation with fixed seeds; `examples/change_points.rs` has more runs.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::random::SplitMix;
use crate::testing::ar1;

fn times(count: usize) -> Vec<Nanos> {
    (0..count as Nanos).map(|i| i * 1_000_000).collect()
}

/// Levels 2 to 5 apart, at least 40 values each, with Student's t of 3 degrees of freedom; and where
/// they change.
fn levels(count: usize, random: &mut SplitMix) -> (Vec<f64>, Vec<usize>) {
    let (mut level, mut next, mut changes) = (0.0, 40 + random.below(100), Vec::new());
    let mut values = Vec::with_capacity(count);
    for index in 0..count {
        if index == next && count - index >= 40 {
            let up = if random.below(2) == 0 { 1.0 } else { -1.0 };
            level += up * (2.0 + 3.0 * random.uniform());
            changes.push(index);
            next = index + 40 + random.below(100);
        }
        values.push(level + random.student(3) / 3_f64.sqrt());
    }
    (values, changes)
}

#[test]
fn levels_are_told_apart() {
    let (mut right, mut found, mut there) = (0, 0, 0);
    for seed in 0..40 {
        let (values, changes) = levels(500, &mut SplitMix::new(seed));
        let cuts = cuts(&values);
        right += cuts
            .iter()
            .filter(|cut| changes.iter().any(|c| c.abs_diff(**cut) <= 2))
            .count();
        found += cuts.len();
        there += changes.len();
    }
    let score = 2.0 * right as f64 / (found + there) as f64;
    assert!(score > 0.85, "{score}: {right} of {found} and {there}");
}

#[test]
fn stationary_series_have_none() {
    for phi in [0.0, 0.5] {
        let alarms = |count, runs| {
            (0..runs)
                .filter(|&seed| !cuts(&ar1(phi, count, seed)).is_empty())
                .count()
        };
        let (few, many) = (alarms(100, 200), alarms(1000, 200));
        assert!(few <= 5 && many <= 5, "{phi}: {few} {many}");
    }
}

#[test]
fn a_long_series_is_put_together_and_the_place_is_still_exact() {
    let mut random = SplitMix::new(4);
    let value = |i| random.student(3) + if i < 123_457 { 0.0 } else { 8.0 };
    let values: Vec<f64> = (0..300_000).map(value).collect();
    let found = find(&times(values.len()), &values, 1).unwrap();
    assert_eq!(found.len(), 1);
    assert!(found[0].index.abs_diff(123_457) <= 3, "{:?}", found[0]);
    assert_eq!(found[0].time, found[0].index as Nanos * 1_000_000);
    let bounds = found[0].median.absolute.clone().unwrap();
    assert!(bounds.low < 8.0 && 8.0 < bounds.high && bounds.high - bounds.low < 0.1);
}

#[test]
fn levels_without_noise_and_packets_without_a_value() {
    let mut values = [vec![1.0; 60], vec![4.0; 30], vec![2.0; 50]].concat();
    values[10] = f64::NAN;
    let found = find(&times(140), &values, 1).unwrap();
    let indices: Vec<_> = found.iter().map(|change| change.index).collect();
    assert_eq!(indices, [60, 90]);
    assert_eq!(found[1].median.difference(), Some(-2.0));
    assert_eq!(find(&times(100), &[7.0; 100], 1), Ok(Vec::new()));
    assert!(
        find(&times(39), &values, 1)
            .unwrap_err()
            .contains("38 values")
    );
}

#[test]
fn excursions_are_no_change() {
    let alarms = (0..100).filter(|&seed| {
        let mut random = SplitMix::new(seed);
        let value = |_| if random.uniform() < 0.03 { 20.0 } else { 1.0 };
        !cuts(&(0..1000).map(value).collect::<Vec<_>>()).is_empty()
    });
    let alarms = alarms.count();
    assert!(alarms <= 3, "{alarms}");
}
