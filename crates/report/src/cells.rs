//! What `delaylab cells` says: the answer in a sentence, what to type, and what it rests on.

use crate::json::enveloped;
use crate::run::RunData;
use crate::style::{Paint, Style, percent, plural};
use crate::terminal::paragraph;
use delaylab_explain::steps::{Answer, Direction, Way, candidates};
use delaylab_model::record::Method;
use delaylab_stats::steps::{
    CELL_BITS, CELL_PAYLOAD, PerSize, Steps, Verdict, rate_of_equal_links,
};
use serde_json::{Value, json};

/// The version of the document.
pub const SCHEMA: &str = "delaylab/cells/1";
/// What tc counts of itself on an Ethernet interface: its header, without the check sequence.
const ETHERNET: i64 = 14;
/// Nobody waits for so many times as many packets.
const MOST_TIMES: u32 = 1000;

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
    fn ways(&self) -> &[Way] {
        let sweep = self.run.sweeps.first();
        sweep.map_or(&[], |sweep| sweep.ways.as_slice())
    }

    /// That of the two directions together, or the only one that has steps.
    fn main(&self) -> Option<&Way> {
        let ways = self.ways();
        let stepped = ways.iter().find(|way| way.answer() == Answer::Steps);
        stepped.or(ways.first())
    }

    fn sent(&self) -> [u64; 2] {
        let counts = self.run.trials.iter().map(|trial| &trial.summary.counts);
        counts.fold([0, 0], |[sent, lost], c| [sent + c.sent, lost + c.lost])
    }
}

/// For people, in lines that end in a line feed.
pub fn text(cells: &Cells<'_>, style: &Style) -> String {
    let mut out = paragraph(&head(cells), Paint::Dim, style);
    for problem in &cells.run.problems {
        out += &paragraph(problem, Paint::Warning, style);
    }
    out += "\n";
    out += &match cells.main() {
        None => paragraph(FEW, Paint::Bold, style),
        Some(way) => answer(cells, way, style),
    };
    let main = cells.main();
    for way in cells.ways().iter().filter(|way| Some(*way) != main) {
        let sentence = format!("{}: {}", direction(way.direction), way.sentence());
        out += &paragraph(&sentence, Paint::Plain, style);
    }
    out += &format!("\nrun     {}\n", cells.run.head.folder);
    if let Some(page) = cells.page {
        out += &format!("report  {page}\n");
    }
    style.glyphs(out)
}

const FEW: &str = "Cannot tell: too few sizes were answered to tell steps from a line.";

const fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Both => "There and back",
        Direction::Forward => "To the target",
        Direction::Return => "From the target",
    }
}

fn head(cells: &Cells<'_>) -> String {
    let sizes = cells.ways().first().map(|way| way.points.as_slice());
    let sizes = match sizes {
        Some([first, .., last]) => format!(", {} B to {} B", first.size, last.size),
        _ => String::new(),
    };
    let [sent, lost] = cells.sent();
    format!(
        "{} ({}{sizes}): {}, {} lost",
        cells.target,
        cells.method.name(),
        plural(sent, "packet"),
        percent(lost, sent)
    )
}

fn answer(cells: &Cells<'_>, way: &Way, style: &Style) -> String {
    let mut out = paragraph(&way.sentence(), Paint::Bold, style);
    match (&way.detection.verdict, way.answer()) {
        (Verdict::Steps(found), _) if found.width == CELL_PAYLOAD => {
            out += &paragraph(&encapsulation(found), Paint::Plain, style);
            out += &shapers(found, style);
        }
        (_, Answer::NoCells) => {
            let leave = "Leave `atm` out of a shaper's settings for this line.";
            out += &paragraph(leave, Paint::Plain, style);
        }
        (_, Answer::CannotTell) => out += &paragraph(&longer(cells, way), Paint::Plain, style),
        _ => {}
    }
    out
}

fn encapsulation(found: &Steps) -> String {
    let known = candidates(found);
    match known.as_slice() {
        [] => {
            "No single encapsulation of RFC 2684 adds so much: it is counted modulo 48, and tunnels or tags \
             may be part of it."
                .to_owned()
        }
        [only] => format!("That is what {only} adds."),
        several => format!("That may be {}.", several.join(", ")),
    }
}

/// What to type. tc-stab counts what the interface does; cake counts from the IP header.
fn shapers(found: &Steps, style: &Style) -> String {
    let overhead = i64::from(found.overhead);
    let lines = [
        format!("    tc qdisc ... cake ... atm overhead {overhead}\n"),
        format!("    tc qdisc ... stab linklayer atm overhead {overhead} ...\n"),
    ];
    let ethernet = format!(
        "On an Ethernet interface stab counts 14 bytes of its own: overhead {} there.",
        overhead - ETHERNET
    );
    let shaper = paragraph("A shaper in front of this line:", Paint::Plain, style);
    shaper + &lines.concat() + &paragraph(&ethernet, Paint::Plain, style)
}

fn longer(cells: &Cells<'_>, way: &Way) -> String {
    let times = way.power.and_then(|power| power.times_as_many());
    match times.map(|times| times.max(2)) {
        Some(times) if times <= MOST_TIMES => {
            format!("Run it with {}.", (cells.again)(times))
        }
        Some(_) => {
            "No reasonable number of packets will do: try when the line is idle, or a target that is closer."
                .to_owned()
        }
        None => "Give it more sizes: --max-size.".to_owned(),
    }
}

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
