//! The figures of a run: each a Vega-Lite specification over a tidy table.
//!
//! A figure is a file here, its specification in `specs/`, and a line in `FIGURES`. The table holds
//! everything that is drawn and is made in Rust; the specification says how, and knows no data.
//!
//! | file | shows |
//! |---|---|
//! | `cumulative.rs` | cumulative distributions over each other, with bands: what a report begins with |
//! | `distribution.rs` | how often each round trip occurred; those far beyond in a bin of their own (source 002) |
//! | `by_probe.rs` | cumulative distributions by probe: round trip, its tail, IPDV (source 004) |
//! | `axis.rs`, `course.rs` | axes of delays, and cumulative distributions in few points: what several figures share |
//! | `clock.rs` | the axis of figures over time: the wall clock, or the time of a simulation |
//! | `size.rs` | round trip against size (source 000) |
//! | `steps.rs` | the steps or the line that were found in delay against size (source 000) |
//! | `causes.rs` | the excess delay of late packets, by cause |
//! | `anatomy.rs` | where the time goes at each quantile |
//! | `series.rs` | queues, rates and windows over time |
//! | `percentiles.rs` | bands of percentiles over the run, and what was lost |
//! | `time_series.rs` | round trips over the run, with excursions and what was seen beside them |
//! | `benchmark.rs` | what a procedure of the device benchmark draws |
//! | `regression.rs` | what a regression leaves of the delay of frames (source 001) |
//! | [`overlay`] | measured and simulated distributions of a calibrated path (source 003); no figure of one run |
//! | [`both_runs`] | the distributions of two runs over each other |
//! | [`quantile_shift`] | how far each quantile moved from one run to another |
//! | `svg` (a feature) | draws any of them as SVG without a browser |
//! | `clock_reads.rs` | what reading the clock costs (source 002, finding 5) |
#![forbid(unsafe_code)]

mod anatomy;
mod axis;
mod benchmark;
pub mod both_runs;
mod by_probe;
mod causes;
mod clock;
mod clock_reads;
mod course;
mod cumulative;
mod distribution;
pub mod overlay;
mod percentiles;
pub mod quantile_shift;
mod regression;
mod script;
mod series;
mod size;
mod steps;
#[cfg(feature = "svg")]
pub mod svg;
mod table;
mod time_series;

pub use script::{PACKED_SCRIPT, SCRIPT};
pub use table::Table;

use delaylab_model::plan::{Factor, levels_in_words};
use delaylab_view::run::groups::WORST;
use delaylab_view::run::parts::{Part, PartContent};
use delaylab_view::run::{Head, Panel, RunData};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// One figure of a run.
trait Figure {
    /// What the reader sees, in a sentence or two.
    fn about(&self, run: &RunData) -> String;
    /// What it draws. Without rows, it has nothing to show of this run.
    fn table(&self, run: &RunData) -> Table;
    /// How that table is drawn: a Vega-Lite specification without data or theme.
    fn spec(&self, run: &RunData, table: &Table) -> Value;
    /// What a page shows of it: the figure where it has something to show, or one for each of what it shows. `names`: its own,
    /// as in [`FIGURES`].
    fn drawings(&self, names: [&str; 2], run: &RunData) -> Vec<Drawing> {
        Drawing::draw(self, names, run).into_iter().collect()
    }
}

/// Every figure, in reading order: the name of its file, without an extension, its heading, and what draws it.
#[rustfmt::skip]
const FIGURES: [([&str; 2], &dyn Figure); 13] = [
    (["benchmark", "Device benchmark"], &benchmark::Benchmark),
    (["cumulative", "Delays: cumulative distribution"], &cumulative::Cumulative),
    (["distribution", "How long round trips take"], &distribution::Distribution),
    (["by_probe", "Probes side by side"], &by_probe::ByProbe),
    (["delay_against_size", "Delay against size"], &size::Size),
    (["steps", "Steps in delay against size"], &steps::Steps),
    (["regression_residuals", "Residuals of the regressions"], &regression::Residuals),
    (["anatomy", "Where the time goes"], &anatomy::Anatomy),
    (["causes", "Excess delay of late packets, by cause"], &causes::Causes),
    (["series", "Queues and rates over time"], &series::Series),
    (["percentiles", "Where most round trips lie, over time"], &percentiles::Percentiles),
    (["time_series", "Round trips over time"], &time_series::TimeSeries),
    (["clock_reads", "What reading the clock costs"], &clock_reads::ClockReads),
];

