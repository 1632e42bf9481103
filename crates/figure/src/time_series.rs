//! Delays over time, the trials of a panel end to end: from the smallest to the largest in each
//! stretch, so that no extreme is lost; excursions one by one, with what was seen on the prober's CPU.

use super::clock::{TimeAxis, seconds};
use super::{Figure, Table, axis, drawn_note, labels, order_panels, parse};
use delaylab_model::Nanos;
use delaylab_view::run::{Bucket, Excursion, Happening, Mark, Marks, Panel, RunData, ShownDelay};
use delaylab_view::words::plural;
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(super) struct TimeSeries;

const COLUMNS: &str = "panel kind t_s low_ns high_ns packets trial seq noise_ns who";

const RANGE: &str = "smallest to largest";
const TAKEN: &str = "excursion, CPU taken by others";
const OTHER: &str = "excursion, other cause";
const UNWATCHED: &str = "excursion";
const UNANSWERED: &str = "unanswered";
const GAP: &str = "gap of the CPU sentinel";
const CLOCK: &str = "clock event";
const NEXT_TRIAL: &str = "next trial";

/// What is drawn, and in which colour.
const KINDS: [(&str, &str); 7] = [
    (RANGE, "#7f9fb8"),
    (TAKEN, "#d55e00"),
    (OTHER, "#0072b2"),
    (UNWATCHED, "#009e73"),
    (UNANSWERED, "#b5179e"),
    (GAP, "#7a4a00"),
    (CLOCK, "#5b3fd6"),
];

/// Marks to draw over all panels: more are neither seen apart nor drawn quickly.
const MARKS: usize = 1_000;
/// Stretches of one panel at most: one for every other column of pixels.
const STRETCHES: usize = 320;
/// Excursions of all panels at most.
const EXCURSIONS: usize = 240;
/// Excursions of one panel at most.
const OF_ONE: usize = 60;
/// Stretches of one panel of which each has at most one mark of a kind below.
const BELOW: Nanos = 60;
/// Pixels of a panel from top to bottom: of many, and of one or two.
const HEIGHTS: [u32; 2] = [110, 220];
/// Pixels from the middle of a mark below to the bottom of its panel.
const ABOVE_BOTTOM: u32 = 6;
/// The layer of the marks below.
const MARKS_BELOW: usize = 5;
/// The layer of the dots that stand for strokes without height, ...
const DOTS: usize = 2;
/// ... how large one is, where strokes are many and where they are few, ...
const DOT: [u32; 2] = [8, 36];
/// ... and how many of a panel are few.
const FEW: usize = 60;

impl Figure for TimeSeries {
    fn about(&self, run: &RunData) -> String {
        let [drawn, all] = excursions(run);
        let shown = if drawn < all {
            format!(
                "The worst {drawn} of {} are marked",
                plural(all, "excursion")
            )
        } else {
            format!("{} marked", were(all))
        };
        let panels = drawn_note(run);
        let time = TimeAxis::new(run);
        let (breaks, clock) = (time.breaks_note(run), time.clock_note(run));
        let kinds = kinds(run);
        let is_drawn = |name: &str| kinds.iter().any(|(kind, _)| *kind == name);
        let below = match (is_drawn(GAP), is_drawn(CLOCK)) {
            (true, true) => {
                " Triangles below: gaps of the CPU sentinel, and what happened to the clocks."
            }
            (true, false) => " Triangles below: gaps of the CPU sentinel.",
            (false, true) => " Triangles below: what happened to the clocks.",
            (false, false) => "",
        };
        format!(
            "The trials of each panel end to end{breaks}.{clock} A stroke reaches from the smallest to the largest round trip of its stretch of time. {shown}: beyond the median by four interquartile ranges, at least 10 µs; by less where more than a quarter are held up. Other processes are the cause where they had the CPU for half of what the packet took beyond the median.{below}{panels}"
        )
    }

