//! What was over time in a run that kept it: of each combination of levels the figures of all its repeats, and of some
//! of them one trial to be drawn. Combinations are never put together: their links and queues may be others.
//!
//! A run has series of every port and flow. Of each kind the one that matters is shown: a probe's own
//! (its rate), else the one with the most of it, and where another has far more under some levels that one.

use super::{TrialData, limits};
use crate::words::either;
use delaylab_lab::experiment::Resolved;
use delaylab_lab::finding::series::held;
use delaylab_model::Nanos;
use delaylab_model::distinct::Distinct;
use delaylab_model::plan::{Factor, Level, Unit, compare_combinations};
use delaylab_model::series::{COUNTS, SeriesPoint};
use delaylab_model::words::each_once;
use delaylab_store::run::Run;
use delaylab_topology::build;
use delaylab_topology::network::Network;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The series of what waits in a queue.
const QUEUE: &str = "backlog";
/// Stretches that are drawn of a series at most.
const STRETCHES: usize = 320;
/// Combinations of levels that are drawn at most.
const DRAWN: usize = 12;
/// What is shown of the whole run stands back under levels where another has this many times as much.
const FAR_MORE: f64 = 2.0;
/// Bytes of an ATM cell: one port of a run may count cells, and another bytes.
const CELL_BYTES: f64 = 53.0;

/// A series under one combination of levels.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesShown {
    /// What it is.
    pub series: String,
    /// Of which port or flow.
    pub of: String,
    /// Under most levels another one is shown, which is here, too, but has far less.
    pub is_exception: bool,
    /// What its values count.
    pub unit: Unit,
    /// The levels of every factor.
    pub factors: Vec<Factor>,
    /// Mean over time, in all trials of this combination, their warm-up included; of a count the mean of what the trials
    /// counted.
    pub mean: f64,
    /// The largest in all of them.
    pub max: f64,
    /// From where on its switch marks packets or slows senders, in its unit.
    pub threshold: Option<f64>,
    /// How much the switch lets into it, or into each of its class queues, in the same unit; `None` where that is unknown.
    pub limit: Option<f64>,
    /// Which trial the stretches are of; 0 where there are none.
    pub trial: u32,
    /// In order of time; empty where it is not drawn.
    pub stretches: Vec<SeriesPoint>,
    /// Which values it had in that trial, each with for how long; empty where they are not asked for.
    pub held: Vec<(f64, Nanos)>,
}

impl SeriesShown {
    /// Its mean, to be held against that of another that may count otherwise.
    pub fn rank(&self) -> f64 {
        rank(self.unit, self.mean)
    }

    /// What these are of: `s1→s2`, `ttcp 2 or ttcp 3`, `ttcp 2 and others`; `None` without any.
    pub fn ports_or_flows<'a>(these: impl Iterator<Item = &'a Self>) -> Option<String> {
        let names = each_once(these.map(|shown| shown.of.as_str()));
        match names.as_slice() {
            [] => None,
            [first, _, _, ..] => Some(format!("{first} and others")),
            few => Some(either(few)),
        }
    }

    /// The combinations of levels that these are of, each once, in the order of the experiment.
    pub fn combinations<'a>(
        these: impl Iterator<Item = &'a Self>,
        order: &[(String, Vec<Level>)],
    ) -> Vec<&'a [Factor]> {
        let mut combinations: Vec<_> = these.map(|shown| shown.factors.as_slice()).collect();
        combinations.sort_by(|a, b| compare_combinations(a, b, order));
        combinations.dedup();
        combinations
    }
}

/// By which of a run's series it is decided which combinations are drawn where they are many, and which of the repeats of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DrawnBy {
    /// What waits in a queue: the longest.
    Queue,
    /// What gets through: the least.
    Goodput(&'static str),
    /// Neither is known: the first.
    Order,
}

