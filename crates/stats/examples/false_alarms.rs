//! How often two runs of one law are called different, and two that differ: `false_alarms [RUNS]` (400).
//!
//! A and B have several trials each, of values that are independent, an AR(1) with φ = 0.7, or with tails that have
//! no variance (Pareto, exponent 1.5), 300 in each trial; trials have levels of their own that differ by 0, 3 or 10 %
//! (standard deviation). A line for each law: the share of pairs of runs in which any of the six shifts is told, all
//! six allowed for; in which the interval at 95 % of the mean, the median and p99 leaves out zero; and the same with
//! B longer by a tenth.
//!
//! Then the same of losses, of 500 packets in each trial: the share of pairs of runs in which the loss is told, as one of four figures,
//! where both lose 2 %, or none and 2 %, 1 and 2 %, 1 and 5 %. Each packet is lost by itself, by a share that differs from trial to trial by 0, 30
//! or 100 % (log-normal).
#![allow(clippy::expect_used)] // what it cannot do ends it

use delaylab_stats::functional::{Beyond, Functional};
use delaylab_stats::random::SplitMix;
use delaylab_stats::two_samples::{SHIFTS, Series, Shift, shift, shifts};

const PACKETS: usize = 300;
/// Six shifts of the same packets, which count for three, and loss.
const LOOKS: usize = 4;

#[derive(Clone, Copy, Debug)]
enum Law {
    Independent,
    Memory,
    HeavyTail,
}

impl Law {
    /// Above a floor of 100, 50 on average.
    fn trial(self, random: &mut SplitMix) -> Vec<f64> {
        let mut state = random.normal();
        let mut next = || match self {
            Law::Independent => -50.0 * random.uniform().ln(),
            Law::Memory => {
                state = 0.7 * state + 0.51_f64.sqrt() * random.normal();
                44.0 * (state / 2.0).exp()
            }
            Law::HeavyTail => 50.0 / 3.0 * random.uniform().powf(-1.0 / 1.5),
        };
        (0..PACKETS).map(|_| 100.0 + next()).collect()
    }
}

fn side(law: Law, trials: usize, levels: f64, longer: f64, random: &mut SplitMix) -> Vec<Vec<f64>> {
    let mut trial = || {
        let level = (1.0 + longer) * (1.0 + levels * random.normal());
        let values = law.trial(random);
        values.into_iter().map(|x| level * x).collect()
    };
    (0..trials).map(|_| trial()).collect()
}

fn main() {
    let runs = std::env::args().nth(1);
    let runs = runs.map_or(400, |runs| runs.parse().expect("how many runs"));
    println!(
        "law          trials levels    any   mean    p50    p99 |    any   mean    p50    p99"
    );
    for law in [Law::Independent, Law::Memory, Law::HeavyTail] {
        for trials in [4, 5, 8] {
            for levels in [0.0, 0.03, 0.1] {
                print!("{:<12} {trials:6} {levels:6}", format!("{law:?}"));
                for longer in [0.0, 0.1] {
                    tell(law, trials, levels, longer, runs);
                }
                println!();
            }
        }
    }
    tell_losses(runs);
}

/// Packets that A and B lose.
const LOSSES: [[f64; 2]; 4] = [[0.02, 0.02], [0.0, 0.02], [0.01, 0.02], [0.01, 0.05]];

fn tell_losses(runs: u64) {
    println!("\ntrials vary by  2 % 2 %  0 % 2 %  1 % 2 %  1 % 5 %");
    for trials in [2, 3, 5, 10] {
        for varying in [0.0, 0.3, 1.0] {
            print!("{trials:6} {varying:7}");
            for shares in LOSSES {
                let told = (0..runs).filter(|&seed| loss_is_told(trials, varying, shares, seed));
                print!("   {:5.1}%", told.count() as f64 / runs as f64 * 100.0);
            }
            println!();
        }
    }
}

fn loss_is_told(trials: usize, varying: f64, shares: [f64; 2], seed: u64) -> bool {
    const PACKETS: usize = 500;
    let lost = Functional::Share {
        beyond: Beyond::More,
        bound: 0.0,
    };
    let mut random = SplitMix::new(seed);
    let sides = shares.map(|share| -> Vec<Vec<f64>> {
        let mut trial = || -> Vec<f64> {
            let own = share * (varying * random.normal() - varying * varying / 2.0).exp();
            let mut packet = || f64::from(u8::from(random.uniform() < own));
            (0..PACKETS).map(|_| packet()).collect()
        };
        (0..trials).map(|_| trial()).collect()
    });
    let [a, b] = sides.each_ref().map(|side| as_series(side));
    is_told(&shift(lost, &a, &b, seed), LOOKS)
}

fn as_series(side: &[Vec<f64>]) -> Vec<Series<'_>> {
    let trials = side.iter().map(Vec::as_slice);
    trials.map(Series::from).collect()
}

fn tell(law: Law, trials: usize, levels: f64, longer: f64, runs: u64) {
    let mut told = [0.0; 4];
    for seed in 0..runs {
        let mut random = SplitMix::new(seed);
        let a = side(law, trials, levels, 0.0, &mut random);
        let b = side(law, trials, levels, longer, &mut random);
        let [a, b] = [&a, &b].map(|side| as_series(side));
        let found = shifts(&SHIFTS, &a, &b, seed);
        let each = [
            found.iter().any(|shift| is_told(shift, LOOKS)),
            is_told(&found[0], 1),
            is_told(&found[2], 1),
            is_told(&found[4], 1),
        ];
        for (told, is) in told.iter_mut().zip(each) {
            *told += f64::from(u8::from(is)) / runs as f64;
        }
    }
    for share in told {
        print!(" {:5.1}%", share * 100.0);
    }
    print!(" |");
}

fn is_told(shift: &Shift, looks: usize) -> bool {
    let (Some(difference), Ok(bounds)) = (shift.difference(), &shift.absolute) else {
        return false;
    };
    let reach = if difference > 0.0 {
        difference - bounds.low
    } else {
        bounds.high - difference
    };
    let confidence = 1.0 - 0.05 / looks as f64;
    let apart = shift.apart.map(|apart| apart.least(confidence));
    let needed = (bounds.stretch(confidence) * reach).min(apart.unwrap_or(f64::INFINITY));
    let levels = shift
        .levels
        .is_some_and(|levels| levels.are_apart(confidence));
    difference != 0.0 && (difference.abs() > needed || levels)
}
