use super::*;
use crate::tests::{Thing, put, take};

const WIDE: Parameters = Parameters {
    service: Some(1_000),
    ..Parameters::between(1_000, 3_000, Unit::Items)
};

#[test]
fn the_average_follows_its_closed_form() {
    let mut red = Red::new(WIDE, 1);
    (0..100).for_each(|_| put(&mut red, 0, Thing::cell(0)));
    red.average = 0.0;
    for n in 1..2_000 {
        // Each finds 100: q(1 − (1−w)ⁿ).
        put(&mut red, 0, Thing::cell(0));
        assert!(take(&mut red, 0).is_some());
        let expected = 100.0 * (1.0 - 0.998_f64.powi(n));
        assert!((red.average() - expected).abs() < 1e-9, "{n}");
    }
}

#[test]
fn idle_time_counts_as_arrivals_that_find_nothing() {
    let mut red = Red::new(WIDE, 1);
    put(&mut red, 0, Thing::cell(0));
    assert!(take(&mut red, 5_000).is_some());
    red.average = 80.0;
    // Transmitted until 6000, then idle for 50 services; the arrival itself is one more.
    put(&mut red, 56_999, Thing::cell(0));
    let expected = 80.0 * 0.998_f64.powi(51);
    assert!((red.average() - expected).abs() < 1e-9, "{}", red.average());
    // Busy since: one step towards the one that is found.
    put(&mut red, 90_000, Thing::cell(0));
    assert!((red.average() - (0.998 * expected + 0.002)).abs() < 1e-9);
}

#[test]
fn a_service_is_measured_while_the_line_is_busy() {
    let mut red = Red::new(Parameters::between(1_000, 3_000, Unit::Items), 1);
    (0..3).for_each(|_| put(&mut red, 0, Thing::cell(0)));
    assert!(take(&mut red, 100).is_some());
    assert_eq!(red.service, 0);
    assert!(take(&mut red, 800).is_some());
    assert_eq!(red.service, 700);
    assert!(take(&mut red, 1_500).is_some());
    assert_eq!(red.idle, Some(2_200));
    // Idle between: no measure.
    put(&mut red, 9_000, Thing::cell(0));
    assert!(take(&mut red, 9_000).is_some());
    assert_eq!(red.service, 700);
}

#[test]
fn gaps_between_marks_are_uniform() {
    // Half-way from 5 to 15 at 20 %: p = 0.1, gaps from 1 to 10.
    let still = Parameters {
        probability: 0.2,
        weight: 0.0,
        ..Parameters::between(5, 15, Unit::Items)
    };
    let mut red: Red<Thing> = Red::new(still, 7);
    red.average = 10.0;
    let mut gaps = [0_u32; 10];
    let mut last = 0;
    for arrival in 1..=550_000_u32 {
        if red.hits() {
            gaps[(arrival - last - 1) as usize] += 1;
            last = arrival;
        }
    }
    // 10⁵ gaps, 10⁴ of each length; five standard deviations are 474.
    assert!(
        gaps.iter().all(|count| count.abs_diff(10_000) < 474),
        "{gaps:?}"
    );
}

#[test]
fn the_ramp_jumps_to_one_or_rises_gently() {
    let gentle = Parameters::between(5, 15, Unit::Items);
    let hard = Parameters {
        gentle: false,
        ..gentle
    };
    let ramp = |red: Parameters| [5.0, 10.0, 15.0, 22.5, 30.0].map(|average| red.at(average));
    let close = |a: [f64; 5], b: [f64; 5]| (0..5).all(|i| (a[i] - b[i]).abs() < 1e-12);
    assert!(close(ramp(gentle), [0.0, 0.05, 0.1, 0.55, 1.0]));
    assert!(close(ramp(hard), [0.0, 0.05, 1.0, 1.0, 1.0]));
}

#[test]
fn a_step_marks_whatever_finds_k() {
    let mut red = Red::new(Parameters::step(3, Unit::Items), 1);
    (0..5).for_each(|_| put(&mut red, 0, Thing::cell(0).ecn()));
    let mut drops = Vec::new();
    red.enqueue(0, Thing::cell(0), &mut drops);
    assert_eq!(drops.len(), 1); // knows no marks
    let out: Vec<_> = std::iter::from_fn(|| take(&mut red, 0)).collect();
    let marks: Vec<_> = out.iter().map(|cell| cell.marked).collect();
    assert_eq!(marks, [false, false, false, true, true]);
}

#[test]
fn powers_are_right() {
    for exponent in [0, 1, 2, 3, 10, 1_000] {
        let expected = 0.998_f64.powi(exponent);
        assert!((power(0.998, exponent as u64) - expected).abs() < 1e-12);
    }
    assert_eq!(power(0.998, u64::MAX), 0.0);
}
