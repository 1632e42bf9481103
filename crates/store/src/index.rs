//! The index of runs: what `list` shows, without opening every run.
//!
//! It is worked out from the folders and kept in SQLite beside them. It is never the only copy of
//! anything: it may be deleted at any time, and mends itself. What was wrong with a run is looked at each time: to restore a
//! file in its place changes no folder.

use crate::folder::{
    ENVIRONMENT, EXPERIMENT, FINDINGS, Folder, PARTIAL, TRIALS, in_order, is_partial,
};
use crate::lock::Lock;
use crate::manifest::{self, Manifest};
use crate::mismatch::Mismatch;
use crate::overview::Overview;
use crate::regular::MAY_NOT_READ;
use crate::run::{OpenError, Run, State};
use crate::table::Row as _;
use delaylab_model::record::Record;
use delaylab_model::words::{each_once, plural};
use rusqlite::{Connection, ErrorCode, OptionalExtension, Row, params};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What the index is called, in the folder of the runs.
const FILE: &str = ".index.sqlite";
/// Changes with the table below, and with what an overview says.
const VERSION: i64 = 10;
/// Files of the same time may have come one after the other: file systems tell times to two seconds, or better.
const RESOLUTION: Duration = Duration::from_secs(2);
/// When a run had changed of which more may come at that same time.
const UNSETTLED: i64 = i64::MIN;
/// A row a run.
const TABLE: &str = "CREATE TABLE IF NOT EXISTS runs (
    folder TEXT PRIMARY KEY, name TEXT, world TEXT, started_utc TEXT, partial TEXT,
    trials INTEGER NOT NULL, records INTEGER NOT NULL, damage TEXT, overview TEXT NOT NULL,
    changed INTEGER NOT NULL)";
/// What [`entry_of_row`] reads.
const SELECT: &str =
    "SELECT folder, name, world, started_utc, partial, trials, records, damage, overview";

/// What the index knows of a run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Entry {
    /// Its folder's name.
    pub folder: String,
    /// The experiment's name.
    pub name: Option<String>,
    /// The world that carried it out.
    pub world: Option<String>,
    /// When it began, as in `2026-11-21T13:45:00Z`.
    pub started_utc: Option<String>,
    /// What it waits for; `None` where it came to its end.
    pub partial: Option<Partial>,
    /// How many trials are recorded.
    pub trials: u64,
    /// How many records they have: without those of trials that are under way, or were interrupted.
    pub records: u64,
    /// The first file that is not what was recorded, how, and how many more are not, where that was seen: tables are not read for
    /// this.
    pub damage: Option<String>,
    /// What came of it.
    pub overview: Overview,
}

/// Why a run is not complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Partial {
    /// A process writes it.
    InProgress,
    /// No process writes it any more: `delaylab resume` continues it.
    Interrupted,
    /// A share of a run's trials, all of them recorded: `delaylab merge` takes it.
    Shard,
}

impl Partial {
    delaylab_model::named! {
        InProgress "in_progress";
        Interrupted "interrupted";
        Shard "shard";
    }

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|partial| partial.name() == name)
    }

    fn of_run(run: &Run) -> Option<Self> {
        match run.state() {
            State::Complete => None,
            State::Partial if !Lock::is_free(run.folder()) => Some(Self::InProgress),
            State::Partial if run.is_whole_shard() => Some(Self::Shard),
            State::Partial => Some(Self::Interrupted),
        }
    }
}

impl Entry {
    /// Did it come to its end?
    pub fn state(&self) -> State {
        match self.partial {
            None => State::Complete,
            Some(_) => State::Partial,
        }
    }

    /// May this user not read a file of it? Then it is not known whether it is what was recorded.
    pub fn is_denied(&self) -> bool {
        let damage = self.damage.as_deref();
        damage.is_some_and(|damage| damage.ends_with(MAY_NOT_READ))
    }

    /// The least is the oldest.
    fn age(&self) -> impl Ord + '_ {
        (self.started_utc.as_deref(), in_order(&self.folder))
    }
}

/// The index of a folder of runs.
#[derive(Debug)]
pub struct Index {
    runs: PathBuf,
    database: Connection,
}

/// Why there is no index.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The folder of the runs cannot be read.
    #[error("{}: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// As the system says it.
        source: std::io::Error,
    },
    /// SQLite says so.
    #[error("the index of runs: {0}")]
    Database(#[from] rusqlite::Error),
}

