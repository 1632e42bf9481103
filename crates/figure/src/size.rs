//! Delay against size (source 000), or against what else a part of a run is to be drawn against (source 001):
//! the mean of each trial, the mean and the least of all repeats; or those of the least, the mean and the largest that
//! are asked for.
//!
//! A line for each combination of the other factors; where those are many, a line for each level of one
//! of them (of `case`, where there is one), in a panel for each combination of the rest (source 003), of many panels in the worst.

use super::axis;
use super::series::unit as unit_name;
use super::{Figure, NO_ANSWER, Table, WIDTH, left_out, line_name, parse, steps_note, worst_note};
use delaylab_model::Nanos;
use delaylab_model::experiment::DelayStatistic::{self, Max, Mean, Min};
use delaylab_model::plan::{Factor, Unit, compare_combinations, levels_in_words};
use delaylab_model::words::each_once;
use delaylab_stats::summary::{Distribution, Summary};
use delaylab_view::run::panels::{all_factors, dimensions, drawn, size_factor};
use delaylab_view::run::{RunData, RunStream, ShownDelay, TrialData};
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(super) struct Size;

const COLUMNS: &str = "panel group level statistic delay_ns packets";

/// The columns of panels, of lines and of delays.
const PANEL: usize = 0;
const GROUP: usize = 1;
const DELAY: usize = 4;

/// Lines of the first statistic, of the second and of the third.
const DASHES: [&[u8]; 3] = [&[1, 0], &[5, 3], &[2, 2]];
/// Lines of one panel where all are in one.
const LINES: usize = 6;
/// Letters of names that fit beside each other in four columns.
const LEGEND: usize = 60;

impl Figure for Size {
    fn about(&self, run: &RunData) -> String {
        let layout = Layout::new(run);
        let silent = layout
            .as_ref()
            .map_or_else(Vec::new, |layout| layout.silent(run));
        let counts = layout.map_or([0; 2], |layout| [layout.panels.len(), layout.all_panels]);
        let panels = worst_note(counts, "panels") + steps_note(run);
        let panels = panels + &left_out(NO_ANSWER, &silent);
        let against = run.against.as_deref().unwrap_or("size");
        match lines(run)[..] {
            [Mean, Min] => format!(
                "Points are the means of single trials; lines are the mean and, dashed, the least round trip of all trials of a {against}.{panels}"
            ),
            ref others => {
                let names: Vec<_> = others.iter().map(|line| line.name()).collect();
                let first = names.first().copied().unwrap_or_default();
                format!(
                    "Points are the {first} round trip of single trials; lines are the {} of all trials of a {against}.{panels}",
                    names.join(" and the ")
                )
            }
        }
    }

    fn table(&self, run: &RunData) -> Table {
        let mut table = Table::new(COLUMNS);
        let Some(layout) = Layout::new(run) else {
            return table;
        };
        let lines = lines(run);
        let shown = run.shown_delay();
        for trial in &run.trials {
            let size = value(&trial.stream, &layout.axis);
            let Some((size, (panel, line))) = size.zip(layout.place(&trial.stream)) else {
                continue;
            };
            let Some(delays) = shown.distribution(&trial.summary) else {
                continue;
            };
            let Some((statistic, value)) = lines.first().zip(of_trial(delays, &lines)) else {
                continue;
            };
            let packets = delays.count;
            let [panel, line] = layout.names(panel, line);
            let statistic = json!(format!("{} of a trial", statistic.name()));
            table.row([panel, line, json!(size), statistic, value, json!(packets)]);
        }
        for ((panel, line, size), pool) in layout.pools(run) {
            let [panel, line] = layout.names(panel, line);
            pool.rows(&mut table, &[panel, line, json!(size)], &lines);
        }
        table
    }

