//! The streams of a run: one probe of one trial each.

use delaylab_model::Nanos;
use delaylab_model::plan::Factor;
use delaylab_model::trial::RecordFacts;
use delaylab_model::words::each_once;

/// One probe of one trial: the records that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct RunStream {
    /// Its trial.
    pub trial: u32,
    /// Which probe of the trial.
    pub probe: u16,
    /// The probe's name.
    pub name: String,
    /// Its packets are frames of a tester, which go one way.
    pub frames: bool,
    /// Each factor and its level, in the order of the design.
    pub factors: Vec<Factor>,
    /// Of a trial that a procedure asked for: which step of its search it was. Nothing is told apart by these.
    pub steps: Vec<Factor>,
    /// Which repeat of this combination of levels, from 0.
    pub repeat: u32,
    /// How to read its records.
    pub facts: RecordFacts,
    /// What is to be added to the times of its records to have UTC; `None` on a simulated clock.
    pub to_utc: Option<Nanos>,
    /// Digest of the trial's events, where it was simulated: trials that share it are one.
    pub trace_hash: Option<u64>,
}

impl RunStream {
    /// Every level of it: of its factors, and of the steps of a search.
    pub fn levels(&self) -> impl Iterator<Item = &Factor> + Clone {
        self.factors.iter().chain(&self.steps)
    }
}

/// The names of the probes, in the order in which an experiment has them.
pub(super) fn probe_names(streams: &[RunStream]) -> Vec<String> {
    let mut names: Vec<_> = streams.iter().map(|s| (s.probe, s.name.clone())).collect();
    names.sort();
    each_once(names.into_iter().map(|(_, name)| name))
}
