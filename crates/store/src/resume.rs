//! Taking up a run that was killed.

use crate::begun;
use crate::digest::FileFacts;
use crate::disk::{Disk, RealDisk, SharedDisk};
use crate::durable::{self, UNFINISHED};
use crate::error::StoreError;
use crate::folder::{
    ENVIRONMENT, EXPERIMENT, FINDINGS, FIRST_TAKEN_UP, FORMAT, Folder, MANIFEST, TRIALS, is_partial,
};
use crate::interrupted::{self, Settled};
use crate::join;
use crate::lock::Lock;
use crate::manifest::{self, Manifest};
use crate::regular;
use crate::table::{self, Row, every_table};
use crate::trial_file::RecordedTrial;
use crate::writer::{RunWriter, timestamp};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Where a resumed run stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resumed {
    /// The experiment file, as resolved.
    pub experiment: String,
    /// Where it ran; null if that cannot be read.
    pub environment: Value,
    /// Trials that are recorded.
    pub done: BTreeSet<u32>,
    /// Trials that had begun. Their rows are kept apart; they are to be repeated.
    pub interrupted: BTreeSet<u32>,
    /// Trials that had begun and count with what is recorded of them: they are to be ended
    /// ([`take_up_trial`](RunWriter::take_up_trial)).
    pub cut_short: BTreeSet<u32>,
    /// Parts that cannot be read, where they are kept now. Their trials are to be repeated.
    pub damaged: Vec<PathBuf>,
}

impl Resumed {
    /// Does the run count with what is recorded of it? Then no trial is carried out any more.
    pub fn counts_as_it_stands(&self) -> bool {
        begun::counts_as_it_stands(&self.environment, &self.done, &self.cut_short)
    }

    /// Is it to be what is recorded of it, of which there is nothing?
    pub fn lacks_everything(&self) -> bool {
        begun::is_kept(&self.environment) && !self.counts_as_it_stands()
    }
}

/// Why a run cannot be resumed.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// There is nothing left to be done.
    #[error("{}: this run is complete", path.display())]
    Complete {
        /// The run.
        path: PathBuf,
    },
    /// Another version of this program writes its tables: one run has one format.
    #[error(
        "{}: this run is in format {format}, and this version writes format {FORMAT}. The version that \
         began it can go on with it; `delaylab report` shows what it holds",
        path.display()
    )]
    Format {
        /// The run.
        path: PathBuf,
        /// Its format.
        format: u64,
    },
    /// The files cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl RunWriter {
    /// Takes up `<run>.partial`. Whenever its process ended, what was recorded is there.
    pub fn resume(partial: &Path) -> Result<(Self, Resumed), ResumeError> {
        Self::resume_on(RealDisk::shared(), partial)
    }

    /// The same on a disk that may fail.
    pub fn resume_on(disk: SharedDisk, partial: &Path) -> Result<(Self, Resumed), ResumeError> {
        if !is_partial(partial) {
            return Err(ResumeError::Complete {
                path: partial.to_owned(),
            });
        }
        let writer = Self {
            _lock: Lock::take(partial)?,
            folder: Folder(partial.to_owned()),
            disk,
        };
        let environment = writer.folder.environment();
        check_format(&writer.folder, &environment)?;
        let resumed = tidy(&*writer.disk, &writer.folder, environment)?;
        Ok((writer, resumed))
    }
}

impl RunWriter {
    /// Adds to the environment that the run was taken up, when, how many of its trials were recorded then, and `how`: an
    /// object, of the process that took it up.
    pub fn note_resumed(
        &self,
        when: SystemTime,
        trials: usize,
        how: Value,
    ) -> Result<(), StoreError> {
        let mut environment = self.folder.environment();
        let Value::Object(entries) = &mut environment else {
            // It cannot be read, which the readers of the run say.
            return Ok(());
        };
        // From now on an older version must not take it up.
        if let Some(Value::Object(run)) = entries.get_mut("run") {
            run.insert("format".to_owned(), FORMAT.into());
        }
        let resumed = entries.entry("resumed").or_insert_with(|| json!([]));
        if let Value::Array(resumed) = resumed {
            resumed.push(Value::Object(note(when, trials, how)));
        }
        self.rewrite_environment(format!("{environment:#}\n").as_bytes())
    }