    fn spec(&self, run: &RunData, table: &Table) -> Value {
        let mut spec = parse(include_str!("specs/size.json"));
        let Some(layout) = Layout::new(run) else {
            return spec;
        };
        let groups: Vec<_> = layout.lines.iter().map(|line| line_name(line)).collect();
        spec["encoding"]["color"]["sort"] = json!(groups);
        if groups.len() < 2 {
            spec["encoding"]["color"]["legend"] = Value::Null;
        } else if groups.iter().map(String::len).sum::<usize>() > LEGEND {
            spec["encoding"]["color"]["legend"] = json!({ "columns": 3 });
        }
        let shown = lines(run);
        let names: Vec<_> = shown.iter().map(|line| line.name()).collect();
        let dashes: Vec<_> = DASHES.iter().take(shown.len()).collect();
        let dashed = &mut spec["layer"][0]["encoding"]["strokeDash"];
        dashed["scale"] = json!({ "domain": names, "range": dashes });
        if shown.len() < 2 {
            dashed["legend"] = Value::Null;
        }
        if let Some(factor) = &run.against {
            let levels = run.trials.iter().flat_map(|trial| trial.stream.levels());
            let levels = levels.filter(|(name, _)| name == factor);
            let unit = levels.clone().find_map(|(_, level)| level.unit);
            let values = levels.filter_map(|(_, level)| level.value);
            against(&mut spec, factor, unit, values.fold(0.0, f64::max));
        }
        let delays = &mut spec["encoding"]["y"];
        match far_apart(table) {
            Some((least, most)) => axis::of_delays(delays, "Round trip", least, most),
            None => axis::unit(delays, table.largest(DELAY)),
        }
        match layout.panels.len() {
            0 | 1 => spec,
            _ => faceted(spec, &layout),
        }
    }
}

/// Lines of which one lies so many times as high as another have a logarithmic axis, or all but one lie at zero.
const FAR: f64 = 20.0;

/// The least and the largest delay that is drawn, where lines lie far apart.
fn far_apart(table: &Table) -> Option<(Nanos, Nanos)> {
    let mut ends: BTreeMap<_, (Nanos, Nanos)> = BTreeMap::new();
    for row in &table.rows {
        let Some(delay) = row[DELAY].as_f64() else {
            continue;
        };
        let delay = delay as Nanos;
        let line = (row[PANEL].as_str(), row[GROUP].as_str());
        let of_line = ends.entry(line).or_insert((delay, delay));
        *of_line = (of_line.0.min(delay), of_line.1.max(delay));
    }
    let highest = ends.values().map(|(_, most)| *most);
    let (lowest, highest) = (highest.clone().min()?, highest.max()?);
    let least = ends.values().map(|(least, _)| *least).min()?;
    (least > 0 && highest as f64 > FAR * lowest as f64).then_some((least, highest))
}

/// The lines that were asked for, each once.
fn lines(run: &RunData) -> Vec<DelayStatistic> {
    if run.statistics.is_empty() {
        return vec![Mean, Min];
    }
    each_once(run.statistics.iter().copied())
}

/// A trial's number of the first of these, in whole nanoseconds.
fn of_trial(delays: &Distribution, lines: &[DelayStatistic]) -> Option<Value> {
    Some(match lines.first()? {
        Min => json!(delays.min),
        Mean => json!(delays.mean.round()),
        Max => json!(delays.max),
    })
}

