//! The documents of `delaylab calibrate` and `delaylab predict`. Times are whole nanoseconds; what is not known is null.

use super::{Calibrated, Prediction};
use crate::json::{Interval, Levels, Published, levels};
use delaylab_explain::calibrate;
use delaylab_explain::calibrate::buffer::{self, Counts};
use delaylab_explain::calibrate::limiter;
use delaylab_explain::calibrate::line;
use delaylab_explain::calibrate::overlay::{self, Group, Measure, QUANTILES};
use delaylab_explain::calibrate::passage::Ways;
use delaylab_explain::calibrate::prediction::Predicted;
use delaylab_explain::calibrate::unknown::Unknown;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// What `delaylab calibrate --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Calibration<'a> {
    /// The measured run.
    pub run: &'a str,
    /// The model's run; null: nothing could be made a model of.
    pub model: Option<&'a str>,
    /// What was found.
    pub found: Found<'a>,
    /// Measured and simulated.
    pub overlay: Vec<Row<'a, Option<Distance>, ModelLost>>,
}

/// What was asked for.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Config<'a> {
    /// The run as named by the user.
    pub run: &'a str,
    /// Does the command fail where the model assumes something that the run does not identify?
    pub strict: bool,
}

impl<'a> Published for Calibration<'a> {
    type Config = Config<'a>;
    const SCHEMA: &'static str = "delaylab/calibration/2";
    const TITLE: &'static str = "delaylab calibrate";
}

/// What `delaylab predict --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Predictions<'a> {
    /// The measured run.
    pub run: &'a str,
    /// The run of the changed model.
    pub model: &'a str,
    /// What was changed: path and value.
    pub changed: BTreeMap<&'a str, &'a str>,
    /// What was found of the path.
    pub found: Found<'a>,
    /// Before and after.
    pub groups: Vec<Row<'a, Option<BTreeMap<&'static str, Expectation>>, PredictedLost>>,
}

/// What was asked for.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PredictionConfig<'a> {
    /// The run as named by the user.
    pub run: &'a str,
    /// Does the command fail where the model assumes something that the run does not identify?
    pub strict: bool,
    /// The changes, each as `PATH=VALUE`.
    pub set: Vec<String>,
}

impl<'a> Published for Predictions<'a> {
    type Config = PredictionConfig<'a>;
    const SCHEMA: &'static str = "delaylab/prediction/2";
    const TITLE: &'static str = "delaylab predict";
}

/// One probe under one combination of levels.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Row<'a, M, L> {
    /// Its levels.
    pub factors: Levels<'a>,
    /// The probe.
    pub probe: &'a str,
    /// Was there no load?
    pub unloaded: bool,
    /// Packets answered.
    pub packets: usize,
    /// Each measure; null where it has none.
    #[serde(flatten)]
    pub measures: BTreeMap<&'static str, M>,
    /// Share of packets lost, 0 to 1.
    pub lost: L,
}

/// Packets lost.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ModelLost {
    /// Measured.
    pub measured: Option<f64>,
    /// Of the model.
    pub model: Option<f64>,
}

/// Packets lost.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PredictedLost {
    /// Measured.
    pub measured: Option<f64>,
    /// Of the model.
    pub model: Option<f64>,
    /// Of the changed model: the median of all simulations.
    pub predicted: Option<f64>,
    /// Where a new run has it, 95 times of 100; its ends are null where the model assumes the rate.
    pub expected: Interval,
}

/// How far the model is from what was measured.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Distance {
    /// Wasserstein's distance.
    pub wasserstein_ns: Option<i64>,
    /// Each quantile: `p50`, `p90`, `p99`.
    #[serde(flatten)]
    pub quantiles: BTreeMap<&'static str, Compared>,
}

/// A quantile, measured and of the model.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Compared {
    /// Measured.
    pub measured_ns: Option<i64>,
    /// Of the model.
    pub model_ns: Option<i64>,
    /// The model less measured, as a share of measured.
    pub error: Option<f64>,
}

