//! The end of a run: the parts of its trials become its tables.

use crate::all_columns::AllColumns;
use crate::digest::{FileFacts, Hashing};
use crate::disk::{DiskFile, SharedDisk};
use crate::durable;
use crate::error::{StoreError, arrow};
use crate::folder::{ENVIRONMENT, EXPERIMENT, FINDINGS, Folder, MANIFEST, TRIALS};
use crate::in_order::in_order;
use crate::interrupted;
use crate::journal::JournalReader;
use crate::manifest::{self, Manifest};
use crate::mismatch::Mismatch;
use crate::parquet_file::{self, ParquetFile};
use crate::parquet_source::ParquetSource;
use crate::part;
use crate::regular;
use crate::table::{self, Row, every_table};
use crate::trial_row::{self, TrialRow};
use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::SchemaRef;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Bytes of a part at most that is read as a whole, before its turn comes.
const SMALL_PART: u64 = 1 << 18;

/// Joins the parts, writes the manifest and the findings, removes the parts. It can be stopped anywhere and done again.
pub(crate) fn join(disk: &SharedDisk, folder: &Folder, findings: &Value) -> Result<(), StoreError> {
    let known = manifest::of_run(folder).map_err(StoreError::changed(&folder.0))?;
    let mut all = known.unwrap_or_else(Manifest::new);
    for text in [EXPERIMENT, ENVIRONMENT] {
        let changed = all.mismatch(&folder.0, text);
        changed.map_or(Ok(()), |it| Err(StoreError::changed(&folder.0)(it)))?;
    }
    if !regular::exists(&folder.file(FINDINGS)) {
        tables(disk, folder, &mut all)?;
        durable::sync_folder(&**disk, &folder.0)?;
    }
    let findings = format!("{findings:#}\n");
    all.add(
        Path::new(FINDINGS),
        FileFacts::of_bytes(findings.as_bytes()),
    );
    add_unlisted(folder, &mut all)?;
    all.write(&**disk, &folder.file(MANIFEST))?;
    durable::sync_folder(&**disk, &folder.0)?;
    durable::write(&**disk, &folder.file(FINDINGS), findings.as_bytes())?;
    durable::sync_folder(&**disk, &folder.0)?;
    durable::remove_folder(&**disk, &folder.parts())?;
    durable::sync_folder(&**disk, &folder.0)
}

/// Adds what a version without a manifest began.
fn add_unlisted(folder: &Folder, all: &mut Manifest) -> Result<(), StoreError> {
    for name in manifest::read_by_name(folder) {
        if !all.files.contains_key(&name) {
            let path = folder.file(&name);
            let facts = FileFacts::of_file(&path).map_err(StoreError::at(&path))?;
            all.add(&path, facts);
        }
    }
    Ok(())
}

fn tables(disk: &SharedDisk, folder: &Folder, all: &mut Manifest) -> Result<(), StoreError> {
    interrupted::settle(&**disk, folder)?;
    // A part that is no longer what was recorded must not become one of the tables.
    let trials_recorded: Vec<u32> = folder.recorded_parts(TRIALS)?.into_keys().collect();
    let mut parts = BTreeMap::new();
    let of_trial = |trial: &u32| manifest::of_trial(folder, *trial);
    in_order(&trials_recorded, of_trial, |trial, listed| {
        parts.insert(*trial, listed?);
        Ok::<(), Mismatch>(())
    })
    .map_err(StoreError::changed(&folder.0))?;
    every_table!(R => table::<R>(disk, folder, &part::schema::<R>(), &parts, all)?);
    trials(disk, folder, all)?;
    every_table!(R => interrupted_rows::<R>(disk, folder, all)?);
    all.trials = Some(parts.len() as u64);
    Ok(())
}

