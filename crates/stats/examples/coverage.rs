//! How often the intervals for correlated delays hold the truth: `coverage [RUNS]` (2000).
//!
//! Series are AR(1) around 1 ms. A line for each statistic, memory φ and length: the share of intervals
//! given that hold the truth, the share of series that have an interval at all, and its mean width. At
//! nominal 95 % a right interval has 93 to 97 %.
#![allow(clippy::expect_used)] // what it cannot do ends it

use delaylab_model::Nanos;
use delaylab_stats::interval::{BatchMeans, of_quantile};
use delaylab_stats::quantile::Ranked;
use delaylab_stats::random::SplitMix;
use delaylab_stats::summary::Interval;

const MEAN: f64 = 1e6;
const SD: f64 = 1e5;
const MEMORIES: [f64; 5] = [0.0, 0.5, 0.9, 0.95, 0.98];
const LENGTHS: [usize; 7] = [100, 300, 1000, 2000, 3000, 10_000, 30_000];
/// Quantiles, and where they are in a standard normal distribution.
const QUANTILES: [(f64, f64); 3] = [(0.5, 0.0), (0.9, 1.281_552), (0.99, 2.326_348)];

fn main() {
    let runs = std::env::args().nth(1);
    let runs = runs.map_or(2000, |runs| runs.parse().expect("how many runs"));
    println!("statistic    φ       n   holds   given   width/sd");
    for phi in MEMORIES {
        for length in LENGTHS {
            tell("mean", phi, length, runs, MEAN, of_mean);
            for (q, z) in QUANTILES {
                let interval =
                    |series: &[Nanos]| of_quantile(series, &mut Ranked::new(series.to_vec()), q);
                tell(
                    &format!("p{}", q * 100.0),
                    phi,
                    length,
                    runs,
                    MEAN + SD * z,
                    interval,
                );
            }
        }
    }
}

fn tell(
    name: &str,
    phi: f64,
    length: usize,
    runs: u64,
    truth: f64,
    interval: impl Fn(&[Nanos]) -> Interval,
) {
    let (mut given, mut held, mut width) = (0.0, 0.0, 0.0);
    for seed in 0..runs {
        if let Interval::Known { low, high } = interval(&ar1(phi, length, seed)) {
            given += 1.0;
            held += f64::from(u8::from(low <= truth && truth <= high));
            width += high - low;
        }
    }
    let (holds, share) = (100.0 * held / given, 100.0 * given / runs as f64);
    let width = width / given / SD;
    println!("{name:9} {phi:4} {length:7} {holds:6.1}% {share:6.1}% {width:10.3}");
}

fn of_mean(series: &[Nanos]) -> Interval {
    let mut batches = BatchMeans::default();
    series.iter().for_each(|&x| batches.push(x));
    batches.interval(&series.iter().copied().collect())
}

fn ar1(phi: f64, length: usize, seed: u64) -> Vec<Nanos> {
    let mut random = SplitMix::new(seed);
    let mut x = random.normal();
    let innovation = (1.0 - phi * phi).sqrt();
    let each = (0..length).map(|_| {
        x = phi * x + innovation * random.normal();
        (MEAN + SD * x).round() as Nanos
    });
    each.collect()
}