/// A figure of one run, ready to be drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawing {
    /// Which figure it is.
    pub kind: String,
    /// The name of its file, without an extension.
    pub name: String,
    /// Its heading.
    pub title: String,
    /// What the reader sees.
    pub about: String,
    /// The whole Vega-Lite specification, with its data.
    pub spec: Value,
}

/// The figures of the parts that its experiment asks for, where the run has them, and all others that have
/// something to show of it.
pub fn every_drawing(run: &RunData) -> Vec<Drawing> {
    let parts = run.parts.iter().filter_map(Drawing::of_part);
    parts.chain(drawings(run)).collect()
}

/// The figures that have something to show of this run.
pub fn drawings(run: &RunData) -> Vec<Drawing> {
    let figures = FIGURES.into_iter();
    figures
        .flat_map(|(names, figure)| figure.drawings(names, run))
        .collect()
}

/// The one of this name among `drawings`, every one of the run, or a whole figure of which they show parts.
///
/// # Errors
///
/// What the run has, where it has no such figure.
pub fn named(drawings: &[Drawing], run: &RunData, name: &str) -> Result<Drawing, String> {
    let shown = drawings.iter().find(|one| one.name == name).cloned();
    let found = shown.or_else(|| Drawing::whole(name, run));
    found.ok_or_else(|| {
        let names: Vec<&str> = drawings.iter().map(|one| one.name.as_str()).collect();
        format!(
            "the run has no figure `{name}`: it has {}",
            names.join(", ")
        )
    })
}

impl Drawing {
    /// The whole figure of this name; `None` where there is none, or it has nothing to show.
    fn whole(name: &str, run: &RunData) -> Option<Self> {
        let mut figures = FIGURES.into_iter();
        let (names, figure) = figures.find(|(names, _)| names[0] == name)?;
        Self::draw(figure, names, run)
    }

    /// `None` where the figure has nothing to show.
    fn draw(
        figure: &(impl Figure + ?Sized),
        [name, title]: [&str; 2],
        run: &RunData,
    ) -> Option<Self> {
        let table = figure.table(run);
        if table.rows.is_empty() {
            return None;
        }
        let (about, spec) = (figure.about(run), figure.spec(run, &table));
        Some(Self::finish([name, name, title], about, &table, spec, run))
    }

    /// With the words for the delays that this run measures. The names: of the figure, of the file, and the heading.
    fn finish(
        [kind, name, title]: [&str; 3],
        about: String,
        table: &Table,
        mut spec: Value,
        run: &RunData,
    ) -> Self {
        let (title, about) = (run.delay_words(title), run.delay_words(&about));
        let about = about + run.ways().note();
        run.delay_titles(&mut spec);
        let drawing = Self::new([name, &title], about, table, spec);
        let drawing = drawing.of_run(&run.head);
        Self {
            kind: kind.to_owned(),
            ..drawing
        }
    }

    /// A file of its own says of which run it is.
    fn of_run(mut self, head: &Head) -> Self {
        let words = [&head.name, &head.world, &head.started];
        let known = words.into_iter().filter(|word| !word.is_empty());
        let known: Vec<&str> = known.map(String::as_str).collect();
        self.spec["usermeta"]["run"] = json!(known.join(" · "));
        self
    }

