//! Cumulative distributions over each other: a line for each level of one factor, a panel for each combination of
//! the others. The figure that a report begins with.

use super::axis;
use super::by_probe;
use super::course::{counted, course};
use super::{
    Figure, NO_ANSWER, Table, WIDTH, even_columns, left_out, line_name, not_drawn, order_panels,
    parse, pooled_note, shown_together,
};
use delaylab_model::Nanos;
use delaylab_model::plan::{Factor, levels_in_words};
use delaylab_model::words::capitalised;
use delaylab_stats::cumulative::Cumulative as Bounds;
use delaylab_stats::summary::{Distribution, Summary};
use delaylab_view::run::panels::beside_probes;
use delaylab_view::run::{Delays, Group, Panel, RunData, ShownDelay};
use serde_json::{Value, json};
use std::iter::once;

pub(super) struct Cumulative;

const COLUMNS: [&str; 8] = [
    "panel",
    "group",
    "value_ns",
    "at_or_below",
    "low",
    "high",
    "quantile",
    "packets",
];

/// Lines of a panel at most: as many as there are colours.
const LINES: usize = 8;
/// Panels beside each other at most.
const PANEL_COLUMNS: usize = 3;
/// Pixels that one needs for its axis.
const MARGIN: usize = 48;

impl Figure for Cumulative {
    fn name(&self) -> &'static str {
        "cumulative"
    }

    fn title(&self) -> &'static str {
        "Delays: cumulative distribution"
    }

    fn about(&self, run: &RunData) -> String {
        let lines = lines(run);
        let what = match delay(run) {
            ShownDelay::Response => {
                "response (from when a packet was due until its reply was read)"
            }
            ShownDelay::RoundTrip => "round trip",
        };
        let count =
            |line: &Line<'_>| -> u64 { counted(line.delays.iter().copied()).values().sum() };
        let (answered, silent): (Vec<_>, Vec<_>) = lines
            .iter()
            .map(|line| (count(line), line))
            .partition(|(count, _)| *count > 0);
        let silent: Vec<_> = silent.into_iter().map(|(_, line)| line.label()).collect();
        let silent = left_out(NO_ANSWER, &silent);
        let answered = answered.into_iter().map(|(count, _)| count);
        let n = match (answered.clone().min(), answered.max()) {
            (Some(least), Some(most)) if least < most => {
                format!("{least} to {most}")
            }
            (_, most) => most.unwrap_or(0).to_string(),
        };
        let mut bounds = lines.iter().filter_map(|line| line.cumulative);
        let bands = bounds.any(|bounds| bounds.half_widths(&[0]).is_some());
        let bands = match bands {
            true => {
                " A band holds the share of all such packets with 95 % confidence, point by point; it is made of trials or, of fewer than three, of stretches of time, as packets depend on each other."
            }
            false => "",
        };
        let more = lines.iter().filter(|line| line.colour >= LINES).count();
        let more = not_drawn(more, "line");
        let pooled = match by_group(run) {
            true => shown_together(run, &beside_probes(&run.groups).1),
            false => pooled_note(run),
        };
        let marked = marked(&lines, delay(run));
        format!(
            "The share of the answered packets whose {what} is at most so long, of {n} packets a line.{marked}{bands}{pooled}{more}{silent}"
        )
    }

    fn table(&self, run: &RunData) -> Table {
        let mut table = Table::new(&COLUMNS);
        let delay = delay(run);
        // Frames that all take the same time are a number, and no line.
        let ends = ends(run);
        if ends.is_none_or(|(least, most)| most - least <= 1) {
            return table;
        }
        for line in lines(run).iter().filter(|line| line.colour < LINES) {
            rows(&mut table, line, delay);
        }
        table
    }

    fn spec(&self, run: &RunData, _: &Table) -> Value {
        let mut spec = parse(include_str!("specs/cumulative.json"));
        let lines = lines(run);
        let panels = distinct(&lines, |l| &l.panel);
        let groups = spread(distinct(&lines, |l| &l.name));
        let columns = even_columns(&panels, PANEL_COLUMNS);
        spec["columns"] = json!(columns);
        spec["spec"]["width"] = json!(WIDTH / columns - MARGIN);
        spec["spec"]["height"] = json!(if columns == 1 { 260 } else { 200 });
        order_panels(&mut spec["facet"], &panels);
        let encoding = &mut spec["spec"]["encoding"];
        encoding["color"]["scale"] = json!({ "domain": groups, "range": "category" });
        if groups.len() < 2 {
            encoding["color"]["legend"] = Value::Null;
        }
        let title = capitalised(delay(run).name(run.ways()));
        let (least, most) = ends(run).unwrap_or((1, 1));
        let x = &mut encoding["x"];
        axis::of_delays(x, &title, least, most);
        if let Some(ticks) = x["axis"].get("values") {
            x["axis"]["values"] = axis::ticks_of_all("zoom_value_ns", &ticks.to_string());
        }
        spec
    }
}

