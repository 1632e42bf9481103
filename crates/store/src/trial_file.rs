//! `parts/trial-7.tables`: what a recorded trial left, but for its long tables.
//!
//! A run of thousands of short trials would have a handful of files for each of them, and to make, sync, read and remove a
//! file takes longer than its few rows do. So the tables of few rows are in one file, each as an Arrow IPC stream, which takes
//! a tenth of the time that Parquet takes for a few rows of many columns, and the manifest of the trial is at its end:
//!
//! ```text
//! table | table | … | manifest as JSON | length of the JSON: 8 bytes, little-endian | MAGIC
//! ```
//!
//! A long table has a file of its own, as in `parts/records-7.parquet`. This one is written last: where it is, the trial is
//! recorded. Before there was such a file each table had its own, the manifest was `parts/manifest-7.json`, and the trial was
//! recorded where `parts/trials-7.parquet` was: a run that was begun then is read and resumed, too.

use crate::content;
use crate::digest::FileFacts;
use crate::disk::SharedDisk;
use crate::durable;
use crate::error::{StoreError, arrow, guarded};
use crate::folder::{Folder, MANIFEST, TRIALS};
use crate::manifest::Manifest;
use crate::mismatch::Mismatch;
use crate::parquet_file::{ParquetFile, TRIAL_ROW_GROUP};
use crate::parquet_source::ParquetSource;
use crate::regular;
use crate::table::{Row, every_table};
use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::MetadataVersion;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_schema::{ArrowError, SchemaRef};
use bytes::Bytes;
use delaylab_model::table::TableRow;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Rows of a short table at most: a longer one is encoded as row groups of the run's table are.
const SHORT: u64 = TRIAL_ROW_GROUP as u64 - 1;
/// The last bytes of the file.
const MAGIC: &[u8; 8] = b"DLTRIAL1";
/// Length of what follows the manifest.
const TRAILER: u64 = 16;
/// Bytes of a short table at most: of many columns, it may have some MB.
const MOST_BYTES: u64 = 64 << 20;
/// Bytes of a manifest at most: it has a line or two for each table.
const LONGEST_MANIFEST: u64 = 1 << 20;

/// A trial whose tables are being written. It is recorded once it is put in place.
pub(crate) struct NewTrial {
    disk: SharedDisk,
    folder: Folder,
    trial: u32,
    /// That encode a long table, at most.
    threads: usize,
    manifest: Manifest,
    tables: Vec<u8>,
}

impl NewTrial {
    /// `threads`: that encode a long table, at most.
    pub(crate) fn new(disk: &SharedDisk, folder: &Folder, trial: u32, threads: usize) -> Self {
        Self {
            disk: disk.clone(),
            folder: folder.clone(),
            trial,
            threads,
            manifest: Manifest::new(),
            tables: Vec::new(),
        }
    }

    /// Begins a table with `count` rows of this schema.
    pub(crate) fn begin(
        &self,
        table: &str,
        rows: &SchemaRef,
        count: u64,
    ) -> Result<NewTable, StoreError> {
        let path = self.folder.part(table, self.trial);
        let to = if count <= SHORT {
            let stream = StreamWriter::try_new_with_options(Vec::new(), rows, packed()?);
            To::Memory(Box::new(stream.map_err(arrow(&path))?))
        } else {
            let file = ParquetFile::create_with(&self.disk, &path, rows, self.threads);
            To::File(Box::new(file?))
        };
        let rows = 0;
        Ok(NewTable { path, to, rows })
    }

    /// Ends it.
    pub(crate) fn end(&mut self, table: NewTable) -> Result<(), StoreError> {
        let NewTable { path, to, rows } = table;
        match to {
            To::File(file) => self.manifest.add(&path, file.finish()?),
            To::Memory(stream) => {
                let bytes = stream.into_inner().map_err(arrow(&path))?;
                let facts = FileFacts::of_bytes(&bytes).with_rows(rows);
                self.manifest.add_within(&path, facts);
                self.tables.extend(bytes);
            }
        }
        Ok(())
    }

