//! What the detector of periods finds and what it invents: `periodicity [RUNS]` (500).
//!
//! A minute of probes every 10 ms on average; a process that runs 3 ms or 11 ms every 100 ms disturbs
//! those that it meets, and others are disturbed by chance. A line for each: series that could be judged,
//! that were found to have a period, and with the right one (within 1 %; a multiple up to ten, where
//! probes on a grid meet the process only so often).
#![allow(clippy::expect_used)] // what it cannot do ends it

use delaylab_model::Nanos;
use delaylab_stats::periodicity::{Settings, find, matching};
use delaylab_stats::random::SplitMix;

const MS: f64 = 1e6;
const PROBES: usize = 6000;

#[derive(Debug, Clone, Copy)]
enum Sampling {
    Grid,
    Jittered,
    Poisson,
}

fn main() {
    let runs = std::env::args().nth(1);
    let runs = runs.map_or(500, |runs| runs.parse().expect("how many runs"));
    println!("probes      every  busy  by chance   runs  judged   found   right  mean share");
    for sampling in [Sampling::Grid, Sampling::Jittered, Sampling::Poisson] {
        for (every, busy) in [(0.0, 0.0), (100.0, 3.0), (100.7, 3.0), (100.7, 11.0)] {
            for chance in [0.005, 0.02] {
                tell(sampling, every, busy, chance, runs);
            }
        }
    }
}

fn tell(sampling: Sampling, every: f64, busy: f64, chance: f64, runs: u64) {
    let (mut judged, mut found, mut right, mut share) = (0, 0, 0, 0.0);
    for seed in 0..runs {
        let mut random = SplitMix::new(seed);
        let probes = probes(sampling, &mut random);
        let phase = random.uniform() * every;
        let met = |&&time: &&Nanos| {
            let since = time as f64 / MS + phase;
            busy > 0.0 && since.rem_euclid(every) < busy || random.uniform() < chance
        };
        let events: Vec<Nanos> = probes.iter().filter(met).copied().collect();
        let settings = Settings {
            seed,
            ..Settings::default()
        };
        let Ok(period) = find(&events, &probes, &settings) else {
            continue;
        };
        judged += 1;
        if let Some(period) = period {
            found += 1;
            right += usize::from(!matching(&period, &[("process", every * MS)]).is_empty());
            share += period.share;
        }
    }
    let sampling = format!("{sampling:?}");
    let share = share / f64::from(found);
    println!(
        "{sampling:9} {every:6.1} {busy:5.1} {chance:10.3} {runs:6} {judged:7} {found:7} {right:7} \
         {share:11.2}"
    );
}

fn probes(sampling: Sampling, random: &mut SplitMix) -> Vec<Nanos> {
    let mut time = 0.0;
    let each = (0..PROBES).map(|_| {
        time += 10.0
            * MS
            * match sampling {
                Sampling::Grid => 1.0,
                Sampling::Jittered => 0.95 + 0.1 * random.uniform(),
                Sampling::Poisson => -random.uniform().ln(),
            };
        time as Nanos
    });
    each.collect()
}
