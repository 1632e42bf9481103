//! Several pairs as one: every pair weighs the same, however many packets it has.
//!
//! Absolute shifts are averaged as they are, relative ones as ratios (their geometric mean). Intervals of
//! the mean come from those of the pairs (Zou and Donner 2008, "MOVER"): ends of independent pairs add up
//! as squares; probes that ran beside each other may be late together, so theirs add up as they are.

use super::figures::PairFigures;
use super::verdict::{Kind, statistic_name};
use super::words::signed_percent;
use delaylab_lab::finding::Measure;
use delaylab_model::plan::Factor;
use delaylab_stats::functional::Functional;
use delaylab_stats::two_samples::Shift;

/// All pairs together.
#[derive(Debug, Clone, PartialEq)]
pub struct Whole {
    /// How many pairs.
    pub pairs: usize,
    /// How many of them differ.
    pub differ: usize,
    /// Of how many that cannot be told.
    pub unknown: usize,
    /// Mean, p50, p90, p99 and p99.9 of the headline.
    pub shifts: Vec<MeanShift>,
    /// In a sentence.
    pub text: String,
}

/// The shift of a statistic over pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanShift {
    /// Which statistic.
    pub statistic: Functional,
    /// Mean of B − A, over the pairs that have an interval of it; `None` without any.
    pub absolute: Option<Estimate>,
    /// Geometric mean of B/A, less 1.
    pub relative: Option<Estimate>,
}

/// A value and its interval at 95 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Over so many pairs.
    pub pairs: usize,
}

impl Whole {
    pub(super) fn of(pairs: &[PairFigures], headline: Measure) -> Self {
        let first = pairs.iter().find_map(|pair| pair.of(headline));
        let statistics = first.map_or_else(Vec::new, |figures| {
            let shifts = figures.shifts.iter();
            shifts.map(|shift| shift.statistic).collect()
        });
        let shifts = statistics.into_iter();
        let shifts = shifts.map(|f| mean_shift(f, pairs, headline)).collect();
        let count = |kind| {
            pairs
                .iter()
                .filter(|pair| pair.verdict.kind == kind)
                .count()
        };
        let mut whole = Self {
            pairs: pairs.len(),
            differ: count(Kind::Differs),
            unknown: count(Kind::CannotTell),
            shifts,
            text: String::new(),
        };
        whole.text = whole.sentence(headline);
        whole
    }

    fn sentence(&self, headline: Measure) -> String {
        let Self {
            pairs,
            differ,
            unknown,
            ..
        } = self;
        let unknown = match unknown {
            0 => String::new(),
            some => format!(", {some} cannot be told"),
        };
        let shown = [0.99, 0.5].map(Functional::Quantile);
        let shown = shown.iter().filter_map(|statistic| {
            let shift = self.shifts.iter().find(|s| s.statistic == *statistic)?;
            let relative = shift.relative?;
            let of = match relative.pairs {
                all if all == *pairs => String::new(),
                some => format!(" (of the {some} pairs that have an interval)"),
            };
            Some(format!(
                "{} {} at 95 % between {} and {}{of}",
                statistic_name(*statistic),
                signed_percent(relative.value),
                signed_percent(relative.low),
                signed_percent(relative.high),
            ))
        });
        let shown: Vec<_> = shown.collect();
        let name = headline.name().replace('_', " ");
        let average = match shown.is_empty() {
            true => String::new(),
            false => format!(
                " On average over pairs, {name} moves by: {}.",
                shown.join("; ")
            ),
        };
        format!("{differ} of {pairs} pairs differ{unknown}.{average}")
    }
}

/// What a pair says of a statistic: value, and how far the ends of its interval are.
struct Told<'a> {
    factors: &'a [Factor],
    value: f64,
    down: f64,
    up: f64,
}

fn mean_shift(statistic: Functional, pairs: &[PairFigures], headline: Measure) -> MeanShift {
    let each = |told: &dyn Fn(&Shift) -> Option<[f64; 3]>| {
        let told = pairs.iter().filter_map(|pair| {
            let shifts = &pair.of(headline)?.shifts;
            let shift = shifts.iter().find(|shift| shift.statistic == statistic)?;
            let [value, low, high] = told(shift)?;
            let is_finite = [value, low, high].iter().all(|end| end.is_finite());
            is_finite.then_some(Told {
                factors: &pair.pair.factors,
                value,
                down: value - low,
                up: high - value,
            })
        });
        mean(&told.collect::<Vec<_>>())
    };
    let absolute = each(&|shift| {
        let bounds = shift.absolute.as_ref().ok()?;
        Some([shift.difference()?, bounds.low, bounds.high])
    });
    let relative = each(&|shift| {
        let bounds = shift.relative.as_ref().ok()?;
        let [value, low, high] = [shift.difference()? / shift.a?, bounds.low, bounds.high];
        Some([value, low, high].map(f64::ln_1p))
    });
    let relative = relative.map(|logarithm| Estimate {
        value: logarithm.value.exp_m1(),
        low: logarithm.low.exp_m1(),
        high: logarithm.high.exp_m1(),
        ..logarithm
    });
    MeanShift {
        statistic,
        absolute,
        relative,
    }
}

/// `None` without any.
fn mean(told: &[Told<'_>]) -> Option<Estimate> {
    let count = told.len() as f64;
    let value = told.iter().map(|told| told.value).sum::<f64>() / count;
    let reach = |end: fn(&Told<'_>) -> f64| {
        let beside = told.chunk_by(|a, b| a.factors == b.factors);
        let squares = beside.map(|probes| probes.iter().map(end).sum::<f64>().powi(2));
        squares.sum::<f64>().sqrt() / count
    };
    (!told.is_empty()).then(|| Estimate {
        value,
        low: value - reach(|told| told.down),
        high: value + reach(|told| told.up),
        pairs: told.len(),
    })
}