impl DrawnBy {
    /// Of a run with these series.
    pub fn from_series<'a>(series: impl Iterator<Item = &'a str> + Clone) -> Self {
        let by = [
            DrawnBy::Queue,
            DrawnBy::Goodput("load_goodput"),
            DrawnBy::Goodput("goodput"),
        ];
        let there = |by: &DrawnBy| series.clone().any(|it| Some(it) == by.series());
        by.into_iter().find(there).unwrap_or(DrawnBy::Order)
    }

    const fn series(self) -> Option<&'static str> {
        match self {
            DrawnBy::Queue => Some(QUEUE),
            DrawnBy::Goodput(series) => Some(series),
            DrawnBy::Order => None,
        }
    }

    /// The larger, the sooner it is drawn.
    fn rank(self, total: &Total) -> f64 {
        match self {
            DrawnBy::Goodput(_) => -total.rank(),
            DrawnBy::Queue | DrawnBy::Order => total.rank(),
        }
    }

    /// `these are the 12 with the longest queues`.
    pub fn combinations(self, drawn: usize) -> String {
        match self {
            DrawnBy::Queue => format!("these are the {drawn} with the longest queues"),
            DrawnBy::Goodput(_) => format!("these are the {drawn} with the least goodput"),
            DrawnBy::Order => format!("these are the first {drawn}"),
        }
    }

    /// `the one with the longest queue`.
    pub const fn repeat(self) -> &'static str {
        match self {
            DrawnBy::Queue => "the one with the longest queue",
            DrawnBy::Goodput(_) => "the one with the least goodput",
            DrawnBy::Order => "the first",
        }
    }
}

/// All trials of one combination, of one series.
#[derive(Debug, Clone, Copy)]
struct Total {
    unit: Unit,
    /// What the mean weighs it by: how long it was, or how many trials.
    length: f64,
    area: f64,
    max: f64,
}

impl Total {
    fn add(total: Option<Self>, point: &SeriesPoint) -> Self {
        let before = total.unwrap_or(Self {
            unit: point.unit,
            length: 0.0,
            area: 0.0,
            max: point.max,
        });
        Self {
            length: before.length + point.length as f64,
            area: before.area + point.mean * point.length as f64,
            max: before.max.max(point.max),
            ..before
        }
    }

    /// All of one trial's. A count has one number in each trial, its last value, however long the trial was.
    fn of_trial(self, series: &str) -> Self {
        match COUNTS.contains(&series) {
            true => Self {
                length: 1.0,
                area: self.max,
                ..self
            },
            false => self,
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            length: self.length + other.length,
            area: self.area + other.area,
            max: self.max.max(other.max),
            ..self
        }
    }

    fn mean(&self) -> f64 {
        self.area / self.length.max(1.0)
    }

    fn rank(&self) -> f64 {
        rank(self.unit, self.mean())
    }
}

/// A mean, to be held against that of another: cells and bytes by what they take of a line.
fn rank(unit: Unit, mean: f64) -> f64 {
    match unit {
        Unit::Cells => CELL_BYTES * mean,
        _ => mean,
    }
}

/// Trial, kind, and what it is of.
type Key = (u32, Arc<str>, Arc<str>);
type ByTrial = BTreeMap<Key, Total>;
/// By kind, combination, and what it is of.
type Totals = BTreeMap<(Arc<str>, usize, Arc<str>), Total>;

/// Every series of a run, each trial's summed up.
pub(super) struct Everything<'a> {
    run: &'a Run,
    resolved: Option<&'a Resolved>,
    by_trial: ByTrial,
}

impl<'a> Everything<'a> {
    /// Reads the series of the run.
    pub(super) fn read(run: &'a Run, resolved: Option<&'a Resolved>) -> Self {
        Self {
            run,
            resolved,
            by_trial: by_trial(run),
        }
    }

