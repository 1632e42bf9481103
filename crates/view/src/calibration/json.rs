//! The documents of `delaylab calibrate` and `delaylab predict`. Times are whole nanoseconds; what is not known is null. Each side has the
//! names of a ping's `stats`: `measured.response.p50_ns`, `model.loss`.

use super::{Calibrated, Prediction};
use crate::json::{Amount, Interval, Levels, Measured, Published, Reasons, levels, with_reasons};
use delaylab_explain::calibrate::buffer::{self, Counts};
use delaylab_explain::calibrate::limiter;
use delaylab_explain::calibrate::line;
use delaylab_explain::calibrate::overlay::{self, Group, Measure, Pair, QUANTILES};
use delaylab_explain::calibrate::passage::Ways;
use delaylab_explain::calibrate::prediction::{Expected, Predicted};
use delaylab_explain::calibrate::unknown::Unknown;
use delaylab_explain::calibrate::{self, queue, rate};
use delaylab_model::plan::Unit;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// What `delaylab calibrate --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Calibration<'a> {
    /// The measured run's folder.
    pub folder: &'a str,
    /// The folder of the model's run.
    pub model_folder: Measured<&'a str>,
    /// What was found.
    pub found: Found<'a>,
    /// Measured and simulated.
    pub overlay: Vec<Overlaid<'a>>,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
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
    const SCHEMA: &'static str = "delaylab/calibration/3";
    const TITLE: &'static str = "delaylab calibrate";
}

/// What `delaylab predict --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Predictions<'a> {
    /// The measured run's folder.
    pub folder: &'a str,
    /// The folder of the changed model's run.
    pub model_folder: &'a str,
    /// What was changed: path and value.
    pub changed: BTreeMap<&'a str, &'a str>,
    /// What was found of the path.
    pub found: Found<'a>,
    /// Before and after.
    pub groups: Vec<Change<'a>>,
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
    const SCHEMA: &'static str = "delaylab/prediction/3";
    const TITLE: &'static str = "delaylab predict";
}

/// One probe under one combination of levels.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Condition<'a> {
    /// Its levels.
    pub factors: Levels<'a>,
    /// The probe.
    pub probe: &'a str,
    /// Was there no load?
    pub unloaded: bool,
    /// As it was measured.
    pub measured: Side,
    /// As the model has it.
    pub model: Side,
}

/// A condition, measured and simulated.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Overlaid<'a> {
    /// Which, and both sides.
    #[serde(flatten)]
    pub condition: Condition<'a>,
    /// How far the model is off in each measure that both have.
    pub error: BTreeMap<&'static str, ModelError>,
}

/// A condition before a change and after it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Change<'a> {
    /// Which, and both sides before the change.
    #[serde(flatten)]
    pub condition: Condition<'a>,
    /// Of the changed model: the median of all simulations.
    pub predicted: Outlook<Option<f64>, Option<i64>>,
    /// What a repeat with the same packets gives.
    pub same_packets: Outlook<Option<f64>, Option<i64>>,
    /// Where a new run has it, 95 times of 100; both ends are null where the model assumes the rate.
    pub expected: Outlook<Interval, Interval>,
}

/// Its packets behind the warm-up, measured or simulated.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Side {
    /// How many packets were sent.
    pub sent: usize,
    /// How many packets were lost.
    pub lost: usize,
    /// Share of the packets that were lost, 0 to 1; null without packets.
    pub loss: Measured<f64>,
    /// Its `response` and `network`, where it has them.
    #[serde(flatten)]
    pub measures: BTreeMap<&'static str, Delays>,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

/// Delays of one side. Null: it is no finite number.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Delays {
    /// How many packets.
    pub count: usize,
    /// Their quantiles.
    #[serde(flatten)]
    pub quantiles: Quantiles<Option<i64>>,
}

/// Something of each quantile. Null: it is no finite number.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Quantiles<T> {
    /// Median.
    pub p50_ns: T,
    /// 90th percentile.
    pub p90_ns: T,
    /// 99th percentile.
    pub p99_ns: T,
}

/// How far the model is from what was measured. Null: it is no finite number.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ModelError {
    /// Wasserstein's distance.
    pub wasserstein_ns: Option<i64>,
    /// At each quantile.
    #[serde(flatten)]
    pub quantiles: Quantiles<Relative>,
}

/// How far a figure is off. Null: what was measured is 0.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Relative {
    /// The model less measured, as a share of measured.
    pub relative: Option<f64>,
}

