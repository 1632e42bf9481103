//! Ends trials that count with what is recorded of them, where the process that carried them out could not.

use super::recorder::Recorder;
use super::trial::{self, Begun, withdraw_one_way};
use crate::pipeline::Consumer;
use delaylab_model::Nanos;
use delaylab_model::plan::Planned;
use delaylab_model::probe::Probe;
use delaylab_model::trial::{ProbeFacts, RecordFacts};
use delaylab_model::words::plural;
use delaylab_model::world::Clock;
use delaylab_stats::summary::Summary;
use delaylab_store::begun::{self, CUT_SHORT, LACKS_OTHERS};
use delaylab_store::error::StoreError;
use delaylab_store::writer::{RunWriter, TrialWriter};

/// What is not recorded of a trial.
#[derive(Debug, Clone, Copy)]
pub enum Lacks<'a> {
    /// Packets: why it was cut short.
    Packets(&'a str),
    /// No packet, but other rows and how it ended: what it was flawed by all the same, where that is known.
    Others(&'a [String]),
}

/// A trial that was cut short, and what is recorded of it.
pub struct CutShort<'a> {
    planned: &'a Planned,
    writer: TrialWriter,
    begun: begun::Begun,
    summaries: Vec<Summary>,
    packets: u64,
    /// Of all probes.
    records: u64,
    until: Nanos,
}

impl<'a> CutShort<'a> {
    /// Reads what is recorded of one of [`RunWriter::cut_short`].
    pub fn open(run: &RunWriter, planned: &'a Planned) -> Result<Self, StoreError> {
        let trial = &planned.trial;
        let (mut writer, begun) = run.take_up_trial(trial.id)?;
        let mut recorder = Recorder::new(None, trial, None);
        for (_, probe) in trial.probes.iter().zip(0..) {
            // Nothing is written, and nothing watches: this cannot fail.
            let _ = recorder.begin(probe, &records_of(&begun, probe));
        }
        let (mut packets, mut until) = (0, begun.monotonic);
        writer.each_record(|records| {
            let _ = recorder.records(records);
            let own = records.iter().filter(|record| record.probe == 0);
            packets += own.count() as u64;
            let ends = records
                .iter()
                .filter_map(|record| record.t_recv.max(record.t_send));
            until = ends.fold(until, Nanos::max);
        })?;
        let recorded = recorder.end();
        Ok(Self {
            planned,
            writer,
            begun,
            summaries: recorded.summaries,
            packets,
            records: recorded.count,
            until,
        })
    }

    /// Its number.
    pub const fn id(&self) -> u32 {
        self.planned.trial.id
    }

    /// How many packets of its first probe are recorded.
    pub const fn packets(&self) -> u64 {
        self.packets
    }

    /// Makes the trial part of the run. `done`: how many trials were before it. One that was measured to its end and is all recorded
    /// has the facts that it ended with, whatever it `lacks` by others. `warning`: what else is to be known.
    pub fn end(
        mut self,
        done: usize,
        lacks: Lacks<'_>,
        warning: Option<&str>,
    ) -> Result<(), StoreError> {
        let (mut facts, ended) = match self.begun.ended.take() {
            Some(ended) if ended.records == self.records => (ended.facts, ended.monotonic),
            _ => (self.facts_until_then(lacks), self.until),
        };
        if let Some(first) = facts.first_mut() {
            first.warnings.extend(warning.map(str::to_owned));
        }
        withdraw_one_way(&mut self.summaries, &facts);
        let begun = Begun {
            clock: Clock::Real,
            utc: self.begun.utc,
            monotonic: self.begun.monotonic,
        };
        let rows = begun.rows(self.planned, done, facts, &self.summaries, ended);
        trial::finish(self.writer, &rows)
    }

    /// What is known of a trial of which not all is recorded.
    fn facts_until_then(&self, lacks: Lacks<'_>) -> Vec<ProbeFacts> {
        let facts = |(_, probe): (&Probe, u16)| ProbeFacts {
            records: records_of(&self.begun, probe),
            realtime_offset: self.begun.realtime_offset(),
            ..ProbeFacts::default()
        };
        let probes = self.planned.trial.probes.iter().zip(0..);
        let mut facts: Vec<ProbeFacts> = probes.map(facts).collect();
        if let Some(first) = facts.first_mut() {
            (first.flaws, first.warnings) = match lacks {
                Lacks::Packets(why) => (vec![self.flaw(why)], Vec::new()),
                Lacks::Others(flaws) => (flaws.to_vec(), vec![LACKS_OTHERS.to_owned()]),
            };
        }
        facts
    }

    fn flaw(&self, why: &str) -> String {
        let flaw = format!(
            "{CUT_SHORT}{} after {}: {why}",
            self.begun.to_the_second(self.until),
            plural(self.packets, "packet"),
        );
        match self.writer.is_damaged() {
            true => format!(
                "{flaw}; what was recorded later is behind a damaged place of a file, which is kept as `damaged-…`"
            ),
            false => flaw,
        }
    }
}

fn records_of(begun: &begun::Begun, probe: u16) -> RecordFacts {
    let known = begun.probes.get(usize::from(probe));
    known.copied().unwrap_or_default()
}
