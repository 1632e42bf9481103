//! One pair of a comparison in JSON.

use crate::json::{Interval, Levels, Measured, Reasons, levels, reasons};
use delaylab_explain::compare::looks::is_clear;
use delaylab_explain::compare::statistic_name;
use delaylab_explain::compare::{self, Carried, Figures, PairFigures};
use delaylab_stats::comparison::Bounds;
use delaylab_stats::summary::Counts;
use delaylab_stats::two_samples::{Distance, Shift};
use schemars::JsonSchema;
use serde::Serialize;

/// One probe under one combination of levels.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Pair<'a> {
    /// The levels of the factors that both runs have.
    pub factors: Levels<'a>,
    /// The probe's name in A.
    pub probe_a: &'a str,
    /// The probe's name in B.
    pub probe_b: &'a str,
    /// `differs`, `no_difference`, `cannot_tell` (undecided).
    pub outcome: &'static str,
    /// In sentences.
    pub verdict: &'a str,
    /// How packets ended in A.
    pub packets_a: Packets,
    /// How packets ended in B.
    pub packets_b: Packets,
    /// The share of packets that were never answered.
    pub loss: Moved,
    /// What both have.
    pub quantities: Vec<Compares>,
    /// What one of them lacks.
    pub missing: Vec<Missing<'a>>,
    /// Of the headline; null where one of them has no values of it.
    pub tests: Option<Tests>,
    /// The stages that shifts of the response are made of, at the mean and at each quantile.
    pub anatomy: Vec<Anatomy>,
    /// Shifts of the headline at many quantiles.
    pub quantile_shifts: Vec<AtQuantile>,
}

/// How packets of one side ended.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Packets {
    /// Trials that repeat each other.
    pub trials: usize,
    /// Packets sent.
    pub sent: u64,
    /// Answered in time.
    pub received: u64,
    /// Never answered.
    pub lost: u64,
    /// Answered too late.
    pub late: u64,
    /// Answered with other bytes.
    pub corrupt: u64,
    /// The send call failed: not among those sent.
    pub local_error: u64,
    /// One of this many stands for all of them in shifts and tests.
    pub one_of: usize,
}

/// A statistic in both runs, and how far it moved.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Moved {
    /// `mean`, `p5`, `p50`, `p90`, `p99`, `p99.9`; `share` of the lost.
    pub statistic: String,
    /// In A; null without values.
    pub a: Option<f64>,
    /// In B.
    pub b: Option<f64>,
    /// B − A.
    pub difference: Option<f64>,
    /// Of B − A.
    pub interval: Measured<Interval>,
    /// Of (B − A)/A.
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

/// A quantity in both runs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Compares {
    /// A measure, or stages joined by `+`.
    pub quantity: String,
    /// Of its values: `ns`, `B`, `1`.
    pub unit: String,
    /// Values in A.
    pub values_a: u64,
    /// Values in B.
    pub values_b: u64,
    /// Mean and quantiles.
    pub shifts: Vec<Moved>,
}

/// Tests of the headline.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Tests {
    /// Packets of A that they went through.
    pub values_a: u64,
    /// Packets of B.
    pub values_b: u64,
    /// Mann and Whitney: the share of pairs of packets in which B's value is the larger.
    pub share_larger: f64,
    /// Its p value by permutation of blocks; null where there are too few.
    pub mann_whitney_p: Option<f64>,
    /// Kolmogorov and Smirnov's D.
    pub kolmogorov_smirnov: Apart,
    /// Wasserstein's distance, in the unit of the headline.
    pub wasserstein: Apart,
}

/// How far apart two distributions are.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Apart {
    /// The distance.
    pub value: f64,
    /// What chance stays below in 95 % of cases.
    pub by_chance: Option<f64>,
    /// p value by permutation of blocks.
    pub p: Measured<f64>,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

/// What one of the runs lacks.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Missing<'a> {
    /// A measure.
    pub quantity: String,
    /// Why.
    pub reason: &'a str,
}

/// Where the responses around a quantile are spent in both runs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Anatomy {
    /// `mean`, `p50`, `p90`, `p99`, `p99.9`.
    pub at: &'static str,
    /// Mean response of the records around it in A, nanoseconds.
    pub response_a: f64,
    /// In B.
    pub response_b: f64,
    /// The stages; they add up to the responses.
    pub stages: Vec<Stage>,
}

/// A stage, or several that one of the runs does not separate.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Stage {
    /// Stages joined by `+`.
    pub stage: String,
    /// Mean in A, nanoseconds.
    pub a: f64,
    /// Mean in B.
    pub b: f64,
}

