//! One pair of a comparison in JSON.

use crate::json::{
    Amount, ByFigure, Figures, Interval, Levels, Measured, Reasons, StageTime, figure, levels,
    stage_times, with_reasons,
};
use delaylab_explain::compare::looks::is_clear;
use delaylab_explain::compare::statistic_name;
use delaylab_explain::compare::{self, Carried, PairFigures, Quantity};
use delaylab_lab::finding::Measure;
use delaylab_lab::finding::dimension::Dimension;
use delaylab_stats::anatomy::Part;
use delaylab_stats::comparison::Bounds;
use delaylab_stats::functional::Functional;
use delaylab_stats::summary::Counts;
use delaylab_stats::two_samples::{Distance, Shift};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// One probe under one combination of levels.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Pair<'a> {
    /// The levels of the factors that both runs have.
    pub factors: Levels<'a>,
    /// `differs`, `no_difference` or `undecided`.
    pub verdict: &'static str,
    /// The same in words.
    pub sentence: &'a str,
    /// What A has.
    pub a: Side<'a>,
    /// What B has.
    pub b: Side<'a>,
    /// How far figures moved from A to B, under their names in `a` and `b`.
    pub shift: Shifts,
    /// What one of them lacks.
    pub missing: Vec<Missing<'a>>,
    /// Tests of the headline; left out where one of them has no values of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests: Option<Tests>,
    /// The stages that shifts of the response are made of, at the mean and at each quantile.
    pub anatomy: Vec<Anatomy>,
    /// Shifts of the headline at many quantiles.
    pub quantile_shifts: Vec<AtQuantile>,
}

/// The packets of one side.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Packets")]
pub struct Side<'a> {
    /// The probe's name.
    pub probe: &'a str,
    /// Trials that repeat each other.
    pub trials: usize,
    /// How packets ended.
    #[serde(flatten)]
    pub counts: Counts,
    /// The share of packets that were never answered, 0 to 1; null without packets.
    pub loss: Measured<f64>,
    /// One of this many packets stands for all of them in shifts and tests.
    pub one_of: usize,
    /// Mean and quantiles of each measure, or of stages joined by `+`, that both have.
    #[serde(flatten)]
    pub measures: BTreeMap<String, Figures>,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

/// How far figures moved.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Shifts {
    /// The share of packets that were never answered.
    pub loss: Moved,
    /// Mean and quantiles of each measure, or of stages joined by `+`, that both have.
    #[serde(flatten)]
    pub measures: ByFigure<Moved>,
}

/// How far a figure moved, in the unit of its name.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Moved {
    /// B − A.
    pub difference: Measured<f64>,
    /// The interval of `difference`.
    pub interval: Measured<Interval>,
    /// (B − A)/A.
    pub relative: Measured<f64>,
    /// The interval of `relative`.
    pub relative_interval: Measured<Interval>,
    /// Repeats differ by more than their packets allow for: the interval is made of trials.
    pub repeats_differ: bool,
    /// Does the interval leave out zero, allowing for all figures that are looked at? Loss differs, too, where one run is not
    /// answered any more.
    pub differs: bool,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

/// Tests of the headline.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Tests {
    /// What they compare of A.
    pub a: Tested,
    /// What they compare of B.
    pub b: Tested,
    /// Mann and Whitney: the share of pairs of packets in which B's value is the larger.
    pub share_larger: f64,
    /// Its p value by permutation of blocks.
    pub mann_whitney_p: Measured<f64>,
    /// Kolmogorov and Smirnov's D.
    pub kolmogorov_smirnov: Apart,
    /// Wasserstein's distance.
    pub wasserstein: Apart,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

/// What tests compare of one side.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Tested {
    /// How many packets.
    pub count: u64,
}

