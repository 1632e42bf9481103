//! What the detector promises, by simulation with fixed seeds; `examples/change_points.rs` has more runs.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::random::SplitMix;
use crate::testing::ar1;
use std::f64::consts::TAU;

fn times(count: usize) -> Vec<Nanos> {
    (0..count as Nanos).map(|i| i * 1_000_000).collect()
}

/// Changes found within so many values of true ones, all that were found, and all that there are.
#[derive(Default)]
struct Score {
    right: usize,
    found: usize,
    there: usize,
}

impl Score {
    fn add(&mut self, found: &[usize], there: &[usize], within: usize) {
        let near = |cut: &&usize| there.iter().any(|c| c.abs_diff(**cut) <= within);
        self.right += found.iter().filter(near).count();
        self.found += found.len();
        self.there += there.len();
    }

    fn f1(&self) -> f64 {
        2.0 * self.right as f64 / (self.found + self.there) as f64
    }
}

/// Levels one after another, each so many values, with this noise; and where they change.
fn stairs(
    levels: impl Iterator<Item = (f64, usize)>,
    mut noise: impl FnMut() -> f64,
) -> (Vec<f64>, Vec<usize>) {
    let (mut values, mut changes) = (Vec::new(), Vec::new());
    for (level, length) in levels {
        changes.push(values.len());
        values.extend((0..length).map(|_| level + noise()));
    }
    changes.remove(0);
    (values, changes)
}

#[test]
fn levels_are_told_apart() {
    let mut score = Score::default();
    for seed in 0..40 {
        let mut random = SplitMix::new(seed);
        let mut of_lengths = SplitMix::new(seed + 1000);
        let mut level = 0.0;
        let levels = (0..6).map(|_| {
            let up = if of_lengths.below(2) == 0 { 1.0 } else { -1.0 };
            level += up * (2.0 + 3.0 * of_lengths.uniform());
            (level, 40 + of_lengths.below(100))
        });
        let levels: Vec<(f64, usize)> = levels.collect();
        let student = || random.student(3) / 3_f64.sqrt();
        let (values, changes) = stairs(levels.into_iter(), student);
        score.add(&cuts(&values), &changes, 2);
    }
    assert!(score.f1() > 0.9, "{}", score.f1());
}

/// The number of changes does not matter, nor that all values of blocks longer than a level are apart.
#[test]
fn many_levels_are_found_as_few_are() {
    for (count, length) in [(5, 250), (30, 250), (30, 500), (100, 100)] {
        let mut random = SplitMix::new(7);
        let levels = (0..=count).map(|_| (20.0 + 40.0 * random.uniform(), length));
        let levels: Vec<(f64, usize)> = levels.collect();
        let (values, changes) = stairs(levels.into_iter(), || random.normal());
        let mut score = Score::default();
        score.add(&cuts(&values), &changes, 5);
        assert!(score.f1() > 0.9, "{count} x {length}: {}", score.f1());
    }
}

#[test]
fn regular_shifts_are_found() {
    for (up, deviation) in [(4.0, 1.0), (1.0, 0.5)] {
        let mut random = SplitMix::new(3);
        let levels = (0..20).map(|i| (20.0 + f64::from(i % 2) * up, 50));
        let (values, changes) = stairs(levels, || deviation * random.normal());
        let mut score = Score::default();
        score.add(&cuts(&values), &changes, 5);
        assert!(score.f1() > 0.9, "{up}: {}", score.f1());
    }
}

#[test]
fn short_and_long_levels_are_found_beside_each_other() {
    let lengths = [30_000, 5, 4_000, 20, 300, 30, 8_000, 100, 1_000];
    let levels = lengths.iter().enumerate();
    let levels = levels.map(|(i, &length)| (20.0 + 10.0 * (i % 2) as f64, length));
    let mut random = SplitMix::new(11);
    let (values, changes) = stairs(levels, || random.normal());
    assert_eq!(cuts(&values), changes);
}

#[test]
fn stationary_series_have_none() {
    for phi in [0.0, 0.5, 0.8, 0.95] {
        let alarms = |count, runs| {
            (0..runs)
                .filter(|&seed| !cuts(&ar1(phi, count, seed)).is_empty())
                .count()
        };
        let (few, many) = (alarms(200, 200), alarms(1000, 200));
        assert!(few <= 5 && many <= 5, "{phi}: {few} {many}");
    }
}

#[test]
fn a_wave_is_no_change_of_level() {
    for (period, height) in [(12.0, 3.0), (100.0, 1.0), (100.0, 30.0), (400.0, 3.0)] {
        let alarms = (0..50).filter(|&seed| {
            let mut random = SplitMix::new(seed);
            let begin = random.uniform();
            let value =
                |i| height * (TAU * (f64::from(i) / period + begin)).sin() + random.normal();
            !cuts(&(0..1500).map(value).collect::<Vec<_>>()).is_empty()
        });
        let alarms = alarms.count();
        assert!(alarms <= 2, "{period} {height}: {alarms}");
    }
}