/// A line of a panel.
struct Line<'a> {
    /// Which panel: the levels of the other factors.
    panel: String,
    /// Which of the levels that have colours.
    colour: usize,
    /// That level.
    name: String,
    /// Its delays, in one or more pieces.
    delays: Vec<&'a Delays>,
    /// What bounds another run's; not of probes beside each other.
    cumulative: Option<&'a Bounds>,
    /// Of all of them, where there is one.
    summary: Option<&'a Summary>,
}

impl Line<'_> {
    /// What tells it from the others.
    fn label(&self) -> String {
        let parts = [self.panel.as_str(), self.name.as_str()];
        let known = parts.into_iter().filter(|part| !part.is_empty());
        known.collect::<Vec<_>>().join(", ")
    }
}

/// Where panels have all probes together, what each met is of the groups: their round trips.
fn by_group(run: &RunData) -> bool {
    run.pooled.iter().any(|name| name == "probe")
}

/// What is drawn.
fn delay(run: &RunData) -> ShownDelay {
    match by_group(run) {
        true => ShownDelay::RoundTrip,
        false => run.shown_delay(),
    }
}

/// A line for each panel of the run, or for each probe under the levels that are told apart: the levels of one factor
/// have colours.
fn lines(run: &RunData) -> Vec<Line<'_>> {
    let mut lines = match by_group(run) {
        true => lines_of_groups(run),
        false => lines_of_panels(run),
    };
    let names = spread(distinct(&lines, |line| &line.name));
    for line in &mut lines {
        let colour = names.iter().position(|name| *name == line.name);
        line.colour = colour.unwrap_or(LINES);
    }
    lines
}

/// At most as many as there are colours; of more, the first, the last and those evenly between: they are in order.
fn spread(names: Vec<String>) -> Vec<String> {
    let count = names.len();
    let is_drawn =
        |k: usize| count <= LINES || (0..LINES).any(|c| c * (count - 1) / (LINES - 1) == k);
    let numbered = names.into_iter().enumerate();
    numbered
        .filter(|(k, _)| is_drawn(*k))
        .map(|(_, name)| name)
        .collect()
}

fn lines_of_panels(run: &RunData) -> Vec<Line<'_>> {
    let coloured = coloured(run);
    let delay = delay(run);
    let line = |panel: &'_ Panel| {
        let is_coloured = |factor: &&Factor| Some(&factor.0) == coloured.as_ref();
        let level = panel.factors.iter().find(is_coloured);
        let others = panel.factors.iter().filter(|factor| !is_coloured(factor));
        (
            levels_in_words(others, None),
            line_name(level.map_or(&[], std::slice::from_ref)),
        )
    };
    let lines = run.panels.iter().map(|of| {
        let (panel, name) = line(of);
        let (delays, cumulative) = of.sketch.shown(delay);
        Line {
            panel,
            colour: 0,
            name,
            delays: vec![delays],
            cumulative: Some(cumulative),
            summary: Some(&of.summary),
        }
    });
    lines.collect()
}

fn lines_of_groups(run: &RunData) -> Vec<Line<'_>> {
    let probes = run.probes();
    let panels = by_probe::panels(run).into_iter();
    let lines = panels.flat_map(|panel| {
        let line = move |probe: &&str| line_of_groups(&panel, probe);
        probes.iter().filter_map(line).collect::<Vec<_>>()
    });
    lines.collect()
}