/// How far apart two distributions are.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Apart {
    /// The distance.
    pub value: f64,
    /// Unit of the distance: `ns`, `B`, or `1` of a plain number.
    pub unit: String,
    /// What chance stays below in 95 % of cases; null where there are too few packets.
    pub by_chance: Measured<f64>,
    /// p value by permutation of blocks.
    pub p: Measured<f64>,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

/// What one of the runs lacks.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Missing<'a> {
    /// The measure, or stages joined by `+`.
    pub measure: String,
    /// Why.
    pub reason: &'a str,
}

/// Where the responses around a quantile are spent in both runs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Anatomy {
    /// `mean`, `p50`, `p90`, `p99`, `p99.9`.
    pub quantile: &'static str,
    /// In A.
    pub a: SideAnatomy,
    /// In B. It has the stages of `a`: what one of the runs does not separate is joined in both.
    pub b: SideAnatomy,
}

/// Where the responses around a quantile are spent.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SideAnatomy {
    /// Their mean.
    pub response_ns: f64,
    /// The stages; they add up to it.
    pub stages: Vec<StageTime>,
}

/// How far a quantile moved.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AtQuantile {
    /// Which quantile: the share of the values that are not larger, 0 to 1.
    pub share: f64,
    /// Unit of `a` and `b`: `ns`, `B`, or `1` of a plain number.
    pub unit: String,
    /// In A.
    pub a: Measured<f64>,
    /// In B.
    pub b: Measured<f64>,
    /// The interval of B − A.
    pub interval: Measured<Interval>,
    /// Repeats differ by more than their packets allow for: the interval is made of trials.
    pub repeats_differ: bool,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

impl<'a> Pair<'a> {
    pub(in crate::compare) fn new(found: &'a PairFigures, headline: Measure, looks: usize) -> Self {
        let missing = found.missing.iter().map(|(quantity, reason)| Missing {
            measure: quantity.key(),
            reason,
        });
        let unit = Quantity::Measure(headline).dimension();
        let curve = found.curve.iter();
        let curve = curve.map(|point| AtQuantile::new(point.quantile, &point.shift, unit));
        let tests = found.tests.as_ref();
        Self {
            factors: levels(&found.pair.factors),
            verdict: found.verdict.kind.key(),
            sentence: &found.verdict.text,
            a: Side::new(found, 0),
            b: Side::new(found, 1),
            shift: Shifts::new(found, looks),
            missing: missing.collect(),
            tests: tests.map(|tests| Tests::new(tests, unit)),
            anatomy: found.carried.iter().map(Anatomy::new).collect(),
            quantile_shifts: curve.collect(),
        }
    }
}

/// What both have. Of what was lost `loss` says as much as that measure.
fn measures(found: &PairFigures) -> impl Iterator<Item = &compare::Figures> {
    let lost = Quantity::Measure(Measure::Lost);
    let all = found.figures.iter();
    all.filter(move |measure| measure.quantity != lost)
}

/// The figure of this statistic, under its name in documents.
pub(super) fn figure_of(statistic: Functional, unit: Dimension) -> String {
    figure(&statistic_name(statistic), unit)
}

impl<'a> Side<'a> {
    fn new(found: &'a PairFigures, side: usize) -> Self {
        let of = |shift: &Shift| [shift.a, shift.b][side];
        let measures = measures(found).map(|measure| {
            let unit = measure.quantity.dimension();
            let count = [measure.counts.0, measure.counts.1][side] as f64;
            let count = ("count".to_owned(), Some(count.into()));
            let figures = measure.shifts.iter().map(|shift| {
                let value = of(shift).map(|value| amount(value, shift.statistic, unit));
                (figure_of(shift.statistic, unit), value)
            });
            let figures = [count].into_iter().chain(figures);
            (measure.quantity.key(), figures.collect())
        });
        with_reasons!(Self {
            probe: &found.pair.probes[side],
            trials: found.pair.streams[side].len(),
            counts: found.counts[side],
            loss: Measured::or(of(&found.loss), || "no packet was sent".to_owned()),
            one_of: found.thinned[side],
            measures: measures.collect(),
        })
    }
}

