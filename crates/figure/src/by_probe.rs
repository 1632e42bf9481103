//! Cumulative distributions by probe (source 004): of the delay, of its tail, and of IPDV. A row of
//! panels for each combination of levels, a line for each probe.

use super::axis;
use super::course::{counted, course};
use super::{
    Figure, NO_ANSWER, Table, left_out, line_name, not_drawn, parse, sizes_note, steps_note,
    worst_note,
};
use delaylab_model::Nanos;
use delaylab_model::plan::{Factor, Unit, compare_combinations};
use delaylab_view::run::panels::{drawn, varied};
use delaylab_view::run::{Delays, Group, RunData, SeriesShown};
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(super) struct ByProbe;

const COLUMNS: &str = "panel probe measure value_ns at_or_below at_or_beyond packets";

/// Probes that are drawn at most: as many as there are colours.
const PROBES: usize = 8;

impl Figure for ByProbe {
    fn about(&self, run: &RunData) -> String {
        let drawn = panels(run);
        let counts = [drawn.len(), every_panel(run).len()];
        let groups = drawn.iter().flat_map(|panel| &panel.groups);
        let sizes = sizes_note(run, groups.map(|group| group.factors.as_slice()));
        let panels = worst_note(counts, "panels") + &sizes + steps_note(run);
        let more = not_drawn(run.probes().len().saturating_sub(PROBES), "probe");
        let silent = left_out(NO_ANSWER, &silent(run));
        let series = run.beside_probes.as_ref();
        let series = series.map_or_else(String::new, |series| {
            format!(" The line of {series} is of its values over time, in one trial of each panel.")
        });
        format!(
            "Left: the share of answered packets that took at most so long. Middle: the share that took so long or longer, on a logarithmic axis, so that rare delays are seen; each line ends at its largest. Right: the share of IPDV (RFC 3393: the difference to the packet before, from when each was sent) that is at most so much.{series}{panels}{more}{silent}"
        )
    }

    fn table(&self, run: &RunData) -> Table {
        let mut table = Table::new(COLUMNS);
        let probes = run.probes();
        if probes.len() < 2 {
            return table;
        }
        for panel in panels(run) {
            let before = table.rows.len();
            if let Some((name, values)) = series_of(run, &panel) {
                rows(&mut table, [&panel.label, &name, "delay"], &values, None);
            }
            for probe in probes.iter().take(PROBES) {
                let groups = panel.groups.iter().filter(|group| group.probe == *probe);
                let delays = groups.clone().filter_map(|group| delays(run, group));
                for (measure, values) in [
                    ("delay", counted(delays)),
                    ("ipdv", counted(groups.map(|group| &group.ipdv))),
                ] {
                    let packets = values.values().sum();
                    rows(
                        &mut table,
                        [&panel.label, probe, measure],
                        &values,
                        Some(packets),
                    );
                }
            }
            keep_places(&mut table, before);
        }
        table
    }

    fn spec(&self, run: &RunData, _: &Table) -> Value {
        let mut spec = parse(include_str!("specs/by_probe.json"));
        let labels: Vec<_> = panels(run).into_iter().map(|panel| panel.label).collect();
        let series = panels(run)
            .iter()
            .find_map(|panel| Some(series_of(run, panel)?.0));
        let probes = run.probes().into_iter().take(PROBES).map(str::to_owned);
        let probes: Vec<String> = probes.chain(series).collect();
        let (least, most) = ends(run);
        let (linear, far) = symmetric(&panels(run));
        for view in spec["hconcat"].as_array_mut().into_iter().flatten() {
            view["facet"]["sort"] = json!(labels);
            let colours = json!({ "domain": probes, "range": "category" });
            view["spec"]["encoding"]["color"]["scale"] = colours;
            let range = widths(probes.len());
            let widths = json!({ "type": "ordinal", "domain": probes, "range": range });
            view["spec"]["encoding"]["strokeWidth"]["scale"] = widths;
            if labels.len() < 2 {
                view["facet"]["header"] = json!({ "labels": false });
                view["spec"]["height"] = json!(200);
            }
        }
        for view in 0..2 {
            let view = &mut spec["hconcat"][view];
            let x = &mut view["spec"]["encoding"]["x"];
            if axis::is_logarithmic(least, most) {
                axis::unit_between(x, least, most);
                tick(view, &axis::ticks(least, most));
            } else {
                axis::unit(x, [most]);
                x["scale"] = json!({ "zero": false, "nice": false });
                x["axis"]["tickCount"] = json!(axis::TICKS);
            }
        }
        let ipdv = &mut spec["hconcat"][2]["spec"]["encoding"]["x"];
        axis::unit(ipdv, [far]);
        ipdv["scale"]["constant"] = json!(linear);
        tick(&mut spec["hconcat"][2], &[-far, 0, far]);
        spec
    }
}

