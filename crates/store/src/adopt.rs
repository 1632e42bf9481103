//! Trials of one unfinished run, taken over by another: the shards of a run become one.
//!
//! What is taken over are the parts of a trial as they are, byte for byte, so that the run is the same as if one process had
//! recorded all of it. Rows of trials that were interrupted stay where they are.

use crate::disk::SharedDisk;
use crate::durable;
use crate::error::StoreError;
use crate::folder::{ENVIRONMENT, EXPERIMENT, FIRST_TAKEN_UP, FORMAT, Folder, is_partial};
use crate::lock::Lock;
use crate::regular;
use crate::table::{Row, every_table};
use crate::trial_file::RecordedTrial;
use crate::writer::RunWriter;
use jiff::Timestamp;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// An unfinished run whose trials another one takes over. Nobody else writes it as long as this lives.
#[derive(Debug)]
pub struct Donor {
    folder: Folder,
    experiment: String,
    environment: Value,
    trials: BTreeSet<u32>,
    /// Holds the lock on the folder.
    _lock: Lock,
}

/// Why the trials of a run cannot be taken over.
#[derive(Debug, thiserror::Error)]
pub enum AdoptError {
    /// Its tables are joined: it is a run of its own.
    #[error("{}: this run is complete: only parts of runs are merged (`delaylab run --shard`)", path.display())]
    Complete {
        /// The run.
        path: PathBuf,
    },
    /// Another version of this program wrote it: one run has one format.
    #[error("{}: this run is in format {format}, and this version writes format {FORMAT}", path.display())]
    Format {
        /// The run.
        path: PathBuf,
        /// Its format.
        format: u64,
    },
    /// Two runs have one trial, and what came of it is not the same.
    #[error(
        "trial {trial} is in {} and in {}, and came out differently: a simulation repeats itself exactly, so that one of \
         them is not of this experiment, or of another version of this program",
        first.display(), second.display()
    )]
    Differs {
        /// Its number.
        trial: u32,
        /// One of the runs.
        first: PathBuf,
        /// The other one.
        second: PathBuf,
    },
    /// The files cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Donor {
    /// Opens `<run>.partial`.
    ///
    /// # Errors
    /// It is complete, is being written, is of another format, or cannot be read.
    pub fn open(partial: &Path) -> Result<Self, AdoptError> {
        let path = partial.to_owned();
        if !is_partial(partial) {
            // A link, such as `latest`, has another name than the folder.
            let real = std::fs::canonicalize(partial).map_err(StoreError::at(partial))?;
            return match is_partial(&real) {
                true => Self::open(&real),
                false => Err(AdoptError::Complete { path }),
            };
        }
        let held = Lock::take(partial)?;
        let folder = Folder(path);
        let text = |name: &str| {
            let file = folder.file(name);
            regular::text(&file).map_err(StoreError::at(&file))
        };
        let file = folder.file(ENVIRONMENT);
        let environment: Value =
            serde_json::from_str(&text(ENVIRONMENT)?).map_err(StoreError::table(&file))?;
        match environment["run"]["format"].as_u64() {
            Some(FIRST_TAKEN_UP..=FORMAT) => {}
            other => {
                return Err(AdoptError::Format {
                    path: folder.0,
                    format: other.unwrap_or_default(),
                });
            }
        }
        let trials = folder
            .recorded_trials()
            .map_err(StoreError::at(&folder.parts()))?;
        Ok(Self {
            experiment: text(EXPERIMENT)?,
            environment,
            trials,
            folder,
            _lock: held,
        })
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder.0
    }

    /// The experiment file, as resolved.
    pub fn experiment(&self) -> &str {
        &self.experiment
    }

    /// Where it ran.
    pub fn environment(&self) -> &Value {
        &self.environment
    }

    /// When it began, where that is known.
    pub fn started(&self) -> Option<SystemTime> {
        let started: Timestamp = self.environment["run"]["started_utc"]
            .as_str()?
            .parse()
            .ok()?;
        Some(started.into())
    }

    /// The trials that it has recorded.
    pub fn trials(&self) -> &BTreeSet<u32> {
        &self.trials
    }

    /// What it has of this trial, as it was recorded.
    ///
    /// # Errors
    /// It is something else by now.
    fn recorded(&self, trial: u32) -> Result<RecordedTrial, StoreError> {
        let recorded = RecordedTrial::open_checked(&self.folder, trial);
        let recorded = recorded.map_err(StoreError::changed(&self.folder.0))?;
        match recorded.manifest() {
            Some(_) => Ok(recorded),
            None => Err(StoreError::Table {
                path: self.folder.part_manifest(trial),
                reason: "is missing".to_owned(),
            }),
        }
    }

    /// Fails where this trial is in both and came out differently.
    ///
    /// # Errors
    /// It did, or parts of it are no longer what was recorded.
    pub fn agrees_with(&self, other: &Donor, trial: u32) -> Result<(), AdoptError> {
        let [own, others] = [self, other].map(|donor| donor.recorded(trial));
        let same = own?.is_same(&others?);
        same.then_some(()).ok_or_else(|| AdoptError::Differs {
            trial,
            first: self.folder.0.clone(),
            second: other.folder.0.clone(),
        })
    }
}