/// `None` where the panel does not have this probe.
fn line_of_groups<'a>(panel: &by_probe::ProbePanel<'a>, probe: &str) -> Option<Line<'a>> {
    let groups = panel.groups.iter().filter(|group| group.probe == probe);
    let groups: Vec<&'a Group> = groups.copied().collect();
    Some(Line {
        panel: panel.label.clone(),
        colour: 0,
        name: groups.first()?.probe.clone(),
        delays: groups.iter().map(|group| &group.round_trips).collect(),
        cumulative: None,
        summary: match groups.as_slice() {
            [only] => Some(&only.summary),
            _ => None,
        },
    })
}

/// The factor whose levels are compared in each panel: cases, else probes, else the first one.
fn coloured(run: &RunData) -> Option<String> {
    let factors = &run.panels.first()?.factors;
    let has = |name: &str| factors.iter().find(|(known, _)| known == name);
    let chosen = has("case").or_else(|| has("probe")).or(factors.first());
    chosen.map(|(name, _)| name.clone())
}

fn distinct<'a>(lines: &'a [Line<'_>], of: impl Fn(&'a Line<'_>) -> &'a String) -> Vec<String> {
    let mut distinct: Vec<String> = Vec::new();
    for text in lines.iter().map(of) {
        if !distinct.contains(text) {
            distinct.push(text.clone());
        }
    }
    distinct
}

/// The least and the largest delay of all lines.
fn ends(run: &RunData) -> Option<(Nanos, Nanos)> {
    let delay = delay(run);
    let summaries = run.panels.iter().map(|panel| &panel.summary);
    let known = summaries.filter_map(|summary| delay.distribution(summary));
    let least = known.clone().map(|d| d.min).min()?;
    Some((least, known.map(|d| d.max).max()?))
}

fn rows(table: &mut Table, line: &Line<'_>, delay: ShownDelay) {
    let values = counted(line.delays.iter().copied());
    let packets: u64 = values.values().sum();
    let points = course(&values);
    let at: Vec<Nanos> = points.iter().map(|point| point.value).collect();
    let halves = line.cumulative.and_then(|bounds| bounds.half_widths(&at));
    // Where the line rises from nothing there is no band.
    let half = |k: usize| {
        halves
            .as_ref()
            .and_then(|halves| halves.get(k))
            .filter(|_| k > 0)
    };
    for (k, point) in points.iter().enumerate() {
        let end = |sign: f64| {
            half(k).map_or(Value::Null, |half| {
                let end = point.at_or_below + sign * half;
                json!(rounded(end.clamp(0.0, 1.0)))
            })
        };
        table.row([
            json!(line.panel),
            json!(line.name),
            json!(point.value),
            json!(rounded(point.at_or_below)),
            end(-1.0),
            end(1.0),
            Value::Null,
            json!(packets),
        ]);
    }
    for (name, share, value) in marks(line.summary.and_then(|all| delay.distribution(all))) {
        table.row([
            json!(line.panel),
            json!(line.name),
            json!(value),
            json!(share),
            Value::Null,
            Value::Null,
            json!(name),
            json!(packets),
        ]);
    }
}

/// Shares to more digits are bytes that nobody sees.
fn rounded(share: f64) -> f64 {
    (share * 1e6).round() / 1e6
}

/// The quantiles that have a mark, where there are enough packets for them.
fn marks(
    delays: Option<&Distribution>,
) -> impl Iterator<Item = (&'static str, f64, Nanos)> + Clone {
    let marks = delays.map(|delays| {
        let p99 = delays.carried_p99().map(|p99| ("p99", 0.99, p99));
        once(("p50", 0.5, delays.p50)).chain(p99)
    });
    marks.into_iter().flatten()
}

