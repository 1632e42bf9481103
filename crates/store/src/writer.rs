//! Writing a run: its folder, a [`TrialWriter`] for each trial, and the end that joins them.

use crate::digest::FileFacts;
use crate::disk::{Disk, RealDisk, SharedDisk};
use crate::durable;
use crate::error::StoreError;
use crate::folder::{ENVIRONMENT, EXPERIMENT, FORMAT, Folder, MANIFEST, PARTIAL, UNDATED};
use crate::join;
use crate::journal::{Journal, Journaling};
use crate::known_trial::KnownTrial;
use crate::latest;
use crate::lock::Lock;
use crate::manifest::Manifest;
use crate::part::{self, NoiseOf};
use crate::row_groups::MOST_THREADS;
use crate::temporary;
use crate::trial_file::NewTrial;
use crate::trial_row::TrialRow;
use crate::unanswered::KeptUnanswered;
use delaylab_model::Nanos;
use delaylab_model::noise::NoiseEvent;
use delaylab_model::record::Record;
use delaylab_model::rows::Rows;
use delaylab_model::table::TableRow;
use delaylab_model::with_tables;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A run that is about to begin.
#[derive(Debug, Clone, Copy)]
pub struct NewRun<'a> {
    /// The experiment's name.
    pub name: &'a str,
    /// The world that carries it out.
    pub world: &'a str,
    /// When it began; `None` where that is not known.
    pub started: Option<SystemTime>,
    /// The experiment file, as resolved.
    pub experiment: &'a str,
    /// Kernel, CPU, clock source, versions: an object, to which the run's own facts are added as
    /// `run`.
    pub environment: &'a Value,
}

/// A run that is being written. One process at a time may have it.
#[derive(Debug)]
pub struct RunWriter {
    pub(crate) disk: SharedDisk,
    pub(crate) folder: Folder,
    /// Holds the lock on the folder.
    pub(crate) _lock: Lock,
}

/// A run that is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Where it is.
    pub folder: PathBuf,
    /// What of `latest` and the index could not be brought up to date. The run is whole all the same.
    pub warnings: Vec<String>,
}

impl RunWriter {
    /// Makes `<runs>/<name>-<UTC time>.partial/`, with `-2` and so on after the time if it is taken.
    ///
    /// The folder appears with its experiment and environment in it, so that whatever is found can be
    /// resumed.
    pub fn create(runs: &Path, new: &NewRun<'_>) -> Result<Self, StoreError> {
        Self::create_on(RealDisk::shared(), runs, new)
    }

    /// The same on a disk that may fail.
    pub fn create_on(disk: SharedDisk, runs: &Path, new: &NewRun<'_>) -> Result<Self, StoreError> {
        check_name(new.name)?;
        durable::create_folders(&*disk, runs)?;
        Self::create_in(disk, runs, new)
    }

    /// The same in a folder that is there: one that another process removed is not made again.
    pub fn create_in(disk: SharedDisk, runs: &Path, new: &NewRun<'_>) -> Result<Self, StoreError> {
        check_name(new.name)?;
        let hidden = Hidden::create(&*disk, runs, new.name)?;
        let folder = Folder(hidden.path.clone());
        durable::create_folder(&*disk, &folder.parts())?;
        write_texts(&*disk, &folder, new)?;
        let lock = Lock::take(&folder.0)?;
        let folder = hidden.appear(runs, &stamped(new))?;
        durable::sync_folder(&*disk, runs)?;
        Ok(Self {
            disk,
            folder,
            _lock: lock,
        })
    }

    /// Where the run is while it is written.
    pub fn folder(&self) -> &Path {
        &self.folder.0
    }

    /// Begins to record a trial. Several may be recorded at once.
    pub fn begin_trial(&self, trial: u32) -> Result<TrialWriter, StoreError> {
        self.unless_recorded(trial)?;
        let when = Journaling::AsTheyCome;
        TrialWriter::create(&self.disk, &self.folder, trial, when, MOST_THREADS)
    }

