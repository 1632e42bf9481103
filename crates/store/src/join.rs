//! The end of a run: the parts of its trials become its tables.

use crate::durable;
use crate::error::{StoreError, arrow};
use crate::folder::{FINDINGS, Folder, TRIALS};
use crate::interrupted;
use crate::journal::JournalReader;
use crate::parquet_file::{self, ParquetFile};
use crate::parquet_source::ParquetSource;
use crate::part;
use crate::table::{self, Row, every_table};
use crate::trial_row::{self, TrialRow};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::SchemaRef;
use serde_json::Value;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

/// Joins the parts, writes the findings, removes the parts. It can be stopped anywhere and done again.
pub(crate) fn join(folder: &Folder, findings: &Value) -> Result<(), StoreError> {
    if !folder.file(FINDINGS).exists() {
        tables(folder)?;
        durable::sync_folder(&folder.0)?;
    }
    let findings = format!("{findings:#}\n");
    durable::write(&folder.file(FINDINGS), findings.as_bytes())?;
    durable::sync_folder(&folder.0)?;
    match fs::remove_dir_all(folder.parts()) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(StoreError::at(&folder.parts())(error))
        }
        _ => durable::sync_folder(&folder.0),
    }
}

fn tables(folder: &Folder) -> Result<(), StoreError> {
    interrupted::settle(folder)?;
    every_table!(R => table::<R>(folder, &part::schema::<R>())?);
    trials(folder)?;
    every_table!(R => interrupted_rows::<R>(folder)?);
    Ok(())
}

/// Copies the parts of a table into one file, in the order of the trials.
fn table<R: Row>(folder: &Folder, schema: &SchemaRef) -> Result<(), StoreError> {
    let parts = folder.parts_of(R::TABLE);
    let parts = parts.map_err(StoreError::at(&folder.parts()))?;
    if R::IS_OPTIONAL && parts.is_empty() {
        return Ok(());
    }
    let all = folder.table(R::TABLE);
    if parts.len() == 1
        && let Some(only) = parts.values().next()
        && is_table(only, schema)?
        && durable::link(only, &all)?
    {
        return Ok(());
    }
    let mut file = ParquetFile::create(&all, schema)?;
    for path in parts.values() {
        copy(path, schema, &mut file)?;
        file.end_trial()?;
    }
    file.finish()
}

/// Is a part written as a table is? Of a run with one trial it becomes the table as it is.
fn is_table(part: &Path, schema: &SchemaRef) -> Result<bool, StoreError> {
    let source = ParquetSource::open(part, schema).map_err(StoreError::parquet(part))?;
    let groups = source.row_groups(None).into_iter();
    Ok(!parquet_file::is_plain(
        groups.map(|group| source.rows_of(group)).sum(),
    ))
}

fn copy(path: &Path, schema: &SchemaRef, file: &mut ParquetFile) -> Result<(), StoreError> {
    let source = ParquetSource::open(path, schema).map_err(StoreError::parquet(path))?;
    for group in source.row_groups(None) {
        let batches = source.batches(group, None);
        for batch in batches.map_err(StoreError::parquet(path))? {
            file.write(&batch.map_err(StoreError::parquet(path))?)?;
        }
    }
    Ok(())
}

fn trials(folder: &Folder) -> Result<(), StoreError> {
    let parts = folder.parts_of(TRIALS);
    let mut rows = Vec::new();
    for path in parts.map_err(StoreError::at(&folder.parts()))?.values() {
        rows.extend(trial_rows(path)?);
    }
    part::write_trials(&folder.table(TRIALS), &rows)
}

/// Every row of a file of trials.
pub(crate) fn trial_rows(path: &Path) -> Result<Vec<TrialRow>, StoreError> {
    let known = trial_row::known_schema();
    let source = ParquetSource::open(path, &known).map_err(StoreError::parquet(path))?;
    let mut rows = Vec::new();
    for group in source.row_groups(None) {
        let batches = source.batches(group, None);
        for batch in batches.map_err(StoreError::parquet(path))? {
            let batch = batch.map_err(StoreError::parquet(path))?;
            rows.extend(trial_row::rows(&batch).map_err(StoreError::table(path))?);
        }
    }
    Ok(rows)
}

/// Gathers what interrupted trials left, up to where each was cut. No rows, no file.
fn interrupted_rows<R: Row>(folder: &Folder) -> Result<(), StoreError> {
    let path = folder.interrupted::<R>();
    let parts = folder.interrupted_parts::<R>();
    let parts = parts.map_err(StoreError::at(&folder.parts()))?;
    let mut stream = None;
    for part in parts.values() {
        let batches = JournalReader::open(part).map_err(StoreError::at(part))?;
        for batch in batches.map_while(Result::ok) {
            let stream = match &mut stream {
                Some(stream) => stream,
                none => none.insert(new_stream::<R>(&path)?),
            };
            stream.write(&batch).map_err(arrow(&path))?;
        }
    }
    stream.map_or(Ok(()), |stream| end_stream(stream, &path))
}

fn new_stream<R: Row>(path: &Path) -> Result<StreamWriter<BufWriter<File>>, StoreError> {
    let file = File::create(durable::unfinished(path)).map_err(StoreError::at(path))?;
    StreamWriter::try_new_buffered(file, &table::schema::<R>()).map_err(arrow(path))
}

fn end_stream(stream: StreamWriter<BufWriter<File>>, path: &Path) -> Result<(), StoreError> {
    let mut file = stream.into_inner().map_err(arrow(path))?;
    file.flush().map_err(StoreError::at(path))?;
    file.get_ref().sync_all().map_err(StoreError::at(path))?;
    durable::put_in_place(path)
}
