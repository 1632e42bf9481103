//! Is a run what was recorded? Every file of it, and of every run in a folder.

use crate::digest::FileFacts;
use crate::folder::{EXPERIMENT, Folder, MANIFEST};
use crate::manifest;
pub use crate::manifest::SCHEMA;
pub use crate::mismatch::Mismatch;
use crate::regular::MAY_NOT_READ;
use crate::run::{OpenError, Run, State};
use crate::run_files;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What was found of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// Its folder.
    pub folder: PathBuf,
    /// Did it come to its end?
    pub state: State,
    /// How many files the manifest lists, those of recorded trials of a run in progress with them; `None` without one.
    pub files: Option<u64>,
    /// How many bytes they have in all.
    pub bytes: u64,
    /// What is wrong, file by file. Without a manifest, what cannot be read.
    pub wrong: Vec<Mismatch>,
}

/// Looks at every file of a run. Without a manifest, every row of every table is read. A folder with nothing of a run in
/// it, or that cannot be looked into, is wrong as a whole.
pub fn verify(folder: &Path) -> Verified {
    match Run::open_as_it_is(folder) {
        Ok(run) => of_run(&run),
        Err(error) => Verified {
            folder: folder.to_owned(),
            state: State::of_folder(folder),
            files: None,
            bytes: 0,
            wrong: vec![nothing_of_one(&error)],
        },
    }
}

/// The same of one of [`runs_in`], which may have ended since, and have another name. `None`: it is gone.
pub fn verify_found(folder: &Path) -> Option<Verified> {
    let verified = verify(folder);
    if verified.wrong.is_empty() || folder.exists() {
        return Some(verified);
    }
    let ended = folder.with_extension("");
    let has_ended = verified.state == State::Partial && ended.exists();
    has_ended.then(|| verify(&ended))
}

fn nothing_of_one(error: &OpenError) -> Mismatch {
    let why = match error {
        _ if error.is_denied() => MAY_NOT_READ.to_owned(),
        OpenError::Folder { source, .. } => source.to_string(),
        _ => "missing, and every table: nothing of a run is there".to_owned(),
    };
    let file = EXPERIMENT.to_owned();
    Mismatch { file, why }
}

fn of_run(run: &Run) -> Verified {
    let at = Folder(run.folder().to_owned());
    let (listed, mut wrong) = run_files::checked(&at, run.state());
    if listed.is_none() && wrong.is_empty() {
        wrong = unreadable(run);
    }
    let facts: Option<Vec<FileFacts>> = listed.map(|listed| match run.state() {
        State::Complete => listed.files.into_values().collect(),
        State::Partial => run_files::files_of_partial(&at, &listed),
    });
    Verified {
        folder: run.folder().to_owned(),
        state: run.state(),
        files: facts.as_ref().map(|facts| facts.len() as u64),
        bytes: facts.iter().flatten().map(|facts| facts.bytes).sum(),
        wrong,
    }
}

/// What cannot be read of a run that has no manifest.
fn unreadable(run: &Run) -> Vec<Mismatch> {
    run.read_everything();
    run.mismatches()
}

/// The run in this folder, or every run in it, by name. Links to runs are left out: the run itself is there, too.
pub fn runs_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    if is_run(folder) {
        return Ok(vec![folder.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        let path = entry.path();
        if entry.file_type()?.is_dir() && !is_hidden && (is_run(&path) || is_closed(&path)) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// May this user not look into it? Then it may be a run, unless it is what every file system has at its root.
fn is_closed(folder: &Path) -> bool {
    if folder.ends_with("lost+found") {
        return false;
    }
    let looked = fs::symlink_metadata(folder.join(MANIFEST));
    looked.is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}

/// Is there anything of a run in it?
pub(crate) fn is_run(folder: &Path) -> bool {
    let at = Folder(folder.to_owned());
    let has_manifest = crate::regular::exists(&at.file(MANIFEST));
    has_manifest
        || State::of_folder(folder) == State::Partial
        || !manifest::read_by_name(&at).is_empty()
}