    /// A whole table.
    pub(crate) fn add(&mut self, table: &str, rows: &RecordBatch) -> Result<(), StoreError> {
        let mut part = self.begin(table, &rows.schema(), rows.num_rows() as u64)?;
        part.write(rows)?;
        self.end(part)
    }

    /// Makes the trial part of the run. The folder of the parts is to be synced after it.
    pub(crate) fn put_in_place(self) -> Result<(), StoreError> {
        let path = self.folder.trial_file(self.trial);
        let manifest = self
            .manifest
            .into_json()
            .map_err(StoreError::table(&path))?;
        let mut all = self.tables;
        all.extend(manifest.as_bytes());
        all.extend((manifest.len() as u64).to_le_bytes());
        all.extend(MAGIC);
        durable::write(&*self.disk, &path, &all)
    }
}

/// A table of a trial that is being written.
pub(crate) struct NewTable {
    path: PathBuf,
    to: To,
    rows: u64,
}

enum To {
    Memory(Box<StreamWriter<Vec<u8>>>),
    File(Box<ParquetFile>),
}

impl NewTable {
    /// The file that it has, or would have if it were long.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn write(&mut self, rows: &RecordBatch) -> Result<(), StoreError> {
        self.rows += rows.num_rows() as u64;
        match &mut self.to {
            To::File(file) => file.write(rows),
            To::Memory(stream) => stream.write(rows).map_err(arrow(&self.path)),
        }
    }
}

/// What is between the columns of a stream takes little room.
fn packed() -> Result<IpcWriteOptions, StoreError> {
    let options = IpcWriteOptions::try_new(8, false, MetadataVersion::V5);
    options.map_err(arrow(Path::new("parts")))
}

/// A table of a recorded trial.
pub(crate) enum TrialTable {
    /// As it is in the trial's file.
    Short(Vec<RecordBatch>),
    /// Its own file.
    Long(ParquetSource),
}

impl TrialTable {
    /// Its batches, with stamps as times.
    pub(crate) fn each_batch(
        &self,
        mut take: impl FnMut(&RecordBatch) -> Result<(), StoreError>,
        path: &Path,
    ) -> Result<(), StoreError> {
        match self {
            Self::Short(batches) => batches.iter().try_for_each(take),
            Self::Long(source) => source.each_batch(path, |batch| take(&batch)),
        }
    }
}

/// What a recorded trial left.
#[derive(Debug, Clone)]
pub(crate) struct RecordedTrial {
    folder: Folder,
    trial: u32,
    /// `None` of an older version, which did not say what files hold.
    manifest: Option<Manifest>,
}

impl RecordedTrial {
    /// Reads which tables it left. What is in them may be something else by now.
    pub(crate) fn open(folder: &Folder, trial: u32) -> Result<Self, Mismatch> {
        let path = folder.trial_file(trial);
        let manifest = match regular::open(&path) {
            Ok(file) => {
                let read = read_manifest(&file, trial);
                Some(read.map_err(|why| in_parts(&path, why))?)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => older_manifest(folder, trial)?,
            Err(error) => return Err(in_parts(&path, error.to_string())),
        };
        Ok(Self {
            folder: folder.clone(),
            trial,
            manifest,
        })
    }

    /// The same, with a look at all that it left.
    ///
    /// # Errors
    /// It is not what was recorded.
    pub(crate) fn open_checked(folder: &Folder, trial: u32) -> Result<Self, Mismatch> {
        let recorded = Self::open(folder, trial)?;
        recorded.check()?;
        Ok(recorded)
    }

    fn check(&self) -> Result<(), Mismatch> {
        let Some(manifest) = &self.manifest else {
            return Ok(());
        };
        let parts = self.folder.parts();
        let own = (manifest.files.keys()).filter(|name| !manifest.within.contains(name));
        let wrong = own
            .filter_map(|name| manifest.mismatch(&parts, name))
            .next();
        if let Some(Mismatch { file, why }) = wrong {
            return Err(in_parts(Path::new(&file), why));
        }
        match manifest.within.is_empty() {
            true => Ok(()),
            false => self.check_file(manifest),
        }
    }

    /// Is the file of its few rows what was recorded?
    fn check_file(&self, manifest: &Manifest) -> Result<(), Mismatch> {
        let path = self.folder.trial_file(self.trial);
        let as_recorded = regular::open(&path)
            .and_then(|file| FileFacts::known_or(&file, || check_within(&file, manifest)))
            .and_then(|facts| match facts.sha256 == manifest.digest() {
                true => Ok(()),
                false => Err(io::Error::other(
                    "its content has changed since it was read",
                )),
            });
        as_recorded.map_err(|error| in_parts(&path, error.to_string()))
    }

    /// What its tables hold; `None` of an older version.
    pub(crate) fn manifest(&self) -> Option<&Manifest> {
        self.manifest.as_ref()
    }

    /// Did the same come of it?
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let [own, others] = [self, other].map(|trial| trial.manifest().map(|it| &it.files));
        own == others
    }

