//! What the step detector finds and what it invents: `steps [RUNS] [PART] [SHARE]` (1000), parts `promised`,
//! `even`, `uneven` (of one share alone, such as `0.1`) and `shapes`.
//!
//! Part `uneven` is steps that differ in height and delay that jumps: how often such steps are found, with
//! their width and overhead (within one byte), how often the interval of the mean step holds the truth, and
//! how wide it is. Part `shapes` is what is called steps where there are none.
//!
//! Part `promised` is random ATM paths and random straight lines, with noise of half a step on the
//! number of each size, and on each of 10 packets; part `even`, for one path and design after the other, the
//! table behind it. There 145 sizes, 10 packets of each, mean of the sorted 10 to 90 %. A step is an ATM
//! cell at 1 Mbit/s each way. A line for each path and noise: how often each verdict came, and how often
//! width and overhead were right (within one byte).
#![allow(clippy::expect_used)] // what it cannot do ends it

use delaylab_stats::random::SplitMix;
use delaylab_stats::steps::{
    Design, Noise, Outcomes, Path, PerSize, Point, Settings, Verdict, detect, detect_cells,
    simulate,
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
    let part = std::env::args().nth(2);
    let wanted = |name: &str| part.as_deref().is_none_or(|part| part == name);
    if wanted("uneven") {
        uneven(runs);
    }
    if wanted("shapes") {
        others(runs);
    }
    if wanted("promised") {
        promised(runs);
    }
    if wanted("even") {
        even(runs);
    }
    time();
}

/// The table behind what is promised.
fn even(runs: u32) {
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
        "{:.0} ms with intervals, for {} sizes",
        begin.elapsed().as_secs_f64() * 1e3,
        verdict.sizes.len()
    );
}

/// A jump of delay: from which size on, and by how much, ns.
type Jump = Option<(u32, f64)>;

/// How a stair differs from an even one.
#[derive(Clone, Copy)]
enum Jumps {
    None,
    OnRiser,
    Anywhere,
}

/// Steps of 590 µs, each up to so much higher or lower, with and without a jump of 0.3 to 5 steps.
fn uneven(runs: u32) {
    println!(
        "{runs} stairs each: sizes, noise    uneven jump      found w-right o-right | q held  too low \
         too high  width of its interval"
    );
    let designs = [
        ("44 to 188, 10 µs", 44..=188, 10e3),
        ("40 to 280, 60 µs", 40..=280, 60e3),
    ];
    for (name, sizes, noise) in designs {
        let only = std::env::args().nth(3);
        let only: Option<f64> = only.map(|share| share.parse().expect("a share"));
        let shares = [0.0, 0.01, 0.02, 0.05, 0.1, 0.25].into_iter();
        for share in shares.filter(|share| only.is_none_or(|only| only == *share)) {
            for (jump, kind) in [
                ("none", Jumps::None),
                ("on riser", Jumps::OnRiser),
                ("anywhere", Jumps::Anywhere),
            ] {
                let tally = stairs(&sizes, (noise, share), kind, runs);
                println!("{name:27} {:5.0} % {jump:9} {tally}", 100.0 * share);
            }
        }
    }
}

#[derive(Default)]
struct Tally {
    runs: u32,
    found: u32,
    width: u32,
    overhead: u32,
    held: u32,
    low: u32,
    high: u32,
    spans: Vec<f64>,
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let percent = |count: u32| 100.0 * f64::from(count) / f64::from(self.runs);
        let mut spans = self.spans.clone();
        spans.sort_by(f64::total_cmp);
        write!(
            f,
            "{:5.1} {:7.1} {:7.1} | {:6.1} {:8.1} {:8.1}  {:5.1} % of a step",
            percent(self.found),
            percent(self.width),
            percent(self.overhead),
            percent(self.held),
            percent(self.low),
            percent(self.high),
            100.0 * spans.get(spans.len() / 2).copied().unwrap_or(f64::NAN),
        )
    }
}

