//! Gathers the results of a trial's frame streams, as a device benchmark procedure observes them.

use crate::exact_limit::EXACT_LIMIT;
use delaylab_model::record::Record;
use delaylab_model::series::SeriesPoint;
use delaylab_model::trial::Trial;
use delaylab_stats::frames::{FrameTrial, FramesBuilder};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Name of the series whose mean over the trial is a load's goodput.
const GOODPUT: &str = "goodput";

/// Gathers the results of frame streams, from a running trial or from a stored one.
#[derive(Debug, Default)]
pub struct FramesSeen {
    /// One builder for each probe that sends frames, by the probe's index in the trial.
    streams: BTreeMap<u16, FramesBuilder>,
    /// For each load: the sum of mean goodput × length (bit/s × ns), and the sum of lengths (ns).
    goodput: BTreeMap<Arc<str>, (f64, f64)>,
}

impl FramesSeen {
    /// Creates an empty gatherer for the frame probes of this trial.
    pub fn new(trial: &Trial) -> Self {
        let probes = trial.probes.iter().zip(0..);
        let frames = probes.filter(|(probe, _)| probe.frames.is_some());
        let builder = |(probe, index)| (index, FramesBuilder::for_probe(probe, EXACT_LIMIT));
        Self {
            streams: frames.map(builder).collect(),
            goodput: BTreeMap::new(),
        }
    }

    /// Adds a record; ignores it if its probe does not send frames.
    pub fn push(&mut self, record: &Record) {
        if let Some(stream) = self.streams.get_mut(&record.probe) {
            stream.push(record);
        }
    }

    /// Adds a point of a series; ignores it if it is not goodput, or if no probe sends frames.
    pub fn see_series(&mut self, point: &SeriesPoint) {
        if *point.series == *GOODPUT && !self.streams.is_empty() {
            let (bits, length) = self.goodput.entry(point.of.clone()).or_default();
            *bits += point.mean * point.length as f64;
            *length += point.length as f64;
        }
    }

    /// The gathered results. `flaws` and `trace_hash` stay empty: only the world knows them.
    pub fn finish(&self) -> FrameTrial {
        let means = self.goodput.iter().filter(|(_, sums)| sums.1 > 0.0);
        FrameTrial {
            goodput_bps: means
                .map(|(of, (bits, length))| (of.clone(), bits / length))
                .collect(),
            ..FrameTrial::new(self.streams.values().map(FramesBuilder::finish).collect())
        }
    }
}