/// Copies the parts of a table into one file, in the order of the trials.
fn table<R: Row>(
    disk: &SharedDisk,
    folder: &Folder,
    schema: &SchemaRef,
    recorded: &BTreeMap<u32, Option<Manifest>>,
    manifest: &mut Manifest,
) -> Result<(), StoreError> {
    let parts = folder.recorded_parts(R::TABLE)?;
    if R::IS_OPTIONAL && parts.is_empty() {
        return Ok(());
    }
    let all = folder.table(R::TABLE);
    if parts.len() == 1
        && let Some((trial, only)) = parts.first_key_value()
        && is_table(only, schema)?
        && durable::link(&**disk, only, &all)?
    {
        let listed = recorded.get(trial).and_then(Option::as_ref);
        let name = only.file_name().unwrap_or_default().to_string_lossy();
        let facts = listed.and_then(|listed| listed.files.get(&*name)).cloned();
        let facts = facts.map_or_else(|| FileFacts::of_file(&all), Ok);
        manifest.add(&all, facts.map_err(StoreError::at(&all))?);
        return Ok(());
    }
    let mut file = ParquetFile::create(disk, &all, schema)?;
    let parts: Vec<PathBuf> = parts.into_values().collect();
    in_order(
        &parts,
        |path| small_part(path, schema),
        |path, read| {
            match read {
                Some(batches) => batches?.iter().try_for_each(|batch| file.write(batch))?,
                None => copy(path, schema, &mut file)?,
            }
            file.end_trial()
        },
    )?;
    manifest.add(&all, file.finish()?);
    Ok(())
}

/// Is a part written as a table is? Of a run with one trial it becomes the table as it is.
fn is_table(part: &Path, schema: &SchemaRef) -> Result<bool, StoreError> {
    let source = ParquetSource::open(part, schema).map_err(StoreError::parquet(part))?;
    let groups = source.row_groups(None).into_iter();
    Ok(!parquet_file::is_plain(
        groups.map(|group| source.rows_of(group)).sum(),
    ))
}

/// The batches of a part, with every column that the table has by now: a version that wrote fewer may have begun the run.
fn each_complete(
    path: &Path,
    schema: &SchemaRef,
    mut take: impl FnMut(RecordBatch) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut all = AllColumns::of(schema.clone());
    each_batch(path, schema, |rows| {
        take(all.complete(&rows).map_err(arrow(path))?)
    })
}

/// All of a part that is small; `None` of another.
fn small_part(path: &Path, schema: &SchemaRef) -> Option<Result<Vec<RecordBatch>, StoreError>> {
    let length = fs::symlink_metadata(path).ok()?.len();
    (length <= SMALL_PART).then(|| {
        let mut batches = Vec::new();
        each_complete(path, schema, |batch| {
            batches.push(batch);
            Ok(())
        })?;
        Ok(batches)
    })
}

/// A part, however large it is.
fn copy(path: &Path, schema: &SchemaRef, file: &mut ParquetFile) -> Result<(), StoreError> {
    each_complete(path, schema, |batch| file.write(&batch))
}

fn each_batch(
    path: &Path,
    schema: &SchemaRef,
    mut take: impl FnMut(RecordBatch) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let source = ParquetSource::open(path, schema).map_err(StoreError::parquet(path))?;
    for group in source.row_groups(None) {
        let batches = source.batches(group, None);
        for batch in batches.map_err(StoreError::parquet(path))? {
            take(batch.map_err(StoreError::parquet(path))?)?;
        }
    }
    Ok(())
}

fn trials(disk: &SharedDisk, folder: &Folder, manifest: &mut Manifest) -> Result<(), StoreError> {
    let parts: Vec<PathBuf> = folder.recorded_parts(TRIALS)?.into_values().collect();
    let mut rows = Vec::new();
    in_order(
        &parts,
        |path| trial_rows(path),
        |_, read| {
            rows.extend(read?);
            Ok::<(), StoreError>(())
        },
    )?;
    let all = folder.table(TRIALS);
    manifest.add(&all, part::write_trials(disk, &all, &rows)?);
    Ok(())
}

/// Every row of a file of trials.
pub(crate) fn trial_rows(path: &Path) -> Result<Vec<TrialRow>, StoreError> {
    let mut rows = Vec::new();
    each_batch(path, &trial_row::known_schema(), |batch| {
        rows.extend(trial_row::rows(&batch).map_err(StoreError::table(path))?);
        Ok(())
    })?;
    Ok(rows)
}