    /// Those of these trials, kind by kind and combination by combination.
    pub(super) fn by_combination(&self, trials: &[TrialData]) -> Vec<SeriesShown> {
        let order = self.resolved.map_or(&[][..], |it| &it.factors);
        let mut combinations: Vec<&[Factor]> = trials.iter().map(factors).collect();
        combinations.sort_by(|a, b| compare_combinations(a, b, order));
        combinations.dedup();
        let of_trial = |trial: &TrialData| combinations.iter().position(|it| *it == factors(trial));
        let mut combination_of = BTreeMap::<u32, usize>::new();
        let mut distinct = Distinct::new();
        for trial in trials {
            let stream = &trial.stream;
            let combination = of_trial(trial).unwrap_or(0);
            // Of trials that are the same simulation the first of a combination will do.
            if distinct.is_first(stream.trace_hash, (combination, stream.probe)) {
                combination_of.entry(stream.trial).or_insert(combination);
            }
        }
        self.shown(trials, &combinations, &combination_of)
    }

    fn shown(
        &self,
        trials: &[TrialData],
        combinations: &[&[Factor]],
        combination_of: &BTreeMap<u32, usize>,
    ) -> Vec<SeriesShown> {
        let totals = by_combination(&self.by_trial, combination_of);
        let probes = trials.iter().map(|trial| trial.stream.name.as_str());
        let chosen = chosen(&totals, &probes.collect());
        let by = DrawnBy::from_series(totals.keys().map(|(series, _, _)| &**series));
        let of = |combination| {
            of_combination(&totals, &chosen, &by.series()?.into(), combination).map(|here| here.of)
        };
        let mut drawn = Drawn {
            run: self.run,
            trials: drawn_trials(&self.by_trial, combination_of, by, of),
            read: BTreeMap::new(),
        };
        let mut networks = BTreeMap::new();
        let mut shown = Vec::new();
        for ((series, combination, of), total) in &totals {
            let here = of_combination(&totals, &chosen, series, *combination);
            if let Some(here) = here.filter(|here| here.of == *of) {
                let (trial, stretches) = drawn.stretches(*combination, series, of);
                let factors = combinations.get(*combination).copied().unwrap_or(&[]);
                let mut switch = None;
                if **series == *QUEUE {
                    let network = networks.entry(*combination);
                    let network = network.or_insert_with(|| self.network(factors)).as_ref();
                    switch = network.and_then(|network| network.switch_of(of));
                }
                shown.push(SeriesShown {
                    series: series.to_string(),
                    of: of.to_string(),
                    is_exception: here.is_exception,
                    unit: total.unit,
                    factors: factors.to_vec(),
                    mean: total.mean(),
                    max: total.max,
                    threshold: switch.and_then(|switch| limits::threshold(switch, total.unit)),
                    limit: switch.and_then(|switch| limits::limit(switch, total.unit)),
                    trial,
                    stretches,
                    held: Vec::new(),
                });
            }
        }
        shown
    }

    /// Which values a series had in the trial that is drawn of it, each with for how long; none of one that is not drawn.
    pub(super) fn held(&self, shown: &SeriesShown) -> Vec<(f64, Nanos)> {
        if shown.stretches.is_empty() {
            return Vec::new();
        }
        let is_meant = |series: &str, of: &str| (series, of) == (&*shown.series, &*shown.of);
        let mut points = self.run.series(Some(shown.trial));
        points.retain(|point| is_meant(&point.series, &point.of));
        let mut values = self.run.series_values(Some(shown.trial));
        values.retain(|value| is_meant(&value.series, &value.of));
        held(&points, &values)
    }

    /// What the trials with these levels are carried out in. By levels: a later version may plan more trials, and number them
    /// otherwise.
    fn network(&self, factors: &[Factor]) -> Option<Network> {
        let planned = self
            .resolved?
            .planned
            .iter()
            .find(|p| p.factors == factors)?;
        build(&planned.trial).ok().map(|built| built.network)
    }
}

fn factors(trial: &TrialData) -> &[Factor] {
    &trial.stream.factors
}

