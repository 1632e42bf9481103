//! Takes records as they come, and makes a view of them.

use super::measured::Measured;
use super::view::{Progress, View};
use delaylab_model::Nanos;
use delaylab_model::probe::Probe;
use delaylab_model::record::Record;
use delaylab_model::trial::RecordFacts;

/// A measurement under way. Its memory is flat.
#[derive(Debug)]
pub struct State {
    title: String,
    detail: String,
    progress: Option<Progress>,
    began: Nanos,
    /// Records of other trials are not for this view.
    trial: u32,
    probes: Vec<Measured>,
    shown: usize,
}

impl State {
    /// Of what is called this and begins now.
    pub fn new(title: impl Into<String>, now: Nanos) -> Self {
        Self {
            title: title.into(),
            detail: String::new(),
            progress: None,
            began: now,
            trial: 0,
            probes: Vec::new(),
            shown: 0,
        }
    }

    /// Another trial begins: what came of the one before goes from view. `detail` says how it differs.
    pub fn begin_trial(&mut self, trial: u32, detail: impl Into<String>, probes: &[Probe]) {
        self.trial = trial;
        self.detail = detail.into();
        self.probes = probes.iter().map(Measured::new).collect();
        self.shown = self.shown.min(self.probes.len().saturating_sub(1));
    }

    /// The experiment is so far.
    pub fn set_progress(&mut self, progress: Progress) {
        self.progress = Some(progress);
    }

    /// Records of this probe are to be read like this.
    pub fn begin_probe(&mut self, trial: u32, probe: u16, facts: &RecordFacts) {
        if let Some(measured) = self.probe(trial, probe) {
            measured.begin(*facts);
        }
    }

    /// Some packets have ended.
    pub fn take(&mut self, records: &[Record]) {
        for record in records {
            if let Some(measured) = self.probe(record.trial, record.probe) {
                measured.take(record);
            }
        }
    }

    fn probe(&mut self, trial: u32, probe: u16) -> Option<&mut Measured> {
        let probe = self.probes.get_mut(usize::from(probe));
        probe.filter(|_| trial == self.trial)
    }

    /// Shows the next probe of the trial.
    pub fn show_next(&mut self) {
        self.shown = (self.shown + 1) % self.probes.len().max(1);
    }

    /// What there is to see now.
    pub fn view(&self, now: Nanos) -> View {
        let shown = self.probes.get(self.shown);
        View {
            title: self.title.clone(),
            detail: self.detail.clone(),
            progress: self.progress,
            elapsed: now.saturating_sub(self.began),
            probe: (self.shown + 1, self.probes.len()),
            seen: shown.map(Measured::seen).unwrap_or_default(),
        }
    }
}
