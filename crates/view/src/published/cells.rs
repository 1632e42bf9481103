//! What `delaylab cells` found, and its JSON document.

use crate::json::{Interval, Measured, Published, Reasons, some_seed, whole, with_reasons};
use crate::run::RunData;
use delaylab_explain::steps::{self, Answer, Direction, Way};
use delaylab_model::Nanos;
use delaylab_model::method::Method;
use delaylab_stats::steps::{
    CELL_BITS, CELL_PAYLOAD, PerSize, Steps, Verdict, rate_of_equal_links,
};
use schemars::JsonSchema;
use serde::Serialize;

/// A sweep of sizes to a target.
pub struct Cells<'a> {
    /// As it was typed.
    pub target: &'a str,
    /// How it was asked.
    pub method: Method,
    /// The run.
    pub run: &'a RunData,
    /// Where its page is, or why it has none.
    pub page: Measured<&'a str>,
    /// What to type for so many times as many packets.
    pub again: &'a dyn Fn(u32) -> String,
}

impl Cells<'_> {
    /// Each direction that was looked at.
    pub fn ways(&self) -> &[Way] {
        let sweep = self.run.sweeps.first();
        sweep.map_or(&[], |sweep| sweep.ways.as_slice())
    }

    /// That of the two directions together, or the only one that has steps.
    pub fn main(&self) -> Option<&Way> {
        let ways = self.ways();
        let stepped = ways.iter().find(|way| way.answer() == Answer::Steps);
        stepped.or(ways.first())
    }

    /// Packets sent, and lost of these.
    pub fn sent(&self) -> [u64; 2] {
        let counts = self.run.trials.iter().map(|trial| &trial.summary.counts);
        counts.fold([0, 0], |[sent, lost], c| [sent + c.sent, lost + c.lost])
    }
}

/// What is said where too few sizes were answered.
pub const FEW: &str = "Undecided: too few sizes were answered to distinguish steps from a line.";

/// What `delaylab cells --json` prints.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Document<'a> {
    /// The target as typed.
    pub target: &'a str,
    /// How it was asked.
    pub method: Method,
    /// Packets sent.
    pub sent: u64,
    /// How many of them were lost.
    pub lost: u64,
    /// `steps`, `no_cells` or `undecided`.
    pub verdict: &'static str,
    /// `verdict` in words.
    pub sentence: String,
    /// Each direction that was looked at.
    pub ways: Vec<WayFound<'a>>,
    /// What to check before trusting it.
    pub warnings: &'a [String],
    /// Where the run is.
    pub folder: &'a str,
    /// Its page, if there is one.
    pub report: Measured<&'a str>,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

/// The settings as resolved.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Config<'a> {
    /// The target as named by the user.
    pub target: &'a str,
    /// How it is asked.
    pub method: Method,
    /// The port of the reflector as typed; null: the usual one, or none.
    pub port: Option<u16>,
    /// The smallest IP packet.
    pub min_size_bytes: u32,
    /// The largest IP packet.
    pub max_size_bytes: u32,
    /// Packets of each size; null: as many as the duration allows.
    pub count: Option<u32>,
    /// For how long packets are sent, of all sizes together; null with `count`.
    pub duration_ns: Option<Nanos>,
    /// The next packet is sent this long after each reply.
    pub after_reply_ns: Nanos,
    /// Seed of the order of the sizes; null where the run does not say it.
    #[serde(serialize_with = "some_seed")]
    #[schemars(with = "Option<String>")]
    pub seed: Option<u64>,
}

impl<'a> Published for Document<'a> {
    type Config = Config<'a>;
    const SCHEMA: &'static str = "delaylab/cells/3";
    const TITLE: &'static str = "delaylab cells";
}

/// A direction.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WayFound<'a> {
    /// `both`, `forward` or `return`.
    pub direction: &'static str,
    /// Of what the delays are, in words: `round trip`.
    pub measure: &'a str,
    /// What stands for a size: `mean of the inner 80 %` or `minimum`.
    pub per_size: &'static str,
    /// How many packets' delays these are.
    pub count: usize,
    /// `steps`, `no_cells` or `undecided`.
    pub verdict: &'static str,
    /// `verdict` in words.
    pub sentence: String,
    /// The steps; left out where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<StepsFound>,
    /// What steps would have been seen; left out with steps, and where too few sizes were answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power: Option<Power>,
    /// What is left of the delays beyond what was found.
    pub residual_ns: Measured<i64>,
    /// From this size on, sizes were left out: the delay jumps there. Left out where it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out_from_bytes: Option<u32>,
    /// The delay of each size.
    pub points: Vec<Point>,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

/// The delay of one size.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Point {
    /// Bytes of the IP packet.
    pub ip_size: u32,
    /// Its delay.
    pub delay_ns: i64,
}

/// Which steps would have been seen.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Power {
    /// Steps of this height would have been found.
    pub found_step_ns: Measured<i64>,
    /// Steps of this height are excluded.
    pub excluded_step_ns: Measured<i64>,
    /// The height that cells would have on this line.
    pub wanted_step_ns: i64,
    /// How many times as many packets would decide.
    pub times_as_many_packets: Measured<u32>,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

