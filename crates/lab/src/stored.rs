//! Reads the measurements of a run on disk, for findings.

use crate::experiment::sequential::Figures;
use crate::experiment::{Resolved, SequentialPlan};
use crate::finding::back_to_back::BackToBack;
use crate::finding::data::{TimeTaken, counted_clock_reads, is_handshake, lost_load, over_time};
use crate::finding::periodic::{self, HostActivity};
use crate::finding::{Data, Measure, MeasureUnavailable, StreamInfo, Values};
use delaylab_model::noise::ClockReads;
use delaylab_model::plan::levels_in_words;
use delaylab_model::record::Record;
use delaylab_model::series::{SeriesPoint, SeriesValue};
use delaylab_model::trial::RecordFacts;
use delaylab_model::words::{a_few, each_once, plural};
use delaylab_stats::random::SplitMix;
use delaylab_stats::trains::{Trains, TrainsBuilder};
use delaylab_store::run::{Run, State};
use delaylab_store::trial_row::TrialRow;
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A run of at most this many records is kept in memory. The records of a larger run are read again for
/// each measure, and only the measure's values are kept.
const KEEP: u64 = 500_000;
/// Trials that are named where they are not in a run.
const NAMED: usize = 4;
/// As many packets stand for all of which only the number is known.
const COUNTED: u64 = 10_000_000;

/// The measurements of a run on disk.
pub struct Stored<'a> {
    run: &'a Run,
    streams: Vec<StreamInfo>,
    records: Option<BTreeMap<(u32, u16), Vec<Record>>>,
    clock_reads: Vec<ClockReads>,
    /// Cache of the series last read: the trial's number, its points and its values.
    series: RefCell<(Option<u32>, Vec<SeriesPoint>, Vec<SeriesValue>)>,
    /// What ran on the host during all trials; computed at first use.
    trains: OnceCell<Trains>,
}

impl<'a> Stored<'a> {
    /// Opens a run. Reads all records now if there are at most half a million, else on demand.
    pub fn new(run: &'a Run) -> Self {
        let probes = run.trials().iter().map(of_probe);
        Self {
            run,
            streams: probes
                .chain(of_series(run))
                .chain(of_transfers(run))
                .collect(),
            records: (run.record_count() <= KEEP).then(|| all_records(run)),
            clock_reads: run.clock_reads(None),
            series: RefCell::default(),
            trains: OnceCell::new(),
        }
    }

    /// Hands over the records of one probe in one trial, without warm-up packets.
    fn each_record(&self, row: &TrialRow, take: &mut dyn FnMut(&Record)) {
        if let Some(records) = &self.records {
            let kept = records.get(&(row.trial, row.probe)).map(Vec::as_slice);
            let kept = kept.unwrap_or_default().iter();
            return kept.filter(|record| row.counts(record.seq)).for_each(take);
        }
        self.run.scan(Some(row.trial), |of, record| {
            if of.probe == row.probe {
                take(record);
            }
        });
    }

    /// Has the run none of its packets, because another tool said its figures alone?
    fn is_said(&self, row: &TrialRow) -> bool {
        let may_be = self.run.is_imported() && row.duration == 0;
        let mut is_empty = true;
        if may_be {
            self.each_record(row, &mut |_| is_empty = false);
        }
        may_be && is_empty
    }

    fn periodic_cause(&self, row: &TrialRow) -> Result<Values, MeasureUnavailable> {
        let trains = self.trains.get_or_init(|| trains(self.run));
        let mut records = Vec::new();
        self.each_record(row, &mut |record| records.push(*record));
        let watched = HostActivity {
            any: !row.facts.noise_sources.is_empty(),
            noise: &self.run.noise(Some(row.trial)),
            trains,
        };
        periodic::values(&records, &row.facts.records, &watched)
    }

    /// Completion time of each transfer of a stream, nanoseconds; NaN if it was not completed.
    fn completion_times(&self, info: &StreamInfo) -> Values {
        let transfers = self.run.transfers(Some(info.trial)).into_iter();
        let own = transfers.filter(|one| *one.of == *info.probe);
        let times = own.map(|one| one.completion_time().map_or(f64::NAN, |ns| ns as f64));
        Values::Packets(times.collect())
    }

    /// The back-to-back number of a trial, from the frames of all probes, warm-up included.
    fn back_to_back(&self, trial: u32) -> Result<Values, MeasureUnavailable> {
        let mut seen = BackToBack::default();
        match &self.records {
            Some(records) => {
                let of_trial = records.range((trial, 0)..=(trial, u16::MAX));
                let of_trial = of_trial.flat_map(|(_, records)| records);
                of_trial.for_each(|record| seen.push(record));
            }
            None => self
                .run
                .for_each_record(Some(trial), |record| seen.push(record)),
        }
        seen.finish()
    }

