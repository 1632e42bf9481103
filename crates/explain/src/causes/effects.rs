//! What each factor that was varied does to the response.
//!
//! The effect of a level beside another is the mean, over all combinations of the other factors that have
//! both, of the difference of a quantile of the response. Its interval is that of
//! [`delaylab_stats::comparison`], which knows what correlated packets and repeats are worth.

use super::gather::GatheredStream;
use delaylab_model::distinct::{Distinct, originals};
use delaylab_model::plan::{Factor, Level, level_of, levels_in_words, levels_of};
use delaylab_model::words::each_once;
use delaylab_stats::comparison::{Bounds, Design, Part, Replicates, Resampling, Statistic};
use delaylab_stats::functional::Functional;
use delaylab_stats::quantile::carries;
use std::collections::BTreeMap;

/// Packets of a stream that are looked at: the first ones.
const MOST_PACKETS: usize = 20_000;
/// Factors of more levels are shown by their first and last alone.
const MOST_LEVELS: usize = 4;
/// Quantiles of the response that are compared.
pub const EFFECT_QUANTILES: [f64; 2] = [0.5, 0.99];

/// What one level of a factor does in comparison with another.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// The factor.
    pub factor: String,
    /// The level that the other is compared with.
    pub from: Level,
    /// The other.
    pub to: Level,
    /// Of each of [`EFFECT_QUANTILES`].
    pub shifts: Vec<Shift>,
}

/// By how much a quantile of the response is longer, on average over the other factors.
#[derive(Debug, Clone, PartialEq)]
pub struct Shift {
    /// Which quantile, 0 to 1.
    pub quantile: f64,
    /// The difference, ns; `None` without packets.
    pub difference_ns: Option<f64>,
    /// Its 95 % interval, or why there is none.
    pub interval: Result<Bounds, NoInterval>,
}

/// Why there is no interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoInterval {
    /// And what would give one.
    pub reason: String,
    /// In a few words: `12 packets`.
    pub in_short: String,
}

impl NoInterval {
    fn new(reason: &str, in_short: &str) -> Self {
        Self {
            reason: reason.to_owned(),
            in_short: in_short.to_owned(),
        }
    }

    /// Of a side that says too little; `None` where it says enough.
    fn of_side(side: &Statistic<'_>, quantile: f64) -> Option<Self> {
        let reason = side.doubt.clone()?;
        let in_short = match () {
            () if side.count == 0 => "no packets".to_owned(),
            () if side.has_few() => format!("{} packets", side.count),
            () if side.is_correlated() => "each delay resembles the one before".to_owned(),
            () => format!("too few packets beyond p{}", 100.0 * quantile),
        };
        Some(Self { reason, in_short })
    }
}

impl Shift {
    /// Does the interval say that there is an effect?
    pub fn is_sure(&self) -> bool {
        let sure = |bounds: &Bounds| bounds.low > 0.0 || bounds.high < 0.0;
        self.interval.as_ref().is_ok_and(sure)
    }
}

impl Effect {
    /// `wait 0ms → 100ms`.
    pub fn label(&self) -> String {
        format!("{} {} → {}", self.factor, self.from, self.to)
    }

    /// Is there anything to compare?
    fn is_known(&self) -> bool {
        let mut shifts = self.shifts.iter();
        shifts.any(|shift| shift.difference_ns.is_some())
    }
}