    /// Where one of its tables is.
    pub(crate) fn path(&self, table: &str) -> PathBuf {
        match self.short(table) {
            Some(short) => short.path,
            None => self.folder.part(table, self.trial),
        }
    }

    /// One of its tables; `None` where it has no rows.
    pub(crate) fn source(
        &self,
        table: &str,
        known: &SchemaRef,
    ) -> Result<Option<TrialTable>, StoreError> {
        match self.short(table) {
            Some(short) => Ok(Some(TrialTable::Short(short.read()?))),
            None => Ok(self.own_file(table, known)?.map(TrialTable::Long)),
        }
    }

    /// One of its tables that is not a short one; `None` where it has no rows.
    pub(crate) fn own_file(
        &self,
        table: &str,
        known: &SchemaRef,
    ) -> Result<Option<ParquetSource>, StoreError> {
        if !self.has(table) {
            return Ok(None);
        }
        let path = self.folder.part(table, self.trial);
        let source = ParquetSource::open(&path, known);
        source.map(Some).map_err(StoreError::parquet(&path))
    }

    /// Does it have rows of this table?
    pub(crate) fn has(&self, table: &str) -> bool {
        match &self.manifest {
            Some(manifest) => manifest.files.contains_key(&file_name(table, self.trial)),
            // One that must be there and is not is an error of who reads it.
            None => !is_optional(table) || regular::exists(&self.folder.part(table, self.trial)),
        }
    }

    /// What the file of a long table holds, which is encoded as the table of a run is.
    pub(crate) fn long(&self, table: &str) -> Option<&FileFacts> {
        let name = file_name(table, self.trial);
        let facts = self.manifest.as_ref()?.files.get(&name)?;
        (facts.rows? > SHORT && self.short(table).is_none()).then_some(facts)
    }

    /// One of its short tables, which is not read yet.
    pub(crate) fn short(&self, table: &str) -> Option<ShortTable> {
        let name = file_name(table, self.trial);
        let manifest = self.manifest.as_ref()?;
        let (_, place) = places(manifest).find(|(found, _)| **found == name)?;
        Some(ShortTable {
            path: self.folder.trial_file(self.trial),
            place,
            rows: manifest.files.get(&name)?.rows.unwrap_or(0),
        })
    }

    /// Every file of it in the order in which they are to be put in place, by names of ours: a manifest may be anybody's.
    pub(crate) fn files(&self, tables: &[&str]) -> Vec<PathBuf> {
        let own = tables.iter().filter(|table| self.has(table));
        let own = own.filter(|table| self.short(table).is_none());
        let mut files: Vec<PathBuf> = own
            .map(|table| self.folder.part(table, self.trial))
            .collect();
        files.extend(self.last_files());
        files
    }

    /// Those that make it a recorded trial.
    fn last_files(&self) -> Vec<PathBuf> {
        let file = self.folder.trial_file(self.trial);
        match regular::exists(&file) {
            true => vec![file],
            false => vec![
                self.folder.part_manifest(self.trial),
                self.folder.part(TRIALS, self.trial),
            ],
        }
    }
}

/// A short table in the file of its trial.
#[derive(Debug, Clone)]
pub(crate) struct ShortTable {
    /// The file.
    pub(crate) path: PathBuf,
    place: Range<u64>,
    /// How many rows it has.
    pub(crate) rows: u64,
}

