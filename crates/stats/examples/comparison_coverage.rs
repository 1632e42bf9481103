//! How often the intervals of summaries, findings and `compare` hold the truth: `comparison_coverage [RUNS [WORDS]]`
//! (300).
//!
//! A line for each law of delays, number of repeats, packets in each, and statistic; `WORDS` choose lines by words that
//! are in them. First of one measurement without repeats, as a summary has it; then of all repeats, as findings have it;
//! then of the difference of two measurements of one law. In each: the share of intervals given that hold the truth (of
//! a difference, that leave out 0), the share given, and their median width. At nominal 95 % a right interval holds the
//! truth in 93 to 97 %, and 3 to 7 % of differences are told.
#![allow(clippy::expect_used)] // what it cannot do ends it

use delaylab_model::Nanos;
use delaylab_stats::comparison::{Bounds, Part, Replicates, Resampling, Statistic};
use delaylab_stats::functional::Functional;
use delaylab_stats::interval::{BatchMeans, of_quantile};
use delaylab_stats::quantile::Ranked;
use delaylab_stats::random::SplitMix;
use delaylab_stats::summary::Interval;
use delaylab_stats::tail;

struct Law {
    name: &'static str,
    series: fn(usize, u64) -> Vec<f64>,
    quantile: fn(f64) -> f64,
    mean: f64,
    sd: f64,
    floor: f64,
}

const LAWS: [Law; 5] = [
    Law::log_normal("independent", |n, seed| log_normal(0.0, n, seed)),
    Law::log_normal("memory-0.7", |n, seed| log_normal(0.7, n, seed)),
    Law::log_normal("memory-0.95", |n, seed| log_normal(0.95, n, seed)),
    Law {
        name: "heavy-tail",
        series: heavy_tail,
        quantile: |q| (1.0 - q).powf(-1.0 / 1.5),
        mean: 3.0,
        sd: f64::INFINITY,
        floor: 1.0,
    },
    Law {
        name: "queue",
        series: queue,
        quantile: |q| (LOAD / (1.0 - q)).ln() / (1.0 - LOAD),
        mean: 9.0,
        sd: 9.949_874,
        floor: 0.0,
    },
];
/// Of the queue.
const LOAD: f64 = 0.9;

impl Law {
    const fn log_normal(name: &'static str, series: fn(usize, u64) -> Vec<f64>) -> Self {
        Self {
            name,
            series,
            quantile: |q| (tail::normal_quantile(q.max(1.0 - q)) * (q - 0.5).signum() / 2.0).exp(),
            mean: 1.133_148,
            sd: 0.603_901,
            floor: 0.0,
        }
    }

    fn truth(&self, functional: Functional, is_variation: bool) -> f64 {
        if is_variation {
            let mut long = variation(&(self.series)(1_000_000, 1 << 40));
            return functional.value(&mut long).expect("there are values");
        }
        match functional {
            Functional::Quantile(q) => (self.quantile)(q),
            Functional::Iqr => (self.quantile)(0.75) - (self.quantile)(0.25),
            Functional::Mean => self.mean,
            Functional::Sd => self.sd,
            _ => self.floor,
        }
    }
}

/// Of delays or, where the name says so, of their variation from packet to packet; and the least they can be.
const STATISTICS: [(&str, Functional, bool); 9] = [
    ("p50", Functional::Quantile(0.5), false),
    ("p99", Functional::Quantile(0.99), false),
    ("p999", Functional::Quantile(0.999), false),
    ("mean", Functional::Mean, false),
    ("sd", Functional::Sd, false),
    ("iqr", Functional::Iqr, false),
    ("ipdv-p95", Functional::Quantile(0.95), true),
    ("ipdv-iqr", Functional::Iqr, true),
    ("min", Functional::Min, false),
];
const LENGTHS: [usize; 3] = [500, 3000, 20_000];
const REPEATS: [usize; 3] = [1, 4, 10];

fn main() {
    let mut arguments = std::env::args().skip(1);
    let runs = arguments.next();
    let runs: u64 = runs.map_or(300, |runs| runs.parse().expect("how many runs"));
    let words: Vec<String> = arguments.collect();
    println!(
        "law          statistic repeats      n |  holds given   width |  holds given   width | differ given   width"
    );
    for law in &LAWS {
        for (name, functional, is_variation) in STATISTICS {
            for (length, repeats) in LENGTHS.into_iter().flat_map(|n| REPEATS.map(|r| (n, r))) {
                let line = format!("{:12} {name:9} {repeats:7} {length:6}", law.name);
                let is_wanted = |word: &String| line.split_whitespace().any(|it| it == word);
                if words.iter().all(is_wanted) {
                    let series = |seed| match is_variation {
                        true => variation(&(law.series)(length + 1, seed)),
                        false => (law.series)(length, seed),
                    };
                    let truth = law.truth(functional, is_variation);
                    tell(&line, functional, truth, repeats, runs, series);
                }
            }
        }
    }
}