/// Of every factor that has several levels and of which something is known; `order` is how they follow each other.
pub(super) fn find(streams: &[&GatheredStream<'_>], order: &[(String, Vec<Level>)]) -> Vec<Effect> {
    let all: Vec<Vec<Factor>> = streams.iter().map(|stream| factors(stream)).collect();
    let names = each_once(all.iter().flatten().map(|(name, _)| name.as_str()));
    let effects = names.into_iter().flat_map(|name| {
        let levels = levels_of(name, &all, order);
        pairs(&levels)
            .into_iter()
            .map(|(from, to)| effect(name, from, to, streams, &all))
            .collect::<Vec<_>>()
    });
    effects.filter(Effect::is_known).collect()
}

/// Its factors, and which probe it is as one more.
fn factors(stream: &GatheredStream<'_>) -> Vec<Factor> {
    let probe = ("probe".to_owned(), Level::named(&stream.row.probe_name));
    stream.row.factors.iter().cloned().chain([probe]).collect()
}

fn pairs(levels: &[Level]) -> Vec<(Level, Level)> {
    let Some((first, others)) = levels.split_first() else {
        return Vec::new();
    };
    let others = match others {
        [.., last] if levels.len() > MOST_LEVELS => std::slice::from_ref(last),
        _ => others,
    };
    others
        .iter()
        .map(|other| (first.clone(), other.clone()))
        .collect()
}

/// Indices of the streams of each combination of the other factors, at both levels.
type Combinations = BTreeMap<String, [Vec<usize>; 2]>;

fn effect(
    name: &str,
    from: Level,
    to: Level,
    streams: &[&GatheredStream<'_>],
    all: &[Vec<Factor>],
) -> Effect {
    let mut combinations = Combinations::new();
    for (at, factors) in all.iter().enumerate() {
        let side = match level_of(factors, name) {
            Some(level) if *level == from => 0,
            Some(level) if *level == to => 1,
            _ => continue,
        };
        let others = factors.iter().filter(|(known, _)| known != name);
        let others = levels_in_words(others, None);
        combinations.entry(others).or_default()[side].push(at);
    }
    // Of a combination that was never answered there is nothing to compare.
    let answered = |at: &usize| streams[*at].response.iter().any(|ns| ns.is_finite());
    combinations.retain(|_, sides| sides.iter().all(|side| side.iter().any(answered)));
    let shift = |&quantile: &f64| shift(quantile, &combinations, streams);
    Effect {
        factor: name.to_owned(),
        shifts: EFFECT_QUANTILES.iter().map(shift).collect(),
        from,
        to,
    }
}

fn shift(quantile: f64, combinations: &Combinations, streams: &[&GatheredStream<'_>]) -> Shift {
    let mut trials: Vec<u32> = Vec::new();
    let mut strata: Vec<usize> = Vec::new();
    // Simulations of one seed have the same random numbers.
    let mut seeds: Vec<Option<u64>> = Vec::new();
    let mut sides: Vec<Statistic<'_>> = Vec::new();
    let all = streams.iter().map(|stream| stream.row);
    let originals = originals(all.map(|row| (row.trial, row.facts.trace_hash)));
    for (stratum, side) in combinations.values().flatten().enumerate() {
        let mut distinct = Distinct::new();
        let counts = side.iter().filter(|&&at| {
            let row = streams[at].row;
            distinct.is_first(row.facts.trace_hash, &row.probe_name)
        });
        let parts = counts.map(|&at| {
            let stream = &streams[at];
            let number = originals[&stream.row.trial];
            let known = trials.iter().position(|&trial| trial == number);
            let trial = known.unwrap_or_else(|| {
                trials.push(number);
                strata.push(stratum);
                seeds.push(stream.row.facts.trace_hash.map(|_| stream.row.seed));
                trials.len() - 1
            });
            let packets = stream.response.len().min(MOST_PACKETS);
            Part {
                trial,
                values: &stream.response[..packets],
            }
        });
        sides.push(Statistic::new(
            Functional::Quantile(quantile),
            parts.collect(),
        ));
    }
    // Of fewer packets it would be the largest delay under another name.
    let value = |side: &Statistic<'_>| side.value.filter(|_| carries(side.count, quantile));
    let differences = sides
        .chunks(2)
        .map(|pair| Some(value(&pair[1])? - value(&pair[0])?));
    let differences: Option<Vec<f64>> = differences.collect();
    let mean = |differences: &[f64]| differences.iter().sum::<f64>() / differences.len() as f64;
    Shift {
        quantile,
        difference_ns: differences
            .filter(|each| !each.is_empty())
            .as_deref()
            .map(mean),
        interval: interval(Design::new(strata, &seeds), &sides, quantile),
    }
}

fn interval(design: Design, sides: &[Statistic<'_>], quantile: f64) -> Result<Bounds, NoInterval> {
    if sides.is_empty() {
        return Err(NoInterval::new(
            "no two trials differ in this alone",
            "no two trials differ in this alone",
        ));
    }
    let mut refused = sides.iter();
    if let Some(refused) = refused.find_map(|side| NoInterval::of_side(side, quantile)) {
        return Err(refused);
    }
    let resampling = Resampling::new(design, sides, 1);
    let each = sides.iter().zip(0..);
    let each = each.map(|(side, salt)| resampling.replicates(side, salt));
    let Some(each) = each.collect::<Option<Vec<Replicates>>>() else {
        return Err(NoInterval::new("a side has no value", "no packets"));
    };
    let mean = |x: &[f64]| {
        let differences = x.chunks(2).map(|pair| pair[1] - pair[0]);
        differences.sum::<f64>() / (x.len() / 2) as f64
    };
    let each: Vec<&Replicates> = each.iter().collect();
    let found = resampling.interval(&Replicates::combine(&each, mean));
    found.map_err(|reason| NoInterval::new(&reason, "too few independent packets"))
}