impl ShortTable {
    pub(crate) fn read(&self) -> Result<Vec<RecordBatch>, StoreError> {
        let path = &self.path;
        let file = regular::open(path).map_err(StoreError::at(path))?;
        let bytes = content::piece(&file, self.place.clone()).map_err(StoreError::at(path))?;
        let batches = guarded(|| read_stream(bytes, self.rows), ArrowError::IpcError);
        batches.map_err(arrow(path))
    }
}

/// The batches of a stream with so many rows, which holds whole ones only. A batch says itself how many it has: without a column
/// it could say anything.
fn read_stream(bytes: Bytes, rows: u64) -> Result<Vec<RecordBatch>, ArrowError> {
    let mut bytes = Buffer::from(bytes);
    let mut decoder = StreamDecoder::new();
    let mut batches = Vec::new();
    let mut found = 0_u64;
    while !bytes.is_empty() {
        let Some(batch) = decoder.decode(&mut bytes)? else {
            continue;
        };
        found = found.saturating_add(batch.num_rows() as u64);
        if found > rows || batch.num_columns() == 0 {
            let why = format!("a table of {rows} rows has more, or no column");
            return Err(ArrowError::IpcError(why));
        }
        batches.push(batch);
    }
    if found != rows {
        let why = format!("a table has {found} rows of {rows} that were recorded");
        return Err(ArrowError::IpcError(why));
    }
    decoder.finish()?;
    Ok(batches)
}

/// Is there nothing of a table where it has no rows?
fn is_optional(table: &str) -> bool {
    let known = every_table!(R => (R::TABLE, R::IS_OPTIONAL));
    known.contains(&(table, true))
}

/// Fails where a manifest lists what no trial has: it may be anybody's.
fn check_names(manifest: &Manifest, trial: u32) -> Result<(), String> {
    let tables = every_table!(R => R::TABLE);
    let names = tables
        .into_iter()
        .chain([TRIALS])
        .map(|table| file_name(table, trial));
    let names: BTreeSet<String> = names.collect();
    if let Some(other) = manifest.files.keys().find(|name| !names.contains(*name)) {
        return Err(format!("lists {other:?}, which is no table of this trial"));
    }
    let within: BTreeSet<&String> = manifest.within.iter().collect();
    let is_short = |name: &&String| {
        let facts = manifest.files.get(*name);
        facts.is_some_and(|facts| facts.rows <= Some(SHORT) && facts.bytes <= MOST_BYTES)
    };
    let is_whole = manifest.files.contains_key(&file_name(TRIALS, trial));
    match is_whole && within.len() == manifest.within.len() && within.iter().all(is_short) {
        true => Ok(()),
        false => Err("lists tables as no trial has them".to_owned()),
    }
}

/// A mismatch of a file in the folder of the parts.
fn in_parts(file: &Path, why: String) -> Mismatch {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    Mismatch {
        file: format!("parts/{name}"),
        why,
    }
}

/// What a table of a trial is called.
fn file_name(table: &str, trial: u32) -> String {
    format!("{table}-{trial}.parquet")
}

/// The tables in a trial's file, and where each is.
fn places(manifest: &Manifest) -> impl Iterator<Item = (&String, Range<u64>)> {
    let mut from = 0_u64;
    manifest.within.iter().map(move |name| {
        let bytes = manifest.files.get(name).map_or(0, |facts| facts.bytes);
        let to = from.saturating_add(bytes);
        let place = from..to;
        from = to;
        (name, place)
    })
}

fn read_manifest(file: &File, trial: u32) -> Result<Manifest, String> {
    let place = place_of_manifest(file)?;
    let from = place.start;
    let json = content::piece(file, place).map_err(|error| error.to_string())?;
    let json = str::from_utf8(&json).map_err(|error| error.to_string())?;
    let manifest = Manifest::from_json(json)?;
    check_names(&manifest, trial)?;
    match places(&manifest).last().map_or(0, |(_, place)| place.end) == from {
        true => Ok(manifest),
        false => Err("has other tables than its manifest lists".to_owned()),
    }
}

