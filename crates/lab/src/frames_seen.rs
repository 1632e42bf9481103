//! What came of a trial's streams of frames, as a procedure of the device benchmark is told it.

use crate::run::recorder::EXACT_LIMIT;
use delaylab_model::record::Record;
use delaylab_model::series::SeriesPoint;
use delaylab_model::trial::Trial;
use delaylab_stats::frames::{FrameTrial, FramesBuilder};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The series whose mean is a load's goodput.
const GOODPUT: &str = "goodput";

/// Gathers it, while a trial is carried out or from what is stored of it.
#[derive(Debug, Default)]
pub struct FramesSeen {
    /// Of each probe of frames, by its index in the trial.
    streams: BTreeMap<u16, FramesBuilder>,
    /// Of each load: bits, and in how many nanoseconds.
    goodput: BTreeMap<Arc<str>, (f64, f64)>,
}

impl FramesSeen {
    /// Of this trial.
    pub fn new(trial: &Trial) -> Self {
        let probes = trial.probes.iter().zip(0..);
        let frames = probes.filter(|(probe, _)| probe.frames.is_some());
        let builder = |(probe, index)| (index, FramesBuilder::for_probe(probe, EXACT_LIMIT));
        Self {
            streams: frames.map(builder).collect(),
            goodput: BTreeMap::new(),
        }
    }

    /// The record of a packet, if it is of a frame.
    pub fn push(&mut self, record: &Record) {
        if let Some(stream) = self.streams.get_mut(&record.probe) {
            stream.push(record);
        }
    }

    /// A point of a series, if it is of goodput.
    pub fn see_series(&mut self, point: &SeriesPoint) {
        if *point.series == *GOODPUT && !self.streams.is_empty() {
            let (bits, length) = self.goodput.entry(point.of.clone()).or_default();
            *bits += point.mean * point.length as f64;
            *length += point.length as f64;
        }
    }

    /// All of it; the flaws are the world's to say.
    pub fn finish(&self) -> FrameTrial {
        let means = self.goodput.values().filter(|(_, length)| *length > 0.0);
        FrameTrial {
            goodput_bps: means.map(|(bits, length)| bits / length).collect(),
            ..FrameTrial::new(self.streams.values().map(FramesBuilder::finish).collect())
        }
    }
}