/// The axis of another factor than a size of bytes; `most` is its largest level.
fn against(spec: &mut Value, factor: &str, unit: Option<Unit>, most: f64) {
    let title = factor.replace('_', " ");
    let x = &mut spec["encoding"]["x"];
    x["title"] = json!(title);
    x["axis"] = json!({ "grid": false, "tickCount": 8 });
    match unit {
        Some(Unit::Nanoseconds) => axis::unit(x, [most as Nanos]),
        Some(Unit::Share) => x["axis"]["format"] = json!("~%"),
        None | Some(Unit::Number) => x["axis"]["format"] = json!(",.12~r"),
        Some(unit) => {
            let counts = if unit == Unit::Bytes {
                "bytes"
            } else {
                unit_name(unit)
            };
            x["title"] = json!(format!("{title} ({counts})"));
            x["axis"]["format"] = json!(",.12~r");
        }
    }
    let text = match unit {
        Some(Unit::Nanoseconds) => {
            "replace(format(datum.level / 1e9, '~s') + 's', /([^0-9.]+)$/, ' $1')".to_owned()
        }
        Some(Unit::Share) => "format(datum.level, '~%')".to_owned(),
        None | Some(Unit::Number) => "format(datum.level, ',')".to_owned(),
        Some(Unit::Bytes) => "format(datum.level, ',') + ' B'".to_owned(),
        Some(unit) => format!("format(datum.level, ',') + ' {}'", unit_name(unit)),
    };
    spec["transform"][1]["calculate"] = json!(text);
    spec["encoding"]["tooltip"][1]["title"] = json!(title);
}

/// The same chart once for each panel, on the same axes.
fn faceted(mut chart: Value, layout: &Layout) -> Value {
    let names: Vec<_> = layout
        .panels
        .iter()
        .map(|panel| levels_in_words(panel, None))
        .collect();
    let transform = chart["transform"].take();
    chart["width"] = json!(WIDTH / 2 - 60);
    chart["height"] = json!(220);
    if let Some(fields) = chart.as_object_mut() {
        fields.remove("transform");
    }
    json!({
        "transform": transform,
        "facet": { "field": "panel", "type": "nominal", "sort": names },
        "columns": 2,
        // The last number of an axis does not join the first one of the next.
        "spacing": { "column": 40 },
        "spec": chart,
    })
}

/// Which line, in which panel, the trials of a run are part of.
struct Layout {
    /// The factor that is the axis.
    axis: String,
    line_factors: Vec<String>,
    panel_factors: Vec<String>,
    /// In order of their levels.
    lines: Vec<Vec<Factor>>,
    panels: Vec<Vec<Factor>>,
    /// How many there would be, where these are too many.
    all_panels: usize,
}

impl Layout {
    /// `None` where nothing is a size, or no factor is that which the run is to be drawn against.
    fn new(run: &RunData) -> Option<Self> {
        let streams: Vec<_> = run.trials.iter().map(|trial| &trial.stream).collect();
        let axis = match &run.against {
            Some(factor) => streams
                .iter()
                .any(|s| value(s, factor).is_some())
                .then(|| factor.clone()),
            None => size_factor(&streams),
        }?;
        let others = varied(&streams, &axis);
        let mut layout = Self {
            axis,
            line_factors: Vec::new(),
            panel_factors: Vec::new(),
            lines: Vec::new(),
            panels: Vec::new(),
            all_panels: 0,
        };
        layout.share_out(others);
        layout.lines = distinct(run, &layout.line_factors);
        let panels = distinct(run, &layout.panel_factors);
        layout.all_panels = panels.len();
        layout.panels = layout.drawn(panels, run);
        Some(layout)
    }

    /// Of these panels those that are drawn.
    fn drawn(&self, panels: Vec<Vec<Factor>>, run: &RunData) -> Vec<Vec<Factor>> {
        let labels = |factors: &[Factor]| -> Vec<String> {
            let labels = factors.iter().map(|(_, level)| level.label.clone());
            labels.collect()
        };
        let mut summaries: BTreeMap<Vec<String>, Vec<&Summary>> = BTreeMap::new();
        for trial in &run.trials {
            let own = of_names(&trial.stream, &self.panel_factors);
            let of_panel = summaries.entry(labels(&own)).or_default();
            of_panel.push(&trial.summary);
        }
        let mut combination = |panel: &Vec<Factor>| {
            let of_panel = summaries.remove(&labels(panel)).unwrap_or_default();
            (panel.clone(), of_panel)
        };
        let combinations: Vec<_> = panels.iter().map(&mut combination).collect();
        let places = drawn(&combinations, run.shown_delay());
        places
            .into_iter()
            .map(|place| panels[place].clone())
            .collect()
    }