fn by_trial(run: &Run) -> ByTrial {
    let mut totals = ByTrial::new();
    let mut open: Option<(Key, Total)> = None;
    run.for_each_series_point(None, |point| match &mut open {
        Some(((trial, series, of), total))
            if (*trial, &*series, &*of) == (point.trial, &point.series, &point.of) =>
        {
            *total = Total::add(Some(*total), point);
        }
        _ => {
            totals.extend(open.take());
            let key = (point.trial, point.series.clone(), point.of.clone());
            open = Some((key, Total::add(None, point)));
        }
    });
    totals.extend(open);
    for ((_, series, _), total) in &mut totals {
        *total = total.of_trial(series);
    }
    totals
}

fn by_combination(by_trial: &ByTrial, combination_of: &BTreeMap<u32, usize>) -> Totals {
    let mut totals = Totals::new();
    for ((trial, series, of), total) in by_trial {
        let Some(&combination) = combination_of.get(trial) else {
            continue;
        };
        let entry = totals.entry((series.clone(), combination, of.clone()));
        entry
            .and_modify(|sum| *sum = sum.and(*total))
            .or_insert(*total);
    }
    totals
}

/// Of each combination that is drawn one trial, and of many combinations some. `of`: the port or flow of a combination by which
/// that is decided.
fn drawn_trials(
    by_trial: &ByTrial,
    combination_of: &BTreeMap<u32, usize>,
    by: DrawnBy,
    of: impl Fn(usize) -> Option<Arc<str>>,
) -> BTreeMap<usize, u32> {
    let combinations: BTreeSet<usize> = combination_of.values().copied().collect();
    let of = combinations.into_iter().map(|it| (it, of(it)));
    let of: BTreeMap<usize, Option<Arc<str>>> = of.collect();
    let rank_of = |trial: u32, combination: usize| {
        let of = of.get(&combination)?.clone()?;
        let total = by_trial.get(&(trial, by.series()?.into(), of))?;
        Some(by.rank(total))
    };
    let mut first = BTreeMap::<usize, (f64, u32)>::new();
    for (&trial, &combination) in combination_of {
        let rank = rank_of(trial, combination).unwrap_or(f64::NEG_INFINITY);
        let known = first.get(&combination);
        if known.is_none_or(|(most, _)| rank > *most) {
            first.insert(combination, (rank, trial));
        }
    }
    let mut drawn: Vec<(usize, (f64, u32))> = first.into_iter().collect();
    drawn.sort_by(|(_, (a, _)), (_, (b, _))| b.total_cmp(a));
    drawn.truncate(DRAWN);
    let trial = |(combination, (_, trial))| (combination, trial);
    drawn.into_iter().map(trial).collect()
}

/// Which one is shown of a kind in the whole run.
#[derive(Debug, PartialEq)]
struct Chosen {
    of: Arc<str>,
    /// It is a probe's own: it is shown whatever others have.
    is_of_probe: bool,
}

fn chosen(totals: &Totals, probes: &BTreeSet<&str>) -> BTreeMap<Arc<str>, Chosen> {
    let mut most = BTreeMap::<Arc<str>, (f64, Chosen)>::new();
    for ((series, _, of), total) in totals {
        let of = of.clone();
        let is_of_probe = probes.contains(&*of);
        let rank = (is_of_probe, total.rank());
        let best = most.get(series);
        if best.is_none_or(|(most, best)| rank > (best.is_of_probe, *most)) {
            most.insert(series.clone(), (total.rank(), Chosen { of, is_of_probe }));
        }
    }
    let of = |(series, (_, chosen))| (series, chosen);
    most.into_iter().map(of).collect()
}

/// Which one is shown under a combination.
struct Here {
    of: Arc<str>,
    is_exception: bool,
}

