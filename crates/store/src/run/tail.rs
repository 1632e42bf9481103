//! The records of a run in progress: each is read once, however often one looks.

use crate::folder::Folder;
use crate::lock::Lock;
use crate::regular;
use crate::table;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use delaylab_model::record::Record;
use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Bytes that are read at once.
const PIECE: usize = 1 << 20;

/// Reads what is added to the journals of a run's trials.
#[derive(Debug)]
pub struct Tail {
    folder: Folder,
    /// A reader for each trial under way.
    journals: BTreeMap<u32, Journal>,
}

/// What has happened in a run since the last look at it.
#[derive(Debug)]
pub enum TailEvent<'a> {
    /// This trial began, if another attempt did before, once more: the records of that one are not of this one.
    Began(u32),
    /// The next record of a trial.
    Record(&'a Record),
}

/// How far a journal is read.
#[derive(Debug, Default)]
struct Journal {
    /// Its file: that of a trial which is repeated is another one of the same name.
    file: (u64, u64),
    decoder: StreamDecoder,
    /// Bytes that the decoder has had.
    read: u64,
    /// What it was handed made no sense: nothing more comes of this trial.
    is_damaged: bool,
}

impl Tail {
    /// Of the run in this folder, from the beginning of each trial that is under way.
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: Folder(folder.to_owned()),
            journals: BTreeMap::new(),
        }
    }

    /// Hands over the records that have come since the last time, and which trials began, and says which trials are under
    /// way.
    ///
    /// # Errors
    /// Where the folder cannot be read, as when the run has ended and got its name.
    pub fn read(&mut self, mut take: impl FnMut(TailEvent<'_>)) -> io::Result<Vec<u32>> {
        std::fs::metadata(&self.folder.0)?;
        let mut running = self.folder.journals::<Record>()?;
        running.retain(|trial, _| !self.folder.is_recorded(*trial));
        self.journals.retain(|trial, _| running.contains_key(trial));
        for (trial, path) in &running {
            let journal = self.journals.entry(*trial).or_default();
            match journal.read(*trial, path, &mut take) {
                // It ended while we looked.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                done => done?,
            }
        }
        Ok(running.into_keys().collect())
    }

    /// Does no process write the run any more? Then it was interrupted, or it is a shard that is complete.
    pub fn is_idle(&self) -> bool {
        Lock::is_free(&self.folder.0)
    }
}

impl Journal {
    fn read(
        &mut self,
        trial: u32,
        path: &Path,
        take: &mut impl FnMut(TailEvent<'_>),
    ) -> io::Result<()> {
        let mut file = regular::open(path)?;
        let facts = file.metadata()?;
        let this = (facts.dev(), facts.ino());
        if this != self.file || facts.len() < self.read {
            *self = Self {
                file: this,
                ..Self::default()
            };
            take(TailEvent::Began(trial));
        }
        file.seek(SeekFrom::Start(self.read))?;
        while !self.is_damaged {
            let mut piece = Vec::with_capacity(PIECE);
            let count = Read::by_ref(&mut file)
                .take(PIECE as u64)
                .read_to_end(&mut piece)?;
            if count == 0 {
                break;
            }
            self.read += count as u64;
            let piece = Buffer::from_vec(piece);
            // The library panics over some damage: that too is only damage.
            let decoded = catch_unwind(AssertUnwindSafe(|| self.decode(piece, take)));
            self.is_damaged = !matches!(decoded, Ok(Some(())));
        }
        Ok(())
    }

    /// `None` where this is no journal.
    fn decode(&mut self, mut bytes: Buffer, take: &mut impl FnMut(TailEvent<'_>)) -> Option<()> {
        let mut rows = Vec::new();
        while !bytes.is_empty() {
            if let Some(batch) = self.decoder.decode(&mut bytes).ok()? {
                table::read_into(&batch, &mut rows).ok()?;
                rows.iter()
                    .for_each(|record| take(TailEvent::Record(record)));
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// A resume moves the journal of the interrupted attempt away and begins another of the same name.
    #[test]
    fn a_trial_that_begins_again_is_read_from_its_beginning() {
        let runs = tempfile::tempdir().unwrap();
        let folder = Folder(runs.path().to_owned());
        let write = |records: u64| {
            let path = folder.journal::<Record>(3);
            let schema = table::schema::<Record>();
            let due = |seq| Record::due(3, 0, seq, delaylab_model::method::Method::Udp, 5);
            let rows: Vec<_> = (0..records).map(due).collect();
            let batch = table::batch(&schema, &rows).unwrap();
            let file = std::fs::File::create(path).unwrap();
            let mut stream = arrow_ipc::writer::StreamWriter::try_new(file, &schema).unwrap();
            stream.write(&batch).unwrap();
        };
        let mut tail = Tail::new(runs.path());
        let mut look = || {
            let (mut began, mut records) = (0, 0);
            let running = tail.read(|event| match event {
                TailEvent::Began(_) => began += 1,
                TailEvent::Record(_) => records += 1,
            });
            assert_eq!(running.unwrap(), [3]);
            (began, records)
        };
        write(500);
        assert_eq!(look(), (1, 500));
        assert_eq!(look(), (0, 0));
        std::fs::rename(folder.journal::<Record>(3), runs.path().join("aside")).unwrap();
        write(2);
        assert_eq!(look(), (1, 2));
    }

    #[test]
    fn a_run_that_no_process_writes_is_idle() {
        let folder = tempfile::tempdir().unwrap();
        let tail = Tail::new(folder.path());
        let held = Lock::take(folder.path()).unwrap();
        assert!(!tail.is_idle());
        drop(held);
        assert!(tail.is_idle());
    }
}
