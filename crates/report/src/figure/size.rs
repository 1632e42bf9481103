//! Round trip against size (seed 000): the mean of each trial, the mean and the least of all repeats.

use super::{Figure, Table, parse};
use crate::run::panels::{self, size_factor};
use crate::run::{RunData, Stream, TrialData};
use delaylab_model::Nanos;
use delaylab_model::plan::Factor;
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(super) struct Size;

const COLUMNS: [&str; 5] = [
    "group",
    "size_bytes",
    "statistic",
    "round_trip_ns",
    "packets",
];

impl Figure for Size {
    fn name(&self) -> &'static str {
        "delay_against_size"
    }

    fn title(&self) -> &'static str {
        "Delay against size"
    }

    fn about(&self, _run: &RunData) -> String {
        "Points are the means of single trials; lines are the mean and, dashed, the least round trip of all trials of a size.".to_owned()
    }

    fn table(&self, run: &RunData) -> Table {
        let mut table = Table::new(&COLUMNS);
        let streams: Vec<_> = run.trials.iter().map(|trial| &trial.stream).collect();
        let Some(factor) = size_factor(&streams) else {
            return table;
        };
        let mut pools: BTreeMap<(usize, u64), Pool> = BTreeMap::new();
        let groups = groups(run, &factor);
        for trial in &run.trials {
            let Some(size) = level(&trial.stream, &factor) else {
                continue;
            };
            let Some(group) = groups.get(trial.panel) else {
                continue;
            };
            // With few sizes each has panels of its own, whose names are then alike.
            let place = groups
                .iter()
                .position(|g| g == group)
                .unwrap_or(trial.panel);
            let pool = pools.entry((place, size.to_bits())).or_default();
            let Some(mean) = pool.add(trial) else {
                continue;
            };
            let packets = trial.summary.round_trip.as_ref().map(|d| d.count);
            let statistic = json!("mean of a trial");
            table.row([json!(group), json!(size), statistic, mean, json!(packets)]);
        }
        for ((group, size), pool) in &pools {
            let place = [json!(groups[*group]), json!(f64::from_bits(*size))];
            pool.rows(&mut table, place);
        }
        table
    }

    fn spec(&self, run: &RunData) -> Value {
        let mut spec = parse(include_str!("specs/size.json"));
        if run.panels.len() < 2 {
            spec["encoding"]["color"]["legend"] = Value::Null;
        }
        spec
    }
}

/// The name of each panel without its size.
fn groups(run: &RunData, size: &str) -> Vec<String> {
    let others = |factors: &[Factor]| -> Vec<Factor> {
        let others = factors.iter().filter(|(name, _)| name != size);
        others.cloned().collect()
    };
    let names = run
        .panels
        .iter()
        .map(|panel| panels::label(&others(&panel.factors)));
    names.collect()
}

fn level(stream: &Stream, factor: &str) -> Option<f64> {
    let (_, level) = stream.factors.iter().find(|(name, _)| name == factor)?;
    level.value
}

/// All trials of one size in one group. Exact: means are summed by their counts.
#[derive(Default)]
struct Pool {
    packets: u64,
    sum: f64,
    least: Option<Nanos>,
}

impl Pool {
    /// The trial's mean in whole nanoseconds; `None` where nothing was answered.
    fn add(&mut self, trial: &TrialData) -> Option<Value> {
        let delays = trial.summary.round_trip.as_ref()?;
        self.packets += delays.count;
        self.sum += delays.mean * delays.count as f64;
        self.least = Some(self.least.map_or(delays.min, |least| least.min(delays.min)));
        Some(json!(delays.mean.round()))
    }

    fn rows(&self, table: &mut Table, [group, size]: [Value; 2]) {
        let Some(least) = self.least else { return };
        let mean = (self.sum / self.packets as f64).round();
        for (statistic, value) in [("mean", json!(mean)), ("minimum", json!(least))] {
            let (group, size) = (group.clone(), size.clone());
            table.row([group, size, json!(statistic), value, json!(self.packets)]);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::run::samples::{sizes, waits};

    #[test]
    fn without_sizes_there_is_nothing_to_show() {
        assert!(Size.table(&waits()).rows.is_empty());
    }

    #[test]
    fn a_line_lies_among_its_points() {
        let table = Size.table(&sizes());
        let of = |statistic: &str, group: &Value, size: &Value| -> Vec<f64> {
            let rows = table.rows.iter();
            let these =
                rows.filter(|row| row[2] == statistic && row[0] == *group && row[1] == *size);
            these.map(|row| row[3].as_f64().unwrap()).collect()
        };
        for row in table.rows.iter().filter(|row| row[2] == "mean") {
            let mean = row[3].as_f64().unwrap();
            let points = of("mean of a trial", &row[0], &row[1]);
            assert_eq!(points.len(), 2, "two repeats");
            assert!(points.iter().any(|&point| point <= mean));
            assert!(points.iter().any(|&point| point >= mean));
            assert!(of("minimum", &row[0], &row[1])[0] <= mean);
        }
    }
}
