//! What `delaylab cells` found, and its JSON document.

use crate::json::enveloped;
use crate::run::RunData;
use delaylab_explain::steps::{Answer, Direction, Way};
use delaylab_model::record::Method;
use delaylab_stats::steps::{
    CELL_BITS, CELL_PAYLOAD, PerSize, Steps, Verdict, rate_of_equal_links,
};
use serde_json::{Value, json};

/// The version of the document.
pub const SCHEMA: &str = "delaylab/cells/1";

/// A sweep of sizes to a target.
pub struct Cells<'a> {
    /// As it was typed.
    pub target: &'a str,
    /// How it was asked.
    pub method: Method,
    /// The run.
    pub run: &'a RunData,
    /// Where its page is, if it has one.
    pub page: Option<&'a str>,
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
pub const FEW: &str = "Cannot tell: too few sizes were answered to tell steps from a line.";

/// For programs: what `docs/cells.md` says.
pub fn json(cells: &Cells<'_>) -> Value {
    let main = cells.main();
    let [sent, lost] = cells.sent();
    let body = json!({
        "target": cells.target,
        "method": cells.method.name(),
        "sent": sent,
        "lost": lost,
        "answer": main.map_or(Answer::CannotTell, Way::answer).name(),
        "sentence": main.map_or_else(|| FEW.to_owned(), Way::sentence),
        "ways": cells.ways().iter().map(of_way).collect::<Vec<_>>(),
        "problems": cells.run.problems,
        "folder": cells.run.head.folder,
        "report": cells.page,
    });
    enveloped(SCHEMA, body)
}

fn of_way(way: &Way) -> Value {
    let found = match &way.detection.verdict {
        Verdict::Steps(found) => of_steps(found, way.direction),
        _ => Value::Null,
    };
    let power = way.power.map(|power| {
        json!({
            "found_step_ns": power.found_ns.map(whole),
            "excluded_step_ns": power.excluded_ns.map(whole),
            "wanted_step_ns": whole(power.wanted_ns),
            "times_as_many_packets": power.times_as_many(),
        })
    });
    let points = way
        .points
        .iter()
        .map(|point| json!({ "ip_size": point.size, "delay_ns": whole(point.delay_ns) }));
    json!({
        "direction": way.direction.name(),
        "measure": way.measure,
        "per_size": match way.per_size {
            PerSize::TrimmedMean => "mean of the inner 80 %",
            PerSize::Minimum => "minimum",
        },
        "packets": way.packets,
        "answer": way.answer().name(),
        "sentence": way.sentence(),
        "steps": found,
        "power": power,
        "residual_ns": way.detection.residual_ns().map(whole),
        "left_out_from_bytes": way.detection.jump.map(|jump| jump.at),
        "points": points.collect::<Vec<_>>(),
    })
}

fn of_steps(found: &Steps, direction: Direction) -> Value {
    let cells = found.width == CELL_PAYLOAD;
    let rate = rate_of_equal_links(found.step_ns, CELL_BITS, direction.count());
    let framings = found.framings().into_iter();
    let framings = framings.map(|f| json!({ "name": f.name, "overhead_bytes": f.overhead }));
    json!({
        "width_bytes": found.width,
        "width_low_bytes": found.width_interval.0,
        "width_high_bytes": found.width_interval.1,
        "overhead_bytes": found.overhead,
        "overhead_low_bytes": found.overhead_interval.0,
        "overhead_high_bytes": found.overhead_interval.1,
        "step_ns": whole(found.step_ns),
        "step_low_ns": whole(found.step_interval.0),
        "step_high_ns": whole(found.step_interval.1),
        "rate_if_alike_bits_per_s": cells.then(|| whole(rate)),
        "jump_at_bytes": found.jump.map(|jump| jump.at),
        "jump_ns": found.jump.map(|jump| whole(jump.height_ns)),
        "uneven_sd_ns": found.uneven.map(|uneven| whole(uneven.sd_ns)),
        "least_step_ns": found.uneven.map(|uneven| whole(uneven.least_ns)),
        "most_step_ns": found.uneven.map(|uneven| whole(uneven.most_ns)),
        "delta_bic": found.delta_bic,
        "framings": framings.collect::<Vec<_>>(),
    })
}

/// JSON knows no NaN, and times here are whole nanoseconds.
fn whole(value: f64) -> i64 {
    value.round() as i64
}
