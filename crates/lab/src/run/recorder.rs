//! Takes a trial's records to disk and to its summary, off the measuring thread.

use crate::pipeline::Consumer;
use delaylab_kernel::clock;
use delaylab_model::hop::Hop;
use delaylab_model::noise::{ClockReads, NoiseEvent};
use delaylab_model::record::Record;
use delaylab_model::series::SeriesPoint;
use delaylab_model::trial::{RecordFacts, Trial};
use delaylab_stats::summary::{Summary, SummaryBuilder};
use delaylab_store::writer::TrialWriter;
use std::io;

/// Answered packets whose delays are kept as they are for the summary; beyond, quantiles come from
/// histograms and memory stays flat. On disk every packet is kept.
pub const EXACT_LIMIT: usize = 200_000;

/// Records one trial.
pub struct Recorder {
    writer: TrialWriter,
    summaries: Vec<SummaryBuilder>,
    warmups: Vec<u64>,
}

impl Recorder {
    /// Of a trial that is about to begin.
    pub fn new(writer: TrialWriter, trial: &Trial) -> Self {
        let blank = || SummaryBuilder::new(RecordFacts::default(), EXACT_LIMIT);
        Self {
            writer,
            warmups: trial.probes.iter().map(|probe| probe.warmup).collect(),
            summaries: trial.probes.iter().map(|_| blank()).collect(),
        }
    }

    /// The trial is over: what it wrote, and the summary of each probe.
    pub fn end(self) -> (TrialWriter, Vec<Summary>) {
        let summaries = self.summaries.iter().map(SummaryBuilder::finish).collect();
        (self.writer, summaries)
    }
}

impl Consumer for Recorder {
    fn begin(&mut self, probe: u16, facts: &RecordFacts) -> io::Result<()> {
        if let Some(summary) = self.summaries.get_mut(usize::from(probe)) {
            *summary = SummaryBuilder::new(*facts, EXACT_LIMIT);
        }
        Ok(())
    }

    fn records(&mut self, records: &[Record]) -> io::Result<()> {
        self.writer.records(records)?;
        for record in records {
            let probe = usize::from(record.probe);
            let warm_up = self.warmups.get(probe).copied().unwrap_or(0);
            if let (true, Some(summary)) = (record.seq >= warm_up, self.summaries.get_mut(probe)) {
                summary.push(record);
            }
        }
        Ok(self.writer.sync_if_due(clock::monotonic())?)
    }

    fn noise(&mut self, events: &[NoiseEvent]) -> io::Result<()> {
        Ok(self.writer.noise(events)?)
    }

    fn clock_reads(&mut self, bin: ClockReads) -> io::Result<()> {
        Ok(self.writer.clock_reads(&[bin])?)
    }

    fn hops(&mut self, hops: &[Hop]) -> io::Result<()> {
        Ok(self.writer.hops(hops)?)
    }

    fn series(&mut self, points: &[SeriesPoint]) -> io::Result<()> {
        Ok(self.writer.series(points)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(self.writer.sync_if_due(clock::monotonic())?)
    }
}