    /// Whenever this process is killed, the manifest has the digest of what is there, or none.
    fn rewrite_environment(&self, text: &[u8]) -> Result<(), StoreError> {
        let manifest = manifest::of_run(&self.folder);
        let manifest = manifest.map_err(StoreError::changed(&self.folder.0))?;
        let keep = |manifest: Manifest| -> Result<(), StoreError> {
            manifest.write(&*self.disk, &self.folder.file(MANIFEST))?;
            durable::sync_folder(&*self.disk, &self.folder.0)
        };
        if let Some(mut manifest) = manifest.clone() {
            manifest.files.remove(ENVIRONMENT);
            keep(manifest)?;
        }
        durable::write(&*self.disk, &self.folder.file(ENVIRONMENT), text)?;
        durable::sync_folder(&*self.disk, &self.folder.0)?;
        manifest.map_or(Ok(()), |mut manifest| {
            manifest.add(Path::new(ENVIRONMENT), FileFacts::of_bytes(text));
            keep(manifest)
        })
    }
}

/// A format that cannot be read is taken for ours: the file may be damaged, and the rows are not in it.
fn check_format(folder: &Folder, environment: &Value) -> Result<(), ResumeError> {
    match environment["run"]["format"].as_u64() {
        Some(format) if !(FIRST_TAKEN_UP..=FORMAT).contains(&format) => Err(ResumeError::Format {
            path: folder.0.clone(),
            format,
        }),
        _ => Ok(()),
    }
}

/// What is written of a run that was taken up.
fn note(when: SystemTime, trials: usize, how: Value) -> Map<String, Value> {
    let mut note = match how {
        Value::Object(entries) => entries,
        _ => Map::new(),
    };
    note.insert("started_utc".to_owned(), timestamp(when).to_string().into());
    note.insert("trials".to_owned(), trials.into());
    note
}

/// Brings the folder into the state between two trials.
fn tidy(disk: &dyn Disk, folder: &Folder, environment: Value) -> Result<Resumed, StoreError> {
    let path = folder.file(EXPERIMENT);
    let experiment = regular::text(&path).map_err(StoreError::at(&path))?;
    remove_unfinished(disk, &folder.0)?;
    let is_joined = regular::exists(&folder.file(FINDINGS));
    check_files(folder, is_joined)?;
    let (settled, damaged) = match is_joined {
        true => (Settled::all_done(trials_of(folder)?), Vec::new()),
        false => take_up(disk, folder, &experiment)?,
    };
    durable::sync_folder(disk, &folder.0)?;
    Ok(Resumed {
        experiment,
        environment,
        done: settled.done,
        interrupted: settled.interrupted,
        cut_short: settled.cut_short,
        damaged,
    })
}

/// Fails where the run would go on from a file that is not what was recorded. Parts of trials are looked at later: such
/// a trial is repeated.
fn check_files(folder: &Folder, is_joined: bool) -> Result<(), StoreError> {
    let changed = StoreError::changed(&folder.0);
    let Some(manifest) = manifest::of_run(folder).map_err(&changed)? else {
        return Ok(());
    };
    // Findings are judged anew.
    let is_final =
        |name: &str| [EXPERIMENT, ENVIRONMENT].contains(&name) || (is_joined && name != FINDINGS);
    let mut names = manifest.files.keys().filter(|name| is_final(name));
    let wrong = names.find_map(|name| manifest.mismatch(&folder.0, name));
    wrong.map_or(Ok(()), |mismatch| Err(changed(mismatch)))
}

/// Takes the tables out of the manifest, which are removed.
fn forget_tables(disk: &dyn Disk, folder: &Folder) -> Result<(), StoreError> {
    let known = manifest::of_run(folder).map_err(StoreError::changed(&folder.0))?;
    let Some(mut manifest) = known else {
        return Ok(());
    };
    manifest.trials = None;
    (manifest.files).retain(|name, _| [EXPERIMENT, ENVIRONMENT].contains(&name.as_str()));
    manifest.write(disk, &folder.file(MANIFEST))
}

/// The trials of the joined table.
fn trials_of(folder: &Folder) -> Result<BTreeSet<u32>, StoreError> {
    let rows = join::trial_rows(&folder.table(TRIALS))?;
    Ok(rows.iter().map(|row| row.trial).collect())
}

/// Where its trials stand, and which files of them were moved out of the way.
fn take_up(
    disk: &dyn Disk,
    folder: &Folder,
    experiment: &str,
) -> Result<(Settled, Vec<PathBuf>), StoreError> {
    let parts = folder.parts();
    durable::create_folder(disk, &parts)?;
    // A process that was killed may have left names that nothing made sure of. What they stand for is about to go.
    durable::sync_folder(disk, &parts)?;
    durable::sync_folder(disk, &folder.0)?;
    remove_unfinished(disk, &parts)?;
    forget_tables(disk, folder)?;
    remove_joined(disk, folder)?;
    let damaged = set_damaged_aside(disk, folder, has_procedure(experiment))?;
    let settled = interrupted::settle_but_cut_short(disk, folder)?;
    durable::sync_folder(disk, &parts)?;
    Ok((settled, damaged))
}