    fn table(&self, run: &RunData) -> Table {
        let mut table = Table::new(COLUMNS);
        if !run.any_answered() {
            // An axis of delays has no ends; the page says that nothing came back.
            return table;
        }
        let time = TimeAxis::new(run);
        let shown = run.shown_delay();
        let panels = run.drawn_panels();
        for &panel in &panels {
            for bucket in Axis::new(panel, panels.len()).stretches(panel) {
                rows(&mut table, panel, &bucket);
            }
            for excursion in marked(panel, shown, panels.len()) {
                excursion_row(&mut table, panel, shown, excursion);
            }
            for mark in happened(panel).iter() {
                mark_row(&mut table, panel, mark);
            }
            for t in time.breaks(run, panel) {
                table.row_of([
                    ("panel", json!(panel.label)),
                    ("kind", json!(NEXT_TRIAL)),
                    ("t_s", seconds(t)),
                ]);
            }
        }
        table
    }

    fn spec(&self, run: &RunData, table: &Table) -> Value {
        let mut spec = parse(include_str!("specs/time_series.json"));
        let strokes = table.rows.iter().filter(|row| row[1] == RANGE).count();
        let dot = DOT[usize::from(strokes <= FEW * run.drawn_panels().len())];
        spec["spec"]["layer"][DOTS]["mark"]["size"] = json!(dot);
        let there = kinds(run);
        let domain: Vec<_> = there.iter().map(|(kind, _)| kind).collect();
        let range: Vec<_> = there.iter().map(|(_, colour)| colour).collect();
        spec["spec"]["encoding"]["color"]["scale"] = json!({ "domain": domain, "range": range });
        let panels = run.drawn_panels();
        order_panels(&mut spec["facet"], &labels(&panels));
        let height = HEIGHTS[usize::from(panels.len() < 3)];
        spec["spec"]["height"] = json!(height);
        // An expression would know the height of the whole drawing alone, and not that of a panel.
        let below = &mut spec["spec"]["layer"][MARKS_BELOW]["encoding"]["y"];
        below["value"] = json!(height - ABOVE_BOTTOM);
        let time = TimeAxis::new(run);
        spec["transform"][0]["calculate"] = json!(time.words("datum.t_s", "datum.panel", true));
        time.encode(&mut spec, "zoom_t_s");
        let shown = run.shown_delay();
        let delays = panels.iter();
        let delays = delays.filter_map(|panel| shown.distribution(&panel.summary));
        let least = delays.clone().map(|delays| delays.min).min().unwrap_or(1);
        let most = delays.map(|delays| delays.max).max().unwrap_or(1);
        let y = &mut spec["spec"]["encoding"]["y"];
        axis::of_delays(y, "Round trip", least, most);
        // Marks at either end are not cut.
        y["scale"]["padding"] = json!(7);
        if let Some(scale) = y["scale"].as_object_mut() {
            scale.remove("domain");
        }
        spec
    }
}

/// The stretches of time that one panel shows apart.
struct Axis {
    /// Length of a stretch.
    width: Nanos,
}

impl Axis {
    fn new(panel: &Panel, panels: usize) -> Self {
        let end = panel.sketch.length();
        let stretches = (MARKS / panels.max(1)).min(STRETCHES) as Nanos;
        Self {
            width: end / stretches.max(1) + 1,
        }
    }

    /// The panel's stretches, as long as this axis can show apart.
    fn stretches(&self, panel: &Panel) -> Vec<Bucket> {
        let mut stretches: BTreeMap<Nanos, Bucket> = BTreeMap::new();
        for bucket in panel.sketch.shown().series() {
            let place = stretches.entry(bucket.first / self.width);
            place
                .and_modify(|there| *there = there.and(bucket))
                .or_insert(*bucket);
        }
        stretches.into_values().collect()
    }
}

