//! What a file holds, in a few words: its length and its SHA-256.

use crate::regular;
use delaylab_model::units::format_hexadecimal;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// Bytes that are read at once.
const PIECE: usize = 1 << 18;
/// A file that was changed so lately may be changed again without another time of change.
const SETTLED: Duration = Duration::from_secs(2);
/// Digests that are remembered at most.
const REMEMBERED: usize = 1 << 14;

/// What is known of a file's content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFacts {
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256 (FIPS 180-4), in hexadecimal.
    pub sha256: String,
    /// Of a table: its rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
}

impl FileFacts {
    /// Of this content.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
        Self {
            bytes: bytes.len() as u64,
            sha256: format_hexadecimal(&Sha256::digest(bytes)),
            rows: None,
        }
    }

    /// Of this regular file.
    pub(crate) fn of_file(path: &Path) -> io::Result<Self> {
        Self::of_open_file(regular::open(path)?)
    }

    /// Of this file, from where it is to its end.
    pub(crate) fn of_open_file(file: File) -> io::Result<Self> {
        Self::known_or(&file, || Self::read(&file))
    }

    /// What was found of this file, where it is as it was then; where it is not, what is found now.
    pub(crate) fn known_or<E: From<io::Error>>(
        file: &File,
        find: impl FnOnce() -> Result<Self, E>,
    ) -> Result<Self, E> {
        let identity = || Ok(Identity::from_metadata(&file.metadata()?));
        let before = identity()?;
        if let Some(known) = before.as_ref().and_then(Identity::known) {
            return Ok(known);
        }
        let found = find()?;
        let before = before.filter(|before| {
            identity().is_ok_and(|after: Option<_>| after.as_ref() == Some(before))
        });
        if let Some(identity) = before {
            identity.remember(&found);
        }
        Ok(found)
    }

    fn read(mut file: &File) -> io::Result<Self> {
        let mut hashing = Hashing::new(io::sink());
        // A run that is not finished has thousands of small files.
        let length = usize::try_from(file.metadata()?.len()).unwrap_or(PIECE);
        let mut piece = vec![0; length.clamp(1, PIECE)];
        loop {
            match file.read(&mut piece)? {
                0 => break,
                count => hashing.write_all(&piece[..count])?,
            }
        }
        Ok(hashing.facts())
    }

    /// With its number of rows.
    pub(crate) fn with_rows(self, rows: u64) -> Self {
        Self {
            rows: Some(rows),
            ..self
        }
    }

    /// Is this the same content?
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        (self.bytes, &self.sha256) == (other.bytes, &other.sha256)
    }
}

/// Passes on what is written, and keeps its digest.
pub(crate) struct Hashing<W> {
    inner: W,
    hasher: Sha256,
    bytes: u64,
}

impl<W> Hashing<W> {
    pub(crate) fn new(inner: W) -> Self {
        Self {
            inner,
            hasher: Sha256::new(),
            bytes: 0,
        }
    }

    /// What is written to.
    pub(crate) fn inner_mut(&mut self) -> &mut W {
        &mut self.inner
    }

    /// Of all that was written so far.
    pub(crate) fn facts(&self) -> FileFacts {
        FileFacts {
            bytes: self.bytes,
            sha256: format_hexadecimal(&self.hasher.clone().finalize()),
            rows: None,
        }
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.hasher.update(&bytes[..count]);
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// A file as it was when it was read: whoever serves runs reads the same ones again and again.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Identity {
    device: u64,
    inode: u64,
    length: u64,
    /// Modified, and changed in any way: seconds and nanoseconds.
    times: [i64; 4],
}

static KNOWN: Mutex<Option<HashMap<Identity, FileFacts>>> = Mutex::new(None);

impl Identity {
    /// `None` of a file that was changed just now.
    fn from_metadata(metadata: &Metadata) -> Option<Self> {
        let age = SystemTime::now().duration_since(metadata.modified().ok()?);
        age.ok().filter(|age| *age > SETTLED)?;
        let (modified, changed) = (metadata.mtime(), metadata.ctime());
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = i64::try_from(now.ok()?.as_secs()).ok()?;
        (changed.saturating_add(SETTLED.as_secs() as i64) < now).then_some(Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            length: metadata.len(),
            times: [
                modified,
                metadata.mtime_nsec(),
                changed,
                metadata.ctime_nsec(),
            ],
        })
    }

    fn known(&self) -> Option<FileFacts> {
        let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known.as_ref()?.get(self).cloned()
    }

    fn remember(self, facts: &FileFacts) {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_default();
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(self, facts.clone());
    }
}
