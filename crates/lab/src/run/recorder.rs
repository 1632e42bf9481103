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
use delaylab_store::begun::Begun;
use delaylab_store::writer::TrialWriter;
use std::io;

/// Records one trial.
pub struct Recorder<'a> {
    trial: u32,
    watch: Option<&'a dyn Watch>,
    writer: Option<TrialWriter>,
    /// Of a trial that counts with what is recorded of it: how it began.
    begun: Option<Begun>,
    /// Records of all probes.
    count: u64,
    /// Is it measured to its end where it can no longer be stored?
    outlasts_storage: bool,
    not_stored: Option<io::Error>,
    summaries: Vec<SummaryBuilder>,
    probes: Vec<Probe>,
    frames: FramesSeen,
}

/// The results of a recorded trial.
pub struct Recorded {
    /// The writer, still open; `None` if the trial is not stored.
    pub writer: Option<TrialWriter>,
    /// How the trial began, if it counts with what is recorded of it.
    pub begun: Option<Begun>,
    /// Records of all probes.
    pub count: u64,
    /// Why it is not all stored, if so.
    pub not_stored: Option<io::Error>,
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
            begun: None,
            count: 0,
            outlasts_storage: false,
            not_stored: None,
            probes: trial.probes.clone(),
            frames: FramesSeen::new(trial),
            summaries: trial.probes.iter().map(|_| blank()).collect(),
        }
    }

    /// The same of a trial that counts with what is recorded of it, if it began so.
    pub fn counting(self, begun: Option<Begun>) -> Self {
        Self { begun, ..self }
    }

    /// The same for a trial that is measured to its end where it can no longer be stored, or is not.
    pub fn outlasting_storage(self, outlasts_storage: bool) -> Self {
        Self {
            outlasts_storage,
            ..self
        }
    }

    /// Calls `write` with the writer, if there is one and it has not failed.
    fn write<E: Into<io::Error>>(
        &mut self,
        write: impl FnOnce(&mut TrialWriter) -> Result<(), E>,
    ) -> io::Result<()> {
        let writer = self.writer.as_mut().filter(|_| self.not_stored.is_none());
        let written: io::Result<()> = writer.map_or(Ok(()), write).map_err(E::into);
        match written {
            Err(error) if self.outlasts_storage => {
                if let Some(watch) = self.watch {
                    watch.not_stored(&error);
                }
                self.not_stored = Some(error);
                Ok(())
            }
            written => written,
        }
    }

    fn note_begun(&mut self, probe: u16, facts: &RecordFacts) -> io::Result<()> {
        let Some(begun) = &mut self.begun else {
            return Ok(());
        };
        begun.set(probe, *facts);
        let begun = begun.clone();
        self.write(|writer| writer.note_begun(&begun))
    }

    fn sync_if_due(&mut self) -> io::Result<()> {
        self.write(|writer| writer.sync_if_due(clock::monotonic()))
    }

    /// Ends the trial and returns its results.
    pub fn end(self) -> Recorded {
        Recorded {
            writer: self.writer,
            begun: self.begun,
            count: self.count,
            not_stored: self.not_stored,
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
        self.note_begun(probe, facts)?;
        if let Some(watch) = self.watch {
            watch.begins(self.trial, probe, facts)?;
        }
        Ok(())
    }

    fn records(&mut self, records: &[Record]) -> io::Result<()> {
        self.write(|writer| writer.records(records))?;
        self.count += records.len() as u64;
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
