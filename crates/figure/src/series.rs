//! What was over time: queues, rates, windows. A band from the smallest to the largest of each stretch
//! with its mean as a line, and the threshold and the limit of the queue where they are known.

use super::{Drawing, Figure, Table, even_columns, order_panels, parse};
use delaylab_model::Nanos;
use delaylab_model::plan::{Factor, Unit, levels_in_words};
use delaylab_model::units::{duration_unit, rate_unit};
use delaylab_view::run::{DrawnBy, RunData, SeriesShown, TrialData, parts_of_time};
use delaylab_view::words::plural;
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(super) struct Series;

const COLUMNS: &str = "kind of panel t_s end_s min mean max threshold limit";

/// Stretches to draw over all panels of a page.
const MARKS: usize = 2_400;

impl Figure for Series {
    fn about(&self, run: &RunData) -> String {
        Group::whole(run).about()
    }

    fn table(&self, run: &RunData) -> Table {
        Group::whole(run).table()
    }

    fn spec(&self, run: &RunData, _: &Table) -> Value {
        Group::whole(run).spec()
    }

    /// One for each kind: a run with five kinds and a dozen combinations is a page of panels.
    fn drawings(&self, [kind, _]: [&str; 2], run: &RunData) -> Vec<Drawing> {
        let groups = Group::of_each_kind(run).into_iter();
        let drawing = |group: Group<'_>| {
            let names = [kind, &group.name(), &group.title()];
            Drawing::finish(names, group.about(), &group.table(), group.spec(), run)
        };
        groups.map(drawing).collect()
    }
}

/// What is drawn in one figure: all kinds of series of a run, or one of them.
struct Group<'a> {
    run: &'a RunData,
    /// One of each kind.
    kinds: Vec<&'a SeriesShown>,
    /// Does it say what no figure shows, too?
    tells_of_others: bool,
}

impl<'a> Group<'a> {
    fn whole(run: &'a RunData) -> Self {
        Self {
            run,
            kinds: kinds(run),
            tells_of_others: true,
        }
    }

    /// The first one says what no figure shows.
    fn of_each_kind(run: &'a RunData) -> Vec<Self> {
        let kinds = kinds(run).into_iter().enumerate();
        let group = |(at, kind)| Self {
            run,
            kinds: vec![kind],
            tells_of_others: at == 0,
        };
        kinds.map(group).collect()
    }

    /// `series-backlog`; what counts otherwise under some levels has its unit behind it.
    fn name(&self) -> String {
        let words = self.kinds.iter().map(|kind| self.words(kind, "-"));
        let name = format!("series-{}", words.collect::<Vec<_>>().join("-"));
        name.replace(['/', ' '], "-")
    }

    fn title(&self) -> String {
        let words = self.kinds.iter().map(|kind| self.words(kind, ", in "));
        format!("Over time: {}", words.collect::<Vec<_>>().join(", "))
    }

    /// The name of a kind, with its unit where another one is called so, too.
    fn words(&self, kind: &SeriesShown, between: &str) -> String {
        let mut alike = drawn(self.run).filter(|other| other.series == kind.series);
        match alike.any(|other| other.unit != kind.unit) {
            true => format!("{}{between}{}", kind.series, axis_of(self.run, kind).1),
            false => kind.series.clone(),
        }
    }

    /// Is it of a kind that this figure draws?
    fn has(&self, shown: &SeriesShown) -> bool {
        self.kinds.iter().any(|kind| is_alike(kind, shown))
    }

