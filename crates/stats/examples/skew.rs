//! How exact the skew of one-way delays is: `skew [RUNS]` (200).
//!
//! Ten minutes of probes with heavy-tailed queueing. A line for each skew, number of probes, share of
//! them that met a queue, and kind of level shift: the 95 % quantile and the largest of the errors, the
//! share of intervals that hold the truth, their median width, and how many shifts were found.
#![allow(clippy::expect_used)] // what it cannot do ends it

use delaylab_model::Nanos;
use delaylab_stats::random::SplitMix;
use delaylab_stats::skew::estimate;

const SECONDS: f64 = 600.0;

fn main() {
    let runs = std::env::args().nth(1);
    let runs = runs.map_or(200, |runs| runs.parse().expect("how many runs"));
    println!("  ppm  probes  queued  shifted   runs  error p95    max   holds   width  shifts");
    for shifted in [0.0, 2e6] {
        for ppm in [5.0, 50.0, 200.0] {
            for (probes, queued) in [(600, 0.5), (6000, 0.5), (6000, 0.95), (60_000, 0.5)] {
                tell(ppm, probes, queued, shifted, runs);
            }
        }
    }
}

fn tell(ppm: f64, probes: usize, queued: f64, shifted: f64, runs: u64) {
    let (mut errors, mut held, mut widths, mut shifts) = (Vec::new(), 0, Vec::new(), 0);
    for seed in 0..runs {
        let (times, delays) = measured(ppm, probes, queued, shifted, seed);
        let found = estimate(&times, &delays, seed).expect("enough probes");
        errors.push((found.ppm - ppm).abs());
        held += usize::from(found.interval.0 <= ppm && ppm <= found.interval.1);
        widths.push(found.interval.1 - found.interval.0);
        shifts += found.shifts.len();
    }
    errors.sort_by(f64::total_cmp);
    widths.sort_by(f64::total_cmp);
    let each = runs as f64;
    println!(
        "{ppm:5} {probes:7} {queued:7} {:6} ms {runs:6} {:10.4} {:6.4} {:6.1}% {:7.4} {:7.2}",
        shifted / 1e6,
        errors[errors.len() * 95 / 100],
        errors[errors.len() - 1],
        100.0 * held as f64 / each,
        widths[widths.len() / 2],
        shifts as f64 / each,
    );
}

/// A third of the way the level rises, after two thirds it is back.
fn measured(
    ppm: f64,
    probes: usize,
    queued: f64,
    shifted: f64,
    seed: u64,
) -> (Vec<Nanos>, Vec<f64>) {
    let mut random = SplitMix::new(seed);
    let point = |i| {
        let seconds = SECONDS * i as f64 / probes as f64;
        // Pareto with an infinite variance, 100 µs on a scale.
        let queue = 1e5 * (random.uniform().powf(-1.0 / 1.5) - 1.0);
        let queue = if random.uniform() < queued {
            queue
        } else {
            0.0
        };
        let third = (3.0 * seconds / SECONDS) as u32;
        let level = if third == 1 { shifted } else { 0.0 };
        let stamp = 2e4 * random.uniform();
        let delay = 4e6 + 1e3 * ppm * seconds + level + queue + stamp;
        ((seconds * 1e9) as Nanos, delay.round())
    };
    (0..probes).map(point).unzip()
}