/// Where the manifest stands, as the end of the file says.
fn place_of_manifest(file: &File) -> Result<Range<u64>, String> {
    let cut_short = || "ends before its manifest does".to_owned();
    let length = file.metadata().map_err(|error| error.to_string())?.len();
    let at = length.checked_sub(TRAILER).ok_or_else(cut_short)?;
    let trailer = content::piece(file, at..length).map_err(|error| error.to_string())?;
    let (json_length, magic) = trailer.split_at(8);
    if magic != MAGIC {
        return Err("does not end as such a file does".to_owned());
    }
    let json_length = u64::from_le_bytes(json_length.try_into().unwrap_or_default());
    let from = at.checked_sub(json_length);
    let from = from.filter(|_| json_length <= LONGEST_MANIFEST);
    Ok(from.ok_or_else(cut_short)?..at)
}

/// The facts by which it is known again, where its tables are what was recorded.
fn check_within(file: &File, manifest: &Manifest) -> io::Result<FileFacts> {
    for (name, place) in places(manifest) {
        let bytes = content::piece(file, place)?;
        let (recorded, found) = (manifest.files.get(name), FileFacts::of_bytes(&bytes));
        if !recorded.is_some_and(|recorded| found.is_same(recorded)) {
            let why = format!("{name} in it has changed since it was recorded (SHA-256)");
            return Err(io::Error::other(why));
        }
    }
    Ok(FileFacts {
        bytes: 0,
        sha256: manifest.digest().to_owned(),
        rows: None,
    })
}

