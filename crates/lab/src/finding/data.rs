//! Access to the measurements of a run, for findings.

use super::back_to_back::BackToBack;
use super::measure::Measure;
use super::periodic::{self, HostActivity};
use super::series::Stretches;
use super::values::{MeasureUnavailable, Values};
use delaylab_model::method::Method;
use delaylab_model::noise::ClockReads;
use delaylab_model::plan::{Factor, Level, level_of};
use delaylab_model::record::Record;
use delaylab_model::series::{SeriesPoint, SeriesValue};
use delaylab_model::trial::RecordFacts;
use delaylab_stats::trains::Trains;
use std::collections::{BTreeMap, BTreeSet};

/// One stream of measurements: one probe, or one series, in one trial.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamInfo {
    /// The trial's number in the run.
    pub trial: u32,
    /// Name of the probe; for a series, name of its port or flow.
    pub probe: String,
    /// Which series; `None`: the packets of a probe.
    pub series: Option<Measure>,
    /// Number of the repeat, from 0.
    pub repeat: u32,
    /// Each factor and its level.
    pub factors: Vec<Factor>,
    /// Digest of the trial's events if it was simulated. Trials with the same digest count as one.
    pub trace_hash: Option<u64>,
    /// What the trial's random numbers are drawn from if it was simulated. Trials with the same seed have the same ones, and are one
    /// repeat.
    pub seed: Option<u64>,
}

impl StreamInfo {
    /// The stream's level of a factor. Two factors always exist: `probe`, the name of the probe, and for series
    /// `of`, the name of the port or flow.
    pub fn level(&self, factor: &str) -> Option<Level> {
        let own = if self.series.is_some() { OF } else { PROBE };
        let named = || (factor == own).then(|| Level::named(&self.probe));
        level_of(&self.factors, factor).cloned().or_else(named)
    }

    /// Can the stream have values of this measure?
    pub fn can_have(&self, measure: Measure) -> bool {
        match self.series {
            None => !measure.is_of_flow(),
            Some(series) => series == measure.kept_as(),
        }
    }
}

/// Name of the factor that every run has: its levels are the probes' names.
pub const PROBE: &str = "probe";
/// The probe of handshakes that `ping` makes beside its requests to a server.
pub const HANDSHAKE: &str = "handshake";
/// Name of the factor of series: its levels are the names of ports and flows.
pub const OF: &str = "of";

/// Is this probe one of handshakes beside requests, where its trial has probes of these methods?
pub fn is_handshake(
    probe: &str,
    method: Method,
    mut of_trial: impl Iterator<Item = Method>,
) -> bool {
    probe == HANDSHAKE && method.is_handshake() && of_trial.any(Method::is_request)
}

/// How long the trials of a run took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeTaken {
    /// Sum over all trials, nanoseconds.
    pub ns: f64,
    /// Whether this is simulated time.
    pub simulated: bool,
}

impl TimeTaken {
    /// A time of `ns` nanoseconds on the same clock, in words: `40 s`, `6 min of simulated time`, `3 h`, `12 days`.
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

/// Access to a run's measurements.
pub trait Data {
    /// Every stream. The other functions take an index into this slice.
    fn streams(&self) -> &[StreamInfo];
    /// The values of a measure in one stream, by its index. For a measure of the whole trial, the values of
    /// the stream's trial.
    fn values(&self, stream: usize, measure: Measure) -> Result<Values, MeasureUnavailable>;
    /// Calls `take` with each record of a stream in order of sequence, without warm-up packets.
    fn records(&self, stream: usize, take: &mut dyn FnMut(&Record));
    /// How many records that are.
    fn packets(&self, stream: usize) -> u64 {
        let mut packets = 0;
        self.records(stream, &mut |_| packets += 1);
        packets
    }
    /// How to read the records of a stream; `None` if there is no such stream, or it is a series.
    fn facts(&self, stream: usize) -> Option<RecordFacts>;
    /// What another tool says of a stream without packets, by the name of the figure in the table of trials; `None` of a stream
    /// with packets, and where it does not say it.
    fn summary_figure(&self, _stream: usize, _figure: &str) -> Option<f64> {
        None
    }
    /// Is it of [`HANDSHAKE`]s beside requests of the same trial? They are evidence of what the network takes, and were not asked for.
    fn is_auxiliary(&self, _stream: usize) -> bool {
        false
    }
    /// How long the trials took; `None` if unknown.
    fn time_taken(&self) -> Option<TimeTaken> {
        None
    }
}

/// The measurements of a run in memory: for tests of findings and of comparisons.
#[derive(Debug, Clone, Default)]
pub struct Samples {
    streams: Vec<StreamInfo>,
    records: Vec<(Vec<Record>, RecordFacts)>,
    clock_reads: Vec<ClockReads>,
    lost_load: BTreeMap<u32, u64>,
    invalid: BTreeSet<u32>,
    series: BTreeMap<usize, (Vec<SeriesPoint>, Vec<SeriesValue>)>,
}

impl Samples {
    /// Which packets of a trial came back to back with the one before.
    fn back_to_back(&self, trial: u32) -> Result<Values, MeasureUnavailable> {
        let mut seen = BackToBack::default();
        let records = self.records.iter().flat_map(|(records, _)| records);
        let of_trial = records.filter(|record| record.trial == trial);
        of_trial.for_each(|record| seen.push(record));
        seen.finish()
    }

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