    /// Of a part of a run, as its experiment asks for it; `None` where it is a table, or has nothing to show.
    pub fn of_part(part: &Part) -> Option<Self> {
        let asked = &part.asked;
        let Ok(PartContent::Run(run)) = &part.shown else {
            return None;
        };
        let drawing = Self::whole(asked.draw.name(), run)?;
        let source = asked.shows.as_ref();
        let source = source.map_or_else(String::new, |shows| {
            format!("In the source: {shows} Here: ")
        });
        let about = source + &drawing.about;
        Some(Self {
            name: format!("part-{}", asked.id),
            ..drawing.described(&asked.title, about)
        })
    }

    /// Of a table and a specification without data or theme.
    fn new([name, title]: [&str; 2], about: String, table: &Table, mut spec: Value) -> Self {
        axis::describe(&mut spec);
        spec["$schema"] = json!("https://vega.github.io/schema/vega-lite/v6.json");
        spec["config"] = parse(include_str!("specs/theme.json"));
        spec["data"] = json!({ "values": table.objects() });
        let drawing = Self {
            kind: name.to_owned(),
            name: name.to_owned(),
            title: String::new(),
            about: String::new(),
            spec,
        };
        drawing.described(title, about)
    }

    /// With this heading, in lines for a file of its own, and this description.
    fn described(mut self, title: &str, about: String) -> Self {
        self.spec["usermeta"]["title"] = json!(lines(title));
        self.spec["description"] = json!(format!("{title}. {about}"));
        Self {
            title: title.to_owned(),
            about,
            ..self
        }
    }

    /// The specification with its heading and the name of its run in the drawing, on white: for a file of its own.
    pub fn standalone(&self) -> Value {
        let mut spec = self.spec.clone();
        let words = &spec["usermeta"];
        spec["title"] = json!({ "text": words["title"], "subtitle": words["run"] });
        spec["background"] = json!("white");
        spec
    }
}

/// Letters of a title above the panels.
const TITLE: usize = 64;

