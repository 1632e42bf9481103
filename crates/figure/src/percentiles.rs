//! Where most delays lie, over time: bands of percentiles around the median, and what was not answered. The picture
//! that SmokePing made known.

use super::axis;
use super::clock::{TimeAxis, seconds};
use super::{Figure, Table, drawn_note, labels, order_panels, parse};
use delaylab_model::Nanos;
use delaylab_model::units::format_share;
use delaylab_view::run::{Panel, Quantiles, RunData};
use serde_json::{Value, json};

pub(super) struct Percentiles;

const COLUMNS: &str = "panel from_s to_s p5_ns p25_ns p50_ns p75_ns p95_ns unanswered packets has_unanswered is_break unanswered_text";

/// Stretches of all panels at most, ...
const STRETCHES: usize = 360;
/// ... and of one.
const MOST: usize = 96;
/// Fewer packets than this have no p5 and no p95.
const PACKETS: u64 = 20;
/// Answered packets that each of the percentiles needs.
const NEEDED: [u64; 5] = [PACKETS, 4, 1, 4, PACKETS];
/// A figure needs a panel with this number of stretches: fewer are no course of time.
const LEAST: usize = 3;
/// Pixels of a panel from top to bottom: of many, and of one or two.
const HEIGHTS: [u32; 2] = [90, 200];
/// Pixels of the marks below.
const MARK: u32 = 5;

impl Figure for Percentiles {
    fn about(&self, run: &RunData) -> String {
        let drawn = drawn_note(run);
        let time = TimeAxis::new(run);
        let (breaks, clock) = (time.breaks_note(run), time.clock_note(run));
        format!(
            "The trials of each panel end to end{breaks}.{clock} Line: the median of each stretch of at least {PACKETS} packets; dark band: p25 to p75; light band: p5 to p95, where at least {PACKETS} were answered. Marks below: stretches in which packets were not answered, the stronger the more.{drawn}"
        )
    }

    fn table(&self, run: &RunData) -> Table {
        let mut table = Table::new(COLUMNS);
        let time = TimeAxis::new(run);
        let panels = run.drawn_panels();
        let of_panels = stretches(&panels);
        if !of_panels.iter().any(|stretches| is_course(stretches)) {
            return table;
        }
        // Beside a course a panel that lost everything, or is short, is no less to be seen.
        for (panel, stretches) in panels.into_iter().zip(&of_panels) {
            for one in stretches {
                row(&mut table, panel, one);
            }
            // A row of a break alone would be a panel of its own.
            let breaks = time.breaks(run, panel).into_iter();
            for t in breaks.filter(|_| !stretches.is_empty()) {
                break_row(&mut table, panel, t);
            }
        }
        table
    }

    fn spec(&self, run: &RunData, _: &Table) -> Value {
        let mut spec = parse(include_str!("specs/percentiles.json"));
        let panels = run.drawn_panels();
        order_panels(&mut spec["facet"], &labels(&panels));
        let height = HEIGHTS[usize::from(panels.len() < 3)];
        spec["spec"]["height"] = json!(height);
        // An expression would know the height of the whole drawing alone, and not that of a panel.
        let marks = &mut spec["spec"]["layer"][0]["encoding"];
        marks["y"]["value"] = json!(height - MARK);
        marks["y2"]["value"] = json!(height);
        let time = TimeAxis::new(run);
        spec["transform"][0]["calculate"] = json!(time.words("datum.from_s", "datum.panel", true));
        time.encode(&mut spec, "zoom_from_s");
        let all = stretches(&panels).into_iter().flatten();
        let delays: Vec<_> = all.filter_map(|one| one.delays).collect();
        let least = delays.iter().map(|one| one[0]).min().unwrap_or(1);
        let most = delays.iter().map(|one| one[4]).max().unwrap_or(1);
        axis::of_delays(
            &mut spec["spec"]["encoding"]["y"],
            "Round trip",
            least,
            most,
        );
        spec
    }
}

