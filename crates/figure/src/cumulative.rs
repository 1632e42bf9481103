//! Cumulative distributions over each other: a line for each level of one factor, a panel for each combination of
//! the others. The figure that a report begins with.

use super::axis;
use super::course::{counted, course};
use super::{
    Figure, NO_ANSWER, Table, WIDTH, even_columns, fits, left_out, line_name, not_drawn,
    order_panels, parse, sizes_note, steps_note, worst_note,
};
use delaylab_model::Nanos;
use delaylab_model::plan::{Factor, levels_in_words};
use delaylab_model::words::capitalised;
use delaylab_stats::summary::{Distribution, Summary};
use delaylab_view::run::panels::{dimensions, drawn, spread};
use delaylab_view::run::{DelaySketch, RunData, ShownDelay};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::iter::once;

pub(super) struct Cumulative;

const COLUMNS: &str = "panel group value_ns at_or_below low high quantile packets";

/// Lines of a panel at most: as many as there are colours.
const LINES: usize = 8;
/// Panels beside each other at most.
const PANEL_COLUMNS: usize = 3;
/// More panels than this are low, or what stands beside them on a page would end far above.
const MANY: usize = 6;
/// Pixels that one needs for its axis.
const MARGIN: usize = 48;

impl Figure for Cumulative {
    fn about(&self, run: &RunData) -> String {
        let lines = lines(run);
        let what = match run.shown_delay() {
            ShownDelay::Response => {
                "response (from when a packet was due until its reply was read)"
            }
            ShownDelay::RoundTrip => "round trip",
        };
        let count = |line: &Line<'_>| -> u64 { counted([&line.sketch.delays]).values().sum() };
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
        let mut bounds = lines.iter().map(|line| &line.sketch.cumulative);
        let bands = bounds.any(|bounds| bounds.half_widths(&[0]).is_some());
        let bands = match bands {
            true => {
                " A band holds the share of all such packets with 95 % confidence, point by point; it is made of trials or, of fewer than three, of stretches of time, as packets depend on each other."
            }
            false => "",
        };
        let more = lines.iter().filter(|line| line.colour >= LINES).count();
        let more = not_drawn(more, "line");
        let panels = [&lines, &every_line(run)].map(|lines| distinct(lines, |l| &l.panel).len());
        let sizes = sizes_note(run, lines.iter().map(|line| line.factors));
        let panels = worst_note(panels, "panels") + &sizes + steps_note(run);
        let marked = marked(&lines, run.shown_delay());
        format!(
            "The share of the answered packets whose {what} is at most so long, of {n} packets a line.{marked}{bands}{panels}{more}{silent}"
        )
    }

    fn table(&self, run: &RunData) -> Table {
        let mut table = Table::new(COLUMNS);
        let delay = run.shown_delay();
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
        let groups = coloured_names(&lines);
        let columns = match panels.len() > MANY {
            true => (1..=PANEL_COLUMNS)
                .rfind(|columns| fits(&panels, *columns))
                .unwrap_or(1),
            false => even_columns(&panels, PANEL_COLUMNS),
        };
        spec["columns"] = json!(columns);
        spec["spec"]["width"] = json!(WIDTH / columns - MARGIN);
        let height = match (columns, panels.len()) {
            (_, panels) if panels > MANY => 110,
            (1, _) => 260,
            _ => 200,
        };
        spec["spec"]["height"] = json!(height);
        order_panels(&mut spec["facet"], &panels);
        let encoding = &mut spec["spec"]["encoding"];
        encoding["color"]["scale"] = json!({ "domain": groups, "range": "category" });
        if groups.len() < 2 {
            encoding["color"]["legend"] = Value::Null;
        }
        let title = capitalised(run.shown_delay().name(run.ways()));
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
    /// Which panel: the levels of the other factors in words.
    panel: String,
    /// These levels.
    others: Vec<Factor>,
    /// Its own and those of its panel.
    factors: &'a [Factor],
    /// Which of the levels that have colours.
    colour: usize,
    /// That level.
    name: String,
    /// Its delays, and what bounds another run's.
    sketch: &'a DelaySketch,
    /// Of all its packets.
    summary: &'a Summary,
}

impl Line<'_> {
    /// What tells it from the others.
    fn label(&self) -> String {
        let parts = [self.panel.as_str(), self.name.as_str()];
        let known = parts.into_iter().filter(|part| !part.is_empty());
        known.collect::<Vec<_>>().join(", ")
    }
}

/// A line for each combination of levels, in a panel for all of them that differ in one factor alone: the levels of that one have
/// colours. Of more panels than anyone reads those with the worst lines.
fn lines(run: &RunData) -> Vec<Line<'_>> {
    let every = every_line(run);
    let panels = distinct(&every, |line| &line.panel);
    let mut lines_of: BTreeMap<&String, Vec<&Line<'_>>> = BTreeMap::new();
    for line in &every {
        lines_of.entry(&line.panel).or_default().push(line);
    }
    let combination = |panel: &String| {
        let lines = lines_of.get(panel).map_or(&[][..], Vec::as_slice);
        let others = lines.first().map(|line| line.others.clone());
        let summaries = lines.iter().map(|line| line.summary).collect();
        (others.unwrap_or_default(), summaries)
    };
    let combinations: Vec<_> = panels.iter().map(combination).collect();
    let shown = drawn(&combinations, run.shown_delay());
    let shown: Vec<&String> = shown.into_iter().map(|place| &panels[place]).collect();
    let mut lines = every;
    lines.retain(|line| shown.contains(&&line.panel));
    let names = coloured_names(&lines);
    for line in &mut lines {
        let colour = names.iter().position(|name| *name == line.name);
        line.colour = colour.unwrap_or(LINES);
    }
    lines
}

