//! What `delaylab cells` says: the answer in a sentence, what to type, and what it rests on.

use crate::style::{Paint, Style};
use crate::text::paragraph;
use delaylab_explain::steps::{Answer, Direction, Way, candidates};
use delaylab_model::units::format_part;
use delaylab_stats::steps::{CELL_PAYLOAD, Steps, Verdict};
use delaylab_view::published::cells::{Cells, FEW};
use delaylab_view::words::plural;

/// What tc counts of itself on an Ethernet interface: its header, without the check sequence.
const ETHERNET: i64 = 14;
/// Nobody waits for so many times as many packets.
const MOST_TIMES: u32 = 1000;

/// For people, in lines that end in a line feed.
pub fn render(cells: &Cells<'_>, style: &Style) -> String {
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
    let mut out = style.glyphs(out);
    // Whatever characters are in a path: those open it.
    out += &format!("\nRecords: {}\n", cells.run.head.folder);
    if let Some(page) = cells.page.known() {
        out += &format!("Report:  {page}\n");
    }
    out
}

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
        format_part(lost, sent)
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
        (_, Answer::Undecided) => out += &paragraph(&longer(cells, way), Paint::Plain, style),
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