    /// Which of these factors, with so many levels each, makes lines, and which panels.
    fn share_out(&mut self, mut others: Vec<(String, usize)>) {
        let combinations: usize = others.iter().map(|(_, levels)| levels).product();
        if combinations <= LINES {
            self.line_factors = others.into_iter().map(|(name, _)| name).collect();
            return;
        }
        let rank = |(name, levels): &(String, usize)| (name == "case", *levels);
        let lines = (0..others.len()).max_by_key(|&at| rank(&others[at]));
        self.line_factors
            .extend(lines.map(|at| others.remove(at).0));
        self.panel_factors = others.into_iter().map(|(name, _)| name).collect();
    }

    /// Its panel and its line; `None`: that panel is not drawn.
    fn place(&self, stream: &RunStream) -> Option<(usize, usize)> {
        let at = |all: &[Vec<Factor>], names: &[String]| {
            let own = of_names(stream, names);
            all.iter().position(|factors| *factors == own)
        };
        let panel = at(&self.panels, &self.panel_factors)?;
        Some((panel, at(&self.lines, &self.line_factors)?))
    }

    /// All trials by panel, line and place on the axis, in order.
    fn pools(&self, run: &RunData) -> Vec<((usize, usize, f64), Pool)> {
        let mut pools: BTreeMap<(usize, usize, u64), Pool> = BTreeMap::new();
        let shown = run.shown_delay();
        for trial in &run.trials {
            let size = value(&trial.stream, &self.axis);
            if let Some((size, (panel, line))) = size.zip(self.place(&trial.stream)) {
                let pool = pools.entry((panel, line, size.to_bits())).or_default();
                pool.add(trial, shown, &self.axis);
            }
        }
        let number = |((panel, line, size), pool)| ((panel, line, f64::from_bits(size)), pool);
        pools.into_iter().map(number).collect()
    }

    /// Lines of which nothing was answered, and of the others the places at which nothing was.
    fn silent(&self, run: &RunData) -> Vec<String> {
        let pools = self.pools(run);
        let of_lines = pools.chunk_by(|((a, b, _), _), ((c, d, _), _)| (a, b) == (c, d));
        let mut silent = Vec::new();
        for pools in of_lines {
            let Some(((panel, line, _), _)) = pools.first() else {
                continue;
            };
            let levels = [self.panels.get(*panel), self.lines.get(*line)];
            let levels: Vec<Factor> = levels.into_iter().flatten().flatten().cloned().collect();
            let name = levels_in_words(&levels, None);
            let places = pools.iter().filter(|(_, pool)| pool.range.is_none());
            let places: Vec<_> = places.map(|(_, pool)| pool.level.as_str()).collect();
            let whole = places.len() == pools.len() && !name.is_empty();
            silent.extend(
                places
                    .into_iter()
                    .filter(|_| !whole)
                    .map(|place| match &name[..] {
                        "" => place.to_owned(),
                        name => format!("{name}, {place}"),
                    }),
            );
            silent.extend(whole.then_some(name));
        }
        silent
    }

    fn names(&self, panel: usize, line: usize) -> [Value; 2] {
        let panel = self
            .panels
            .get(panel)
            .map(|factors| levels_in_words(factors, None));
        let line = self.lines.get(line).map(|factors| line_name(factors));
        [json!(panel), json!(line)]
    }
}

/// The factors that vary, but for that of the axis, and how many levels each has.
fn varied(streams: &[&RunStream], axis: &str) -> Vec<(String, usize)> {
    let all = dimensions(streams.iter().map(|stream| all_factors(stream)));
    let others = all.into_iter().filter(|(name, _)| name != axis);
    others.map(|(name, levels)| (name, levels.len())).collect()
}

