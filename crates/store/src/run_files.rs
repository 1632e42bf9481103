//! Whether the files of a run are what was recorded, finished or not.

use crate::digest::FileFacts;
use crate::folder::{ENVIRONMENT, EXPERIMENT, FINDINGS, Folder, State};
use crate::in_order::in_order;
use crate::manifest::{self, Manifest};
use crate::mismatch::Mismatch;
use crate::regular::{self, MAY_NOT_READ};
use crate::trial_file::RecordedTrial;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::io;

/// The manifest of a run, and what is wrong with it and with the files of the run. Of a finished one without a manifest,
/// nothing is known.
pub(crate) fn checked(folder: &Folder, state: State) -> (Option<Manifest>, Vec<Mismatch>) {
    let is_joined = || regular::exists(&folder.file(FINDINGS));
    let was_joined = is_joined();
    let found = checked_once(folder, state);
    // The parts of a run that ends meanwhile go once its tables are there.
    match found.1.is_empty() || was_joined || !is_joined() {
        true => found,
        false => checked_once(folder, state),
    }
}

fn checked_once(folder: &Folder, state: State) -> (Option<Manifest>, Vec<Mismatch>) {
    match manifest::of_run(folder) {
        Ok(listed) => {
            let wrong = wrong(folder, state, listed.as_ref());
            (listed, wrong)
        }
        Err(mismatch) => {
            let mut wrong = wrong(folder, state, None);
            wrong.insert(0, mismatch);
            (None, wrong)
        }
    }
}

fn wrong(folder: &Folder, state: State, listed: Option<&Manifest>) -> Vec<Mismatch> {
    match (state, listed) {
        (State::Complete, None) => Vec::new(),
        (State::Complete, Some(listed)) => of_complete(folder, listed),
        (State::Partial, listed) => of_partial(folder, listed),
    }
}

/// What is wrong with the files of a run that is finished.
fn of_complete(folder: &Folder, manifest: &Manifest) -> Vec<Mismatch> {
    let wrong = manifest.mismatches(&folder.0);
    wrong.chain(manifest.strangers(folder)).collect()
}

/// What is wrong with the files of a run that is not finished, or is about to be.
fn of_partial(folder: &Folder, manifest: Option<&Manifest>) -> Vec<Mismatch> {
    let recorded = Recorded::read(folder);
    let listed = manifest.into_iter().flat_map(|manifest| {
        let names = manifest.files.keys();
        let names = names.filter(|name| recorded.is_final(name));
        names.filter_map(|name| manifest.mismatch(&folder.0, name))
    });
    let mut wrong: Vec<Mismatch> = listed.collect();
    wrong.extend(recorded.unread.clone());
    let of_trial = |trial: &u32| RecordedTrial::open_checked(folder, *trial).err();
    let Ok(()) = in_order(&recorded.trials, of_trial, |_, of_trial| {
        wrong.extend(of_trial);
        Ok::<(), Infallible>(())
    });
    wrong
}

/// What is listed of a run that is not finished: its texts, and the parts of its recorded trials.
pub(crate) fn files_of_partial(folder: &Folder, manifest: &Manifest) -> Vec<FileFacts> {
    let recorded = Recorded::read(folder);
    let listed = manifest.files.iter();
    let listed = listed.filter(|(name, _)| recorded.is_final(name));
    let listed = listed.map(|(_, facts)| facts.clone());
    let parts = recorded.trials.iter().filter_map(|&trial| {
        let recorded = RecordedTrial::open(folder, trial).ok()?;
        Some(recorded.manifest()?.files.clone().into_values())
    });
    listed.chain(parts.flatten()).collect()
}

/// What stays as it is of a run that is not finished.
struct Recorded {
    /// Have the parts of the trials been joined?
    is_joined: bool,
    /// The trials whose parts are there.
    trials: Vec<u32>,
    /// Why they are not known.
    unread: Option<Mismatch>,
}

impl Recorded {
    fn read(folder: &Folder) -> Self {
        let is_joined = regular::exists(&folder.file(FINDINGS));
        let trials = match is_joined {
            true => Ok(BTreeSet::new()),
            false => folder.recorded_trials(),
        };
        let (trials, unread) = match trials {
            Ok(trials) => (trials, None),
            Err(error) => (BTreeSet::new(), Some(unread_parts(&error))),
        };
        Self {
            is_joined,
            trials: trials.into_iter().collect(),
            unread,
        }
    }

    fn is_final(&self, name: &str) -> bool {
        self.is_joined || [EXPERIMENT, ENVIRONMENT].contains(&name)
    }
}

fn unread_parts(error: &io::Error) -> Mismatch {
    let why = match error.kind() {
        io::ErrorKind::PermissionDenied => MAY_NOT_READ.to_owned(),
        _ => error.to_string(),
    };
    let file = "parts".to_owned();
    Mismatch { file, why }
}
