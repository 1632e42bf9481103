//! What a Parquet file holds, in as few calls of the system as can be.
//!
//! A table of trials has a few rows in hundreds of columns, and the library asks for each of them twice: a small file is
//! read as a whole. Of a large one each piece is read from where it is, without a handle of its own.

use bytes::{Buf, Bytes};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Bytes of a file at most that is read as a whole.
const SMALL: u64 = 1 << 20;

/// An open file.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    /// All of it.
    Whole(Bytes),
    /// It is on disk, and this long.
    OnDisk(Arc<File>, u64),
}

impl Content {
    /// Reads the file, where it is small.
    pub(crate) fn read(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        if length > SMALL {
            return Ok(Self::OnDisk(Arc::new(file), length));
        }
        let mut whole = Vec::with_capacity(length as usize + 1);
        file.take(SMALL).read_to_end(&mut whole)?;
        Ok(Self::Whole(whole.into()))
    }

    /// The end of a piece. Fails where the file ends before: a damaged one may ask for any.
    fn end(&self, start: u64, length: u64) -> Result<u64> {
        let end = start.checked_add(length).filter(|end| *end <= self.len());
        end.ok_or_else(|| {
            let has = self.len();
            ParquetError::EOF(format!("{length} bytes at {start} of {has}"))
        })
    }
}

/// These bytes of a file. Fails where it ends before.
pub(crate) fn piece(file: &File, place: Range<u64>) -> io::Result<Bytes> {
    // What a damaged file says of its pieces takes no memory.
    if place.end > file.metadata()?.len() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut piece = vec![0; place.end.saturating_sub(place.start) as usize];
    file.read_exact_at(&mut piece, place.start)?;
    Ok(piece.into())
}

impl Length for Content {
    fn len(&self) -> u64 {
        match self {
            Self::Whole(bytes) => bytes.len() as u64,
            Self::OnDisk(_, length) => *length,
        }
    }
}

impl ChunkReader for Content {
    type T = Box<dyn Read>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        self.end(start, 0)?;
        Ok(match self {
            Self::Whole(bytes) => Box::new(bytes.slice(start as usize..).reader()),
            Self::OnDisk(file, _) => Box::new(BufReader::new(Rest {
                file: file.clone(),
                at: start,
            })),
        })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let end = self.end(start, length as u64)?;
        match self {
            Self::Whole(bytes) => Ok(bytes.slice(start as usize..end as usize)),
            Self::OnDisk(file, _) => {
                let mut piece = vec![0; length];
                file.read_exact_at(&mut piece, start)?;
                Ok(piece.into())
            }
        }
    }
}

/// The rest of a file.
struct Rest {
    file: Arc<File>,
    at: u64,
}

impl Read for Rest {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::{Seek, Write};

    fn content(length: u64) -> (Vec<u8>, Content) {
        let bytes: Vec<u8> = (0..length).map(|k| (k * k % 251) as u8).collect();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        file.rewind().unwrap();
        (bytes, Content::read(file).unwrap())
    }

    #[test]
    fn any_piece_of_a_small_and_of_a_large_file_is_read() {
        for length in [0, 1, 1_000, SMALL, SMALL + 1, 3 * SMALL] {
            let (bytes, content) = content(length);
            assert_eq!(content.len(), length);
            assert_eq!(matches!(content, Content::Whole(_)), length <= SMALL);
            for (from, to) in [(0, length), (length / 3, length / 2), (length, length)] {
                let piece = &bytes[from as usize..to as usize];
                let read = content.get_bytes(from, piece.len()).unwrap();
                assert!(read == piece, "{from} to {to} of {length}");
                let mut read = Vec::new();
                let rest = content.get_read(from).unwrap();
                rest.take(to - from).read_to_end(&mut read).unwrap();
                assert!(read == piece, "{from} to {to} of {length}");
            }
        }
    }

    #[test]
    fn what_is_not_there_is_an_error_and_takes_no_memory() {
        for length in [1_000, SMALL + 1] {
            let content = content(length).1;
            assert!(content.get_bytes(length - 1, 2).is_err());
            assert!(content.get_bytes(0, usize::MAX).is_err());
            assert!(content.get_bytes(u64::MAX, 1).is_err());
            assert!(content.get_read(length + 1).is_err());
        }
    }
}
