//! What the step detector finds and what it invents: `steps [RUNS]` (1000).
//!
//! First what is promised: random ATM paths and random straight lines, with noise of half a step on the
//! number of each size, and on each of 10 packets; then, for one path and design after the other, the
//! table behind it. There 145 sizes, 10 packets of each, mean of the sorted 10 to 90 %. A step is an ATM
//! cell at 1 Mbit/s each way. A line for each path and noise: how often each verdict came, and how often
//! width and overhead were right (within one byte).
#![allow(clippy::expect_used)] // what it cannot do ends it

use delaylab_stats::random::SplitMix;
use delaylab_stats::steps::{
    Design, Noise, Outcomes, Path, PerSize, Point, Settings, detect, simulate,
};
use std::time::Instant;

const STEP: f64 = 848_000.0;
const STEPS: Path = Path {
    intercept_ns: 3e6,
    slope: 0.0,
    step_ns: STEP,
    width: 48,
    overhead: 8,
};
const SLOPED: Path = Path {
    slope: STEP / 192.0,
    overhead: 16,
    ..STEPS
};
const LINE: Path = Path {
    slope: STEP / 48.0,
    step_ns: 0.0,
    ..STEPS
};
const CONSTANT: Path = Path { slope: 0.0, ..LINE };
const PATHS: [(&str, Path); 4] = [
    ("steps", STEPS),
    ("steps and slope", SLOPED),
    ("line", LINE),
    ("constant", CONSTANT),
];

fn main() {
    let runs = std::env::args().nth(1);
    let runs = runs.map_or(1000, |runs| runs.parse().expect("how many runs"));
    promised(runs);
    println!(
        "path             w     apart noise/step  runs constant line steps cannot-tell w-right \
         o-right"
    );
    for (name, path) in PATHS {
        for noise in [0.5, 1.0, 1.5, 2.0] {
            tell(
                name,
                &path,
                &design(7, noise, Noise::Normal),
                &Settings::default(),
                runs,
            );
            tell(
                name,
                &path,
                &design(7, noise, Noise::Normal),
                &Settings::atm(),
                runs,
            );
        }
        for (apart, noise) in [
            (1, Noise::Normal),
            (3, Noise::Normal),
            (7, Noise::Exponential),
        ] {
            tell(
                name,
                &path,
                &design(apart, 0.5, noise),
                &Settings::default(),
                runs,
            );
        }
        let catalogue = Settings {
            mtu: Some(9188),
            ..Settings::default()
        };
        tell(name, &path, &as_in_the_catalogue(), &catalogue, runs);
        let mut few = design(31, 0.5, Noise::Normal);
        few.sizes.truncate(18);
        tell(name, &path, &few, &Settings::default(), runs);
    }
    time();
}

