//! What the detector promises, by simulation with fixed seeds; `examples/steps.rs` has more runs.
#![allow(clippy::unwrap_used)]

use super::*;
use proptest::prelude::*;

const CELL_NS: f64 = 848_000.0;

/// 145 sizes, 7 bytes apart, ten packets each.
fn design(noise_sd_ns: f64) -> Design {
    Design {
        sizes: (0..145).map(|i| 40 + 7 * i).collect(),
        packets: 10,
        per_size: PerSize::TrimmedMean,
        noise: Noise::Normal,
        noise_sd_ns,
    }
}

const ATM: Path = Path {
    intercept_ns: 3e6,
    slope: 0.0,
    step_ns: CELL_NS,
    width: 48,
    overhead: 8,
};
const LINE: Path = Path {
    slope: CELL_NS / 48.0,
    step_ns: 0.0,
    ..ATM
};
const CONSTANT: Path = Path { slope: 0.0, ..LINE };

fn points(sizes: impl IntoIterator<Item = u32>, delay: impl Fn(u32) -> f64) -> Vec<Point> {
    let point = |size| Point {
        size,
        delay_ns: delay(size),
    };
    sizes.into_iter().map(point).collect()
}

fn steps(verdict: Verdict) -> Steps {
    match verdict {
        Verdict::Steps(steps) => *steps,
        other => panic!("{other:?}"),
    }
}

#[test]
fn cells_are_found_in_noise_of_half_a_step() {
    let found = simulate(&design(CELL_NS / 2.0), &ATM, &Settings::default(), 200).unwrap();
    assert!(found.overhead_right >= 195, "{found:?}");
    let sloped = Path {
        slope: 3000.0,
        overhead: 16,
        ..ATM
    };
    let found = simulate(&design(CELL_NS / 2.0), &sloped, &Settings::default(), 200).unwrap();
    assert!(found.overhead_right >= 190, "{found:?}");
}

#[test]
fn lines_and_constants_are_what_they_are() {
    for settings in [Settings::default(), Settings::atm()] {
        let found = simulate(&design(CELL_NS / 2.0), &LINE, &settings, 1000).unwrap();
        assert!(found.steps <= 5 && found.line >= 990, "{found:?}");
        let found = simulate(&design(CELL_NS / 2.0), &CONSTANT, &settings, 1000).unwrap();
        assert!(found.steps <= 5 && found.constant >= 990, "{found:?}");
    }
}

#[test]
fn few_sizes_give_no_more_false_alarms() {
    let few = Design {
        sizes: (0..18).map(|i| 40 + 31 * i).collect(),
        ..design(CELL_NS / 2.0)
    };
    let found = simulate(&few, &LINE, &Settings::default(), 2000).unwrap();
    assert!(found.steps <= 10, "{found:?}");
}

#[test]
fn one_width_shows_lower_steps() {
    let faint = design(CELL_NS * 1.9);
    let free = simulate(&faint, &ATM, &Settings::default(), 200).unwrap();
    let fixed = simulate(&faint, &ATM, &Settings::atm(), 200).unwrap();
    assert!(
        fixed.width_right > free.width_right + 20,
        "{free:?} {fixed:?}"
    );
}

#[test]
fn noise_that_hides_steps_is_no_line() {
    let found = simulate(&design(4.0 * CELL_NS), &LINE, &Settings::atm(), 200).unwrap();
    assert!(found.cannot_tell >= 190, "{found:?}");
}

#[test]
fn without_noise_all_is_exact() {
    let verdict = detect(&points(40..=184, |s| ATM.delay(s)), &Settings::default());
    let found = steps(verdict);
    assert_eq!((found.width, found.overhead), (48, 8));
    assert_eq!(
        (found.width_interval, found.overhead_interval),
        ((48, 48), (8, 8))
    );
    assert!((found.step_ns - CELL_NS).abs() < 1e-3 && found.slope == 0.0);
    let names: Vec<_> = found
        .framings()
        .iter()
        .map(|framing| framing.name)
        .collect();
    assert_eq!(names, ["AAL5"]);
    let line = detect(&points(40..=184, |s| LINE.delay(s)), &Settings::default());
    assert!(
        matches!(line, Verdict::Line(line) if line.visible_widths.0 <= 9),
        "{line:?}"
    );
    let constant = detect(&points(40..=184, |_| 5e6), &Settings::default());
    assert!(matches!(constant, Verdict::Constant(_)), "{constant:?}");
}