    /// The same of a trial that comes out the same when it is repeated. Few rows stay in memory until it ends, and go with
    /// a process that is killed; those of a trial that ends in an error are on disk all the same. `threads`: that encode its
    /// long tables, at most.
    pub fn begin_repeatable_trial(
        &self,
        trial: u32,
        threads: usize,
    ) -> Result<TrialWriter, StoreError> {
        self.unless_recorded(trial)?;
        let when = Journaling::WhenMany;
        TrialWriter::create(&self.disk, &self.folder, trial, when, threads)
    }

    /// Begins to write a trial of which everything is known, with so many packets.
    pub fn known_trial(&self, trial: u32, packets: u64) -> Result<KnownTrial, StoreError> {
        self.unless_recorded(trial)?;
        KnownTrial::create(&self.disk, &self.folder, trial, packets)
    }

    pub(crate) fn unless_recorded(&self, trial: u32) -> Result<(), StoreError> {
        if self.folder.is_recorded(trial) {
            return Err(StoreError::Recorded {
                path: self.folder.0.clone(),
                trial,
            });
        }
        Ok(())
    }

    /// Joins what the trials left, adds the findings, and gives the folder its name.
    ///
    /// Then `latest` is pointed at the run and the index of runs is brought up to date.
    pub fn finish(self, findings: &Value) -> Result<Finished, StoreError> {
        join::join(&self.disk, &self.folder, findings)?;
        let folder = self.rename()?;
        let runs = durable::folder_of(&folder);
        let warnings = [
            latest::point(&*self.disk, runs, &folder).err(),
            crate::index::refresh(runs).err(),
        ];
        Ok(Finished {
            warnings: warnings.into_iter().flatten().collect(),
            folder,
        })
    }

    /// Its final name, or the first one with a number that is free: another run of that name may have ended between the
    /// look for a free name and the first name of this one.
    fn rename(&self) -> Result<PathBuf, StoreError> {
        let partial = &self.folder.0;
        let name = partial.file_stem().unwrap_or_default().to_string_lossy();
        let runs = durable::folder_of(partial);
        let mut number = 1;
        loop {
            let whole = runs.join(numbered(&name, number));
            number += 1;
            match self.disk.rename(partial, &whole) {
                Ok(()) => {
                    durable::sync_folder(&*self.disk, runs)?;
                    return Ok(whole);
                }
                Err(error) if is_taken(&error) => {}
                Err(error) => return Err(StoreError::at(&whole)(error)),
            }
        }
    }
}

/// Writes the experiment and the environment of a new run, and the manifest that lists them.
fn write_texts(disk: &dyn Disk, folder: &Folder, new: &NewRun<'_>) -> Result<(), StoreError> {
    let mut manifest = Manifest::new();
    let environment = environment(new);
    for (name, text) in [
        (EXPERIMENT, new.experiment.as_bytes()),
        (ENVIRONMENT, &environment),
    ] {
        durable::write(disk, &folder.file(name), text)?;
        manifest.add(Path::new(name), FileFacts::of_bytes(text));
    }
    manifest.write(disk, &folder.file(MANIFEST))?;
    durable::sync_folder(disk, &folder.0)
}

fn check_name(name: &str) -> Result<(), StoreError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let good = !name.is_empty() && !name.starts_with('.') && name.chars().all(fits);
    let bad = || StoreError::Name {
        name: name.to_owned(),
    };
    good.then_some(()).ok_or_else(bad)
}

/// The environment with the run's own facts.
fn environment(new: &NewRun<'_>) -> Vec<u8> {
    let mut environment = match new.environment {
        Value::Object(entries) => entries.clone(),
        other => [("host".to_owned(), other.clone())].into_iter().collect(),
    };
    let run = json!({
        "format": FORMAT,
        "name": new.name,
        "world": new.world,
        "started_utc": new.started.map(|started| timestamp(started).to_string()),
    });
    environment.insert("run".to_owned(), run);
    format!("{:#}\n", Value::Object(environment)).into_bytes()
}