/// The one of the whole run; where that is not there, or is nearly idle beside another, the one with the most.
fn of_combination(
    totals: &Totals,
    chosen: &BTreeMap<Arc<str>, Chosen>,
    series: &Arc<str>,
    combination: usize,
) -> Option<Here> {
    let Chosen { of, is_of_probe } = chosen.get(series)?;
    let first: Arc<str> = "".into();
    let all = totals.range((series.clone(), combination, first)..);
    let all = all.take_while(|((kind, at, _), _)| (kind, *at) == (series, combination));
    let usual = totals.get(&(series.clone(), combination, of.clone()));
    let ((_, _, most), total) = all.max_by(|(_, x), (_, y)| x.rank().total_cmp(&y.rank()))?;
    let is_near = |usual: &Total| *is_of_probe || total.rank() <= FAR_MORE * usual.rank();
    Some(match usual.is_some_and(is_near) {
        true => Here {
            of: of.clone(),
            is_exception: false,
        },
        false => Here {
            of: most.clone(),
            is_exception: usual.is_some(),
        },
    })
}

/// Reads the trials that are drawn, each once.
struct Drawn<'a> {
    run: &'a Run,
    /// Which, for each combination that is drawn.
    trials: BTreeMap<usize, u32>,
    read: BTreeMap<u32, Vec<SeriesPoint>>,
}

impl Drawn<'_> {
    /// Which trial of the combination is drawn, and its series; nothing of one that is not drawn.
    fn stretches(&mut self, combination: usize, series: &str, of: &str) -> (u32, Vec<SeriesPoint>) {
        let Some(&trial) = self.trials.get(&combination) else {
            return (0, Vec::new());
        };
        let read = self.read.entry(trial);
        let points = read.or_insert_with(|| self.run.series(Some(trial)));
        let is_meant = |point: &&SeriesPoint| *point.series == *series && *point.of == *of;
        let points: Vec<SeriesPoint> = points.iter().filter(is_meant).cloned().collect();
        (trial, thinned(&points))
    }
}

/// So many together that no more are left than can be drawn; extremes stay.
fn thinned(points: &[SeriesPoint]) -> Vec<SeriesPoint> {
    let parts = parts_of_time(points, STRETCHES);
    parts.into_iter().filter_map(joined).collect()
}

/// Stretches of a series that follow each other, put together so that they divide its time into about `most` parts, and into
/// twice as many at most: one that is as long as such a part stays alone.
pub fn parts_of_time(points: &[SeriesPoint], most: usize) -> Vec<&[SeriesPoint]> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return Vec::new();
    };
    let end = |point: &SeriesPoint| point.t + point.length;
    let part = (end(last) - first.t) as f64 / most.max(1) as f64;
    let is_long = |length: i64| length as f64 >= part;
    let (mut parts, mut from) = (Vec::new(), 0);
    for (index, point) in points.iter().enumerate() {
        let next = points.get(index + 1);
        if is_long(end(point) - points[from].t) || next.is_some_and(|next| is_long(next.length)) {
            parts.push(&points[from..=index]);
            from = index + 1;
        }
    }
    parts.extend((from < points.len()).then(|| &points[from..]));
    parts
}