fn of_names(stream: &RunStream, names: &[String]) -> Vec<Factor> {
    let all = all_factors(stream).into_iter();
    all.filter(|(name, _)| names.contains(name)).collect()
}

/// Every combination of these factors that the run has, in order.
fn distinct(run: &RunData, names: &[String]) -> Vec<Vec<Factor>> {
    let streams = run.trials.iter().map(|trial| &trial.stream);
    let mut all: Vec<_> = streams.map(|stream| of_names(stream, names)).collect();
    all.sort_by(|a, b| compare_combinations(a, b, &run.levels));
    all.dedup();
    all
}

fn value(stream: &RunStream, factor: &str) -> Option<f64> {
    let (_, level) = stream.levels().find(|(name, _)| name == factor)?;
    level.value
}

/// All trials of one size in one group. Exact: means are summed by their counts.
#[derive(Default)]
struct Pool {
    /// That of the axis, in words.
    level: String,
    packets: u64,
    sum: f64,
    range: Option<(Nanos, Nanos)>,
}

impl Pool {
    /// Takes a trial in, with the level of this factor; of one of which nothing was answered that is all.
    fn add(&mut self, trial: &TrialData, shown: ShownDelay, axis: &str) {
        let level = trial.stream.levels().find(|(name, _)| name == axis);
        self.level = level.map_or_else(String::new, |(_, level)| level.label.clone());
        let Some(delays) = shown.distribution(&trial.summary) else {
            return;
        };
        self.packets += delays.count;
        self.sum += delays.mean * delays.count as f64;
        let (least, most) = self.range.unwrap_or((delays.min, delays.max));
        self.range = Some((least.min(delays.min), most.max(delays.max)));
    }

