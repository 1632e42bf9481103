//! The trait that carries a trial out.

use crate::record::Record;
use crate::refusal::Refusal;
use crate::rows::Rows;
use crate::stream_report::StreamReport;
use crate::trial::{ProbeFacts, RecordFacts, Trial};
use std::error::Error;

/// Takes a trial's records as they become whole.
pub trait Sink {
    /// Called once for each probe of the trial, before its first record.
    fn begin(&mut self, probe: u16, facts: &RecordFacts) -> std::io::Result<()>;
    /// One packet. An error ends the trial; what was handed over before stays.
    fn record(&mut self, record: &Record) -> std::io::Result<()>;
    /// What the trial brings beside its records.
    fn rows(&mut self, _rows: Rows<'_>) -> std::io::Result<()> {
        Ok(())
    }
    /// Nothing is due for a while: a good time to hand on what was kept back.
    fn pause(&mut self) -> std::io::Result<()> {
        Ok(())
    }
    /// The probe sends nothing any more, and what is still under way is as good as lost: it only waits. Loads may end.
    fn only_waits(&mut self) {}
}

/// What came of a trial, beside its records.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrialFacts {
    /// Of each probe, in their order.
    pub probes: Vec<ProbeFacts>,
    /// Of each stream of load; empty where the world only has their series.
    pub streams: Vec<StreamReport>,
}

impl From<Vec<ProbeFacts>> for TrialFacts {
    fn from(probes: Vec<ProbeFacts>) -> Self {
        let streams = Vec::new();
        Self { probes, streams }
    }
}

/// Whose time passes in a world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Clock {
    /// This host's: a trial has a date, and takes as long as it takes.
    #[default]
    Real,
    /// The world's own. A trial has no date, and everything recorded of it is the same whenever,
    /// wherever and beside whatever it is carried out.
    Simulated,
}

/// What kind of failure it is, by what the user can do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The target cannot be reached.
    Unreachable,
    /// The settings are wrong.
    Usage,
    /// This host lacks something.
    Environment,
}

/// Why a trial could not be carried out, or broke off. What was recorded until then has been handed over.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct WorldError {
    /// Its kind.
    pub kind: FailureKind,
    /// The world's own error.
    pub error: Box<dyn Error + Send + Sync>,
}

impl WorldError {
    /// An error of this kind.
    pub fn new(kind: FailureKind, error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let error = error.into();
        Self { kind, error }
    }
}

/// A place where trials are carried out: live, testbed or sim.
pub trait World: Send {
    /// Every field of the trial that this world cannot honour. Empty: it can run.
    fn refusals(&self, trial: &Trial) -> Vec<Refusal>;

    /// Carries one trial out and hands its records over.
    ///
    /// # Errors
    /// The trial cannot be carried out, or broke off. What was recorded until then has been handed over.
    fn run(&mut self, trial: &Trial, sink: &mut dyn Sink) -> Result<TrialFacts, WorldError>;

    /// How many trials may run at once, each in a world of its own.
    fn parallelism(&self) -> usize {
        1
    }

    /// The same world once more, for a trial at the same time. `None` where the world exists only once.
    fn another(&self) -> Option<Box<dyn World>> {
        None
    }

    /// Whose time passes in it.
    fn clock(&self) -> Clock {
        Clock::Real
    }
}