    fn over_time(&self, info: &StreamInfo, measure: Measure) -> Result<Values, MeasureUnavailable> {
        let mut kept = self.series.borrow_mut();
        if kept.0 != Some(info.trial) {
            let trial = Some(info.trial);
            *kept = (trial, self.run.series(trial), self.run.series_values(trial));
        }
        let is_meant =
            |point: &&SeriesPoint| *point.series == *measure.name() && *point.of == *info.probe;
        let points: Vec<_> = kept.1.iter().filter(is_meant).cloned().collect();
        let is_meant =
            |value: &&SeriesValue| *value.series == *measure.name() && *value.of == *info.probe;
        let values: Vec<_> = kept.2.iter().filter(is_meant).cloned().collect();
        over_time(&points, &values)
    }
}

/// Everything that was seen running in a run.
pub fn trains(run: &Run) -> Trains {
    let mut trains = TrainsBuilder::default();
    for row in run.trials() {
        trains.know(row.trial, &row.facts.processes);
    }
    run.for_each_noise(None, |event| trains.push(event));
    trains.finish()
}

/// What a stop rule needs of the trials that are recorded.
pub fn figures(run: &Run) -> BTreeMap<u32, Figures> {
    let mut all = BTreeMap::<u32, Figures>::new();
    for row in run.trials() {
        let figures = all.entry(row.trial).or_default();
        figures.trace_hash = row.facts.trace_hash;
        figures.of_probes.push(row.figures.clone());
    }
    all
}

/// How a complete run misses the precision of its stop rule, in a sentence; `None` where it does not.
pub fn missed_precision(run: &Run, resolved: &Resolved) -> Option<String> {
    let stop = resolved.stop.clone()?;
    if run.state() != State::Complete {
        return None;
    }
    let planned = resolved.planned.clone();
    SequentialPlan::new(planned, stop, figures(run), 1).missed()
}

/// `not in the run: case up; case both`: combinations of which the experiment has trials that these are not.
pub fn not_among(resolved: &Resolved, trials: impl Iterator<Item = u32>) -> Option<String> {
    let trials: BTreeSet<u32> = trials.collect();
    let planned = resolved.planned.iter();
    let missing = planned.filter(|planned| !trials.contains(&planned.trial.id));
    let missing = missing.map(|planned| levels_in_words(&planned.factors, None));
    let missing: Vec<String> = missing.collect();
    let labels = each_once(missing.iter().filter(|label| !label.is_empty()).cloned());
    let what = match (missing.len(), labels.is_empty()) {
        (0, _) => return None,
        (count, true) => plural(count as u64, "trial"),
        (_, false) => a_few(&labels, NAMED),
    };
    Some(format!("not in the run: {what}"))
}

/// The same of a complete run that is what was recorded of it, as that of a ping is, and of which no trial says so itself.
pub fn not_recorded(run: &Run, resolved: &Resolved) -> Option<String> {
    if run.state() != State::Complete || !run.is_as_it_stands() {
        return None;
    }
    let rows = run.trials();
    let missing = not_among(resolved, rows.iter().map(|row| row.trial))?;
    let mut warnings = rows.iter().flat_map(|row| &row.facts.warnings);
    (!warnings.any(|warning| *warning == missing)).then_some(missing)
}

fn of_probe(row: &TrialRow) -> StreamInfo {
    StreamInfo {
        trial: row.trial,
        probe: row.probe_name.clone(),
        series: None,
        repeat: row.repeat,
        factors: row.factors.clone(),
        trace_hash: row.facts.trace_hash,
        seed: row.facts.trace_hash.map(|_| row.seed),
    }
}

/// One stream for each trial and series that is a measure of findings.
fn of_series(run: &Run) -> Vec<StreamInfo> {
    let rows = run.trials().iter().map(|row| (row.trial, row));
    let rows: BTreeMap<u32, &TrialRow> = rows.collect();
    let streams = run.series_names().into_iter().filter_map(|name| {
        let row = rows.get(&name.trial)?;
        Some(StreamInfo {
            probe: name.of.to_string(),
            series: Some(Measure::named(&name.series).filter(|measure| measure.is_series())?),
            ..of_probe(row)
        })
    });
    streams.collect()
}

