//! What the step detector finds and what it invents: `steps [RUNS]` (1000).
//!
//! 145 sizes, 10 packets of each, mean of the sorted 10 to 90 %. A step is an ATM cell at 1 Mbit/s each
//! way. A line for each path and noise: how often each verdict came, and how often width and overhead
//! were right (within one byte).
#![allow(clippy::expect_used)] // what it cannot do ends it

use delaylab_stats::random::SplitMix;
use delaylab_stats::steps::{Design, Noise, Path, PerSize, Point, Settings, detect, simulate};
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