    fn drawn(&self) -> impl Iterator<Item = &'a SeriesShown> {
        drawn(self.run).filter(|shown| self.has(shown))
    }

    fn about(&self) -> String {
        let run = self.run;
        let names = self.kinds.iter().map(|kind| {
            let alike = drawn(run).filter(|shown| is_alike(shown, kind));
            let of = SeriesShown::ports_or_flows(alike).unwrap_or_default();
            format!("{} of {of}", self.words(kind, " in "))
        });
        let names: Vec<_> = names.collect();
        let of_kinds = run.series.iter().filter(|shown| self.has(shown));
        // Not those that are drawn: what is always 0, or full, has its own note.
        let taken = of_kinds.clone().filter(|shown| !shown.stretches.is_empty());
        let taken = SeriesShown::combinations(taken, &run.levels).len();
        let combinations = SeriesShown::combinations(of_kinds, &run.levels).len();
        let by = DrawnBy::from_series(run.series.iter().map(|shown| shown.series.as_str()));
        let some = match combinations > taken {
            true => format!(
                " Of {combinations} combinations of levels {}.",
                by.combinations(taken)
            ),
            false => String::new(),
        };
        let one = match run.trials.iter().any(is_another) {
            true => format!(" Of the repeats of each {} is drawn.", by.repeat()),
            false => String::new(),
        };
        let left_out = self.left_out_note();
        let dashes = self.dashes_note();
        let names = match &names[..] {
            [name] => name.clone(),
            names => format!(
                "{}: {}",
                plural(names.len() as u64, "kind"),
                names.join(", ")
            ),
        };
        format!(
            "{names}. A band reaches from the smallest to the largest value in each stretch of time, the line is the mean{dashes}; warm-up is included.{some}{one}{left_out}"
        )
    }

    fn table(&self) -> Table {
        let run = self.run;
        let mut table = Table::new(COLUMNS);
        let varied = run.varied();
        let most = (MARKS / drawn(run).count().max(1)).max(16);
        for shown in self.drawn() {
            let label = label(&varied, shown);
            let (one, unit) = axis_of(run, shown);
            let axes = Axes {
                start: start(run, shown.trial),
                kind: axis_title(shown, unit),
                one,
            };
            for points in parts_of_time(&shown.stretches, most) {
                table.row(row(shown, &label, points, &axes));
            }
        }
        table
    }

    fn spec(&self) -> Value {
        let of_kind = |(at, shown): (usize, &&SeriesShown)| {
            let labels = labels(self.run, shown);
            let mut spec = parse(include_str!("specs/series.json"));
            let title = axis_title(shown, axis_of(self.run, shown).1);
            spec["transform"][0]["filter"]["equal"] = json!(title);
            spec["spec"]["encoding"]["y"]["title"] = json!(title);
            // A selection of its own for each kind: the page's buttons move all of them at once.
            let name = json!(format!("zoom_{at}"));
            spec["spec"]["layer"][0]["params"][0]["name"] = name;
            let columns = even_columns(&labels, 2);
            spec["columns"] = json!(columns);
            spec["spec"]["width"] = json!(super::WIDTH / columns - 40);
            order_panels(&mut spec["facet"], &labels);
            spec
        };
        let kinds: Vec<Value> = self.kinds.iter().enumerate().map(of_kind).collect();
        json!({ "vconcat": kinds, "spacing": 24 })
    }

    /// Which are left out, where they have points.
    fn left_out_note(&self) -> String {
        let zeros = self.counted(is_zero);
        let zeros = zeros.map(|names| format!(" Always 0, and not drawn: {names}."));
        let full = self.counted(is_full);
        let full = full.map(|names| format!(" 99 % and more on average, and not drawn: {names}."));
        let idle = self.counted(is_idle);
        let idle = idle.map(|names| format!(" Below 1 % on average, and not drawn: {names}."));
        let short = self.counted(is_short);
        let short = short.map(|names| format!(" Never more than 1, and not drawn: {names}."));
        [zeros, full, idle, short].into_iter().flatten().collect()
    }

    /// `acr of 3 combinations`, of those that have points; `None` without any.
    fn counted(&self, is_meant: fn(&SeriesShown) -> bool) -> Option<String> {
        let has_figure = |shown| drawn(self.run).any(|other| is_alike(other, shown));
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for shown in &self.run.series {
            let is_here = self.has(shown) || self.tells_of_others && !has_figure(shown);
            if is_here && is_meant(shown) && !shown.stretches.is_empty() {
                *counts.entry(&shown.series).or_default() += 1;
            }
        }
        let names = counts
            .iter()
            .map(|(series, count)| format!("{series} of {}", plural(*count, "combination")));
        let names: Vec<_> = names.collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// What the dashes are, where there are any.
    fn dashes_note(&self) -> String {
        let any =
            |of: fn(&SeriesShown) -> Option<f64>| self.drawn().any(|shown| of(shown).is_some());
        let threshold =
            any(|shown| shown.threshold).then_some("orange dashes are the switch's threshold");
        let limit = any(near_limit)
            .then_some("red dashes are how much its queue, or each class queue of it, may hold");
        let notes = threshold.into_iter().chain(limit);
        notes.map(|note| format!(", {note}")).collect()
    }
}

/// Are there others with the same levels, be it as repeats or as steps of a search?
fn is_another(trial: &TrialData) -> bool {
    trial.stream.repeat > 0 || !trial.stream.steps.is_empty()
}

/// Those that have something to draw.
fn drawn(run: &RunData) -> impl Iterator<Item = &SeriesShown> {
    let series = run.series.iter();
    let flat = [is_zero, is_full, is_idle, is_short];
    series.filter(move |shown| !flat.iter().any(|is_flat| is_flat(shown)))
}