#[test]
fn intervals_hold_the_truth() {
    let design = design(0.8 * CELL_NS);
    let mut random = crate::random::SplitMix::new(5);
    let mut held = 0;
    for seed in 0..100 {
        let measured = points(design.sizes.clone(), |_| 0.0);
        let measured = measured.iter().map(|point| Point {
            delay_ns: design.measure(&ATM, point.size, &mut random),
            ..*point
        });
        let settings = Settings {
            seed,
            ..Settings::default()
        };
        let found = steps(detect(&measured.collect::<Vec<_>>(), &settings));
        let (low, high) = found.step_interval;
        let width = found.width_interval.0 <= 48 && 48 <= found.width_interval.1;
        held +=
            usize::from(width && found.may_add(8)) + usize::from(low <= CELL_NS && CELL_NS <= high);
    }
    assert!(held >= 180, "{held}");
}

/// Twelve bytes apart, an overhead is known to within twelve bytes.
#[test]
fn what_sizes_do_not_tell_apart_is_in_the_interval() {
    let found = steps(detect(
        &points((40..=520).step_by(12), |s| ATM.delay(s)),
        &Settings::atm(),
    ));
    // 40 + 8 fill a cell: less overhead gives the same cells, down to 11 bytes less.
    assert_eq!(found.overhead_interval, (-3, 8));
    assert!(found.may_add(46) && !found.may_add(9) && found.framings().len() == 1);
}

#[test]
fn a_single_jump_is_no_step() {
    let mut random = crate::random::SplitMix::new(2);
    let jump = points((40..=1480).step_by(10), |s| {
        1e6 + 100.0 * f64::from(s) + if s > 700 { 9e5 } else { 0.0 }
    });
    let noisy = jump.iter().map(|point| Point {
        delay_ns: point.delay_ns + 2e4 * random.normal(),
        ..*point
    });
    let verdict = detect(&noisy.collect::<Vec<_>>(), &Settings::default());
    assert!(
        matches!(&verdict, Verdict::CannotTell(why) if why.contains("710 bytes")),
        "{verdict:?}"
    );
}

#[test]
fn fragments_are_left_out() {
    let line = |s: u32| 1e6 + 800.0 * f64::from(s) + if s > 1500 { 3e6 } else { 0.0 };
    let settings = Settings {
        mtu: Some(1500),
        ..Settings::default()
    };
    let verdict = detect(&points((40..3000).step_by(20), line), &settings);
    assert!(matches!(verdict, Verdict::Line(_)), "{verdict:?}");
}

#[test]
fn refuses_what_tells_nothing() {
    let refused = |points: &[Point]| match detect(points, &Settings::atm()) {
        Verdict::CannotTell(reason) => reason,
        other => panic!("{other:?}"),
    };
    assert!(refused(&[]).contains("0 sizes"));
    assert!(refused(&points(40..50, f64::from)).contains("10 sizes"));
    assert!(refused(&points(40..60, f64::from)).contains("three steps"));
    assert!(refused(&points((48..4800).step_by(48), f64::from)).contains("three steps"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Width and overhead of any steps without noise, beside any slope.
    #[test]
    fn any_steps_are_found(width in 8_u32..=96, overhead in 0_u32..96, slope in 0_u32..3, step in 100_u32..10_000) {
        let path = Path {
            intercept_ns: 1e6,
            slope: f64::from(slope),
            step_ns: f64::from(step),
            width,
            overhead: overhead % width,
        };
        let found = steps(detect(&points(40..=400, |s| path.delay(s)), &Settings::default()));
        prop_assert_eq!((found.width, found.overhead), (width, overhead % width));
        prop_assert!((found.step_ns - path.step_ns).abs() < 1e-6 * path.step_ns);
        prop_assert!(found.may_add(overhead));
    }
}
