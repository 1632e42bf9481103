//! By how much a statistic of B is larger than that of A.

use super::crowding;
use super::drift::{self, Drift};
use super::events;
use super::levels::{Intervals, Levels};
use crate::comparison::{Bounds, ByTrial, Design, Draws, Part, Replicates, Resampling, Statistic};
use crate::functional::Functional;
use crate::interval::CONFIDENCE;
use crate::student;

/// A statistic of both sides, and its difference.
#[derive(Debug, Clone, PartialEq)]
pub struct Shift {
    /// Which statistic.
    pub statistic: Functional,
    /// Of A; `None` without values.
    pub a: Option<f64>,
    /// Of B.
    pub b: Option<f64>,
    /// 95 % interval of B − A, or why there is none.
    pub absolute: Result<Bounds, String>,
    /// 95 % interval of (B − A)/A, or why there is none.
    pub relative: Result<Bounds, String>,
    /// Of medians: how far they must be apart to be told so whatever the interval says.
    pub apart: Option<Apart>,
    /// The levels of the trials, where enough of each side tell them.
    pub levels: Option<Levels>,
}

impl Shift {
    /// B − A.
    pub fn difference(&self) -> Option<f64> {
        Some(self.b? - self.a?)
    }
}

/// How far the medians of two sides are off at most, however much their packets resemble each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Apart {
    /// At 95 %.
    reach: f64,
    /// Degrees of freedom of that.
    degrees: u32,
    /// Sides that have no steady level, where their values lie apart all the same.
    pub drifts: [Option<Drift>; 2],
}

impl Apart {
    /// The difference from which on they are told apart at this confidence.
    pub fn least(&self, confidence: f64) -> f64 {
        if self.is_by_drift() {
            return 0.0;
        }
        let by = |confidence| student::two_sided(confidence, self.degrees);
        self.reach * (by(confidence) / by(CONFIDENCE)).max(TIMES)
    }

    fn is_by_drift(&self) -> bool {
        self.drifts.iter().any(Option::is_some)
    }
}

/// A series in order of time: one trial of a side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Series<'a> {
    /// NaN for a packet without a value.
    pub values: &'a [f64],
    /// What its random numbers are drawn from, if it was simulated: those of equal seeds, of either side, have the same ones.
    pub seed: Option<u64>,
}

/// Of what was measured.
impl<'a> From<&'a [f64]> for Series<'a> {
    fn from(values: &'a [f64]) -> Self {
        Self { values, seed: None }
    }
}

/// Of a statistic from A to B, each one or more trials that repeat each other. Intervals are those of [`crate::comparison`].
pub fn shift(functional: Functional, a: &[Series<'_>], b: &[Series<'_>], seed: u64) -> Shift {
    with_draws(functional, [a, b], seed, &mut Draws::default())
}