/// A quantile as the change would make it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Expectation {
    /// Measured.
    pub measured_ns: Option<i64>,
    /// Of the model.
    pub model_ns: Option<i64>,
    /// Of the changed model.
    pub predicted_ns: Option<i64>,
    /// What a repeat with the same packets gives.
    pub same_packets_ns: Option<i64>,
    /// Between these; both null where the model assumes the rate.
    pub expected_ns: Interval,
}

impl<'a> Calibration<'a> {
    /// Of a calibrated run.
    pub fn new(shown: &Calibrated<'a>) -> Self {
        let overlay = shown.pairs.iter().map(|pair| {
            let distance = |measure| pair.distance(measure).map(|found| Distance::new(&found));
            let lost = ModelLost {
                measured: pair.measured.lost(),
                model: pair.model.lost(),
            };
            Row::new(&pair.measured, distance, lost)
        });
        Self {
            run: shown.run,
            model: shown.model,
            found: Found::new(shown.found),
            overlay: overlay.collect(),
        }
    }
}

impl<'a> Predictions<'a> {
    /// Of a predicted change.
    pub fn new(shown: &Prediction<'a>) -> Self {
        let groups = shown.groups.iter().map(|one| {
            let (measured, model) = (&one.before.measured, &one.before.model);
            let expected = one.expected_loss();
            let lost = PredictedLost {
                measured: measured.lost(),
                model: model.lost(),
                predicted: expected.map(|expected| expected.value),
                expected: Interval::between(expected.and_then(|expected| expected.between)),
            };
            Row::new(
                measured,
                |measure| expectations(one, measure, shown.groups),
                lost,
            )
        });
        let changed = shown.sets.iter();
        Self {
            run: shown.run,
            model: shown.model,
            changed: changed
                .map(|(path, value)| (path.as_str(), value.as_str()))
                .collect(),
            found: Found::new(shown.found),
            groups: groups.collect(),
        }
    }
}

impl<'a, M, L> Row<'a, M, L> {
    fn new(group: &'a Group, value: impl Fn(Measure) -> M, lost: L) -> Self {
        Self {
            factors: levels(&group.factors),
            probe: &group.probe,
            unloaded: group.unloaded,
            packets: group.packets[0],
            measures: Measure::ALL
                .map(|measure| (measure.name(), value(measure)))
                .into(),
            lost,
        }
    }
}

/// The names of [`QUANTILES`].
const NAMES: [&str; QUANTILES.len()] = ["p50", "p90", "p99"];

/// The nearest whole number.
fn whole(value: f64) -> Option<i64> {
    value.is_finite().then(|| value.round() as i64)
}

fn number(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

impl Distance {
    fn new(distance: &overlay::Distance) -> Self {
        let errors = distance.errors();
        let quantiles = distance.quantiles.iter().zip(errors);
        let compared = quantiles.map(|([measured, model], error)| Compared {
            measured_ns: whole(*measured),
            model_ns: whole(*model),
            error: number(error),
        });
        Self {
            wasserstein_ns: whole(distance.wasserstein),
            quantiles: NAMES.into_iter().zip(compared).collect(),
        }
    }
}

fn expectations(
    one: &Predicted,
    measure: Measure,
    all: &[Predicted],
) -> Option<BTreeMap<&'static str, Expectation>> {
    let before = one.before.distance(measure)?;
    let expected = one.expected(measure, all)?;
    let each = before.quantiles.iter().zip(&expected);
    let each = each.map(|([measured, model], expected)| Expectation {
        measured_ns: whole(*measured),
        model_ns: whole(*model),
        predicted_ns: whole(expected.value),
        same_packets_ns: whole(expected.same_packets),
        expected_ns: Interval::between(expected.between),
    });
    Some(NAMES.into_iter().zip(each).collect())
}

/// What was found of a path.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Found<'a> {
    /// `apart`, or `together` where the clocks do not separate them.
    pub directions: &'static str,
    /// The trials that it is made of.
    pub trials: Trials,
    /// The rate of the bottleneck.
    pub rate: Option<Rate>,
    /// What limits the rate.
    pub limiter: Option<Limiter>,
    /// The buffer before it.
    pub buffer: Option<Buffer>,
    /// In which order it sends.
    pub discipline: Option<Discipline>,
    /// What an empty path takes.
    pub least_delay: LeastDelay,
    /// What hosts take, by what they do.
    pub hosts: BTreeMap<String, Option<Line>>,
    /// What is not known.
    pub unknown: &'a [Unknown],
}