/// Of a version that had a file for it. A run that has a manifest of its own has one for each trial: after a power cut, the
/// last name that a trial got may be there without the others.
fn older_manifest(folder: &Folder, trial: u32) -> Result<Option<Manifest>, Mismatch> {
    let path = folder.part_manifest(trial);
    let manifest = Manifest::read(&path).and_then(|manifest| {
        (manifest.iter()).try_for_each(|manifest| check_names(manifest, trial))?;
        Ok(manifest)
    });
    let manifest = manifest.map_err(|why| in_parts(&path, why))?;
    if manifest.is_some() || !regular::exists(&folder.file(MANIFEST)) {
        return Ok(manifest);
    }
    let lost = match regular::exists(&folder.part(TRIALS, trial)) {
        true => path,
        false => folder.trial_file(trial),
    };
    Err(in_parts(&lost, "missing".to_owned()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::disk::RealDisk;
    use crate::table;
    use arrow_array::RecordBatchOptions;
    use arrow_schema::Schema;
    use delaylab_model::method::Method;
    use delaylab_model::record::Record;
    use std::fs;
    use std::sync::Arc;

    fn rows(count: u64) -> RecordBatch {
        let rows: Vec<Record> = (0..count)
            .map(|seq| Record::due(7, 0, seq, Method::Udp, 1_000))
            .collect();
        table::batch(&table::schema::<Record>(), &rows).unwrap()
    }

    fn recorded(run: &Path, tables: &[(&str, u64)]) -> Folder {
        let folder = Folder(run.to_owned());
        fs::create_dir(folder.parts()).unwrap();
        let mut trial = NewTrial::new(&RealDisk::shared(), &folder, 7, 1);
        for (table, count) in tables.iter().chain(&[(TRIALS, 1)]) {
            trial.add(table, &rows(*count)).unwrap();
        }
        assert!(!folder.is_recorded(7));
        trial.put_in_place().unwrap();
        folder
    }

    fn rows_of(trial: &RecordedTrial, table: &str) -> u64 {
        let found = trial.source(table, &table::schema::<Record>()).unwrap();
        let mut rows = 0;
        let count = |batch: &RecordBatch| {
            rows += batch.num_rows() as u64;
            Ok(())
        };
        if let Some(table) = found {
            table.each_batch(count, Path::new("it")).unwrap();
        }
        rows
    }

    #[test]
    fn short_tables_are_in_one_file_and_long_ones_in_their_own() {
        let run = tempfile::tempdir().unwrap();
        let tables = [
            ("noise", 3),
            ("hops", 0),
            ("records", 20_000),
            ("series", SHORT),
        ];
        let folder = recorded(run.path(), &tables);
        assert_eq!(fs::read_dir(folder.parts()).unwrap().count(), 2);
        let trial = RecordedTrial::open_checked(&folder, 7).unwrap();
        for (table, count) in tables.into_iter().chain([("transfers", 0)]) {
            assert_eq!(rows_of(&trial, table), count, "{table}");
        }
        let files = trial.files(&["series", "records", "transfers", "noise"]);
        assert_eq!(files, [folder.part("records", 7), folder.trial_file(7)]);
        assert!(trial.long("records").is_some() && trial.long("series").is_none());
    }

    /// A file may be anybody's: what it says of itself takes no memory and leads nowhere.
    #[test]
    fn what_no_trial_has_is_refused() {
        let run = tempfile::tempdir().unwrap();
        let folder = recorded(run.path(), &[("records", 2)]);
        let path = folder.trial_file(7);
        let bytes = fs::read(&path).unwrap();
        let whole = RecordedTrial::open(&folder, 7).unwrap().manifest.unwrap();
        let write = |change: &dyn Fn(&mut Manifest)| {
            let mut manifest = whole.clone();
            change(&mut manifest);
            let end = places(&whole).last().unwrap().1.end;
            let mut all = bytes[..end as usize].to_vec();
            let json = manifest.into_json().unwrap();
            all.extend(json.as_bytes());
            all.extend((json.len() as u64).to_le_bytes());
            all.extend(MAGIC);
            fs::write(&path, all).unwrap();
            RecordedTrial::open(&folder, 7)
        };
        assert!(write(&|_| ()).is_ok());
        let elsewhere = FileFacts::of_bytes(b"");
        for change in [
            &|it: &mut Manifest| {
                drop(
                    it.files
                        .insert("../../secret".to_owned(), elsewhere.clone()),
                )
            },
            &|it: &mut Manifest| it.within.push("records-7.parquet".to_owned()),
            &|it: &mut Manifest| {
                it.files.get_mut("records-7.parquet").unwrap().rows = Some(u64::MAX)
            },
            &|it: &mut Manifest| {
                it.files.remove("trials-7.parquet");
                it.within.pop();
            },
        ] as [&dyn Fn(&mut Manifest); 4]
        {
            assert!(write(change).is_err());
        }
        let more =
            |it: &mut Manifest| it.files.get_mut("records-7.parquet").unwrap().rows = Some(3);
        let trial = write(&more).unwrap();
        assert!(trial.source("records", &table::schema::<Record>()).is_err());
    }

    /// A batch without a column has as many rows as it says.
    #[test]
    fn rows_that_are_nowhere_are_refused() {
        let schema = Arc::new(Schema::empty());
        let options = RecordBatchOptions::new().with_row_count(Some(1 << 40));
        let batch = RecordBatch::try_new_with_options(schema.clone(), vec![], &options).unwrap();
        let mut stream = StreamWriter::try_new(Vec::new(), &schema).unwrap();
        stream.write(&batch).unwrap();
        let bytes = Bytes::from(stream.into_inner().unwrap());
        assert!(read_stream(bytes.clone(), 1 << 40).is_err());
        assert!(read_stream(bytes, 2).is_err());
    }

    /// Of a file that was changed anywhere nothing is taken for what was recorded.
    #[test]
    fn every_bit_of_it_matters() {
        let run = tempfile::tempdir().unwrap();
        let folder = recorded(run.path(), &[(Record::TABLE, 2)]);
        let path = folder.trial_file(7);
        let bytes = fs::read(&path).unwrap();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << (at % 8);
            fs::write(&path, &changed).unwrap();
            match RecordedTrial::open_checked(&folder, 7) {
                Err(mismatch) => assert_eq!(mismatch.file, "parts/trial-7.tables"),
                // White space of the JSON.
                Ok(trial) => assert_eq!(rows_of(&trial, Record::TABLE), 2, "{at}"),
            }
            fs::write(&path, &bytes[..at]).unwrap();
            assert!(RecordedTrial::open_checked(&folder, 7).is_err(), "{at}");
        }
    }
}