/// One combination of the levels that are told apart.
struct ProbePanel<'a> {
    label: String,
    groups: Vec<&'a Group>,
}

/// What is kept of a group's delays; `None`: its size has no panel.
fn delays<'a>(run: &'a RunData, group: &Group) -> Option<&'a Delays> {
    let panel = run.panels.get(group.panel?)?;
    Some(&panel.sketch.shown().delays)
}

/// Every combination of levels that is drawn, in order.
fn panels(run: &RunData) -> Vec<ProbePanel<'_>> {
    let every = every_panel(run);
    let combinations = every.iter().map(|panel| {
        let factors = panel.groups.first().map(|group| group.factors.clone());
        let summaries = panel.groups.iter().map(|group| &group.summary);
        (factors.unwrap_or_default(), summaries.collect())
    });
    let shown = drawn(&combinations.collect::<Vec<_>>(), run.shown_delay());
    let numbered = every.into_iter().enumerate();
    let shown = numbered.filter(|(place, _)| shown.contains(place));
    shown.map(|(_, panel)| panel).collect()
}

/// Every combination of levels that has panels, in order.
fn every_panel(run: &RunData) -> Vec<ProbePanel<'_>> {
    let names = varied(run.groups.iter().map(|group| group.factors.as_slice()));
    let key = |group: &Group| -> Vec<Factor> {
        let own = group.factors.iter();
        let shown = own.filter(|(name, _)| names.contains(&name.as_str()));
        shown.cloned().collect()
    };
    let groups = run.groups.iter().filter(|group| group.panel.is_some());
    let mut groups: Vec<_> = groups.map(|group| (key(group), group)).collect();
    groups.sort_by(|(a, _), (b, _)| compare_combinations(a, b, &run.levels));
    let of_one = groups.chunk_by(|(a, _), (b, _)| a == b);
    let shown = |groups: &[(Vec<Factor>, &'_ Group)]| {
        let first = groups.first().map_or(&[][..], |(key, _)| key);
        line_name(first)
    };
    of_one
        .map(|groups| ProbePanel {
            label: shown(groups),
            groups: groups.iter().map(|&(_, group)| group).collect(),
        })
        .collect()
}

/// The series that is shown beside the probes, in this panel: what it is called, and for how many nanoseconds it had which
/// value.
fn series_of(run: &RunData, panel: &ProbePanel<'_>) -> Option<(String, BTreeMap<Nanos, u64>)> {
    let kind = run.beside_probes.as_ref()?;
    let is_of = |shown: &&SeriesShown| {
        let its = panel
            .groups
            .iter()
            .any(|group| group.factors == shown.factors);
        let drawn = !shown.held.is_empty();
        its && drawn && shown.series == *kind && shown.unit == Unit::Nanoseconds
    };
    let shown = run.series.iter().find(is_of)?;
    let mut values = BTreeMap::new();
    let there = shown.held.iter().filter(|(value, _)| value.is_finite());
    for (value, length) in there {
        *values.entry(value.round() as Nanos).or_default() += length.unsigned_abs();
    }
    Some((format!("{}: {kind}", shown.of), values))
}

/// The line of these values, which are of packets or over time.
fn rows(
    table: &mut Table,
    [panel, probe, measure]: [&str; 3],
    values: &BTreeMap<Nanos, u64>,
    packets: Option<u64>,
) {
    for point in course(values) {
        table.row([
            json!(panel),
            json!(probe),
            json!(measure),
            json!(point.value),
            json!(point.at_or_below),
            json!(point.at_or_beyond),
            json!(packets),
        ]);
    }
}

/// In each column a panel has its place, though it may have nothing to show there: what is below would move up beside
/// another's name. Its rows are those from `first` on.
fn keep_places(table: &mut Table, first: usize) {
    let Some(row) = table.rows.get(first).cloned() else {
        return;
    };
    for measure in ["delay", "ipdv"] {
        if !table.rows[first..].iter().any(|row| row[2] == measure) {
            let [panel, probe] = [&row[0], &row[1]].map(Value::clone);
            let [none, all, packets] = [json!(0.0), json!(1.0), json!(0)];
            table.row([
                panel,
                probe,
                json!(measure),
                Value::Null,
                none,
                all,
                packets,
            ]);
        }
    }
}

