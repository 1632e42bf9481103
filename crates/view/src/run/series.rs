//! What was over time in a run that kept it: of each panel one trial to be drawn, and the figures of all.
//!
//! A run has series of every port and flow. Of each kind the one that matters is shown: a probe's own
//! (its rate), else the one with the most of it.

use super::TrialData;
use delaylab_lab::experiment::Resolved;
use delaylab_model::distinct::Distinct;
use delaylab_model::plan::{Factor, Unit};
use delaylab_model::quantity::Limit;
use delaylab_model::series::SeriesPoint;
use delaylab_store::run::Run;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Stretches that are drawn of a series at most.
const STRETCHES: usize = 320;

/// A series in one panel.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesShown {
    /// What it is.
    pub series: String,
    /// Of which port or flow.
    pub of: String,
    /// What its values count.
    pub unit: Unit,
    /// Which of the run's panels.
    pub panel: usize,
    /// Mean over time, in all trials of the panel.
    pub mean: f64,
    /// The largest in all of them.
    pub max: f64,
    /// From where on its switch acts, in its unit.
    pub threshold: Option<f64>,
    /// Which trial the stretches are of.
    pub trial: u32,
    /// In order of time.
    pub stretches: Vec<SeriesPoint>,
}

/// All of a panel's trials of one series.
#[derive(Debug, Clone, Copy)]
struct Total {
    unit: Unit,
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
}

/// Trial, kind, and what it is of.
type Key = (u32, Arc<str>, Arc<str>);
type ByTrial = BTreeMap<Key, Total>;
/// By kind, panel, and what it is of.
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

    /// Those of these trials, kind by kind and panel by panel.
    pub(super) fn of(&self, trials: &[TrialData]) -> Vec<SeriesShown> {
        // Probes of one trial see the same queues: the first one's panel shows them.
        let mut panel_of = BTreeMap::<u32, usize>::new();
        let mut distinct = Distinct::new();
        for trial in trials {
            let stream = &trial.stream;
            // Of trials that are the same simulation the first of a panel will do.
            if distinct.counts(stream.trace_hash, (trial.panel, stream.probe)) {
                panel_of.entry(stream.trial).or_insert(trial.panel);
            }
        }
        self.shown(trials, &panel_of)
    }

    fn shown(&self, trials: &[TrialData], panel_of: &BTreeMap<u32, usize>) -> Vec<SeriesShown> {
        let factors_of = |trial: u32| {
            let streams = trials.iter().map(|t| &t.stream);
            let mut own = streams.filter(|stream| stream.trial == trial);
            own.next().map_or(&[][..], |stream| &stream.factors)
        };
        let totals = by_panel(&self.by_trial, panel_of);
        let probes = trials.iter().map(|trial| trial.stream.name.as_str());
        let chosen = chosen(&totals, &probes.collect());
        let mut drawn = Drawn {
            run: self.run,
            trials: drawn_trials(&self.by_trial, panel_of, &chosen),
            read: BTreeMap::new(),
        };
        let mut shown = Vec::new();
        for ((series, panel, of), total) in &totals {
            if chosen.get(series) == Some(of) {
                let (trial, stretches) = drawn.stretches(*panel, series, of);
                shown.push(SeriesShown {
                    series: series.to_string(),
                    of: of.to_string(),
                    unit: total.unit,
                    panel: *panel,
                    mean: total.mean(),
                    max: total.max,
                    threshold: threshold(self.resolved, factors_of(trial), series, total.unit),
                    trial,
                    stretches,
                });
            }
        }
        shown
    }
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
    totals
}

fn by_panel(by_trial: &ByTrial, panel_of: &BTreeMap<u32, usize>) -> Totals {
    let mut totals = Totals::new();
    for ((trial, series, of), total) in by_trial {
        let Some(&panel) = panel_of.get(trial) else {
            continue;
        };
        let entry = totals.entry((series.clone(), panel, of.clone()));
        entry
            .and_modify(|sum| *sum = sum.and(*total))
            .or_insert(*total);
    }
    totals
}