/// A drift is neither.
#[test]
fn a_drift_is_no_change_of_level() {
    for seed in 0..20 {
        let mut random = SplitMix::new(seed);
        let value = |i| f64::from(i) / 100.0 + random.normal();
        let values: Vec<f64> = (0..2000).map(value).collect();
        assert_eq!(cuts(&values), Vec::<usize>::new(), "{seed}");
    }
}

/// Of values that resemble each other so much that ranks tell no step from a wander.
#[test]
fn a_large_step_is_found_in_any_wander() {
    for phi in [0.0, 0.9, 0.95, 0.98, 0.999] {
        let found = (0..20).filter(|&seed| {
            let mut values = ar1(phi, 400, seed);
            values[157..].iter_mut().for_each(|x| *x += 100.0);
            cuts(&values).contains(&157)
        });
        let found = found.count();
        assert!(found >= 18, "{phi}: {found}");
    }
}

/// A path that takes 8 ms instead of 0.1 ms, which drifts by 60 µs before.
#[test]
fn a_step_after_a_drift_is_found() {
    for seed in 0..20 {
        let mut random = SplitMix::new(seed);
        let value = |i| match i {
            0..157 => 0.12 - 0.06 * f64::from(i) / 157.0 + 0.004 * random.normal().abs(),
            _ => 8.2 + 0.05 * random.normal(),
        };
        let values: Vec<f64> = (0..400).map(value).collect();
        let found = find(&times(400), &values, 1, 1).unwrap();
        let at: Vec<_> = found.points.iter().map(|change| change.index).collect();
        assert_eq!(at, [157], "{seed}");
        let bounds = found.points[0].median.relative.clone().unwrap();
        assert!(
            bounds.low > 10.0 && bounds.high < 1_000.0,
            "{seed}: {bounds:?}"
        );
    }
}

/// Where it resembles its neighbours so much that it takes a level far away, too.
#[test]
fn what_is_said_to_be_visible_in_a_wander_is_found() {
    for phi in [0.9, 0.95, 0.98] {
        let found = (0..50).filter(|&seed| {
            let mut values = ar1(phi, 400, seed);
            let quiet = find(&times(400), &values, 1, 1).unwrap();
            let Visible {
                values: length,
                shift,
            } = quiet.visible;
            values[180..180 + length]
                .iter_mut()
                .for_each(|x| *x += shift);
            cuts(&values).into_iter().any(|cut| cut.abs_diff(180) <= 10)
        });
        let found = found.count();
        assert!(found >= 40, "{phi}: {found}");
    }
}

/// With and without dependence, and with one value in a hundred far away.
#[test]
fn what_is_said_to_be_visible_is_found() {
    for (phi, far) in [(0.0, 0.0), (0.6, 0.0), (0.0, 1_000.0)] {
        let (mut found, mut largest) = (0, 0.0_f64);
        let runs = 100;
        for seed in 0..runs {
            let mut values = ar1(phi, 2000, seed);
            values
                .iter_mut()
                .skip(37)
                .step_by(100)
                .for_each(|x| *x += far);
            let quiet = find(&times(2000), &values, 1, 1).unwrap();
            let Visible {
                values: length,
                shift,
            } = quiet.visible;
            largest = largest.max(shift);
            values[900..900 + length]
                .iter_mut()
                .for_each(|x| *x += shift);
            let mut near = cuts(&values).into_iter();
            found += usize::from(near.any(|cut| cut.abs_diff(900) <= 10));
        }
        assert!((80..=100).contains(&found), "{phi} {far}: {found}");
        assert!(largest < 5.0, "{phi} {far}: {largest}");
    }
}

#[test]
fn a_long_series_is_put_together_and_the_place_is_still_exact() {
    let mut random = SplitMix::new(4);
    let value = |i| random.student(3) + if i < 123_457 { 0.0 } else { 8.0 };
    let values: Vec<f64> = (0..300_000).map(value).collect();
    let found = find(&times(values.len()), &values, 1, 1).unwrap().points;
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
    let found = find(&times(140), &values, 1, 1).unwrap().points;
    let indices: Vec<_> = found.iter().map(|change| change.index).collect();
    assert_eq!(indices, [60, 90]);
    assert_eq!(found[1].median.difference(), Some(-2.0));
    assert_eq!(find(&times(100), &[7.0; 100], 1, 1).unwrap().points, []);
    let few = find(&times(39), &values, 1, 1).unwrap_err();
    assert!(few.contains("38 values"));
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

#[test]
fn of_too_many_values_neighbours_stand_for_each_other() {
    let none = f64::NAN;
    let values = [1.0, none, 2.0, 9.0, none, none, 4.0, 5.0, 6.0, 7.0];
    let grouped = Grouped::new(&values, 3);
    assert_eq!(grouped.group, 3);
    assert_eq!(grouped.medians, [2.0, 5.0, 7.0]);
    assert_eq!(grouped.first, [0, 6, 9]);
    let all = Grouped::new(&values, 7);
    assert_eq!(all.medians, [1.0, 2.0, 9.0, 4.0, 5.0, 6.0, 7.0]);
    assert_eq!(all.first, [0, 2, 3, 6, 7, 8, 9]);
    assert!(Grouped::new(&[none], 3).medians.is_empty());
}