/// One stream for each trial and load stream that had transfers.
fn of_transfers(run: &Run) -> Vec<StreamInfo> {
    let rows = run.trials().iter().map(|row| (row.trial, row));
    let rows: BTreeMap<u32, &TrialRow> = rows.collect();
    let transfers = run.transfers(None).into_iter();
    let mut names: Vec<_> = transfers.map(|one| (one.trial, one.of)).collect();
    names.sort_unstable();
    names.dedup();
    let stream = |(trial, of): (u32, Arc<str>)| {
        let row = rows.get(&trial)?;
        Some(StreamInfo {
            probe: of.to_string(),
            series: Some(Measure::Fct),
            ..of_probe(row)
        })
    };
    names.into_iter().filter_map(stream).collect()
}

/// Why there are no values where another tool says its figures alone.
const NO_PACKETS: &str = "there are figures of another tool, and no packets";

/// For each packet whether it was lost, where only the numbers are known: in any order, so that each counts by itself.
fn counted_losses(sent: u64, lost: u64) -> Vec<f64> {
    let each = sent.div_ceil(COUNTED).max(1);
    let [sent, lost] = [sent, lost].map(|count| count.div_ceil(each) as usize);
    let mut values = vec![0.0; sent];
    values[..lost].fill(1.0);
    SplitMix::new(1).shuffle(&mut values);
    values
}

fn all_records(run: &Run) -> BTreeMap<(u32, u16), Vec<Record>> {
    let mut all = BTreeMap::<_, Vec<Record>>::new();
    run.for_each_record(None, |record| {
        all.entry((record.trial, record.probe))
            .or_default()
            .push(*record);
    });
    all
}

impl Data for Stored<'_> {
    fn streams(&self) -> &[StreamInfo] {
        &self.streams
    }

    fn values(&self, stream: usize, measure: Measure) -> Result<Values, MeasureUnavailable> {
        let nothing = || MeasureUnavailable("there is no such stream".to_owned());
        if measure.kept_as().is_series() {
            let info = self.streams.get(stream).ok_or_else(nothing)?;
            return self.over_time(info, measure.kept_as());
        }
        if measure == Measure::Fct {
            return Ok(self.completion_times(self.streams.get(stream).ok_or_else(nothing)?));
        }
        let row = self.run.trials().get(stream).ok_or_else(nothing)?;
        match measure {
            Measure::ClockReads => {
                let of_trial = self.clock_reads.iter().filter(|bin| bin.trial == row.trial);
                return counted_clock_reads(of_trial);
            }
            Measure::BackToBack => return self.back_to_back(row.trial),
            Measure::LostLoad => return lost_load(row.facts.lost_load.as_ref()),
            Measure::PeriodicCause => return self.periodic_cause(row),
            Measure::Valid => return Ok(Values::Trial(f64::from(u8::from(row.valid)))),
            _ => {}
        }
        if self.is_said(row) {
            let counts = row.sent_and_lost().filter(|_| measure == Measure::Lost);
            let counted = counts.map(|(sent, lost)| Values::Packets(counted_losses(sent, lost)));
            return counted.ok_or_else(|| MeasureUnavailable(NO_PACKETS.to_owned()));
        }
        measure.of_each(&row.facts.records, |take| self.each_record(row, take))
    }

    fn records(&self, stream: usize, take: &mut dyn FnMut(&Record)) {
        if let Some(row) = self.run.trials().get(stream) {
            self.each_record(row, take);
        }
    }

    /// As its row counts them, which needs no record to be read; by the records where it is of a version that did not.
    fn packets(&self, stream: usize) -> u64 {
        let Some(row) = self.run.trials().get(stream) else {
            return 0;
        };
        let counts = ["sent", "skipped", "local_error"].map(|name| row.figure(name));
        let counted: Option<f64> = counts.into_iter().sum();
        counted.map_or_else(
            || {
                let mut packets = 0;
                self.each_record(row, &mut |_| packets += 1);
                packets
            },
            |packets| packets as u64,
        )
    }

    fn facts(&self, stream: usize) -> Option<RecordFacts> {
        Some(self.run.trials().get(stream)?.facts.records)
    }

    fn summary_figure(&self, stream: usize, figure: &str) -> Option<f64> {
        let row = self.run.trials().get(stream)?;
        row.figure(figure).filter(|_| self.is_said(row))
    }

    fn is_auxiliary(&self, stream: usize) -> bool {
        let rows = self.run.trials();
        rows.get(stream).is_some_and(|row| {
            let of_trial = rows.iter().filter(|other| other.trial == row.trial);
            is_handshake(&row.probe_name, row.method, of_trial.map(|row| row.method))
        })
    }

    fn time_taken(&self) -> Option<TimeTaken> {
        let rows = self.run.trials();
        let trials: BTreeMap<u32, _> = rows.iter().map(|row| (row.trial, row.duration)).collect();
        Some(TimeTaken {
            ns: trials.values().map(|ns| *ns as f64).sum(),
            simulated: rows.first()?.started_utc.is_none(),
        })
    }
}