/// Of each panel the trial with the longest queue, or else the first.
fn drawn_trials(
    by_trial: &ByTrial,
    panel_of: &BTreeMap<u32, usize>,
    chosen: &BTreeMap<Arc<str>, Arc<str>>,
) -> BTreeMap<usize, u32> {
    let queue: Arc<str> = "backlog".into();
    let queue_of = |trial: u32| {
        let key = (trial, queue.clone(), chosen.get(&queue)?.clone());
        by_trial.get(&key).map(Total::mean)
    };
    let mut drawn = BTreeMap::<usize, (f64, u32)>::new();
    for (&trial, &panel) in panel_of {
        let queue = queue_of(trial).unwrap_or(-1.0);
        if drawn.get(&panel).is_none_or(|(most, _)| queue > *most) {
            drawn.insert(panel, (queue, trial));
        }
    }
    let trial = |(panel, (_, trial))| (panel, trial);
    drawn.into_iter().map(trial).collect()
}

/// Of each kind, which one is shown.
fn chosen(totals: &Totals, probes: &BTreeSet<&str>) -> BTreeMap<Arc<str>, Arc<str>> {
    let mut most = BTreeMap::<Arc<str>, ((bool, f64), Arc<str>)>::new();
    for ((series, _, of), total) in totals {
        let rank = (probes.contains(&**of), total.mean());
        let best = most.get(series);
        if best.is_none_or(|(best, _)| rank.partial_cmp(best).is_some_and(|order| order.is_gt())) {
            most.insert(series.clone(), (rank, of.clone()));
        }
    }
    let of = |(series, (_, of))| (series, of);
    most.into_iter().map(of).collect()
}

/// Reads the trials that are drawn, each once.
struct Drawn<'a> {
    run: &'a Run,
    /// Which, for each panel.
    trials: BTreeMap<usize, u32>,
    read: BTreeMap<u32, Vec<SeriesPoint>>,
}

impl Drawn<'_> {
    /// Which trial of the panel is drawn, and its series.
    fn stretches(&mut self, panel: usize, series: &str, of: &str) -> (u32, Vec<SeriesPoint>) {
        let trial = self.trials.get(&panel).copied().unwrap_or(0);
        let read = self.read.entry(trial);
        let points = read.or_insert_with(|| self.run.series(Some(trial)));
        let is_meant = |point: &&SeriesPoint| *point.series == *series && *point.of == *of;
        let points: Vec<SeriesPoint> = points.iter().filter(is_meant).cloned().collect();
        (trial, thinned(&points))
    }
}

/// So many together that no more are left than can be drawn; extremes stay.
fn thinned(points: &[SeriesPoint]) -> Vec<SeriesPoint> {
    let together = points.len().div_ceil(STRETCHES).max(1);
    points.chunks(together).filter_map(joined).collect()
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

/// Where the switch of a trial with these levels acts, if that is said in what its backlog counts.
fn threshold(
    resolved: Option<&Resolved>,
    factors: &[Factor],
    series: &str,
    unit: Unit,
) -> Option<f64> {
    // By levels: a later version may plan more trials, and number them otherwise.
    let planned = resolved?.planned.iter().find(|p| p.factors == factors)?;
    let limit = planned.trial.path.switch.as_ref()?.threshold?;
    let (number, counts) = match limit {
        Limit::Cells(cells) => (cells, Unit::Cells),
        Limit::Bytes(bytes) => (bytes, Unit::Bytes),
        Limit::Packets(packets) => (packets, Unit::Packets),
        Limit::Share(_) | Limit::Unlimited => return None,
    };
    (series == "backlog" && counts == unit).then_some(number as f64)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

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
        let chosen: Vec<_> = chosen.iter().map(|(s, of)| (&**s, &**of)).collect();
        assert_eq!(chosen, [("acr", "echo"), ("backlog", "s1→s2")]);
    }
}