/// How many trials of each kind.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Trials {
    /// Without load.
    pub unloaded: usize,
    /// In which a buffer was full.
    pub overflowing: usize,
    /// Left out, as they have flaws.
    pub flawed: usize,
}

/// A rate.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Rate {
    /// Bits a second.
    pub bps: Estimate,
    /// How many bytes it sent while it was busy.
    pub bytes: Option<i64>,
    /// And for how long.
    pub busy_ns: Option<i64>,
}

/// What limits a rate.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Limiter {
    /// `link`, `shaper` or `policer`.
    pub kind: &'static str,
    /// Is there no doubt?
    pub certain: bool,
    /// What the verdict rests on.
    pub slope_share: Option<f64>,
    /// What may pass at once.
    pub burst_bytes: Option<Estimate>,
    /// A second bucket, which limits bursts.
    pub ceiling: Option<Ceiling>,
}

/// The rate of bursts.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Ceiling {
    /// Bits a second.
    pub bps: Option<f64>,
    /// Its own burst.
    pub burst_bytes: Option<f64>,
}

/// A buffer.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Buffer {
    /// `bytes` or `packets`: what it counts.
    pub counts: &'static str,
    /// How much it holds; null where it drops before it is full.
    pub limit: Option<f64>,
    /// It holds so much, with 95 % confidence; where it drops before it is full, it held so much.
    pub at_least: Option<f64>,
    /// It does not hold so much, with 95 % confidence; null where it drops before it is full.
    pub below: Option<f64>,
    /// Packets that it took.
    pub taken: usize,
    /// Packets that it dropped.
    pub dropped: usize,
    /// Share of the packets that contradict this.
    pub contradict: Option<f64>,
    /// Share of the packets dropped before it was full.
    pub dropped_early: Option<f64>,
}

/// In which order packets are sent.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Discipline {
    /// Its name.
    pub name: Option<&'static str>,
    /// Share of the load that packets waited for.
    pub waited_for: Option<f64>,
    /// Packets that this is made of.
    pub packets: usize,
}

/// What an empty path takes, each way.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LeastDelay {
    /// To the target.
    pub forward: Option<Line>,
    /// From the target.
    pub back: Option<Line>,
}

/// A value and its interval.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Estimate {
    /// The value.
    pub value: Option<f64>,
    /// Its interval, where it has one.
    pub interval: Option<Interval>,
}

/// A delay against size.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Line {
    /// What a packet takes whatever its size.
    pub per_packet_ns: Estimate,
    /// What each byte adds.
    pub per_byte_ns: Estimate,
    /// How well a line describes it, 0 to 1.
    pub r2: Option<f64>,
    /// The point that is farthest from the line.
    pub farthest_ns: Option<i64>,
    /// What it was fitted to.
    pub points: Vec<Point>,
    /// Packets that it is made of.
    pub packets: usize,
}

/// One size.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Point {
    /// Bytes.
    pub size: u32,
    /// What it took.
    pub value_ns: Option<i64>,
}

impl<'a> Found<'a> {
    fn new(found: &'a calibrate::Calibration) -> Self {
        let hosts = found.hosts.lines().into_iter();
        Self {
            directions: match found.ways {
                Ways::Apart => "apart",
                Ways::Together => "together",
            },
            trials: Trials {
                unloaded: found.trials[0],
                overflowing: found.trials[1],
                flawed: found.flawed,
            },
            rate: found.rate.as_ref().map(|rate| Rate {
                bps: Estimate::new(rate.bits_per_second()),
                bytes: whole(rate.bytes),
                busy_ns: whole(rate.busy),
            }),
            limiter: found.limiter.as_ref().map(|it| Limiter::new(it, found)),
            buffer: found.buffer.as_ref().map(Buffer::new),
            discipline: found.queue.as_ref().map(|queue| Discipline {
                name: found.discipline(),
                waited_for: number(queue.waited_for),
                packets: queue.packets,
            }),
            least_delay: LeastDelay {
                forward: found.forward.as_ref().map(Line::new),
                back: found.back.as_ref().map(Line::new),
            },
            hosts: hosts
                .map(|(name, line)| (name.replace(' ', "_"), line.map(Line::new)))
                .collect(),
            unknown: &found.unknown,
        }
    }
}

