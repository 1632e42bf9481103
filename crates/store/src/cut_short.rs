//! Trials that count with what is recorded of them, as that of a ping does: where a process could not end one, it is ended
//! later.

use crate::begun::{Begun, begun, trials};
use crate::durable;
use crate::error::StoreError;
use crate::writer::{RunWriter, TrialWriter};
use std::collections::BTreeSet;

impl TrialWriter {
    /// Notes how the trial began: from here on it counts with what is recorded of it, whenever its process ends.
    pub fn note_begun(&mut self, begun: &Begun) -> Result<(), StoreError> {
        let path = self.folder.begun(self.trial);
        self.has_begun = true;
        let text = serde_json::to_vec(begun).map_err(StoreError::table(&path))?;
        durable::write(&*self.disk, &path, &text)?;
        durable::sync_folder(&*self.disk, &self.folder.0)
    }
}

impl RunWriter {
    /// Trials that are recorded to their end.
    pub fn recorded(&self) -> Result<BTreeSet<u32>, StoreError> {
        let recorded = self.folder.recorded_trials();
        recorded.map_err(StoreError::at(&self.folder.0))
    }

    /// Trials that count with what is recorded of them and were not ended.
    pub fn cut_short(&self) -> Result<BTreeSet<u32>, StoreError> {
        trials(&self.folder, &self.recorded()?)
    }

    /// Takes up one of [`Self::cut_short`], with all that is recorded of it: nothing is added, and it is to be finished.
    pub fn take_up_trial(&self, trial: u32) -> Result<(TrialWriter, Begun), StoreError> {
        self.unless_recorded(trial)?;
        let path = self.folder.begun(trial);
        let begun = begun(&self.folder, trial)?.ok_or_else(|| StoreError::Table {
            path,
            reason: "cannot be read".to_owned(),
        })?;
        Ok((TrialWriter::reopen(&self.disk, &self.folder, trial)?, begun))
    }
}
