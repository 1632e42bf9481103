//! Random bytes from the kernel.

use rustix::rand::{GetRandomFlags, getrandom};
use std::io;

/// 32 bytes that nobody can guess.
pub fn bytes() -> io::Result<[u8; 32]> {
    let mut bytes = [0_u8; 32];
    // Reads of up to 256 bytes are never cut short.
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    Ok(bytes)
}
