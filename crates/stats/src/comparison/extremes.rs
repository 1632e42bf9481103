//! What may lie beyond the smallest and the largest value seen.

use super::{Design, Part, RESAMPLES, Replicates, Resampling, Statistic};
use std::collections::{BTreeMap, BTreeSet};

/// Minima of blocks that the floor is estimated from, at most.
const MINIMA: usize = 32;
/// This number of equal minima is the floor itself.
const EQUAL: usize = 5;
/// And so are those of two repeats, if no more than this share of the other values is equal to one of them by chance.
const COINCIDENCES: f64 = 0.01;
/// Shapes of the lower end: 1 where the density does not vanish at the floor, larger the more slowly it rises. A normal
/// law, which has no floor, looks like 8.
const SHAPES: [f64; 12] = [
    1.0, 1.21, 1.46, 1.76, 2.13, 2.57, 3.11, 3.76, 4.54, 5.48, 6.62, 8.0,
];
/// Distances from the smallest value to the floor that are weighed, and the least of them in mean distances of the
/// minima.
const DISTANCES: usize = 120;
const LEAST_DISTANCE: f64 = 1e-4;

impl Resampling {
    pub(super) fn floor(&self, statistic: &Statistic<'_>, value: f64, salt: u64) -> Replicates {
        let minima = minima(statistic, &self.design);
        let is_reached = minima
            .get(EQUAL.min(minima.len()).saturating_sub(1))
            .is_none_or(|upper| minima.len() > 1 && *upper <= value)
            || is_met_again(statistic, value, &self.design);
        let mut random = self.random(salt);
        let below = if is_reached {
            None
        } else {
            Floor::below(&minima)
        };
        let draw = |_| {
            let below = below.as_ref().map(|below| below.draw(random.uniform()));
            value - below.unwrap_or(0.0)
        };
        Replicates {
            resampled: (0..RESAMPLES).map(draw).collect(),
            as_drawn: true,
            ..self.constant(value)
        }
    }

    pub(super) fn ceiling(&self, statistic: &Statistic<'_>, value: f64, salt: u64) -> Replicates {
        let mut largest = BTreeMap::<usize, f64>::new();
        for part in &statistic.parts {
            let there = part.values.iter().copied().filter(|value| !value.is_nan());
            // A trial that lost everything has no largest value, and says nothing of the others'.
            if let Some(here) = there.reduce(f64::max) {
                let most = largest.entry(part.trial).or_insert(here);
                *most = most.max(here);
            }
        }
        self.of_maxima(value, &largest, salt)
    }

    /// A maximum, from those of single trials, each by the index of its trial: their spread bounds it.
    pub fn of_maxima(&self, value: f64, by_trial: &BTreeMap<usize, f64>, salt: u64) -> Replicates {
        let Some(within) = self.within_strata(by_trial) else {
            return self.at_least(value);
        };
        // One-sided, and maxima are skewed: with three times the spread, two sets of repeats of the
        // same are told apart in some 5 % of cases (by simulation with Gumbel's law).
        let mut random = self.random(salt);
        let draw = |_| value + 3.0 * within.sd * random.student(within.repeats).abs();
        Replicates {
            resampled: (0..RESAMPLES).map(draw).collect(),
            as_drawn: true,
            is_of_trials: true,
            ..self.constant(value)
        }
    }
}

/// Is the smallest value that of several repeats, though values that are equal by chance are rare? Then nothing made these
/// packets late.
fn is_met_again(statistic: &Statistic<'_>, smallest: f64, design: &Design) -> bool {
    let has_it = |part: &&Part<'_>| part.values.contains(&smallest);
    let repeats = statistic.parts.iter().filter(has_it);
    let repeats: BTreeSet<usize> = repeats.map(|part| design.repeat(part.trial)).collect();
    if repeats.len() < 2 {
        return false;
    }
    let values = statistic.parts.iter().flat_map(|part| part.values);
    let mut others: Vec<f64> = values.copied().filter(|&x| x > smallest).collect();
    others.sort_unstable_by(f64::total_cmp);
    let equal = others.windows(2).filter(|pair| pair[0] == pair[1]).count();
    equal as f64 <= COINCIDENCES * others.len() as f64
}

