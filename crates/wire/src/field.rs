//! Big-endian fields at fixed offsets, and the two errors that every format shares.

/// Why bytes are not the format that they were read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// Fewer bytes than the format has.
    #[error("{got} bytes where the format has {needed}")]
    Truncated {
        /// What the format has at least.
        needed: usize,
        /// What there was.
        got: usize,
    },
    /// The bytes do not begin as the format does.
    #[error("not this format")]
    NotOurs,
    /// A version that this program does not speak.
    #[error("version {theirs}, where this program speaks version {ours}")]
    Version {
        /// What the bytes say.
        theirs: u8,
        /// What this program speaks.
        ours: u8,
    },
    /// A field with a value that it must not have.
    #[error("field `{0}` has a value that it must not have")]
    Value(&'static str),
    /// The tag was not made with our key.
    #[error("the tag was not made with this key")]
    WrongKey,
}

/// The buffer has no room for what is to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a buffer of {got} bytes has no room for {needed}")]
pub struct EmitError {
    /// What the format needs.
    pub needed: usize,
    /// What there was.
    pub got: usize,
}

/// `Ok` if `bytes` has `needed` bytes or more.
pub(crate) const fn at_least(bytes: &[u8], needed: usize) -> Result<(), ParseError> {
    let got = bytes.len();
    if got < needed {
        return Err(ParseError::Truncated { needed, got });
    }
    Ok(())
}

/// `Ok` if `buffer` has room for `needed` bytes.
pub(crate) const fn room(buffer: &[u8], needed: usize) -> Result<(), EmitError> {
    let got = buffer.len();
    if got < needed {
        return Err(EmitError { needed, got });
    }
    Ok(())
}

/// The `N` bytes at `at`.
pub(crate) fn get<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], ParseError> {
    let field = bytes.get(at..).and_then(<[u8]>::first_chunk);
    field.copied().ok_or(ParseError::Truncated {
        needed: at + N,
        got: bytes.len(),
    })
}

pub(crate) fn get_u16(bytes: &[u8], at: usize) -> Result<u16, ParseError> {
    get(bytes, at).map(u16::from_be_bytes)
}

pub(crate) fn get_u32(bytes: &[u8], at: usize) -> Result<u32, ParseError> {
    get(bytes, at).map(u32::from_be_bytes)
}

pub(crate) fn get_u64(bytes: &[u8], at: usize) -> Result<u64, ParseError> {
    get(bytes, at).map(u64::from_be_bytes)
}

pub(crate) fn get_i64(bytes: &[u8], at: usize) -> Result<i64, ParseError> {
    get(bytes, at).map(i64::from_be_bytes)
}

/// Writes `field` at `at`. The caller has checked that there is room.
pub(crate) fn put<const N: usize>(buffer: &mut [u8], at: usize, field: [u8; N]) {
    buffer[at..at + N].copy_from_slice(&field);
}