/// The same of several functionals.
pub fn shifts(
    functionals: &[Functional],
    a: &[Series<'_>],
    b: &[Series<'_>],
    seed: u64,
) -> Vec<Shift> {
    let mut draws = Draws::default();
    let each = functionals.iter();
    each.map(|&functional| with_draws(functional, [a, b], seed, &mut draws))
        .collect()
}

fn with_draws(
    functional: Functional,
    [a, b]: [&[Series<'_>]; 2],
    seed: u64,
    draws: &mut Draws,
) -> Shift {
    let strata = a.iter().map(|_| 0).chain(b.iter().map(|_| 1)).collect();
    let seeds: Vec<Option<u64>> = a.iter().chain(b).map(|series| series.seed).collect();
    let design = Design::new(strata, &seeds);
    let sides =
        [(0, a), (a.len(), b)].map(|(first, side)| statistic(functional, first, side, &design));
    let in_each_trial = sides.each_ref().map(|side| side.in_each_trial(&design));
    let levels = Levels::new(&sides, &in_each_trial);
    let none = |reason: String| (Err(reason.clone()), Err(reason));
    let found = intervals(&sides, in_each_trial, design, seed, draws).unwrap_or_else(none);
    let found = match &found.0 {
        Ok(bounds) if bounds.repeats_differ => for_crowding(found, &sides, [a, b]),
        _ => found,
    };
    let leaves_out_zero = |bounds: &Bounds| bounds.low > 0.0 || bounds.high < 0.0;
    let tells = |interval: &Result<Bounds, String>| interval.as_ref().is_ok_and(leaves_out_zero);
    let medians = Medians::of(&sides, [a, b]);
    let apart = medians.as_ref().filter(|medians| medians.are_apart());
    let apart_by_level = levels.filter(|levels| levels.are_apart(CONFIDENCE));
    let (absolute, mut relative) = match (apart, apart_by_level) {
        _ if tells(&found.0) => found,
        (Some(medians), _) => medians.intervals(),
        (None, Some(levels)) => levels.intervals(),
        (None, None) => found,
    };
    // An A that spreads may be near to zero, and no interval of a change relative to it says anything then; that of logarithms does.
    if let Some(levels) = apart_by_level.filter(|_| !tells(&relative)) {
        relative = levels.intervals().1;
    }
    let (absolute, relative) = possible((absolute, relative), [a, b]);
    Shift {
        statistic: functional,
        a: sides[0].value,
        b: sides[1].value,
        absolute,
        relative,
        apart: medians.map(|medians| medians.apart()),
        levels,
    }
}

/// Wider where few trials make the quantile of a side: it varies by more than the mean of all trials does.
fn for_crowding(
    (absolute, relative): Intervals,
    [a, b]: &[Statistic<'_>; 2],
    sides: [&[Series<'_>]; 2],
) -> Intervals {
    let times = sides.map(|side| crowding::wider(a.statistic(), side));
    let times = times[0].max(times[1]);
    let about = |interval: Result<Bounds, String>, value: Option<f64>| match (interval, value) {
        (Ok(bounds), Some(value)) => Ok(Bounds {
            low: value - times * (value - bounds.low),
            high: value + times * (bounds.high - value),
            ..bounds
        }),
        (interval, _) => interval,
    };
    let values = a.value.zip(b.value);
    let difference = values.map(|(a, b)| b - a);
    let change = values.map(|(a, b)| b / a - 1.0);
    (about(absolute, difference), about(relative, change))
}

fn statistic<'a>(
    functional: Functional,
    first: usize,
    side: &[Series<'a>],
    design: &Design,
) -> Statistic<'a> {
    let part = |(trial, series): (usize, &Series<'a>)| Part {
        trial,
        values: series.values,
    };
    let parts = (first..).zip(side).map(part).collect();
    Statistic::of_design(functional, parts, design)
}

/// Of values that are never below 0: nothing is shorter by more than all of A.
fn possible((absolute, relative): Intervals, sides: [&[Series<'_>]; 2]) -> Intervals {
    // What is no number is neither below 0 nor the largest.
    let [a, mut b] = sides.map(|side| side.iter().flat_map(|series| series.values));
    if a.clone().any(|value| *value < 0.0) || b.any(|value| *value < 0.0) {
        return (absolute, relative);
    }
    let largest = a.copied().fold(0.0, f64::max);
    let at_least = |interval: Result<Bounds, String>, least: f64| {
        interval.map(|bounds| Bounds {
            low: bounds.low.max(least),
            ..bounds
        })
    };
    (at_least(absolute, -largest), at_least(relative, -1.0))
}

fn intervals(
    sides: &[Statistic<'_>; 2],
    in_each_trial: [Option<ByTrial>; 2],
    design: Design,
    seed: u64,
    draws: &mut Draws,
) -> Result<Intervals, String> {
    // Whole trials stand for packets where these do not tell how much they vary.
    let mut of_sides = sides.iter().zip(&in_each_trial);
    let by_trial = [(); 2].map(|()| {
        let (side, in_each_trial) = of_sides.next()?;
        side.doubt.as_ref().and(in_each_trial.clone())
    });
    for ((name, side), by_trial) in ["A", "B"].iter().zip(sides).zip(&by_trial) {
        if let (Some(doubt), None) = (&side.doubt, by_trial) {
            return Err(format!("{name}: {doubt}"));
        }
    }
    // A side that is judged by its trials does not influence the blocks of the other one.
    let of_blocks = sides.iter().zip(&by_trial);
    let of_blocks = of_blocks.filter(|(_, by_trial)| by_trial.is_none());
    let of_blocks: Vec<_> = of_blocks.map(|(side, _)| side.clone()).collect();
    let resampling = Resampling::with_draws(design.clone(), &of_blocks, seed, draws);
    let found = differences(sides, &by_trial, &resampling)?;
    if found.0.is_ok() {
        return Ok(found);
    }
    // Where blocks are too few for the difference, trials may be enough.
    match in_each_trial.iter().all(Option::is_some) {
        true => differences(sides, &in_each_trial, &resampling),
        false => Ok(found),
    }
}

/// B − A, absolute and relative to A; whole trials stand for the packets of a side where there is a statistic of each.
fn differences(
    sides: &[Statistic<'_>; 2],
    by_trial: &[Option<ByTrial>; 2],
    resampling: &Resampling,
) -> Result<Intervals, String> {
    let replicates = |index: usize| {
        let (side, salt) = (&sides[index], index as u64);
        match &by_trial[index] {
            Some(by_trial) => resampling.of_whole_trials(side, by_trial, salt),
            None => resampling.replicates(side, salt),
        }
    };
    let (Some(a), Some(b)) = (replicates(0), replicates(1)) else {
        return Err("a side has no value".to_owned());
    };
    // Of trials there are few, and their deviation is a guess that good.
    let repeats = by_trial
        .iter()
        .flatten()
        .map(|by_trial| by_trial.repeats)
        .min();
    let interval = |number: &Replicates| {
        let bounds = resampling.interval(number)?;
        Ok(repeats.map_or(bounds, |repeats| Bounds {
            degrees: bounds.degrees.min(repeats as u32),
            repeats_differ: true,
            from_packets: 0.0,
            ..bounds
        }))
    };
    let absolute = Replicates::combine(&[&a, &b], |x| x[1] - x[0]);
    let absolute = match events::only_on_one_side(sides) {
        true => absolute.by_packets(),
        false => absolute,
    };
    let relative = if a.is_positive() {
        interval(&Replicates::combine(&[&a, &b], |x| x[1] / x[0] - 1.0))
    } else {
        Err("A may be zero or less, and nothing is relative to that".to_owned())
    };
    Ok((interval(&absolute), relative))
}

/// Values that resemble each other so much that they say as much as too few still say as much as this many.
const FEW: u32 = 3;
/// The error of a median of n normal values, times √n, in interquartile ranges.
const OF_MEDIAN: f64 = 0.93;
/// Between the 5th and the 95th percentile.
const MOST: f64 = 0.9;
/// From the one to the other of a normal law, in interquartile ranges.
const TAILS: f64 = 2.44;

/// The medians lie this many times as far apart as the interval reaches: it leaves out zero for several figures at once, too.
const TIMES: f64 = 2.0;
/// Degrees of freedom where each side is one trial: the normal law allows for several figures. Of the series below, the medians
/// of at most three pairs in 10,000 are once as far apart, and of none in 100,000 twice. Trials may have levels of their own,
/// of which two a side say little.
const OF_ONE_TRIAL: u32 = 1000;

/// The medians of both sides, which are told apart where they lie [`TIMES`] as far apart as those of [`FEW`] independent values
/// vary: so where values resemble each other too much for an interval, or leave it so few degrees of freedom that it reaches zero.
/// Two series of one law are even once as far apart in less than 0.1 % of cases by simulation (AR(1) of 300 values with φ up to
/// 0.99, of 60 with φ up to 0.95), and more often where a series wanders in more time than it shows.
struct Medians {
    a: Middle,
    b: Middle,
    degrees: u32,
    /// Of sides whose values hardly overlap.
    drifts: [Option<Drift>; 2],
}

impl Medians {
    /// `None` of another statistic, and of too few values.
    fn of(sides: &[Statistic<'_>; 2], values: [&[Series<'_>]; 2]) -> Option<Self> {
        let is_median = sides[0].statistic() == Functional::Quantile(0.5);
        let is_known = |side: &Statistic<'_>| {
            !side.has_few() && (side.doubt.is_none() || side.is_correlated())
        };
        if !is_median || !sides.iter().all(is_known) {
            return None;
        }
        let [a, b] = values.map(Middle::from_series);
        let degrees = match values.iter().all(|side| side.len() == 1) {
            true => OF_ONE_TRIAL,
            false => FEW - 1,
        };
        Some(Self {
            a: a?,
            b: b?,
            degrees,
            drifts: drift::of_sides_apart(values),
        })
    }

    fn apart(&self) -> Apart {
        Apart {
            reach: self.a.reach + self.b.reach,
            degrees: self.degrees,
            drifts: self.drifts,
        }
    }

    fn are_apart(&self) -> bool {
        (self.b.median - self.a.median).abs() > self.apart().least(CONFIDENCE)
    }

    /// Of B − A, absolute and relative to A.
    fn intervals(&self) -> Intervals {
        let ends = |middle: &Middle| match self.apart().is_by_drift() {
            true => middle.most,
            false => middle.ends(),
        };
        let ([a_low, a_high], [b_low, b_high]) = (ends(&self.a), ends(&self.b));
        let bounds = |low: f64, high: f64| Bounds {
            low,
            high,
            repeats_differ: false,
            degrees: self.degrees,
            from_packets: 1.0,
            packets: self.apart().is_by_drift().then_some(MOST),
        };
        let relative = match a_low > 0.0 {
            true => Ok(bounds(b_low / a_high - 1.0, b_high / a_low - 1.0)),
            false => Err("A may be zero or less, and nothing is relative to that".to_owned()),
        };
        (Ok(bounds(b_low - a_high, b_high - a_low)), relative)
    }
}

/// A median, and how far that of what the values are drawn from may be from it.
struct Middle {
    median: f64,
    reach: f64,
    smallest: f64,
    /// Between which ends most values are.
    most: [f64; 2],
}

impl Middle {
    fn from_series(side: &[Series<'_>]) -> Option<Self> {
        let values = side.iter().flat_map(|series| series.values).copied();
        let mut values: Vec<f64> = values.filter(|value| !value.is_nan()).collect();
        let mut at = |q: f64| Functional::Quantile(q).value(&mut values);
        let (median, smallest) = (at(0.5)?, at(0.0)?);
        let quartiles = at(0.75)? - at(0.25)?;
        let most = [at(0.05)?, at(0.95)?];
        // Of values of which half are equal, quartiles do not say how far they spread.
        let spread = match quartiles > 0.0 {
            true => quartiles,
            false => (most[1] - most[0]) / TAILS,
        };
        let factor = student::two_sided(CONFIDENCE, FEW - 1) * OF_MEDIAN / f64::from(FEW).sqrt();
        Some(Self {
            median,
            reach: factor * spread,
            smallest,
            most,
        })
    }

    /// The least and the largest that it may be: no median is less than all.
    fn ends(&self) -> [f64; 2] {
        [
            (self.median - self.reach).max(self.smallest),
            self.median + self.reach,
        ]
    }
}