/// Minima of blocks, in rising order: of the streams in whose range the smallest value is, because others, as of larger
/// packets, have another floor. A stream of few values shows no range. Trials of one repeat have the same smallest values, if
/// any: they count once.
fn minima(statistic: &Statistic<'_>, design: &Design) -> Vec<f64> {
    let present = |part: &Part<'_>| -> Vec<f64> {
        let values = part.values.iter().copied();
        values.filter(|x| !x.is_nan()).collect()
    };
    let streams: Vec<Vec<f64>> = statistic.parts.iter().map(present).collect();
    let lowest = (streams.iter()).min_by(|a, b| least(a).total_cmp(&least(b)));
    let reach = match lowest {
        Some(lowest) if lowest.len() >= MINIMA => block_minima(lowest, MINIMA)
            .into_iter()
            .fold(f64::NEG_INFINITY, f64::max),
        _ => f64::INFINITY,
    };
    let is_near = |values: &Vec<f64>| !values.is_empty() && least(values) <= reach;
    // Streams of one place in the trials of a repeat.
    let mut alike = BTreeMap::<(usize, usize), Vec<&Vec<f64>>>::new();
    let mut places = BTreeMap::<usize, usize>::new();
    for (part, values) in statistic.parts.iter().zip(&streams) {
        let place = places.entry(part.trial).or_default();
        if is_near(values) {
            let key = (design.repeat(part.trial), *place);
            alike.entry(key).or_default().push(values);
        }
        *place += 1;
    }
    let longest = |streams: &Vec<&Vec<f64>>| streams.iter().map(|it| it.len()).max().unwrap_or(0);
    let count: usize = alike.values().map(longest).sum();
    let of_streams = |streams: &Vec<&Vec<f64>>| {
        let blocks = longest(streams) * MINIMA / count;
        let each = streams.iter().map(|values| block_minima(values, blocks));
        each.reduce(least_of_each).unwrap_or_default()
    };
    let all: Vec<f64> = alike.values().flat_map(of_streams).collect();
    let mut minima = block_minima(&all, MINIMA);
    minima.sort_unstable_by(f64::total_cmp);
    minima
}

/// How far below the smallest of some minima their floor may lie.
///
/// Minima of blocks have Weibull's law above their floor, whatever the law of the values (Fisher and Tippett 1928), with
/// a shape that says how the density begins there. Each floor is weighed with every shape, all of them as likely, by
/// its likelihood, the scale integrated out. With shape 1 alone, as where the density does not vanish at the floor, two
/// runs of the same log-normal delays are told apart in 18 to 25 % of cases; so, in 1 to 6 % with φ up to 0.7, and in 8 to
/// 13 % at 0.95 (`examples/comparison_coverage.rs`). The price is an interval that is a third longer where the shape is 1.
struct Floor {
    /// Distances, rising.
    distances: Vec<f64>,
    /// The probability that the floor is no further away.
    cumulative: Vec<f64>,
}

impl Floor {
    /// Of minima in rising order; `None` where they are equal or too few.
    fn below(minima: &[f64]) -> Option<Self> {
        let (&smallest, count) = (minima.first()?, minima.len() as f64);
        let unit = minima.iter().map(|x| x - smallest).sum::<f64>() / count;
        if !(unit > 0.0 && unit.is_finite()) {
            return None;
        }
        let step = (1e2 / LEAST_DISTANCE).ln() / (DISTANCES - 1) as f64;
        let relative = (0..DISTANCES).map(|at| LEAST_DISTANCE * (at as f64 * step).exp());
        let relative: Vec<f64> = relative.collect();
        let likelihoods = relative.iter().flat_map(|distance| {
            let logs = minima
                .iter()
                .map(|x| ((x - smallest) / unit + distance).ln());
            let logs: Vec<f64> = logs.collect();
            let sum: f64 = logs.iter().sum();
            // As far as 1 it is as likely at any distance, then at any multiple of a distance.
            let prior = (distance / (1.0 + distance)).ln();
            SHAPES.map(|shape| {
                let scale: f64 = logs.iter().map(|log| (shape * log).exp()).sum();
                (count + 1.0) * shape.ln() + (shape - 1.0) * sum - count * scale.ln() + prior
            })
        });
        let likelihoods: Vec<f64> = likelihoods.collect();
        let most = likelihoods
            .iter()
            .copied()
            .fold(f64::NEG_INFINITY, f64::max);
        let mut total = 0.0;
        let cumulative = likelihoods.chunks(SHAPES.len()).map(|of_distance| {
            total += of_distance.iter().map(|x| (x - most).exp()).sum::<f64>();
            total
        });
        let cumulative = cumulative.collect();
        Some(Self {
            distances: relative.iter().map(|distance| distance * unit).collect(),
            cumulative,
        })
    }

    /// The distance for a uniform random number.
    fn draw(&self, uniform: f64) -> f64 {
        let (Some(total), Some(furthest)) = (self.cumulative.last(), self.distances.last()) else {
            return 0.0;
        };
        let at = self
            .cumulative
            .partition_point(|below| *below < uniform * total);
        self.distances.get(at).copied().unwrap_or(*furthest)
    }
}

/// Of at most this number of blocks, at least one, which are as long as each other.
fn block_minima(values: &[f64], blocks: usize) -> Vec<f64> {
    let blocks = blocks.clamp(1, values.len().max(1));
    let block = |index: usize| index * values.len() / blocks..(index + 1) * values.len() / blocks;
    (0..blocks)
        .map(|index| least(&values[block(index)]))
        .collect()
}

/// Block by block, the lesser of two; those that one has alone as they are.
fn least_of_each(one: Vec<f64>, other: Vec<f64>) -> Vec<f64> {
    let (mut longer, shorter) = match one.len() < other.len() {
        true => (other, one),
        false => (one, other),
    };
    for (value, other) in longer.iter_mut().zip(shorter) {
        *value = value.min(other);
    }
    longer
}

fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}