/// Removes files that were being written, and folders of what was to be taken over.
fn remove_unfinished(disk: &dyn Disk, folder: &Path) -> Result<(), StoreError> {
    let failed = StoreError::at(folder);
    for entry in fs::read_dir(folder).map_err(&failed)? {
        let entry = entry.map_err(&failed)?;
        let path = entry.path();
        if path.extension().is_some_and(|end| end == UNFINISHED) {
            match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                true => {
                    // Workers that are not waited for find nothing by its name, and make nothing in it meanwhile.
                    let mut gone = OsString::from(".gone-");
                    gone.push(entry.file_name());
                    let gone = path.with_file_name(gone);
                    durable::rename(disk, &path, &gone)?;
                    durable::remove_folder(disk, &gone)?;
                }
                false => durable::remove(disk, &path)?,
            }
        }
    }
    Ok(())
}

/// Removes tables that were joined when the run was stopped: the parts have all of it.
fn remove_joined(disk: &dyn Disk, folder: &Folder) -> Result<(), StoreError> {
    every_table!(R => {
        durable::remove(disk, &folder.table(R::TABLE))?;
        durable::remove(disk, &folder.interrupted::<R>())?;
    });
    durable::remove(disk, &folder.table(TRIALS))
}

/// Is each trial chosen by what the trials before it gave?
fn has_procedure(experiment: &str) -> bool {
    let experiment: toml::Table = experiment.parse().unwrap_or_default();
    let design = experiment.get("design").and_then(toml::Value::as_table);
    design.is_some_and(|design| design.contains_key("procedure"))
}

/// Moves the parts of trials that cannot be read out of the way, so that those trials are repeated; and if each was chosen by
/// those before it, of all that came after them. The last first: a resume that is killed here does the rest the next time.
fn set_damaged_aside(
    disk: &dyn Disk,
    folder: &Folder,
    by_those_before: bool,
) -> Result<Vec<PathBuf>, StoreError> {
    let mut aside = Vec::new();
    let mut void = Vec::new();
    let recorded = folder.recorded_trials();
    for trial in recorded.map_err(StoreError::at(&folder.parts()))? {
        let is_after_damage = by_those_before && !void.is_empty();
        if is_after_damage || is_damaged(folder, trial)? {
            void.push(trial);
        }
    }
    for trial in void.into_iter().rev() {
        // What makes it recorded last: while that is in place, the next resume comes back to this trial.
        for table in every_table!(R => R::TABLE) {
            aside.extend(durable::set_aside(
                disk,
                &folder.0,
                &folder.part(table, trial),
            )?);
        }
        durable::sync_folder(disk, &folder.0)?;
        durable::sync_folder(disk, &folder.parts())?;
        for last in [folder.trial_file(trial), folder.part(TRIALS, trial)] {
            aside.extend(durable::set_aside(disk, &folder.0, &last)?);
        }
        durable::remove(disk, &folder.part_manifest(trial))?;
    }
    Ok(aside)
}

/// Is what a trial left not what was recorded? What the system cannot read for the moment, or not for this user, may be.
fn is_damaged(folder: &Folder, trial: u32) -> Result<bool, StoreError> {
    if is_readable(folder, trial) {
        return Ok(false);
    }
    let mut files = Vec::from(every_table!(R => folder.part(R::TABLE, trial)));
    files.extend([
        folder.part(TRIALS, trial),
        folder.part_manifest(trial),
        folder.trial_file(trial),
    ]);
    for path in files {
        let read = regular::open(&path).and_then(|mut file| io::copy(&mut file, &mut io::sink()));
        match read {
            Err(source) if !is_of_the_file(&source) => {
                return Err(StoreError::Unread { path, source });
            }
            _ => {}
        }
    }
    Ok(!is_readable(folder, trial))
}

/// Is it missing, or something that is no file of a run?
fn is_of_the_file(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::InvalidInput
    )
}

fn is_readable(folder: &Folder, trial: u32) -> bool {
    let Ok(recorded) = RecordedTrial::open_checked(folder, trial) else {
        return false;
    };
    let opens = every_table!(R => recorded.source(R::TABLE, &table::schema::<R>()).is_ok());
    join::trial_rows_of(&recorded).is_ok() && opens.iter().all(|opens| *opens)
}