/// Sizes that a sweep may have.
fn sweeps() -> [(&'static str, Vec<u32>); 4] {
    let catalogue = as_in_the_catalogue().sizes;
    [
        (
            "40 to 1048, 7 apart",
            (0..145).map(|i| 40 + 7 * i).collect(),
        ),
        ("40 to 520, 3 apart", (40..=520).step_by(3).collect()),
        ("40 to 280, each", (40..=280).collect()),
        ("packet-size-latency", catalogue),
    ]
}

/// Random ATM paths, and straight lines of the same slopes: rates, overheads, what other links add.
fn promised(runs: u32) {
    println!(
        "{runs} random paths each    noise                  w       steps w-right o-right | lines \
         called steps"
    );
    for (name, sizes) in sweeps() {
        for (noise, packets) in [("half a step, a size", 1), ("half a step, a packet", 10)] {
            for (widths, of) in searches(&sizes, packets, runs) {
                let [cells, lines] = of;
                println!(
                    "{name:20} {noise:22} {widths:>10} {:5} {:7} {:7} | {}",
                    cells.steps, cells.width_right, cells.overhead_right, lines.steps,
                );
            }
        }
    }
}

/// On paths in cells and on lines: any width, 48 alone, and the two as `detect_cells` does.
fn searches(sizes: &[u32], packets: usize, runs: u32) -> [(&'static str, [Outcomes; 2]); 3] {
    let names = ["8..96", "48", "8..96, 48"];
    let mut all = names.map(|name| (name, [Outcomes::default(); 2]));
    let mut random = SplitMix::new(11);
    for seed in 0..u64::from(runs) {
        let paths = random_paths(&mut random);
        let settings = Settings {
            mtu: Some(9188),
            seed,
            ..Settings::default()
        };
        let design = Design {
            sizes: sizes.to_vec(),
            packets,
            per_size: PerSize::TrimmedMean,
            noise: Noise::Normal,
            noise_sd_ns: paths[0].step_ns / 2.0,
        };
        for (kind, path) in paths.iter().enumerate() {
            let once = |settings| simulate(&design, path, &settings, 1).expect("sizes that tell");
            // The same seed, so the same noise.
            let (any, cells) = (once(settings.clone()), once(settings.only_cells()));
            all[0].1[kind] += any;
            all[1].1[kind] += cells;
            all[2].1[kind] += if any.steps > 0 { any } else { cells };
        }
    }
    all
}

/// A path in cells, and one without that is as slow.
fn random_paths(random: &mut SplitMix) -> [Path; 2] {
    // 128 kbit/s to 20 Mbit/s there and back, and links without cells as fast as that or faster.
    let rate = 128e3 * (156.0_f64.ln() * random.uniform()).exp();
    let step_ns = 2.0 * 424.0 / rate * 1e9;
    let steps = Path {
        intercept_ns: 1e6 + 5e7 * random.uniform(),
        slope: step_ns / 48.0 * random.uniform().powi(2),
        step_ns,
        width: 48,
        overhead: random.below(48) as u32,
    };
    let line = Path {
        slope: steps.slope + step_ns / 48.0,
        step_ns: 0.0,
        ..steps
    };
    [steps, line]
}

fn design(apart: u32, noise: f64, law: Noise) -> Design {
    Design {
        sizes: (0..145).map(|i| 40 + apart * i).collect(),
        packets: 10,
        per_size: PerSize::TrimmedMean,
        noise: law,
        noise_sd_ns: noise * STEP,
    }
}

/// The sizes of experiment `packet-size-latency`, smallest of ten delays with a tail.
fn as_in_the_catalogue() -> Design {
    let sizes = (40..=520).step_by(12);
    let sizes = sizes.chain((576..=4096).step_by(320));
    let sizes = sizes.chain((4608..=9216).step_by(512)).chain([9188]);
    Design {
        sizes: sizes.collect(),
        per_size: PerSize::Minimum,
        noise: Noise::Exponential,
        ..design(1, 0.5, Noise::Normal)
    }
}

fn tell(name: &str, path: &Path, design: &Design, settings: &Settings, runs: u32) {
    let found = simulate(design, path, settings, runs).expect("sizes that tell");
    let widths = (settings.widths.start(), settings.widths.end());
    let widths = format!("{}..{}", widths.0, widths.1);
    let apart = design.sizes[1] - design.sizes[0];
    println!(
        "{name:16} {widths:6} {:3}x{apart:<2} {:6.1} {:.3} {:5} {:8} {:4} {:5} {:11} {:7} {:7}",
        design.sizes.len(),
        design.noise_sd_ns / STEP,
        design.noise_sd_ns / STEP / (design.packets as f64).sqrt(),
        found.runs,
        found.constant,
        found.line,
        found.steps,
        found.cannot_tell,
        found.width_right,
        found.overhead_right,
    );
}

/// One detection with its intervals.
fn time() {
    let mut random = SplitMix::new(1);
    let mut point = |i: u32| Point {
        size: 40 + 7 * i,
        delay_ns: STEPS.delay(40 + 7 * i) + 0.16 * STEP * random.normal(),
    };
    let points: Vec<Point> = (0..145).map(&mut point).collect();
    let begin = Instant::now();
    let verdict = detect(&points, &Settings::default());
    println!(
        "{:.0} ms with intervals: {verdict:?}",
        begin.elapsed().as_secs_f64() * 1e3
    );
}
