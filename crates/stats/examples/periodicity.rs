//! What the detector of periods finds and what it invents: `periodicity [RUNS [late]]` (500).
//!
//! First a minute of probes every 10 ms on average; a process that runs 3 ms or 11 ms every 100 ms disturbs
//! those that it meets, and others are disturbed by chance. A line for each: series that could be judged,
//! that were found to have a period, and with the right one (within 1 %; a multiple up to ten, where
//! probes on a grid meet the process only so often).
//!
//! Then, and with `late` alone, twice as many series of probes that are late by chance, and sent late with it: as far as lateness
//! moves the times of sending, times and events are not independent. A thirtieth of a percent
//! of these series may be said to have a period, as is asked for in `delaylab explain`.
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
    if std::env::args().nth(2).is_none() {
        processes(runs);
    }
    late_packets(2 * runs);
}

fn processes(runs: u64) {
    println!("probes      every  busy  by chance   runs  judged   found   right  mean share");
    for sampling in [Sampling::Grid, Sampling::Jittered, Sampling::Poisson] {
        for (every, busy) in [(0.0, 0.0), (100.0, 3.0), (100.7, 3.0), (100.7, 11.0)] {
            for chance in [0.005, 0.02] {
                tell(sampling, every, busy, chance, runs);
            }
        }
    }
}

fn late_packets(runs: u64) {
    println!(
        "\nmoves           timer  packets  by chance   runs  judged   found  of these twice the interval"
    );
    for (packets, chance) in [(300, 0.05), (300, 0.15), (3000, 0.01), (3000, 0.1)] {
        for moves in Moves::ALL {
            for jitter in [0.0, 0.001, 0.05] {
                late_sends(moves, jitter, packets, chance, runs);
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

/// What a packet's lateness moves.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Moves {
    /// Nothing: the times are when packets were due.
    Nothing,
    /// Its own sending: the next is due as if nothing had been.
    ThisSend,
    /// Its own sending and all that follow, as of a program that waits from one to the next.
    ThisAndFollowing,
    /// The sending of those that follow, as of a program that waits for the answer.
    Following,
    /// Its own sending and the next: that one is late too.
    TwoInARow,
    /// Its own sending and the next, which is not late by itself.
    NextOnTime,
}

impl Moves {
    const ALL: [Self; 6] = [
        Self::Nothing,
        Self::ThisSend,
        Self::ThisAndFollowing,
        Self::Following,
        Self::TwoInARow,
        Self::NextOnTime,
    ];
}

/// Series of one form, their packets an interval of 1 s apart. Lateness lasts from a hundredth of the interval to three of
/// them; each series has a length of its own, and half of them vary about it.
fn late_sends(moves: Moves, jitter: f64, packets: usize, chance: f64, runs: u64) {
    let (mut judged, mut found, mut twice) = (0, 0, 0);
    for seed in 0..runs {
        let mut random = SplitMix::new(seed);
        let (events, probes) = sent_late(moves, jitter, packets, chance, &mut random);
        let settings = Settings {
            seed,
            false_alarms: 0.001 / 3.0,
            ..Settings::default()
        };
        let Ok(period) = find(&events, &probes, &settings) else {
            continue;
        };
        judged += 1;
        if let Some(period) = period {
            found += 1;
            twice += usize::from((period.period_ns / 2e9 - 1.0).abs() < 0.02);
        }
    }
    let moves = format!("{moves:?}");
    println!(
        "{moves:16} {jitter:4.3} {packets:8} {chance:10.2} {runs:6} {judged:7} {found:7} {twice:7}"
    );
}

/// When late packets were sent, and when all were.
fn sent_late(
    moves: Moves,
    jitter: f64,
    packets: usize,
    chance: f64,
    random: &mut SplitMix,
) -> (Vec<Nanos>, Vec<Nanos>) {
    let usual = 0.01 * 300_f64.powf(random.uniform());
    let varies = random.uniform() < 0.5;
    let (mut events, mut probes) = (Vec::new(), Vec::new());
    let mut shift = 0.0;
    let mut before = 0.0;
    for k in 0..packets {
        let follows = std::mem::take(&mut before);
        let late = random.uniform() < chance;
        let length = usual * if varies { -random.uniform().ln() } else { 1.0 };
        let own = if late { length } else { 0.0 };
        let moved = match moves {
            Moves::Nothing | Moves::Following => 0.0,
            Moves::ThisSend | Moves::ThisAndFollowing => own,
            Moves::TwoInARow | Moves::NextOnTime => own.max(follows),
        };
        let due = k as f64 + shift + jitter * random.normal();
        let time = ((due + moved) * 1e9) as Nanos;
        match moves {
            Moves::ThisAndFollowing | Moves::Following => shift += own,
            Moves::TwoInARow | Moves::NextOnTime => before = own,
            Moves::Nothing | Moves::ThisSend => {}
        }
        if late || moves == Moves::TwoInARow && follows > 0.0 {
            events.push(time);
        }
        probes.push(time);
    }
    (events, probes)
}