    fn rows(&self, table: &mut Table, at: &[Value; 3], lines: &[DelayStatistic]) {
        let Some((least, most)) = self.range else {
            return;
        };
        for line in lines {
            let value = match line {
                Min => json!(least),
                Mean => json!((self.sum / self.packets as f64).round()),
                Max => json!(most),
            };
            let [panel, group, size] = at.clone();
            let packets = json!(self.packets);
            table.row([panel, group, size, json!(line.name()), value, packets]);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_view::run::samples::{sizes, waits};

    #[test]
    fn without_sizes_there_is_nothing_to_show() {
        assert!(Size.table(&waits()).rows.is_empty());
    }

    /// A path that loses all that is large.
    #[test]
    fn a_size_and_a_line_of_which_nothing_was_answered_are_named() {
        let mut run = sizes();
        let lose = |run: &mut RunData, what: &dyn Fn(&RunStream) -> bool| {
            for trial in run.trials.iter_mut().filter(|trial| what(&trial.stream)) {
                trial.summary.response = None;
            }
        };
        assert!(!Size.about(&run).contains(NO_ANSWER));
        lose(&mut run, &|stream| value(stream, "size") == Some(1_260.0));
        let about = Size.about(&run);
        let named = "as nothing was answered: condition quiet, 1260B; condition stressed, 1260B.";
        assert!(about.contains(named), "{about}");
        let condition = |stream: &RunStream| stream.factors[1].1.label.clone();
        lose(&mut run, &|stream| condition(stream) == "stressed");
        let about = Size.about(&run);
        assert!(about.contains("1260B; condition stressed."), "{about}");
    }

    #[test]
    fn a_line_lies_among_its_points() {
        let table = Size.table(&sizes());
        let of = |statistic: &str, group: &Value, size: &Value| -> Vec<f64> {
            let rows = table.rows.iter();
            let these =
                rows.filter(|row| row[3] == statistic && row[1] == *group && row[2] == *size);
            these.map(|row| row[4].as_f64().unwrap()).collect()
        };
        for row in table.rows.iter().filter(|row| row[3] == "mean") {
            let mean = row[4].as_f64().unwrap();
            let points = of("mean of a trial", &row[1], &row[2]);
            assert_eq!(points.len(), 2, "two repeats");
            assert!(points.iter().any(|&point| point <= mean));
            assert!(points.iter().any(|&point| point >= mean));
            assert!(of("minimum", &row[1], &row[2])[0] <= mean);
        }
    }

    #[test]
    fn the_lines_are_those_that_are_asked_for() {
        let mut run = sizes();
        run.statistics = vec![Max, Max, Mean];
        let table = Size.table(&run);
        let of = |name: &str| -> Vec<&Vec<Value>> {
            table.rows.iter().filter(|row| row[3] == name).collect()
        };
        assert!(of("minimum").is_empty() && of("mean of a trial").is_empty());
        assert!(!of("maximum").is_empty());
        for line in of("maximum") {
            let points = of("maximum of a trial").into_iter();
            let these = points.filter(|row| row[1] == line[1] && row[2] == line[2]);
            assert_eq!(
                these.filter_map(|row| row[4].as_i64()).max(),
                line[4].as_i64()
            );
        }
        assert_eq!(of("maximum").len(), of("mean").len());
        let about = Size.about(&run);
        assert!(
            about.contains("lines are the maximum and the mean of all"),
            "{about}"
        );
        let dashes =
            &Size.spec(&run, &Size.table(&run))["layer"][0]["encoding"]["strokeDash"]["scale"];
        assert_eq!(dashes["domain"], json!(["maximum", "mean"]));
    }

    /// A line far above the others, whose largest round trips are far above its means.
    #[test]
    fn the_axis_reaches_to_whatever_is_drawn() {
        let mut run = sizes();
        for trial in &mut run.trials {
            let (_, condition) = &trial.stream.factors[1];
            let times = if condition.label == "stressed" {
                100
            } else {
                1
            };
            let delays = trial.summary.response.as_mut().unwrap();
            delays.mean *= times as f64;
            delays.max *= 3 * times;
        }
        for asked in [vec![Max], vec![Min, Max], vec![Mean], Vec::new()] {
            run.statistics = asked;
            let table = Size.table(&run);
            let domain = &Size.spec(&run, &table)["encoding"]["y"]["scale"]["domain"];
            let drawn = table.rows.iter().filter_map(|row| row[DELAY].as_f64());
            let ends = (drawn.clone().reduce(f64::min), drawn.reduce(f64::max));
            assert_eq!(
                (domain[0].as_f64(), domain[1].as_f64()),
                ends,
                "{:?}",
                run.statistics
            );
        }
    }

    #[test]
    fn many_combinations_are_a_line_a_case_in_a_panel_a_load() {
        let mut run = sizes();
        let mut layout = Layout::new(&run).unwrap();
        assert!(layout.panels.len() == 1 && layout.panel_factors.is_empty());
        layout.line_factors.clear();
        layout.share_out(vec![("streams".into(), 4), ("case".into(), 3)]);
        assert_eq!(layout.line_factors, ["case"]);
        assert_eq!(layout.panel_factors, ["streams"]);
        for (trial, at) in run.trials.iter_mut().zip(0..) {
            let named = |name: &str, of: usize| {
                let level = delaylab_model::plan::Level::named((at / 3 % of).to_string());
                (name.to_owned(), level)
            };
            trial.stream.factors.extend([named("a", 3), named("b", 4)]);
        }
        assert_eq!(
            Size.spec(&run, &Size.table(&run))["facet"]["field"],
            "panel"
        );
        // Nothing is put together: of more panels the worst are drawn.
        for (trial, at) in run.trials.iter_mut().zip(0..) {
            let level = delaylab_model::plan::Level::named((at % 7).to_string());
            trial.stream.factors.push(("c".to_owned(), level));
        }
        let layout = Layout::new(&run).unwrap();
        assert!(layout.panels.len() == 12 && layout.all_panels > 12);
        let about = Size.about(&run);
        assert!(about.contains("panels these are the 12 with"), "{about}");
    }
}
