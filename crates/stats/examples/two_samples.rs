//! How often two series of one law are called different, and two of different laws: `two_samples [RUNS]`
//! (500).
//!
//! Pairs of AR(1) series with standard deviation 1, the second moved. A line for each memory φ, length
//! and distance: the share of pairs with p at most 5 %, by U, D and W₁, and the share of intervals of
//! shifts that hold the truth (of those given).
#![allow(clippy::expect_used)] // what it cannot do ends it

use delaylab_stats::random::SplitMix;
use delaylab_stats::two_samples::{SHIFTS, Series, compare, shifts};

fn main() {
    let runs = std::env::args().nth(1);
    let runs = runs.map_or(500, |runs| runs.parse().expect("how many runs"));
    println!(
        "  φ      n  moved   runs   judged      U      D     W₁  mean holds   p50    p90    p99"
    );
    for (phi, count) in [
        (0.0, 100),
        (0.0, 1000),
        (0.5, 300),
        (0.5, 2000),
        (0.9, 1000),
        (0.9, 5000),
    ] {
        for moved in [0.0, 0.2, 0.5] {
            tell(phi, count, moved, runs);
        }
    }
}

fn tell(phi: f64, count: usize, moved: f64, runs: u64) {
    let (mut judged, mut alarms) = (0.0, [0.0; 3]);
    let (mut given, mut held) = ([0.0; 4], [0.0; 4]);
    for seed in 0..runs {
        let a = ar1(phi, count, 0.0, 2 * seed);
        let b = ar1(phi, count, moved, 2 * seed + 1);
        let found = compare(&[&a], &[&b], seed).expect("values on both sides");
        judged += f64::from(u8::from(found.wasserstein.p.is_ok()));
        let p = [
            found.mann_whitney.p,
            found.kolmogorov_smirnov.p,
            found.wasserstein.p,
        ];
        for (alarms, p) in alarms.iter_mut().zip(p) {
            *alarms += f64::from(u8::from(p.is_ok_and(|p| p <= 0.05)));
        }
        let shifts = shifts(
            &SHIFTS,
            &[Series::from(&a[..])],
            &[Series::from(&b[..])],
            seed,
        );
        for (index, shift) in shifts.iter().take(4).enumerate() {
            if let Ok(bounds) = &shift.absolute {
                given[index] += 1.0;
                held[index] += f64::from(u8::from(bounds.low <= moved && moved <= bounds.high));
            }
        }
    }
    let alarms = alarms.map(|alarms| 100.0 * alarms / judged);
    let judged = 100.0 * judged / runs as f64;
    print!("{phi:3} {count:6} {moved:6} {runs:6} {judged:7.1}%");
    alarms.iter().for_each(|share| print!(" {share:5.1}%"));
    let held = held
        .iter()
        .zip(given)
        .map(|(held, given)| 100.0 * held / given);
    held.for_each(|share| print!(" {share:5.1}%"));
    println!();
}

fn ar1(phi: f64, count: usize, moved: f64, seed: u64) -> Vec<f64> {
    let mut random = SplitMix::new(seed);
    let mut x = random.normal();
    let innovation = (1.0 - phi * phi).sqrt();
    let each = (0..count).map(|_| {
        x = phi * x + innovation * random.normal();
        10.0 + moved + x
    });
    each.collect()
}