/// What a change would make of a condition.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Outlook<L, Q> {
    /// Share of the packets lost, 0 to 1; null where it is not known.
    pub loss: L,
    /// Its `response` and `network`, where it has them.
    #[serde(flatten)]
    pub measures: BTreeMap<&'static str, Quantiles<Q>>,
}

impl<'a> Calibration<'a> {
    /// Of a calibrated run.
    pub fn new(shown: &Calibrated<'a>) -> Self {
        let overlay = shown.pairs.iter().map(|pair| Overlaid {
            condition: Condition::new(pair),
            error: of_each(|measure| Some(ModelError::new(&pair.distance(measure)?))),
        });
        with_reasons!(Self {
            folder: shown.run,
            model_folder: Measured::or(shown.model, || {
                "too little was found for a model: `found.unknown` says what is missing".to_owned()
            }),
            found: Found::new(shown.found),
            overlay: overlay.collect(),
        })
    }
}

impl<'a> Predictions<'a> {
    /// Of a predicted change.
    pub fn new(shown: &Prediction<'a>) -> Self {
        let groups = shown.groups.iter();
        let changed = shown.sets.iter();
        Self {
            folder: shown.run,
            model_folder: shown.model,
            changed: changed
                .map(|(path, value)| (path.as_str(), value.as_str()))
                .collect(),
            found: Found::new(shown.found),
            groups: groups.map(|one| Change::new(one, shown.groups)).collect(),
        }
    }
}

/// What there is of each measure.
fn of_each<T>(value: impl Fn(Measure) -> Option<T>) -> BTreeMap<&'static str, T> {
    let each = Measure::ALL.into_iter();
    each.filter_map(|measure| Some((measure.name(), value(measure)?)))
        .collect()
}

impl<'a> Condition<'a> {
    fn new(pair: &'a Pair) -> Self {
        Self {
            factors: levels(&pair.measured.factors),
            probe: &pair.measured.probe,
            unloaded: pair.measured.unloaded,
            measured: Side::new(&pair.measured),
            model: Side::new(&pair.model),
        }
    }
}

impl Side {
    fn new(group: &Group) -> Self {
        let delays = |measure| {
            let delays = group.delay(measure);
            let count = delays.values.len();
            let at = |q| delays.quantile(q).and_then(whole);
            let quantiles = Quantiles::new(QUANTILES.map(at));
            (count > 0).then_some(Delays { count, quantiles })
        };
        let [sent, lost] = group.packets;
        with_reasons!(Self {
            sent,
            lost,
            loss: Measured::or(group.lost(), || "no packet was sent".to_owned()),
            measures: of_each(delays),
        })
    }
}

impl<'a> Change<'a> {
    fn new(one: &'a Predicted, all: &[Predicted]) -> Self {
        let loss = one.expected_loss();
        let each = |measure| one.expected(measure, all);
        let of = |value: fn(&Expected) -> f64| Outlook {
            loss: loss.as_ref().map(value),
            measures: of_each(|measure| {
                let value = |expected: Expected| whole(value(&expected));
                Some(Quantiles::new(each(measure)?.map(value)))
            }),
        };
        let range = |expected: Expected| Interval::between(expected.between);
        Self {
            predicted: of(|expected| expected.value),
            same_packets: of(|expected| expected.same_packets),
            expected: Outlook {
                loss: loss.map_or_else(|| Interval::between(None), range),
                measures: of_each(|measure| Some(Quantiles::new(each(measure)?.map(range)))),
            },
            condition: Condition::new(&one.before),
        }
    }
}

impl<T> Quantiles<T> {
    /// Of [`QUANTILES`], in their order.
    fn new([p50_ns, p90_ns, p99_ns]: [T; QUANTILES.len()]) -> Self {
        Self {
            p50_ns,
            p90_ns,
            p99_ns,
        }
    }
}

/// The nearest whole number.
fn whole(value: f64) -> Option<i64> {
    value.is_finite().then(|| value.round() as i64)
}