/// A title in lines that are no longer than the drawing below.
fn lines(title: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in title.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() < TITLE => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// A specification of ours; a test reads each.
fn parse(spec: &str) -> Value {
    serde_json::from_str(spec).unwrap_or_default()
}

/// Columns of the page that panels side by side may fill.
const WIDTH: usize = 660;

/// Panels beside each other at most.
const MOST_COLUMNS: usize = 4;

/// Sets these panels of a faceted specification beside each other: their order, and their width, where
/// each needs `margin` for its axis.
fn side_by_side(spec: &mut Value, panels: &[&Panel], most_columns: usize, margin: usize) {
    let labels = labels(panels);
    let grid = columns(panels).filter(|columns| fits(&labels, *columns));
    let columns = grid.unwrap_or_else(|| even_columns(&labels, most_columns));
    spec["columns"] = json!(columns);
    spec["spec"]["width"] = json!(WIDTH / columns - margin);
    order_panels(&mut spec["facet"], &labels);
}

/// A letter of a panel's name, in pixels.
const LETTER: usize = 6;

/// Do the names of panels fit beside each other in this number of columns?
fn fits(labels: &[String], columns: usize) -> bool {
    let longest = labels.iter().map(|label| label.chars().count()).max();
    longest.unwrap_or(0) * LETTER <= WIDTH / columns.max(1)
}

/// As many columns as these panels fill, and no more than their names leave room for: a row that is not full has the
/// ticks of its axis below nothing.
fn even_columns(labels: &[String], most: usize) -> usize {
    let most = labels.len().clamp(1, most);
    let fit = || (2..=most).rev().filter(|columns| fits(labels, *columns));
    let full = fit().find(|columns| labels.len().is_multiple_of(*columns));
    full.or_else(|| fit().next()).unwrap_or(1)
}

/// Of two factors or more that are crossed in full: a column for each level of the last one.
fn columns(panels: &[&Panel]) -> Option<usize> {
    let last = panels.iter();
    let last = last.filter_map(|panel| panel.factors.last().filter(|_| panel.factors.len() > 1));
    let levels: BTreeSet<&str> = last
        .clone()
        .map(|(_, level)| level.label.as_str())
        .collect();
    let is_grid = last.count() == panels.len()
        && (2..=MOST_COLUMNS).contains(&levels.len())
        && panels.len().is_multiple_of(levels.len());
    is_grid.then_some(levels.len())
}

/// Panels in the order of their levels; a single one needs no name.
fn order_panels(facet: &mut Value, labels: &[String]) {
    facet["sort"] = json!(labels);
    if labels.len() < 2 {
        facet["header"] = json!({ "labels": false });
    }
}

/// What a line is called: of cases and probes alone the level says it all.
fn line_name(levels: &[Factor]) -> String {
    match levels {
        [(factor, level)] if ["case", "probe"].contains(&factor.as_str()) => level.label.clone(),
        _ => levels_in_words(levels, None),
    }
}

fn labels(panels: &[&Panel]) -> Vec<String> {
    let labels = panels.iter().map(|panel| panel.label.clone());
    labels.collect()
}

/// How many more there are than are drawn, in a sentence with a space before it; empty where there are none.
fn not_drawn(more: usize, what: &str) -> String {
    match more {
        0 => String::new(),
        1 => format!(" 1 more {what} is not drawn."),
        more => format!(" {more} more {what}s are not drawn."),
    }
}

/// Names that a note says; more are counted.
const NAMED: usize = 4;

/// What a figure does not draw and why, in a sentence with a space before it; empty where there is nothing.
fn left_out(why: &str, names: &[String]) -> String {
    let named = match names.len() {
        0 => return String::new(),
        1..=NAMED => names.join("; "),
        count => format!("{count} combinations"),
    };
    format!(" Not drawn, as {why}: {named}.")
}

/// Which panels have no delay to draw, in a sentence.
fn silent_note(run: &RunData) -> String {
    let shown = run.shown_delay();
    let silent = run.drawn_panels().into_iter();
    let silent = silent.filter(|panel| shown.distribution(&panel.summary).is_none());
    left_out(NO_ANSWER, &labels(&silent.collect::<Vec<_>>()))
}

/// Why nothing is drawn of what was lost.
const NO_ANSWER: &str = "nothing was answered";

/// Which panels are drawn, where these are not all, and what each of them holds, in sentences with a space before each.
fn drawn_note(run: &RunData) -> String {
    let drawn = run.drawn_panels();
    let counts = [drawn.len(), run.panels.len()];
    let sizes = sizes_note(run, drawn.iter().map(|panel| panel.factors.as_slice()));
    worst_note(counts, "combinations of levels") + &sizes + steps_note(run)
}

/// Which are drawn, where these are not all.
fn worst_note([drawn, all]: [usize; 2], what: &str) -> String {
    match drawn < all {
        true => format!(" Of {all} {what} these are the {drawn} with the {WORST}."),
        false => String::new(),
    }
}

/// Which sizes are drawn, where these are not all: of many some were chosen first, and the worst are of those.
fn sizes_note<'a>(run: &'a RunData, drawn: impl Iterator<Item = &'a [Factor]>) -> String {
    let Some(sizes) = run.sizes_drawn(drawn) else {
        return String::new();
    };
    let [all, chosen, drawn] = [sizes.all, sizes.chosen, sizes.drawn.len()];
    let labels = sizes.drawn.join(", ");
    match drawn < chosen {
        true => format!(
            " Of {all} sizes {chosen} are among all of these, and these are drawn: {labels}."
        ),
        false => format!(" Of {all} sizes these are drawn: {labels}."),
    }
}

