//! What the detector of level changes finds and what it invents.
//!
//! `change_points [RUNS]` (500): a line for each law, autocorrelation and length. First stationary series: how
//! many have a change found. Then the same noise (standard deviation 1) with levels 2 to 5 apart, 40 to 140 values
//! each (a twelfth of the series to thrice that, where that is longer): precision, recall and F1, where a
//! change is found if a cut is at most two values away.
//!
//! `change_points -`: a series of numbers a line from the standard input; for each the first indices of its
//! levels but the first, in a line. `benches/changes.py` compares it so with other detectors.
#![allow(clippy::expect_used)] // what it cannot do ends it

use delaylab_model::Nanos;
use delaylab_stats::change_points::find;
use delaylab_stats::random::SplitMix;
use std::f64::consts::TAU;
use std::io::BufRead;

#[derive(Debug, Clone, Copy)]
enum Law {
    Normal,
    Student2,
    Student3,
    Exponential,
    Rounded,
}

fn main() {
    let argument = std::env::args().nth(1);
    if argument.as_deref() == Some("-") {
        return answer();
    }
    let runs = argument.map_or(500, |runs| runs.parse().expect("how many runs"));
    println!("law           φ      n   runs   alarms   precision  recall     F1");
    for law in [
        Law::Normal,
        Law::Student2,
        Law::Student3,
        Law::Exponential,
        Law::Rounded,
    ] {
        for phi in [0.0, 0.5, 0.8, 0.95] {
            for count in [100, 500, 2000] {
                tell(law, phi, count, runs);
            }
        }
    }
    println!("\nwave: period  height      n   runs   alarms");
    for period in [20.0, 100.0, 500.0] {
        for height in [0.5, 1.0, 3.0, 30.0] {
            for count in [500, 2000] {
                tell_wave(period, height, count, runs);
            }
        }
    }
}

fn answer() {
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("lines of text");
        let values = line.split_whitespace();
        let values: Vec<f64> = values.map(|x| x.parse().expect("a number")).collect();
        let cuts = cuts(&values).into_iter().map(|cut| cut.to_string());
        println!("{}", cuts.collect::<Vec<_>>().join(" "));
    }
}

fn tell(law: Law, phi: f64, count: usize, runs: u64) {
    let alarms = (0..runs).filter(|&seed| {
        let values = noise(law, phi, count, &mut SplitMix::new(seed));
        !cuts(&values).is_empty()
    });
    let alarms = alarms.count();
    let (mut right, mut found, mut there) = (0, 0, 0);
    for seed in 0..runs {
        let mut random = SplitMix::new(seed + 1_000_000);
        let mut values = noise(law, phi, count, &mut random);
        let changes = add_levels(&mut values, &mut random);
        let cuts = cuts(&values);
        let near = |cut: &&usize| changes.iter().any(|change| change.abs_diff(**cut) <= 2);
        right += cuts.iter().filter(near).count();
        found += cuts.len();
        there += changes.len();
    }
    let share = |of: usize| right as f64 / of as f64;
    let law = format!("{law:?}");
    println!(
        "{law:11} {phi:4} {count:6} {runs:6} {:7.1}% {:11.3} {:7.3} {:6.3}",
        100.0 * alarms as f64 / runs as f64,
        share(found),
        share(there),
        2.0 * right as f64 / (found + there) as f64
    );
}

/// A sine of this height in noise of standard deviation 1, which begins anywhere.
fn tell_wave(period: f64, height: f64, count: usize, runs: u64) {
    let alarms = (0..runs).filter(|&seed| {
        let mut random = SplitMix::new(seed);
        let begin = random.uniform();
        let wave = |i: usize| height * (TAU * (i as f64 / period + begin)).sin();
        let values: Vec<f64> = (0..count).map(|i| wave(i) + random.normal()).collect();
        !cuts(&values).is_empty()
    });
    let share = 100.0 * alarms.count() as f64 / runs as f64;
    println!("{period:12} {height:7} {count:6} {runs:6} {share:7.1}%");
}

fn cuts(values: &[f64]) -> Vec<usize> {
    let times: Vec<Nanos> = (0..values.len() as Nanos).collect();
    let found = find(&times, values, 1, 1).expect("enough values");
    found.points.iter().map(|change| change.index).collect()
}

/// An AR(1) with innovations of this law.
fn noise(law: Law, phi: f64, count: usize, random: &mut SplitMix) -> Vec<f64> {
    let mut draw = || match law {
        Law::Normal | Law::Rounded => random.normal(),
        Law::Student2 => random.student(2) / 2.0,
        Law::Student3 => random.student(3) / 3_f64.sqrt(),
        Law::Exponential => -random.uniform().ln() - 1.0,
    };
    let mut x = 0.0;
    let innovation = (1.0_f64 - phi * phi).sqrt();
    let mut next = || {
        x = phi * x + innovation * draw();
        if matches!(law, Law::Rounded) {
            x.round()
        } else {
            x
        }
    };
    // Some before the first, so that the series is stationary.
    (0..200).for_each(|_| {
        next();
    });
    (0..count).map(|_| next()).collect()
}

fn add_levels(values: &mut [f64], random: &mut SplitMix) -> Vec<usize> {
    let least = (values.len() / 12).max(40);
    let mut room = || least + random.below(2 * least);
    let mut next = room();
    let mut changes = Vec::new();
    while next + least <= values.len() {
        changes.push(next);
        next += room();
    }
    for &change in &changes {
        let up = if random.below(2) == 0 { 1.0 } else { -1.0 };
        let by = up * (2.0 + 3.0 * random.uniform());
        values[change..].iter_mut().for_each(|x| *x += by);
    }
    changes
}