fn joined(points: &[SeriesPoint]) -> Option<SeriesPoint> {
    let (first, last) = (points.first()?, points.last()?);
    let total = points
        .iter()
        .fold(None, |total, point| Some(Total::add(total, point)))?;
    Some(SeriesPoint {
        length: last.t + last.length - first.t,
        min: points
            .iter()
            .map(|point| point.min)
            .fold(first.min, f64::min),
        mean: total.mean(),
        max: total.max,
        ..first.clone()
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_model::series::SeriesValue;

    fn point(of: &str, t: i64, value: f64) -> SeriesPoint {
        SeriesPoint {
            trial: 0,
            series: "backlog".into(),
            of: of.into(),
            unit: Unit::Cells,
            t,
            length: 10,
            min: value - 1.0,
            mean: value,
            max: value + 1.0,
        }
    }

    #[test]
    fn values_of_a_thinned_series_are_not_the_means_of_its_stretches() {
        let points = [point("s1→s2", 0, 5.0)];
        assert_eq!(held(&points, &[]), [(5.0, 10)]);
        let value = |value: f64, length: Nanos| SeriesValue {
            value,
            length,
            ..SeriesValue::default()
        };
        let values = [value(1.0, 8), value(21.0, 2)];
        assert_eq!(held(&points, &values), [(1.0, 8), (21.0, 2)]);
    }

    #[test]
    fn thinned_series_keep_their_extremes_and_their_mean() {
        let points: Vec<_> = (0..1000)
            .map(|k| point("s1→s2", 10 * k, k as f64))
            .collect();
        let thin = thinned(&points);
        assert!(thin.len() <= STRETCHES);
        assert_eq!((thin[0].t, thin[0].min), (0, -1.0));
        assert_eq!(thin.iter().map(|p| p.length).sum::<i64>(), 10_000);
        assert_eq!(thin.last().unwrap().max, 1000.0);
        assert_eq!(thin[0].mean, 1.5);
    }

    #[test]
    fn a_long_stretch_stays_alone() {
        let short = |k: i64| point("s1→s2", k, 1.0 + k as f64);
        let mut points: Vec<_> = (0..40)
            .map(|k| SeriesPoint {
                length: 1,
                ..short(k)
            })
            .collect();
        points[20].length = 100_000;
        points[21..].iter_mut().for_each(|point| point.t += 100_000);
        let parts = parts_of_time(&points, 16);
        assert_eq!(
            parts.iter().map(|part| part.len()).collect::<Vec<_>>(),
            [20, 1, 19]
        );
        assert_eq!(parts_of_time(&points, 1_000_000).len(), 40);
        assert!(parts_of_time(&[], 16).is_empty());
    }

    #[test]
    fn the_port_with_the_most_and_the_probes_own_flow_are_shown() {
        let mut totals = Totals::new();
        for (series, of, mean) in [
            ("backlog", "s1→s2", 500.0),
            ("backlog", "s2→s1", 3.0),
            ("acr", "ttcp", 1e6),
            ("acr", "echo", 10.0),
        ] {
            let total = Total::add(None, &point(of, 0, mean));
            totals.insert((series.into(), 0, of.into()), total);
        }
        let chosen = chosen(&totals, &["echo"].into());
        let chosen: Vec<_> = chosen.iter().map(|(s, it)| (&**s, &*it.of)).collect();
        assert_eq!(chosen, [("acr", "echo"), ("backlog", "s1→s2")]);
    }

    #[test]
    fn a_count_is_what_each_trial_came_to() {
        let trial = |series: &str, values: [f64; 2]| {
            let points =
                [(0, values[0]), (10, values[1])].map(|(t, value)| point("s1→s2", t, value));
            let total = points
                .iter()
                .fold(None, |total, point| Some(Total::add(total, point)));
            total.unwrap().of_trial(series)
        };
        let of_trials = |series| trial(series, [0.0, 9.0]).and(trial(series, [10.0, 19.0]));
        assert_eq!(
            (of_trials("drops").mean(), of_trials("drops").max),
            (15.0, 20.0)
        );
        assert_eq!(
            (of_trials("backlog").mean(), of_trials("backlog").max),
            (9.5, 20.0)
        );
    }

    #[test]
    fn where_the_one_of_the_run_is_not_there_another_is_shown() {
        let mut totals = Totals::new();
        for (combination, of, mean) in [(0, "ttcp", 9.0), (1, "ttcp 1", 3.0), (1, "ttcp 2", 4.0)] {
            let total = Total::add(None, &point(of, 0, mean));
            totals.insert(("goodput".into(), combination, of.into()), total);
        }
        let chosen = chosen(&totals, &BTreeSet::new());
        let of = |combination| of_combination(&totals, &chosen, &"goodput".into(), combination);
        let shown = [0, 1, 2].map(|at| of(at).map(|here| (here.of.to_string(), here.is_exception)));
        let named = |of: &str| Some((of.to_owned(), false));
        assert_eq!(shown, [named("ttcp"), named("ttcp 2"), None]);
    }

    #[test]
    fn a_port_that_is_idle_beside_another_stands_back() {
        let queues = [
            (0, "leaf→spine", 600.0),
            (0, "leaf→host", 9.0),
            (1, "leaf→spine", 2.0),
            (1, "leaf→host", 60.0),
            (2, "leaf→spine", 40.0),
            (2, "leaf→host", 60.0),
        ];
        let mut totals = Totals::new();
        for (combination, of, mean) in queues {
            let total = Total::add(None, &point(of, 0, mean));
            totals.insert((QUEUE.into(), combination, of.into()), total);
        }
        let of = |probes: &[&str]| {
            let chosen = chosen(&totals, &probes.iter().copied().collect());
            let of = |at| of_combination(&totals, &chosen, &QUEUE.into(), at);
            [0, 1, 2].map(|at| of(at).map(|here| (here.of.to_string(), here.is_exception)))
        };
        let named = |of: &str, is_exception| Some((of.to_owned(), is_exception));
        let spine = named("leaf→spine", false);
        assert_eq!(of(&[]), [spine.clone(), named("leaf→host", true), spine]);
        // A probe's own is what the table is about.
        let own = || named("leaf→host", false);
        assert_eq!(of(&["leaf→host"]), [own(), own(), own()]);
    }

    #[test]
    fn of_many_combinations_those_with_the_longest_queues_are_drawn() {
        let mut by_trial = ByTrial::new();
        let mut combination_of = BTreeMap::new();
        for trial in 0..40_u32 {
            let queue = Total::add(None, &point("s1→s2", 0, f64::from(trial)));
            by_trial.insert((trial, "backlog".into(), "s1→s2".into()), queue);
            // Two repeats of each.
            combination_of.insert(trial, trial as usize / 2);
        }
        let of = |_| Some("s1→s2".into());
        let drawn = drawn_trials(&by_trial, &combination_of, DrawnBy::Queue, of);
        let expected = (8..20).map(|combination| (combination, 2 * combination as u32 + 1));
        assert!(drawn.into_iter().eq(expected));
    }

    /// The senders that get least through are what a run without queues is about, and they come last in its order.
    #[test]
    fn without_queues_those_with_the_least_goodput_are_drawn() {
        let mut by_trial = ByTrial::new();
        for trial in 0..15_u32 {
            let goodput = Total::add(None, &point("load", 0, f64::from(900 - 50 * trial)));
            by_trial.insert((trial, "load_goodput".into(), "load".into()), goodput);
        }
        let combination_of = (0..15).map(|trial| (trial, trial as usize)).collect();
        let by = DrawnBy::from_series(["cwnd", "goodput", "load_goodput"].into_iter());
        assert_eq!(by, DrawnBy::Goodput("load_goodput"));
        assert!(!by.combinations(12).contains("queue"));
        let drawn = drawn_trials(&by_trial, &combination_of, by, |_| Some("load".into()));
        assert!(drawn.into_keys().eq(3..15));
        assert_eq!(DrawnBy::from_series(["cwnd"].into_iter()), DrawnBy::Order);
    }

    #[test]
    fn cells_are_not_held_against_bytes_as_if_they_were_as_large() {
        let mut by_trial = ByTrial::new();
        let mut combination_of = BTreeMap::new();
        // 13 queues of 100 cells and more, and 13 of about as many bytes.
        for trial in 0..26_u32 {
            let unit = if trial < 13 { Unit::Cells } else { Unit::Bytes };
            let value = f64::from(100 + trial);
            let queue = Total::add(
                None,
                &SeriesPoint {
                    unit,
                    ..point("s1→s2", 0, value)
                },
            );
            by_trial.insert((trial, "backlog".into(), "s1→s2".into()), queue);
            combination_of.insert(trial, trial as usize);
        }
        let drawn = drawn_trials(&by_trial, &combination_of, DrawnBy::Queue, |_| {
            Some("s1→s2".into())
        });
        assert!(drawn.into_values().eq(1..13));
    }
}