/// A share whose mean is at least this is all of it, from end to end.
const FULL: f64 = 0.99;

/// A line that is busy all the time is a block without a course: it needs no axis either.
fn is_full(shown: &SeriesShown) -> bool {
    shown.unit == Unit::Share && shown.mean >= FULL
}

/// A line whose mean is below this share of the time is busy for a packet now and then: between them is nothing to see.
const IDLE: f64 = 0.01;

/// A line of which next to nothing is used is a block from 0 to 100 % that says nothing.
fn is_idle(shown: &SeriesShown) -> bool {
    shown.series == "utilisation" && shown.mean < IDLE && !is_zero(shown)
}

/// Nor does a queue of never more than one.
fn is_short(shown: &SeriesShown) -> bool {
    let is_queue = shown.series == "backlog" && matches!(shown.unit, Unit::Cells | Unit::Packets);
    is_queue && shown.max <= 1.0 && !is_zero(shown)
}

/// What is 0 all the time needs no axis.
fn is_zero(shown: &SeriesShown) -> bool {
    shown.stretches.iter().all(|point| point.max == 0.0)
}

/// The levels that tell a combination from the others, and which port is drawn where it is not the usual one: behind a
/// comma, as a page finds levels between those (`web/src/filter.ts`).
fn label(varied: &[&str], shown: &SeriesShown) -> String {
    let told_apart = shown
        .factors
        .iter()
        .filter(|(name, _)| varied.contains(&name.as_str()));
    let label = levels_in_words(told_apart, None);
    let port = shown.is_exception.then(|| shown.of.clone());
    let parts = [label].into_iter().chain(port);
    let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
    parts.join(", ")
}

/// Of those of this kind that are drawn, in order.
fn labels(run: &RunData, kind: &SeriesShown) -> Vec<String> {
    let varied = run.varied();
    let of_kind: Vec<_> = drawn(run).filter(|shown| is_alike(shown, kind)).collect();
    let combinations = SeriesShown::combinations(of_kind.iter().copied(), &run.levels).into_iter();
    let of = |factors: &[Factor]| of_kind.iter().find(|shown| shown.factors == factors);
    let shown = combinations.filter_map(of);
    shown.map(|shown| label(&varied, shown)).collect()
}

/// Do they share an axis? A queue may count cells under some levels, and bytes under others.
fn is_alike(one: &SeriesShown, other: &SeriesShown) -> bool {
    one.series == other.series && one.unit == other.unit
}

/// One of each kind.
fn kinds(run: &RunData) -> Vec<&SeriesShown> {
    let mut kinds: Vec<&SeriesShown> = Vec::new();
    for shown in drawn(run) {
        if !kinds.iter().any(|kind| is_alike(kind, shown)) {
            kinds.push(shown);
        }
    }
    kinds
}

/// What the axis of a kind says.
fn axis_title(kind: &SeriesShown, unit: &str) -> String {
    format!("{} ({unit})", kind.series)
}

/// Where the axes of a panel begin, and what they count.
struct Axes {
    /// Of the trial, on its clock.
    start: Nanos,
    /// What is on the axis.
    kind: String,
    /// So many of the series' unit are one.
    one: f64,
}

fn row(
    shown: &SeriesShown,
    panel: &str,
    points: &[delaylab_model::series::SeriesPoint],
    axes: &Axes,
) -> [Value; 10] {
    let seconds = |ns: Nanos| json!((ns - axes.start) as f64 / 1e9);
    let begin = points.first().map_or(0, |point| point.t);
    let end = points.last().map_or(0, |point| point.t + point.length);
    let least = points
        .iter()
        .map(|point| point.min)
        .fold(f64::INFINITY, f64::min);
    let largest = points
        .iter()
        .map(|point| point.max)
        .fold(f64::NEG_INFINITY, f64::max);
    let area: f64 = points
        .iter()
        .map(|point| point.mean * point.length as f64)
        .sum();
    let scaled = |value: f64| json!(value / axes.one);
    [
        json!(axes.kind),
        json!(shown.of),
        json!(panel),
        seconds(begin),
        seconds(end),
        scaled(least),
        scaled(area / (end - begin).max(1) as f64),
        scaled(largest),
        shown.threshold.map_or(Value::Null, scaled),
        near_limit(shown).map_or(Value::Null, scaled),
    ]
}