/// The probes that have no line in a panel.
fn silent(run: &RunData) -> Vec<String> {
    let mut silent = Vec::new();
    let shown = run.shown_delay();
    for panel in panels(run) {
        for probe in run.probes().into_iter().take(PROBES) {
            let groups = panel.groups.iter().filter(|group| group.probe == probe);
            let mut delays = groups
                .map(|group| shown.distribution(&group.summary))
                .peekable();
            if delays.peek().is_some() && delays.all(|delays| delays.is_none()) {
                let levels = [panel.label.as_str(), probe].into_iter();
                let known: Vec<_> = levels.filter(|level| !level.is_empty()).collect();
                silent.push(known.join(", "));
            }
        }
    }
    silent
}

/// Ticks at these values while all is shown; close up, where Vega would have them.
fn tick(view: &mut Value, ticks: &[Nanos]) {
    let zoom = view["spec"]["params"][0]["name"]
        .as_str()
        .unwrap_or_default();
    let values = axis::ticks_of_all(&format!("{zoom}_value_ns"), &json!(ticks).to_string());
    view["spec"]["encoding"]["x"]["axis"]["values"] = values;
}

/// Lines that lie on each other are told apart by their widths: the first one is the widest, and below.
fn widths(lines: usize) -> Vec<f64> {
    let narrower = |line| 1.2 + 0.9 * (lines - 1 - line) as f64;
    (0..lines).map(narrower).collect()
}

/// The least and the largest that is drawn of delays, and of the series beside them.
fn ends(run: &RunData) -> (Nanos, Nanos) {
    let shown = run.shown_delay();
    let panels = panels(run);
    let groups = panels.iter().flat_map(|panel| &panel.groups);
    let delays = groups
        .filter_map(|group| shown.distribution(&group.summary))
        .flat_map(|delays| [delays.min, delays.max]);
    let beside = panels
        .iter()
        .filter_map(|panel| Some(series_of(run, panel)?.1))
        .flat_map(|values| values.into_keys());
    let all: Vec<Nanos> = delays.chain(beside).collect();
    let end = |end: Option<&Nanos>| end.copied().unwrap_or(1);
    (end(all.iter().min()), end(all.iter().max()))
}