/// The names of lines that have colours: of more than there are colours the first, the last and those evenly between.
fn coloured_names(lines: &[Line<'_>]) -> Vec<String> {
    let names = distinct(lines, |line| &line.name);
    let places = spread(names.len(), LINES);
    places.map(|place| names[place].clone()).collect()
}

/// Without colours.
fn every_line(run: &RunData) -> Vec<Line<'_>> {
    let coloured = coloured(run);
    let lines = run.panels.iter().map(|of| {
        let is_coloured = |(name, _): &Factor| Some(name) == coloured.as_ref();
        let factors = of.factors.iter().cloned();
        let (own, others): (Vec<Factor>, Vec<Factor>) = factors.partition(is_coloured);
        Line {
            panel: levels_in_words(&others, None),
            others,
            colour: 0,
            name: line_name(&own),
            factors: &of.factors,
            sketch: of.sketch.shown(),
            summary: &of.summary,
        }
    });
    lines.collect()
}

/// The factor whose levels are compared in each panel: cases, else probes, else the first one. One that has more levels than
/// there are colours stands back.
fn coloured(run: &RunData) -> Option<String> {
    let factors = run.panels.iter().flat_map(|panel| panel.factors.clone());
    let mut levels = dimensions(factors.map(|factor| vec![factor]));
    // A factor that does not vary here, as in a part of a run.
    let first = run.panels.first()?.factors.first();
    let first = first.map(|(name, level)| (name.clone(), vec![level.clone()]));
    if levels.is_empty() {
        levels.extend(first);
    }
    levels.sort_by_key(|(name, levels)| {
        let preferred = ["case", "probe"].iter().position(|known| known == name);
        (levels.len() > LINES, preferred.unwrap_or(usize::MAX))
    });
    levels.into_iter().next().map(|(name, _)| name)
}

fn distinct<'a>(lines: &'a [Line<'_>], of: impl Fn(&'a Line<'_>) -> &'a String) -> Vec<String> {
    let mut known = BTreeSet::new();
    let mut distinct: Vec<String> = Vec::new();
    for text in lines.iter().map(of) {
        if known.insert(text) {
            distinct.push(text.clone());
        }
    }
    distinct
}

/// The least and the largest delay of all lines.
fn ends(run: &RunData) -> Option<(Nanos, Nanos)> {
    let shown = run.shown_delay();
    let lines = lines(run);
    let known = lines
        .iter()
        .filter_map(|line| shown.distribution(line.summary));
    let least = known.clone().map(|d| d.min).min()?;
    Some((least, known.map(|d| d.max).max()?))
}

fn rows(table: &mut Table, line: &Line<'_>, delay: ShownDelay) {
    let values = counted([&line.sketch.delays]);
    let packets: u64 = values.values().sum();
    let points = course(&values);
    let at: Vec<Nanos> = points.iter().map(|point| point.value).collect();
    let halves = line.sketch.cumulative.half_widths(&at);
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
    for (name, share, value) in marks(delay.distribution(line.summary)) {
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
    let summaries = lines.iter().map(|line| line.summary);
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

    /// Three classes beside five loads are fifteen lines, in a panel for each class.
    #[test]
    fn nothing_is_put_together() {
        let run = classes();
        let lines = lines(&run);
        assert_eq!(lines.len(), run.groups.len());
        for (line, group) in lines.iter().zip(&run.groups) {
            assert_eq!(line.summary.counts, group.summary.counts);
        }
        assert_eq!(distinct(&lines, |line| &line.panel).len(), 3);
        let about = Cumulative.about(&run);
        assert!(
            !about.contains("not drawn") && !about.contains("these are"),
            "{about}"
        );
    }

    /// Of forty waits under three conditions: a panel for each wait would be more than anyone reads.
    #[test]
    fn of_many_panels_those_with_the_worst_lines_are_drawn() {
        let mut run = waits();
        let first = run.panels[0].clone();
        run.panels.clear();
        for wait in 0..40 {
            for condition in ["quiet", "normal", "stressed"] {
                let named = |name: &str, level: String| (name.to_owned(), Level::named(level));
                let mut panel = first.clone();
                panel.factors = vec![
                    named("wait", wait.to_string()),
                    named("condition", condition.to_owned()),
                    named("more", (wait % 2).to_string()),
                ];
                let is_slow = wait == 17 && condition == "normal";
                panel.summary.response.as_mut().unwrap().p99 *= if is_slow { 9 } else { 1 };
                run.panels.push(panel);
            }
        }
        let lines = lines(&run);
        assert_eq!(lines.len(), 12 * 3);
        let slow = lines
            .iter()
            .filter(|line| line.panel.starts_with("wait 17,"));
        assert_eq!(slow.count(), 3);
        let about = Cumulative.about(&run);
        assert!(
            about.contains("Of 40 panels these are the 12 with"),
            "{about}"
        );
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
            let delays = run.shown_delay().distribution(line.summary);
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