/// Of a stretch: its range, and what was not answered.
fn rows(table: &mut Table, panel: &Panel, bucket: &Bucket) {
    let t = seconds(bucket.first + (bucket.last - bucket.first) / 2);
    let mut row = |kind: &str, range: Option<(Nanos, Nanos)>, packets: u64| {
        let (low, high) = range.unzip();
        table.row_of([
            ("panel", json!(panel.label)),
            ("kind", json!(kind)),
            ("t_s", t.clone()),
            ("low_ns", json!(low)),
            ("high_ns", json!(high)),
            ("packets", json!(packets)),
        ]);
    };
    if bucket.answered > 0 {
        row(RANGE, bucket.range, bucket.answered);
    }
    if bucket.unanswered > 0 {
        row(UNANSWERED, None, bucket.unanswered);
    }
}

fn excursion_row(table: &mut Table, panel: &Panel, shown: ShownDelay, excursion: &Excursion) {
    table.row([
        json!(panel.label),
        json!(kind(panel, shown, excursion)),
        seconds(excursion.t),
        json!(excursion.delay),
        json!(excursion.delay),
        json!(1),
        json!(excursion.trial),
        json!(excursion.seq),
        json!(excursion.noise_ns),
        json!(excursion.noise_who),
    ]);
}

/// What happened to the host, thinned to what can be seen apart.
fn happened(panel: &Panel) -> Marks {
    let end = panel.sketch.marks().map(|mark| mark.t).max().unwrap_or(0);
    let mut marks = Marks::of_width(end / BELOW + 1);
    panel
        .sketch
        .marks()
        .for_each(|mark| marks.push(mark.clone()));
    marks
}

fn mark_row(table: &mut Table, panel: &Panel, mark: &Mark) {
    let (kind, what) = match mark.kind {
        Happening::SentinelGap => (GAP, None),
        Happening::Step => (CLOCK, Some("the real-time clock was set")),
        Happening::Suspend => (CLOCK, Some("the host was suspended")),
        Happening::SlowClockRead => (CLOCK, Some("a slow read")),
    };
    table.row_of([
        ("panel", json!(panel.label)),
        ("kind", json!(kind)),
        ("t_s", seconds(mark.t)),
        ("packets", json!(mark.count)),
        ("noise_ns", json!(mark.length)),
        ("who", json!(what)),
    ]);
}

/// Other processes are the cause where they had the CPU for at least half of what the packet took beyond the
/// median.
fn kind(panel: &Panel, shown: ShownDelay, excursion: &Excursion) -> &'static str {
    let median = shown.distribution(&panel.summary).map_or(0, |d| d.p50);
    let excess = excursion.delay.saturating_sub(median);
    match excursion.noise_ns {
        Some(ns) if ns >= excess / 2 => TAKEN,
        Some(_) => OTHER,
        None => UNWATCHED,
    }
}

/// The excursions that are drawn of a panel beside others; `panels` counts all of them.
fn marked(panel: &Panel, shown: ShownDelay, panels: usize) -> &[Excursion] {
    let most = (EXCURSIONS / panels.max(1)).clamp(1, OF_ONE);
    let bound = panel.bound(shown);
    let beyond = bound.map(|bound| panel.sketch.shown().excursions(bound));
    let beyond = beyond.unwrap_or_default();
    &beyond[..beyond.len().min(most)]
}

/// How many are drawn, and how many there are.
fn excursions(run: &RunData) -> [u64; 2] {
    let shown = run.shown_delay();
    let panels = run.drawn_panels();
    let drawn = panels.iter();
    let drawn = drawn.map(|panel| marked(panel, shown, panels.len()).len() as u64);
    let all = panels.iter().filter_map(|panel| {
        let bound = panel.bound(shown)?;
        Some(panel.sketch.shown().delays.count_beyond(bound))
    });
    [drawn.sum(), all.sum()]
}

fn were(count: u64) -> String {
    match count {
        0 => "No excursion is".to_owned(),
        1 => "The one excursion is".to_owned(),
        _ => format!("All {count} excursions are"),
    }
}

