//! Rows on disk as they come, or as soon as they are many: an Arrow IPC stream.
//!
//! A stream that was cut anywhere is read up to its last whole batch. Each message has a [seal](crate::seal).

use crate::disk::{DiskFile, SharedDisk};
use crate::durable;
use crate::error::{StoreError, arrow, guarded};
use crate::regular;
use crate::seal::{self, Message};
use crate::table::{self, Row};
use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::writer::StreamEncoder;
use arrow_schema::{ArrowError, SchemaRef};
use delaylab_model::{MILLISECOND, Nanos};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufReader, SeekFrom};
use std::path::{Path, PathBuf};

/// Rows kept back at most before they are written.
const BATCH: usize = 4096;
/// Bytes of rows from which on they are many.
const MANY: usize = 4 << 20;
/// Bytes of a batch at most that a process which is killed leaves in part.
const TORN: u64 = 4 << 20;
/// How often rows are written and synced: often enough that a kill loses less than a second.
const SYNC_EVERY: Nanos = 500 * MILLISECOND;

/// When rows go to disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Journaling {
    /// As they come, synced twice a second.
    AsTheyCome,
    /// Where there are more than memory should hold. What is in memory is lost with the process: for a trial that comes
    /// out the same when it is repeated.
    WhenMany,
}

/// Keeps the rows of a trial until it ends.
pub(crate) struct Journal<R: Row> {
    disk: SharedDisk,
    path: PathBuf,
    when: Journaling,
    /// `None`: all rows are pending, or another process wrote them.
    file: Option<Box<dyn DiskFile>>,
    /// Did another process write its rows?
    is_found: bool,
    /// And is there more behind the last batch that can be read than a process that is killed leaves?
    is_damaged: bool,
    schema: SchemaRef,
    encoder: StreamEncoder,
    pending: Vec<R>,
    /// What the encoder made of rows and the file does not have yet. The encoder says each thing once, the schema with
    /// the first batch: what could not be written has to be written again as it is.
    unwritten: Vec<u8>,
    /// How much of the file is whole batches.
    whole: u64,
    is_synced: bool,
    /// A sync failed: what the system could not write it may have dropped, and the next sync would not say so.
    may_lack: bool,
    last_sync: Option<Nanos>,
    streams: BTreeSet<u16>,
    rows: u64,
}

impl<R: Row> Journal<R> {
    /// As rows come there is a new file at once. Fails where one is.
    pub(crate) fn create(
        disk: &SharedDisk,
        path: PathBuf,
        when: Journaling,
    ) -> Result<Self, StoreError> {
        let schema = table::schema::<R>();
        let encoder = StreamEncoder::try_new(&schema).map_err(arrow(&path))?;
        let mut journal = Self {
            disk: disk.clone(),
            path,
            when,
            file: None,
            is_found: false,
            is_damaged: false,
            schema,
            encoder,
            pending: Vec::new(),
            unwritten: Vec::new(),
            whole: 0,
            is_synced: true, // it is empty: its folder is synced when all journals of the trial are there
            may_lack: false,
            last_sync: None,
            streams: BTreeSet::new(),
            rows: 0,
        };
        if when == Journaling::AsTheyCome {
            journal.file()?;
        }
        Ok(journal)
    }

    /// The rows that another process left, up to the last whole batch; none where there is no file. Nothing is added to them.
    ///
    /// # Errors
    /// The disk cannot read it.
    pub(crate) fn reopen(disk: &SharedDisk, path: PathBuf) -> Result<Self, StoreError> {
        let mut journal = Self::create(disk, path, Journaling::WhenMany)?;
        let mut found = match JournalReader::open(&journal.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(journal),
            found => found.map_err(StoreError::at(&journal.path))?,
        };
        journal.is_found = true;
        let mut rows = Vec::<R>::new();
        while let Some(batch) = found.next() {
            let read = batch.map(|batch| table::read_into(&batch, &mut rows));
            match read {
                Err(error) if is_of_disk(&error) => return Err(arrow(&journal.path)(error)),
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => break,
            }
            journal.rows += rows.len() as u64;
            journal.streams.extend(rows.iter().map(R::stream));
            journal.whole = found.whole;
        }
        let length = fs::metadata(&journal.path).map_err(StoreError::at(&journal.path))?;
        journal.is_damaged = length.len().saturating_sub(journal.whole) > TORN;
        Ok(journal)
    }

