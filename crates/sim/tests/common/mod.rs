//! Trials as an experiment file would have them, and what comes of them.

use delaylab_model::hop::Hop;
use delaylab_model::method::Method;
use delaylab_model::noise::{ClockReads, NoiseEvent};
use delaylab_model::path::Path;
use delaylab_model::probe::{HostCondition, Pacing, Probe};
use delaylab_model::record::Record;
use delaylab_model::rows::Rows;
use delaylab_model::series::SeriesPoint;
use delaylab_model::stop::Stop;
use delaylab_model::transfer::Transfer;
use delaylab_model::trial::{ProbeFacts, RecordFacts, Trial};
use delaylab_model::world::Sink;
use delaylab_model::{Nanos, load::Load};
use delaylab_sim::engine::{Counts, Engine, Serving};
use delaylab_sim::event_set::{EventSet, Tournament};
use delaylab_sim::kept_series;
use delaylab_sim::world::simulate;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::io;

/// `[path]` and `[[load]]` of an experiment file.
#[derive(Deserialize)]
struct Sections {
    #[serde(default)]
    path: Path,
    #[serde(default)]
    load: Vec<Load>,
}

/// A trial with these sections and probes.
pub fn trial(sections: &str, probes: Vec<Probe>) -> Trial {
    let sections: Sections = toml::from_str(sections).unwrap();
    Trial {
        id: 0,
        target: None,
        probes,
        loads: sections.load,
        path: sections.path,
        host: HostCondition::Normal,
        seed: 1,
    }
}

/// A probe of UDP packets.
pub fn probe(name: &str, payload: u32, pacing: Pacing, count: u64) -> Probe {
    let mut probe = Probe::new(name, Method::Udp);
    probe.payload = payload;
    probe.pacing = pacing;
    probe.count = Some(count);
    probe.timeout = 10_000_000_000;
    probe
}

pub const fn every(interval_ns: Nanos) -> Pacing {
    Pacing::Every { interval_ns }
}

pub const fn poisson(mean_ns: Nanos) -> Pacing {
    Pacing::Poisson { mean_ns }
}

/// Everything that a simulation hands over.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Taken {
    pub records: Vec<Record>,
    pub hops: Vec<Hop>,
    pub series: Vec<SeriesPoint>,
    pub transfers: Vec<Transfer>,
    pub noise: Vec<NoiseEvent>,
    pub clock_reads: Vec<ClockReads>,
    pub facts: Vec<ProbeFacts>,
    pub counts: Counts,
    pub hash: u64,
}

impl Sink for Taken {
    fn begin(&mut self, _: u16, _: &RecordFacts) -> io::Result<()> {
        Ok(())
    }
    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.records.push(*record);
        Ok(())
    }
    fn rows(&mut self, rows: Rows<'_>) -> io::Result<()> {
        match rows {
            Rows::Noise(events) => self.noise.extend_from_slice(events),
            Rows::ClockReads(bins) => self.clock_reads.extend_from_slice(bins),
            Rows::Hops(hops) => self.hops.extend_from_slice(hops),
            Rows::Series(points) => self.series.extend_from_slice(points),
            Rows::Transfers(transfers) => self.transfers.extend_from_slice(transfers),
            // No test here reads the others.
            _ => {}
        }
        Ok(())
    }
}

impl Taken {
    /// Response times of a probe from packet `from` on, in nanoseconds.
    pub fn responses(&self, probe: u16, from: u64) -> Vec<f64> {
        let of = self
            .records
            .iter()
            .filter(|record| record.probe == probe && record.seq >= from);
        of.filter_map(Record::response)
            .map(|response| response as f64)
            .collect()
    }

    /// How long packets of a probe waited at a port on the way out, in nanoseconds.
    pub fn waits(&self, probe: u16, port: &str) -> Vec<f64> {
        let there = self
            .hops
            .iter()
            .filter(|hop| hop.probe == probe && &*hop.port == port);
        there
            .map(|hop| (hop.t_dequeue - hop.t_enqueue) as f64)
            .collect()
    }

    /// A series' mean over time from `from` on, and its extremes.
    pub fn series_of(&self, series: &str, of: &str, from: Nanos) -> (f64, f64, f64) {
        let of = self
            .series
            .iter()
            .filter(|point| &*point.series == series && &*point.of == of)
            .filter(|point| point.t + point.length > from);
        let points: Vec<_> = of.collect();
        let since = |point: &SeriesPoint| (point.t + point.length - point.t.max(from)) as f64;
        let length: f64 = points.iter().copied().map(since).sum();
        let area: f64 = points.iter().map(|point| point.mean * since(point)).sum();
        let min = points
            .iter()
            .map(|point| point.min)
            .fold(f64::INFINITY, f64::min);
        let max = points
            .iter()
            .map(|point| point.max)
            .fold(f64::NEG_INFINITY, f64::max);
        (area / length, min, max)
    }
}

pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

pub fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// What experiments are checked by before they run has every series and transfer.
fn assert_series_are_foretold(trial: &Trial, taken: &Taken) {
    let kept: BTreeSet<_> = kept_series(trial).into_iter().collect();
    let names = taken.series.iter().map(|point| (&*point.series, &point.of));
    let transfers = taken.transfers.iter();
    for (series, of) in names.chain(transfers.map(|transfer| ("fct", &transfer.of))) {
        let is_kept = kept
            .iter()
            .any(|kept| kept.series == series && kept.of == *of);
        assert!(is_kept, "{series} of {of} is not among {kept:?}");
    }
    for kept in kept.iter().filter(|kept| kept.series == "fairness") {
        let mut points = taken.series.iter();
        let is_there = points.any(|point| &*point.series == "fairness" && point.of == kept.of);
        assert!(is_there, "{kept:?} has no point");
    }
}

/// Simulates a trial.
pub fn run(trial: &Trial) -> Taken {
    run_with::<Tournament>(trial, Serving::Lazy)
}

/// Simulates a trial with this event set, queues served so.
pub fn run_with<E: EventSet>(trial: &Trial, serving: Serving) -> Taken {
    let mut engine =
        Engine::<E>::new(trial, serving).unwrap_or_else(|refusal| panic!("{refusal:?}"));
    let mut taken = Taken::default();
    taken.facts = simulate(&mut engine, trial, &mut taken, &Stop::default()).unwrap();
    assert_series_are_foretold(trial, &taken);
    taken.hash = engine.trace_hash();
    taken.counts = engine.counts.clone();
    taken
        .records
        .sort_by_key(|record| (record.probe, record.seq));
    taken
}
