//! Seals of the messages of a stream: after a power cut a file may have zeros, or what was there before, in place of what
//! was not synced, and Arrow would take them for values.
//!
//! ```text
//! | ff ff ff ff | length | metadata, padding, | SEALED | check of the | body |
//! |             | of:    |  <- these are the metadata -> message      |      |
//! ```
//!
//! Each message of an Arrow stream begins with the length of its metadata, which may be longer than what it says: the seal
//! stands at its end, and any reader of Arrow passes over it.

use arrow_ipc::root_as_message;
use std::io::{self, ErrorKind, Read};

/// What each message begins with.
const BEGINS: [u8; 4] = [0xff; 4];
/// What the seal begins with. Version 1 had another check, and is read as a message without a seal.
const SEALED: [u8; 8] = *b"sealed 2";
/// How much longer the seal makes the metadata: bodies stay where Arrow has them, at multiples of 64.
const LENGTH: usize = 64;

/// A message of a stream.
pub(crate) struct Message {
    metadata: Vec<u8>,
    body: Vec<u8>,
}

impl Message {
    /// Reads the next; `None` at the end of the stream.
    ///
    /// # Errors
    /// It is not whole, or is no message.
    pub(crate) fn read(stream: &mut impl Read) -> io::Result<Option<Self>> {
        let begins = read_exactly(stream, 4)?;
        if begins.is_empty() {
            return Ok(None);
        }
        let length = read_exactly(stream, 4)?;
        let length: Option<[u8; 4]> = length.try_into().ok();
        let length = length.map(u32::from_le_bytes).filter(|_| begins == BEGINS);
        match length {
            None => Err(torn()),
            Some(0) => Ok(None),
            Some(length) => {
                Self::with_metadata(read_exactly(stream, length.into())?, length, stream)
            }
        }
    }

    fn with_metadata(
        metadata: Vec<u8>,
        length: u32,
        stream: &mut impl Read,
    ) -> io::Result<Option<Self>> {
        if metadata.len() as u64 != u64::from(length) {
            return Err(torn());
        }
        let said = root_as_message(&metadata).map_err(|_| torn())?.bodyLength();
        let length = u64::try_from(said).map_err(|_| torn())?;
        let body = read_exactly(stream, length)?;
        if body.len() as u64 != length {
            return Err(torn());
        }
        Ok(Some(Self { metadata, body }))
    }

    /// The check that its seal has; `None` without one.
    fn seal(&self) -> Option<u64> {
        let (_, seal) = self.metadata.split_last_chunk::<16>()?;
        let (begins, check) = seal.split_first_chunk::<8>()?;
        let check = check.try_into().map(u64::from_le_bytes).ok();
        check.filter(|_| *begins == SEALED)
    }

    pub(crate) fn has_seal(&self) -> bool {
        self.seal().is_some()
    }

    /// Is it what was sealed?
    pub(crate) fn is_whole(&self) -> bool {
        self.seal() == Some(self.check())
    }

    /// CRC-32 of all but the check itself: it is to find what a disk did, and no forger.
    fn check(&self) -> u64 {
        let metadata = &self.metadata[..self.metadata.len().saturating_sub(8)];
        let mut check = crc32fast::Hasher::new();
        check.update(metadata);
        check.update(&self.body);
        check.finalize().into()
    }

    fn sealed(mut self) -> Self {
        self.metadata.resize(self.metadata.len() + LENGTH - 16, 0);
        self.metadata.extend(SEALED);
        self.metadata.extend([0; 8]);
        let check = self.check().to_le_bytes();
        let end = self.metadata.len() - 8;
        self.metadata[end..].copy_from_slice(&check);
        self
    }

    /// As it stands in a stream.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        let length = u32::try_from(self.metadata.len()).unwrap_or(u32::MAX);
        let mut bytes = Vec::with_capacity(8 + self.metadata.len() + self.body.len());
        bytes.extend(BEGINS);
        bytes.extend(length.to_le_bytes());
        bytes.extend(self.metadata);
        bytes.extend(self.body);
        bytes
    }
}

/// Seals each message of a piece of a stream.
pub(crate) fn seal(mut stream: &[u8]) -> io::Result<Vec<u8>> {
    let mut sealed = Vec::with_capacity(stream.len() + 4 * LENGTH);
    while let Some(message) = Message::read(&mut stream)? {
        sealed.extend(message.sealed().into_bytes());
    }
    Ok(sealed)
}

/// So many bytes, or as many as there are: what says how many may be damaged.
fn read_exactly(stream: &mut impl Read, count: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.take(count).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn torn() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, "torn within a message")
}