impl Limiter {
    fn new(limiter: &limiter::Limiter, found: &calibrate::Calibration) -> Self {
        let bucket = found.bucket();
        let ceiling = bucket.and_then(|bucket| bucket.ceiling);
        Self {
            kind: limiter.name(),
            certain: found.verdict.is_none_or(|verdict| !verdict.is_open),
            slope_share: found.verdict.and_then(|verdict| number(verdict.share)),
            burst_bytes: bucket.and_then(|bucket| bucket.burst).map(Estimate::new),
            ceiling: ceiling.map(|ceiling| Ceiling {
                bps: number(ceiling.bits_per_second()),
                burst_bytes: number(ceiling.burst),
            }),
        }
    }
}

impl Buffer {
    fn new(buffer: &buffer::Buffer) -> Self {
        let is_known = !buffer.drops_early();
        let known = |value: f64| number(value).filter(|_| is_known);
        Self {
            counts: match buffer.counts {
                Counts::Bytes => "bytes",
                Counts::Packets => "packets",
            },
            limit: known(buffer.limit()),
            at_least: number(if is_known {
                buffer.interval.0
            } else {
                buffer.between.0
            }),
            below: known(buffer.interval.1),
            taken: buffer.packets[0],
            dropped: buffer.packets[1],
            contradict: number(buffer.contradict),
            dropped_early: number(buffer.early),
        }
    }
}

impl Estimate {
    fn new(estimate: line::Estimate) -> Self {
        Self {
            value: number(estimate.value),
            interval: estimate
                .interval
                .map(|(low, high)| Interval::new(low, high)),
        }
    }
}

impl Line {
    fn new(line: &line::Line) -> Self {
        let points = line.points.iter().map(|(size, ns)| Point {
            size: *size,
            value_ns: whole(*ns),
        });
        Self {
            per_packet_ns: Estimate::new(line.constant),
            per_byte_ns: Estimate::new(line.slope),
            r2: number(line.r2),
            farthest_ns: whole(line.farthest),
            points: points.collect(),
            packets: line.packets,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::Sample;
    use super::*;
    use crate::json;
    use serde_json::Value;

    fn valid_calibration(document: &Calibration<'_>) -> Value {
        let (run, strict) = ("latest", false);
        json::valid(document, Config { run, strict })
    }

    fn valid_prediction(document: &Predictions<'_>) -> Value {
        let config = PredictionConfig {
            run: "latest",
            strict: false,
            set: vec!["path.rate=20Mbit/s".to_owned()],
        };
        json::valid(document, config)
    }

    #[test]
    fn documents_are_as_agreed() {
        let sample = Sample::made();
        let (shown, prediction) = (sample.calibrated(), sample.prediction());
        let calibration = valid_calibration(&Calibration::new(&shown));
        let prediction = valid_prediction(&Predictions::new(&prediction));
        insta::assert_json_snapshot!("calibration_json", calibration);
        insta::assert_json_snapshot!("prediction_json", prediction);
    }

    #[test]
    fn a_range_that_is_not_known_is_null() {
        let sample = Sample::without_rate();
        let prediction = valid_prediction(&Predictions::new(&sample.prediction()));
        let median = &prediction["groups"][0]["response"]["p50"];
        assert!(median["predicted_ns"].is_i64(), "{median}");
        let range = &median["expected_ns"];
        assert!(range["low"].is_null() && range["high"].is_null(), "{range}");
        let range = &prediction["groups"][0]["lost"]["expected"];
        assert!(range["low"].is_null() && range["high"].is_null(), "{range}");
    }

    #[test]
    fn what_is_no_number_is_null() {
        assert_eq!([f64::NAN, f64::INFINITY].map(whole), [None, None]);
        assert_eq!(number(f64::NAN), None);
        assert_eq!(whole(1.5), Some(2));
    }
}