/// Of the axis of IPDV: up to where it is linear, and where it has a tick on either side.
fn symmetric(panels: &[ProbePanel<'_>]) -> (Nanos, Nanos) {
    let groups = panels.iter().flat_map(|panel| &panel.groups);
    let mut largest = 0;
    for group in groups.clone() {
        let ipdv = &group.ipdv;
        ipdv.for_each(|ipdv, _| largest = largest.max(ipdv.saturating_abs()));
    }
    let ranges = groups.filter_map(|group| group.summary.variation.ipdv_iqr_ns);
    axis::symmetric(ranges.min().unwrap_or(0), largest)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_model::MILLISECOND;
    use delaylab_model::words::each_once;
    use delaylab_view::run::samples::{classes, waits};

    #[test]
    fn a_series_beside_probes_counts_time() {
        let mut run = classes();
        let factors = run.groups[0].factors.clone();
        run.beside_probes = Some("srtt".to_owned());
        run.series = vec![SeriesShown {
            series: "srtt".to_owned(),
            of: "tcp".to_owned(),
            is_exception: false,
            unit: Unit::Nanoseconds,
            factors,
            mean: 49.6e6,
            max: 50e6,
            threshold: None,
            limit: None,
            trial: 0,
            stretches: Vec::new(),
            // Many short ones of one value, and a long one of another.
            held: vec![
                (10e6, 50 * MILLISECOND),
                (10e6, 50 * MILLISECOND),
                (50e6, 9_900 * MILLISECOND),
            ],
        }];
        let table = ByProbe.table(&run);
        let of_series = table.rows.iter().filter(|row| row[1] == "tcp: srtt");
        let shares = of_series.map(|row| (row[3].clone(), row[4].clone(), row[6].clone()));
        let expected = [(10_000_000, 0.0), (10_000_000, 0.01), (50_000_000, 1.0)];
        let expected = expected.map(|(value, share)| (json!(value), json!(share), Value::Null));
        assert_eq!(Vec::from_iter(shares), expected);
    }

    #[test]
    fn one_probe_is_not_compared() {
        assert!(ByProbe.table(&waits()).rows.is_empty());
    }

    #[test]
    fn each_line_ends_where_its_probe_does() {
        let run = classes();
        let table = ByProbe.table(&run);
        for group in &run.groups {
            let of_line = |measure: &str| {
                let rows = table.rows.iter().filter(move |row| {
                    row[0] == group.level("case") && row[1] == group.probe && row[2] == measure
                });
                rows.collect::<Vec<_>>()
            };
            let line = of_line("delay");
            let delays = group.summary.response.as_ref().unwrap();
            assert_eq!(line[0][3], delays.min);
            assert_eq!(line[0][4], 0.0);
            let last = line.last().unwrap();
            assert_eq!((&last[3], &last[4]), (&json!(delays.max), &json!(1.0)));
            assert_eq!(last[6], delays.count);
            let pairs = group.summary.variation.ipdv_count;
            assert!(of_line("ipdv").iter().all(|row| row[6] == pairs));
        }
        let spec = ByProbe.spec(&run, &ByProbe.table(&run));
        let color = &spec["hconcat"][0]["spec"]["encoding"]["color"];
        assert_eq!(color["scale"]["domain"], json!(["ef", "be", "ss"]));
    }

    /// An imported table in whole milliseconds has some of 0.
    #[test]
    fn what_has_no_logarithm_is_drawn_on_a_line_without() {
        let mut run = classes();
        for delays in run
            .groups
            .iter_mut()
            .flat_map(|group| &mut group.summary.response)
        {
            delays.max = 10 * delays.min;
        }
        let scale = |run: &RunData, view: usize| {
            let spec = ByProbe.spec(run, &ByProbe.table(run));
            spec["hconcat"][view]["spec"]["encoding"]["x"]["scale"]["type"].clone()
        };
        assert_eq!(
            [0, 1, 2].map(|view| scale(&run, view)),
            ["log", "log", "symlog"]
        );
        let response = run.groups[0].summary.response.as_mut();
        response.unwrap().min = 0;
        assert_eq!(
            [0, 1].map(|view| scale(&run, view)),
            [Value::Null, Value::Null]
        );
    }

    /// Most paths: between powers of ten there may be no tick of a logarithmic axis.
    #[test]
    fn delays_that_lie_close_together_have_an_axis_without_powers() {
        let mut run = classes();
        for delays in run
            .groups
            .iter_mut()
            .flat_map(|group| &mut group.summary.response)
        {
            (delays.min, delays.max) = (21_000_000, 29_000_000);
        }
        let spec = ByProbe.spec(&run, &ByProbe.table(&run));
        for view in 0..2 {
            let x = &spec["hconcat"][view]["spec"]["encoding"]["x"];
            assert_eq!(x["scale"]["type"], Value::Null);
            assert_eq!(
                (&x["axis"]["tickCount"], &x["axis"]["values"]),
                (&json!(4), &Value::Null)
            );
        }
    }

    #[test]
    fn a_panel_without_ipdv_keeps_its_place_in_that_column() {
        let mut run = classes();
        let case = run.groups[0].level("case").to_owned();
        for group in run
            .groups
            .iter_mut()
            .filter(|group| group.level("case") == case)
        {
            group.ipdv = Delays::default();
        }
        let table = ByProbe.table(&run);
        let panels = |measure: &str| {
            let rows = table.rows.iter().filter(|row| row[2] == measure);
            each_once(rows.map(|row| row[0].clone()))
        };
        assert!(panels("delay").len() > 1);
        assert_eq!(panels("delay"), panels("ipdv"));
        // A row without a value makes a panel.
        let drawing = crate::Drawing::whole("by_probe", &run).unwrap();
        let svg = crate::svg::draw(&drawing).unwrap();
        assert!(svg.contains("IPDV (ns): null"), "{svg}");
        assert!(!svg.contains("NaN") && !svg.contains("undefined"), "{svg}");
    }

    #[test]
    fn a_probe_that_was_never_answered_is_named() {
        let mut run = classes();
        assert!(!ByProbe.about(&run).contains(NO_ANSWER));
        let group = &mut run.groups[1];
        group.summary.response = None;
        let label = format!("{}, {}", group.level("case"), group.probe);
        let about = ByProbe.about(&run);
        assert!(
            about.contains(&format!("as nothing was answered: {label}.")),
            "{about}"
        );
    }
}
