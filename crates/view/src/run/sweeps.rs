//! Steps in delay against the size of packets, as they are shown.

use super::{RunData, Ways, panels};
use delaylab_explain::steps::{Direction, Way};

/// A way of a sweep under its name.
#[derive(Debug, Clone, Copy)]
pub struct NamedWay<'a> {
    /// Index of its sweep.
    pub sweep: usize,
    /// Which way, and what was found.
    pub way: &'a Way,
    /// Where its probe's packets go.
    ways: Ways,
}

/// Every way of every sweep.
pub fn shown(run: &RunData) -> impl Iterator<Item = NamedWay<'_>> {
    let sweeps = run.sweeps.iter().enumerate();
    sweeps.flat_map(|(sweep, of)| {
        let streams = run.trials.iter().map(|trial| &trial.stream);
        let streams = streams.filter(|stream| stream.name == of.probe);
        let ways = Ways::new(streams.map(|stream| stream.frames));
        let one = move |way| NamedWay { sweep, way, ways };
        of.ways.iter().map(one)
    })
}

/// The levels of each sweep that are not those of all, and its probe where there are several.
pub fn labels(run: &RunData) -> Vec<String> {
    let varied = panels::varied(run.sweeps.iter().map(|sweep| sweep.factors.as_slice()));
    let first = run.sweeps.first().map(|sweep| &sweep.probe);
    let several = run.sweeps.iter().any(|sweep| Some(&sweep.probe) != first);
    let label = |sweep: &delaylab_explain::steps::Sweep| {
        let mut own = sweep.clone();
        own.factors
            .retain(|(name, _)| varied.contains(&name.as_str()));
        if !several {
            own.probe.clear();
        }
        own.label()
    };
    run.sweeps.iter().map(label).collect()
}

impl NamedWay<'_> {
    /// What it is of, and what was measured: `condition quiet, network`.
    pub fn name(&self, labels: &[String]) -> String {
        let label = labels.get(self.sweep).map_or("", String::as_str);
        let what = match self.way.direction {
            Direction::Both => self.ways.words(self.way.measure),
            Direction::Forward => "to the target".to_owned(),
            Direction::Return => "from the target".to_owned(),
        };
        match label {
            "" => what,
            _ => format!("{label}, {what}"),
        }
    }
}