fn stairs(
    sizes: &std::ops::RangeInclusive<u32>,
    (noise, share): (f64, f64),
    kind: Jumps,
    runs: u32,
) -> Tally {
    const STEP: f64 = 590e3;
    let mut random = SplitMix::new(23);
    let mut tally = Tally {
        runs,
        ..Tally::default()
    };
    for seed in 0..u64::from(runs) {
        let overhead = random.below(48) as u32;
        let level = |size: u32| ((size + overhead).div_ceil(48)) as usize;
        let mut heights = vec![0.0];
        for _ in 0..16 {
            let before = heights[heights.len() - 1];
            heights.push(before + STEP * (1.0 + share * (2.0 * random.uniform() - 1.0)));
        }
        let height = STEP * (0.3 + 4.7 * random.uniform());
        let (first, last) = (*sizes.start() + 2, *sizes.end() - 2);
        let anywhere = first + random.below((last - first) as usize) as u32;
        let risers: Vec<u32> = (first..last)
            .filter(|&size| level(size) > level(size - 1))
            .collect();
        let riser = risers[random.below(risers.len())];
        let jump: Jump = match kind {
            Jumps::None => None,
            Jumps::OnRiser => Some((riser, height)),
            Jumps::Anywhere => Some((anywhere, height)),
        };
        let points = sizes.clone().map(|size| {
            let jump = jump.filter(|(from, _)| size >= *from);
            let delay = 2e6 + heights[level(size)] + jump.map_or(0.0, |(_, height)| height);
            (size, delay + noise * random.normal())
        });
        tally.add(&points.collect::<Vec<_>>(), (overhead, STEP), seed);
    }
    tally
}

impl Tally {
    fn add(&mut self, points: &[(u32, f64)], (overhead, step): (u32, f64), seed: u64) {
        let Some(found) = steps_in(points, seed) else {
            return;
        };
        self.found += 1;
        if found.width != 48 {
            return;
        }
        self.width += 1;
        let away = (found.overhead + 48 - overhead) % 48;
        self.overhead += u32::from(away.min(48 - away) <= 1);
        let (low, high) = found.step_interval;
        self.held += u32::from(low <= step && step <= high);
        self.low += u32::from(high < step);
        self.high += u32::from(low > step);
        self.spans.push((high - low) / step);
    }
}

fn steps_in(points: &[(u32, f64)], seed: u64) -> Option<delaylab_stats::steps::Steps> {
    let point = |&(size, delay_ns): &(u32, f64)| Point { size, delay_ns };
    let points: Vec<Point> = points.iter().map(point).collect();
    let settings = Settings {
        seed,
        ..Settings::default()
    };
    match detect_cells(&points, &settings).verdict {
        Verdict::Steps(found) => Some(*found),
        _ => None,
    }
}

/// Delay by place and three random numbers.
type Shape = fn(f64, [f64; 3]) -> f64;

/// Shapes without steps, where x goes from 0 to 1 over the sizes and `u` are three random numbers.
const SHAPES: [(&str, Shape); 13] = [
    ("constant", |_, _| 0.0),
    ("line", |x, _| x),
    ("line, one jump", |x, u| x + u[1] * after(x, u[0])),
    ("constant, one jump", |x, u| after(x, u[0])),
    ("line, two jumps", |x, u| {
        x + after(x, u[0]) + u[2] * after(x, u[1])
    }),
    ("two jumps up, of 1", |x, u| after(x, u[0]) + after(x, u[1])),
    ("line, three jumps", |x, u| {
        x + u.iter().map(|&place| after(x, place)).sum::<f64>()
    }),
    ("jumps of random sizes", |x, u| {
        // The heights follow from the places, as good as at random.
        let height = |place: f64| 0.2 + (97.0 * place).fract();
        (u.iter().flat_map(|&place| [place, (7.0 * place).fract()]))
            .map(|place| height(place) * after(x, place))
            .sum()
    }),
    ("line, one down", |x, u| x - u[1] * after(x, u[0])),
    ("kink", |x, u| x + 3.0 * u[1] * (x - u[0]).max(0.0)),
    ("square", |x, _| x * x),
    ("root", |x, _| x.sqrt()),
    ("cube, one jump", |x, u| x.powi(3) + u[1] * after(x, u[0])),
];

fn after(x: f64, place: f64) -> f64 {
    f64::from(u8::from(x > place))
}

/// What is called steps where there are none.
fn others(runs: u32) {
    println!(
        "{runs} without steps each   sizes      called steps, with noise of 1 %, 5 % and 20 % of the rise"
    );
    for (name, shape) in SHAPES {
        for sizes in [44..=188, 40..=280] {
            let called = [0.01, 0.05, 0.2].map(|noise| {
                let mut random = SplitMix::new(29);
                let called = (0..u64::from(runs)).filter(|&seed| {
                    let u = [random.uniform(), random.uniform(), random.uniform()];
                    let points = sizes.clone().map(|size| {
                        let x = f64::from(size - sizes.start())
                            / f64::from(sizes.end() - sizes.start());
                        (size, 1e6 + 2e6 * (shape(x, u) + noise * random.normal()))
                    });
                    steps_in(&points.collect::<Vec<_>>(), seed).is_some()
                });
                called.count()
            });
            println!(
                "{name:24} {:3} to {:3} {called:?}",
                sizes.start(),
                sizes.end()
            );
        }
    }
}