/// How far a quantile moved.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AtQuantile {
    /// 0 to 1.
    pub quantile: f64,
    /// In A.
    pub a: Option<f64>,
    /// In B.
    pub b: Option<f64>,
    /// Of B − A.
    pub interval: Measured<Interval>,
    /// Repeats differ by more than their packets allow for: the interval is made of trials.
    pub repeats_differ: bool,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

impl<'a> Pair<'a> {
    pub(in crate::compare) fn new(found: &'a PairFigures, looks: usize) -> Self {
        let [probe_a, probe_b] = &found.pair.probes;
        let missing = found.missing.iter().map(|(quantity, reason)| Missing {
            quantity: quantity.key(),
            reason,
        });
        let curve = found.curve.iter().map(|point| {
            let interval = interval(&point.shift.absolute);
            AtQuantile {
                quantile: point.quantile,
                a: point.shift.a,
                b: point.shift.b,
                repeats_differ: repeats_differ(&point.shift.absolute),
                reasons: reasons([("interval", interval.missing())]),
                interval,
            }
        });
        let packets = [0, 1].map(|side| {
            let trials = found.pair.streams[side].len();
            Packets::new(&found.counts[side], trials, found.thinned[side])
        });
        Self {
            factors: levels(&found.pair.factors),
            probe_a,
            probe_b,
            outcome: found.verdict.kind.name(),
            verdict: &found.verdict.text,
            packets_a: packets[0],
            packets_b: packets[1],
            loss: Moved {
                statistic: "share".to_owned(),
                differs: found.loss_differs(looks),
                ..Moved::new(&found.loss, looks)
            },
            quantities: found
                .figures
                .iter()
                .map(|f| Compares::new(f, looks))
                .collect(),
            missing: missing.collect(),
            tests: found.tests.as_ref().map(Tests::new),
            anatomy: found.carried.iter().map(Anatomy::new).collect(),
            quantile_shifts: curve.collect(),
        }
    }
}

impl Packets {
    const fn new(counts: &Counts, trials: usize, one_of: usize) -> Self {
        Self {
            trials,
            sent: counts.sent,
            received: counts.received,
            lost: counts.lost,
            late: counts.late,
            corrupt: counts.corrupt,
            local_error: counts.local_error,
            one_of,
        }
    }
}

impl Moved {
    fn new(shift: &Shift, looks: usize) -> Self {
        let (interval, relative) = (interval(&shift.absolute), interval(&shift.relative));
        Self {
            statistic: statistic_name(shift.statistic),
            a: shift.a,
            b: shift.b,
            difference: shift.difference(),
            repeats_differ: repeats_differ(&shift.absolute),
            differs: is_clear(shift, looks),
            reasons: reasons([
                ("interval", interval.missing()),
                ("relative_interval", relative.missing()),
            ]),
            interval,
            relative_interval: relative,
        }
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

impl Compares {
    fn new(figures: &Figures, looks: usize) -> Self {
        Self {
            quantity: figures.quantity.key(),
            unit: figures.quantity.dimension().to_string(),
            values_a: figures.counts.0,
            values_b: figures.counts.1,
            shifts: figures
                .shifts
                .iter()
                .map(|shift| Moved::new(shift, looks))
                .collect(),
        }
    }
}

impl Tests {
    fn new(tests: &compare::Tests) -> Self {
        Self {
            values_a: tests.counts.0,
            values_b: tests.counts.1,
            share_larger: tests.mann_whitney.share_less,
            mann_whitney_p: tests.mann_whitney.p.as_ref().ok().copied(),
            kolmogorov_smirnov: Apart::new(&tests.kolmogorov_smirnov),
            wasserstein: Apart::new(&tests.wasserstein),
        }
    }
}

impl Apart {
    fn new(distance: &Distance) -> Self {
        let p: Measured<f64> = distance.p.clone().into();
        Self {
            value: distance.value,
            by_chance: distance.by_chance,
            reasons: reasons([("p", p.missing())]),
            p,
        }
    }
}

impl Anatomy {
    fn new(carried: &Carried) -> Self {
        let [response_a, response_b] = carried.response_ns;
        let stages = carried.stages.iter().map(|[a, b]| Stage {
            stage: a.stages.key(),
            a: a.ns,
            b: b.ns,
        });
        Self {
            at: carried.at,
            response_a,
            response_b,
            stages: stages.collect(),
        }
    }
}