/// Of each of these panels.
fn stretches(panels: &[&Panel]) -> Vec<Vec<Quantiles>> {
    let most = (STRETCHES / panels.len().max(1)).min(MOST);
    let over_time = panels.iter().map(|panel| &panel.sketch.shown().over_time);
    over_time.map(|it| it.quantiles(most, PACKETS)).collect()
}

fn is_course(stretches: &[Quantiles]) -> bool {
    stretches.len() >= LEAST && stretches.iter().any(|one| one.delays.is_some())
}

fn row(table: &mut Table, panel: &Panel, one: &Quantiles) {
    let delay = |which: usize| {
        let delays = one.delays.filter(|_| one.answered >= NEEDED[which]);
        delays.map_or(Value::Null, |delays| json!(delays[which]))
    };
    let packets = one.answered + one.unanswered;
    let unanswered = one.unanswered as f64 / packets.max(1) as f64;
    table.row([
        json!(panel.label),
        seconds(one.from),
        seconds(one.to),
        delay(0),
        delay(1),
        delay(2),
        delay(3),
        delay(4),
        json!(unanswered),
        json!(packets),
        json!(one.unanswered > 0),
        Value::Null,
        json!(format_share(unanswered)),
    ]);
}

/// Another trial or probe begins there.
fn break_row(table: &mut Table, panel: &Panel, t: Nanos) {
    table.row_of([
        ("panel", json!(panel.label)),
        ("from_s", seconds(t)),
        ("is_break", json!(true)),
    ]);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::svg::Artist;
    use delaylab_model::method::Method;
    use delaylab_model::plan::Level;
    use delaylab_view::run::samples::{runs, waits};
    use delaylab_view::run::{Disturbance, RunDataBuilder, RunStream};
    use delaylab_view::samples::{answered, lose};
    use std::ops::RangeInclusive;

    /// From where to where the marks of this fill or stroke reach, across and down: of each of them.
    fn places(svg: &str, colour: &str) -> Vec<[RangeInclusive<f64>; 2]> {
        let marks = svg.split("<path ").skip(1);
        let marks = marks.map(|mark| mark.split('>').next().unwrap());
        let marks = marks.filter(|mark| mark.contains(&format!("=\"{colour}\"")));
        marks
            .map(|mark| place(mark.split_once("d=\"").unwrap().1))
            .collect()
    }

    /// The same of the course of one, which is of absolute places, or a point and how far it goes on from there.
    fn place(course: &str) -> [RangeInclusive<f64>; 2] {
        let course = course.split('"').next().unwrap();
        let (mut at, mut ends) = ([0.0, 0.0], [Vec::new(), Vec::new()]);
        let letter = |c: char| c.is_ascii_alphabetic();
        for (begin, _) in course.match_indices(letter) {
            let (command, rest) = course[begin..].split_at(1);
            let numbers = rest.split(letter).next().unwrap();
            let numbers = numbers
                .split([',', ' '])
                .filter_map(|number| number.parse::<f64>().ok());
            let numbers: Vec<f64> = numbers.collect();
            match (command, &numbers[..]) {
                ("M" | "L", [x, y]) => at = [*x, *y],
                ("h", [by]) => at[0] += by,
                ("v", [by]) => at[1] += by,
                ("H", [x]) => at[0] = *x,
                ("V", [y]) => at[1] = *y,
                ("Z", []) => {}
                other => panic!("{other:?}"),
            }
            for (ends, at) in ends.iter_mut().zip(at) {
                ends.push(at);
            }
        }
        ends.map(|ends| {
            let least = ends.iter().copied().fold(f64::INFINITY, f64::min);
            least..=ends.into_iter().fold(f64::NEG_INFINITY, f64::max)
        })
    }

    /// One panel, of which some packets were lost.
    fn drawn() -> String {
        let mut run = waits();
        run.panels.retain(|panel| panel.summary.counts.lost > 0);
        run.panels.truncate(1);
        let svg = Artist::new().unwrap();
        let drawing = crate::Drawing::whole("percentiles", &run).unwrap();
        svg.draw(&drawing.standalone()).unwrap()
    }

    #[test]
    fn marks_of_what_was_lost_are_in_their_panel() {
        let marks = places(&drawn(), "#b5179e");
        assert!(!marks.is_empty());
        for [_, down] in marks {
            assert_eq!(down, 195.0..=200.0);
        }
    }

    #[test]
    fn the_last_stretch_is_drawn_to_its_end() {
        let svg = drawn();
        let [line] = &places(&svg, "#0065a3")[..] else {
            panic!("one panel, and no gap");
        };
        let marks = places(&svg, "#7f9fb8");
        let bands = marks.iter().map(|[across, _]| *across.end());
        assert_eq!(bands.collect::<Vec<_>>(), [600.0, 600.0]);
        assert_eq!(*line[0].end(), 600.0);
    }

    #[test]
    fn a_panel_that_lost_everything_is_drawn_beside_the_others() {
        let streams = ["quiet", "broken"].into_iter().zip(0..);
        let streams = streams.map(|(condition, trial)| RunStream {
            trial,
            factors: vec![("condition".to_owned(), Level::named(condition))],
            ..waits().trials[0].stream.clone()
        });
        let mut run = RunDataBuilder::new(streams.collect(), &[], 1_000);
        for (trial, seq) in (0..2).flat_map(|trial| (0..200).map(move |seq| (trial, seq))) {
            let mut record = answered(Method::Udp, seq);
            record.trial = trial;
            if trial == 1 {
                lose(&mut record);
            }
            run.push(&record, Disturbance::default());
        }
        let mut run = run.finish(RunData::default());
        let drawing = crate::Drawing::whole("percentiles", &run).unwrap();
        let rows = drawing.spec["data"]["values"].as_array().unwrap();
        let of = |label: &str| rows.iter().filter(|row| row["panel"] == label).count();
        assert_eq!(of("condition quiet"), of("condition broken"));
        let svg = Artist::new().unwrap();
        let svg = svg.draw(&drawing.standalone()).unwrap();
        assert!(svg.contains("condition broken"), "{svg}");
        // Alone it has no axis of delays.
        run.panels.retain(|panel| panel.label == "condition broken");
        assert_eq!(crate::Drawing::whole("percentiles", &run), None);
    }

    /// One answer would close the band to a line where the path was worst.
    #[test]
    fn a_stretch_with_few_answers_has_no_bands() {
        let run = waits();
        let one = |answered| {
            let mut table = Table::new(COLUMNS);
            let stretch = Quantiles {
                from: 0,
                to: 1,
                delays: Some([1, 2, 3, 4, 5]),
                answered,
                unanswered: 39,
            };
            row(&mut table, &run.panels[0], &stretch);
            table.rows[0][3..8]
                .iter()
                .filter(|cell| !cell.is_null())
                .count()
        };
        assert_eq!([1, 4, 19, 20].map(one), [1, 3, 3, 5]);
    }

    #[test]
    fn bands_lie_within_each_other_and_every_packet_is_in_one() {
        for (name, run) in runs() {
            let table = Percentiles.table(&run);
            for row in &table.rows {
                let delays: Vec<i64> = row[3..8].iter().filter_map(Value::as_i64).collect();
                assert!(delays.is_sorted(), "{name}: {row:?}");
            }
            for panel in run.drawn_panels() {
                let rows = table.rows.iter();
                let rows = rows.filter(|row| row[0] == panel.label && row[11].is_null());
                let packets: u64 = rows.map(|row| row[9].as_u64().unwrap()).sum();
                assert!(
                    packets == 0 || packets == panel.summary.counts.sent,
                    "{name}"
                );
            }
        }
    }
}