    fn file(&mut self) -> Result<&mut Box<dyn DiskFile>, StoreError> {
        let file = match self.file.take() {
            Some(file) => file,
            None => (self.disk.create_new(&self.path)).map_err(StoreError::at(&self.path))?,
        };
        Ok(self.file.insert(file))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Did no row come?
    pub(crate) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// How many rows came.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Is there more behind its last whole batch than a process that is killed leaves? [`Self::remove`] keeps such a file.
    pub(crate) fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    /// The streams that its rows are of.
    pub(crate) fn streams(&self) -> &BTreeSet<u16> {
        &self.streams
    }

    pub(crate) fn push(&mut self, rows: &[R]) -> Result<(), StoreError> {
        self.streams.extend(rows.iter().map(R::stream));
        self.rows += rows.len() as u64;
        for chunk in rows.chunks(BATCH) {
            self.pending.extend_from_slice(chunk);
            if self.pending.len() >= BATCH {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Hands what is kept back to the system, but for what memory is to hold. Where that fails, the next call goes on with
    /// it: no row is lost, and none is written twice.
    pub(crate) fn flush(&mut self) -> Result<(), StoreError> {
        let few = self.file.is_none() && size_of_val(&*self.pending) < MANY;
        match self.when {
            Journaling::WhenMany if few => Ok(()),
            _ => self.flush_all(),
        }
    }

    fn flush_all(&mut self) -> Result<(), StoreError> {
        self.write()?;
        if self.pending.is_empty() {
            return Ok(());
        }
        let batch = table::batch(&self.schema, &self.pending).map_err(arrow(&self.path))?;
        let buffers = self.encoder.encode(&batch).map_err(arrow(&self.path))?;
        let bytes: Vec<&[u8]> = buffers.iter().map(|buffer| &**buffer).collect();
        let sealed = seal::seal(&bytes.concat()).map_err(StoreError::at(&self.path))?;
        self.unwritten.extend(sealed);
        self.pending.clear();
        self.write()
    }

    fn write(&mut self) -> Result<(), StoreError> {
        if self.unwritten.is_empty() {
            return Ok(());
        }
        self.is_synced = false;
        let unwritten = std::mem::take(&mut self.unwritten);
        if let Err(error) = self.append(&unwritten) {
            self.unwritten = unwritten;
            return Err(error);
        }
        self.whole += unwritten.len() as u64;
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let whole = self.whole;
        let file = self.file()?;
        let at_end = file.seek(SeekFrom::Start(whole));
        let written = at_end.and_then(|_| file.write_all(bytes));
        if written.is_err() {
            // If this fails too, the reader stops at the torn batch, and the next write goes over it.
            let _ = file.set_len(whole);
        }
        written.map_err(StoreError::at(&self.path))
    }

    /// Every row so far, in batches, as they came.
    pub(crate) fn each_batch(
        &mut self,
        mut visit: impl FnMut(&mut Vec<R>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.flush()?;
        let mut rows = Vec::new();
        if self.file.is_none() && !self.is_found {
            rows.clone_from(&self.pending);
            return visit(&mut rows);
        }
        let path = &self.path;
        let mut left = self.rows;
        for batch in JournalReader::open(path).map_err(StoreError::at(path))? {
            // Behind them another process may have left a batch that is torn.
            if left == 0 {
                break;
            }
            let batch = batch.map_err(arrow(path))?;
            table::read_into(&batch, &mut rows).map_err(StoreError::table(path))?;
            left = left.saturating_sub(rows.len() as u64);
            visit(&mut rows)?;
        }
        Ok(())
    }

    /// Forgets the rows: they are elsewhere. What is behind a damaged place is not: that file is kept under another name.
    pub(crate) fn remove(&mut self) -> Result<(), StoreError> {
        self.pending.clear();
        self.unwritten.clear();
        if self.is_damaged {
            let folder = self.path.parent().unwrap_or(Path::new("."));
            return durable::set_aside(&*self.disk, folder, &self.path).map(|_| ());
        }
        match self.file.is_some() || self.is_found {
            true => durable::remove(&*self.disk, &self.path),
            false => Ok(()),
        }
    }

    /// Writes and syncs, if the last time is long enough ago, or is still to come: then the clock was set back.
    pub(crate) fn sync_if_due(&mut self, now: Nanos) -> Result<(), StoreError> {
        if self.when == Journaling::WhenMany {
            return Ok(());
        }
        let last = *self.last_sync.get_or_insert(now);
        if (0..SYNC_EVERY).contains(&now.wrapping_sub(last)) {
            return Ok(());
        }
        self.last_sync = Some(now);
        self.sync()
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.flush()?;
        if self.is_synced {
            return Ok(());
        }
        let synced = match self.may_lack {
            true => Err(io::Error::other(
                "could not be synced before, and may lack rows",
            )),
            false => match &mut self.file {
                Some(file) => file.sync(),
                None => Ok(()),
            },
        };
        self.may_lack = synced.is_err();
        synced.map_err(StoreError::at(&self.path))?;
        self.is_synced = true;
        Ok(())
    }
}

impl<R: Row> Drop for Journal<R> {
    /// A trial that ends in an error leaves what it recorded.
    fn drop(&mut self) {
        let _ = self.flush_all();
    }
}

/// Is it the disk that failed, and not what stands in the file?
pub(crate) fn is_of_disk(error: &ArrowError) -> bool {
    matches!(error, ArrowError::IoError(_, error) if error.kind() != io::ErrorKind::UnexpectedEof)
}

/// Reads the whole batches of a journal; an error where it was cut within one, or holds something else.
pub(crate) struct JournalReader {
    /// `None` after the end.
    stream: Option<BufReader<File>>,
    decoder: StreamDecoder,
    /// Has its first message a seal? Then all must, or none: journals of earlier versions have no seals, nor have those
    /// that are joined, which the manifest lists.
    is_sealed: Option<bool>,
    /// How many bytes were read that belong to whole messages.
    whole: u64,
}

impl JournalReader {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            stream: Some(BufReader::with_capacity(1 << 16, regular::open(path)?)),
            decoder: StreamDecoder::new(),
            is_sealed: None,
            whole: 0,
        })
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let Some(stream) = &mut self.stream else {
            return Ok(None);
        };
        while let Some(message) = Message::read(stream)? {
            let is_sealed = *self.is_sealed.get_or_insert(message.has_seal());
            if message.has_seal() != is_sealed || (is_sealed && !message.is_whole()) {
                let reason = "a message is not what was written";
                return Err(ArrowError::IpcError(reason.to_owned()));
            }
            let mut bytes = Buffer::from_vec(message.into_bytes());
            self.whole += bytes.len() as u64;
            if let Some(batch) = self.decoder.decode(&mut bytes)? {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }
}

impl Iterator for JournalReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = guarded(|| self.next_batch(), ArrowError::IpcError).transpose();
        if !matches!(batch, Some(Ok(_))) {
            self.stream = None;
        }
        batch
    }
}

#[cfg(test)]
mod tests;
