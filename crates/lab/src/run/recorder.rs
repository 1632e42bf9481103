//! Writes a trial's records to disk and summarises them, beside what measures them.

use super::Watch;
use crate::exact_limit::EXACT_LIMIT;
use crate::frames_seen::FramesSeen;
use crate::pipeline::Consumer;
use delaylab_kernel::clock;
use delaylab_model::probe::Probe;
use delaylab_model::record::Record;
use delaylab_model::rows::Rows;
use delaylab_model::trial::{RecordFacts, Trial};
use delaylab_stats::frames::FrameTrial;
use delaylab_stats::summary::{Summary, SummaryBuilder};
use delaylab_store::writer::TrialWriter;
use std::io;

/// Records one trial.
pub struct Recorder<'a> {
    trial: u32,
    watch: Option<&'a dyn Watch>,
    writer: Option<TrialWriter>,
    summaries: Vec<SummaryBuilder>,
    probes: Vec<Probe>,
    frames: FramesSeen,
}

/// The results of a recorded trial.
pub struct Recorded {
    /// The writer, still open; `None` if the trial is not stored.
    pub writer: Option<TrialWriter>,
    /// One summary for each probe.
    pub summaries: Vec<Summary>,
    /// Results of the frame streams. `flaws` is empty: the world reports them.
    pub frames: FrameTrial,
}

impl<'a> Recorder<'a> {
    /// A recorder for a trial that is about to begin. `writer`: stores the trial; `watch`: observes the records.
    pub fn new(writer: Option<TrialWriter>, trial: &Trial, watch: Option<&'a dyn Watch>) -> Self {
        let blank = || SummaryBuilder::new(RecordFacts::default(), EXACT_LIMIT);
        Self {
            trial: trial.id,
            watch,
            writer,
            probes: trial.probes.clone(),
            frames: FramesSeen::new(trial),
            summaries: trial.probes.iter().map(|_| blank()).collect(),
        }
    }

    /// Calls `write` with the writer, if there is one.
    fn write<E: Into<io::Error>>(
        &mut self,
        write: impl FnOnce(&mut TrialWriter) -> Result<(), E>,
    ) -> io::Result<()> {
        self.writer
            .as_mut()
            .map_or(Ok(()), |writer| write(writer).map_err(E::into))
    }

    fn sync_if_due(&mut self) -> io::Result<()> {
        self.write(|writer| writer.sync_if_due(clock::monotonic()))
    }

    /// Ends the trial and returns its results.
    pub fn end(self) -> Recorded {
        Recorded {
            writer: self.writer,
            summaries: self.summaries.iter().map(SummaryBuilder::finish).collect(),
            frames: self.frames.finish(),
        }
    }
}

impl Consumer for Recorder<'_> {
    fn begin(&mut self, probe: u16, facts: &RecordFacts) -> io::Result<()> {
        if let Some(summary) = self.summaries.get_mut(usize::from(probe)) {
            *summary = SummaryBuilder::new(*facts, EXACT_LIMIT);
        }
        if let Some(watch) = self.watch {
            watch.begins(self.trial, probe, facts)?;
        }
        Ok(())
    }

    fn records(&mut self, records: &[Record]) -> io::Result<()> {
        self.write(|writer| writer.records(records))?;
        for record in records {
            self.frames.push(record);
            let probe = usize::from(record.probe);
            let counts = (self.probes.get(probe)).is_none_or(|probe| probe.counts(record.seq));
            if let (true, Some(summary)) = (counts, self.summaries.get_mut(probe)) {
                summary.push(record);
            }
        }
        if let Some(watch) = self.watch {
            watch.records(records)?;
        }
        self.sync_if_due()
    }

    fn rows(&mut self, rows: Rows<'_>) -> io::Result<()> {
        if let Rows::Series(points) = rows {
            points
                .iter()
                .for_each(|point| self.frames.see_series(point));
        }
        self.write(|writer| writer.rows(rows))
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(watch) = self.watch {
            watch.flush()?;
        }
        self.sync_if_due()
    }
}
