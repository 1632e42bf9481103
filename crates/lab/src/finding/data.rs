//! What was measured, as findings need it.

use super::back_to_back::BackToBack;
use super::measure::Measure;
use super::periodic::{self, Watched};
use super::series::Stretches;
use delaylab_model::noise::ClockReads;
use delaylab_model::plan::{Factor, Level};
use delaylab_model::record::Record;
use delaylab_model::series::{SeriesPoint, SeriesValue};
use delaylab_model::trial::RecordFacts;
use delaylab_stats::trains::Trains;
use std::collections::BTreeMap;

/// One probe, or one series, in one trial.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamInfo {
    /// The trial's number in the run.
    pub trial: u32,
    /// The probe's name; for a series, what it is of.
    pub probe: String,
    /// Which series it is; `None`: the packets of a probe.
    pub series: Option<Measure>,
    /// Which repeat of its combination of levels this is, from 0.
    pub repeat: u32,
    /// Each factor and its level.
    pub factors: Vec<Factor>,
    /// Digest of the trial's events, where it was simulated: trials that share it are one.
    pub trace_hash: Option<u64>,
}

impl StreamInfo {
    /// Its level of a factor. `probe` is one, whose levels are the probes' names, and `of` is one of
    /// series.
    pub fn level(&self, factor: &str) -> Option<Level> {
        let level = self.factors.iter().find(|(name, _)| name == factor);
        let own = if self.series.is_some() { OF } else { PROBE };
        let named = || (factor == own).then(|| Level::named(&self.probe));
        level.map(|(_, level)| level.clone()).or_else(named)
    }

    /// Can it have values of this measure?
    pub fn can_have(&self, measure: Measure) -> bool {
        match self.series {
            None => !measure.is_of_flow(),
            Some(series) => series == measure.kept_as(),
        }
    }
}

/// The factor that every run has: which probe.
pub const PROBE: &str = "probe";
/// The factor of series: of which port or flow.
pub const OF: &str = "of";

/// What a stream has of a measure.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// One for each packet in order of sequence; NaN for a packet without. All measures of a stream
    /// have the same length, so that what is measured together stays together.
    Packets(Vec<f64>),
    /// Lower ends of bins, rising, and how many values are in each: the order in time is gone.
    Counted(Vec<(f64, u64)>),
    /// Values, rising, and for how long each held: the order in time is gone, but for the means of stretches.
    Held {
        /// Values and times.
        values: Vec<(f64, f64)>,
        /// In the order of time; NaN where there was none.
        means: Vec<f64>,
    },
    /// One for the whole trial.
    Trial(f64),
    /// Something that has a value at any time.
    OverTime(Stretches),
}

/// Why a measure is not there, in a clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotThere(pub String);

/// How long the trials of a run took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeTaken {
    /// All of them together, nanoseconds.
    pub ns: f64,
    /// In simulated time.
    pub simulated: bool,
}

impl TimeTaken {
    /// So much more of it, as somebody who waits would say it: `40 s`, `6 min of simulated time`, `3 h`, `12 days`.
    pub fn in_words(self, ns: f64) -> String {
        let words = match ns / 1e9 {
            s if s < 1.0 => "less than 1 s".to_owned(),
            s if s < 100.0 => format!("{s:.0} s"),
            s if s < 5400.0 => format!("{:.0} min", s / 60.0),
            s if s < 48.0 * 3600.0 => format!("{:.0} h", s / 3600.0),
            s => format!("{:.0} days", s / 86_400.0),
        };
        words
            + if self.simulated {
                " of simulated time"
            } else {
                ""
            }
    }
}

/// A run's measurements.
pub trait Data {
    /// Every stream, in order of trials.
    fn streams(&self) -> &[StreamInfo];
    /// The values of a measure in one of them, by its index. For a measure of the whole trial, those
    /// of the stream's trial.
    fn values(&self, stream: usize, measure: Measure) -> Result<Values, NotThere>;
    /// Hands over the records of a stream in order of sequence, without those that warm up.
    fn records(&self, stream: usize, take: &mut dyn FnMut(&Record));
    /// How to read them; `None` where there is no such stream, or it is a series.
    fn facts(&self, stream: usize) -> Option<RecordFacts>;
    /// How long its trials took; `None` where that is not known.
    fn time_taken(&self) -> Option<TimeTaken> {
        None
    }
}

