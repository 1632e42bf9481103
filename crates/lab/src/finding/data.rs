//! What was measured, as findings need it.

use super::measure::Measure;
use delaylab_model::noise::ClockReads;
use delaylab_model::plan::{Factor, Level};
use delaylab_model::record::Record;
use delaylab_model::trial::RecordFacts;

/// One probe in one trial.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamInfo {
    /// The trial's number in the run.
    pub trial: u32,
    /// The probe's name.
    pub probe: String,
    /// Which repeat of its combination of levels this is, from 0.
    pub repeat: u32,
    /// Each factor and its level.
    pub factors: Vec<Factor>,
}

impl StreamInfo {
    /// Its level of a factor. `probe` is one, whose levels are the probes' names.
    pub fn level(&self, factor: &str) -> Option<Level> {
        let level = self.factors.iter().find(|(name, _)| name == factor);
        let probe = || (factor == PROBE).then(|| Level::named(&self.probe));
        level.map(|(_, level)| level.clone()).or_else(probe)
    }
}

/// The factor that every run has: which probe.
pub const PROBE: &str = "probe";

/// What a stream has of a measure.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// One for each packet in order of sequence; NaN for a packet without. All measures of a stream
    /// have the same length, so that what is measured together stays together.
    Packets(Vec<f64>),
    /// Lower ends of bins, rising, and how many values are in each: the order in time is gone.
    Counted(Vec<(f64, u64)>),
}

/// Why a measure is not there, in a clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotThere(pub String);

/// A run's measurements.
pub trait Data {
    /// Every stream, in order of trials.
    fn streams(&self) -> &[StreamInfo];
    /// The values of a measure in one of them, by its index. For a measure of the whole trial, those
    /// of the stream's trial.
    fn values(&self, stream: usize, measure: Measure) -> Result<Values, NotThere>;
}

/// A run whose records are in memory.
#[derive(Debug, Clone, Default)]
pub struct Samples {
    streams: Vec<StreamInfo>,
    records: Vec<(Vec<Record>, RecordFacts)>,
    clock_reads: Vec<ClockReads>,
}

impl Samples {
    /// Adds a stream with its records, in any order, and how to read them.
    pub fn push(&mut self, info: StreamInfo, mut records: Vec<Record>, facts: RecordFacts) {
        records.sort_unstable_by_key(|record| record.seq);
        self.streams.push(info);
        self.records.push((records, facts));
    }

    /// Adds what clock reads cost in some trial.
    pub fn push_clock_reads(&mut self, bins: impl IntoIterator<Item = ClockReads>) {
        self.clock_reads.extend(bins);
    }

    fn clock_reads(&self, trial: u32) -> Result<Values, NotThere> {
        counted_clock_reads(self.clock_reads.iter().filter(|bin| bin.trial == trial))
    }
}

/// One trial's table of clock reads as values.
pub fn counted_clock_reads<'a>(
    bins: impl Iterator<Item = &'a ClockReads>,
) -> Result<Values, NotThere> {
    let mut counts: Vec<_> = bins.map(|bin| (bin.from_ns as f64, bin.count)).collect();
    if counts.iter().all(|bin| bin.1 == 0) {
        return Err(NotThere(
            "no clock reads were counted in this trial".to_owned(),
        ));
    }
    counts.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    Ok(Values::Counted(counts))
}

impl Data for Samples {
    fn streams(&self) -> &[StreamInfo] {
        &self.streams
    }

    fn values(&self, stream: usize, measure: Measure) -> Result<Values, NotThere> {
        let nothing = || NotThere("there is no such stream".to_owned());
        let (records, facts) = self.records.get(stream).ok_or_else(nothing)?;
        match measure {
            Measure::ClockReads => self.clock_reads(self.streams[stream].trial),
            _ => measure.of_records(records.iter(), facts),
        }
    }
}
