//! The end of a run: the parts of its trials become its tables.

use crate::all_columns::AllColumns;
use crate::digest::{FileFacts, Hashing};
use crate::disk::{DiskFile, SharedDisk};
use crate::durable;
use crate::each::each;
use crate::error::{StoreError, arrow};
use crate::folder::{ENVIRONMENT, EXPERIMENT, FINDINGS, Folder, MANIFEST, TRIALS};
use crate::in_order::in_order;
use crate::interrupted;
use crate::journal::JournalReader;
use crate::manifest::{self, Manifest};
use crate::mismatch::Mismatch;
use crate::parquet_file::ParquetFile;
use crate::parquet_source::ParquetSource;
use crate::part;
use crate::regular;
use crate::row_groups::MOST_THREADS;
use crate::table::{self, Row, every_table};
use crate::trial_file::{RecordedTrial, TrialTable};
use crate::trial_row::{self, TrialRow};
use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::SchemaRef;
use serde_json::Value;
use std::io::{BufWriter, Write};
use std::num::NonZeroUsize;
use std::path::Path;
use std::thread::available_parallelism;

/// Joins the parts, writes the manifest and the findings, removes the parts. It can be stopped anywhere and done again.
pub(crate) fn join(disk: &SharedDisk, folder: &Folder, findings: &Value) -> Result<(), StoreError> {
    let known = manifest::of_run(folder).map_err(StoreError::changed(&folder.0))?;
    let mut all = known.unwrap_or_else(Manifest::new);
    unchanged(folder, &all)?;
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

/// Makes one of the tables: see [`table`].
type Join = fn(&SharedDisk, &Folder, &[RecordedTrial]) -> Result<Option<FileFacts>, StoreError>;

/// Every recorded trial: what is no longer what was recorded must not become one of the tables.
fn recorded(folder: &Folder) -> Result<Vec<RecordedTrial>, StoreError> {
    let trials = folder.recorded_trials();
    let trials: Vec<u32> = trials
        .map_err(StoreError::at(&folder.parts()))?
        .into_iter()
        .collect();
    let mut recorded = Vec::new();
    let open = |trial: &u32| RecordedTrial::open_checked(folder, *trial);
    in_order(&trials, open, |_, opened| {
        recorded.push(opened?);
        Ok::<(), Mismatch>(())
    })
    .map_err(StoreError::changed(&folder.0))?;
    Ok(recorded)
}

fn tables(disk: &SharedDisk, folder: &Folder, all: &mut Manifest) -> Result<(), StoreError> {
    interrupted::settle(&**disk, folder)?;
    let recorded = recorded(folder)?;
    // Rows are added to a file one after the other: files are written beside each other.
    let joins = every_table!(R => (R::TABLE, table::<R> as Join)).into_iter();
    let cpus = available_parallelism().map_or(1, NonZeroUsize::get);
    let join = |(name, join): (_, Join)| join(disk, folder, &recorded).map(|facts| (name, facts));
    for (name, facts) in each(cpus.min(MOST_THREADS), joins, join)? {
        if let Some(facts) = facts {
            all.add(&folder.table(name), facts);
        }
    }
    write_trials(disk, folder, &recorded, all)?;
    every_table!(R => interrupted_rows::<R>(disk, folder, all)?);
    all.trials = Some(recorded.len() as u64);
    Ok(())
}

/// Copies what trials left of a table into one file, in their order. `None`: none has any of it.
fn table<R: Row>(
    disk: &SharedDisk,
    folder: &Folder,
    recorded: &[RecordedTrial],
) -> Result<Option<FileFacts>, StoreError> {
    let parts = recorded.iter().filter(|trial| trial.has(R::TABLE));
    let parts: Vec<&RecordedTrial> = parts.collect();
    if R::IS_OPTIONAL && parts.is_empty() {
        return Ok(None);
    }
    let all = folder.table(R::TABLE);
    if let [only] = parts[..]
        && let Some(facts) = only.long(R::TABLE)
        && durable::link(&**disk, &only.path(R::TABLE), &all)?
    {
        return Ok(Some(facts.clone()));
    }
    let schema = &part::schema::<R>();
    let mut file = ParquetFile::create(disk, &all, schema)?;
    in_order(
        &parts,
        |part| part.source(R::TABLE, schema),
        |part, read| {
            let Some(read) = read? else { return Ok(()) };
            let is_taken = match &read {
                TrialTable::Long(source) => file.append(source, &part.path(R::TABLE))?,
                TrialTable::Short(_) => false,
            };
            if !is_taken {
                each_complete(&read, &part.path(R::TABLE), schema, |rows| {
                    file.write(&rows)
                })?;
            }
            file.end_trial()
        },
    )?;
    file.finish().map(Some)
}

/// The batches of a part, with every column that the table has by now: a version that wrote fewer may have begun the run.
fn each_complete(
    part: &TrialTable,
    path: &Path,
    schema: &SchemaRef,
    mut take: impl FnMut(RecordBatch) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut all = AllColumns::new(schema.clone());
    let complete = |rows: &RecordBatch| take(all.complete(rows).map_err(arrow(path))?);
    part.each_batch(complete, path)
}

fn write_trials(
    disk: &SharedDisk,
    folder: &Folder,
    recorded: &[RecordedTrial],
    manifest: &mut Manifest,
) -> Result<(), StoreError> {
    let mut rows = Vec::new();
    in_order(recorded, trial_rows_of, |_, read| {
        rows.extend(read?);
        Ok::<(), StoreError>(())
    })?;
    let all = folder.table(TRIALS);
    manifest.add(&all, part::write_trials(disk, &all, &rows)?);
    Ok(())
}

/// The rows of a recorded trial.
pub(crate) fn trial_rows_of(trial: &RecordedTrial) -> Result<Vec<TrialRow>, StoreError> {
    match trial.source(TRIALS, &trial_row::known_schema())? {
        Some(table) => rows_of(&table, &trial.path(TRIALS)),
        None => Ok(Vec::new()),
    }
}

/// Every row of a table of trials.
pub(crate) fn trial_rows(path: &Path) -> Result<Vec<TrialRow>, StoreError> {
    let source = ParquetSource::open(path, &trial_row::known_schema());
    let source = source.map_err(StoreError::parquet(path))?;
    rows_of(&TrialTable::Long(source), path)
}

fn rows_of(table: &TrialTable, path: &Path) -> Result<Vec<TrialRow>, StoreError> {
    let mut rows = Vec::new();
    let take = |batch: &RecordBatch| {
        rows.extend(trial_row::rows(batch).map_err(StoreError::table(path))?);
        Ok(())
    };
    table.each_batch(take, path)?;
    Ok(rows)
}

/// Are experiment and environment those that were recorded?
fn unchanged(folder: &Folder, manifest: &Manifest) -> Result<(), StoreError> {
    let mut changed = [EXPERIMENT, ENVIRONMENT]
        .into_iter()
        .filter_map(|text| manifest.mismatch(&folder.0, text));
    let changed = changed.next();
    changed.map_or(Ok(()), |it| Err(StoreError::changed(&folder.0)(it)))
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
    let (mut stream, mut all) = (None, AllColumns::new(table::schema::<R>()));
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
    use crate::trial_file::NewTrial;
    use delaylab_model::method::Method;
    use delaylab_model::record::Record;
    use std::fs;

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
        for count in [1, 20_000] {
            let rows: Vec<Record> = (0..count)
                .map(|seq| Record::due(0, 1, seq, Method::Udp, 3_000))
                .collect();
            let rows = table::batch(&table::schema::<Record>(), &rows).unwrap();
            let whole = AllColumns::new(schema.clone()).complete(&rows).unwrap();
            let parts = [
                without(&whole, "server_says"),
                without(&whole, part::NOISE_WHO),
                whole.clone(),
            ];
            let mut recorded = Vec::new();
            for (trial, rows) in (0..).zip(&parts) {
                let mut new = NewTrial::new(&disk, &folder, trial, 2);
                new.add(Record::TABLE, rows).unwrap();
                new.add(TRIALS, &rows.slice(0, 1)).unwrap();
                new.put_in_place().unwrap();
                recorded.push(RecordedTrial::open_checked(&folder, trial).unwrap());
            }
            table::<Record>(&disk, &folder, &recorded).unwrap();
            let all = folder.table(Record::TABLE);
            let source = ParquetSource::open(&all, &schema).unwrap();
            let mut joined = 0;
            let compare = |batch: RecordBatch| {
                let mut from = 0;
                while from < batch.num_rows() {
                    let at = (joined + from) % whole.num_rows();
                    let rows = (batch.num_rows() - from).min(whole.num_rows() - at);
                    let [found, expected] = [batch.slice(from, rows), whole.slice(at, rows)];
                    assert_eq!(found.columns(), expected.columns());
                    from += rows;
                }
                joined += batch.num_rows();
                Ok(())
            };
            source.each_batch(&all, compare).unwrap();
            assert_eq!(joined, parts.len() * whole.num_rows());
        }
    }
}