/// A mean may have a fraction of a nanosecond.
fn amount(value: f64, statistic: Functional, unit: Dimension) -> Amount {
    match unit == Dimension::TIME && statistic != Functional::Mean {
        true => value.round().into(),
        false => value.into(),
    }
}

impl Shifts {
    fn new(found: &PairFigures, looks: usize) -> Self {
        let measures = measures(found).map(|measure| {
            let unit = measure.quantity.dimension();
            let moved = measure.shifts.iter().map(|shift| {
                let differs = is_clear(shift, looks);
                (figure_of(shift.statistic, unit), Moved::new(shift, differs))
            });
            (measure.quantity.key(), moved.collect())
        });
        Self {
            loss: Moved::new(&found.loss, found.loss_differs(looks)),
            measures: measures.collect(),
        }
    }
}

impl Moved {
    fn new(shift: &Shift, differs: bool) -> Self {
        let known = shift.difference();
        let difference = Measured::or(known, || "one of the runs has no values".to_owned());
        let relative = known.zip(shift.a.filter(|a| *a != 0.0));
        let relative = relative.map(|(difference, a)| difference / a);
        with_reasons!(Self {
            relative: Measured::or(relative, || {
                let why = difference.missing().map(str::to_owned);
                why.unwrap_or_else(|| "nothing is a share of A's 0".to_owned())
            }),
            difference,
            interval: interval(&shift.absolute),
            relative_interval: interval(&shift.relative),
            repeats_differ: repeats_differ(&shift.absolute),
            differs,
        })
    }
}

fn interval(bounds: &Result<Bounds, String>) -> Measured<Interval> {
    let ends = bounds
        .as_ref()
        .map(|ends| Interval::new(ends.low, ends.high).of_packets(ends.packets));
    ends.map_err(Clone::clone).into()
}

fn repeats_differ(bounds: &Result<Bounds, String>) -> bool {
    bounds.as_ref().is_ok_and(|bounds| bounds.repeats_differ)
}

impl Tests {
    fn new(tests: &compare::Tests, unit: Dimension) -> Self {
        let tested = |count| Tested { count };
        with_reasons!(Self {
            a: tested(tests.counts.0),
            b: tested(tests.counts.1),
            share_larger: tests.mann_whitney.share_less,
            mann_whitney_p: tests.mann_whitney.p.clone().into(),
            kolmogorov_smirnov: Apart::new(&tests.kolmogorov_smirnov, Dimension::NUMBER),
            wasserstein: Apart::new(&tests.wasserstein, unit),
        })
    }
}

impl Apart {
    fn new(distance: &Distance, unit: Dimension) -> Self {
        with_reasons!(Self {
            value: distance.value,
            unit: unit.to_string(),
            by_chance: Measured::or(distance.by_chance, || {
                "there are too few packets".to_owned()
            }),
            p: distance.p.clone().into(),
        })
    }
}

impl Anatomy {
    fn new(carried: &Carried) -> Self {
        let side = |side: usize| {
            let response_ns = carried.response_ns[side];
            let stages: Vec<Part> = carried.stages.iter().map(|both| both[side]).collect();
            SideAnatomy {
                response_ns,
                stages: stage_times(&stages, response_ns),
            }
        };
        Self {
            quantile: carried.at,
            a: side(0),
            b: side(1),
        }
    }
}

impl AtQuantile {
    fn new(share: f64, shift: &Shift, unit: Dimension) -> Self {
        let of = |value| Measured::or(value, || "it has no values".to_owned());
        with_reasons!(Self {
            share,
            unit: unit.to_string(),
            a: of(shift.a),
            b: of(shift.b),
            interval: interval(&shift.absolute),
            repeats_differ: repeats_differ(&shift.absolute),
        })
    }
}