/// Gathers what interrupted trials left, up to where each was cut. No rows, no file.
fn interrupted_rows<R: Row>(
    disk: &SharedDisk,
    folder: &Folder,
    manifest: &mut Manifest,
) -> Result<(), StoreError> {
    let path = folder.interrupted::<R>();
    let parts = folder.interrupted_parts::<R>();
    let parts = parts.map_err(StoreError::at(&folder.parts()))?;
    let (mut stream, mut all) = (None, AllColumns::of(table::schema::<R>()));
    for part in parts.values() {
        let batches = JournalReader::open(part).map_err(StoreError::at(part))?;
        for batch in batches.map_while(Result::ok) {
            let stream = match &mut stream {
                Some(stream) => stream,
                none => none.insert(new_stream::<R>(disk, &path)?),
            };
            let batch = all.complete(&batch).map_err(arrow(part))?;
            stream.write(&batch).map_err(arrow(&path))?;
        }
    }
    let Some(stream) = stream else {
        return Ok(());
    };
    manifest.add(&path, end_stream(disk, stream, &path)?);
    Ok(())
}

/// Rows as they came, on their way into a file.
type Stream = StreamWriter<BufWriter<Hashing<Box<dyn DiskFile>>>>;

fn new_stream<R: Row>(disk: &SharedDisk, path: &Path) -> Result<Stream, StoreError> {
    let file = disk
        .create(&durable::unfinished(path))
        .map_err(StoreError::at(path))?;
    StreamWriter::try_new_buffered(Hashing::new(file), &table::schema::<R>()).map_err(arrow(path))
}

fn end_stream(disk: &SharedDisk, stream: Stream, path: &Path) -> Result<FileFacts, StoreError> {
    let mut file = stream.into_inner().map_err(arrow(path))?;
    file.flush().map_err(StoreError::at(path))?;
    let file = file.get_mut();
    (file.inner_mut().sync()).map_err(StoreError::at(path))?;
    durable::put_in_place(&**disk, path)?;
    Ok(file.facts())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::disk::RealDisk;
    use delaylab_model::method::Method;
    use delaylab_model::record::Record;

    fn without(rows: &RecordBatch, name: &str) -> RecordBatch {
        let fields = rows.schema();
        let others = (0..fields.fields().len()).filter(|&at| fields.field(at).name() != name);
        rows.project(&others.collect::<Vec<_>>()).unwrap()
    }

    /// A run may be begun by one version and resumed by the next, which records more of each packet.
    #[test]
    fn parts_with_fewer_columns_are_joined_by_name() {
        let runs = tempfile::tempdir().unwrap();
        let (disk, folder) = (RealDisk::shared(), Folder(runs.path().to_owned()));
        fs::create_dir(folder.parts()).unwrap();
        let schema = part::schema::<Record>();
        let due = Record::due(0, 1, 2, Method::Udp, 3_000);
        let rows = table::batch(&table::schema::<Record>(), &[due]).unwrap();
        let whole = AllColumns::of(schema.clone()).complete(&rows).unwrap();
        let parts = [
            without(&whole, "server_says"),
            without(&whole, part::NOISE_WHO),
            whole.clone(),
        ];
        for (trial, rows) in (0..).zip(&parts) {
            let path = folder.part(Record::TABLE, trial);
            let file = ParquetFile::create_part(&disk, &path, &rows.schema(), 1).unwrap();
            file.write_all(rows).unwrap();
        }
        let mut listed = Manifest::new();
        table::<Record>(&disk, &folder, &schema, &BTreeMap::new(), &mut listed).unwrap();
        let mut joined = 0;
        each_batch(&folder.table(Record::TABLE), &schema, |batch| {
            for row in 0..batch.num_rows() {
                assert_eq!(batch.slice(row, 1).columns(), whole.columns());
                joined += 1;
            }
            Ok(())
        })
        .unwrap();
        assert_eq!(joined, parts.len());
    }
}