/// A clock beyond the calendar is put at its beginning.
pub(crate) fn timestamp(time: SystemTime) -> Timestamp {
    Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// The experiment's name and the time, as in `packet-size-latency-20261121T134500Z`, or `undated`.
fn stamped(new: &NewRun<'_>) -> String {
    let stamp = |started| timestamp(started).strftime("%Y%m%dT%H%M%SZ").to_string();
    let stamp = new.started.map_or_else(|| UNDATED.to_owned(), stamp);
    format!("{}-{stamp}", new.name)
}

/// A folder that is not a run yet. Removed, unless it becomes one.
struct Hidden<'a> {
    disk: &'a dyn Disk,
    path: PathBuf,
}

impl<'a> Hidden<'a> {
    fn create(disk: &'a dyn Disk, runs: &Path, name: &str) -> Result<Self, StoreError> {
        let path = runs.join(temporary::name(&format!(".{name}")));
        disk.create_dir(&path).map_err(StoreError::at(&path))?;
        Ok(Self { disk, path })
    }

    /// Takes the first name that no run has.
    fn appear(self, runs: &Path, name: &str) -> Result<Folder, StoreError> {
        let mut number = 1;
        loop {
            let name = numbered(name, number);
            number += 1;
            let partial = runs.join(format!("{name}{PARTIAL}"));
            if runs.join(name).exists() || partial.exists() {
                continue;
            }
            match self.disk.rename(&self.path, &partial) {
                Ok(()) => return Ok(Folder(partial)),
                // Another process or thread was faster.
                Err(error) if is_taken(&error) => {}
                Err(error) => return Err(StoreError::at(&partial)(error)),
            }
        }
    }
}

/// The first run of a name has the name alone, the second one ends in `-2`.
fn numbered(name: &str, number: u32) -> String {
    match number {
        1 => name.to_owned(),
        _ => format!("{name}-{number}"),
    }
}

/// File systems say it one way or the other.
fn is_taken(error: &io::Error) -> bool {
    use io::ErrorKind::{AlreadyExists, DirectoryNotEmpty};
    matches!(error.kind(), AlreadyExists | DirectoryNotEmpty)
}

impl Drop for Hidden<'_> {
    fn drop(&mut self) {
        // Once it is a run it has another name and this does nothing.
        let _ = self.disk.remove_dir_all(&self.path);
    }
}

