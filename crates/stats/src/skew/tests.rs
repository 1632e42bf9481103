//! What the estimate promises, by simulation with fixed seeds; `examples/skew.rs` has more runs.
#![allow(clippy::unwrap_used)]

use super::*;

/// Ten minutes, ten packets a second, queues with a heavy tail, clocks that drift apart; level shifts as
/// (second, ns).
fn measured(ppm: f64, shifts: &[(f64, f64)], seed: u64) -> (Vec<Nanos>, Vec<f64>) {
    let mut random = SplitMix::new(seed);
    let point = |i: i64| {
        let seconds = i as f64 / 10.0;
        let queue = 1e5 * (random.uniform().powf(-1.0 / 1.5) - 1.0);
        let queue = if random.uniform() < 0.7 { queue } else { 0.0 };
        let level: f64 = shifts.iter().filter(|s| s.0 <= seconds).map(|s| s.1).sum();
        let stamp = 2e4 * random.uniform();
        (
            i * 100_000_000,
            (-5e9 + 1e3 * ppm * seconds + level + queue + stamp).round(),
        )
    };
    (0..6000).map(point).unzip()
}

#[test]
fn skews_are_recovered() {
    let mut held = 0;
    for (seed, ppm) in (0..).zip([5.0, 20.0, 50.0, 100.0, 200.0, -5.0, -50.0, -200.0, 0.0, 1.0]) {
        let (times, delays) = measured(ppm, &[], seed);
        let found = estimate(&times, &delays, 1).unwrap();
        assert!((found.ppm - ppm).abs() < 0.1, "{ppm}: {}", found.ppm);
        let (low, high) = found.interval;
        held += usize::from(low <= ppm && ppm <= high);
        assert!(high - low < 1.0, "{:?}", found.interval);
        assert!(found.delays_ns.iter().all(|&delay| delay >= -1e-3));
    }
    assert!(held >= 9, "{held}");
}

#[test]
fn level_shifts_do_not_move_the_skew() {
    for seed in 0..5 {
        let (times, delays) = measured(50.0, &[(150.0, 2e6), (400.0, -3e6)], seed);
        let found = estimate(&times, &delays, 1).unwrap();
        assert!((found.ppm - 50.0).abs() < 0.5, "{}", found.ppm);
        let large: Vec<_> = found
            .shifts
            .iter()
            .filter(|shift| shift.by_ns.abs() > 1e6)
            .collect();
        assert_eq!(large.len(), 2, "{:?}", found.shifts);
        assert!(large[0].index.abs_diff(1500) <= 90 && (large[0].by_ns - 2e6).abs() < 1e5);
        assert!(large[1].index.abs_diff(4000) <= 90 && (large[1].by_ns + 3e6).abs() < 1e5);
    }
}

#[test]
fn a_lost_packet_has_no_delay() {
    let (times, mut delays) = measured(30.0, &[], 3);
    delays
        .iter_mut()
        .step_by(7)
        .for_each(|delay| *delay = f64::NAN);
    let found = estimate(&times, &delays, 1).unwrap();
    assert!((found.ppm - 30.0).abs() < 0.1);
    assert_eq!(found.delays_ns.len(), 6000);
    assert!(found.delays_ns[7].is_nan() && found.delays_ns[8].is_finite());
}

#[test]
fn refuses_what_has_no_answer() {
    let (times, delays) = measured(30.0, &[], 3);
    let few = estimate(&times[..199], &delays, 1).unwrap_err();
    assert!(few.contains("199 delays"), "{few}");
    assert!(estimate(&[5; 300], &delays, 1).is_err());
    let backwards: Vec<Nanos> = times.iter().rev().copied().collect();
    assert!(
        estimate(&backwards, &delays, 1)
            .unwrap_err()
            .contains("in order")
    );
}
