//! The records of a run in progress: each is read once, however often one looks.

use crate::folder::{Folder, TRIALS};
use crate::killed::is_idle;
use crate::regular;
use crate::table;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use delaylab_model::record::Record;
use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom};
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

/// How far a journal is read.
#[derive(Debug, Default)]
struct Journal {
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

    /// Hands over the records that have come since the last time, and says which trials are under way.
    ///
    /// # Errors
    /// Where the folder cannot be read, as when the run has ended and got its name.
    pub fn read(&mut self, mut take: impl FnMut(&Record)) -> io::Result<Vec<u32>> {
        std::fs::metadata(&self.folder.0)?;
        let mut running = self.folder.journals::<Record>()?;
        running.retain(|trial, _| !self.folder.part(TRIALS, *trial).exists());
        self.journals.retain(|trial, _| running.contains_key(trial));
        for (trial, path) in &running {
            let journal = self.journals.entry(*trial).or_default();
            match journal.read(path, &mut take) {
                // It ended while we looked.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                done => done?,
            }
        }
        Ok(running.into_keys().collect())
    }

    /// Does no process write the run any more? Then it was interrupted, or it is a shard that is complete.
    pub fn is_idle(&self) -> bool {
        is_idle(&self.folder.0)
    }
}

impl Journal {
    fn read(&mut self, path: &Path, take: &mut impl FnMut(&Record)) -> io::Result<()> {
        let mut file = regular::open(path)?;
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
    fn decode(&mut self, mut bytes: Buffer, take: &mut impl FnMut(&Record)) -> Option<()> {
        let mut rows = Vec::new();
        while !bytes.is_empty() {
            if let Some(batch) = self.decoder.decode(&mut bytes).ok()? {
                table::read_into(&batch, &mut rows).ok()?;
                rows.iter().for_each(&mut *take);
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::writer::lock;

    #[test]
    fn a_run_that_no_process_writes_is_idle() {
        let folder = tempfile::tempdir().unwrap();
        let tail = Tail::new(folder.path());
        let held = lock(folder.path()).unwrap();
        assert!(!tail.is_idle());
        drop(held);
        assert!(tail.is_idle());
    }
}