macro_rules! journals {
    ({} $($(#[$doc:meta])* $table:ident $field:ident: $row:ty { $($column:ident)* },)+) => {
        /// A journal for each table beside the records.
        struct Journals {
            $($field: Journal<$row>,)+
        }

        impl Journals {
            fn create(
                disk: &SharedDisk,
                folder: &Folder,
                trial: u32,
                when: Journaling,
            ) -> Result<Self, StoreError> {
                Ok(Self {
                    $($field: Journal::create(disk, folder.journal::<$row>(trial), when)?,)+
                })
            }

            fn reopen(disk: &SharedDisk, folder: &Folder, trial: u32) -> Result<Self, StoreError> {
                Ok(Self {
                    $($field: Journal::reopen(disk, folder.journal::<$row>(trial))?,)+
                })
            }

            fn push(&mut self, rows: Rows<'_>) -> Result<(), StoreError> {
                match rows {
                    $(Rows::$table(rows) => self.$field.push(rows),)+
                }
            }

            fn sync_if_due(&mut self, now: Nanos) -> Result<(), StoreError> {
                $(self.$field.sync_if_due(now)?;)+
                Ok(())
            }

            /// Makes each a part of the run.
            fn write_parts(&mut self, trial: &mut NewTrial) -> Result<(), StoreError> {
                $(part::write(trial, &mut self.$field)?;)+
                Ok(())
            }

            fn remove(&mut self) -> Result<(), StoreError> {
                $(self.$field.remove()?;)+
                Ok(())
            }
        }
    };
}
with_tables!((journals) {});

/// Records one trial. Dropped without [`TrialWriter::finish`], it leaves the trial's rows on disk as
/// those of an interrupted one.
pub struct TrialWriter {
    pub(crate) disk: SharedDisk,
    pub(crate) folder: Folder,
    pub(crate) trial: u32,
    /// Is it noted how it began?
    pub(crate) has_begun: bool,
    /// That encode long tables, at most.
    threads: usize,
    records: Journal<Record>,
    beside: Journals,
}

impl TrialWriter {
    fn create(
        disk: &SharedDisk,
        folder: &Folder,
        trial: u32,
        when: Journaling,
        threads: usize,
    ) -> Result<Self, StoreError> {
        let writer = Self {
            disk: disk.clone(),
            folder: folder.clone(),
            trial,
            has_begun: false,
            threads,
            records: Journal::create(disk, folder.journal::<Record>(trial), when)?,
            beside: Journals::create(disk, folder, trial, when)?,
        };
        if when == Journaling::AsTheyCome {
            durable::sync_folder(&**disk, &folder.0)?;
        }
        Ok(writer)
    }

    /// With what another process left of the trial.
    pub(crate) fn reopen(
        disk: &SharedDisk,
        folder: &Folder,
        trial: u32,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            disk: disk.clone(),
            folder: folder.clone(),
            trial,
            has_begun: true,
            threads: MOST_THREADS,
            records: Journal::reopen(disk, folder.journal::<Record>(trial))?,
            beside: Journals::reopen(disk, folder, trial)?,
        })
    }

    /// Packets, in about the order of their numbers.
    pub fn records(&mut self, records: &[Record]) -> Result<(), StoreError> {
        self.records.push(records)
    }

    /// What comes beside packets: noise in about the order in which it began, hops in about that of packets. Points of
    /// series and transfers of a trial are in memory once, when it ends.
    pub fn rows(&mut self, rows: Rows<'_>) -> Result<(), StoreError> {
        self.beside.push(rows)
    }

    /// Puts on disk what came, if that was last done half a second ago. To be called at least as
    /// often, with the time of any clock that only goes forward.
    pub fn sync_if_due(&mut self, now: Nanos) -> Result<(), StoreError> {
        self.records.sync_if_due(now)?;
        self.beside.sync_if_due(now)
    }

    /// Of one that was taken up: does the file of its packets have more behind a damaged place? It is kept, as
    /// `damaged-trial-7-1.arrow`.
    pub fn is_damaged(&self) -> bool {
        self.records.is_damaged()
    }

    /// Every packet so far, as they came.
    pub fn each_record(&mut self, mut visit: impl FnMut(&[Record])) -> Result<(), StoreError> {
        self.records.each_batch(|records| {
            visit(records);
            Ok(())
        })
    }

    /// Every disturbance so far, in the order in which they began.
    pub fn noise_so_far(&mut self) -> Result<Vec<NoiseEvent>, StoreError> {
        let mut all = Vec::new();
        self.beside.noise.each_batch(|rows| {
            all.append(rows);
            Ok(())
        })?;
        all.sort_by_key(NoiseEvent::key);
        Ok(all)
    }

    /// Makes the trial part of the run: its rows, one for each probe, say what came of it.
    /// `noise_of` says of a record for how long noise held its CPU while it was under way, and who
    /// held it longest.
    pub fn finish(mut self, rows: &[TrialRow], noise_of: &NoiseOf<'_>) -> Result<(), StoreError> {
        // What the journals have is not synced: the parts are, before the journals go.
        let mut trial = NewTrial::new(&self.disk, &self.folder, self.trial, self.threads);
        let mut unanswered = KeptUnanswered::new(rows);
        part::write_records(&mut trial, &mut self.records, &mut unanswered, noise_of)?;
        self.beside.write_parts(&mut trial)?;
        part::write_trial(trial, &unanswered.rows())?;
        durable::sync_folder(&*self.disk, &self.folder.parts())?;
        self.records.remove()?;
        self.beside.remove()?;
        match self.has_begun {
            true => durable::remove(&*self.disk, &self.folder.begun(self.trial)),
            false => Ok(()),
        }
    }
}