    /// Adds the histogram of the cost of clock reads.
    pub fn push_clock_reads(&mut self, bins: impl IntoIterator<Item = ClockReads>) {
        self.clock_reads.extend(bins);
    }

    /// Adds the number of load packets or cells that a trial lost.
    pub fn push_lost_load(&mut self, trial: u32, lost: u64) {
        self.lost_load.insert(trial, lost);
    }

    /// Says that a trial was not what its experiment meant.
    pub fn mark_invalid(&mut self, trial: u32) {
        self.invalid.insert(trial);
    }

    /// Adds a series of a trial: its points, and how long it had each value. `info` has the trial's factors.
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

    fn clock_reads(&self, trial: u32) -> Result<Values, MeasureUnavailable> {
        counted_clock_reads(self.clock_reads.iter().filter(|bin| bin.trial == trial))
    }
}

/// The histogram of clock reads of one trial as values.
pub fn counted_clock_reads<'a>(
    bins: impl Iterator<Item = &'a ClockReads>,
) -> Result<Values, MeasureUnavailable> {
    let mut counts: Vec<_> = bins.map(|bin| (bin.from_ns as f64, bin.count)).collect();
    if counts.iter().all(|bin| bin.1 == 0) {
        return Err(MeasureUnavailable(
            "no clock reads were counted in this trial".to_owned(),
        ));
    }
    counts.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    Ok(Values::Counted(counts))
}

/// The number of load packets or cells that a trial lost; an error if the world does not count them.
pub fn lost_load(lost: Option<&u64>) -> Result<Values, MeasureUnavailable> {
    let lost = lost.map(|lost| Values::Trial(*lost as f64));
    lost.ok_or_else(|| {
        MeasureUnavailable("this world does not count what the load loses".to_owned())
    })
}

/// One series of one trial as values, from its points and how long it had each value.
pub fn over_time(
    points: &[SeriesPoint],
    values: &[SeriesValue],
) -> Result<Values, MeasureUnavailable> {
    let stretches = Stretches::new(points, values).map(Values::OverTime);
    stretches.ok_or_else(|| MeasureUnavailable("the series has no length".to_owned()))
}

impl Data for Samples {
    fn streams(&self) -> &[StreamInfo] {
        &self.streams
    }

    fn values(&self, stream: usize, measure: Measure) -> Result<Values, MeasureUnavailable> {
        let nothing = || MeasureUnavailable("there is no such stream".to_owned());
        let (records, facts) = self.records.get(stream).ok_or_else(nothing)?;
        match measure {
            Measure::ClockReads => self.clock_reads(self.streams[stream].trial),
            Measure::PeriodicCause => {
                let watched = HostActivity {
                    any: false,
                    noise: &[],
                    trains: &Trains::default(),
                };
                periodic::values(records, facts, &watched)
            }
            Measure::BackToBack => self.back_to_back(self.streams[stream].trial),
            Measure::Valid => {
                let valid = !self.invalid.contains(&self.streams[stream].trial);
                Ok(Values::Trial(f64::from(u8::from(valid))))
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

    fn is_auxiliary(&self, stream: usize) -> bool {
        let method = |at: usize| Some(self.records.get(at)?.0.first()?.method);
        let (Some(info), Some(own)) = (self.streams.get(stream), method(stream)) else {
            return false;
        };
        let all = self.streams.iter().enumerate();
        let of_trial = all.filter(|(_, other)| other.trial == info.trial);
        is_handshake(&info.probe, own, of_trial.filter_map(|(at, _)| method(at)))
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