/// The trials of a panel may be steps of a search.
fn steps_note(run: &RunData) -> &'static str {
    let mut trials = run.trials.iter();
    match trials.any(|trial| !trial.stream.steps.is_empty()) {
        true => " All steps of the search are shown together.",
        false => "",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_model::Nanos;
    use delaylab_model::experiment::Draw;
    use delaylab_model::method::Method;
    use delaylab_model::plan::{Level, Unit};
    use delaylab_model::record::{Outcome, Record};
    use delaylab_view::run::samples::runs;
    use delaylab_view::run::{Disturbance, RunDataBuilder, RunStream};

    #[test]
    fn whatever_an_experiment_may_draw_is_a_figure() {
        for draw in Draw::ALL.into_iter().filter(|draw| *draw != Draw::Table) {
            let known = FIGURES.iter().any(|(names, _)| names[0] == draw.name());
            assert!(known, "{}", draw.name());
        }
    }

    /// Of six sizes four have panels, and of these panels the slowest are drawn: none of the smallest size.
    #[test]
    fn the_sizes_in_a_caption_are_those_that_are_drawn() {
        let sizes = [40_u32, 80, 1_000, 5_000, 7_000, 9_000];
        let combinations = sizes
            .iter()
            .flat_map(|size| (0..4).map(move |wait| (*size, wait)));
        let streams = combinations.zip(0..).map(|((size, wait), trial)| {
            let size = Level {
                label: format!("{size}B"),
                value: Some(f64::from(size)),
                unit: Some(Unit::Bytes),
            };
            let wait = Level::named(format!("{wait}"));
            RunStream {
                trial,
                probe: 0,
                frames: false,
                factors: vec![("size".to_owned(), size), ("wait".to_owned(), wait)],
                ..delaylab_view::run::samples::waits().trials[0]
                    .stream
                    .clone()
            }
        });
        let mut builder = RunDataBuilder::new(streams.collect(), &[], 1_000);
        for trial in 0..24 {
            for seq in 0..200 {
                let mut record = Record::due(trial, 0, seq, Method::Udp, 1_000 * seq as Nanos);
                record.t_send = Some(record.t_intended);
                record.t_recv = Some(record.t_intended + 1_000 * (1 + Nanos::from(trial)));
                record.outcome = Outcome::Ok;
                builder.push(&record, Disturbance::default());
            }
            builder.end_trial(trial);
        }
        let run = builder.finish(RunData::default());
        let note = drawn_note(&run);
        assert!(
            note.contains("Of 16 combinations of levels these are the 12"),
            "{note}"
        );
        let says = "Of 6 sizes 4 are among all of these, and these are drawn: 80B, 5000B, 9000B.";
        assert!(note.contains(says), "{note}");
    }

    /// A line that is not there is not seen: what nothing came back of is said in words.
    #[test]
    fn what_nothing_was_answered_of_is_named() {
        let mut run = delaylab_view::run::samples::sizes();
        run.panels[1].summary.response = None;
        run.panels[1].summary.anatomy.clear();
        run.panels[1].sketch = Default::default();
        let label = run.panels[1].label.clone();
        for name in ["cumulative", "anatomy", "distribution"] {
            let mut figures = FIGURES.into_iter();
            let (_, figure) = figures.find(|(names, _)| names[0] == name).unwrap();
            let about = figure.about(&run);
            let (_, silent) = about.split_once("as nothing was answered: ").unwrap();
            let mut levels = label.split(", ");
            assert!(
                levels.all(|level| silent.contains(level)) && !about.contains(" 0 to "),
                "{name}: {about}"
            );
        }
    }

    #[test]
    fn tables_and_specifications_are_as_agreed() {
        for (name, run) in runs() {
            for ([figure_name, _], figure) in FIGURES {
                let table = figure.table(&run);
                let head: Vec<_> = table.rows.iter().take(12).collect();
                let shown = json!({
                    "about": figure.about(&run),
                    "columns": table.columns,
                    "rows": table.rows.len(),
                    "first": head,
                    "spec": figure.spec(&run, &table),
                });
                insta::assert_json_snapshot!(format!("{name}_{figure_name}"), shown);
            }
        }
    }

    /// Whatever this specification has under one of these names.
    fn said(spec: &Value, names: &[&str]) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let inner: Vec<(Option<&String>, &Value)> = match spec {
            Value::Object(fields) => fields.iter().map(|(name, of)| (Some(name), of)).collect(),
            Value::Array(items) => items.iter().map(|item| (None, item)).collect(),
            _ => Vec::new(),
        };
        for (name, value) in inner {
            if name.is_some_and(|name| names.contains(&name.as_str())) {
                let texts = value
                    .as_array()
                    .map_or(std::slice::from_ref(value), Vec::as_slice);
                found.extend(texts.iter().filter_map(Value::as_str).map(str::to_owned));
            }
            found.extend(said(value, names));
        }
        found
    }

    #[test]
    fn every_field_that_is_drawn_is_a_column_or_made_of_some() {
        for (name, run) in runs() {
            for ([figure_name, _], figure) in FIGURES {
                let table = figure.table(&run);
                let spec = figure.spec(&run, &table);
                let columns = table.columns.into_iter();
                let columns = columns.map(str::to_owned);
                let known: BTreeSet<_> = columns.chain(said(&spec, &["as"])).collect();
                let drawn = said(&spec, &["field"]);
                let unknown: Vec<_> = drawn.difference(&known).collect();
                assert!(unknown.is_empty(), "{name}, {figure_name}: {unknown:?}");
            }
        }
    }

    /// Names of channels and of scales that are null, which the schema of Vega-Lite refuses.
    fn nulls(spec: &Value, of: &str, found: &mut BTreeSet<String>) {
        let checked = ["encoding", "scale"].contains(&of);
        for (name, value) in spec.as_object().into_iter().flatten() {
            if checked && value.is_null() && name != "tooltip" {
                found.insert(format!("{of}.{name}"));
            }
            nulls(value, name, found);
        }
        for item in spec.as_array().into_iter().flatten() {
            nulls(item, "", found);
        }
    }

    /// What a notebook draws them with reads them by the schema.
    #[test]
    fn no_channel_is_null() {
        let mut found = BTreeSet::new();
        for (_, run) in runs() {
            for drawing in every_drawing(&run) {
                nulls(&drawing.spec, "", &mut found);
            }
        }
        let shift = parse(include_str!("specs/quantile_shift.json"));
        nulls(&shift, "", &mut found);
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn every_drawing_has_data_a_theme_and_a_sentence() {
        for (name, run) in runs() {
            for drawing in drawings(&run) {
                let values = drawing.spec["data"]["values"].as_array();
                assert!(values.is_some_and(|rows| !rows.is_empty()), "{name}");
                assert!(drawing.spec["config"]["axis"].is_object());
                assert!(drawing.about.ends_with('.'), "{}", drawing.about);
            }
        }
    }

    #[test]
    fn a_long_title_has_lines() {
        let title = "Forwarding delay, TCP's round trip, and the smoothed round trip of the TCP that fills the queue";
        let lines = lines(title);
        assert_eq!(lines.join(" "), title);
        assert!(lines.len() == 2 && lines.iter().all(|line| line.len() <= TITLE));
    }

    #[test]
    fn panels_fill_their_rows_and_names_have_room() {
        let labels = |count: usize, letters: usize| vec!["x".repeat(letters); count];
        for (count, letters, expected) in [
            (1, 5, 1),
            (2, 5, 2),
            (4, 5, 2),
            (5, 5, 3),
            (6, 5, 3),
            (8, 5, 2),
            (12, 40, 2),
            (12, 80, 1),
        ] {
            assert_eq!(
                even_columns(&labels(count, letters), 3),
                expected,
                "{count}"
            );
        }
    }

    #[test]
    fn steps_of_a_search_are_said_and_tell_nothing_apart() {
        let mut run = delaylab_view::run::samples::sizes();
        let step = ("step".to_owned(), delaylab_model::plan::Level::named("17"));
        for trial in &mut run.trials {
            trial.stream.steps.push(step.clone());
        }
        for drawing in drawings(&run) {
            assert!(!drawing.spec.to_string().contains("step 17"));
        }
        let about = cumulative::Cumulative.about(&run);
        assert!(
            about.contains("All steps of the search are shown together"),
            "{about}"
        );
    }

    #[test]
    fn a_run_without_records_has_no_figures() {
        assert_eq!(drawings(&RunData::default()), []);
    }
}
