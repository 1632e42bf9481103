//! Something that has a value at any time: a backlog, a rate, a window.

use crate::Nanos;
use crate::plan::Unit;
use crate::table::TableRow;
use crate::trial::Trial;
use std::sync::Arc;

/// Series that count from the start of a trial: their last value is the number of the whole trial, and their mean over
/// time is no figure of anything.
pub const COUNTS: [&str; 2] = ["drops", "marks"];

/// A series that a world keeps of a trial: what it is and of which port or flow, as in [`SeriesPoint`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeptSeries {
    /// What it is. Transfers, of which each is one number, are `fct`.
    pub series: &'static str,
    /// Of which port or flow.
    pub of: Arc<str>,
}

impl Trial {
    /// The series that real hosts keep of its loads.
    pub fn series_of_hosts(&self) -> Vec<KeptSeries> {
        let streams = self.loads.iter().flat_map(|load| {
            let names = (1..=load.streams).map(|number| load.stream_name(number));
            names.map(|name| (load.kind, Arc::from(name)))
        });
        let series = streams.flat_map(|(kind, of): (_, Arc<str>)| {
            let names = kind.series_of_hosts().iter();
            names.map(move |&series| {
                let of = of.clone();
                KeptSeries { series, of }
            })
        });
        series.collect()
    }
}

/// What a series was over a stretch of time. The stretches of a series follow each other without gaps
/// or overlaps; a world that thins a series makes them longer and keeps their extremes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SeriesPoint {
    /// During which trial of the run.
    pub trial: u32,
    /// What it is: `backlog`, `acr`, `cwnd`, `srtt`, `goodput`, `sent_rate`, `offered`, `load_retransmits`, `utilisation`,
    /// `fairness`, `paused`, `marks`, `drops`.
    pub series: Arc<str>,
    /// Of which port or flow.
    pub of: Arc<str>,
    /// What its values count.
    pub unit: Unit,
    /// When the stretch begins.
    pub t: Nanos,
    /// How long it is.
    pub length: Nanos,
    /// Least value.
    pub min: f64,
    /// Mean over time.
    pub mean: f64,
    /// Largest value.
    pub max: f64,
}

impl TableRow for SeriesPoint {
    /// All at once: a world that has series thins them.
    const WINDOW: usize = usize::MAX / 2;
    type Key<'a> = (&'a str, &'a str, Nanos);

    fn key(&self) -> Self::Key<'_> {
        (&self.series, &self.of, self.t)
    }
}

/// For how long a series had a value: a bin of its distribution over a trial, weighted by time. A world that thins a
/// series keeps this beside it: quantiles of the means of stretches are not those of the series.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SeriesValue {
    /// During which trial of the run.
    pub trial: u32,
    /// What it is, as in [`SeriesPoint`].
    pub series: Arc<str>,
    /// Of which port or flow.
    pub of: Arc<str>,
    /// What its values count.
    pub unit: Unit,
    /// Which value: the middle of the bin, within the series' extremes.
    pub value: f64,
    /// For how long, in all.
    pub length: Nanos,
}

impl TableRow for SeriesValue {
    /// All at once, as the series themselves.
    const WINDOW: usize = usize::MAX / 2;
    /// Values are not below zero, so that their bits have their order.
    type Key<'a> = (&'a str, &'a str, u64);

    fn key(&self) -> Self::Key<'_> {
        (&self.series, &self.of, self.value.max(0.0).to_bits())
    }
}