/// ` Dots: medians; diamonds: p99.`, as far as there are any.
fn marked(lines: &[Line<'_>], delay: ShownDelay) -> &'static str {
    let summaries = lines.iter().filter_map(|line| line.summary);
    let mut drawn = summaries.flat_map(|all| marks(delay.distribution(all)));
    match drawn.clone().any(|(name, ..)| name == "p99") {
        true => " Dots: medians; diamonds: p99.",
        false if drawn.next().is_some() => " Dots: medians.",
        false => "",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_model::plan::Level;
    use delaylab_view::run::samples::{bare, classes, waits};

    #[test]
    fn one_factor_has_colours_and_all_else_has_panels() {
        let run = waits();
        let spec = Cumulative.spec(&run, &Cumulative.table(&run));
        let domain = &spec["spec"]["encoding"]["color"]["scale"]["domain"];
        let first = distinct(&lines(&run), |line| &line.name);
        assert_eq!(domain, &json!(first));
        // Close up there may be none of the ticks of all.
        let ticks = &spec["spec"]["encoding"]["x"]["axis"]["values"]["expr"];
        let ticks = ticks.as_str().unwrap();
        assert!(ticks.starts_with("zoom_value_ns ? null : ["), "{ticks}");
        let panels = distinct(&lines(&run), |line| &line.panel);
        assert_eq!(panels.len() * first.len(), run.panels.len());
    }

    #[test]
    fn probes_are_never_put_together() {
        let run = classes();
        assert!(by_group(&run));
        let names = distinct(&lines(&run), |line| &line.name);
        assert_eq!(names, run.probes());
        let all: u64 = lines(&run)
            .iter()
            .map(|line| counted(line.delays.iter().copied()).values().sum::<u64>())
            .sum();
        let received = run.groups.iter().map(|group| group.summary.counts.received);
        assert_eq!(all, received.sum::<u64>());
    }

    #[test]
    fn levels_that_lines_of_probes_put_together_are_named() {
        let mut run = classes();
        for (group, size) in run.groups.iter_mut().zip(0..) {
            let level = Level::named(format!("{size}B"));
            group.factors.push(("size".to_owned(), level));
        }
        let (_, pooled) = beside_probes(&run.groups);
        assert!(!pooled.is_empty());
        let about = Cumulative.about(&run);
        let named = format!("All levels of {} are shown together", pooled.join(" and "));
        assert!(about.contains(&named), "{about}");
    }

    #[test]
    fn of_more_levels_than_colours_the_first_the_last_and_some_between_are_drawn() {
        let names = |count: usize| (0..count).map(|k| k.to_string()).collect::<Vec<_>>();
        assert_eq!(spread(names(8)), names(8));
        let drawn = spread(names(22));
        assert_eq!(drawn, ["0", "3", "6", "9", "12", "15", "18", "21"]);
        assert_eq!(spread(names(9)).len(), LINES);
    }

    #[test]
    fn the_caption_names_the_marks_that_are_drawn_and_no_others() {
        let run = waits();
        assert!(Cumulative.about(&run).contains(" Dots: medians;"));
        let mut run = waits();
        for panel in &mut run.panels {
            panel.summary.response = None;
            panel.summary.round_trip = None;
        }
        let about = Cumulative.about(&run);
        assert!(
            !about.contains("Dots") && !about.contains("Diamonds"),
            "{about}"
        );
    }

    #[test]
    fn every_line_has_its_median_and_begins_at_nothing() {
        let run = waits();
        let table = Cumulative.table(&run);
        for line in lines(&run) {
            let of_line = table.rows.iter();
            let of_line = of_line.filter(|row| row[0] == line.panel && row[1] == line.name);
            let of_line: Vec<_> = of_line.collect();
            assert_eq!(of_line[0][3], json!(0.0));
            let median = of_line.iter().find(|row| row[6] == "p50").unwrap();
            let delays = delay(&run).distribution(line.summary.unwrap());
            assert_eq!(median[2], json!(delays.unwrap().p50));
        }
    }

    #[test]
    fn a_band_holds_its_line() {
        let run = bare();
        let table = Cumulative.table(&run);
        let number = |row: &[Value], column: usize| row[column].as_f64();
        for row in table.rows.iter().filter(|row| !row[4].is_null()) {
            let [share, low, high] = [3, 4, 5].map(|column| number(row, column).unwrap());
            // A bin is as wide as its error.
            assert!(low <= share + 0.02 && share <= high + 0.02, "{row:?}");
        }
    }
}