fn number(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

impl ModelError {
    fn new(distance: &overlay::Distance) -> Self {
        let relative = |error| Relative {
            relative: number(error),
        };
        Self {
            wasserstein_ns: whole(distance.wasserstein),
            quantiles: Quantiles::new(distance.errors().map(relative)),
        }
    }
}

/// What was found of a path.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Found<'a> {
    /// `apart`, or `together` where the clocks do not separate them.
    pub directions: &'static str,
    /// The trials that it is made of.
    pub trials: Trials,
    /// The rate of the bottleneck.
    pub rate: Measured<Rate>,
    /// What limits the rate.
    pub limiter: Measured<Limiter>,
    /// The buffer before it.
    pub buffer: Measured<Buffer>,
    /// In which order it sends.
    pub discipline: Measured<Discipline>,
    /// What an empty path takes.
    pub least_delay: LeastDelay,
    /// What hosts take, by what they do.
    pub hosts: HostCosts,
    /// What is not known.
    pub unknown: &'a [Unknown],
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

/// How many trials of each kind.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Trials {
    /// How many have no load.
    pub unloaded: usize,
    /// In how many a buffer was full.
    pub overflowing: usize,
    /// How many are left out, as they are invalid.
    pub invalid: usize,
}

/// A rate. Null: it is no finite number.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Rate {
    /// Bits a second.
    pub bps: Estimate,
    /// How many bytes it sent while it was busy.
    pub bytes: Option<i64>,
    /// How long it was busy.
    pub busy_ns: Option<i64>,
}

/// What limits a rate.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Limiter {
    /// `link`, `shaper` or `policer`.
    pub kind: &'static str,
    /// Is it certain which of the three it is?
    pub certain: bool,
    /// What `kind` rests on: the share of a byte's time at the rate that it takes without load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slope_share: Option<f64>,
    /// What may pass at once; left out of a link, and where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst_bytes: Option<Estimate>,
    /// A second bucket, which limits bursts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<Ceiling>,
}

/// The rate of bursts. Null: it is no finite number.
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
    /// Of what it counts, and so of `limit` and `held`: `bytes` or `packets`.
    pub unit: Unit,
    /// How much it holds.
    pub limit: Measured<Amount>,
    /// The interval of `limit`.
    pub interval: Measured<Interval>,
    /// How much it held, where it drops before it is full; left out of others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<Amount>,
    /// Packets that it took.
    pub taken: usize,
    /// Packets that it dropped.
    pub dropped: usize,
    /// Share of the packets that contradict this.
    pub contradict: Option<f64>,
    /// Share of the packets dropped before it was full.
    pub dropped_early: Option<f64>,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

/// In which order packets are sent.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Discipline {
    /// Its name.
    pub name: Measured<&'static str>,
    /// Share of the load that packets waited for.
    pub waited_for: Option<f64>,
    /// Packets that this is made of.
    pub count: usize,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

/// What an empty path takes, each way.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LeastDelay {
    /// To the target.
    pub forward: Measured<Line>,
    /// From the target.
    pub back: Measured<Line>,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

/// What the hosts at both ends take of a packet.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HostCosts {
    /// From the prober's send call to its driver.
    pub prober_sends: Measured<Line>,
    /// From the arrival at the prober's kernel to its program.
    pub prober_receives: Measured<Line>,
    /// From the arrival at the reflector's kernel to its program.
    pub reflector_receives: Measured<Line>,
    /// From the reflector's program to its driver.
    pub reflector_sends: Measured<Line>,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

/// A value and its interval.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Estimate {
    /// The value.
    pub value: Option<f64>,
    /// Its interval, where it has one.
    pub interval: Measured<Interval>,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

/// A delay against size. Null: it is no finite number.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Line {
    /// What a packet takes whatever its size.
    pub per_packet_ns: Estimate,
    /// What each byte adds.
    pub per_byte_ns: Estimate,
    /// How well a line describes it, 0 to 1.
    pub r2: Option<f64>,
    /// How far the farthest point is from the line.
    pub farthest_ns: Option<i64>,
    /// What it was fitted to.
    pub points: Vec<Point>,
    /// Packets that it is made of.
    pub count: usize,
}

/// One size. Null: it is no finite number.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Point {
    /// Bytes on the wire.
    pub wire_bytes: u32,
    /// What it took.
    pub delay_ns: Option<i64>,
}

impl<'a> Found<'a> {
    fn new(found: &'a calibrate::Calibration) -> Self {
        let limiter = found.limiter.as_ref();
        let discipline = found
            .queue
            .as_ref()
            .map(|queue| Discipline::new(queue, found));
        with_reasons!(Self {
            directions: match found.ways {
                Ways::Apart => "apart",
                Ways::Together => "together",
            },
            trials: Trials {
                unloaded: found.trials[0],
                overflowing: found.trials[1],
                invalid: found.flawed,
            },
            rate: Measured::or(found.rate.as_ref().map(Rate::new), || why(found, &["rate"])),
            limiter: Measured::or(limiter.map(|it| Limiter::new(it, found)), || {
                why(found, &["shaper", "rate"])
            }),
            buffer: Measured::or(found.buffer.as_ref().map(Buffer::new), || {
                why(found, &["buffer", "lines"])
            }),
            discipline: Measured::or(discipline, || why(found, &["discipline", "lines"])),
            least_delay: LeastDelay::new(found),
            hosts: HostCosts::new(found),
            unknown: &found.unknown,
        })
    }
}