/// The kinds that occur, in their fixed order.
fn kinds(run: &RunData) -> Vec<(&'static str, &'static str)> {
    let shown = run.shown_delay();
    let panels = run.drawn_panels();
    let buckets = || {
        let sketches = panels.iter().map(|panel| panel.sketch.shown());
        sketches.flat_map(|sketch| sketch.series())
    };
    let occurs = |name: &str| match name {
        RANGE => buckets().any(|bucket| bucket.range.is_some()),
        UNANSWERED => buckets().any(|bucket| bucket.unanswered > 0),
        GAP | CLOCK => panels
            .iter()
            .flat_map(|panel| panel.sketch.marks())
            .any(|mark| (mark.kind == Happening::SentinelGap) == (name == GAP)),
        _ => panels.iter().any(|panel| {
            let mut marked = marked(panel, shown, panels.len()).iter();
            marked.any(|excursion| kind(panel, shown, excursion) == name)
        }),
    };
    KINDS.into_iter().filter(|(name, _)| occurs(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_view::run::samples::runs;

    #[test]
    fn who_had_the_cpu_long_enough_is_to_blame() {
        let [(_, run), ..] = runs();
        let panel = &run.panels[0];
        let median = panel.summary.response.as_ref().map_or(0, |d| d.p50);
        let taken = |noise_ns| {
            let excursion = Excursion {
                trial: 0,
                probe: 0,
                seq: 0,
                t: 0,
                delay: median + 1_000_000,
                noise_ns,
                noise_who: None,
            };
            kind(panel, ShownDelay::Response, &excursion)
        };
        let noise = [Some(900_000), Some(500_000), Some(499_999), Some(0), None];
        assert_eq!(noise.map(taken), [TAKEN, TAKEN, OTHER, OTHER, UNWATCHED]);
    }

    #[test]
    fn marks_below_are_in_their_panel() {
        for (name, run) in runs() {
            let spec = TimeSeries.spec(&run, &TimeSeries.table(&run));
            let layer = &spec["spec"]["layer"][MARKS_BELOW];
            let drawn = layer["transform"][0]["filter"].as_str();
            assert!(drawn.is_some_and(|drawn| drawn.contains(GAP) && drawn.contains(CLOCK)));
            let height = spec["spec"]["height"].as_u64();
            let bottom = layer["encoding"]["y"]["value"].as_u64().map(|y| y + 6);
            assert_eq!((bottom, bottom.is_some()), (height, true), "{name}");
        }
    }

    /// A dot of a pixel on an empty plot is not seen.
    #[test]
    fn few_packets_are_large_dots() {
        let dot = |run: &RunData| {
            let spec = TimeSeries.spec(run, &TimeSeries.table(run));
            let layer = &spec["spec"]["layer"][DOTS];
            assert!(layer["mark"]["type"] == "circle");
            layer["mark"]["size"].clone()
        };
        assert_eq!(dot(&delaylab_view::run::samples::waits()), DOT[0]);
        assert_eq!(dot(&delaylab_view::run::samples::sizes()), DOT[1]);
    }

    #[test]
    fn no_extreme_is_lost() {
        for (name, run) in runs() {
            let table = TimeSeries.table(&run);
            assert!(table.rows.len() <= MARKS + run.drawn_panels().len() * (OF_ONE + STRETCHES));
            let shown = run.shown_delay();
            for panel in run.drawn_panels() {
                let Some(delays) = shown.distribution(&panel.summary) else {
                    continue;
                };
                let ranges = table.rows.iter();
                let ranges = ranges.filter(|row| row[0] == panel.label.as_str() && row[1] == RANGE);
                let low = ranges.clone().filter_map(|row| row[3].as_i64()).min();
                let high = ranges.filter_map(|row| row[4].as_i64()).max();
                assert_eq!((low, high), (Some(delays.min), Some(delays.max)), "{name}");
            }
        }
    }
}