impl Index {
    /// Opens the index of this folder and brings it up to date. A broken one is made anew; where none
    /// can be written, it is kept in memory.
    pub fn open(runs: &Path) -> Result<Self, IndexError> {
        let path = runs.join(FILE);
        let on_disk = || Self::in_database(runs, usable(&path));
        let mut opened = on_disk();
        if matches!(&opened, Err(IndexError::Database(error)) if is_no_index(error)) {
            let _ = fs::remove_file(&path); // whatever it was
            opened = on_disk();
        }
        match opened {
            Err(IndexError::Database(_)) => {
                Self::in_database(runs, Connection::open_in_memory().and_then(with_table))
            }
            done => done,
        }
    }

    fn in_database(
        runs: &Path,
        database: Result<Connection, rusqlite::Error>,
    ) -> Result<Self, IndexError> {
        let mut index = Self {
            runs: runs.to_owned(),
            database: database?,
        };
        index.refresh()?;
        Ok(index)
    }

    /// The same once more, brought up to date: without a place on disk to be kept in, it would have to read all runs anew.
    ///
    /// # Errors
    /// As of [`Index::open`].
    pub fn again(mut self) -> Result<Self, IndexError> {
        match self.refresh() {
            Ok(()) => Ok(self),
            Err(_) => Self::open(&self.runs),
        }
    }

    /// Every run, the oldest first.
    pub fn list(&self) -> Result<Vec<Entry>, IndexError> {
        let mut query = self.database.prepare(&format!("{SELECT} FROM runs"))?;
        let entries = query.query_map([], entry_of_row)?;
        let mut entries: Vec<Entry> = entries.collect::<Result<_, _>>()?;
        entries.sort_by(|one, other| one.age().cmp(&other.age()));
        Ok(entries)
    }

    /// Looks at the folders that are new or have changed, and forgets those that are gone.
    fn refresh(&mut self) -> Result<(), IndexError> {
        let found = folders(&self.runs).map_err(|source| IndexError::Folder {
            path: self.runs.clone(),
            source,
        })?;
        let known = self.known()?;
        let mut news = Vec::new();
        for (folder, &changed) in &found {
            let known = known.get(folder);
            if !known.is_some_and(|known| known.is_as(&self.runs.join(folder), changed)) {
                let looked_at = match folder.ends_with(PARTIAL) {
                    true => settled(changed, SystemTime::now()),
                    false => changed,
                };
                let entry = look_at(&self.runs, folder).map(|entry| (entry, looked_at));
                // To write what is known would keep the disk of its journals busy.
                if self.entry(folder)? != entry {
                    news.push((folder, entry));
                }
            }
        }
        let change = self.database.transaction()?;
        for folder in known.keys().filter(|folder| !found.contains_key(*folder)) {
            forget(&change, folder)?;
        }
        for (folder, entry) in news {
            match entry {
                Some((entry, changed)) => put(&change, folder, &entry, changed)?,
                None => forget(&change, folder)?,
            }
        }
        change.commit()?;
        Ok(())
    }

    /// What is known of this run, and when it had changed then.
    fn entry(&self, folder: &str) -> Result<Option<(Entry, i64)>, rusqlite::Error> {
        let query = format!("{SELECT}, changed FROM runs WHERE folder = ?");
        let row = |row: &Row<'_>| Ok((entry_of_row(row)?, row.get(9)?));
        self.database.query_row(&query, [folder], row).optional()
    }

    /// How each run was when it was looked at.
    fn known(&self) -> Result<BTreeMap<String, Known>, rusqlite::Error> {
        let query = "SELECT folder, changed, partial, damage IS NOT NULL FROM runs";
        let mut query = self.database.prepare(query)?;
        let rows = query.query_map([], |row| {
            let partial: Option<String> = row.get(2)?;
            let known = Known {
                changed: row.get(1)?,
                partial: partial.as_deref().and_then(Partial::from_name),
                is_damaged: row.get(3)?,
            };
            Ok((row.get(0)?, known))
        })?;
        rows.collect()
    }
}

/// How a run was when it was looked at.
struct Known {
    /// When it had changed last.
    changed: i64,
    partial: Option<Partial>,
    is_damaged: bool,
}