/// A run whose records are in memory.
#[derive(Debug, Clone, Default)]
pub struct Samples {
    streams: Vec<StreamInfo>,
    records: Vec<(Vec<Record>, RecordFacts)>,
    clock_reads: Vec<ClockReads>,
    lost_load: BTreeMap<u32, u64>,
    series: BTreeMap<usize, (Vec<SeriesPoint>, Vec<SeriesValue>)>,
}

impl Samples {
    /// Adds a stream with its records, in any order, and how to read them.
    pub fn push(&mut self, info: StreamInfo, mut records: Vec<Record>, facts: RecordFacts) {
        records.sort_unstable_by_key(|record| record.seq);
        self.streams.push(info);
        self.records.push((records, facts));
    }

    /// The streams of the first trials alone.
    #[cfg(test)]
    pub(super) fn first_trials(mut self, count: u32) -> Self {
        let streams = self.streams.iter().zip(&self.records);
        let first = streams.filter(|(info, _)| info.trial < count);
        (self.streams, self.records) = first.map(|(a, b)| (a.clone(), b.clone())).unzip();
        self
    }

    /// Adds what clock reads cost in some trial.
    pub fn push_clock_reads(&mut self, bins: impl IntoIterator<Item = ClockReads>) {
        self.clock_reads.extend(bins);
    }

    /// Adds how much of the load some trial lost.
    pub fn push_lost_load(&mut self, trial: u32, lost: u64) {
        self.lost_load.insert(trial, lost);
    }

    /// Adds a series of some trial, with the trial's factors: its points, and for how long it had which values.
    pub fn push_series(
        &mut self,
        info: StreamInfo,
        points: Vec<SeriesPoint>,
        values: Vec<SeriesValue>,
    ) {
        self.series.insert(self.streams.len(), (points, values));
        self.streams.push(info);
        self.records.push((Vec::new(), RecordFacts::default()));
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

/// How much of the load a trial lost, where its world counts.
pub fn lost_load(lost: Option<&u64>) -> Result<Values, NotThere> {
    let lost = lost.map(|lost| Values::Trial(*lost as f64));
    lost.ok_or_else(|| NotThere("this world does not count what the load loses".to_owned()))
}

/// One series of one trial as values: its points, and for how long it had which values.
pub fn over_time(points: &[SeriesPoint], values: &[SeriesValue]) -> Result<Values, NotThere> {
    let stretches = Stretches::new(points, values).map(Values::OverTime);
    stretches.ok_or_else(|| NotThere("the series has no length".to_owned()))
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
            Measure::PeriodicCause => {
                let watched = Watched {
                    any: false,
                    noise: &[],
                    trains: &Trains::default(),
                };
                periodic::values(records, facts, &watched)
            }
            Measure::BackToBack => {
                let mut seen = BackToBack::default();
                let trial = self.streams[stream].trial;
                let records = self.records.iter().flat_map(|(records, _)| records);
                let of_trial = records.filter(|record| record.trial == trial);
                of_trial.for_each(|record| seen.push(record));
                seen.finish()
            }
            Measure::LostLoad => lost_load(self.lost_load.get(&self.streams[stream].trial)),
            _ if measure.kept_as().is_series() => match self.series.get(&stream) {
                Some((points, values)) => over_time(points, values),
                None => over_time(&[], &[]),
            },
            _ => measure.of_records(records.iter(), facts),
        }
    }

    fn records(&self, stream: usize, take: &mut dyn FnMut(&Record)) {
        let records = self.records.get(stream);
        records.into_iter().flat_map(|(r, _)| r).for_each(take);
    }

    fn facts(&self, stream: usize) -> Option<RecordFacts> {
        let info = self.streams.get(stream)?;
        let (_, facts) = self.records.get(stream)?;
        info.series.is_none().then_some(*facts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_told_in_the_unit_that_people_wait_in() {
        let taken = |simulated| TimeTaken { ns: 1.0, simulated };
        let each = [0.4, 40.0, 360.0, 10_800.0, 1e6].map(|s| taken(false).in_words(s * 1e9));
        assert_eq!(each, ["less than 1 s", "40 s", "6 min", "3 h", "12 days"]);
        assert_eq!(taken(true).in_words(4e10), "40 s of simulated time");
    }
}