/// Why something is not known: what is said of the first of these.
fn why(found: &calibrate::Calibration, named: &[&str]) -> String {
    let mut all = found.unknown.iter();
    let said = all.find(|unknown| named.iter().any(|name| unknown.what.contains(name)));
    said.map_or_else(
        || "there is none, or this run does not tell it".to_owned(),
        |unknown| unknown.why.clone(),
    )
}

impl LeastDelay {
    fn new(found: &calibrate::Calibration) -> Self {
        let of = |line: Option<&line::Line>| {
            Measured::or(line.map(Line::new), || {
                why(found, &["delay without load", "the two directions"])
            })
        };
        with_reasons!(Self {
            forward: of(found.forward.as_ref()),
            back: of(found.back.as_ref()),
        })
    }
}

impl HostCosts {
    fn new(found: &calibrate::Calibration) -> Self {
        let of = |(_, line): (&str, Option<&line::Line>)| {
            Measured::or(line.map(Line::new), || why(found, &["hosts' costs"]))
        };
        let lines = found.hosts.lines();
        let [
            prober_sends,
            prober_receives,
            reflector_receives,
            reflector_sends,
        ] = lines.map(of);
        with_reasons!(Self {
            prober_sends,
            prober_receives,
            reflector_receives,
            reflector_sends,
        })
    }
}

impl Rate {
    fn new(rate: &rate::Rate) -> Self {
        Self {
            bps: Estimate::new(rate.bits_per_second()),
            bytes: whole(rate.bytes),
            busy_ns: whole(rate.busy),
        }
    }
}

impl Discipline {
    fn new(queue: &queue::Queue, found: &calibrate::Calibration) -> Self {
        let name = Measured::or(found.discipline(), || {
            why(found, &["discipline", "CoDel", "fair queue", "priority"])
        });
        with_reasons!(Self {
            name,
            waited_for: number(queue.waited_for),
            count: queue.packets,
        })
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
        let early = || "it drops before it is full".to_owned();
        let is_known = !buffer.drops_early();
        let limit = number(buffer.limit()).filter(|_| is_known);
        let (low, high) = buffer.interval;
        let interval = Interval::bounded(low, high).filter(|_| is_known);
        with_reasons!(Self {
            unit: match buffer.counts {
                Counts::Bytes => Unit::Bytes,
                Counts::Packets => Unit::Packets,
            },
            limit: Measured::or(limit.map(Amount::from), early),
            interval: Measured::or(interval, early),
            held: number(buffer.between.0)
                .filter(|_| !is_known)
                .map(Amount::from),
            taken: buffer.packets[0],
            dropped: buffer.packets[1],
            contradict: number(buffer.contradict),
            dropped_early: number(buffer.early),
        })
    }
}

impl Estimate {
    fn new(estimate: line::Estimate) -> Self {
        let interval = estimate.interval;
        let interval = interval.map(|(low, high)| Interval::new(low, high));
        with_reasons!(Self {
            value: number(estimate.value),
            interval: Measured::or(interval, || "too few observations to say".to_owned()),
        })
    }
}

impl Line {
    fn new(line: &line::Line) -> Self {
        let points = line.points.iter().map(|(size, ns)| Point {
            wire_bytes: *size,
            delay_ns: whole(*ns),
        });
        Self {
            per_packet_ns: Estimate::new(line.constant),
            per_byte_ns: Estimate::new(line.slope),
            r2: number(line.r2),
            farthest_ns: whole(line.farthest),
            points: points.collect(),
            count: line.packets,
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
        let group = &prediction["groups"][0];
        let median = &group["predicted"]["response"]["p50_ns"];
        assert!(median.is_i64(), "{group}");
        let expected = &group["expected"];
        for range in [&expected["response"]["p50_ns"], &expected["loss"]] {
            assert!(range["low"].is_null() && range["high"].is_null(), "{range}");
        }
    }

    #[test]
    fn what_is_no_number_is_null() {
        assert_eq!([f64::NAN, f64::INFINITY].map(whole), [None, None]);
        assert_eq!(number(f64::NAN), None);
        assert_eq!(whole(1.5), Some(2));
    }
}