/// The limit of the queue, where it comes near: else it would flatten what there is.
fn near_limit(shown: &SeriesShown) -> Option<f64> {
    let largest = shown.stretches.iter().map(|point| point.max);
    let largest = largest.fold(0.0, f64::max);
    shown.limit.filter(|limit| largest >= limit / 4.0)
}

/// How many of a unit are one on an axis, and what that says, where values reach so far: queues are drawn in KiB, times
/// and rates in what has few digits.
fn axis(of: Unit, largest: f64) -> (f64, &'static str) {
    match of {
        Unit::Bytes => (1_024.0, "KiB"),
        Unit::Share => (0.01, "%"),
        Unit::Nanoseconds => duration_unit(largest),
        Unit::BitsPerSecond => rate_unit(largest),
        of => (1.0, unit(of)),
    }
}

/// What one on the axis of this kind is: all its panels share it.
fn axis_of(run: &RunData, shown: &SeriesShown) -> (f64, &'static str) {
    let kind = drawn(run).filter(|other| is_alike(other, shown));
    let points = kind.flat_map(|other| &other.stretches);
    axis(
        shown.unit,
        points.fold(0.0, |most, point| most.max(point.max)),
    )
}

/// When the trial that is drawn begins, on its clock: a testbed's runs since the host was started.
fn start(run: &RunData, trial: u32) -> Nanos {
    let of_trial = drawn(run).filter(|shown| shown.trial == trial);
    let begins = of_trial.flat_map(|shown| &shown.stretches);
    begins.map(|point| point.t).min().unwrap_or(0)
}