fn tell(
    line: &str,
    functional: Functional,
    truth: f64,
    repeats: usize,
    runs: u64,
    series: impl Fn(u64) -> Vec<f64>,
) {
    let trials = |run: u64, side: u64| -> Vec<Vec<f64>> {
        let first = 1000 * (2 * run + side);
        (0..repeats as u64)
            .map(|trial| series(first + trial))
            .collect()
    };
    let (mut of_summary, mut of_one, mut of_two) = (Vec::new(), Vec::new(), Vec::new());
    for run in 0..runs {
        let sides = [trials(run, 0), trials(run, 1)];
        of_summary.push(
            (repeats == 1)
                .then(|| summary(functional, &sides[0][0]))
                .flatten(),
        );
        of_one.push(interval(functional, &sides[..1]));
        of_two.push(interval(functional, &sides));
    }
    let holds = |bounds: &(f64, f64)| bounds.0 <= truth && truth <= bounds.1;
    let tells = |bounds: &(f64, f64)| bounds.0 > 0.0 || bounds.1 < 0.0;
    println!(
        "{line} | {} | {} | {}",
        tally(&of_summary, holds),
        tally(&of_one, holds),
        tally(&of_two, tells)
    );
}

/// Of the intervals given, how many do so in percent; how many are given; their median width.
fn tally(all: &[Option<(f64, f64)>], does: impl Fn(&(f64, f64)) -> bool) -> String {
    let given: Vec<_> = all.iter().flatten().collect();
    if given.is_empty() {
        return "     –    0%       –".to_owned();
    }
    let count = given.iter().filter(|bounds| does(bounds)).count();
    let mut widths: Vec<f64> = given.iter().map(|bounds| bounds.1 - bounds.0).collect();
    let width = Functional::Quantile(0.5)
        .value(&mut widths)
        .expect("there are some");
    let percent = |count: usize, of: usize| 100.0 * count as f64 / of as f64;
    let (does, share) = (percent(count, given.len()), percent(given.len(), all.len()));
    format!("{does:5.1}% {share:4.0}% {width:7.4}")
}

/// As in the summary of a measurement; `None` for statistics that it gives no interval of.
fn summary(functional: Functional, series: &[f64]) -> Option<(f64, f64)> {
    const UNIT: f64 = 1e6;
    let series: Vec<Nanos> = series.iter().map(|x| (x * UNIT).round() as Nanos).collect();
    let found = match functional {
        Functional::Mean => {
            let mut batches = BatchMeans::default();
            series.iter().for_each(|&x| batches.push(x));
            batches.interval(&series.iter().copied().collect())
        }
        Functional::Quantile(q) => of_quantile(&series, &mut Ranked::new(series.clone()), q),
        _ => return None,
    };
    match found {
        Interval::Known { low, high } => Some((low / UNIT, high / UNIT)),
        Interval::Refused { .. } => None,
    }
}

/// Of one side, or of the difference of two, each of trials that repeat each other.
fn interval(functional: Functional, sides: &[Vec<Vec<f64>>]) -> Option<(f64, f64)> {
    let repeats = sides[0].len();
    let statistics: Vec<Statistic<'_>> = (sides.iter().enumerate())
        .map(|(side, trials)| {
            let trials = (side * repeats..).zip(trials);
            Statistic::new(
                functional,
                trials
                    .map(|(trial, values)| Part { trial, values })
                    .collect(),
            )
        })
        .collect();
    if statistics.iter().any(|statistic| statistic.doubt.is_some()) {
        return None;
    }
    let strata: Vec<usize> = (0..sides.len() * repeats)
        .map(|trial| trial / repeats)
        .collect();
    let resampling = Resampling::new(strata, &statistics, 1);
    let numbers = (0..)
        .zip(&statistics)
        .map(|(salt, statistic)| resampling.replicates(statistic, salt));
    let numbers: Vec<Replicates> = numbers.collect::<Option<_>>()?;
    let each: Vec<&Replicates> = numbers.iter().collect();
    let difference = Replicates::combine(&each, |x| x[0] - x.get(1).copied().unwrap_or(0.0));
    let Bounds { low, high, .. } = resampling.interval(&difference).ok()?;
    Some((low, high))
}

/// exp(x/2) of an AR(1) x.
fn log_normal(phi: f64, length: usize, seed: u64) -> Vec<f64> {
    let mut random = SplitMix::new(seed);
    let mut x = random.normal();
    let innovation = (1.0 - phi * phi).sqrt();
    let each = (0..length).map(|_| {
        x = phi * x + innovation * random.normal();
        (x / 2.0).exp()
    });
    each.collect()
}

/// Pareto's law with exponent 1.5, which has no variance.
fn heavy_tail(length: usize, seed: u64) -> Vec<f64> {
    let mut random = SplitMix::new(seed);
    (0..length)
        .map(|_| random.uniform().powf(-1.0 / 1.5))
        .collect()
}

/// Waits in a queue M/M/1 at a load of 0.9, in service times (Lindley 1952), from a wait of the law that lasts.
fn queue(length: usize, seed: u64) -> Vec<f64> {
    let mut random = SplitMix::new(seed);
    let is_busy = random.uniform() < LOAD;
    let mut wait = if is_busy {
        -random.uniform().ln() / (1.0 - LOAD)
    } else {
        0.0
    };
    let each = (0..length).map(|_| {
        let now = wait;
        let (service, gap) = (-random.uniform().ln(), -random.uniform().ln() / LOAD);
        wait = (wait + service - gap).max(0.0);
        now
    });
    each.collect()
}

fn variation(series: &[f64]) -> Vec<f64> {
    series.windows(2).map(|pair| pair[1] - pair[0]).collect()
}