impl RunWriter {
    /// Takes the trials of another run over, which keeps them. Trials that are recorded here already stay as they are.
    ///
    /// # Errors
    /// Parts of one are no longer what was recorded, or they cannot be written here. Those before it are taken over.
    pub fn adopt(&self, donor: &Donor) -> Result<(), StoreError> {
        self.adopt_by(donor, link_or_copy)
    }

    /// The same, for a run that is of no use afterwards: its files are moved.
    ///
    /// # Errors
    /// The same.
    pub fn take(&self, donor: Donor) -> Result<(), StoreError> {
        let from = donor.folder();
        // Its files may be in memory only.
        self.disk.sync_all(from).map_err(StoreError::at(from))?;
        self.adopt_by(&donor, move_or_copy)
    }

    fn adopt_by(&self, donor: &Donor, how: Adopt) -> Result<(), StoreError> {
        for &trial in donor.trials() {
            if !self.folder.is_recorded(trial) {
                self.adopt_trial(donor, trial, how)?;
            }
        }
        durable::sync_folder(&*self.disk, &self.folder.parts())
    }

    fn adopt_trial(&self, donor: &Donor, trial: u32, how: Adopt) -> Result<(), StoreError> {
        let recorded = donor.recorded(trial)?;
        for from in recorded.files(&every_table!(R => R::TABLE)) {
            let name = from.file_name().unwrap_or_default();
            how(&self.disk, &from, &self.folder.parts().join(name))?;
        }
        Ok(())
    }

    /// Removes all that was written: where the whole of a run is elsewhere, too.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn discard(self) -> Result<(), StoreError> {
        durable::remove_folder(&*self.disk, &self.folder.0)
    }
}

/// Puts a file of one run into another.
type Adopt = fn(&SharedDisk, &Path, &Path) -> Result<(), StoreError>;

/// Moves a file, or copies it to where that cannot be.
fn move_or_copy(disk: &SharedDisk, from: &Path, to: &Path) -> Result<(), StoreError> {
    match disk.rename(from, to) {
        Ok(()) => Ok(()),
        Err(_) => copy(disk, from, to),
    }
}

/// Gives a file a second name, or copies it to where that cannot be.
fn link_or_copy(disk: &SharedDisk, from: &Path, to: &Path) -> Result<(), StoreError> {
    match durable::link(&**disk, from, to)? {
        true => Ok(()),
        false => copy(disk, from, to),
    }
}

fn copy(disk: &SharedDisk, from: &Path, to: &Path) -> Result<(), StoreError> {
    let mut source = regular::open(from).map_err(StoreError::at(from))?;
    let mut copied = || {
        let mut file = disk.create(&durable::unfinished(to))?;
        io::copy(&mut source, &mut file)?;
        file.sync()
    };
    copied().map_err(StoreError::at(to))?;
    durable::put_in_place(&**disk, to)
}