/// What an axis says.
pub(super) const fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds => "ns",
        Unit::Bytes => "bytes",
        Unit::BitsPerSecond => "bit/s",
        Unit::Cells => "cells",
        Unit::Packets => "packets",
        Unit::CellsPerSecond => "cells/s",
        Unit::Share => "share",
        Unit::Number => "number",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::svg::Artist;
    use delaylab_model::series::SeriesPoint;
    use delaylab_view::run::samples::runs;

    /// How far to the right each line reaches.
    fn ends_of_lines(svg: &str) -> Vec<f64> {
        let lines = svg
            .split("<path ")
            .filter(|path| path.contains("stroke=\"#0065a3\""));
        let ends = lines.map(|line| {
            let course = line.split_once("d=\"").unwrap().1;
            let course = course.split('"').next().unwrap();
            let points = course.split(['M', 'L']).filter_map(|it| it.split_once(','));
            points
                .map(|(x, _)| x.parse::<f64>().unwrap())
                .fold(0.0, f64::max)
        });
        ends.collect()
    }

    #[test]
    fn a_value_that_stays_is_drawn_to_its_end() {
        let (_, mut run) = runs()
            .into_iter()
            .find(|(_, run)| drawn(run).next().is_some())
            .unwrap();
        let mut shown = drawn(&run).next().unwrap().clone();
        let stretch = |t: f64, length: f64, mean: f64| SeriesPoint {
            t: (t * 1e9) as i64,
            length: (length * 1e9) as i64,
            min: mean,
            mean,
            max: mean,
            ..shown.stretches[0].clone()
        };
        shown.stretches = vec![stretch(0.0, 0.1, 0.5), stretch(0.1, 9.9, 1.0)];
        run.series = vec![shown];
        let drawings = crate::every_drawing(&run);
        let drawing = drawings.iter().find(|it| it.kind == "series").unwrap();
        let svg = Artist::new().unwrap().draw(&drawing.standalone()).unwrap();
        let ends = ends_of_lines(&svg);
        let far = (crate::WIDTH as f64) / 2.0;
        assert!(
            !ends.is_empty() && ends.iter().all(|end| *end > far),
            "{ends:?}"
        );
    }

    /// The queues of a run whose first combination counts bytes and not cells.
    fn of_two_units() -> RunData {
        let (_, mut run) = runs()
            .into_iter()
            .find(|(_, run)| drawn(run).next().is_some())
            .unwrap();
        run.series.retain(|shown| shown.series == "backlog");
        let first = &mut run.series[0];
        first.unit = Unit::Bytes;
        first.limit = Some(4_096.0);
        for point in &mut first.stretches {
            point.unit = Unit::Bytes;
        }
        run
    }

    #[test]
    fn what_counts_otherwise_has_an_axis_of_its_own() {
        let run = of_two_units();
        let spec = Series.spec(&run, &Series.table(&run));
        let kinds = spec["vconcat"].as_array().unwrap().iter();
        let titles: Vec<_> = kinds
            .map(|kind| kind["spec"]["encoding"]["y"]["title"].clone())
            .collect();
        assert_eq!(titles, ["backlog (KiB)", "backlog (cells)"]);
        let about = Series.about(&run);
        assert!(about.contains("backlog in cells of s1→s2"), "{about}");
        // Each row is of one of them, in its unit.
        let rows = Series.table(&run).rows;
        let largest = |kind: &str| {
            let of_kind = rows.iter().filter(|row| row[0] == kind);
            of_kind
                .filter_map(|row| row[7].as_f64())
                .fold(0.0, f64::max)
        };
        assert!(
            largest("backlog (KiB)") < 4.0,
            "{}",
            largest("backlog (KiB)")
        );
        assert!(largest("backlog (cells)") > 500.0);
    }

    /// A page's filter looks for a level between commas.
    #[test]
    fn a_port_that_is_an_exception_hides_no_level() {
        let mut shown = of_two_units().series[0].clone();
        shown.factors = ["wait", "condition"]
            .map(|name| (name.to_owned(), delaylab_model::plan::Level::named("low")))
            .to_vec();
        shown.is_exception = true;
        let port = shown.of.clone();
        let of = |varied: &[&str]| label(varied, &shown);
        assert_eq!(
            of(&["wait", "condition"]),
            format!("wait low, condition low, {port}")
        );
        assert_eq!(of(&[]), port);
    }

    #[test]
    fn dashes_are_named_where_there_are_any() {
        let mut run = of_two_units();
        let about = Series.about(&run);
        assert!(
            about.contains("orange dashes") && about.contains("red dashes"),
            "{about}"
        );
        for shown in &mut run.series {
            (shown.threshold, shown.limit) = (None, None);
        }
        assert!(!Series.about(&run).contains("dashes"));
    }

    #[test]
    fn a_line_that_is_always_busy_is_a_number_and_no_panel() {
        let mut run = of_two_units();
        let busy = SeriesShown {
            series: "utilisation".to_owned(),
            unit: Unit::Share,
            mean: 0.998,
            ..run.series[1].clone()
        };
        run.series.push(busy);
        assert_eq!(kinds(&run).len(), 2);
        let about = Series.about(&run);
        assert!(
            about.contains("not drawn: utilisation of 1 combination."),
            "{about}"
        );
        run.series[2].mean = 0.9;
        assert_eq!(kinds(&run).len(), 3);
    }

    #[test]
    fn a_line_that_is_idle_and_a_queue_of_one_are_no_panels() {
        let mut run = of_two_units();
        run.series[1].max = 1.0;
        for point in &mut run.series[1].stretches {
            (point.min, point.mean, point.max) = (0.0, 0.1, 1.0);
        }
        run.series.push(SeriesShown {
            series: "utilisation".to_owned(),
            unit: Unit::Share,
            mean: 0.006,
            ..run.series[1].clone()
        });
        assert_eq!(kinds(&run).len(), 1);
        let about = Series.about(&run);
        for note in [
            " Never more than 1, and not drawn: backlog of 1 combination.",
            " Below 1 % on average, and not drawn: utilisation of 1 combination.",
        ] {
            assert!(about.contains(note), "{about}");
        }
    }

    #[test]
    fn combinations_are_left_out_by_their_queues_alone() {
        let mut run = of_two_units();
        let of = |factors: &[Factor], mean: f64| SeriesShown {
            series: "utilisation".to_owned(),
            unit: Unit::Share,
            factors: factors.to_vec(),
            mean,
            ..run.series[1].clone()
        };
        let [first, other] = [0, 1].map(|at| run.series[at].factors.clone());
        assert_ne!(first, other);
        let (busy, free) = (of(&first, 0.998), of(&other, 0.4));
        run.series = vec![busy, free];
        let about = Series.about(&run);
        assert!(
            about.contains("not drawn: utilisation of 1 combination."),
            "{about}"
        );
        assert!(!about.contains("longest queues"), "{about}");
        run.series[0].stretches.clear();
        let about = Series.about(&run);
        assert!(
            about.contains("Of 2 combinations of levels these are the first 1."),
            "{about}"
        );
    }

    #[test]
    fn probes_of_one_trial_are_no_repeats() {
        let mut run = of_two_units();
        for trial in &mut run.trials {
            trial.stream.repeat = 0;
        }
        let beside: Vec<_> = run.trials.clone();
        run.trials.extend(beside);
        assert!(
            !Series.about(&run).contains("repeats"),
            "{}",
            Series.about(&run)
        );
        run.trials[0].stream.repeat = 1;
        assert!(Series.about(&run).contains("Of the repeats of each"));
    }
}
