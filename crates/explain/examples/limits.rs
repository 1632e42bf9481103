//! How often a condition of `delaylab compare --fail-if` fails where nothing changed, and where something
//! did: `limits [RUNS]` (300).
//!
//! Pairs of runs of one law: delays whose logarithm above a floor is normal with a memory φ, in one trial or in several
//! that differ by a level of their own; B longer by a known share. A line for each: the share of runs in
//! which each condition has failed.
#![allow(clippy::expect_used)] // what it cannot do ends it

use delaylab_explain::compare::both::Both;
use delaylab_explain::compare::limits::{Outcome, evaluate};
use delaylab_lab::finding::{Limit, Samples, StreamInfo};
use delaylab_model::method::Method;
use delaylab_model::record::{Outcome as End, Record};
use delaylab_model::trial::RecordFacts;
use delaylab_stats::random::SplitMix;

const CONDITIONS: [&str; 5] = [
    "mean(response) > +0%",
    "p50(response) > +0%",
    "p99(response) > +0%",
    "p99(response) > +10%",
    "p99(response) > +0ms",
];

/// What a run is like.
#[derive(Clone, Copy)]
struct Law {
    memory: f64,
    packets: u64,
    trials: u32,
    /// Standard deviation of the trials' own levels, as a share.
    levels: f64,
}

fn main() {
    let runs = std::env::args().nth(1);
    let runs = runs.map_or(300, |runs| runs.parse().expect("how many runs"));
    println!(
        "   φ packets trials levels longer  {}",
        CONDITIONS.join("  ")
    );
    for (memory, packets, trials, levels) in [
        (0.0, 500, 1, 0.0),
        (0.5, 1000, 1, 0.0),
        (0.9, 5000, 1, 0.0),
        (0.5, 1000, 4, 0.0),
        (0.5, 1000, 4, 0.1),
    ] {
        let law = Law {
            memory,
            packets,
            trials,
            levels,
        };
        for longer in [0.0, 0.1, 0.3] {
            tell(law, longer, runs);
        }
    }
}

fn tell(law: Law, longer: f64, runs: u64) {
    let mut failed = [0.0; CONDITIONS.len()];
    for seed in 0..runs {
        let (a, b) = (run(law, 0.0, 2 * seed), run(law, longer, 2 * seed + 1));
        let both = Both::new(&a, &b).expect("one probe in each");
        for (failed, text) in failed.iter_mut().zip(CONDITIONS) {
            let limit = Limit::parse(text).expect("a condition");
            let found = evaluate(&limit, &both).expect("responses in both");
            let fails = found.iter().any(|held| held.outcome == Outcome::Failed);
            *failed += f64::from(u8::from(fails)) / runs as f64;
        }
    }
    let Law {
        memory,
        packets,
        trials,
        levels,
    } = law;
    print!("{memory:4} {packets:7} {trials:6} {levels:6} {longer:6}");
    for (share, text) in failed.iter().zip(CONDITIONS) {
        print!("  {:>width$.1}%", share * 100.0, width = text.len() - 1);
    }
    println!();
}

fn run(law: Law, longer: f64, seed: u64) -> Samples {
    let mut random = SplitMix::new(seed);
    let mut samples = Samples::default();
    for trial in 0..law.trials {
        let level = (1.0 + longer) * (1.0 + law.levels * random.normal());
        let info = StreamInfo {
            trial,
            probe: "echo".to_owned(),
            series: None,
            repeat: trial,
            factors: Vec::new(),
            trace_hash: None,
            seed: None,
        };
        samples.push(
            info,
            records(law, level, &mut random),
            RecordFacts::default(),
        );
    }
    samples
}

fn records(law: Law, level: f64, random: &mut SplitMix) -> Vec<Record> {
    let mut state = random.normal();
    let packet = |seq: u64| {
        state = law.memory * state + (1.0 - law.memory.powi(2)).sqrt() * random.normal();
        let delay = level * (200_000.0 + 50_000.0 * (state * 0.5).exp());
        let mut record = Record::due(0, 0, seq, Method::Udp, seq as i64 * 1_000_000);
        record.t_send = Some(record.t_intended);
        record.t_recv = Some(record.t_intended + delay as i64);
        record.outcome = End::Ok;
        record
    };
    (0..law.packets).map(packet).collect()
}