impl Known {
    /// Is the run in this folder, which has changed then, the same still? What its trials under way have so far is no part
    /// of its entry, and reading it would disturb those that measure on this host. That a process takes it up, or ends,
    /// changes no file. What could not be read once may be readable now.
    fn is_as(&self, folder: &Path, changed: i64) -> bool {
        let is_partial = folder.to_string_lossy().ends_with(PARTIAL);
        let was_written = self.partial == Some(Partial::InProgress);
        self.changed == changed
            && !self.is_damaged
            && (!is_partial || was_written != Lock::is_free(folder))
    }
}

/// When a run had changed last that is looked at `now`; [`UNSETTLED`] where a change that comes later may have the same time.
fn settled(changed: i64, now: SystemTime) -> i64 {
    match changed < nanos(now - RESOLUTION) {
        true => changed,
        false => UNSETTLED,
    }
}

/// Brings the index up to date after a run.
pub(crate) fn refresh(runs: &Path) -> Result<(), String> {
    let index = Index::open(runs);
    index.map(drop).map_err(|error| error.to_string())
}

/// Is the file another one, of another version, or broken? What cannot be written or read for now may be whole.
fn is_no_index(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{
        FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, InvalidQuery,
    };
    match error {
        InvalidQuery
        | InvalidColumnType(..)
        | FromSqlConversionFailure(..)
        | IntegralValueOutOfRange(..) => true,
        _ => matches!(
            error.sqlite_error_code(),
            // Of the last: no such table or column.
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown)
        ),
    }
}

fn usable(path: &Path) -> Result<Connection, rusqlite::Error> {
    let database = Connection::open(path)?;
    let version: i64 = database.pragma_query_value(None, "user_version", |row| row.get(0))?;
    match version {
        VERSION => {
            // Looks at every page: a torn file shows here, not in the middle of a list. What is wrong is its answer.
            let found = database.query_row("PRAGMA quick_check(1)", [], |row| row.get(0));
            let is_whole = found.map(|found: String| found == "ok")?;
            database.query_row("SELECT count(*) FROM runs", [], |_| Ok(()))?;
            is_whole
                .then_some(database)
                .ok_or(rusqlite::Error::InvalidQuery)
        }
        0 => with_table(database),
        _ => Err(rusqlite::Error::InvalidQuery),
    }
}

fn with_table(database: Connection) -> Result<Connection, rusqlite::Error> {
    database.execute_batch(&format!(
        "BEGIN IMMEDIATE; {TABLE}; PRAGMA user_version = {VERSION}; COMMIT"
    ))?;
    Ok(database)
}

fn entry_of_row(row: &Row<'_>) -> Result<Entry, rusqlite::Error> {
    let partial: Option<String> = row.get(4)?;
    Ok(Entry {
        folder: row.get(0)?,
        name: row.get(1)?,
        world: row.get(2)?,
        started_utc: row.get(3)?,
        partial: partial.as_deref().and_then(Partial::from_name),
        trials: row.get::<_, i64>(5)?.unsigned_abs(),
        records: row.get::<_, i64>(6)?.unsigned_abs(),
        damage: row.get(7)?,
        overview: serde_json::from_str(&row.get::<_, String>(8)?).unwrap_or_default(),
    })
}

/// A folder that is no run, or is gone by now, has no entry.
fn forget(database: &Connection, folder: &str) -> Result<(), rusqlite::Error> {
    database.execute("DELETE FROM runs WHERE folder = ?", [folder])?;
    Ok(())
}

/// Writes what is new of a run.
fn put(
    database: &Connection,
    folder: &str,
    entry: &Entry,
    changed: i64,
) -> Result<(), rusqlite::Error> {
    database.execute(
        "INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        params![
            folder,
            entry.name,
            entry.world,
            entry.started_utc,
            entry.partial.map(Partial::name),
            entry.trials as i64,
            entry.records as i64,
            entry.damage,
            serde_json::to_string(&entry.overview).unwrap_or_default(),
            changed,
        ],
    )?;
    Ok(())
}