/// Steps in delay against size.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct StepsFound {
    /// Bytes from one step to the next.
    pub width_bytes: u32,
    /// The interval of `width_bytes`.
    pub width_interval_bytes: Interval,
    /// Bytes that framing adds, modulo the width.
    pub overhead_bytes: u32,
    /// The interval of `overhead_bytes`.
    pub overhead_interval_bytes: Interval,
    /// The height of a step.
    pub step_ns: i64,
    /// The interval of `step_ns`.
    pub step_interval_ns: Interval,
    /// The line's rate if all links were alike; left out where steps are not cells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_if_alike_bps: Option<i64>,
    /// A jump in addition to the steps; left out where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jump: Option<Jump>,
    /// How steps differ in height; left out where they do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uneven: Option<Uneven>,
    /// How much better steps explain the delays than a line does (difference of BIC).
    pub delta_bic: f64,
    /// Encapsulations that add as many bytes.
    pub framings: Vec<Framing>,
}

/// A jump of the delay.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Jump {
    /// The smallest IP packet beyond it.
    pub at_bytes: u32,
    /// Its height.
    pub height_ns: i64,
}

/// How the heights of steps differ.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Uneven {
    /// Their standard deviation.
    pub sd_ns: i64,
    /// The least.
    pub min_ns: i64,
    /// The greatest.
    pub max_ns: i64,
}

/// An encapsulation.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Framing {
    /// Its name.
    pub name: &'static str,
    /// What it adds.
    pub overhead_bytes: u32,
}

impl<'a> Document<'a> {
    /// Of a sweep.
    pub fn new(cells: &'a Cells<'a>) -> Self {
        let main = cells.main();
        let [sent, lost] = cells.sent();
        with_reasons!(Self {
            target: cells.target,
            method: cells.method,
            sent,
            lost,
            verdict: main.map_or(Answer::Undecided, Way::answer).key(),
            sentence: main.map_or_else(|| FEW.to_owned(), Way::sentence),
            ways: cells.ways().iter().map(WayFound::new).collect(),
            warnings: &cells.run.problems,
            folder: &cells.run.head.folder,
            report: cells.page.clone(),
        })
    }
}

impl<'a> WayFound<'a> {
    fn new(way: &'a Way) -> Self {
        let points = way.points.iter().map(|point| Point {
            ip_size: point.size,
            delay_ns: whole(point.delay_ns),
        });
        with_reasons!(Self {
            direction: way.direction.name(),
            measure: way.measure,
            per_size: match way.per_size {
                PerSize::TrimmedMean => "mean of the inner 80 %",
                PerSize::Minimum => "minimum",
            },
            count: way.packets,
            verdict: way.answer().key(),
            sentence: way.sentence(),
            steps: match &way.detection.verdict {
                Verdict::Steps(found) => Some(StepsFound::new(found, way.direction)),
                _ => None,
            },
            power: way.power.as_ref().map(Power::new),
            residual_ns: Measured::or(way.detection.residual_ns().map(whole), || {
                "too few sizes were answered".to_owned()
            }),
            left_out_from_bytes: way.detection.jump.map(|jump| jump.at),
            points: points.collect(),
        })
    }
}

impl Power {
    fn new(power: &steps::Power) -> Self {
        with_reasons!(Self {
            found_step_ns: Measured::or(power.found_ns.map(whole), || {
                "at these sizes no step would have been found, however high".to_owned()
            }),
            excluded_step_ns: Measured::or(power.excluded_ns.map(whole), || {
                "no step would have been found, and the delays do not bound the slope".to_owned()
            }),
            wanted_step_ns: whole(power.wanted_ns),
            times_as_many_packets: Measured::or(power.times_as_many(), || {
                "no number of packets would: more sizes would".to_owned()
            }),
        })
    }
}

impl StepsFound {
    fn new(found: &Steps, direction: Direction) -> Self {
        let cells = found.width == CELL_PAYLOAD;
        let rate = rate_of_equal_links(found.step_ns, CELL_BITS, direction.count());
        let framings = found.framings().into_iter().map(|framing| Framing {
            name: framing.name,
            overhead_bytes: framing.overhead,
        });
        let (low, high) = found.step_interval;
        Self {
            width_bytes: found.width,
            width_interval_bytes: Interval::new(
                found.width_interval.0.into(),
                found.width_interval.1.into(),
            ),
            overhead_bytes: found.overhead,
            overhead_interval_bytes: Interval::new(
                found.overhead_interval.0 as f64,
                found.overhead_interval.1 as f64,
            ),
            step_ns: whole(found.step_ns),
            step_interval_ns: Interval::new(low, high),
            rate_if_alike_bps: cells.then(|| whole(rate)),
            jump: found.jump.map(|jump| Jump {
                at_bytes: jump.at,
                height_ns: whole(jump.height_ns),
            }),
            uneven: found.uneven.map(|uneven| Uneven {
                sd_ns: whole(uneven.sd_ns),
                min_ns: whole(uneven.least_ns),
                max_ns: whole(uneven.most_ns),
            }),
            delta_bic: found.delta_bic,
            framings: framings.collect(),
        }
    }
}