/// What there is to know of a run without reading its records.
fn look_at(runs: &Path, name: &str) -> Option<Entry> {
    let folder = Folder(runs.join(name));
    let entry = |damage| Entry {
        folder: name.to_owned(),
        name: None,
        world: None,
        started_utc: None,
        partial: None,
        trials: 0,
        records: 0,
        damage,
        overview: Overview::default(),
    };
    if name.ends_with(PARTIAL) {
        return of_run(&folder, entry(None));
    }
    let listed = match manifest::of_run(&folder) {
        Ok(None) => return of_run(&folder, entry(None)),
        Ok(Some(listed)) => listed,
        Err(mismatch) => return Some(entry(Some(mismatch.to_string()))),
    };
    let wrong = wrong_at_a_glance(&folder, &listed);
    // Without what says where it ran, its name and its counts are not known either.
    if wrong.first().is_some_and(|first| first.file == ENVIRONMENT) {
        return Some(entry(named(&wrong)));
    }
    let run = Run::open_as_it_is(&folder.0).ok();
    let run = run.as_ref();
    let damage = named(&wrong).or_else(|| named(&run?.mismatches()));
    let packets = listed.files.get(&format!("{}.parquet", Record::TABLE));
    Some(Entry {
        name: run.and_then(Run::name).map(str::to_owned),
        world: run.and_then(Run::world).map(str::to_owned),
        started_utc: run.and_then(Run::started_utc).map(str::to_owned),
        trials: listed.trials.unwrap_or(0),
        records: packets.and_then(|packets| packets.rows).unwrap_or(0),
        // Verdicts, losses and delays are shown only of files that are as they were recorded.
        overview: run
            .filter(|_| damage.is_none())
            .map(Overview::new)
            .unwrap_or_default(),
        ..entry(damage)
    })
}

/// What is wrong with the files that are read for this, and with the others as far as their names and lengths tell. That which says
/// where the run ran comes first.
fn wrong_at_a_glance(folder: &Folder, listed: &Manifest) -> Vec<Mismatch> {
    let trials = format!("{TRIALS}.parquet");
    let read = [ENVIRONMENT, EXPERIMENT, FINDINGS, &trials];
    let read = read
        .iter()
        .filter_map(|name| listed.mismatch(&folder.0, name));
    let lengths = listed.mismatches_in_length(&folder.0);
    let wrong = read.chain(lengths).chain(listed.strangers(folder));
    wrong.collect()
}

/// The first of these files with what is wrong with it, and how many more are damaged. One that this user may not read is named alone: whether
/// it is damaged is not known.
fn named(wrong: &[Mismatch]) -> Option<String> {
    let first = wrong.first()?;
    let others = wrong
        .iter()
        .filter(|other| other.file != first.file && !other.is_denied());
    let others = each_once(others.map(|other| other.file.as_str())).len();
    match others {
        more if more > 0 && !first.is_denied() => {
            Some(format!("{first}; and {}", plural(more as u64, "more file")))
        }
        _ => Some(first.to_string()),
    }
}

/// The same of a run without a manifest, or in progress.
fn of_run(folder: &Folder, entry: Entry) -> Option<Entry> {
    let run = match Run::open_for_list(&folder.0) {
        Ok(run) => run,
        Err(error) => return of_denied(folder, &error, entry),
    };
    let said = |text: Option<&str>| text.map(str::to_owned);
    Some(Entry {
        name: said(run.name()),
        world: said(run.world()),
        started_utc: said(run.started_utc()),
        partial: Partial::of_run(&run),
        trials: run.trial_count() as u64,
        records: run.recorded_count(),
        damage: named(&run.mismatches()).filter(|_| run.state() == State::Complete),
        overview: Overview::new(&run),
        ..entry
    })
}

/// The same of a run in progress that this user may not look into.
fn of_denied(folder: &Folder, error: &OpenError, entry: Entry) -> Option<Entry> {
    let is_run = is_partial(&folder.0) && error.is_denied();
    is_run.then(|| Entry {
        partial: Some(match Lock::is_free(&folder.0) {
            true => Partial::Interrupted,
            false => Partial::InProgress,
        }),
        damage: Some(format!("{EXPERIMENT}: {MAY_NOT_READ}")),
        ..entry
    })
}

/// Every folder in there that may be a run, and when it changed last.
fn folders(runs: &Path) -> std::io::Result<BTreeMap<String, i64>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(runs)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() && !name.starts_with('.') {
            found.insert(name, changed(&Folder(entry.path())));
        }
    }
    Ok(found)
}

/// When the last file came or went.
fn changed(folder: &Folder) -> i64 {
    let time = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
    let last = time(&folder.0).unwrap_or(UNIX_EPOCH);
    nanos(time(&folder.parts()).map_or(last, |parts| parts.max(last)))
}

/// A clock may be set to a time before 1970, too.
fn nanos(time: SystemTime) -> i64 {
    let nanos = |span: Duration| i64::try_from(span.as_nanos()).unwrap_or(i64::MAX);
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => nanos(since),
        Err(before) => -nanos(before.duration()),
    }
}
